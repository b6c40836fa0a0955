#include "analyse/late_phases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST_SLICES = 6 };
static const double of_slice = 0.7;  /* of what is waited for in a slice: then it is of one */
static const double of_phase = 0.85; /* … in all slices of a phase */
static const double of_run = 0.6;    /* of all waiting: in phases */
static const double of_one = 0.75;   /* of what is waited for in all phases: then it is always the same one */
static const double nothing = 0.25;  /* of what slices have in the mean */
static const double least = 0.05;    /* of what all phases have: less is none */

static size_t slices_of(const struct gn_seen *seen)
{
    static const double all = 0.95; /* of what is asked for */
    if (seen->count > 1)            /* of one window several parts may be */
        return seen->windows == 0 || seen->windows >= FEWEST_SLICES ? seen->count : 0;
    /* a trace, a part of one, or a run of which all events were kept */
    return seen->is_whole || seen->covered_ns >= all * seen->run_ns ? GN_WAITS_SLICES : 0;
}

/* What each process caused in a slice: in ns of the run. */
static void add_slice(const struct gn_seen *seen, size_t slice, double *caused)
{
    const struct gn_seen_part *part = &seen->parts[seen->count == 1 ? 0 : slice];
    memset(caused, 0, seen->definitions->process_count * sizeof *caused);
    for (size_t i = 0; i < seen->definitions->location_count; i++) {
        const struct gn_waits *w = &part->waits;
        caused[seen->definitions->locations[i].process] +=
            part->counted_weight * (seen->count == 1 ? w->slices[i * GN_WAITS_SLICES + slice]
                                                     : (w->caused[i].lo_ns + w->caused[i].hi_ns) / 2);
    }
}

/* Who caused how much in each. */
static void look_at(const struct gn_seen *seen, size_t slices, struct gn_late_phase *each, double *caused,
                    double *all_of)
{
    for (size_t s = 0; s < slices; s++) {
        size_t most = 0;
        each[s] = (struct gn_late_phase){.first = s, .last = s};
        add_slice(seen, s, caused);
        for (size_t p = 0; p < seen->definitions->process_count; p++) {
            most = caused[p] > caused[most] ? p : most;
            each[s].waited_ns += caused[p];
            all_of[p] += caused[p];
        }
        each[s].process = (uint32_t)most;
        each[s].caused_ns = caused[most];
    }
}

/* Takes out what is not of one, or next to nothing, and joins what follows each other and is of the same one;
 * in place. Returns how many are left. */
static size_t join(struct gn_late_phase *list, size_t count, double share, double least_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (list[i].waited_ns < least_ns || list[i].caused_ns < share * list[i].waited_ns)
            continue;
        struct gn_late_phase *before = kept > 0 ? &list[kept - 1] : NULL;
        if (!before || before->process != list[i].process) {
            list[kept++] = list[i];
            continue;
        }
        before->last = list[i].last;
        before->caused_ns += list[i].caused_ns;
        before->waited_ns += list[i].waited_ns;
    }
    return kept;
}

/* Near the ends of a part of a trace nothing is counted: they are of the phase there. */
static void extend(struct gn_late_phases *phases, const double *waited)
{
    struct gn_late_phase *first = &phases->items[0], *last = &phases->items[phases->count - 1];
    while (first->first > 0 && waited[first->first - 1] <= 0)
        first->first--;
    while (last->last + 1 < GN_WAITS_SLICES && waited[last->last + 1] <= 0)
        last->last++;
}

/* Of a trace's slices, those in which one phase ends and the next one begins belong to both. */
static void divide_between(struct gn_late_phases *phases)
{
    enum { FEW = 2 };
    for (size_t i = 0; i + 1 < phases->count; i++) {
        struct gn_late_phase *before = &phases->items[i], *after = &phases->items[i + 1];
        const size_t between = after->first - before->last - 1;
        if (between > FEW)
            continue;
        before->last += between / 2;
        after->first = before->last + 1;
    }
}

static double since_begin_ns(const struct gn_seen *seen, uint64_t ticks)
{
    const struct gn_definitions *d = seen->definitions;
    return ticks > d->first_ticks ? (double)(ticks - d->first_ticks) * 1e9 / (double)d->ticks_per_second : 0;
}

/* Of the run, or of the part of it that is asked for. */
static struct gn_span stretch_of(const struct gn_seen *seen)
{
    const struct gn_definitions *d = seen->definitions;
    const bool is_part = seen->period.end_ticks > 0;
    return (struct gn_span){
        is_part ? since_begin_ns(seen, seen->period.begin_ticks) : 0,
        since_begin_ns(seen, is_part ? seen->period.end_ticks : d->first_ticks + d->length_ticks)};
}

