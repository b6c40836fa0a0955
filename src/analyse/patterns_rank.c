/* A rank that takes longer: its price by replay (analyse/levelled.h), and its chain. */
#include "analyse/patterns_rank.h"

#include "analyse/levelled.h"
#include "event/activity.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether it is known that what it took longer was not waiting for a core. */
static bool had_a_core(const struct gn_summary *s, const struct gn_problem *p)
{
    for (size_t i = 0; i < s->rank_count; i++)
        if (s->ranks_told[i].rank == p->rank)
            return s->ranks_told[i].preempted_s <= 0.1 * p->lost_low_s;
    return false;
}

static struct gn_span reduction_of(const struct gn_whatif_result *result)
{
    return (struct gn_span){fmax(0, result->reduction_lo_ns), fmax(0, result->reduction_hi_ns)};
}

/* Others' work is not theirs: by chance it is more or less. */
static double chance_ns(const struct gn_look *l)
{
    static const double sure = 3; /* standard deviations */
    double most_ns = 0;
    for (uint32_t i = 0; i < l->seen->definitions->process_count; i++)
        most_ns = l->late[i] ? fmax(most_ns, gn_sections_chance(&l->sections, i)) : most_ns;
    return sure * most_ns;
}

struct gn_span gn_look_by_chance(const struct gn_replayed *r, struct gn_span span)
{
    const double ns = r->chance_ns;
    return (struct gn_span){fmax(0, span.lo_ns - ns), span.hi_ns > 0 ? span.hi_ns + ns : span.hi_ns};
}

static void tell_half(const struct gn_look *l, struct gn_problem *p, const struct gn_replayed *r)
{
    const struct gn_span half = gn_look_by_chance(r, r->half);
    gn_look_tell_gain(l, p,
                      (struct gn_problem_gain){GN_PROBLEM_HALF, 0, half.lo_ns * 1e-9, half.hi_ns * 1e-9});
}

void gn_look_tell_gains(const struct gn_look *l, struct gn_problem *p, const struct gn_replayed *r)
{
    const struct gn_span like = gn_look_by_chance(r, r->mean);
    const double high_s = fmin(like.hi_ns * 1e-9, p->gain_high_s);
    gn_look_tell_gain(l, p, (struct gn_problem_gain){GN_PROBLEM_LIKE, 0, like.lo_ns * 1e-9, high_s});
    tell_half(l, p, r);
}

int gn_look_replay(const struct gn_look *l, struct gn_replayed *r, struct gn_error *err)
{
    const size_t count = l->seen->count;
    struct gn_levels levels;
    int code = gn_levels_open(&levels, &l->sections, l->late, err);
    for (size_t i = 0; i < count && code == 0; i++) {
        struct gn_whatif_result n[GN_LEVELS];
        code = gn_levels_replay(&levels, i, n, err);
        if (code < 0)
            break;
        const struct gn_whatif_result *mean = &n[GN_LEVEL_MEAN], *fastest = &n[GN_LEVEL_FASTEST];
        l->each[i].lo_ns = fmax(
            0, fmin(fmin(mean->reduction_lo_ns, n[GN_LEVEL_NET].reduction_lo_ns), fastest->reduction_lo_ns));
        l->each[i].hi_ns = fmax(0, fmax(mean->reduction_hi_ns, fastest->reduction_hi_ns));
        l->each[3 * count + i] = (struct gn_span){
            fmax(0, fmin(mean->reduction_lo_ns, fastest->reduction_lo_ns)), l->each[i].hi_ns};
        l->each[count + i] = reduction_of(&n[GN_LEVEL_EVEN]);
        l->each[2 * count + i] = reduction_of(&n[GN_LEVEL_GONE]);
        l->each[4 * count + i] =
            (struct gn_span){fmax(0, fmin(mean->reduction_lo_ns, n[GN_LEVEL_NET].reduction_lo_ns)),
                             fmax(0, mean->reduction_hi_ns)};
        l->each[5 * count + i] = reduction_of(&n[GN_LEVEL_HALF]);
        l->each[6 * count + i] = reduction_of(&n[GN_LEVEL_NET]);
    }
    gn_levels_close(&levels);
    if (code < 0)
        return code;
    r->chance_ns = chance_ns(l);
    r->like = gn_seen_total(l->seen, l->each);
    r->even = gn_seen_total(l->seen, l->each + count);
    r->gone = gn_seen_total(l->seen, l->each + 2 * count);
    r->gross = gn_seen_total(l->seen, l->each + 3 * count);
    r->mean = gn_seen_total(l->seen, l->each + 4 * count);
    r->half = gn_seen_total(l->seen, l->each + 5 * count);
    r->net = gn_seen_total(l->seen, l->each + 6 * count);
    return 0;
}

