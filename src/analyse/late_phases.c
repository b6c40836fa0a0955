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
    return seen->count > 1 ? seen->count : seen->is_whole ? GN_WAITS_SLICES : 0;
}

/* What each process caused in a slice: in ns of the run. */
static void add_slice(const struct gn_seen *seen, size_t slice, double *caused)
{
    const struct gn_seen_part *part = &seen->parts[seen->count == 1 ? 0 : slice];
    memset(caused, 0, seen->definitions->process_count * sizeof *caused);
    for (size_t i = 0; i < seen->definitions->location_count; i++) {
        const struct gn_waits *w = &part->waits;
        caused[seen->definitions->locations[i].process] +=
            seen->count == 1 ? w->slices[i * GN_WAITS_SLICES + slice]
                             : part->counted_weight * (w->caused[i].lo_ns + w->caused[i].hi_ns) / 2;
    }
}

/* Who caused how much in each. */
static void look_at(const struct gn_seen *seen, size_t slices, struct gn_late_phase *each, double *caused)
{
    for (size_t s = 0; s < slices; s++) {
        size_t most = 0;
        each[s] = (struct gn_late_phase){.first = s, .last = s};
        add_slice(seen, s, caused);
        for (size_t p = 0; p < seen->definitions->process_count; p++) {
            most = caused[p] > caused[most] ? p : most;
            each[s].waited_ns += caused[p];
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

/* When a slice begins; a window stands for the time until the next one does. */
static double begin_ns(const struct gn_seen *seen, size_t slice)
{
    const struct gn_definitions *d = seen->definitions;
    const bool is_part = seen->period.end_ticks > 0;
    const double first = is_part ? since_begin_ns(seen, seen->period.begin_ticks) : 0,
                 last = since_begin_ns(seen,
                                       is_part ? seen->period.end_ticks : d->first_ticks + d->length_ticks);
    if (seen->count == 1)
        return first + (last - first) * (double)slice / GN_WAITS_SLICES;
    return slice == 0            ? first
           : slice < seen->count ? since_begin_ns(seen, seen->parts[slice].window.begin_ticks)
                                 : last;
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
    *phases = (struct gn_late_phases){.count = 0};
    if (list && caused && slices >= FEWEST_SLICES) {
        look_at(seen, slices, list, caused);
        for (size_t i = 0; i < slices; i++)
            all_ns += list[i].waited_ns;
        size_t count = join(list, slices, of_slice, nothing * all_ns / (double)slices);
        count = join(list, count, of_phase, least * all_ns);
        for (size_t i = 0; i < count && count <= GN_LATE_PHASES_MOST && count <= slices / 2; i++) {
            phases->items[phases->count++] = list[i];
            phases->caused_ns += list[i].caused_ns;
        }
        if (phases->count < 2 || phases->caused_ns < of_run * all_ns || is_of_one(phases))
            phases->count = 0;
    }
    if (seen->count == 1)
        divide_between(phases);
    for (size_t i = 0; i < phases->count; i++) {
        phases->items[i].from_ns = begin_ns(seen, phases->items[i].first);
        phases->items[i].to_ns = begin_ns(seen, phases->items[i].last + 1);
    }
    free(list);
    free(caused);
}

bool gn_late_phases_have(const struct gn_late_phases *phases, uint32_t process)
{
    for (size_t i = 0; i < phases->count; i++)
        if (phases->items[i].process == process)
            return true;
    return false;
}

static size_t slice_of(const struct gn_seen *seen, size_t part, const struct gn_call *call)
{
    const struct gn_history *h = &seen->parts[part].history;
    const double begin = (double)h->first.lo_ns, length = (double)h->last.hi_ns - begin,
                 at = length > 0 ? ((double)call->enter.lo_ns - begin) / length * GN_WAITS_SLICES : 0;
    return seen->count > 1 ? part : at <= 0 ? 0 : at >= GN_WAITS_SLICES ? GN_WAITS_SLICES - 1 : (size_t)at;
}

int gn_late_phase_of(const struct gn_late_phases *phases, const struct gn_seen *seen, size_t part,
                     const struct gn_call *call)
{
    const size_t slice = slice_of(seen, part, call);
    for (size_t i = 0; i < phases->count; i++)
        if (slice >= phases->items[i].first && slice <= phases->items[i].last)
            return (int)i;
    return -1;
}
