#include "agent/sample_counts.h"

#include "base/grow.h"
#include "base/lookup.h"
#include "base/mix.h"
#include "image/source_line.h"

#include <stdlib.h>
#include <string.h>

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
    for (size_t i = 0; i < p->count; i++)
        free((char *)(uintptr_t)p->items[i].name);
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

static uint64_t hash_of(struct gn_sampled_place place)
{
    return gn_mix(place.offset ^ gn_mix(place.module));
}

/* Its number, or GN_LOOKUP_NOTHING. */
static int64_t find_place(const struct gn_sample_places *p, struct gn_sampled_place place)
{
    const struct asked_place asked = {p, place};
    return gn_lookup_find(&p->known, hash_of(place), is_place, &asked);
}

static uint32_t add_place(struct gn_sample_places *p, struct gn_sampled_place place)
{
    if (p->count == MOST_PLACES || !gn_grow(&p->items, &p->room, p->count, sizeof *p->items) ||
        !gn_lookup_add(&p->known, hash_of(place), (uint32_t)p->count))
        return GN_SAMPLED_NONE;
    p->items[p->count] = place;
    return (uint32_t)p->count++;
}

uint32_t gn_sample_places_number(struct gn_sample_places *p, struct gn_sample_code *code,
                                 struct gn_sampled_place place)
{
    const int64_t known = find_place(p, place);
    if (known != GN_LOOKUP_NOTHING)
        return (uint32_t)known;
    place.function = gn_sample_code_function(code, place);
    return add_place(p, place);
}

uint32_t gn_sample_places_source(struct gn_sample_places *p, uint32_t module,
                                 const struct gn_source_line *source)
{
    struct gn_sampled_place place = {
        .module = module, .offset = gn_source_line_key(source), .line = source->line};
    const int64_t known = find_place(p, place);
    if (known != GN_LOOKUP_NOTHING)
        return (uint32_t)known;
    char *name = module == GN_SAMPLE_NOWHERE ? NULL : strdup(source->function);
    place.name = name;
    const uint32_t number = name ? add_place(p, place) : GN_SAMPLED_NONE;
    if (number == GN_SAMPLED_NONE)
        free(name);
    return number;
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
           a->called == b->called && a->other_threads == b->other_threads && a->how == b->how;
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
    const uint64_t edge = (uint64_t)row->location << 32 | (uint64_t)row->how << 1 | row->other_threads;
    const uint64_t nodes = (uint64_t)row->from << 32 | row->to,
                   places = (uint64_t)row->site << 32 | row->called;
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
    const bool is_metric = row.how >= GN_SAMPLED_METRIC;
    if (row.site != GN_SAMPLED_NONE &&
        add_row(c, &row, is_metric ? GN_SAMPLE_MOST_OF_METRICS : GN_SAMPLE_MOST))
        return;
    row.site = row.called = GN_SAMPLED_NONE;
    if (!add_row(c, &row, GN_SAMPLE_MOST + GN_SAMPLE_MOST_OTHER))
        c->unattributed += row.how == GN_SAMPLED_RUNNING ? row.count : 0;
}

/* ---- what is computed since a call ---- */

/* Where it led is what the moment says now. */
static void close_open(struct gn_sample_counts *c, struct open *o)
{
    for (size_t i = 0; i < o->count; i++) {
        o->rows[i].from = o->since.from;
        o->rows[i].to = o->since.to;
        if (o->since.kind != GN_MOMENT_BETWEEN) {
            o->rows[i].from = GN_SAMPLED_NONE;
            o->rows[i].to = 0;
        }
        count(c, o->rows[i]);
    }
    o->count = 0;
    o->since.kind = GN_MOMENT_UNKNOWN;
}

/* False: it has no such row. */
static bool add_to_open(struct open *o, const struct gn_sampled_count *row)
{
    for (size_t i = 0; i < o->count; i++)
        if (same(&o->rows[i], row)) {
            o->rows[i].count += row->count;
            o->rows[i].time_ns += row->time_ns;
            return true;
        }
    return false;
}

static void add_open(struct gn_sample_counts *c, struct open *o, struct gn_sampled_count row)
{
    if (add_to_open(o, &row))
        return;
    if (o->count >= GN_SAMPLE_MOST_OPEN - GN_SAMPLED_HOWS -
                        GN_METRICS_AT_A_TIME) { /* the rest is for other places, of each kind */
        row.site = row.called = GN_SAMPLED_NONE;
        if (add_to_open(o, &row))
            return;
    }
    if (o->count == GN_SAMPLE_MOST_OPEN || !gn_grow(&o->rows, &o->room, o->count, sizeof *o->rows))
        c->unattributed += row.how == GN_SAMPLED_RUNNING ? row.count : 0;
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
                                   .called = s->called,
                                   .other_threads = s->other_threads,
                                   .how = s->how,
                                   .count = 1,
                                   .time_ns = s->time_ns};
    if (location >= c->locations) {
        c->unattributed += s->how == GN_SAMPLED_RUNNING;
        return;
    }
    if (m->kind == GN_MOMENT_UNKNOWN) {
        row.from = GN_SAMPLED_NONE;
        row.to = s->in_call ? GN_SAMPLED_NONE : 0;
    }
    if (m->kind != GN_MOMENT_SINCE) {
        count(c, row);
        return;
    }
    struct open *o = &c->open[location];
    if (o->since.kind == GN_MOMENT_SINCE && (o->since.record != m->record || o->since.ticks != m->ticks))
        go_on(c, recorded, location, true); /* it surely has: something is recorded behind it */
    o->since = *m;
    row.from = row.to = 0;
    add_open(c, o, row);
}

