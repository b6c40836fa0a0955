/*
 * Bounds, and how messages tighten them: what was taken had been given before, so a leave is not before the
 * enter that it came from. Forward in causal order for lower bounds, backward for upper ones; each sweep is
 * sound wherever it stops. What is learned of one reading of a clock holds for all of its locations, as far
 * as the limits of its rate carry it. Only what is certain is used.
 */
#include "analyse/history_inside.h"
#include "trace/clock_offsets.h"

#include <math.h>
#include <stdlib.h>

/* ---- clocks ---- */

static void rate(struct gn_history_make *m, uint32_t location, double share)
{
    const double nominal = 1e9 / (double)(m->d->ticks_per_second ? m->d->ticks_per_second : 1000000000);
    m->rate_lo[location] = nominal * (1 - share);
    m->rate_hi[location] = nominal * (1 + share);
    const struct gn_bounds *bounds = m->settings->bounds[location];
    if (!bounds)
        return;
    const struct gn_breakpoint *breakpoints;
    struct gn_outside outside;
    gn_bounds_breakpoints(bounds, &breakpoints, &outside);
    if (outside.rate_lo > 0 && isfinite(outside.rate_hi)) {
        m->rate_lo[location] = outside.rate_lo;
        m->rate_hi[location] = outside.rate_hi;
    }
}

/* known: (bounds, domain) → clock + 1. A clock that nothing is known of is one of its own. */
static int number_clock(struct gn_history_make *m, uint32_t location, struct gn_map *known)
{
    const struct gn_key key = {(uintptr_t)m->settings->bounds[location], m->d->locations[location].domain};
    const uintptr_t found = key.a ? (uintptr_t)gn_map_find(known, key) : 0;
    m->clock[location] = found ? (uint32_t)(found - 1) : m->clock_count++;
    return found || !key.a || gn_map_add(known, key, (void *)((uintptr_t)m->clock[location] + 1)) ? 0
                                                                                                  : -ENOMEM;
}

int gn_history_clocks(struct gn_history_make *m)
{
    const size_t locations = m->d->location_count;
    const double share = gn_nominal_share(m->d);
    m->rate_lo = malloc((locations + 1) * sizeof *m->rate_lo);
    m->rate_hi = malloc((locations + 1) * sizeof *m->rate_hi);
    m->clock = malloc((locations + 1) * sizeof *m->clock);
    m->lower = calloc(locations + 1, sizeof *m->lower);
    m->upper = calloc(locations + 1, sizeof *m->upper);
    if (!m->rate_lo || !m->rate_hi || !m->clock || !m->lower || !m->upper)
        return -ENOMEM;
    struct gn_map known = {NULL, 0, 0};
    int code = 0;
    for (uint32_t l = 0; l < locations && code == 0; l++) {
        rate(m, l, share);
        code = number_clock(m, l, &known);
    }
    gn_map_clear(&known);
    return code;
}

struct gn_interval gn_history_time(const struct gn_history_make *m, uint32_t location, uint64_t ticks)
{
    struct gn_interval at = {-GN_HISTORY_FAR_NS, GN_HISTORY_FAR_NS};
    if (!m->settings->bounds[location])
        return at;
    const struct gn_interval known = gn_bounds_convert(m->settings->bounds[location], ticks);
    if (known.lo_ns > at.lo_ns)
        at.lo_ns = known.lo_ns < at.hi_ns ? known.lo_ns : at.hi_ns;
    if (known.hi_ns < at.hi_ns)
        at.hi_ns = known.hi_ns > at.lo_ns ? known.hi_ns : at.lo_ns;
    return at;
}

/* ---- what one reading of a clock says about another ---- */

/* No further away than what is not known: sums of such times have room. */
static int64_t sum(int64_t at_ns, double ns)
{
    const int64_t far = GN_HISTORY_FAR_NS, all = at_ns + (int64_t)fmax(fmin(ns, 0x1p61), -0x1p61);
    return all > far ? far : all < -far ? -far : all;
}

