#include "analyse/seen.h"

#include "base/grow.h"
#include "calls.h"
#include "base/lookup.h"
#include "base/mix.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { MARGIN = 5 /* of a window, at each end */ };

/* From when the last one had begun with MPI until the last one ended it, where that is in the part: the rest
 * is not of the run. */
static struct gn_kept_window of_run(const struct gn_history *h, struct gn_kept_window window)
{
    uint64_t finalized = 0;
    for (size_t c = 0; c < h->call_count; c++) {
        const struct gn_call *call = &h->calls[c];
        const uint32_t activity = gn_region_activity(h->definitions, call->region);
        if ((activity == GN_CALL_INIT || activity == GN_CALL_INIT_THREAD) &&
            call->leave_ticks > window.begin_ticks)
            window.begin_ticks = call->leave_ticks;
        if (activity == GN_CALL_FINALIZE && call->enter_ticks > finalized)
            finalized = call->enter_ticks;
    }
    if (finalized > 0 && finalized < window.end_ticks)
        window.end_ticks = finalized;
    return window;
}

static uint64_t last_ticks(const struct gn_definitions *d)
{
    return d->first_ticks + d->length_ticks;
}

struct gn_kept_window gn_seen_counted(const struct gn_definitions *d, struct gn_kept_window window)
{
    const uint64_t margin = (window.end_ticks - window.begin_ticks) / MARGIN;
    if (window.begin_ticks > d->first_ticks)
        window.begin_ticks += margin;
    if (window.end_ticks < last_ticks(d))
        window.end_ticks -= margin;
    return window;
}

static double length_ns(const struct gn_definitions *d, const struct gn_seen_part *part,
                        struct gn_kept_window window)
{
    const struct gn_history *h = &part->history;
    if (window.end_ticks == 0)
        return ((double)h->length.lo_ns + (double)h->length.hi_ns) / 2;
    const struct gn_kept_window own = of_run(h, window);
    const uint64_t last = last_ticks(d), end = own.end_ticks < last ? own.end_ticks : last;
    return end > own.begin_ticks ? (double)(end - own.begin_ticks) * 1e9 / (double)d->ticks_per_second : 0;
}

/* ---- sites ---- */

static int64_t find_site(const struct gn_seen *seen, uint32_t region, uint32_t path)
{
    const struct gn_definitions *d = seen->definitions;
    const uint32_t at = gn_sourced_path(d, path), file = at == GN_NONE ? 0 : d->paths[at].source_file,
                   line = at == GN_NONE ? 0 : d->paths[at].line;
    for (size_t i = 0; i < seen->site_count; i++)
        if (seen->sites[i].region == region && seen->sites[i].source_file == file &&
            seen->sites[i].line == line)
            return (int64_t)i;
    return GN_LOOKUP_NOTHING;
}

/* NULL: no memory. */
static struct gn_seen_site *site_of(struct gn_seen *seen, uint32_t region, uint32_t path)
{
    const struct gn_definitions *d = seen->definitions;
    const int64_t known = find_site(seen, region, path);
    const uint32_t at = gn_sourced_path(d, path);
    if (known != GN_LOOKUP_NOTHING)
        return &seen->sites[known];
    double *each = calloc(seen->count, sizeof *each);
    if (!each || !gn_grow(&seen->sites, &seen->site_capacity, seen->site_count, sizeof *seen->sites)) {
        free(each);
        return NULL;
    }
    seen->sites[seen->site_count] =
        (struct gn_seen_site){.region = region,
                              .source_file = at == GN_NONE ? 0 : d->paths[at].source_file,
                              .line = at == GN_NONE ? 0 : d->paths[at].line,
                              .each_ns = each};
    return &seen->sites[seen->site_count++];
}

static int find_sites_of(struct gn_seen *seen, size_t p)
{
    const struct gn_history *h = &seen->parts[p].history;
    const struct gn_kept_window counted = gn_seen_counted(seen->definitions, seen->parts[p].window);
    for (uint32_t c = 0; c < h->call_count; c++) {
        const struct gn_call *call = &h->calls[c];
        if (call->region == GN_NONE || call->leave_ticks < counted.begin_ticks ||
            (counted.end_ticks > 0 && call->leave_ticks > counted.end_ticks) ||
            (seen->parts[p].window.end_ticks > 0 && call->flags & GN_CALL_UNSURE))
            continue;
        struct gn_seen_site *site = site_of(seen, call->region, call->path);
        if (!site)
            return -ENOMEM;
        const double ns =
            (double)(call->leave_ticks - call->enter_ticks) * 1e9 / (double)h->definitions->ticks_per_second;
        site->each_ns[p] += ns;
        site->seen_ns += ns;
        site->is_polled |= call->flags & GN_CALL_POLL || call->waits_from != c;
    }
    return 0;
}

