#include "trace/export.h"

#include "trace/quoted.h"
#include "event/fields.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A slice is what lies between B and E of one thread. What was communicated inside is known when it ends: it
 * is shown with the E, which viewers join with the B. A message is a flow: "s" where it was sent, "f" where
 * it was received, the same id. */
struct chrome {
    FILE *file;
    const struct gn_definitions *definitions;
    const struct gn_origin *origin;
    struct gn_quoted strings;
    struct gn_event *last; /* per location: what was communicated since the last enter; ENTER: nothing */
};

static const char *quoted(struct chrome *c, uint32_t string)
{
    const char *text = gn_quoted_get(&c->strings, string, gn_string(c->definitions, string));
    return text ? text : "\"?\"";
}

static uint32_t process_of(const struct chrome *c, uint32_t location)
{
    return c->definitions->locations[location].process;
}

/* The beginning of a record, up to its thread and time in µs. */
static void begin(struct chrome *c, const char *phase, const struct gn_event *e, uint64_t ticks)
{
    int64_t ns = gn_origin_ns(c->origin, ticks);
    uint64_t size_ns = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    fprintf(c->file, ",\n{\"ph\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"ts\":%s%" PRIu64 ".%03u",
            phase, process_of(c, e->location), e->location, ns < 0 ? "-" : "", size_ns / 1000,
            (unsigned)(size_ns % 1000));
}

/* ---- slices ---- */

static void slice_begins(struct chrome *c, const struct gn_event *e, uint64_t ticks)
{
    const struct gn_definitions *d = c->definitions;
    char site[1024];
    gn_export_site(d, e->path, site, sizeof site);
    begin(c, "B", e, ticks);
    bool known = e->region < d->region_count;
    bool mpi = known && d->regions[e->region].role == GN_ROLE_MPI;
    fprintf(c->file, ",\"name\":%s,\"cat\":\"%s\"",
            known ? quoted(c, d->regions[e->region].name) : "\"unknown\"", mpi ? "mpi" : "code");
    char *text = site[0] ? gn_quote(site) : NULL;
    if (text)
        fprintf(c->file, ",\"args\":{\"site\":%s}", text);
    free(text);
    putc('}', c->file);
    c->last[e->location].kind = GN_EVENT_ENTER;
}

static void argument(struct chrome *c, const char **comma, const char *name, uint64_t value)
{
    fprintf(c->file, "%s\"%s\":%" PRIu64, *comma, name, value);
    *comma = ",";
}

static void partner(struct chrome *c, const char **comma, const char *name, uint32_t value)
{
    if (value < GN_ROOT_NONE)
        argument(c, comma, name, value);
}

static void arguments(struct chrome *c, const struct gn_event *e)
{
    const struct gn_definitions *d = c->definitions;
    unsigned has = gn_event_fields(e->kind);
    const char *comma = "";
    fputs(",\"args\":{", c->file);
    if (has & GN_FIELD_COMM && e->comm < d->comm_count) {
        fprintf(c->file, "\"comm\":%s", quoted(c, d->comms[e->comm].name));
        comma = ",";
    }
    if (has & (GN_FIELD_PEER | GN_FIELD_ROOT))
        partner(c, &comma, has & GN_FIELD_PEER ? "peer" : "root", e->peer);
    if (has & GN_FIELD_TAG)
        partner(c, &comma, "tag", e->tag);
    if (has & GN_FIELD_SENT && e->bytes_sent != GN_BYTES_UNKNOWN)
        argument(c, &comma, "bytes_sent", e->bytes_sent);
    if (has & GN_FIELD_RECEIVED && e->bytes_received != GN_BYTES_UNKNOWN)
        argument(c, &comma, "bytes_received", e->bytes_received);
    putc('}', c->file);
}

static void slice_ends(struct chrome *c, const struct gn_event *e, uint64_t ticks)
{
    struct gn_event *last = &c->last[e->location];
    begin(c, "E", e, ticks);
    if (last->kind != GN_EVENT_ENTER)
        arguments(c, last);
    putc('}', c->file);
    last->kind = GN_EVENT_ENTER;
}

/* ---- messages and moments ---- */