/* A lower bound of the time of `ticks`, from the one of a tie. */
static int64_t least_at(const struct gn_history_make *m, uint32_t location, const struct gn_tie *tie,
                        uint64_t ticks)
{
    double ns = ticks >= tie->ticks ? gn_history_least_ns(m, location, ticks - tie->ticks)
                                    : -gn_history_most_ns(m, location, tie->ticks - ticks);
    return sum(tie->ns, floor(ns) - 1);
}

static int64_t most_at(const struct gn_history_make *m, uint32_t location, const struct gn_tie *tie,
                       uint64_t ticks)
{
    double ns = ticks <= tie->ticks ? -gn_history_least_ns(m, location, tie->ticks - ticks)
                                    : gn_history_most_ns(m, location, ticks - tie->ticks);
    return sum(tie->ns, ceil(ns) + 1);
}

static int add_tie(struct gn_point_list *list, uint64_t ticks, int64_t ns)
{
    if (!gn_grow(&list->ties, &list->capacity, list->count, sizeof *list->ties))
        return -ENOMEM;
    list->ties[list->count++] = (struct gn_tie){ticks, ns};
    return 0;
}

static void raise_lower(const struct gn_history_make *m, uint32_t location, uint64_t ticks, int64_t *lo_ns)
{
    const struct gn_point_list *list = &m->lower[m->clock[location]];
    if (list->count == 0)
        return;
    int64_t ns = least_at(m, location, &list->ties[list->count - 1], ticks);
    *lo_ns = ns > *lo_ns ? ns : *lo_ns;
}

static void sink_upper(const struct gn_history_make *m, uint32_t location, uint64_t ticks, int64_t *hi_ns)
{
    const struct gn_point_list *list = &m->upper[m->clock[location]];
    if (list->count == 0)
        return;
    int64_t ns = most_at(m, location, &list->ties[list->count - 1], ticks);
    *hi_ns = ns < *hi_ns ? ns : *hi_ns;
}

/* ---- sweeps ---- */

/* Of instances: the latest lower bound of those that gave, so far; the earliest upper bound of those that
 * took. */
struct limits {
    int64_t *given_ns, *taken_ns; /* [gathering_count] */
    int64_t *sent_ns; /* [call_count] upper bounds of enters, from those that took their messages */
};

static bool is_usable(const struct gn_history *h, const struct gn_take *take)
{
    return take->is_certain &&
           (take->kind == GN_TAKE_MESSAGE ||
            (take->kind == GN_TAKE_GATHERING && h->gatherings[take->from].shape != GN_SHAPE_PREFIX));
}

static void give(const struct gn_history *h, const struct gn_call *call, struct limits *limits)
{
    for (uint32_t i = 0; i < call->part_count; i++) {
        const struct gn_given_part *part = &h->parts[h->part_order[call->first_part + i]];
        if (part->gives && limits->given_ns[part->gathering] < call->enter.lo_ns)
            limits->given_ns[part->gathering] = call->enter.lo_ns;
    }
}

static int forward_leave(struct gn_history_make *m, struct gn_call *call, const struct limits *limits)
{
    struct gn_history *h = m->h;
    int64_t lo_ns = call->leave.lo_ns, said_ns = INT64_MIN;
    raise_lower(m, call->location, call->leave_ticks, &lo_ns);
    for (uint32_t t = 0; t < call->take_count; t++) {
        const struct gn_take *take = &h->takes[call->first_take + t];
        if (!is_usable(h, take) || call->flags & GN_CALL_UNSURE)
            continue;
        int64_t ns =
            take->kind == GN_TAKE_MESSAGE ? h->calls[take->from].enter.lo_ns : limits->given_ns[take->from];
        said_ns = ns > said_ns ? ns : said_ns;
    }
    int code = 0;
    if (said_ns > lo_ns) {
        lo_ns = said_ns;
        h->tightened++;
        code = add_tie(&m->lower[m->clock[call->location]], call->leave_ticks, said_ns);
    }
    call->leave.lo_ns = lo_ns > call->enter.lo_ns ? lo_ns : call->enter.lo_ns;
    return code;
}

