#include "trace/output.h"

#include "trace/quoted.h"
#include "trace/who.h"
#include "event/fields.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER = 1 << 16, MOST_LINE = 1024 }; /* a line without its names */

struct jsonl {
    int fd;
    const struct gn_definitions *definitions;
    const struct gn_origin *origin;
    struct gn_whos whos;
    struct gn_quoted regions, comms;
    size_t length;
    char buffer[BUFFER];
};

static int write_all(struct jsonl *j, const char *bytes, size_t count, struct gn_error *err)
{
    while (count) {
        ssize_t written = write(j->fd, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return gn_fail(err, -errno, "cannot write the events: %s", strerror(errno));
        bytes += written;
        count -= (size_t)written;
    }
    return 0;
}

static int flush(void *self, struct gn_error *err)
{
    struct jsonl *j = self;
    int code = write_all(j, j->buffer, j->length, err);
    j->length = 0;
    return code;
}

/* The functions below rely on MOST_LINE bytes being free. */
static void text(struct jsonl *j, const char *bytes)
{
    size_t length = strlen(bytes);
    memcpy(j->buffer + j->length, bytes, length);
    j->length += length;
}

static void digits(struct jsonl *j, uint64_t value, unsigned at_least)
{
    char reversed[20];
    unsigned count = 0;
    for (; value || count < at_least; value /= 10)
        reversed[count++] = (char)('0' + value % 10);
    while (count)
        j->buffer[j->length++] = reversed[--count];
}

static void number(struct jsonl *j, const char *name, uint64_t value)
{
    text(j, name);
    digits(j, value, 1);
}

/* Seconds from the origin, with nine decimals. */
static void seconds(struct jsonl *j, const char *name, uint64_t ticks)
{
    int64_t ns = gn_origin_ns(j->origin, ticks);
    uint64_t size_ns = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    text(j, name);
    if (ns < 0)
        j->buffer[j->length++] = '-';
    digits(j, size_ns / 1000000000u, 1);
    j->buffer[j->length++] = '.';
    digits(j, size_ns % 1000000000u, 9);
}

static void signed_number(struct jsonl *j, const char *name, int64_t value)
{
    text(j, name);
    if (value < 0)
        j->buffer[j->length++] = '-';
    digits(j, value < 0 ? -(uint64_t)value : (uint64_t)value, 1);
}

static int room(struct jsonl *j, size_t bytes, struct gn_error *err)
{
    return j->length + bytes > BUFFER ? flush(j, err) : 0;
}

static int name(struct jsonl *j, struct gn_quoted *names, const char *key, uint32_t index, uint32_t string,
                struct gn_error *err)
{
    const char *quoted = gn_quoted_get(names, index, gn_string(j->definitions, string));
    if (!quoted)
        return gn_fail(err, -ENOMEM, "no memory for names");
    size_t length = strlen(quoted);
    text(j, key);
    if (length + MOST_LINE > BUFFER) { /* a name that fits nowhere */
        int code = flush(j, err);
        return code == 0 ? write_all(j, quoted, length, err) : code;
    }
    int code = room(j, length + MOST_LINE, err);
    text(j, quoted);
    return code;
}

/* ---- one event ---- */

static void where(struct jsonl *j, uint64_t n, const struct gn_event *e, const struct gn_place *place)
{
    struct gn_who who = gn_who_of(&j->whos, e->location);
    number(j, "{\"n\":", n);
    seconds(j, ",\"time\":", place->ticks);
    number(j, ",\"ticks\":", e->ticks);
    number(j, ",\"location\":", e->location);
    if (who.rank >= 0)
        number(j, ",\"rank\":", (uint64_t)who.rank);
    number(j, ",\"thread\":", who.thread);
    text(j, ",\"kind\":\"");
    text(j, gn_event_name(e->kind));
    text(j, "\"");
}

/* A rank or a tag, which may be one of the numbers that mean something else. */
static void partner(struct jsonl *j, const char *key, uint32_t value)
{
    if (value == GN_NONE)
        return;
    text(j, key);
    if (value == GN_ANY)
        text(j, "\"any\"");
    else if (value == GN_ROOT_SELF)
        text(j, "\"self\"");
    else if (value == GN_ROOT_NONE)
        text(j, "\"none\"");
    else
        digits(j, value, 1);
}

static int names_of(struct jsonl *j, unsigned has, const struct gn_event *e, struct gn_error *err)
{
    const struct gn_definitions *d = j->definitions;
    int code = 0;
    if (has & GN_FIELD_REGION && e->region < d->region_count)
        code = name(j, &j->regions, ",\"region\":", e->region, d->regions[e->region].name, err);
    if (e->path != GN_NONE && !gn_event_has_number(e->kind))
        number(j, ",\"path\":", e->path);
    if (has & GN_FIELD_WINDOW && e->comm != GN_NONE)
        number(j, ",\"window\":", e->comm);
    if (code == 0 && has & GN_FIELD_COMM && e->comm < d->comm_count) {
        number(j, ",\"comm\":", e->comm);
        code = name(j, &j->comms, ",\"comm_name\":", e->comm, d->comms[e->comm].name, err);
    }
    return code;
}

static void numbers_of(struct jsonl *j, unsigned has, const struct gn_event *e)
{
    if (has & GN_FIELD_OP && e->op < GN_COLLECTIVE_COUNT) {
        text(j, ",\"op\":\"");
        text(j, gn_collective_name(e->op));
        text(j, "\"");
    }
    if (has & (GN_FIELD_PEER | GN_FIELD_ROOT))
        partner(j, has & GN_FIELD_PEER ? ",\"peer\":" : ",\"root\":", e->peer);
    if (has & GN_FIELD_TAG)
        partner(j, ",\"tag\":", e->tag);
    if (has & GN_FIELD_REQUEST)
        number(j, ",\"request\":", e->request);
    if (has & GN_FIELD_COUNT)
        number(j, ",\"count\":", e->request);
    if (has & GN_FIELD_SENT && e->bytes_sent != GN_BYTES_UNKNOWN)
        number(j, ",\"bytes_sent\":", e->bytes_sent);
    if (has & GN_FIELD_RECEIVED && e->bytes_received != GN_BYTES_UNKNOWN)
        number(j, ",\"bytes_received\":", e->bytes_received);
}

static void bounds_of(struct jsonl *j, const struct gn_event *e)
{
    const struct gn_interval interval = gn_origin_interval(j->origin, e);
    if (interval.lo_ns != INT64_MIN)
        signed_number(j, ",\"lo_ns\":", interval.lo_ns);
    if (interval.hi_ns != INT64_MAX)
        signed_number(j, ",\"hi_ns\":", interval.hi_ns);
}

static void place_of(struct jsonl *j, const struct gn_place *place)
{
    if (place->flags & GN_PLACE_CORRELATED) {
        seconds(j, ",\"sent\":", place->sent_ticks);
        number(j, ",\"sender\":", place->sender);
    }
    if (place->flags & GN_PLACE_RELEASED)
        text(j, ",\"released\":true");
    if (place->flags & GN_PLACE_UNMATCHED)
        text(j, ",\"unmatched\":true");
    if (place->flags & GN_PLACE_AMBIGUOUS)
        text(j, ",\"ambiguous\":true");
    text(j, "}\n");
}

static int put(void *self, uint64_t n, const struct gn_event *e, const struct gn_place *place,
               struct gn_error *err)
{
    struct jsonl *j = self;
    unsigned has = gn_event_fields(e->kind);
    int code = room(j, MOST_LINE, err);
    if (code != 0)
        return code;
    where(j, n, e, place);
    code = names_of(j, has, e, err);
    numbers_of(j, has, e);
    bounds_of(j, e);
    place_of(j, place);
    return code;
}

static void close_output(void *self)
{
    struct jsonl *j = self;
    gn_quoted_clear(&j->regions);
    gn_quoted_clear(&j->comms);
    if (j->fd != STDOUT_FILENO)
        close(j->fd);
    gn_whos_clear(&j->whos);
    free(j);
}

static int finish(void *self, struct gn_error *err)
{
    int code = flush(self, err);
    close_output(self);
    return code;
}

int gn_output_jsonl(struct gn_output *output, int fd, const struct gn_definitions *definitions,
                    const struct gn_origin *origin, struct gn_error *err)
{
    struct jsonl *j = calloc(1, sizeof *j);
    if (!j)
        return gn_fail(err, -ENOMEM, "no memory to write events");
    j->fd = fd;
    j->definitions = definitions;
    j->origin = origin;
    j->whos.definitions = definitions;
    *output =
        (struct gn_output){.self = j, .put = put, .flush = flush, .finish = finish, .close = close_output};
    return 0;
}
