#include "analyse/sections.h"

#include "event/activity.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_ENTRIES = 1 << 23, GROUPS = 5, PER_GROUP = GN_SECTIONS_SLICES / GROUPS };
static const double least_growth = 1.2; /* the last fifth's of the first one's */
static const double least_rise = 0.7;   /* of pairs of slices: all along, and not at once */

struct stretch {
    double begin_ns, length_ns; /* on the reference clock */
};

/* Once MPI has begun, and until it ends: what is before the first call after that is no section. */
static bool is_between(const struct gn_history *h, const struct gn_call *call)
{
    const struct gn_call *before = call->before == GN_NONE ? NULL : &h->calls[call->before];
    const uint32_t activity = before ? gn_region_activity(h->definitions, before->region) : GN_ACTIVITY_NONE;
    return before && !gn_activity_starts(activity) && before->region != GN_NONE && call->region != GN_NONE;
}

/* From the first of these calls to the last. */
static struct stretch stretch_of(const struct gn_seen *seen)
{
    double first = INFINITY, last = -INFINITY;
    for (size_t p = 0; p < seen->count; p++) {
        const struct gn_history *h = &seen->parts[p].history;
        for (size_t c = 0; c < h->call_count; c++)
            if (is_between(h, &h->calls[c])) {
                first = fmin(first, (double)h->calls[c].enter.lo_ns);
                last = fmax(last, (double)h->calls[c].enter.lo_ns);
            }
    }
    return (struct stretch){first, fmax(1, last - first)};
}

static size_t slice_of(const struct stretch *run, const struct gn_call *call)
{
    const double at = ((double)call->enter.lo_ns - run->begin_ns) / run->length_ns * GN_SECTIONS_SLICES;
    return at <= 0 ? 0 : at >= GN_SECTIONS_SLICES ? GN_SECTIONS_SLICES - 1 : (size_t)at;
}

int64_t gn_section_of(const struct gn_sections *s, const struct gn_history *h, const struct gn_call *call)
{
    const struct gn_call *before = call->before == GN_NONE ? NULL : &h->calls[call->before];
    return before && before->region != GN_NONE ? gn_seen_site_of(s->seen, before->region, before->path) : -1;
}

/* phases NULL: of all. */
static void add_part(struct gn_sections *s, size_t p, const struct gn_late_phases *phases, size_t phase)
{
    const struct gn_seen_part *part = &s->seen->parts[p];
    const struct gn_history *h = &part->history;
    for (size_t c = 0; c < h->call_count; c++) {
        const struct gn_call *call = &h->calls[c];
        const int64_t site = h->is_carried[call->location] ? -1 : gn_section_of(s, h, call);
        if (site < 0 || (phases && gn_late_phase_of(phases, s->seen, p, call) != (int)phase))
            continue;
        const size_t at = (size_t)site * s->process_count + h->definitions->locations[call->location].process;
        const double ns = part->weight * gn_computed_before(h, call);
        s->sums[at].ns += ns;
        s->sums[at].times += part->weight;
    }
}

/* Windows have some of it, and those of one rank other parts than those of the next, or nothing. Between
 * calls that come back at once a process may wait, which the profile does not tell from computing. */
static void take_exact(struct gn_sections *s)
{
    const struct gn_seen *seen = s->seen;
    for (size_t at = 0; seen->after && at < s->site_count * s->process_count; at++)
        if (seen->after[at].times > 0 && !seen->sites[at / s->process_count].is_polled)
            s->sums[at] = (struct gn_section_sum){seen->after[at].ns, seen->after[at].times};
}

/* What is next to nothing is no time of it: after the last one comes the end of a loop. */
static void add_slices(struct gn_sections *s, const struct stretch *run, const struct gn_seen_part *part)
{
    static const double nothing = 0.01; /* of the mean */
    const struct gn_history *h = &part->history;
    for (size_t c = 0; c < h->call_count; c++) {
        const struct gn_call *call = &h->calls[c];
        const int64_t site = h->is_carried[call->location] ? -1 : gn_section_of(s, h, call);
        if (site < 0)
            continue;
        const size_t at = (size_t)site * s->process_count + h->definitions->locations[call->location].process;
        const double ns = gn_computed_before(h, call);
        if (ns < nothing * s->sums[at].ns / s->sums[at].times)
            continue;
        s->slices_ns[at * GN_SECTIONS_SLICES + slice_of(run, call)] += part->weight * ns;
        s->slices_times[at * GN_SECTIONS_SLICES + slice_of(run, call)] += part->weight;
    }
}

