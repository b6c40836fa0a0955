#include "trace/export.h"

#include "trace/who.h"
#include "event/fields.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct csv {
    FILE *file;
    const struct gn_definitions *definitions;
    const struct gn_origin *origin;
    struct gn_whos whos;
};

static const char titles[] =
    "time_ns,ticks,location,rank,thread,kind,region,site,op,comm,window,peer,root,tag,"
    "request,count,bytes_sent,bytes_received,sender,sent_ns";

/* A field with text; quotes only where they are needed. */
static void text(FILE *file, const char *value)
{
    putc(',', file);
    if (!value[strcspn(value, ",\"\r\n")]) {
        fputs(value, file);
        return;
    }
    putc('"', file);
    for (; *value; value++) {
        if (*value == '"')
            putc('"', file);
        putc(*value, file);
    }
    putc('"', file);
}

static void number(FILE *file, bool is_there, uint64_t value)
{
    if (is_there)
        fprintf(file, ",%" PRIu64, value);
    else
        putc(',', file);
}

/* A rank or a tag: some numbers mean something else. */
static void partner(FILE *file, bool is_there, uint32_t value)
{
    if (!is_there || value == GN_NONE)
        putc(',', file);
    else if (value == GN_ANY)
        text(file, "any");
    else if (value == GN_ROOT_SELF)
        text(file, "self");
    else if (value == GN_ROOT_NONE)
        text(file, "none");
    else
        number(file, true, value);
}

static void where(struct csv *c, const struct gn_event *e, const struct gn_place *place)
{
    struct gn_who who = gn_who_of(&c->whos, e->location);
    fprintf(c->file, "%" PRId64 ",%" PRIu64 ",%" PRIu32 ",", gn_origin_ns(c->origin, place->ticks), e->ticks,
            e->location);
    if (who.rank >= 0)
        fprintf(c->file, "%" PRId32, who.rank);
    fprintf(c->file, ",%" PRIu32, who.thread);
    text(c->file, gn_event_name(e->kind));
}

static void names(struct csv *c, unsigned has, const struct gn_event *e)
{
    const struct gn_definitions *d = c->definitions;
    char site[1024];
    gn_export_site(d, e->path, site, sizeof site);
    bool region = has & GN_FIELD_REGION && e->region < d->region_count;
    text(c->file, region ? gn_string(d, d->regions[e->region].name) : "");
    text(c->file, site);
    text(c->file, has & GN_FIELD_OP && e->op < GN_COLLECTIVE_COUNT ? gn_collective_name(e->op) : "");
    bool comm = has & GN_FIELD_COMM && e->comm < d->comm_count;
    text(c->file, comm ? gn_string(d, d->comms[e->comm].name) : "");
    bool window = has & GN_FIELD_WINDOW && e->comm < d->window_count;
    text(c->file, window ? gn_string(d, d->windows[e->comm].name) : "");
}

static void numbers(struct csv *c, unsigned has, const struct gn_event *e)
{
    partner(c->file, has & GN_FIELD_PEER, e->peer);
    partner(c->file, has & GN_FIELD_ROOT, e->peer);
    partner(c->file, has & GN_FIELD_TAG, e->tag);
    number(c->file, has & GN_FIELD_REQUEST, e->request);
    number(c->file, has & GN_FIELD_COUNT, e->request);
    number(c->file, has & GN_FIELD_SENT && e->bytes_sent != GN_BYTES_UNKNOWN, e->bytes_sent);
    number(c->file, has & GN_FIELD_RECEIVED && e->bytes_received != GN_BYTES_UNKNOWN, e->bytes_received);
}

static void bound(FILE *file, bool is_known, int64_t ns)
{
    if (is_known)
        fprintf(file, ",%" PRId64, ns);
    else
        putc(',', file);
}

static void bounds_of(struct csv *c, const struct gn_event *e)
{
    const struct gn_interval interval = gn_origin_interval(c->origin, e);
    bound(c->file, interval.lo_ns != INT64_MIN, interval.lo_ns);
    bound(c->file, interval.hi_ns != INT64_MAX, interval.hi_ns);
}

static int put(void *self, uint64_t n, const struct gn_event *e, const struct gn_place *place,
               struct gn_error *err)
{
    struct csv *c = self;
    unsigned has = gn_event_fields(e->kind);
    (void)n;
    where(c, e, place);
    names(c, has, e);
    numbers(c, has, e);
    if (place->flags & GN_PLACE_CORRELATED)
        fprintf(c->file, ",%" PRIu32 ",%" PRId64, place->sender, gn_origin_ns(c->origin, place->sent_ticks));
    else
        fputs(",,", c->file);
    if (c->origin->bounds)
        bounds_of(c, e);
    fputs("\r\n", c->file);
    return gn_export_check(c->file, err);
}

static int finish(void *self, struct gn_error *err)
{
    struct csv *c = self;
    int code = gn_export_close(c->file, err);
    gn_whos_clear(&c->whos);
    free(c);
    return code;
}

static void close_output(void *self)
{
    finish(self, NULL);
}

static int flush(void *self, struct gn_error *err)
{
    struct csv *c = self;
    fflush(c->file);
    return gn_export_check(c->file, err);
}

int gn_export_csv(struct gn_output *output, FILE *file, const struct gn_definitions *definitions,
                  const struct gn_origin *origin, struct gn_error *err)
{
    struct csv *c = calloc(1, sizeof *c);
    if (!c)
        return gn_fail(err, -ENOMEM, "no memory to write events");
    c->file = file;
    c->definitions = c->whos.definitions = definitions;
    c->origin = origin;
    fprintf(file, "%s%s\r\n", titles, origin->bounds ? ",lo_ns,hi_ns" : "");
    *output =
        (struct gn_output){.self = c, .put = put, .flush = flush, .finish = finish, .close = close_output};
    return 0;
}