/* ---- beside its peers ---- */

/* Those that take as much longer there as the process does are late with it. */
static void find_late(const struct gn_look *l, struct gn_problem *p, uint32_t process, int64_t section)
{
    const size_t count = l->seen->definitions->process_count;
    const struct gn_section_sum *sums =
        section < 0 ? NULL : &l->sections.sums[(size_t)section * l->sections.process_count];
    double mean = 0, members = 0;
    for (size_t i = 0; sums && i < count; i++) {
        mean += sums[i].ns;
        members += sums[i].times > 0;
    }
    mean /= fmax(1, members);
    for (size_t i = 0; i < count && p->host; i++)
        l->late[i] = gn_problem_has_rank(p, gn_look_rank(l, (uint32_t)i));
    if (p->host)
        return;
    for (size_t i = 0; i < count; i++)
        l->late[i] = i == process || (sums && sums[i].ns > mean &&
                                      sums[i].ns - mean >= GN_PROBLEM_AS_LATE * (sums[process].ns - mean));
    gn_look_tell_late(l, p);
}

void gn_look_tell_difference(const struct gn_look *l, struct gn_problem *p, uint32_t process, size_t section,
                             struct gn_section_difference d)
{
    const struct gn_call_place place = gn_call_place_of(l->seen, &l->seen->sites[section]);
    p->grows = gn_sections_grows(&l->sections, section, process);
    if (l->seen->sites[section].is_polled) /* how often it asked depends on who waits */
        d.times = d.each = NAN;
    p->differs = (struct gn_problem_difference){.call = place.call,
                                                .function = place.function,
                                                .file = place.file,
                                                .line = place.line,
                                                .times = d.times,
                                                .each = d.each};
    if (l->seen->is_whole) {
        p->differs.own_s = d.own_ns * 1e-9;
        p->differs.others_s = d.others_ns * 1e-9;
    }
}

enum { FEW = 5 }; /* samples: fewer name no place for sure */

/* Where it computes more than the others, and how. */
static void compare(const struct gn_look *l, struct gn_problem *p, uint32_t process)
{
    static const double of_one = 0.05; /* the others do next to nothing there */
    const bool is_group = !p->host && gn_look_is_in_group(l, process);
    const int64_t section =
        is_group ? gn_look_tell_group(l, p, process) : gn_sections_longest(&l->sections, process);
    if (!is_group)
        find_late(l, p, process, section);
    if (section < 0)
        return;
    const struct gn_section_difference d = gn_sections_differ(&l->sections, (size_t)section, l->late);
    gn_look_tell_difference(l, p, process, (size_t)section, d);
    /* what is computed after a call may have several places, of which samples know one that is the rank's
     * alone */
    const bool is_sampled = p->row && p->row->how == GN_HOW_SAMPLED && p->row->samples >= FEW;
    if (d.others_ns > of_one * d.own_ns && !is_sampled)
        gn_problem_is_shared(p);
}

struct gn_between gn_look_own_mpi(const struct gn_look *l)
{
    const double each = 1e-9 / fmax(1, l->s->ranks);
    struct gn_between ns = {0, 0};
    for (size_t i = 0; i < l->seen->site_count; i++) {
        const struct gn_seen_site *site = &l->seen->sites[i];
        double all_ns = 0, most_likely;
        for (size_t p = 0; p < l->seen->count; p++)
            all_ns += site->each_ns[p];
        all_ns = fmax(all_ns, site->total_ns);
        if (gn_activity_starts_or_ends(gn_region_activity(l->seen->definitions, site->region)))
            continue;
        const struct gn_span waited = gn_seen_waited(l->seen, site, &most_likely);
        ns.low += fmax(0, all_ns - waited.hi_ns);
        ns.high += fmax(0, all_ns - waited.lo_ns);
    }
    return (struct gn_between){ns.low * each, ns.high * each};
}