static int open_sections(struct gn_sections *s, const struct gn_seen *seen, bool has_slices)
{
    *s = (struct gn_sections){
        .seen = seen, .site_count = seen->site_count, .process_count = seen->definitions->process_count};
    const size_t entries = s->site_count * s->process_count;
    if (seen->count == 0 || entries > MOST_ENTRIES)
        s->site_count = 0;
    s->has_slices = has_slices && s->site_count > 0 && entries <= MOST_ENTRIES / GN_SECTIONS_SLICES;
    s->sums = calloc(s->site_count * s->process_count + 1, sizeof *s->sums);
    s->slices_ns = calloc(s->has_slices ? entries * GN_SECTIONS_SLICES : 1, sizeof(double));
    s->slices_times = calloc(s->has_slices ? entries * GN_SECTIONS_SLICES : 1, sizeof(double));
    if (!s->sums || !s->slices_ns || !s->slices_times) {
        gn_sections_clear(s);
        return -ENOMEM;
    }
    return 0;
}

int gn_sections_find_in(struct gn_sections *s, const struct gn_seen *seen,
                        const struct gn_late_phases *phases, size_t phase)
{
    const int code = open_sections(s, seen, false);
    for (size_t p = 0; p < seen->count && s->site_count > 0; p++)
        add_part(s, p, phases, phase);
    return code;
}

int gn_sections_find(struct gn_sections *s, const struct gn_seen *seen)
{
    const int code = open_sections(s, seen, true);
    if (s->site_count == 0)
        return code;
    const struct stretch run = stretch_of(seen);
    for (size_t p = 0; p < seen->count; p++)
        add_part(s, p, NULL, 0);
    take_exact(s);
    for (size_t p = 0; p < seen->count && s->has_slices; p++)
        add_slices(s, &run, &seen->parts[p]);
    return 0;
}

void gn_sections_clear(struct gn_sections *s)
{
    free(s->sums);
    free(s->slices_ns);
    free(s->slices_times);
    *s = (struct gn_sections){.seen = s->seen};
}

/* ---- beside the others ---- */

struct sides {
    struct gn_section_sum own, others;
    size_t own_count, other_count;
};

static void add_side(struct sides *sides, const struct gn_section_sum *sum, bool is_own)
{
    if (sum->times <= 0)
        return;
    struct gn_section_sum *to = is_own ? &sides->own : &sides->others;
    to->ns += sum->ns;
    to->times += sum->times;
    *(is_own ? &sides->own_count : &sides->other_count) += 1;
}

static struct gn_section_difference differ(const struct sides *s)
{
    const double own = fmax(1, (double)s->own_count), others = fmax(1, (double)s->other_count);
    const bool is_known = s->own.times > 0 && s->others.times > 0 && s->others.ns > 0;
    return (struct gn_section_difference){
        .own_ns = s->own.ns / own,
        .others_ns = s->others.ns / others,
        .times = is_known ? s->own.times / own / (s->others.times / others) : NAN,
        .each = is_known ? s->own.ns / s->own.times / (s->others.ns / s->others.times) : NAN};
}

struct gn_section_difference gn_sections_differ(const struct gn_sections *s, size_t site, const bool *late)
{
    struct sides sides = {.own_count = 0};
    for (size_t p = 0; p < s->process_count; p++)
        add_side(&sides, &s->sums[site * s->process_count + p], late[p]);
    return differ(&sides);
}

struct gn_section_difference gn_sections_differ_one(const struct gn_sections *s, size_t site,
                                                    uint32_t process)
{
    struct sides sides = {.own_count = 0};
    for (size_t p = 0; p < s->process_count; p++)
        add_side(&sides, &s->sums[site * s->process_count + p], p == process);
    return differ(&sides);
}

