#include "answer/stragglers_report.h"

#include "answer/call_name.h"
#include "event/activity.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *gn_straggler_verdict_name(enum gn_straggler_verdict verdict)
{
    static const char *const names[] = {[GN_STRAGGLER_NOBODY] = "nobody",
                                        [GN_STRAGGLER_CERTAIN] = "certain",
                                        [GN_STRAGGLER_POSSIBLE] = "possible",
                                        [GN_STRAGGLER_UNDECIDABLE] = "undecidable"};
    return names[verdict];
}

/* ---- names and places ---- */

void gn_straggler_name(const struct gn_stragglers_report *r, uint32_t group, char *text, size_t size)
{
    gn_group_name(r->history, r->groups, r->by, group, text, size);
}

void gn_straggler_work(const struct gn_stragglers_report *r, const struct gn_cause *cause, char *text,
                       size_t size)
{
    const struct gn_definitions *d = r->history->definitions;
    text[0] = '\0';
    if (cause->activity != GN_NONE)
        gn_activity_text(r->history, cause->activity, text, size);
    else if (cause->inside_region != GN_NONE)
        gn_call_name(d, cause->inside_region, cause->inside_path, GN_CALL_NAME_CALLERS, text, size);
}

void gn_straggler_call(const struct gn_stragglers_report *r, const struct gn_cause *cause, char *text,
                       size_t size)
{
    text[0] = '\0';
    if (cause->call_region != GN_NONE)
        gn_call_name(r->history->definitions, cause->call_region, cause->call_path, GN_CALL_NAME_CALLERS,
                     text, size);
}

/* ---- who is first ---- */

struct gn_score gn_straggler_measure(const struct gn_stragglers_report *r,
                                     const struct gn_straggler *straggler)
{
    return r->is_annotated ? r->scores->scores[straggler->group] : straggler->own;
}

bool gn_straggler_is_persistent(const struct gn_straggler *straggler)
{
    return straggler->parts > 0 && 4 * straggler->parts_first >= 3 * straggler->parts;
}

static void add_up(struct gn_stragglers_report *r)
{
    const struct gn_waits *w = r->waits;
    for (size_t l = 0; l < r->history->definitions->location_count; l++) {
        if (r->groups->of[l] == GN_NONE)
            continue;
        struct gn_straggler *s = &r->list[r->groups->of[l]];
        s->caused.lo_ns += w->caused[l].lo_ns;
        s->caused.hi_ns += w->caused[l].hi_ns;
        s->waited.lo_ns += w->waited[l].lo_ns;
        s->waited.hi_ns += w->waited[l].hi_ns;
    }
    for (size_t i = w->cause_count; i-- > 0;) /* the largest comes first */
        if (r->groups->of[w->causes[i].location] != GN_NONE && w->causes[i].caused.hi_ns > 0)
            r->list[r->groups->of[w->causes[i].location]].cause = (uint32_t)i;
}

/* Locations that make calls: whose time it is that is waited. */
static bool makes_calls(const struct gn_history *h, size_t location)
{
    const uint32_t last = h->last_call[location], first = h->first_call[location];
    return last != GN_NONE && last != first && h->calls[last].before != first;
}

static size_t callers(const struct gn_history *h)
{
    size_t count = 0;
    for (size_t l = 0; l < h->definitions->location_count; l++)
        count += makes_calls(h, l);
    return count;
}

static void take_shares(struct gn_stragglers_report *r)
{
    const double all = (double)callers(r->history), longest_ns = (double)r->history->length.hi_ns,
                 shortest_ns = (double)r->history->length.lo_ns;
    for (size_t i = 0; i < r->groups->count; i++) {
        struct gn_straggler *s = &r->list[i];
        s->caused.hi_ns =
            fmin(s->caused.hi_ns, all * longest_ns); /* what perhaps was waited has been added up */
        s->share.lo = all * longest_ns > 0 ? 100 * s->caused.lo_ns / (all * longest_ns) : 0;
        s->share.hi = all * shortest_ns > 0 ? 100 * s->caused.hi_ns / (all * shortest_ns) : 100;
        s->share.hi = fmin(s->share.hi, 100);
        s->share.lo = fmin(s->share.lo, s->share.hi);
    }
}