/* Between calls that come back at once there is no more than some tens of ns, of which measuring took as
 * much: what of it is the program's, and what is the call, is not known so closely. */
static bool is_between_polls(const struct gn_look *l, size_t site, uint32_t process)
{
    static const double short_ns = 1000;
    const struct gn_seen *seen = l->seen;
    const struct gn_seen_after *after =
        seen->after ? &seen->after[site * seen->definitions->process_count + process] : NULL;
    return seen->sites[site].is_polled && after && after->times > 0 && after->ns / after->times < short_ns;
}

/* What it computes beyond the others that do it, by section; *own_ns: all that it computes there. */
static double longer_ns(const struct gn_look *l, uint32_t process, double *own_ns)
{
    double ns = 0;
    *own_ns = 0;
    for (size_t i = 0; i < l->sections.site_count; i++) {
        const struct gn_section_difference d = gn_sections_differ_one(&l->sections, i, process);
        if (is_between_polls(l, i, process))
            continue;
        ns += fmax(0, d.own_ns - d.others_ns);
        *own_ns += d.own_ns > d.others_ns ? d.own_ns : 0;
    }
    return ns;
}

/* All that they do more is in what was seen, and the run is no shorter without all of it: others are later
 * yet. */
static bool has_slack(const struct gn_look *l, const struct gn_problem *p, uint32_t process,
                      const struct gn_replayed *r)
{
    static const double nearly_all = 0.8;
    double own_ns;
    const double longer = longer_ns(l, process, &own_ns);
    return l->seen->is_whole && own_ns * 1e-9 >= nearly_all * p->own_s &&
           gn_look_own_mpi(l).high <= 0.1 * longer * 1e-9 &&
           r->gone.hi_ns * 1e-9 < GN_PROBLEM_LEAST_SHARE * l->s->elapsed_s;
}

/* What replay and totals say together. False: they do not say the same, or time in MPI is unexplained. */
static bool settle(const struct gn_look *l, struct gn_problem *p, double low, double high)
{
    const double alike_s = GN_PROBLEM_REPEATED_SHARE * l->s->elapsed_s;
    /* where ranks are in MPI beside waiting for as long, some of that may be waiting after all: a collective
     * may go through the one that is late */
    const bool is_unsure = gn_look_own_mpi(l).high > (p->own_s - p->others_s) / 4 && high < p->gain_high_s;
    const bool fits = high >= p->gain_low_s - alike_s && low <= p->gain_high_s + alike_s;
    if (!fits) {
        /* what was not seen (before MPI_Init), what replay keeps as it was, several slow ranks: then both may
         * be right */
        p->gain_low_s = p->lost_low_s = fmin(low, p->gain_low_s);
        p->gain_high_s = p->lost_high_s = fmax(isfinite(high) ? high : 0, p->gain_high_s);
        gn_look_allow_for_repeats(l, p);
        return false;
    }
    p->gain_low_s = p->lost_low_s = low;
    p->gain_high_s = p->lost_high_s = isfinite(high) && !is_unsure ? high : p->gain_high_s;
    p->assumes = GN_PROBLEM_SAME | GN_PROBLEM_ALONE;
    p->is_replayed = true;
    gn_look_allow_for_repeats(l, p);
    return !is_unsure;
}

double gn_look_without_core_s(const struct gn_look *l)
{
    double s = 0;
    for (size_t i = 0; i < l->s->row_count; i++) {
        const struct gn_activity_row *row = &l->s->rows[i];
        /* who was found asleep needs none */
        const double awake_s = fmax(0, (double)(row->total_ns - row->asleep_ns)) * 1e-9,
                     most_s = row->preempted_s.high >= 0 ? row->preempted_s.high : INFINITY;
        s += strcmp(row->kind, "computation") == 0 ? fmin(most_s, awake_s) : 0;
    }
    return s / fmax(1, l->s->ranks) + gn_look_own_mpi(l).high;
}