int gn_sections_add_up(const struct gn_sections *s, const bool *late, struct gn_sections_in_all **in_all)
{
    double late_ns = 0;
    struct gn_sections_in_all *sums = calloc(s->process_count + 1, sizeof *sums);
    *in_all = sums;
    if (!sums)
        return -ENOMEM;
    for (size_t i = 0; i < s->site_count; i++) {
        const struct gn_section_sum *of = &s->sums[i * s->process_count];
        double here_ns = 0;
        for (size_t p = 0; p < s->process_count && !s->seen->sites[i].is_polled; p++)
            here_ns += late[p] ? of[p].ns : 0;
        for (size_t p = 0; p < s->process_count; p++) {
            sums[p].all_ns += of[p].ns;
            sums[p].shared_ns += of[p].times > 0 ? here_ns : 0;
        }
        late_ns += here_ns;
    }
    for (size_t p = 0; p < s->process_count; p++)
        sums[p].is_peer = !late[p] && late_ns > 0 && sums[p].shared_ns >= late_ns / 2;
    return 0;
}

int64_t gn_sections_longest(const struct gn_sections *s, uint32_t process)
{
    int64_t longest = -1;
    double most_ns = 0;
    for (size_t i = 0; i < s->site_count; i++) {
        const struct gn_section_difference d = gn_sections_differ_one(s, i, process);
        if (d.own_ns - d.others_ns > most_ns) {
            most_ns = d.own_ns - d.others_ns;
            longest = (int64_t)i;
        }
    }
    return longest;
}

/* ---- beside itself, earlier ---- */

/* What it takes a process each time in some slices of the run; below 0: it is not there. */
static double each_of(const struct gn_sections *s, size_t site, size_t process, size_t first, size_t end)
{
    const size_t at = (site * s->process_count + process) * GN_SECTIONS_SLICES;
    double ns = 0, times = 0;
    for (size_t k = first; k < end; k++) {
        ns += s->slices_ns[at + k];
        times += s->slices_times[at + k];
    }
    return times > 0 ? ns / times : -1;
}

/* Likewise, or (GN_NONE) of all in the mean, each with the weight that it has in the whole run: of who is in
 * some windows and not in others, nothing is longer for that. Those that are not there are as much longer
 * than in all of the run as those that are. */
static double each_from(const struct gn_sections *s, size_t site, uint32_t process, size_t first, size_t end)
{
    double ns = 0, of_ns = 0, all_ns = 0, times = 0;
    if (process != GN_NONE)
        return each_of(s, site, process, first, end);
    for (size_t p = 0; p < s->process_count; p++) {
        const double each = each_of(s, site, p, first, end),
                     whole = each_of(s, site, p, 0, GN_SECTIONS_SLICES),
                     weight = whole < 0 ? 0 : s->sums[site * s->process_count + p].times;
        all_ns += weight * whole;
        times += weight;
        ns += each < 0 ? 0 : weight * each;
        of_ns += each < 0 ? 0 : weight * whole;
    }
    return of_ns > 0 ? ns / of_ns * all_ns / times : -1;
}

static double times_in(const struct gn_sections *s, size_t site, size_t slice)
{
    double times = 0;
    for (size_t p = 0; p < s->process_count; p++)
        times += s->slices_times[(site * s->process_count + p) * GN_SECTIONS_SLICES + slice];
    return times;
}

static double each_in(const struct gn_sections *s, size_t site, uint32_t process, size_t group)
{
    return each_from(s, site, process, group * PER_GROUP, (group + 1) * PER_GROUP);
}