static int forward(struct gn_history_make *m, struct limits *limits)
{
    struct gn_history *h = m->h;
    int code = 0;
    for (size_t s = 0; s < h->step_count && code == 0; s++) {
        struct gn_call *call = &h->calls[h->steps[s] >> 1];
        if (h->steps[s] & 1) {
            code = forward_leave(m, call, limits);
            continue;
        }
        raise_lower(m, call->location, call->enter_ticks, &call->enter.lo_ns);
        if (call->before != GN_NONE && call->enter.lo_ns < h->calls[call->before].leave.lo_ns)
            call->enter.lo_ns = h->calls[call->before].leave.lo_ns;
        give(h, call, limits);
    }
    return code;
}

static void backward_leave(struct gn_history_make *m, struct gn_call *call, struct limits *limits)
{
    struct gn_history *h = m->h;
    sink_upper(m, call->location, call->leave_ticks, &call->leave.hi_ns);
    for (uint32_t t = 0; t < call->take_count; t++) {
        const struct gn_take *take = &h->takes[call->first_take + t];
        if (!is_usable(h, take) || call->flags & GN_CALL_UNSURE)
            continue;
        int64_t *limit =
            take->kind == GN_TAKE_MESSAGE ? &limits->sent_ns[take->from] : &limits->taken_ns[take->from];
        *limit = *limit < call->leave.hi_ns ? *limit : call->leave.hi_ns;
    }
}

static int backward_enter(struct gn_history_make *m, uint32_t number, const struct limits *limits)
{
    struct gn_history *h = m->h;
    struct gn_call *call = &h->calls[number];
    int64_t hi_ns = call->enter.hi_ns < call->leave.hi_ns ? call->enter.hi_ns : call->leave.hi_ns;
    int64_t said_ns = limits->sent_ns[number];
    sink_upper(m, call->location, call->enter_ticks, &hi_ns);
    for (uint32_t i = 0; i < call->part_count; i++) {
        const struct gn_given_part *part = &h->parts[h->part_order[call->first_part + i]];
        if (part->gives && limits->taken_ns[part->gathering] < said_ns)
            said_ns = limits->taken_ns[part->gathering];
    }
    int code = 0;
    if (said_ns < hi_ns) {
        hi_ns = said_ns;
        h->tightened++;
        code = add_tie(&m->upper[m->clock[call->location]], call->enter_ticks, said_ns);
    }
    call->enter.hi_ns = hi_ns;
    return code;
}

static int backward(struct gn_history_make *m, struct limits *limits)
{
    const struct gn_history *h = m->h;
    int code = 0;
    for (size_t s = h->step_count; s-- > 0 && code == 0;) {
        if (h->steps[s] & 1)
            backward_leave(m, &h->calls[h->steps[s] >> 1], limits);
        else
            code = backward_enter(m, h->steps[s] >> 1, limits);
    }
    return code;
}

/* ---- changes of regions ---- */

static int by_ticks(const void *a, const void *b)
{
    const struct gn_tie *l = a, *r = b;
    return (l->ticks > r->ticks) - (l->ticks < r->ticks);
}

/* Each change is told by the nearest tie on either side; others say less, or would be sound, too. */
static void tighten_track(const struct gn_history_make *m, uint32_t location, struct gn_track *track)
{
    const struct gn_point_list *lower = &m->lower[m->clock[location]], *upper = &m->upper[m->clock[location]];
    size_t l = 0, u = 0;
    for (size_t i = 0; i < track->count; i++) {
        struct gn_change *c = &track->changes[i];
        while (l < lower->count && lower->ties[l].ticks <= c->ticks)
            l++;
        while (u < upper->count && upper->ties[u].ticks < c->ticks)
            u++;
        int64_t lo_ns = l > 0 ? least_at(m, location, &lower->ties[l - 1], c->ticks) : INT64_MIN;
        int64_t hi_ns = u < upper->count ? most_at(m, location, &upper->ties[u], c->ticks) : INT64_MAX;
        c->at.lo_ns = lo_ns > c->at.lo_ns ? lo_ns : c->at.lo_ns;
        c->at.hi_ns = hi_ns < c->at.hi_ns ? hi_ns : c->at.hi_ns;
    }
    for (size_t i = 1; i < track->count; i++)
        if (track->changes[i].at.lo_ns < track->changes[i - 1].at.lo_ns)
            track->changes[i].at.lo_ns = track->changes[i - 1].at.lo_ns;
    for (size_t i = track->count; i-- > 1;)
        if (track->changes[i - 1].at.hi_ns > track->changes[i].at.hi_ns)
            track->changes[i - 1].at.hi_ns = track->changes[i].at.hi_ns;
}