bool gn_look_lacks_cores(const struct gn_look *l)
{
    return l->s->resources.preempted_share >= GN_PROBLEM_PREEMPTED_SHARE &&
           gn_look_without_core_s(l) >= GN_PROBLEM_PREEMPTED_SHARE * l->s->elapsed_s;
}

double gn_look_tell_times(const struct gn_look *l, struct gn_problem *p, uint32_t *latest)
{
    const struct gn_seen_cause *most = NULL;
    double certain_s = 0, times = 0;
    for (size_t i = 0; i < l->cause_count; i++) {
        const struct gn_seen_cause *c = &l->causes[i];
        if (!l->late[c->process])
            continue;
        most = most ? most : c;
        if (c->call_region != most->call_region || c->call_path != most->call_path)
            continue;
        times += c->of > 0 ? (double)c->steps : (double)c->times;
        certain_s += c->caused.lo_ns * 1e-9;
        if (c == most || c->first < (uint64_t)p->first)
            p->first = (int64_t)c->first;
        if (c == most || c->last > (uint64_t)p->last)
            p->last = (int64_t)c->last;
        p->of = (int64_t)c->of > p->of ? (int64_t)c->of : p->of;
    }
    p->times = p->of > 0 ? (int64_t)fmin(times, (double)p->of) : (int64_t)times;
    *latest = most ? most->process : *latest;
    return certain_s;
}

int gn_look_tell_half(const struct gn_look *l, struct gn_problem *p, uint32_t process, struct gn_error *err)
{
    struct gn_replayed r;
    if (l->sections.site_count == 0 || p->late_count > 1)
        return 0;
    for (uint32_t i = 0; i < l->seen->definitions->process_count; i++)
        l->late[i] = i == process;
    const int code = gn_look_replay(l, &r, err);
    if (code == 0)
        tell_half(l, p, &r);
    return code;
}

/* Others wait for its messages, which it sends to whoever asks: nothing is known of another order. */
static bool see_master(const struct gn_look *l, struct gn_problem *p, uint32_t process)
{
    const struct gn_problem_hop *hop = &p->hops[0];
    if (p->hop_count == 0 || hop->ranks < 2 ||
        strcmp(hop->kind, gn_wait_kind_name(GN_WAIT_LATE_SENDER)) != 0 || !gn_look_takes_from_any(l, process))
        return false;
    p->pattern = &gn_problem_master;
    p->hop_count = 1;
    p->lost_low_s = hop->low_s / hop->ranks;
    p->lost_high_s = fmin(hop->high_s / hop->ranks, p->own_s);
    p->gain_high_s = fmax(p->lost_high_s, gn_look_without_master_s(l, process));
    p->gain_low_s = 0;
    p->assumes = GN_PROBLEM_SAME | gn_look_assumed(l);
    p->sure = l->seen->is_whole && hop->low_s > hop->high_s / 2 ? GN_PROBLEM_CERTAIN : GN_PROBLEM_POSSIBLE;
    return true;
}

/* Rows end where calls do, which differ from rank to rank: it takes no longer than others do after the same
 * calls. */
static bool is_artefact(const struct gn_look *l, const struct gn_problem *p, uint32_t process)
{
    double own_ns;
    if (p->is_group)
        return false;
    return (l->seen->is_whole || l->seen->after) && l->sections.site_count > 0 && !p->host &&
           longer_ns(l, process, &own_ns) * 1e-9 < GN_PROBLEM_LEAST_SHARE * l->s->elapsed_s && p->own_s > 0;
}

/* A place that few samples have named may be another one, and so may one that chance made the longest; and
 * what is on no core no sample has seen. */