/* Of locations that make calls: their mean of what each was busy. */
static void find_means(const struct gn_stragglers_report *r, struct gn_blame *busy, size_t *count)
{
    const struct gn_history *h = r->history;
    for (size_t l = 0; l < h->definitions->location_count; l++) {
        const uint32_t group = r->groups->of[l];
        if (group == GN_NONE || !makes_calls(h, l))
            continue;
        const double joined_ns =
            r->by == GN_SCORED_THREAD ? r->waits->joined[l] : 0; /* its rank works then */
        busy[group].lo_ns += fmax(r->waits->busy[l].lo_ns - joined_ns, 0);
        busy[group].hi_ns += fmax(r->waits->busy[l].hi_ns - joined_ns, 0);
        count[group]++;
    }
    for (size_t i = 0; i < r->groups->count; i++) {
        busy[i].lo_ns /= (double)(count[i] ? count[i] : 1);
        busy[i].hi_ns /= (double)(count[i] ? count[i] : 1);
    }
}

static void compare_busy(struct gn_stragglers_report *r, const struct gn_blame *busy)
{
    const size_t count = r->groups->count;
    const double others = count > 1 ? (double)(count - 1) : 1, all = others + 1,
                 shortest_ns = (double)r->history->length.lo_ns * all,
                 longest_ns = (double)r->history->length.hi_ns * all;
    struct gn_blame sum = {0, 0};
    for (size_t i = 0; i < count; i++) {
        sum.lo_ns += busy[i].lo_ns;
        sum.hi_ns += busy[i].hi_ns;
    }
    for (size_t i = 0; i < count; i++) {
        struct gn_straggler *s = &r->list[i];
        s->extra.lo_ns = busy[i].lo_ns - (sum.hi_ns - busy[i].hi_ns) / others;
        s->extra.hi_ns = busy[i].hi_ns - (sum.lo_ns - busy[i].lo_ns) / others;
        const double most = shortest_ns > 0 ? 100 * fmax(s->extra.hi_ns, 0) * others / shortest_ns : 100,
                     least = longest_ns > 0 ? 100 * fmax(s->extra.lo_ns, 0) * others / longest_ns : 0;
        s->own.hi = fmin(s->share.hi, most);
        s->own.lo = fmin(fmin(s->share.lo, least), s->own.hi);
    }
}

/*
 * Where ranks depend on each other in turn (a wavefront, a token), each waits for what the one before it has
 * to do first, though all do the same. Whom the others wait for because it does more is busy for longer than
 * they are: of what it caused, that is its own.
 */
static int find_extra(struct gn_stragglers_report *r)
{
    struct gn_blame *busy = calloc(r->groups->count + 1, sizeof *busy);
    size_t *callers_of = calloc(r->groups->count + 1, sizeof *callers_of);
    const bool has_memory = busy && callers_of;
    if (has_memory) {
        find_means(r, busy, callers_of);
        compare_busy(r, busy);
    }
    free(busy);
    free(callers_of);
    return has_memory ? 0 : -ENOMEM;
}

/* Of each part of the run in which a hundredth of everybody's time was waited, or more: who caused most. */
static int count_parts(struct gn_stragglers_report *r)
{
    const size_t count = r->groups->count, each = GN_WAITS_SLICES / GN_WAITS_PARTS;
    double *caused = malloc((count + 1) * sizeof *caused);
    const double least_ns =
        (double)r->history->length.lo_ns / GN_WAITS_PARTS * (double)callers(r->history) / 100;
    if (!caused)
        return -ENOMEM;
    for (size_t part = 0; part < GN_WAITS_PARTS; part++) {
        double all_ns = 0;
        size_t first = 0;
        memset(caused, 0, count * sizeof *caused);
        for (size_t l = 0; l < r->history->definitions->location_count; l++)
            if (r->groups->of[l] != GN_NONE)
                for (size_t s = part * each; s < (part + 1) * each; s++)
                    caused[r->groups->of[l]] += r->waits->slices[l * GN_WAITS_SLICES + s];
        for (size_t i = 0; i < count; i++) {
            all_ns += caused[i];
            first = caused[i] > caused[first] ? i : first;
        }
        for (size_t i = 0; i < count && all_ns >= least_ns && all_ns > 0; i++)
            r->list[i].parts++;
        if (count && all_ns >= least_ns && all_ns > 0)
            r->list[first].parts_first++;
    }
    free(caused);
    return 0;
}