static void tighten_tracks(struct gn_history_make *m)
{
    for (uint32_t c = 0; c < m->clock_count; c++) {
        if (m->lower[c].count)
            qsort(m->lower[c].ties, m->lower[c].count, sizeof *m->lower[c].ties, by_ticks);
        if (m->upper[c].count)
            qsort(m->upper[c].ties, m->upper[c].count, sizeof *m->upper[c].ties, by_ticks);
    }
    for (uint32_t l = 0; m->h->tracks && l < m->d->location_count; l++)
        tighten_track(m, l, &m->h->tracks[l]);
}

/* Bounds that contradict each other prove that an assumption on a clock is wrong. The results say so. */
static void settle_contradictions(struct gn_history *h)
{
    for (size_t c = 0; c < h->call_count; c++) {
        struct gn_call *call = &h->calls[c];
        if (call->enter.lo_ns > call->enter.hi_ns || call->leave.lo_ns > call->leave.hi_ns)
            h->refuted = true;
        if (call->enter.lo_ns > call->enter.hi_ns)
            call->enter.hi_ns = call->enter.lo_ns;
        if (call->leave.lo_ns > call->leave.hi_ns)
            call->leave.hi_ns = call->leave.lo_ns;
    }
}

static void settle_changes(struct gn_history *h, struct gn_track *track)
{
    for (size_t i = 0; i < track->count; i++) {
        struct gn_interval *at = &track->changes[i].at;
        h->refuted |= at->lo_ns > at->hi_ns;
        at->hi_ns = at->hi_ns < at->lo_ns ? at->lo_ns : at->hi_ns;
    }
}

void gn_history_settle_gatherings(struct gn_history *h)
{
    for (size_t g = 0; g < h->gathering_count; g++) {
        struct gn_history_gathering *one = &h->gatherings[g];
        one->last = (struct gn_interval){INT64_MIN, INT64_MIN};
        for (uint32_t i = 0; i < one->part_count; i++) {
            const struct gn_given_part *part = &h->parts[one->first_part + i];
            const struct gn_interval enter = h->calls[part->call].enter;
            if (!part->gives)
                continue;
            one->last.lo_ns = enter.lo_ns > one->last.lo_ns ? enter.lo_ns : one->last.lo_ns;
            one->last.hi_ns = enter.hi_ns > one->last.hi_ns ? enter.hi_ns : one->last.hi_ns;
        }
    }
}

int gn_history_tighten(struct gn_history_make *m)
{
    struct gn_history *h = m->h;
    struct limits limits = {malloc((h->gathering_count + 1) * sizeof(int64_t)),
                            malloc((h->gathering_count + 1) * sizeof(int64_t)),
                            malloc((h->call_count + 1) * sizeof(int64_t))};
    int code = limits.given_ns && limits.taken_ns && limits.sent_ns ? 0 : -ENOMEM;
    if (code == 0) {
        for (size_t g = 0; g < h->gathering_count; g++) {
            limits.given_ns[g] = INT64_MIN;
            limits.taken_ns[g] = INT64_MAX;
        }
        for (size_t c = 0; c < h->call_count; c++)
            limits.sent_ns[c] = INT64_MAX;
        code = m->settings->is_loose ? 0 : forward(m, &limits);
        code = code || m->settings->is_loose ? code : backward(m, &limits);
    }
    free(limits.given_ns);
    free(limits.taken_ns);
    free(limits.sent_ns);
    if (code)
        return code;
    tighten_tracks(m);
    settle_contradictions(h);
    for (uint32_t l = 0; h->tracks && l < m->d->location_count; l++)
        settle_changes(h, &h->tracks[l]);
    gn_history_settle_gatherings(h);
    return 0;
}