static bool is_place_sure(const struct gn_summary *s, const struct gn_problem *p)
{
    const struct gn_activity_row *row = p->row;
    if (row->how == GN_HOW_UNSEEN)
        return false;
    /* of what it takes longer in a range, half at least is in the place */
    const double longer_ns =
        p->range ? (double)(p->range->max_ns - p->range->mean_ns) / 2 : (double)(row->max_ns - row->min_ns);
    return row->samples == 0 || (row->samples >= FEW && gn_problem_unsure_s(s, row) < longer_ns * 1e-9 &&
                                 (!gn_row_is_asleep(row) || row->asleep_ns > row->total_ns / 2));
}

/* The share of what it is waited for that it spends in calls of MPI, as far as it is known. */
static double in_calls(const struct gn_problem *p)
{
    double share = 0;
    for (size_t i = 0; i < p->meanwhile_count; i++)
        share += strcmp(p->meanwhile[i].what, "calls") == 0 ? p->meanwhile[i].low : 0;
    return share;
}

bool gn_look_is_met_by_all(const struct gn_look *l, const struct gn_problem *p)
{
    const struct gn_problem_hop *hop = &p->hops[0];
    const int late = p->late_count > 1 ? (int)p->late_count : 1;
    return p->hop_count > 0 && hop->ranks + late == l->s->ranks &&
           (strcmp(hop->kind, gn_wait_kind_name(GN_WAIT_BARRIER)) == 0 ||
            strcmp(hop->kind, gn_wait_kind_name(GN_WAIT_NXN)) == 0);
}

/* Where it is not as late at each step, and each is evened by itself: all do a part of what was waited for.
 * The least of it is what all others have waited, in a call that none leaves before all have come: whatever
 * each does behind it begins as much earlier. */
static struct gn_span evened_by_step(const struct gn_look *l, const struct gn_problem *p)
{
    const struct gn_problem_hop *hop = &p->hops[0];
    const bool is_met = gn_look_is_met_by_all(l, p);
    struct gn_span ns = {0, 0};
    for (size_t i = 0; i < l->cause_count; i++) {
        const struct gn_seen_cause *c = &l->causes[i];
        const bool is_here = is_met && c->call_region == hop->region && c->call_path == hop->path;
        ns.hi_ns += l->late[c->process] ? c->caused.hi_ns : 0;
        ns.lo_ns += l->late[c->process] && is_here ? c->caused.lo_ns : 0;
    }
    return (struct gn_span){ns.lo_ns / fmax(1, l->s->ranks), ns.hi_ns / fmax(1, l->s->ranks)};
}

/* In all sections together it computes so much more than the others. */
static double beyond_others_ns(const struct gn_look *l, uint32_t process)
{
    const struct gn_sections *s = &l->sections;
    double own_ns = 0, all_ns = 0;
    for (size_t i = 0; i < s->site_count; i++)
        for (size_t p = 0; p < s->process_count; p++) {
            own_ns += p == process ? s->sums[i * s->process_count + p].ns : 0;
            all_ns += s->sums[i * s->process_count + p].ns;
        }
    return own_ns - (all_ns - own_ns) / fmax(1, (double)s->process_count - 1);
}

/* … and than those that do the same as the late ones: at least. */
static int beyond_peers_ns(const struct gn_look *l, uint32_t process, double *ns, struct gn_error *err)
{
    struct gn_sections_in_all *in_all;
    double peers_ns = 0, peers = 0;
    *ns = beyond_others_ns(l, process);
    if (gn_sections_add_up(&l->sections, l->late, &in_all) != 0)
        return gn_fail(err, -ENOMEM, "no memory for what %zu processes compute", l->sections.process_count);
    for (size_t p = 0; p < l->sections.process_count; p++) {
        peers_ns += in_all[p].is_peer ? in_all[p].all_ns : 0;
        peers += in_all[p].is_peer;
    }
    *ns = fmin(*ns, in_all[process].all_ns - peers_ns / fmax(1, peers));
    free(in_all);
    return 0;
}

/* It computes less elsewhere: who does what when is the matter then. */
bool gn_look_evens_out(const struct gn_look *l, uint32_t process, struct gn_section_difference d)
{
    static const double in_all = 0.25; /* of what it takes longer there */
    return beyond_others_ns(l, process) < in_all * (d.own_ns - d.others_ns);
}

/* What a rank does longer here and another one there is no matter of how much each has to do: it gains no
 * more than what it does more in all. */