struct sorted {
    struct gn_straggler straggler;
    struct gn_score measure, score;
};

static int compare(const void *left, const void *right)
{
    const struct sorted *a = left, *b = right;
    const double pairs[][2] = {{a->measure.lo, b->measure.lo},
                               {a->measure.hi, b->measure.hi},
                               {a->straggler.share.lo, b->straggler.share.lo},
                               {a->score.lo, b->score.lo},
                               {a->score.hi, b->score.hi}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0] != pairs[i][1])
            return pairs[i][0] < pairs[i][1] ? 1 : -1;
    return a->straggler.group < b->straggler.group ? -1 : 1;
}

static int sort(struct gn_stragglers_report *r)
{
    struct sorted *sorted = malloc((r->groups->count + 1) * sizeof *sorted);
    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < r->groups->count; i++)
        sorted[i] = (struct sorted){r->list[i], gn_straggler_measure(r, &r->list[i]),
                                    r->scores->scores[r->list[i].group]};
    if (r->groups->count)
        qsort(sorted, r->groups->count, sizeof *sorted, compare);
    for (size_t i = 0; i < r->groups->count; i++)
        r->list[i] = sorted[i].straggler;
    free(sorted);
    return 0;
}

/* Everybody makes the others wait about as much, now one, now another: the first one is so by chance. */
static struct gn_score caused_by(const struct gn_stragglers_report *r, const struct gn_straggler *s)
{
    return r->is_annotated ? r->scores->scores[s->group] : s->share;
}

static bool is_even(const struct gn_stragglers_report *r)
{
    double others_lo = 0;
    for (size_t i = 1; i < r->groups->count; i++)
        others_lo += caused_by(r, &r->list[i]).lo;
    const double mean_lo = others_lo / (double)(r->groups->count - 1);
    return caused_by(r, &r->list[0]).hi < 2 * mean_lo && !gn_straggler_is_persistent(&r->list[0]);
}

/*
 * Where ranks wait in turn, each passes on about as much waiting, whoever does more: that says nothing then.
 * But when what all but one do is nearly the same, and that one does much more, the others would wait less
 * without it: as they depend on each other in turn, which is taken from that they wait at all.
 */
static bool stands_out(const struct gn_stragglers_report *r)
{
    const struct gn_straggler *first = &r->list[0];
    const double others = (double)(r->groups->count - 1);
    double next_ns = 0, spread_ns = 0;
    if (r->is_annotated || r->groups->count < 3)
        return false;
    for (size_t i = 1; i < r->groups->count; i++) {
        const struct gn_blame *extra = &r->list[i].extra;
        const double from_others_ns =
            (extra->lo_ns + extra->hi_ns + (first->extra.lo_ns + first->extra.hi_ns) / others) / 2;
        next_ns = fmax(next_ns, extra->hi_ns);
        spread_ns += fabs(from_others_ns) / others;
    }
    return first->own.lo >= GN_STRAGGLER_PERCENT && first->extra.lo_ns >= 2 * next_ns &&
           first->extra.lo_ns >= 3 * spread_ns;
}

/* What it did was a send, or the end of one, that is taken not to have waited: perhaps it did, for another
 * one. */
static bool leans_on_sends(const struct gn_stragglers_report *r, const struct gn_straggler *s)
{
    const struct gn_history *h = r->history;
    const struct gn_cause *cause = s->cause == GN_NONE ? NULL : &r->waits->causes[s->cause];
    if (!cause || cause->activity != GN_NONE)
        return false;
    const uint32_t activity = gn_region_activity(h->definitions, cause->inside_region);
    return gn_activity_def(activity)->traits & (GN_TRAIT_SENDS | GN_TRAIT_WAITS);
}

