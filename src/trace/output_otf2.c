#include "trace/output.h"

#include "trace/writer.h"

#include <errno.h>
#include <stdlib.h>

struct archive {
    struct gn_trace_writer *writer;
    const struct gn_definitions *definitions;
};

static int put(void *self, uint64_t number, const struct gn_event *event, const struct gn_place *place,
               struct gn_error *err)
{
    struct archive *a = self;
    struct gn_event placed = *event;
    (void)number;
    placed.ticks = place->ticks;
    if (gn_event_has_number(placed.kind)) /* those that come later are not among the events */
        placed.number = GN_UNNUMBERED;
    return gn_trace_write(a->writer, a->definitions->locations[event->location].file_id, &placed, err);
}

static int flush(void *self, struct gn_error *err)
{
    struct archive *a = self;
    return gn_trace_flush(a->writer, err);
}

static int finish(void *self, struct gn_error *err)
{
    struct archive *a = self;
    int code = gn_trace_finish(a->writer, a->definitions, err);
    free(a);
    return code;
}

static void close_output(void *self)
{
    struct archive *a = self;
    gn_trace_abandon(a->writer);
    free(a);
}

int gn_output_otf2(struct gn_output *output, const char *folder, const struct gn_definitions *definitions,
                   struct gn_error *err)
{
    struct archive *a = malloc(sizeof *a);
    if (!a)
        return gn_fail(err, -ENOMEM, "no memory to write a trace");
    a->definitions = definitions;
    int code = gn_trace_create(&a->writer, folder, err);
    if (code != 0) {
        free(a);
        return code;
    }
    *output =
        (struct gn_output){.self = a, .put = put, .flush = flush, .finish = finish, .close = close_output};
    return 0;
}