int gn_seen_measure(struct gn_seen *seen)
{
    int code = 0;
    seen->covered_ns = seen->counted_ns = 0;
    for (size_t i = 0; i < seen->count; i++) {
        struct gn_seen_part *part = &seen->parts[i];
        part->length_ns = length_ns(seen->definitions, part, part->window);
        part->counted_ns =
            length_ns(seen->definitions, part, gn_seen_counted(seen->definitions, part->window));
        seen->covered_ns += part->length_ns;
        seen->counted_ns += part->counted_ns;
    }
    for (size_t p = 0; p < seen->count && code == 0 && !seen->is_whole; p++)
        code = find_sites_of(seen, p);
    return code;
}

/* ---- totals ---- */

/* Student's t, 97.5 %, by degrees of freedom; from 10 on near enough. */
static double student_t(size_t freedom)
{
    static const double t[] = {INFINITY, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26};
    return freedom < sizeof t / sizeof *t ? t[freedom] : 1.96 + 2.7 / (double)freedom;
}

/* What is in the parts, each as large as it is, of all that there is. */
struct sample {
    const struct gn_span *each;
    const struct gn_seen_part *parts;
    const double *sizes; /* NULL: lengths of the parts, or in which waits count */
    bool counted;
    double all, seen; /* sizes of the run, and of the parts together */
    size_t count;
};

static double size_of(const struct sample *s, size_t part)
{
    return s->sizes ? s->sizes[part] : s->counted ? s->parts[part].counted_ns : s->parts[part].length_ns;
}

/* Half of the width of the interval of a ratio to the sizes. */
static double error_of(const struct sample *s, double ratio)
{
    double squares = 0;
    for (size_t i = 0; i < s->count; i++) {
        const double rest = (s->each[i].lo_ns + s->each[i].hi_ns) / 2 - ratio * size_of(s, i);
        squares += rest * rest;
    }
    const double k = (double)s->count, left = fmax(0, 1 - s->seen / s->all);
    return student_t(s->count - 1) * sqrt(left * squares * k / (k - 1)) / s->seen;
}

static struct gn_span total(const struct gn_seen *seen, const struct sample *s)
{
    struct gn_span sum = {0, 0};
    for (size_t i = 0; i < s->count; i++) {
        sum.lo_ns += s->each[i].lo_ns;
        sum.hi_ns += s->each[i].hi_ns;
    }
    if (seen->is_whole || s->seen <= 0)
        return sum;
    if (s->count == 1)
        return (struct gn_span){sum.lo_ns, INFINITY};
    const double scale = fmax(1, s->all / s->seen);
    const double error = error_of(s, (sum.lo_ns + sum.hi_ns) / 2 / s->seen) * s->all;
    return (struct gn_span){fmax(sum.lo_ns, sum.lo_ns * scale - error), sum.hi_ns * scale + error};
}

struct gn_span gn_seen_total(const struct gn_seen *seen, const struct gn_span *each)
{
    const struct sample s = {each, seen->parts, NULL, false, seen->run_ns, seen->covered_ns, seen->count};
    return total(seen, &s);
}

struct gn_span gn_seen_waits(const struct gn_seen *seen, uint32_t region, uint32_t path,
                             const struct gn_span *each)
{
    const int64_t at = find_site(seen, region, path);
    const struct gn_seen_site *site = at == GN_LOOKUP_NOTHING ? NULL : &seen->sites[at];
    struct sample s = {each, seen->parts, NULL, true, seen->run_ns, seen->counted_ns, seen->count};
    if (site && site->total_ns > 0 && site->seen_ns > 0 && !site->is_polled) {
        s.sizes = site->each_ns;
        s.all = fmax(site->total_ns, site->seen_ns);
        s.seen = site->seen_ns;
    }
    return total(seen, &s);
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
            (*list)[i] =
                (struct gn_seen_edge){all.items[i], gn_seen_waits(seen, all.items[i].region,
                                                                  all.items[i].path, &each[i * seen->count])};
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
    to->steps += cause->steps;
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
        c->items[i].caused =
            gn_seen_waits(seen, c->items[i].call_region, c->items[i].call_path, &each[i * seen->count]);
        if (seen->count > 1 || !seen->is_whole)
            c->items[i].first = c->items[i].last = c->items[i].steps = c->items[i].of = 0;
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
    for (size_t i = 0; i < seen->site_count; i++)
        free(seen->sites[i].each_ns);
    free(seen->sites);
    free(seen->parts);
    *seen = (struct gn_seen){.parts = NULL};
}