static int by_size(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Likewise, of the slice in the middle: one in which the process had no core tells nothing. */
static double middle_in(const struct gn_sections *s, size_t site, uint32_t process, size_t group)
{
    double each[PER_GROUP];
    size_t count = 0;
    for (size_t k = group * PER_GROUP; k < (group + 1) * PER_GROUP; k++) {
        each[count] = each_from(s, site, process, k, k + 1);
        count += each[count] >= 0;
    }
    if (count == 0)
        return -1;
    qsort(each, count, sizeof *each, by_size);
    return (each[(count - 1) / 2] + each[count / 2]) / 2;
}

/* At the very begin, by a line through the slices of the first group, over how often it was done: as steep as
 * the middle one of the lines through two of them (of an even number the steeper one), from the slice from
 * which that leads lowest, as one in which the processes had no core is longer. A slice that was not seen had
 * as many as the others. */
static double each_at_begin(const struct gn_sections *s, size_t site)
{
    double each[PER_GROUP], at[PER_GROUP], slopes[PER_GROUP * PER_GROUP], all = 0, done = 0, least = INFINITY;
    size_t count = 0, slope_count = 0;
    for (size_t k = 0; k < PER_GROUP; k++) {
        all += times_in(s, site, k);
        count += times_in(s, site, k) > 0;
    }
    const double mean = all / fmax(1, (double)count);
    count = 0;
    for (size_t k = 0; k < PER_GROUP; k++) {
        const double times = times_in(s, site, k);
        each[count] = each_from(s, site, GN_NONE, k, k + 1);
        at[count] = done + times / 2;
        done += times > 0 ? times : mean;
        count += each[count] >= 0;
    }
    for (size_t a = 0; a < count; a++)
        for (size_t b = a + 1; b < count; b++)
            slopes[slope_count++] = (each[b] - each[a]) / (at[b] - at[a]);
    qsort(slopes, slope_count, sizeof *slopes, by_size);
    const double slope = slope_count > 0 ? fmax(0, slopes[slope_count / 2]) : 0;
    for (size_t k = 0; k < count; k++)
        least = fmin(least, each[k] - slope * at[k]);
    return count > 0 ? fmax(0, least) : 0;
}

/* How much of all pairs of slices is longer in the later one, less those that are not: Kendall's tau. What
 * begins at once in the middle has half. */
static double rise_of(const struct gn_sections *s, size_t site, uint32_t process)
{
    double each[GN_SECTIONS_SLICES];
    size_t count = 0;
    int longer = 0, shorter = 0;
    for (size_t k = 0; k < GN_SECTIONS_SLICES; k++) {
        each[count] = each_from(s, site, process, k, k + 1);
        count += each[count] >= 0;
    }
    for (size_t a = 0; a < count; a++)
        for (size_t b = a + 1; b < count; b++) {
            longer += each[b] > each[a];
            shorter += each[b] < each[a];
        }
    return longer + shorter > 0 ? (longer - shorter) / (double)(longer + shorter) : 0;
}

/* The last fifth's of the first one's, if it grows all along: what begins at once, or is long for a while, is
 * another matter. 0: it does not. */
static double factor_of(const struct gn_sections *s, size_t site, uint32_t process)
{
    double each[GROUPS];
    size_t count = 0; /* a window may be in none of them */
    for (size_t g = 0; g < GROUPS; g++) {
        each[count] = middle_in(s, site, process, g);
        if (each[count] < 0 && (g == 0 || g + 1 == GROUPS))
            return 0;
        count += each[count] >= 0;
    }
    if (count + 1 < GROUPS || each[0] <= 0 || each[count - 1] < least_growth * each[0])
        return 0;
    return rise_of(s, site, process) >= least_rise ? each[count - 1] / each[0] : 0;
}

struct gn_section_growth gn_sections_growth(const struct gn_sections *s, size_t site)
{
    struct gn_section_growth growth = {.factor = s->has_slices ? factor_of(s, site, GN_NONE) : 0};
    if (growth.factor <= 0)
        return growth;
    growth.first_ns = each_in(s, site, GN_NONE, 0);
    growth.begin_ns = each_at_begin(s, site);
    for (size_t p = 0; p < s->process_count; p++) {
        const struct gn_section_sum *sum = &s->sums[site * s->process_count + p];
        const double ns = fmax(0, sum->ns - growth.first_ns * sum->times);
        growth.all_ns += ns;
        growth.most_ns = fmax(growth.most_ns, ns);
        growth.processes += sum->times > 0;
    }
    return growth;
}

double gn_sections_grows(const struct gn_sections *s, size_t site, uint32_t process)
{
    return s->has_slices ? factor_of(s, site, process) : 0;
}

double gn_sections_chance(const struct gn_sections *s, uint32_t process)
{
    double squares = 0;
    for (size_t site = 0; site < s->site_count && s->has_slices; site++) {
        const size_t first = (site * s->process_count + process) * GN_SECTIONS_SLICES;
        double here = 0, pairs = 0;
        for (size_t i = first; i + 1 < first + GN_SECTIONS_SLICES; i++)
            if (s->slices_times[i] > 0 && s->slices_times[i + 1] > 0) {
                /* each time, as parts of the run do not have as many */
                const double a = s->slices_ns[i] / s->slices_times[i],
                             b = s->slices_ns[i + 1] / s->slices_times[i + 1];
                here += (a - b) * (a - b) / (1 / s->slices_times[i] + 1 / s->slices_times[i + 1]);
                pairs++;
            }
        if (pairs > 0)
            squares += here / pairs * s->sums[site * s->process_count + process].times;
    }
    return sqrt(squares);
}