static double net_s(const struct gn_look *l, const struct gn_problem *p, uint32_t process)
{
    const int64_t section = gn_sections_longest(&l->sections, process);
    if (section < 0 || p->host || p->late_count > 1 ||
        !gn_look_evens_out(l, process, gn_sections_differ_one(&l->sections, (size_t)section, process)))
        return INFINITY;
    return fmax(beyond_others_ns(l, process) * 1e-9 + GN_PROBLEM_REPEATED_SHARE * l->s->elapsed_s,
                p->own_s - p->others_s);
}

int gn_look_see_rank(const struct gn_look *l, struct gn_problem *p, struct gn_error *err)
{
    const uint32_t process = gn_process_of_rank(l->seen->definitions, p->rank);
    static const double a_part = 0.25;
    struct gn_replayed r;
    if (process == GN_NONE)
        return 0;
    compare(l, p, process);
    uint32_t latest = process;
    const double certain_s = gn_look_tell_times(l, p, &latest);
    gn_look_tell_chain(l, p, latest, NULL, GN_PROBLEM_HOPS);
    int code = gn_look_tell_meanwhile(l, p, err);
    if (code < 0)
        return code;
    if (see_master(l, p, process))
        return gn_look_tell_half(l, p, process, err);
    if (is_artefact(l, p, process)) {
        p->lost_low_s = p->lost_high_s = p->gain_low_s = p->gain_high_s = 0;
        return 0;
    }
    if (l->sections.site_count == 0)
        return 0;
    code = gn_look_replay(l, &r, err);
    if (code < 0)
        return code;
    if (has_slack(l, p, process, &r)) {
        gn_problems_add_slack(l->problems, l->s, p, true);
        p->lost_low_s = p->lost_high_s = p->gain_low_s = p->gain_high_s = 0;
        return 0;
    }
    /* by step, it may be more than by its sum: then those who waited for it say how much */
    const double waited_s =
        p->hop_count > 0 ? p->hops[0].high_s / p->hops[0].ranks * fmax(0, 1 - in_calls(p)) : 0;
    const struct gn_span by_step = evened_by_step(l, p);
    /* what it does less elsewhere does not make that good where all others have waited */
    const double lost_s = fmax(r.like.lo_ns, fmin(by_step.lo_ns, r.gross.lo_ns)) * 1e-9;
    const struct gn_span like = gn_look_by_chance(&r, r.like), even = gn_look_by_chance(&r, r.even),
                         gross = gn_look_by_chance(&r, r.gross);
    const double low = fmax(like.lo_ns, fmin(by_step.lo_ns, gross.lo_ns)) * 1e-9,
                 high = fmin(fmax(like.hi_ns * 1e-9, waited_s), net_s(l, p, process));
    const bool agrees = waited_s <= 1.1 * like.hi_ns * 1e-9;
    const bool is_settled = settle(l, p, low, high);
    gn_problem_limit_by_others(p, l->s);
    if (p->is_replayed)
        p->lost_low_s = fmin(fmax(p->lost_low_s, lost_s), p->lost_high_s);
    if (p->is_replayed && isfinite(even.hi_ns)) {
        const double even_s = fmax(r.even.lo_ns, by_step.lo_ns) * 1e-9; /* in this run */
        p->even_high_s = fmin(fmax(even.hi_ns, fmin(like.hi_ns, by_step.hi_ns)) * 1e-9, p->gain_high_s);
        p->even_low_s = fmin(fmax(even.lo_ns, by_step.lo_ns) * 1e-9, p->even_high_s);
        if (!is_settled && p->even_s > 0) /* by totals: what was waited for it is not all in what was seen */
            p->even_high_s = fmax(p->even_high_s, p->even_s);
        if (gn_problem_is_of_work(p)) { /* whoever mends it by distributing gains this much only */
            p->gain_low_s =
                fmin(p->gain_low_s, fmax(0, p->even_low_s - GN_PROBLEM_REPEATED_SHARE * l->s->elapsed_s));
            p->lost_low_s = fmin(p->lost_low_s, fmax(p->even_low_s, even_s));
        }
    }
    if (p->is_replayed && is_settled) {
        if (p->is_group) /* no section of theirs is like the others' */
            r.mean = r.net;
        r.mean.hi_ns = fmax(r.mean.hi_ns, fmin(waited_s, high) * 1e9);
        r.half.hi_ns = fmax(r.half.hi_ns, fmin(waited_s, p->own_s / 2) * 1e9);
        gn_look_tell_gains(l, p, &r);
    }
    p->assumes |= gn_look_assumed(l);
    /* that as much was waited for it is certain, and so is that it was computing meanwhile; where replay,
     * totals and waits do not say the same, the least of them is, if each that waits has waited so long, and
     * it computes as much longer in all */
    double beyond_ns;
    code = beyond_peers_ns(l, process, &beyond_ns, err);
    const bool is_known =
        (is_settled && agrees) ||
        (p->lost_low_s >= a_part * p->lost_high_s &&
         p->lost_low_s >= GN_PROBLEM_LEAST_SHARE * l->s->elapsed_s && p->hop_count > 0 &&
         p->lost_low_s <= p->hops[0].low_s / p->hops[0].ranks && p->lost_low_s <= beyond_ns * 1e-9);
    if (is_known && l->seen->is_whole && certain_s >= p->lost_low_s && p->lost_low_s > 0 &&
        had_a_core(l->s, p) && is_place_sure(l->s, p))
        p->sure = GN_PROBLEM_CERTAIN;
    return code;
}