/* When a slice begins, at the earliest and at the latest: behind the one before. */
static struct gn_span begin_of(const struct gn_seen *seen, size_t slice)
{
    const struct gn_span run = stretch_of(seen);
    const double length = (run.hi_ns - run.lo_ns) / GN_WAITS_SLICES;
    const size_t slices = seen->count == 1 ? GN_WAITS_SLICES : seen->count;
    if (slice == 0 || slice >= slices)
        return slice == 0 ? (struct gn_span){run.lo_ns, run.lo_ns} : (struct gn_span){run.hi_ns, run.hi_ns};
    if (seen->count == 1)
        return (struct gn_span){run.lo_ns + ((double)slice - 1) * length,
                                run.lo_ns + ((double)slice + 1) * length};
    return (struct gn_span){since_begin_ns(seen, seen->parts[slice - 1].window.end_ticks),
                            since_begin_ns(seen, seen->parts[slice].window.begin_ticks)};
}

static bool is_of_one(const struct gn_late_phases *phases)
{
    double most_ns = 0;
    for (size_t i = 0; i < phases->count; i++) {
        double ns = 0;
        for (size_t k = 0; k < phases->count; k++)
            ns += phases->items[k].process == phases->items[i].process ? phases->items[k].caused_ns : 0;
        most_ns = fmax(most_ns, ns);
    }
    return most_ns >= of_one * phases->caused_ns;
}

void gn_late_phases_find(struct gn_late_phases *phases, const struct gn_seen *seen)
{
    const size_t slices = slices_of(seen);
    struct gn_late_phase *list = calloc(slices + 1, sizeof *list);
    double *caused = calloc(seen->definitions->process_count + 1, sizeof *caused), all_ns = 0;
    double waited[GN_WAITS_SLICES] = {0};
    double *all_of = calloc(seen->definitions->process_count + 1, sizeof *all_of);
    *phases = (struct gn_late_phases){.count = 0};
    if (list && caused && all_of && slices >= FEWEST_SLICES) {
        look_at(seen, slices, list, caused, all_of);
        for (size_t i = 0; i < slices; i++) {
            all_ns += list[i].waited_ns;
            waited[i < GN_WAITS_SLICES ? i : 0] = list[i].waited_ns;
        }
        size_t count = join(list, slices, of_slice, nothing * all_ns / (double)slices);
        count = join(list, count, of_phase, least * all_ns);
        for (size_t i = 0; i < count && count <= GN_LATE_PHASES_MOST && count <= slices / 2; i++) {
            phases->items[phases->count++] = list[i];
            phases->caused_ns += list[i].caused_ns;
        }
        if (phases->count < 2 || phases->caused_ns < of_run * all_ns || is_of_one(phases))
            phases->count = 0;
    }
    if (seen->count == 1 && phases->count > 0)
        divide_between(phases);
    if (seen->count == 1 && phases->count > 0 && !seen->is_whole)
        extend(phases, waited);
    for (size_t i = 0; i < phases->count; i++) {
        phases->items[i].from = begin_of(seen, phases->items[i].first);
        phases->items[i].to = begin_of(seen, phases->items[i].last + 1);
        phases->items[i].all_ns = all_of[phases->items[i].process];
    }
    free(list);
    free(caused);
    free(all_of);
}

bool gn_late_phases_have(const struct gn_late_phases *phases, uint32_t process)
{
    for (size_t i = 0; i < phases->count; i++)
        if (phases->items[i].process == process)
            return true;
    return false;
}

double gn_late_phases_share(const struct gn_late_phases *phases, uint32_t process)
{
    double ns = 0, all_ns = 0;
    for (size_t i = 0; i < phases->count; i++)
        if (phases->items[i].process == process) {
            ns += phases->items[i].caused_ns;
            all_ns = phases->items[i].all_ns;
        }
    return all_ns > 0 ? fmin(1, ns / all_ns) : 0;
}

/* By its middle: who is late comes at the end of the waiting. */
static size_t slice_of(const struct gn_seen *seen, size_t part, const struct gn_call *call)
{
    const struct gn_history *h = &seen->parts[part].history;
    const double begin = (double)h->first.lo_ns, length = (double)h->last.hi_ns - begin,
                 middle = (double)call->enter.lo_ns - gn_computed_before(h, call) / 2,
                 at = length > 0 ? (middle - begin) / length * GN_WAITS_SLICES : 0;
    return seen->count > 1 ? part : at <= 0 ? 0 : at >= GN_WAITS_SLICES ? GN_WAITS_SLICES - 1 : (size_t)at;
}

int gn_late_phase_of_slice(const struct gn_late_phases *phases, size_t slice)
{
    for (size_t i = 0; i < phases->count; i++)
        if (slice >= phases->items[i].first && slice <= phases->items[i].last)
            return (int)i;
    return -1;
}

int gn_late_phase_of(const struct gn_late_phases *phases, const struct gn_seen *seen, size_t part,
                     const struct gn_call *call)
{
    return gn_late_phase_of_slice(phases, slice_of(seen, part, call));
}