/* ---- by place ---- */

/* What rows have in common that are divided alike. */
struct alike {
    uint32_t location, inside, other_threads, how, module;
    uint64_t function; /* of a call, and of a place whose function is not known: the offset */
    uint32_t row;
};

static struct alike alike_of(const struct gn_sampled_count *row, const struct gn_sample_places *places,
                             uint32_t number)
{
    const bool has_site = row->site < places->count;
    const struct gn_sampled_place *site = has_site ? &places->items[row->site] : NULL;
    const bool inside = row->to == GN_SAMPLED_NONE;
    return (struct alike){.location = row->location,
                          .inside = inside,
                          .other_threads = row->other_threads,
                          .how = row->how,
                          .module = site ? site->module : GN_SAMPLED_NONE,
                          .function = !site            ? 0
                                      : site->function ? site->function
                                                       : site->offset,
                          .row = number};
}

static int by_what_is_alike(const void *left, const void *right)
{
    const struct alike *a = left, *b = right;
    if (a->location != b->location)
        return a->location < b->location ? -1 : 1;
    if (a->inside != b->inside)
        return a->inside < b->inside ? -1 : 1;
    if (a->other_threads != b->other_threads)
        return a->other_threads < b->other_threads ? -1 : 1;
    if (a->how != b->how)
        return a->how < b->how ? -1 : 1;
    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    return a->function < b->function ? -1 : a->function > b->function;
}

/* Those whose moment is known. */
struct known {
    struct alike *items; /* in their order */
    size_t count;
    uint64_t *added; /* by row: samples that were added to it, and the time they stand for */
    uint64_t *added_ns;
};

/* As even as whole numbers can be: what is given so far is what the rows so far should have. */
static void divide(const struct gn_sample_counts *c, const struct known *k, const struct alike *first,
                   size_t alike, const struct gn_sampled_count *row)
{
    uint64_t all = 0, passed = 0, given = 0, given_ns = 0;
    for (size_t i = 0; i < alike; i++)
        all += c->rows[first[i].row].count;
    for (size_t i = 0; i < alike; i++) {
        passed += c->rows[first[i].row].count;
        const double share = (double)passed / (double)all;
        const uint64_t now = (uint64_t)((double)row->count * share + 0.5);
        const uint64_t now_ns = (uint64_t)((double)row->time_ns * share + 0.5);
        k->added[first[i].row] += now - given;
        k->added_ns[first[i].row] += now_ns - given_ns;
        given = now;
        given_ns = now_ns;
    }
}

static const struct alike *find_alike(const struct known *k, const struct alike *sought, size_t *count)
{
    size_t low = 0, high = k->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (by_what_is_alike(&k->items[middle], sought) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (*count = 0; low + *count < k->count && by_what_is_alike(&k->items[low + *count], sought) == 0;)
        ++*count;
    return &k->items[low];
}

static void place(const struct gn_sample_counts *c, const struct gn_sample_places *places,
                  const struct known *k, struct gn_sample_list *list)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct alike sought = alike_of(&c->rows[i], places, (uint32_t)i);
        size_t alike;
        const bool is_time = c->rows[i].how == GN_SAMPLED_RUNNING;
        if (c->rows[i].from != GN_SAMPLED_NONE || !gn_sampled_is_counted((int)c->rows[i].how))
            continue;
        const struct alike *first = find_alike(k, &sought, &alike);
        if (alike > 0) {
            divide(c, k, first, alike, &c->rows[i]);
            list->by_place += is_time ? c->rows[i].count : 0;
        } else {
            list->unattributed += is_time ? c->rows[i].count : 0;
        }
    }
}

static void copy_known(const struct gn_sample_counts *c, const struct known *k, struct gn_sample_list *list)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->rows[i].from == GN_SAMPLED_NONE)
            continue;
        struct gn_sampled_count *row = &list->rows[list->count++];
        *row = c->rows[i];
        row->count += k->added[i];
        row->time_ns += k->added_ns[i];
    }
}

bool gn_sample_counts_list(const struct gn_sample_counts *c, const struct gn_sample_places *places,
                           struct gn_sample_list *list)
{
    struct known k = {.items = calloc(c->count + 1, sizeof *k.items),
                      .added = calloc(c->count + 1, sizeof *k.added),
                      .added_ns = calloc(c->count + 1, sizeof *k.added_ns)};
    *list = (struct gn_sample_list){.rows = calloc(c->count + 1, sizeof *list->rows),
                                    .unattributed = c->unattributed};
    const bool room = k.items && k.added && k.added_ns && list->rows;
    for (size_t i = 0; room && i < c->count; i++)
        if (c->rows[i].from != GN_SAMPLED_NONE && gn_sampled_is_counted((int)c->rows[i].how))
            k.items[k.count++] = alike_of(&c->rows[i], places, (uint32_t)i);
    if (room) {
        qsort(k.items, k.count, sizeof *k.items, by_what_is_alike);
        place(c, places, &k, list);
        copy_known(c, &k, list);
    }
    free(k.items);
    free(k.added);
    free(k.added_ns);
    return room;
}
