/* event/wire: any bytes as a stream, in pieces whose length the first byte says. */
#include "event/wire.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static int carry(void *self, uint32_t location, struct gn_error *err)
{
    (void)self, (void)location, (void)err;
    return 0;
}

/* What an event refers to is defined. */
static int event(void *self, const struct gn_event *e, uint64_t sequence, struct gn_error *err)
{
    const struct gn_definitions *d = self;
    (void)sequence, (void)err;
    if (e->location >= d->location_count || (e->region != GN_NONE && e->region >= d->region_count) ||
        (e->path != GN_NONE && e->path >= d->path_count))
        abort();
    return 0;
}

static void feed(struct gn_wire_reader *reader, const uint8_t *data, size_t size, size_t piece)
{
    struct gn_error err;
    int code = 0;
    for (size_t at = 0; at < size && code == 0; at += piece)
        code = gn_wire_feed(reader, data + at, size - at < piece ? size - at : piece, &err);
}

/* A header is given, so that mutations get behind it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t header[40] = {'G', 'N', 'O', 'M', 'O', 'N', 'E', 'V', 1, 0, 0, 0, 40, 0, 0, 0, 100};
    struct gn_definitions *d = gn_definitions_new();
    struct gn_wire_sink sink = {d, carry, event, carry};
    struct gn_wire_reader *reader;
    struct gn_error err;
    if (!d || gn_wire_open(&reader, "fuzz", d, &sink, &err) != 0)
        abort();
    if (size > 0 && data[0] % 4)
        feed(reader, header, sizeof header, sizeof header);
    if (size > 0)
        feed(reader, data + 1, size - 1, 1 + (size_t)data[0] * 16);
    gn_wire_close(reader);
    gn_definitions_free(d);
    return 0;
}
