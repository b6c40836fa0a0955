#include "agent/sample_counts.h"

#include "base/grow.h"
#include "base/lookup.h"
#include "base/mix.h"

#include <stdlib.h>

enum { MOST_PLACES = 1 << 18 };

/* ---- places ---- */

struct gn_sample_places {
    struct gn_sampled_place *items;
    size_t count, room;
    struct gn_lookup known;
};

struct asked_place {
    const struct gn_sample_places *places;
    struct gn_sampled_place place;
};

struct gn_sample_places *gn_sample_places_new(void)
{
    return calloc(1, sizeof(struct gn_sample_places));
}

void gn_sample_places_free(struct gn_sample_places *p)
{
    if (!p)
        return;
    gn_lookup_clear(&p->known);
    free(p->items);
    free(p);
}

static bool is_place(const void *context, uint32_t number)
{
    const struct asked_place *asked = context;
    const struct gn_sampled_place *p = &asked->places->items[number];
    return p->offset == asked->place.offset && p->module == asked->place.module;
}

uint32_t gn_sample_places_number(struct gn_sample_places *p, struct gn_sampled_place place)
{
    const struct asked_place asked = {p, place};
    const uint64_t hash = gn_mix(place.offset ^ gn_mix(place.module));
    const int64_t known = gn_lookup_find(&p->known, hash, is_place, &asked);
    if (known != GN_LOOKUP_NOTHING)
        return (uint32_t)known;
    if (p->count == MOST_PLACES || !gn_grow(&p->items, &p->room, p->count, sizeof *p->items) ||
        !gn_lookup_add(&p->known, hash, (uint32_t)p->count))
        return GN_SAMPLED_NONE;
    p->items[p->count] = (struct gn_sampled_place){place.module, place.offset};
    return (uint32_t)p->count++;
}

const struct gn_sampled_place *gn_sample_places_list(const struct gn_sample_places *p, size_t *count)
{
    *count = p->count;
    return p->items;
}

/* ---- rows ---- */

struct gn_sample_counts {
    struct gn_sampled_count *rows;
    size_t count, room;
    struct gn_lookup known;
    uint64_t unattributed;
    uint32_t locations;
    struct open {                      /* computing since */
        struct gn_sample_moment since; /* kind unknown: nothing */
        struct gn_sampled_count *rows; /* without from and to */
        size_t count, room;
    } * open; /* by location */
};

struct gn_sample_counts *gn_sample_counts_new(uint32_t locations)
{
    struct gn_sample_counts *c = calloc(1, sizeof *c);
    if (c)
        c->open = calloc(locations ? locations : 1, sizeof *c->open);
    if (!c || !c->open) {
        free(c);
        return NULL;
    }
    c->locations = locations;
    return c;
}

void gn_sample_counts_free(struct gn_sample_counts *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; i < c->locations; i++)
        free(c->open[i].rows);
    free(c->open);
    free(c->rows);
    gn_lookup_clear(&c->known);
    free(c);
}

static bool same(const struct gn_sampled_count *a, const struct gn_sampled_count *b)
{
    return a->location == b->location && a->from == b->from && a->to == b->to && a->site == b->site &&
           a->leaf == b->leaf && a->other_threads == b->other_threads;
}

struct asked_row {
    const struct gn_sample_counts *counts;
    const struct gn_sampled_count *row;
};

static bool is_row(const void *context, uint32_t number)
{
    const struct asked_row *asked = context;
    return same(&asked->counts->rows[number], asked->row);
}

/* False: there is no room for a row of its own. */
static bool add_row(struct gn_sample_counts *c, const struct gn_sampled_count *row, size_t most)
{
    const struct asked_row asked = {c, row};
    const uint64_t edge = (uint64_t)row->location << 32 | row->other_threads;
    const uint64_t nodes = (uint64_t)row->from << 32 | row->to,
                   places = (uint64_t)row->site << 32 | row->leaf;
    const uint64_t hash = gn_mix(places ^ gn_mix(nodes ^ gn_mix(edge)));
    const int64_t known = gn_lookup_find(&c->known, hash, is_row, &asked);
    if (known != GN_LOOKUP_NOTHING) {
        c->rows[known].count += row->count;
        c->rows[known].time_ns += row->time_ns;
        return true;
    }
    if (c->count >= most || !gn_grow(&c->rows, &c->room, c->count, sizeof *c->rows) ||
        !gn_lookup_add(&c->known, hash, (uint32_t)c->count))
        return false;
    c->rows[c->count++] = *row;
    return true;
}