static enum gn_straggler_verdict judge(const struct gn_stragglers_report *r)
{
    double most_hi = 0, others_hi = 0;
    size_t possible = 0;
    for (size_t i = 0; i < r->groups->count; i++) {
        const struct gn_score m = gn_straggler_measure(r, &r->list[i]);
        most_hi = fmax(most_hi, m.hi);
        others_hi = i ? fmax(others_hi, m.hi) : 0;
        possible += m.hi >= GN_STRAGGLER_PERCENT;
    }
    if (r->groups->count < 2 || most_hi < GN_STRAGGLER_PERCENT)
        return GN_STRAGGLER_NOBODY;
    if (is_even(r))
        return stands_out(r) ? GN_STRAGGLER_POSSIBLE : GN_STRAGGLER_NOBODY;
    const struct gn_score first = gn_straggler_measure(r, &r->list[0]);
    if (first.lo >= GN_STRAGGLER_PERCENT)
        return first.lo > others_hi && !leans_on_sends(r, &r->list[0]) ? GN_STRAGGLER_CERTAIN
                                                                       : GN_STRAGGLER_POSSIBLE;
    return possible == 1 && first.hi >= GN_STRAGGLER_PERCENT ? GN_STRAGGLER_POSSIBLE
                                                             : GN_STRAGGLER_UNDECIDABLE;
}

/* ---- how sure ---- */

static void measure_widths(struct gn_stragglers_report *r)
{
    const double unknown_ns = 0x1p60; /* bounds of a clock that nothing is known of */
    const struct gn_history *h = r->history;
    double sum_ns = 0;
    for (size_t i = 0; i < h->call_count; i++) {
        const double width_ns = (double)h->calls[i].enter.hi_ns - (double)h->calls[i].enter.lo_ns;
        sum_ns += width_ns;
        r->most_width_ns = fmax(r->most_width_ns, width_ns >= unknown_ns ? INFINITY : width_ns);
    }
    r->mean_width_ns = isinf(r->most_width_ns) ? INFINITY
                       : h->call_count         ? sum_ns / (double)h->call_count
                                               : 0;
}

int gn_stragglers_rank(struct gn_stragglers_report *r, struct gn_error *err)
{
    r->list = calloc(r->groups->count + 1, sizeof *r->list);
    r->mean_width_ns = r->most_width_ns = 0;
    for (uint32_t i = 0; r->list && i < r->groups->count; i++)
        r->list[i] = (struct gn_straggler){.group = i, .cause = GN_NONE};
    int code = r->list ? 0 : -ENOMEM;
    if (code == 0) {
        add_up(r);
        take_shares(r);
        code = find_extra(r);
    }
    if (code == 0) {
        code = count_parts(r);
    }
    if (code == 0)
        code = sort(r);
    if (code == 0) {
        r->waited_for = judge(r);
        if (r->history->idle_rows > 0 && r->waited_for == GN_STRAGGLER_CERTAIN) /* assumed: polls */
            r->waited_for = GN_STRAGGLER_POSSIBLE;
        /* who held up calls that may have waited for a hundredth of the run is not known */
        if (r->history->untold_ns >=
                GN_STRAGGLER_PERCENT / 100 * (double)r->history->length.hi_ns * (double)callers(r->history) &&
            r->groups->count > 1)
            r->waited_for = r->waited_for == GN_STRAGGLER_NOBODY    ? GN_STRAGGLER_UNDECIDABLE
                            : r->waited_for == GN_STRAGGLER_CERTAIN ? GN_STRAGGLER_POSSIBLE
                                                                    : r->waited_for;
        r->verdict = r->waited_for == GN_STRAGGLER_CERTAIN ? GN_STRAGGLER_POSSIBLE : r->waited_for;
        measure_widths(r);
        return 0;
    }
    free(r->list);
    r->list = NULL;
    return gn_fail(err, code, "no memory for the report");
}