static int64_t excess_ns(const struct gn_problem *p)
{
    const struct gn_activity_row *all = p->range ? p->range : p->row;
    return all ? all->max_ns - all->min_ns : 0;
}

/* All of the excess of a rank is taken away at once: its problems become one, that of the place where it
 * takes longer by most. */
static void join_places(const struct gn_look *l)
{
    struct gn_problems *all = l->problems;
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct gn_problem *p = &all->items[i];
        struct gn_problem *first = NULL;
        for (size_t k = 0; k < kept && !first && gn_problem_is_of_rank(p); k++)
            if (gn_problem_is_of_rank(&all->items[k]) && all->items[k].rank == p->rank)
                first = &all->items[k];
        if (!first) {
            all->items[kept++] = *p;
            continue;
        }
        if (!first->is_everywhere && excess_ns(p) > excess_ns(first)) {
            first->pattern = p->pattern;
            first->row = p->row;
            first->range = p->range;
            first->own_s = p->own_s;
            first->others_s = p->others_s;
        }
        first->lost_low_s += p->lost_low_s;
        first->lost_high_s += p->lost_high_s;
        first->gain_low_s += p->gain_low_s;
        first->gain_high_s += p->gain_high_s;
        first->even_s += p->even_s;
        first->more_places++;
        first->even_s = fmin(first->even_s, gn_problem_beyond_mean_s(l->s, first));
    }
    all->count = kept;
}

/* Ranks that are late together are one problem. */
static void join_ranks(const struct gn_look *l)
{
    struct gn_problems *all = l->problems;
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        bool is_told = false;
        for (size_t k = 0; k < kept && gn_problem_is_of_rank(&all->items[i]); k++)
            is_told |= (all->items[k].is_group && all->items[i].is_group &&
                        all->items[k].late_count == all->items[i].late_count) ||
                       (all->items[k].late_count > 1 &&
                        (all->items[k].pattern == all->items[i].pattern || all->items[k].is_group) &&
                        gn_problem_is_of_rank(&all->items[k]) &&
                        gn_problem_has_rank(&all->items[k], all->items[i].rank));
        if (!is_told)
            all->items[kept++] = all->items[i];
    }
    all->count = kept;
}

int gn_look_at_ranks(const struct gn_look *l, struct gn_error *err)
{
    int code = 0;
    join_places(l);
    for (size_t i = 0; i < l->problems->count && code == 0; i++)
        if (gn_problem_is_of_rank(&l->problems->items[i]))
            code = gn_look_see_rank(l, &l->problems->items[i], err);
    join_ranks(l);
    return code == 0 ? gn_look_at_late_ones(l, err) : code;
}