static void count(struct gn_sample_counts *c, struct gn_sampled_count row)
{
    if (row.site != GN_SAMPLED_NONE && add_row(c, &row, GN_SAMPLE_MOST))
        return;
    row.site = row.leaf = GN_SAMPLED_NONE;
    if (!add_row(c, &row, GN_SAMPLE_MOST + GN_SAMPLE_MOST_OTHER))
        c->unattributed += row.count;
}

/* ---- what is computed since a call ---- */

/* Where it led is what the moment says now. */
static void close_open(struct gn_sample_counts *c, struct open *o)
{
    for (size_t i = 0; i < o->count; i++) {
        o->rows[i].from = o->since.from;
        o->rows[i].to = o->since.to;
        if (o->since.kind == GN_MOMENT_BETWEEN)
            count(c, o->rows[i]);
        else
            c->unattributed += o->rows[i].count;
    }
    o->count = 0;
    o->since.kind = GN_MOMENT_UNKNOWN;
}

static void add_open(struct gn_sample_counts *c, struct open *o, struct gn_sampled_count row)
{
    if (o->count == GN_SAMPLE_MOST_OPEN - 1)
        row.site = row.leaf = GN_SAMPLED_NONE;
    for (size_t i = 0; i < o->count; i++)
        if (same(&o->rows[i], &row)) {
            o->rows[i].count += row.count;
            o->rows[i].time_ns += row.time_ns;
            return;
        }
    if (o->count == GN_SAMPLE_MOST_OPEN || !gn_grow(&o->rows, &o->room, o->count, sizeof *o->rows))
        c->unattributed += row.count;
    else
        o->rows[o->count++] = row;
}

static void go_on(struct gn_sample_counts *c, const struct gn_recorded *recorded, uint32_t location,
                  bool ended)
{
    struct open *o = &c->open[location];
    if (o->since.kind != GN_MOMENT_SINCE)
        return;
    if (!gn_sample_moment_goes_on(recorded, location, &o->since)) {
        if (!ended)
            return;
        o->since.kind = GN_MOMENT_BETWEEN;
        o->since.to = 1;
    }
    close_open(c, o);
}

void gn_sample_counts_go_on(struct gn_sample_counts *c, const struct gn_recorded *recorded, bool ended)
{
    for (uint32_t i = 0; i < c->locations; i++)
        go_on(c, recorded, i, ended);
}

void gn_sample_counts_add(struct gn_sample_counts *c, const struct gn_recorded *recorded, uint32_t location,
                          const struct gn_sample_moment *m, const struct gn_sample_counted *s)
{
    struct gn_sampled_count row = {.location = location,
                                   .from = m->from,
                                   .to = m->kind == GN_MOMENT_INSIDE ? GN_SAMPLED_NONE : m->to,
                                   .site = s->site,
                                   .leaf = s->leaf,
                                   .other_threads = s->other_threads,
                                   .count = 1,
                                   .time_ns = s->time_ns};
    if (m->kind == GN_MOMENT_UNKNOWN || location >= c->locations) {
        c->unattributed++;
        return;
    }
    if (m->kind != GN_MOMENT_SINCE) {
        count(c, row);
        return;
    }
    struct open *o = &c->open[location];
    if (o->since.kind == GN_MOMENT_SINCE && o->since.record != m->record)
        go_on(c, recorded, location, true); /* it surely has: something is recorded behind it */
    o->since = *m;
    row.from = row.to = 0;
    add_open(c, o, row);
}

const struct gn_sampled_count *gn_sample_counts_list(const struct gn_sample_counts *c, size_t *count)
{
    *count = c->count;
    return c->rows;
}

uint64_t gn_sample_counts_unattributed(const struct gn_sample_counts *c)
{
    return c->unattributed;
}
