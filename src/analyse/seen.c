#include "analyse/seen.h"

#include "base/grow.h"
#include "calls.h"
#include "base/lookup.h"
#include "base/mix.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const double whole_share = 0.98; /* of the run: the rest is how it begins and ends */

/* When the last one had begun with MPI, where that is in the part: what was before is not of the run. */
static double begin_ns(const struct gn_history *h)
{
    double begin = (double)h->first.lo_ns;
    for (size_t c = 0; c < h->call_count; c++) {
        const uint32_t activity = gn_region_activity(h->definitions, h->calls[c].region);
        if (activity == GN_CALL_INIT || activity == GN_CALL_INIT_THREAD)
            begin = fmax(begin, (double)h->calls[c].leave.lo_ns);
    }
    return begin;
}

void gn_seen_measure(struct gn_seen *seen)
{
    seen->covered_ns = 0;
    for (size_t i = 0; i < seen->count; i++) {
        const struct gn_history *h = &seen->parts[i].history;
        const double length = ((double)h->length.lo_ns + (double)h->length.hi_ns) / 2;
        seen->parts[i].length_ns = fmax(0, length - (begin_ns(h) - (double)h->first.lo_ns));
        seen->covered_ns += seen->parts[i].length_ns;
    }
    seen->is_whole = seen->is_whole || (seen->count == 1 && seen->covered_ns >= whole_share * seen->run_ns);
}

/* Student's t, 97.5 %, by degrees of freedom; from 10 on near enough. */
static double student_t(size_t freedom)
{
    static const double t[] = {INFINITY, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26};
    return freedom < sizeof t / sizeof *t ? t[freedom] : 1.96 + 2.7 / (double)freedom;
}

/* Half of the width of a ratio's interval, of what is in the parts for each ns of them. */
static double error_of(const struct gn_seen *seen, const struct gn_span *each, double ratio)
{
    double squares = 0;
    for (size_t i = 0; i < seen->count; i++) {
        const double rest = (each[i].lo_ns + each[i].hi_ns) / 2 - ratio * seen->parts[i].length_ns;
        squares += rest * rest;
    }
    const double k = (double)seen->count, left = fmax(0, 1 - seen->covered_ns / seen->run_ns);
    return student_t(seen->count - 1) * sqrt(left * squares * k / (k - 1)) / seen->covered_ns;
}

struct gn_span gn_seen_total(const struct gn_seen *seen, const struct gn_span *each)
{
    struct gn_span sum = {0, 0};
    for (size_t i = 0; i < seen->count; i++) {
        sum.lo_ns += each[i].lo_ns;
        sum.hi_ns += each[i].hi_ns;
    }
    if (seen->is_whole || seen->covered_ns <= 0)
        return sum;
    if (seen->count == 1)
        return (struct gn_span){sum.lo_ns, INFINITY};
    const double scale = fmax(1, seen->run_ns / seen->covered_ns);
    const double error = error_of(seen, each, (sum.lo_ns + sum.hi_ns) / 2 / seen->covered_ns) * seen->run_ns;
    return (struct gn_span){fmax(sum.lo_ns, sum.lo_ns * scale - error), sum.hi_ns * scale + error};
}

/* ---- edges ---- */

static int compare(const void *left, const void *right)
{
    const struct gn_seen_edge *a = left, *b = right;
    const double x = a->edge.lo_ns + a->edge.hi_ns, y = b->edge.lo_ns + b->edge.hi_ns;
    return x > y ? -1 : x < y;
}

/* each[edge * parts + part] */
static void spread(const struct gn_seen *seen, const struct gn_wait_edges *all, struct gn_span *each)
{
    for (size_t p = 0; p < seen->count; p++)
        for (size_t i = 0; i < seen->parts[p].waits.edges.count; i++) {
            const struct gn_wait_edge *edge = &seen->parts[p].waits.edges.items[i];
            const size_t at = (size_t)gn_wait_edges_find(all, edge) * seen->count + p;
            each[at] = (struct gn_span){edge->lo_ns, edge->hi_ns};
        }
}

int64_t gn_seen_edges(const struct gn_seen *seen, struct gn_seen_edge **list)
{
    struct gn_wait_edges all = {.items = NULL};
    int64_t count = 0;
    for (size_t p = 0; p < seen->count && count == 0; p++)
        count = gn_wait_edges_join(&all, &seen->parts[p].waits.edges);
    struct gn_span *each = calloc(all.count * seen->count + 1, sizeof *each);
    *list = calloc(all.count + 1, sizeof **list);
    if (!each || !*list || count < 0) {
        free(*list);
        *list = NULL;
        count = -ENOMEM;
    } else {
        spread(seen, &all, each);
        for (size_t i = 0; i < all.count; i++)
            (*list)[i] = (struct gn_seen_edge){all.items[i], gn_seen_total(seen, &each[i * seen->count])};
        qsort(*list, all.count, sizeof **list, compare);
        count = (int64_t)all.count;
    }
    gn_wait_edges_clear(&all);
    free(each);
    return count;
}