static void flow(struct chrome *c, const char *phase, const struct gn_event *e, uint64_t ticks,
                 uint32_t sender, uint64_t sent_ticks)
{
    begin(c, phase, e, ticks);
    fprintf(c->file, ",\"name\":\"message\",\"cat\":\"mpi\",\"id\":\"%" PRIu32 ".%" PRIu64 "\"}", sender,
            sent_ticks);
}

static void moment(struct chrome *c, const struct gn_event *e, uint64_t ticks, const char *name)
{
    begin(c, "i", e, ticks);
    fprintf(c->file, ",\"name\":\"%s\",\"s\":\"t\",\"args\":{\"count\":%" PRIu64 "}}", name, e->request);
}

static int put(void *self, uint64_t n, const struct gn_event *e, const struct gn_place *place,
               struct gn_error *err)
{
    struct chrome *c = self;
    uint64_t ticks = place->ticks;
    (void)n;
    switch (e->kind) {
    case GN_EVENT_ENTER:
    case GN_EVENT_REGION_BEGIN:
        slice_begins(c, e, ticks);
        break;
    case GN_EVENT_LEAVE:
    case GN_EVENT_REGION_END:
        slice_ends(c, e, ticks);
        break;
    case GN_EVENT_LOST:
        moment(c, e, ticks, "events lost");
        break;
    case GN_EVENT_MEASUREMENT:
        moment(c, e, ticks, e->request ? "measurement on" : "measurement off");
        break;
    default:
        if (gn_event_fields(e->kind) & (GN_FIELD_SENT | GN_FIELD_RECEIVED))
            c->last[e->location] = *e;
        if (gn_export_is_send(e))
            flow(c, "s", e, ticks, e->location, e->ticks);
        else if (gn_export_is_receive(e, place))
            flow(c, "f\",\"bp\":\"e", e, ticks, place->sender, place->sent_ticks);
    }
    return gn_export_check(c->file, err);
}

/* ---- the file ---- */

static void write_names(struct chrome *c)
{
    const struct gn_definitions *d = c->definitions;
    const char *comma = "";
    for (uint32_t i = 0; i < d->process_count; i++, comma = ",")
        fprintf(c->file,
                "%s\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%" PRIu32 ",\"args\":{\"name\":%s}},"
                "\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%" PRIu32
                ",\"args\":{\"sort_index\":%" PRIu32 "}}",
                comma, i, quoted(c, d->processes[i].name), i, i);
    for (uint32_t i = 0; i < d->location_count; i++, comma = ",")
        fprintf(c->file,
                "%s\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
                ",\"args\":{\"name\":%s}}",
                comma, d->locations[i].process, i, quoted(c, d->locations[i].name));
}

static int release(struct chrome *c, struct gn_error *err)
{
    int code = gn_export_close(c->file, err);
    gn_quoted_clear(&c->strings);
    free(c->last);
    free(c);
    return code;
}

static int finish(void *self, struct gn_error *err)
{
    struct chrome *c = self;
    fputs("\n]}\n", c->file);
    return release(c, err);
}

static void close_output(void *self)
{
    release(self, NULL);
}

static int flush(void *self, struct gn_error *err)
{
    struct chrome *c = self;
    fflush(c->file);
    return gn_export_check(c->file, err);
}

int gn_export_chrome(struct gn_output *output, FILE *file, const struct gn_definitions *definitions,
                     const struct gn_origin *origin, struct gn_error *err)
{
    struct chrome *c = calloc(1, sizeof *c);
    struct gn_event *last = calloc(definitions->location_count + 1, sizeof *last);
    if (!c || !last) {
        free(c);
        free(last);
        return gn_fail(err, -ENOMEM, "no memory to write events");
    }
    *c = (struct chrome){.file = file, .definitions = definitions, .origin = origin, .last = last};
    for (size_t i = 0; i < definitions->location_count; i++)
        last[i].kind = GN_EVENT_ENTER;
    fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"creator\":\"gnomon " GNOMON_VERSION
          "\"},\"traceEvents\":[",
          file);
    write_names(c);
    *output =
        (struct gn_output){.self = c, .put = put, .flush = flush, .finish = finish, .close = close_output};
    return 0;
}
