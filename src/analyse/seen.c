#include "analyse/seen.h"

#include "base/grow.h"
#include "calls.h"
#include "base/lookup.h"
#include "base/mix.h"
#include "event/activity.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* From when the last one had begun with MPI until the last one ended it, where that is in the part: the rest
 * is not of the run. */
static struct gn_kept_window of_run(const struct gn_history *h, struct gn_kept_window window)
{
    uint64_t finalized = 0;
    for (size_t c = 0; c < h->call_count; c++) {
        const struct gn_call *call = &h->calls[c];
        const uint32_t activity = gn_region_activity(h->definitions, call->region);
        if (gn_activity_starts(activity) && call->leave_ticks > window.begin_ticks)
            window.begin_ticks = call->leave_ticks;
        if (activity == GN_CALL_FINALIZE && call->enter_ticks > finalized)
            finalized = call->enter_ticks;
    }
    if (finalized > 0 && finalized < window.end_ticks)
        window.end_ticks = finalized;
    return window;
}

/* When the run was over. */
static uint64_t last_ticks(const struct gn_definitions *d)
{
    return d->first_ticks + d->length_ticks;
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

struct asked_site {
    const struct gn_seen_site *sites;
    struct gn_seen_site site;
};

static bool is_same_site(const void *context, uint32_t index)
{
    const struct asked_site *asked = context;
    const struct gn_seen_site *a = &asked->site, *b = &asked->sites[index];
    return a->region == b->region && a->source_file == b->source_file && a->line == b->line;
}

static struct gn_seen_site bare_site(const struct gn_seen *seen, uint32_t region, uint32_t path)
{
    const uint32_t at = gn_sourced_path(seen->definitions, path);
    const struct gn_path_def *p = at == GN_NONE ? NULL : &seen->definitions->paths[at];
    return (struct gn_seen_site){
        .region = region, .source_file = p ? p->source_file : 0, .line = p ? p->line : 0};
}

static uint64_t hash_of_site(const struct gn_seen_site *site)
{
    return gn_mix_at(site->region, site->source_file, site->line);
}

/* NULL: there is none. */
static struct gn_seen_site *find_site(const struct gn_seen *seen, uint32_t region, uint32_t path)
{
    const struct asked_site asked = {seen->sites, bare_site(seen, region, path)};
    const int64_t at = gn_lookup_find(&seen->site_index, hash_of_site(&asked.site), is_same_site, &asked);
    return at == GN_LOOKUP_NOTHING ? NULL : &seen->sites[at];
}

/* NULL: no memory. */
static struct gn_seen_site *site_of(struct gn_seen *seen, uint32_t region, uint32_t path)
{
    struct gn_seen_site *known = find_site(seen, region, path);
    if (known)
        return known;
    struct gn_seen_site site = bare_site(seen, region, path);
    site.each_ns = calloc(seen->count, sizeof *site.each_ns);
    if (!site.each_ns ||
        !gn_grow(&seen->sites, &seen->site_capacity, seen->site_count, sizeof *seen->sites) ||
        !gn_lookup_add(&seen->site_index, hash_of_site(&site), (uint32_t)seen->site_count)) {
        free(site.each_ns);
        return NULL;
    }
    seen->sites[seen->site_count] = site;
    return &seen->sites[seen->site_count++];
}

/* A call counts as its wait does (analyse/waits.h). */
static bool is_counted(const struct gn_seen_part *part, const struct gn_kept_window *counted,
                       const struct gn_call *call)
{
    return call->region != GN_NONE &&
           (part->window.end_ticks == 0 ||
            (!(call->flags & GN_CALL_UNSURE) && call->leave_ticks >= counted->begin_ticks &&
             call->leave_ticks <= counted->end_ticks));
}

bool gn_seen_counts(const struct gn_seen *seen, size_t p, const struct gn_call *call)
{
    return is_counted(&seen->parts[p], &seen->parts[p].counted, call);
}

int64_t gn_seen_site_of(const struct gn_seen *seen, uint32_t region, uint32_t path)
{
    const struct gn_seen_site *site = find_site(seen, region, path);
    return site ? site - seen->sites : -1;
}

static int find_sites_of(struct gn_seen *seen, size_t p)
{
    const struct gn_seen_part *part = &seen->parts[p];
    const struct gn_history *h = &part->history;
    const struct gn_kept_window counted = part->counted;
    for (uint32_t c = 0; c < h->call_count; c++) {
        const struct gn_call *call = &h->calls[c];
        struct gn_seen_site *site =
            is_counted(part, &counted, call) ? site_of(seen, call->region, call->path) : NULL;
        if (!site && is_counted(part, &counted, call))
            return -ENOMEM;
        if (!site)
            continue;
        site->each_ns[p] += gn_call_ns(h, call);
        if (call->flags & GN_CALL_UNTOLD)
            site->untold_ns += gn_call_ns(h, call);
        site->is_polled |= call->flags & GN_CALL_POLL || call->waits_from != c;
    }
    return 0;
}

/* Whether what was waited there is in proportion to the time in its calls. Where windows were off, how much
 * of that was meanwhile is not known. */
static bool is_by_calls(const struct gn_seen *seen, const struct gn_seen_site *site)
{
    return site && !site->is_polled && seen->off_ns <= 0;
}

/* What the part has at a site, to which what was waited there is in proportion. */
static double size_of(const struct gn_seen *seen, const struct gn_seen_site *site, size_t part)
{
    return is_by_calls(seen, site) ? site->each_ns[part] : seen->parts[part].counted_ns;
}

static void add_up_sites(struct gn_seen *seen)
{
    for (size_t p = 0; p < seen->count; p++) {
        const struct gn_wait_edges *edges = &seen->parts[p].waits.edges;
        for (size_t i = 0; i < seen->site_count; i++)
            gn_sizes_add(&seen->sites[i].sizes, seen->parts[p].counted_weight,
                         size_of(seen, &seen->sites[i], p));
        for (size_t i = 0; i < edges->count; i++) {
            struct gn_seen_site *site = find_site(seen, edges->items[i].region, edges->items[i].path);
            if (site) {
                site->part.lo_ns += edges->items[i].lo_ns;
                site->part.hi_ns += edges->items[i].hi_ns;
            }
        }
        for (size_t i = 0; i < seen->site_count; i++) {
            struct gn_seen_site *site = &seen->sites[i];
            gn_estimate_add(&site->waited, site->part.lo_ns, site->part.hi_ns, seen->parts[p].counted_weight,
                            size_of(seen, site, p));
            site->part = (struct gn_span){0, 0};
        }
    }
}

/* Of what the part was as measured. */
static void add_gone(struct gn_span *gone, const struct gn_history *h, double weight)
{
    if (!h->gone_ns)
        return;
    gone->lo_ns += weight * fmax(0, h->measured_ns - (double)h->unmeasured.hi_ns);
    gone->hi_ns += weight * fmax(0, h->measured_ns - (double)h->unmeasured.lo_ns);
}

static uint64_t off_between(const struct gn_seen *seen, uint64_t begin, uint64_t end)
{
    uint64_t ticks = 0;
    for (size_t i = 0; i < seen->off_count; i++) {
        const uint64_t from = seen->off[i].begin_ticks > begin ? seen->off[i].begin_ticks : begin,
                       to = seen->off[i].end_ticks < end ? seen->off[i].end_ticks : end;
        ticks += to > from ? to - from : 0;
    }
    return ticks;
}

/* Each window stands for the time until the next one begins; the first one for what was before, too. */
static void weigh(struct gn_seen *seen)
{
    const struct gn_definitions *d = seen->definitions;
    const double ns = 1e9 / (double)(d->ticks_per_second ? d->ticks_per_second : 1);
    const bool is_part = seen->period.end_ticks > 0;
    const uint64_t first = is_part ? seen->period.begin_ticks : d->first_ticks,
                   last = is_part ? seen->period.end_ticks : last_ticks(d);
    seen->gone_ns = 0;
    for (size_t i = 0; i < seen->count; i++) {
        struct gn_seen_part *part = &seen->parts[i];
        const struct gn_kept_window own = of_run(&part->history, part->window);
        const uint64_t begin = i == 0 && part->window.begin_ticks > first ? first : own.begin_ticks;
        const uint64_t end = i + 1 < seen->count    ? seen->parts[i + 1].window.begin_ticks
                             : own.end_ticks > last ? own.end_ticks
                                                    : last;
        const uint64_t off = off_between(seen, begin, end);
        const double stretch = seen->is_whole || end <= begin + off ? 0 : (double)(end - begin - off) * ns;
        const double slowed = part->slowed;
        part->weight = seen->is_whole ? 1 : part->length_ns > 0 ? stretch / (slowed * part->length_ns) : 0;
        part->counted_weight = seen->is_whole         ? 1
                               : part->counted_ns > 0 ? stretch / (slowed * part->counted_ns)
                                                      : 0;
        seen->gone_ns += part->weight * (slowed - 1) * part->length_ns;
        add_gone(&seen->gone, &part->history, part->weight);
        gn_sizes_add(&seen->lengths, part->weight, part->length_ns);
        gn_sizes_add(&seen->counted, part->counted_weight, part->counted_ns);
    }
    seen->run_ns = fmax(0, seen->measured_ns - seen->gone_ns);
    /* when it ended, events do not tell, if none were wanted then */
    const uint64_t end = is_part ? last : first + (uint64_t)(seen->measured_ns / ns);
    seen->off_ns = fmin(seen->run_ns, (double)off_between(seen, first, end > last ? end : last) * ns);
}

/* Pieces of a window overlap. */
static double covered_ns(const struct gn_seen *seen, size_t p)
{
    const struct gn_seen_part *part = &seen->parts[p];
    struct gn_kept_window rest = part->window;
    if (p > 0 && seen->parts[p - 1].window.end_ticks > rest.begin_ticks)
        rest.begin_ticks = seen->parts[p - 1].window.end_ticks;
    return rest.end_ticks > rest.begin_ticks || part->window.end_ticks == 0
               ? length_ns(seen->definitions, part, rest)
               : 0;
}

int gn_seen_measure(struct gn_seen *seen)
{
    int code = 0;
    for (size_t i = 0; i < seen->count; i++) {
        struct gn_seen_part *part = &seen->parts[i];
        part->length_ns = length_ns(seen->definitions, part, part->window);
        part->counted_ns = length_ns(seen->definitions, part, part->counted);
        seen->covered_ns += covered_ns(seen, i);
    }
    weigh(seen);
    for (size_t p = 0; p < seen->count && code == 0; p++)
        code = find_sites_of(seen, p);
    if (code == 0)
        add_up_sites(seen);
    return code;
}

/* ---- totals ---- */

struct gn_span gn_seen_total(const struct gn_seen *seen, const struct gn_span *each)
{
    struct gn_estimate e = {.lo = 0};
    struct gn_span total;
    for (size_t p = 0; p < seen->count; p++)
        gn_estimate_add(&e, each[p].lo_ns, each[p].hi_ns, seen->parts[p].weight, seen->parts[p].length_ns);
    if (seen->is_whole)
        return (struct gn_span){e.lo, e.hi};
    gn_estimate_total(&e, &seen->lengths, seen->run_ns - seen->off_ns, 1, &total.lo_ns, &total.hi_ns);
    total.hi_ns += seen->off_ns;
    return total;
}

/* Of waits in calls of a site; NULL: nobody knows of which. */
static struct gn_span waits_of(const struct gn_seen *seen, const struct gn_seen_site *site,
                               const struct gn_estimate *e, double *most_likely)
{
    const bool in_calls = is_by_calls(seen, site) && site->total_ns > 0;
    const struct gn_sizes *sizes = in_calls ? &site->sizes : &seen->counted;
    const double all = in_calls ? fmax(site->total_ns, site->sizes.seen) : seen->run_ns - seen->off_ns;
    struct gn_span total;
    *most_likely = (e->lo + e->hi) / 2;
    if (seen->is_whole)
        return (struct gn_span){e->lo, e->hi};
    *most_likely = gn_estimate_middle(e, sizes, all);
    const double ranks = (double)seen->definitions->process_count;
    gn_estimate_total(e, sizes, all, in_calls ? 1 : ranks, &total.lo_ns, &total.hi_ns);
    total.hi_ns += seen->off_ns * ranks;
    if (site && site->total_ns > 0 && !site->is_polled) /* nobody waits for longer than the calls last */
        total.hi_ns = fmax(total.lo_ns, fmin(total.hi_ns, site->total_ns));
    return total;
}

struct gn_span gn_seen_at_site(const struct gn_seen *seen, size_t at, const struct gn_span *each)
{
    struct gn_estimate e = {.lo = 0};
    double most_likely;
    for (size_t p = 0; p < seen->count; p++)
        gn_estimate_add(&e, each[p].lo_ns, each[p].hi_ns, seen->parts[p].counted_weight,
                        size_of(seen, &seen->sites[at], p));
    return waits_of(seen, &seen->sites[at], &e, &most_likely);
}

struct gn_span gn_seen_waited(const struct gn_seen *seen, const struct gn_seen_site *site,
                              double *most_likely)
{
    struct gn_span waited = waits_of(seen, site, &site->waited, most_likely);
    double seen_ns = 0;
    for (size_t p = 0; p < seen->count; p++)
        seen_ns += site->each_ns[p];
    const double all_ns = fmax(seen_ns, site->total_ns);
    if (site->untold_ns > 0)
        waited.hi_ns = fmax(waited.hi_ns, fmin(all_ns, waited.hi_ns + site->untold_ns / seen_ns * all_ns));
    return waited;
}

/* ---- edges ---- */

static int compare(const void *left, const void *right)
{
    const struct gn_seen_edge *a = left, *b = right;
    const double x = a->edge.lo_ns + a->edge.hi_ns, y = b->edge.lo_ns + b->edge.hi_ns;
    return x > y ? -1 : x < y;
}

struct gathered {
    struct gn_wait_edges edges;
    struct gn_estimate *estimates; /* of each */
    size_t capacity;
};

static int gather_edges(const struct gn_seen *seen, struct gathered *g)
{
    for (size_t p = 0; p < seen->count; p++)
        for (size_t i = 0; i < seen->parts[p].waits.edges.count; i++) {
            const struct gn_wait_edge *edge = &seen->parts[p].waits.edges.items[i];
            const size_t known = g->edges.count;
            const int64_t at = gn_wait_edges_put(&g->edges, edge);
            if (at < 0 || !gn_grow(&g->estimates, &g->capacity, (size_t)at, sizeof *g->estimates))
                return -ENOMEM;
            if ((size_t)at == known)
                g->estimates[at] = (struct gn_estimate){.lo = 0};
            gn_estimate_add(&g->estimates[at], edge->lo_ns, edge->hi_ns, seen->parts[p].counted_weight,
                            size_of(seen, find_site(seen, edge->region, edge->path), p));
        }
    return 0;
}

int64_t gn_seen_edges(const struct gn_seen *seen, struct gn_seen_edge **list)
{
    struct gathered g = {.estimates = NULL};
    const int code = gather_edges(seen, &g);
    *list = code == 0 ? calloc(g.edges.count + 1, sizeof **list) : NULL;
    for (size_t i = 0; *list && i < g.edges.count; i++) {
        const struct gn_wait_edge *edge = &g.edges.items[i];
        double most_likely;
        (*list)[i] = (struct gn_seen_edge){
            *edge, waits_of(seen, find_site(seen, edge->region, edge->path), &g.estimates[i], &most_likely)};
    }
    if (*list)
        qsort(*list, g.edges.count, sizeof **list, compare);
    const int64_t count = *list ? (int64_t)g.edges.count : -ENOMEM;
    gn_wait_edges_clear(&g.edges);
    free(g.estimates);
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

static void add_cause(struct gn_seen_cause *to, const struct gn_cause *cause, double weight)
{
    const bool is_first = to->times == 0;
    to->seen_ns += weight * (cause->caused.lo_ns + cause->caused.hi_ns) / 2;
    to->squares += weight * cause->squares;
    if (cause->times > 0) {
        to->first = is_first || cause->first < to->first ? cause->first : to->first;
        to->last = is_first || cause->last > to->last ? cause->last : to->last;
    }
    to->times += cause->times;
    to->steps += cause->steps;
    to->calls += (uint64_t)(weight * (double)cause->of);
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
            add_cause(&c->items[at], cause, seen->parts[p].counted_weight);
        }
    return 0;
}

static int estimate(const struct gn_seen *seen, struct causes *c)
{
    struct gn_estimate *estimates = calloc(c->count + 1, sizeof *estimates);
    struct gn_span *part = calloc(c->count + 1, sizeof *part);
    for (size_t p = 0; estimates && part && p < seen->count; p++) {
        for (size_t i = 0; i < seen->parts[p].waits.cause_count; i++) {
            const struct gn_cause *cause = &seen->parts[p].waits.causes[i];
            const struct gn_seen_cause asked = bare(seen, cause);
            struct gn_span *to = &part[place_of(c, &asked)];
            to->lo_ns += cause->caused.lo_ns;
            to->hi_ns += cause->caused.hi_ns;
        }
        for (size_t i = 0; i < c->count; i++) {
            const struct gn_seen_site *site = find_site(seen, c->items[i].call_region, c->items[i].call_path);
            gn_estimate_add(&estimates[i], part[i].lo_ns, part[i].hi_ns, seen->parts[p].counted_weight,
                            size_of(seen, site, p));
            part[i] = (struct gn_span){0, 0};
        }
    }
    for (size_t i = 0; estimates && part && i < c->count; i++) {
        struct gn_seen_cause *cause = &c->items[i];
        double most_likely;
        cause->caused = waits_of(seen, find_site(seen, cause->call_region, cause->call_path), &estimates[i],
                                 &most_likely);
        if (!seen->is_whole)
            cause->first = cause->last = cause->steps = cause->of = 0;
    }
    const int code = estimates && part ? 0 : -ENOMEM;
    free(estimates);
    free(part);
    return code;
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
    free(seen->after);
    gn_lookup_clear(&seen->site_index);
    free(seen->parts);
    *seen = (struct gn_seen){.parts = NULL};
}