/* ---- causes ---- */

struct causes {
    struct gn_seen_cause *items;
    size_t count, capacity;
    struct gn_lookup index;
};

struct asked {
    const struct gn_seen_cause *items, *cause;
};

static bool is_same(const void *context, uint32_t index)
{
    const struct asked *asked = context;
    const struct gn_seen_cause *a = asked->cause, *b = &asked->items[index];
    return a->process == b->process && a->call_region == b->call_region && a->call_path == b->call_path;
}

/* Its place in the list, where it is put if it is not there. */
static int64_t place_of(struct causes *c, const struct gn_seen_cause *cause)
{
    const struct asked asked = {c->items, cause};
    const uint64_t hash = gn_mix_at(cause->process, cause->call_path, cause->call_region);
    const int64_t at = gn_lookup_find(&c->index, hash, is_same, &asked);
    if (at != GN_LOOKUP_NOTHING)
        return at;
    if (!gn_grow(&c->items, &c->capacity, c->count, sizeof *c->items) ||
        !gn_lookup_add(&c->index, hash, (uint32_t)c->count))
        return -ENOMEM;
    c->items[c->count] = *cause;
    return (int64_t)c->count++;
}

static struct gn_seen_cause bare(const struct gn_seen *seen, const struct gn_cause *cause)
{
    return (struct gn_seen_cause){.process = seen->definitions->locations[cause->location].process,
                                  .call_region = cause->call_region,
                                  .call_path = cause->call_path};
}

static void add_cause(struct gn_seen_cause *to, const struct gn_cause *cause)
{
    const bool is_first = to->times == 0;
    to->seen_ns += (cause->caused.lo_ns + cause->caused.hi_ns) / 2;
    to->squares += cause->squares;
    if (cause->times > 0) {
        to->first = is_first || cause->first < to->first ? cause->first : to->first;
        to->last = is_first || cause->last > to->last ? cause->last : to->last;
    }
    to->times += cause->times;
    to->of = cause->of > to->of ? cause->of : to->of;
}

static int gather(const struct gn_seen *seen, struct causes *c)
{
    for (size_t p = 0; p < seen->count; p++)
        for (size_t i = 0; i < seen->parts[p].waits.cause_count; i++) {
            const struct gn_cause *cause = &seen->parts[p].waits.causes[i];
            const struct gn_seen_cause asked = bare(seen, cause);
            const int64_t at = place_of(c, &asked);
            if (at < 0)
                return -ENOMEM;
            add_cause(&c->items[at], cause);
        }
    return 0;
}

static int estimate(const struct gn_seen *seen, struct causes *c)
{
    struct gn_span *each = calloc(c->count * seen->count + 1, sizeof *each);
    if (!each)
        return -ENOMEM;
    for (size_t p = 0; p < seen->count; p++)
        for (size_t i = 0; i < seen->parts[p].waits.cause_count; i++) {
            const struct gn_cause *cause = &seen->parts[p].waits.causes[i];
            const struct gn_seen_cause asked = bare(seen, cause);
            struct gn_span *to = &each[(size_t)place_of(c, &asked) * seen->count + p];
            to->lo_ns += cause->caused.lo_ns;
            to->hi_ns += cause->caused.hi_ns;
        }
    for (size_t i = 0; i < c->count; i++) {
        c->items[i].caused = gn_seen_total(seen, &each[i * seen->count]);
        if (seen->count > 1 || !seen->is_whole)
            c->items[i].first = c->items[i].last = c->items[i].of = 0;
    }
    free(each);
    return 0;
}

static int compare_causes(const void *left, const void *right)
{
    const struct gn_seen_cause *a = left, *b = right;
    return a->seen_ns > b->seen_ns ? -1 : a->seen_ns < b->seen_ns;
}

int64_t gn_seen_causes(const struct gn_seen *seen, struct gn_seen_cause **list)
{
    struct causes c = {.items = NULL};
    int code = gather(seen, &c);
    if (code == 0)
        code = estimate(seen, &c);
    gn_lookup_clear(&c.index);
    if (code != 0) {
        free(c.items);
        return code;
    }
    if (c.count > 0)
        qsort(c.items, c.count, sizeof *c.items, compare_causes);
    *list = c.items;
    return (int64_t)c.count;
}

void gn_seen_clear(struct gn_seen *seen)
{
    for (size_t i = 0; i < seen->count; i++) {
        gn_history_clear(&seen->parts[i].history);
        gn_waits_clear(&seen->parts[i].waits);
    }
    free(seen->parts);
    *seen = (struct gn_seen){.parts = NULL};
}
