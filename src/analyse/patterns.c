#include "analyse/patterns_inside.h"

#include "event/activity.h"
#include "program/runtime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double alike = 0.25;       /* factors that differ by less are one */
static const double of_one_rank = 0.96; /* of a row's time: the others do nothing there to speak of */
/* Of what one rank alone computes it computes so much more than the others in all. */
static const double beyond = 0.75, alone = 0.1; /* they take no more there, of what it takes */
static const double in_all = 0.25; /* of what a rank takes longer in one place, at least, in all places */
static const double startup_share = 0.2; /* of the run */
static const double small_bytes = 1024, many_messages = 1000, messages_share = 0.1, polling_share = 0.05,
                    large_bytes = 65536, locks_share = 0.05;
static const double held_s = 20e-6; /* a lock that nobody holds takes less */

void gn_problem_limit(struct gn_problem *p, const struct gn_summary *s)
{
    p->gain_high_s = fmax(0, fmin(p->gain_high_s, s->elapsed_s));
    p->gain_low_s = fmax(0, fmin(p->gain_low_s, p->gain_high_s));
    p->lost_high_s = fmax(0, fmin(p->lost_high_s, s->elapsed_s));
    p->lost_low_s = fmax(0, fmin(p->lost_low_s, p->lost_high_s));
    p->even_high_s = fmin(p->even_high_s, s->elapsed_s);
    p->even_low_s = fmax(0, fmin(p->even_low_s, p->even_high_s));
    for (size_t i = 0; i < p->gain_count; i++) {
        struct gn_problem_gain *gain = &p->gains[i];
        gain->high_s = fmax(0, fmin(gain->high_s, s->elapsed_s));
        gain->low_s = fmax(0, fmin(gain->low_s, gain->high_s));
    }
}

const struct gn_problem_gain *gn_problem_gain_by(const struct gn_problem *p, enum gn_problem_how how)
{
    for (size_t i = 0; i < p->gain_count; i++)
        if (p->gains[i].how == how)
            return &p->gains[i];
    return NULL;
}

void gn_problems_add(struct gn_problems *f, const struct gn_summary *s, struct gn_problem p)
{
    gn_problem_limit(&p, s);
    if (p.gain_high_s < GN_PROBLEM_LEAST_SHARE * s->elapsed_s) {
        f->small_s += p.gain_high_s;
        f->small_count += p.gain_high_s > 0;
    } else if (f->count < GN_PROBLEMS_MAX) {
        f->items[f->count++] = p;
    }
}

void gn_problems_add_slack(struct gn_problems *f, const struct gn_summary *s, const struct gn_problem *p,
                           bool is_sure)
{
    const double least_s = GN_PROBLEM_LEAST_SHARE * s->elapsed_s;
    for (size_t i = 0; i < f->slack_count; i++)
        if (f->slacks[i].rank == p->rank)
            return;
    if (f->slack_count < GN_PROBLEM_SLACKS && p->own_s > p->others_s + least_s)
        f->slacks[f->slack_count++] = (struct gn_problem_slack){
            p->rank, p->row, p->own_s, p->others_s, fmax(0, p->own_s - p->others_s), is_sure};
}

static void add(const struct gn_problem_search *x, struct gn_problem p)
{
    gn_problems_add(x->found, x->s, p);
}

static bool is_kind(const struct gn_activity_row *row, const char *kind)
{
    return strcmp(row->kind, kind) == 0;
}

/* How MPI starts and ends. */
static bool is_startup(const struct gn_activity_row *row)
{
    return is_kind(row, "mpi") && gn_activity_starts_or_ends(gn_activity_named(row->name));
}

static const struct gn_rank_row *rank_row(const struct gn_summary *s, int rank)
{
    for (size_t i = 0; i < s->rank_count; i++)
        if (s->ranks_told[i].rank == rank)
            return &s->ranks_told[i];
    return NULL;
}

double gn_problem_unsure_s(const struct gn_summary *s, const struct gn_activity_row *row)
{
    const double part = row->total_ns > 0 ? (double)row->max_ns / (double)row->total_ns : 1;
    return (row->high - row->low) / 2 * (double)s->total_ns * 1e-9 * sqrt(fmin(1, part));
}

/* ---- cores ---- */

static const struct gn_problem_pattern oversubscribed = {
    .name = "oversubscribed", .remedy = "give each rank a core of its own, or start fewer ranks"};
static const struct gn_problem_pattern preempted = {
    .name = "preempted", .remedy = "find out what else runs on these cores: other jobs, ranks' own threads"};

static bool is_crowded(const struct gn_summary *s)
{
    for (size_t i = 0; i < s->host_count; i++)
        if (s->hosts_told[i].cores > 0 && s->hosts_told[i].ranks > s->hosts_told[i].cores)
            return true;
    return false;
}

static bool lacks_cores(const struct gn_summary *s)
{
    return s->resources.preempted_share >= GN_PROBLEM_PREEMPTED_SHARE;
}

static void find_preempted(const struct gn_problem_search *x)
{
    const struct gn_summary *s = x->s;
    if (!lacks_cores(s))
        return;
    const double each_s = s->resources.preempted_s / fmax(1, s->ranks);
    add(x, (struct gn_problem){.pattern = is_crowded(s) ? &oversubscribed : &preempted,
                               .is_of_cores = true,
                               .rank = -1,
                               /* who only waited may have had no core, too */
                               .lost_high_s = each_s,
                               .gain_high_s = each_s,
                               .sure = GN_PROBLEM_POSSIBLE,
                               .assumes = GN_PROBLEM_SAME});
}

/* ---- uneven computation ---- */

static const struct gn_problem_pattern imbalance = {.name = "static imbalance",
                                                    .remedy = "distribute the work by its cost"};
static const struct gn_problem_pattern slow_rank = {
    .name = "slow rank",
    .remedy = "all that it computes takes longer by one factor: look at its host and core (throttled, remote "
              "memory, another program), "
              "or it has more to do everywhere"};
static const struct gn_problem_pattern preempted_rank = {
    .name = "preempted rank", .remedy = "it was ready and had no core: see what else runs there"};
static const struct gn_problem_pattern serial = {
    .name = "serial section",
    .remedy = "let all ranks take part, or hide it behind other work: the others wait meanwhile"};
const struct gn_problem_pattern gn_problem_io = {
    .name = "I/O by one rank",
    .remedy = "write or read with all ranks (MPI-IO), less often, or beside the computation"};

static const struct gn_problem_pattern blocked_rank = {
    .name = "blocked rank",
    .remedy = "it does not compute there, but waits for something else than MPI (a lock, a file, another "
              "program), or "
              "works in the kernel: see for what"};

static const struct gn_problem_pattern thread_of_rank = {
    .name = "thread of a rank",
    .remedy = "it waits for one of its own threads: give them as much work each, or its threads less"};

static double uneven_s(const struct gn_activity_row *row)
{
    return (double)(row->max_ns - row->mean_ns) * 1e-9;
}

static double span_s(const struct gn_activity_row *row)
{
    return (double)(row->max_ns - row->min_ns) * 1e-9;
}

/* Who sleeps between two polls waits for others. */
static bool is_waiting(const struct gn_summary *s, const struct gn_activity_row *row)
{
    const bool sleeps = row->in_range >= 0 && row->asleep_ns > row->total_ns / 2;
    return s->has_naps && (row->between_polls || (sleeps && s->ranges[row->in_range].between_polls));
}

static bool is_uneven(const struct gn_summary *s, const struct gn_activity_row *row)
{
    return is_kind(row, "computation") && uneven_s(row) >= GN_PROBLEM_LEAST_SHARE * s->elapsed_s &&
           !is_waiting(s, row);
}

bool gn_problems_is_between_calls(const struct gn_activity_row *row)
{
    return is_kind(row, "computation") && gn_is_same_text(row->name, "computation");
}

/* Whether one rank is slower than the others by the same factor in all that it computes: in two places at
 * least. Then it is the rank, not the work. Of two ranks the faster one is the other. */
static int slow_rank_among(const struct gn_summary *s, const struct gn_activity_row *rows, size_t count,
                           size_t *places)
{
    const struct gn_activity_row *first = NULL;
    *places = 0;
    for (size_t i = 0; i < count; i++) {
        const struct gn_activity_row *row = &rows[i];
        if (!gn_problems_is_between_calls(row) || row->how == GN_HOW_UNSEEN ||
            row->share < 3 * GN_PROBLEM_LEAST_SHARE)
            continue;
        if (row->how == GN_HOW_SAMPLED &&
            span_s(row) < gn_problem_unsure_s(s, row)) { /* it may be another place */
            *places = 0;
            return -1;
        }
        const double mean = (double)row->min_ns > 0 ? (double)row->max_ns / (double)row->min_ns : INFINITY;
        const double first_mean =
            first && first->min_ns > 0 ? (double)first->max_ns / (double)first->min_ns : mean;
        if (first && (row->max_rank != first->max_rank || fabs(mean / first_mean - 1) > alike)) {
            *places = 2;
            return -1;
        }
        first = first ? first : row;
        /* between the same two calls, and others now and then, is one place */
        *places += row == first || row->how != GN_HOW_RANGE || row->count * 4 >= first->count * 3;
    }
    return *places >= 2 && first && (double)first->max_ns > 1.2 * (double)first->min_ns ? first->max_rank
                                                                                        : -1;
}

/* One function that is called from several places is one place: then by what lies between calls. */
static int slow_rank_of(const struct gn_summary *s)
{
    size_t places;
    const int rank = slow_rank_among(s, s->rows, s->row_count, &places);
    return places >= 2 || s->range_count == 0 ? rank : slow_rank_among(s, s->ranges, s->range_count, &places);
}

/* For how long its slowest rank was ready there, and had no core: not more than it was in all. */
static double preempted_of(const struct gn_summary *s, const struct gn_activity_row *row)
{
    const struct gn_rank_row *rank = rank_row(s, row->max_rank);
    const double all = rank ? rank->preempted_s : NAN;
    return row->preempted_s.high >= 0 ? fmin(all, row->preempted_s.high) : all;
}

/* That it lasted longer there because it had no core: at most so much, where it may have been asleep, too, is
 * not enough to say so. */
static bool is_preempted(const struct gn_summary *s, const struct gn_activity_row *row)
{
    const double least_s = row->preempted_s.low >= 0 ? row->preempted_s.low : preempted_of(s, row);
    return fmin(least_s, preempted_of(s, row)) > span_s(row) / 2;
}

bool gn_is_same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* What all ranks compute from the same call on, whichever one ends it, as that depends on the rank; and of
 * that, at least, what the row's max_rank does: it is known of rows in which it is the one with most. */
struct since {
    double total_ns, own_ns;
};

static struct since add_since(const struct gn_activity_row *rows, size_t count,
                              const struct gn_activity_row *row)
{
    struct since since = {0, 0};
    for (size_t i = 0; i < count; i++) {
        const struct gn_activity_row *r = &rows[i];
        const bool is_range = row->how == GN_HOW_RANGE || row->how == GN_HOW_UNSEEN;
        if (r == row ||
            (is_range && r->how == row->how && is_kind(r, "computation") && r->line == row->line &&
             gn_is_same_text(r->function, row->function) && gn_is_same_text(r->file, row->file))) {
            since.total_ns += (double)r->total_ns;
            since.own_ns += r->max_rank == row->max_rank ? (double)r->max_ns : 0;
        }
    }
    return since;
}

/* Samples say so. */
static bool is_of_io(const struct gn_activity_row *row)
{
    return row->runtime && strcmp(row->runtime, gn_runtime_text(GN_RUNTIME_IO)) == 0;
}

/* It was seen to sleep, or nobody knows what for it was in the kernel or asleep. */
static bool is_blocked(const struct gn_activity_row *row)
{
    return row->how == GN_HOW_UNSEEN || row->asleep_ns > row->total_ns / 2;
}

/* Next to all that is read and written is of its rank. */
static bool has_all_io(const struct gn_summary *s, const struct gn_activity_row *row)
{
    static const double most_of_it = 0.9, least_bytes = 1 << 20;
    const struct gn_rank_row *own = rank_row(s, row->max_rank);
    double bytes = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        bytes += s->ranks_told[i].read_bytes + s->ranks_told[i].written_bytes;
    const double own_bytes = own ? own->read_bytes + own->written_bytes : 0;
    return own_bytes >= least_bytes && own_bytes >= most_of_it * bytes;
}

/* What a rank computes there it computes beyond the others, who do not do as much elsewhere meanwhile. */
static bool is_beyond_others(const struct gn_summary *s, const struct gn_activity_row *row)
{
    const struct gn_rank_row *own = rank_row(s, row->max_rank);
    double others_s = 0, count = 0;
    for (size_t i = 0; i < s->rank_count; i++) {
        if (s->ranks_told[i].rank == row->max_rank)
            continue;
        others_s += s->ranks_told[i].useful_s;
        count++;
    }
    return !own || count == 0 || own->useful_s - others_s / count >= beyond * (double)row->max_ns * 1e-9;
}

/* Nearly all of it is one rank's, in all of `rows`. */
static bool is_of_one(const struct gn_activity_row *rows, size_t count, const struct gn_activity_row *row)
{
    const struct since all = add_since(rows, count, row);
    return all.total_ns > 0 && all.own_ns >= of_one_rank * all.total_ns;
}

/* What the rank takes longer there, in a function that all call, is in one place between calls and nearly all
 * that. */
static bool is_alone_somewhere(const struct gn_summary *s, const struct gn_activity_row *row)
{
    static const double most_of_it = 0.8;
    for (size_t i = 0; i < s->range_count; i++)
        if (s->ranges[i].max_rank == row->max_rank && span_s(&s->ranges[i]) >= most_of_it * span_s(row) &&
            is_of_one(s->ranges, s->range_count, &s->ranges[i]) && is_beyond_others(s, &s->ranges[i]))
            return true;
    return false;
}

/* The others do nothing from that call to that one, nor as much elsewhere meanwhile. */
static bool is_alone_in(const struct gn_summary *s, const struct gn_activity_row *range)
{
    return is_of_one(s->ranges, s->range_count, range) && is_beyond_others(s, range);
}

/* Samples and looks as dense as those that found the rank in the place would have found the others there,
 * too, were they. */
static bool would_be_seen(const struct gn_activity_row *range, const struct gn_activity_row *place)
{
    static const double enough = 7; /* expected, of which chance leaves none once in a thousand */
    const double others_ns = (double)range->total_ns - (double)range->max_ns;
    return others_ns * (double)place->samples >= enough * (double)place->total_ns;
}

/* That nobody else was found in the place is more than chance. */
static bool is_found_alone(const struct gn_summary *s, const struct gn_activity_row *place)
{
    const struct gn_activity_row *range = place->in_range < 0 ? NULL : &s->ranges[place->in_range];
    return !range || place->samples == 0 || is_alone_in(s, range) || would_be_seen(range, place);
}

static const struct gn_problem_pattern *pattern_of(const struct gn_summary *s,
                                                   const struct gn_activity_row *row)
{
    if (is_preempted(s, row))
        return &preempted_rank;
    if (gn_problems_waits_for_threads(row))
        return &thread_of_rank;
    const bool is_alone = s->ranks > 1 && is_of_one(s->rows, s->row_count, row) && is_beyond_others(s, row) &&
                          is_found_alone(s, row);
    if (s->ranks > 1 && has_all_io(s, row) &&
        (is_alone ? row->cpu_ns <= row->total_ns / 2 : gn_row_is_asleep(row)))
        return &gn_problem_io;
    if (is_alone && is_blocked(row)) /* where all are, each in its turn, it is what they do for work */
        return &blocked_rank;
    if (is_alone || (s->ranks > 1 && is_alone_somewhere(s, row)))
        return is_of_io(row) ? &gn_problem_io : &serial;
    return &imbalance;
}

/* How often a rank was in a call in which it may have waited for others. */
static double meetings(const struct gn_summary *s)
{
    double count = 0;
    for (size_t i = 0; i < s->row_count; i++) {
        const uint32_t call =
            is_kind(&s->rows[i], "mpi") ? gn_activity_named(s->rows[i].name) : GN_ACTIVITY_NONE;
        if (call != GN_ACTIVITY_NONE && gn_activity_may_wait(call))
            count += (double)s->rows[i].count;
    }
    return count / fmax(1, s->ranks);
}

double gn_problem_beyond_mean_s(const struct gn_summary *s, const struct gn_problem *p)
{
    const struct gn_rank_row *own = rank_row(s, p->rank);
    double mean = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        mean += s->ranks_told[i].useful_s / (double)s->rank_count;
    return own && (p->is_group || p->own_s <= own->useful_s * 1.01) ? fmax(0, own->useful_s - mean)
                                                                    : INFINITY;
}

/* The run stays as long as what any other rank computes; and where ranks hardly ever meet, nobody may be
 * waiting. */
static void cap(const struct gn_summary *s, struct gn_problem *p)
{
    enum { FEW = 20 };
    gn_problem_limit_by_others(p, s);
    if (meetings(s) < FEW)
        p->lost_low_s = p->gain_low_s = 0;
    p->even_s = fmin(p->even_s, gn_problem_beyond_mean_s(s, p));
    p->lost_low_s = fmin(p->lost_low_s, p->lost_high_s);
    p->gain_low_s = fmin(p->gain_low_s, p->gain_high_s);
}

bool gn_problem_is_of_rank(const struct gn_problem *p)
{
    return p->rank >= 0 && p->own_s > 0;
}

bool gn_problem_has_rank(const struct gn_problem *p, int rank)
{
    bool has = p->rank == rank;
    for (size_t i = 0; i < p->late_count && i < GN_PROBLEM_LATE; i++)
        has |= p->late[i] == rank;
    return has;
}

struct gn_problem gn_problem_of_slack(const struct gn_problem_slack *slack)
{
    return (struct gn_problem){.pattern = &imbalance,
                               .row = slack->row,
                               .rank = slack->rank,
                               .own_s = slack->own_s,
                               .others_s = slack->others_s,
                               .sure = GN_PROBLEM_POSSIBLE,
                               .assumes = GN_PROBLEM_SAME | GN_PROBLEM_STEPS};
}

void gn_problem_is_alone(struct gn_problem *p, double others_s)
{
    if (p->pattern == &imbalance && others_s <= (1 - of_one_rank) * p->own_s)
        p->pattern = &serial;
}

void gn_problem_is_shared(struct gn_problem *p)
{
    if (p->pattern == &serial || p->pattern == &blocked_rank)
        p->pattern = &imbalance;
}

bool gn_problem_is_of_work(const struct gn_problem *p)
{
    return p->pattern == &imbalance || p->pattern == &thread_of_rank || p->pattern == &serial ||
           p->pattern == &gn_problem_io;
}

void gn_problem_limit_by_others(struct gn_problem *p, const struct gn_summary *s)
{
    const struct gn_rank_row *own = rank_row(s, p->rank);
    double most = 0, most_own = 0, length = 0; /* from MPI_Init to MPI_Finalize */
    if (s->has_naps)                           /* who sleeps between polls computes less than that */
        return;
    for (size_t i = 0; i < s->rank_count; i++) {
        const struct gn_rank_row *r = &s->ranks_told[i];
        length = fmax(length, r->useful_s + r->mpi_s);
        double *of = gn_problem_has_rank(p, r->rank) ? &most_own : &most;
        *of = fmax(*of, r->useful_s);
    }
    /* what is done before MPI_Init is not in these; nor is it known of ranks that are not told */
    if (own && p->late_count <= GN_PROBLEM_LATE && (p->is_group || p->own_s <= own->useful_s * 1.01)) {
        /* what they compute they compute in another run, too, but for what runs differ by; and no more can go
         * than those that are late compute */
        const double high = fmin(fmax(0, length - most), most_own);
        p->lost_high_s = fmin(p->lost_high_s, high);
        p->gain_high_s = fmin(p->gain_high_s, high + GN_PROBLEM_REPEATED_SHARE * s->elapsed_s);
        p->lost_low_s = fmin(p->lost_low_s, p->lost_high_s);
        p->gain_low_s = fmin(p->gain_low_s, p->gain_high_s);
    }
}

/* By what they compute in all, and where the row has room for as many: those that are as late as its rank. */
static void find_late(const struct gn_summary *s, struct gn_problem *p)
{
    const struct gn_rank_row *own = rank_row(s, p->rank);
    double mean = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        mean += s->ranks_told[i].useful_s / (double)s->rank_count;
    if (!own || !(own->useful_s > mean))
        return;
    const double least = mean + GN_PROBLEM_AS_LATE * (own->useful_s - mean);
    for (size_t i = 0; i < s->rank_count; i++)
        if (s->ranks_told[i].rank == p->rank || s->ranks_told[i].useful_s >= least) {
            if (p->late_count < GN_PROBLEM_LATE)
                p->late[p->late_count] = s->ranks_told[i].rank;
            p->late_count++;
        }
    const double each =
        (double)p->row->mean_ns + GN_PROBLEM_AS_LATE * (double)(p->row->max_ns - p->row->mean_ns);
    if ((double)p->row->total_ns < each * (double)p->late_count)
        p->late_count = 0;
}

/* What the rank computes in all beyond the one that computes least; 0: that is not known, or has another
 * role, as it hardly computes. */
static double beyond_least_s(const struct gn_summary *s, const struct gn_problem *p)
{
    const struct gn_rank_row *own = rank_row(s, p->rank);
    double least = INFINITY;
    for (size_t i = 0; i < s->rank_count; i++)
        least = fmin(least, s->ranks_told[i].useful_s);
    return own && least >= in_all * own->useful_s ? own->useful_s - least : 0;
}

static struct gn_problem uneven(const struct gn_summary *s, const struct gn_activity_row *row)
{
    const double sampled = gn_problem_unsure_s(s, row);
    /* what it waited for a core, and perhaps caught up, is not in the least that is lost */
    const double waited = fmax(0, preempted_of(s, row));
    const struct since all = add_since(s->rows, s->row_count, row);
    struct gn_problem p = {
        .pattern = pattern_of(s, row),
        .row = row,
        .rank = row->max_rank,
        /* spread evenly it is gone down to the mean; all as the fastest, to that */
        .lost_low_s = uneven_s(row) - sampled - waited,
        .lost_high_s = (double)(row->max_ns - row->min_ns) * 1e-9 + sampled,
        .gain_low_s = uneven_s(row) - sampled - waited,
        .gain_high_s = (double)(row->max_ns - row->min_ns) * 1e-9 + sampled,
        .even_s = uneven_s(row),
        .preempted_s = preempted_of(s, row),
        .is_preempted = is_preempted(s, row),
        .own_s = (double)row->max_ns * 1e-9,
        .others_s = fmax((double)(s->ranks == 2 ? row->min_ns : row->median_ns),
                         fmax(0, all.total_ns - (double)row->total_ns - (all.own_ns - (double)row->max_ns)) /
                             fmax(1, s->ranks - 1)) *
                    1e-9,
        .sure = GN_PROBLEM_POSSIBLE,
        .assumes = GN_PROBLEM_STEPS | GN_PROBLEM_SAME | (row->high > row->low ? GN_PROBLEM_SAMPLES : 0),
    };
    find_late(s, &p);
    if (p.late_count > 1 &&
        s->ranks > (int)p.late_count) /* the others' mean, if these are as late as the latest */
        p.others_s =
            fmax((double)row->min_ns, ((double)row->total_ns - (double)row->max_ns * (double)p.late_count) /
                                          (s->ranks - (double)p.late_count)) *
            1e-9;
    if (p.late_count > 1 && p.others_s < alone * p.own_s) /* who do other things than the others: no place
                                                             tells by how much they are late */
        p.gain_high_s = p.lost_high_s = fmax(p.gain_high_s, beyond_least_s(s, &p));
    cap(s, &p);
    return p;
}

/* One that takes longer here and less there is not what is uneven, but who does what when. What is one rank's
 * alone may be its role, which others have no part in.
 */
static bool evens_out(const struct gn_summary *s, const struct gn_problem *p)
{
    const double left = p->others_s < alone * p->own_s ? beyond : in_all;
    double own = 0, others = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        *(s->ranks_told[i].rank == p->rank ? &own : &others) += s->ranks_told[i].useful_s;
    others /= fmax(1, (double)s->rank_count - 1);
    /* before MPI_Init and after MPI_Finalize nothing is told of ranks */
    return p->own_s <= p->others_s ||
           (p->own_s <= own * 1.01 && own - others < left * (p->own_s - p->others_s));
}

/* Another one computes as much in all as there is for it to do. */
static bool gains_nothing(const struct gn_summary *s, const struct gn_problem *p)
{
    return p->gain_high_s < GN_PROBLEM_LEAST_SHARE * s->elapsed_s;
}

static void add_uneven(const struct gn_problem_search *x, struct gn_problem p)
{
    if (gains_nothing(x->s, &p))
        gn_problems_add_slack(x->found, x->s, &p, true);
    else
        add(x, p);
}

/* Whether samples may have made of nothing what the rank takes longer there; where most of what it takes
 * longer from one call to the next is, that is known better. */
static bool is_chance(const struct gn_summary *s, const struct gn_activity_row *row)
{
    const struct gn_activity_row *range = row->in_range < 0 ? NULL : &s->ranges[row->in_range];
    const bool is_leading = range && range->place >= 0 && &s->rows[range->place] == row;
    return span_s(row) <= gn_problem_unsure_s(s, row) && !is_leading;
}

/* Whether others do as much elsewhere from the same call to the next: then that is told of all of it. */
static bool is_of_its_range(const struct gn_summary *s, const struct gn_activity_row *row)
{
    static const double nearly_all = 0.9;
    const struct gn_activity_row *range = row->in_range < 0 ? NULL : &s->ranges[row->in_range];
    if (s->has_naps && range && range->between_polls) /* they sleep there, and wait */
        return false;
    return range && (range->max_rank != row->max_rank || span_s(range) < nearly_all * span_s(row));
}

/* Whether that is told of the rank: by the place, or of all that it computes. */
static bool is_told(const struct gn_problems *all, int rank, const struct gn_activity_row *place)
{
    for (size_t i = 0; i < all->count; i++)
        if (gn_problem_is_of_rank(&all->items[i]) && all->items[i].rank == rank &&
            (all->items[i].row == place || all->items[i].is_everywhere))
            return true;
    return false;
}

/* What was told of the rank's places that are in there, and nearly only there, is a part of what is told of
 * it now. */
static void forget_places(struct gn_problems *all, int rank, int range)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct gn_problem *p = &all->items[i];
        if (!gn_problem_is_of_rank(p) || p->rank != rank || p->row->in_range != range)
            all->items[kept++] = *p;
    }
    all->count = kept;
}

/* Whether anything is told of what the rank computes. */
static bool is_late(const struct gn_problems *all, int rank)
{
    for (size_t i = 0; i < all->count; i++)
        if (gn_problem_is_of_rank(&all->items[i]) && all->items[i].rank == rank)
            return true;
    return false;
}

/* What is told of the range is about the place. */
static void tell_place(const struct gn_summary *s, struct gn_problem *p, const struct gn_activity_row *range,
                       const struct gn_activity_row *place)
{
    const bool is_own = place->max_rank == p->rank;
    /* it sleeps as long as it is late, where nobody else is */
    const bool sleeps = is_own && is_blocked(place) && is_of_one(s->rows, s->row_count, place) &&
                        (double)range->place_ns >= span_s(range) * 1e9 && is_found_alone(s, place);
    p->pattern = is_own ? pattern_of(s, place) : &imbalance;
    if (p->pattern == &imbalance || p->pattern == &serial)
        p->pattern = sleeps ? &blocked_rank : is_alone_in(s, range) ? &serial : p->pattern;
    p->is_preempted = p->pattern == &preempted_rank;
    p->preempted_s = preempted_of(s, place);
    p->row = place;
    p->range = range;
    p->assumes |= place->high > place->low ? GN_PROBLEM_SAMPLES : 0;
}

void gn_problem_tell_kind(struct gn_problem *p, const struct gn_summary *s)
{
    if (p->range)
        tell_place(s, p, p->range, p->row);
    else
        p->pattern = pattern_of(s, p->row);
}

/* From one call to the next: what a rank takes longer in one function others may take in another one
 * meanwhile, and then no place by itself tells by how much it is late. */
static void find_uneven_ranges(const struct gn_problem_search *x, const char *slow_host)
{
    const struct gn_summary *s = x->s;
    for (size_t i = 0; i < s->range_count; i++) {
        const struct gn_activity_row *range = &s->ranges[i];
        struct gn_problem p = uneven(s, range);
        if (!is_uneven(s, range) || gn_problems_on_host(s, p.rank, slow_host))
            continue;
        const bool evens = evens_out(s, &p);
        const struct gn_activity_row *place = range->place < 0 ? NULL : &s->rows[range->place];
        if (evens ||
            gains_nothing(s, &p)) { /* what is longer here and shorter there may be in one function */
            gn_problems_add_slack(x->found, s, &p, !evens);
        } else if (!place && !is_late(x->found, p.rank)) { /* in many places, a little in each */
            p.pattern = is_alone_in(s, range) ? &serial : &imbalance;
            add(x, p);
        } else if (place && !is_told(x->found, p.rank, place)) {
            tell_place(s, &p, range, place);
            forget_places(x->found, p.rank, (int)i);
            add(x, p);
        }
    }
}

static void find_uneven(const struct gn_problem_search *x)
{
    const int slow = x->s->ranks > 1 ? slow_rank_of(x->s) : -1;
    const char *slow_host = gn_problems_find_slow_host(x);
    struct gn_problem all = {.pattern = NULL};
    for (size_t i = 0; i < x->s->row_count && x->s->ranks > 1; i++) {
        const struct gn_activity_row *row = &x->s->rows[i];
        const bool is_slow = row->max_rank == slow;
        if (!is_uneven(x->s, row) || (!is_slow && (is_chance(x->s, row) || is_of_its_range(x->s, row))))
            continue;
        const struct gn_problem p = uneven(x->s, row);
        if (p.pattern == &imbalance && gn_problems_on_host(x->s, p.rank, slow_host))
            continue;
        if (evens_out(x->s, &p)) {
            gn_problems_add_slack(x->found, x->s, &p, false);
            continue;
        }
        /* where ranks have no cores, that is said already; what is left when none of it was computing stays
         */
        if (lacks_cores(x->s) &&
            !(span_s(row) - preempted_of(x->s, row) >= GN_PROBLEM_LEAST_SHARE * x->s->elapsed_s))
            continue;
        if (slow != row->max_rank || p.pattern != &imbalance) {
            add_uneven(x, p);
            continue;
        }
        if (!all.pattern)
            all = p;
        else {
            all.lost_low_s += p.lost_low_s;
            all.lost_high_s += p.lost_high_s;
            all.gain_low_s += p.gain_low_s;
            all.gain_high_s += p.gain_high_s;
            all.even_s += p.even_s;
            all.own_s += p.own_s;
            all.others_s += p.others_s;
        }
        all.pattern = &slow_rank;
        all.is_everywhere = true;
    }
    if (all.pattern)
        add(x, all);
    if (x->s->ranks > 1)
        find_uneven_ranges(x, slow_host);
}

/* ---- MPI itself ---- */

static const struct gn_problem_pattern startup = {
    .name = "MPI_Init and MPI_Finalize",
    .remedy = "let the run do more, or start fewer of them: most of it is begin and end"};
static const struct gn_problem_pattern polling = {
    .name = "polling",
    .remedy = "wait with MPI_Wait or MPI_Probe, or do something between two tests: they burn a core"};
static const struct gn_problem_pattern small_messages = {
    .name = "many small messages",
    .remedy = "send more at once: what each message costs outweighs what is in it"};
static const struct gn_problem_pattern collective = {
    .name = "slow collective",
    .remedy = "call it less often, with more at once, or use the nonblocking form and compute meanwhile"};

/* What every rank takes is the least that it costs; the rest may be waiting for ranks that come late. */
static void find_startup(const struct gn_problem_search *x)
{
    double low = 0, high = 0;
    for (size_t i = 0; i < x->s->row_count; i++)
        if (is_startup(&x->s->rows[i])) {
            low += (double)x->s->rows[i].min_ns * 1e-9;
            high += (double)x->s->rows[i].mean_ns * 1e-9;
        }
    if (high >= startup_share * x->s->elapsed_s)
        add(x, (struct gn_problem){.pattern = &startup,
                                   .is_startup = true,
                                   .rank = -1,
                                   .lost_low_s = low,
                                   .lost_high_s = high,
                                   .gain_high_s = high,
                                   .sure = low >= 0.9 * high ? GN_PROBLEM_CERTAIN : GN_PROBLEM_POSSIBLE,
                                   .assumes = GN_PROBLEM_SAME});
}

static const struct gn_activity_def *call_of(const struct gn_activity_row *row)
{
    return gn_activity_def(is_kind(row, "mpi") ? gn_activity_named(row->name) : GN_ACTIVITY_NONE);
}

static bool is_polling(const struct gn_activity_def *call)
{
    return call->traits & GN_TRAIT_POLLS;
}

static bool is_of_messages(const struct gn_activity_def *call)
{
    return strcmp(call->group, "p2p") == 0 || strcmp(call->group, "completion") == 0;
}

bool gn_problem_is_of_messages(const struct gn_activity_row *row)
{
    return is_of_messages(call_of(row));
}

bool gn_problem_is_polling(const struct gn_activity_row *row)
{
    return is_polling(call_of(row));
}

/* Time in such calls, of one rank in the mean; the largest row in *row. */
static double time_in(const struct gn_summary *s, bool (*is_such)(const struct gn_activity_def *call),
                      const struct gn_activity_row **row, int64_t *count)
{
    double sum = 0;
    for (size_t i = 0; i < s->row_count; i++) {
        const struct gn_activity_row *r = &s->rows[i];
        if (!is_such(call_of(r)))
            continue;
        sum += (double)r->mean_ns * 1e-9;
        *count += r->count;
        *row = !*row || r->total_ns > (*row)->total_ns ? r : *row;
    }
    return sum;
}

static void find_polling(const struct gn_problem_search *x)
{
    const struct gn_activity_row *row = NULL;
    int64_t count = 0;
    const double s = time_in(x->s, is_polling, &row, &count);
    if (row && s >= polling_share * x->s->elapsed_s)
        add(x, (struct gn_problem){.pattern = &polling,
                                   .row = row,
                                   .rank = row->max_ns > 2 * row->median_ns ? row->max_rank : -1,
                                   .lost_high_s = s,
                                   .gain_high_s = s,
                                   .count = count,
                                   .counted = "calls",
                                   .sure = GN_PROBLEM_POSSIBLE,
                                   .assumes = GN_PROBLEM_SAME});
}

static const struct gn_problem_pattern large_messages = {
    .name = "large messages",
    .remedy = "send less, or let it go on while ranks compute (MPI_Isend, MPI_Irecv): what is in the "
              "messages takes the time"};
static const struct gn_problem_pattern locks = {
    .name = "lock contention",
    .remedy =
        "hold a lock for less, lock less often, or use what needs none (MPI_Accumulate, MPI_Fetch_and_op)",
    .says = "ranks wait, most likely, for locks of windows that others hold"};

/* Of a message; 0: there are none. */
static double mean_bytes(const struct gn_summary *s)
{
    return s->resources.messages > 0 ? (double)s->resources.sent_bytes / (double)s->resources.messages : 0;
}

static void add_messages(const struct gn_problem_search *x, const struct gn_problem_pattern *pattern,
                         const struct gn_activity_row *row, double time_s)
{
    add(x, (struct gn_problem){.pattern = pattern,
                               .row = row,
                               .rank = -1,
                               .lost_high_s = time_s,
                               .gain_high_s = time_s,
                               .count = x->s->resources.messages,
                               .is_of_messages = true,
                               .counted = "messages",
                               .sure = GN_PROBLEM_POSSIBLE,
                               .assumes = GN_PROBLEM_SAME});
}

static void find_large_messages(const struct gn_problem_search *x)
{
    const struct gn_summary *s = x->s;
    const struct gn_activity_row *row = NULL;
    int64_t count = 0;
    const double time_s = time_in(s, is_of_messages, &row, &count);
    if (row && mean_bytes(s) >= large_bytes && time_s >= messages_share * s->elapsed_s)
        add_messages(x, &large_messages, row, time_s);
}

/* Where a lock that another one holds is waited for: some libraries do so when it is given back. That moves
 * the data, too, which must not be large then. */
static bool is_of_locks(const struct gn_activity_def *call)
{
    return strcmp(call->name, "MPI_Win_lock") == 0 || strcmp(call->name, "MPI_Win_unlock") == 0;
}

/* Operations on windows, which are messages, and what lets and completes them without the target. */
static bool is_of_window(const struct gn_activity_def *call)
{
    static const char *const passive[] = {"MPI_Win_lock", "MPI_Win_unlock", "MPI_Win_flush"};
    if (strcmp(call->group, "rma") != 0)
        return false;
    for (size_t i = 0; i < sizeof passive / sizeof *passive; i++)
        if (strncmp(call->name, passive[i], strlen(passive[i])) == 0)
            return true;
    return strncmp(call->name, "MPI_Win_", strlen("MPI_Win_")) != 0;
}

/* Where others hold locks for long, that is what takes the time. */
static bool are_locks_held(const struct gn_summary *s)
{
    const struct gn_activity_row *row = NULL;
    int64_t count = 0;
    const double time_s = time_in(s, is_of_locks, &row, &count);
    return count > 0 && time_s * fmax(1, s->ranks) / (double)count >= held_s;
}

static void find_small_messages(const struct gn_problem_search *x)
{
    const struct gn_summary *s = x->s;
    const struct gn_activity_row *row = NULL;
    int64_t count = 0;
    const double time_s = time_in(s, is_of_messages, &row, &count) +
                          (are_locks_held(s) ? 0 : time_in(s, is_of_window, &row, &count));
    if (row && mean_bytes(s) < small_bytes &&
        (double)s->resources.messages >= many_messages * fmax(1, s->ranks) &&
        time_s >= messages_share * s->elapsed_s)
        add_messages(x, &small_messages, row, time_s);
}

static void find_locks(const struct gn_problem_search *x)
{
    const struct gn_activity_row *row = NULL;
    int64_t count = 0;
    const double time_s = time_in(x->s, is_of_locks, &row, &count);
    if (row && x->s->ranks > 1 && mean_bytes(x->s) < large_bytes && are_locks_held(x->s) &&
        time_s >= locks_share * x->s->elapsed_s)
        add(x, (struct gn_problem){.pattern = &locks,
                                   .row = row,
                                   .rank = -1,
                                   .lost_high_s = time_s,
                                   .gain_high_s = time_s,
                                   .count = count,
                                   .counted = "calls",
                                   .sure = GN_PROBLEM_POSSIBLE,
                                   .assumes = GN_PROBLEM_SAME});
}

/* What every rank takes in a collective is what it costs when nobody is waited for, or waiting in turn. */
static void find_collectives(const struct gn_problem_search *x)
{
    for (size_t i = 0; i < x->s->row_count && x->s->ranks > 1; i++) {
        const struct gn_activity_row *row = &x->s->rows[i];
        const double all_s = (double)row->min_ns * 1e-9;
        if (strcmp(call_of(row)->group, "collective") != 0 ||
            all_s < 2 * GN_PROBLEM_LEAST_SHARE * x->s->elapsed_s)
            continue;
        add(x, (struct gn_problem){.pattern = &collective,
                                   .is_of_all = true,
                                   .row = row,
                                   .rank = -1,
                                   .lost_high_s = all_s,
                                   .gain_high_s = all_s,
                                   .count = row->count,
                                   .counted = "calls of all ranks",
                                   .sure = GN_PROBLEM_POSSIBLE,
                                   .assumes = GN_PROBLEM_SAME | GN_PROBLEM_TURNS});
    }
}

/* ---- all ---- */

/* Of ranks without a core nothing else is sure: that comes first, unless more is lost than ranks had no core
 * for. */
static bool is_before_all(const struct gn_problems *problems, const struct gn_problem *p)
{
    static const double more = 0.5, much_more = 2; /* who only waits needs no core */
    if (p->pattern != &oversubscribed && p->pattern != &preempted)
        return false;
    for (size_t i = 0; i < problems->count; i++)
        if (!problems->items[i].is_startup && (problems->items[i].lost_low_s > more * p->lost_high_s ||
                                               problems->items[i].lost_high_s > much_more * p->lost_high_s))
            return false;
    return true;
}

/* The middle, by factors, of what is surely gained and what may be; of what may be nothing, only among those
 * that are alike (what ranks wait in the mean, as the one that waits most is no measure of all). How a run
 * starts and ends is no remedy: it comes last. */
static double worth(const struct gn_problem *p, const struct gn_summary *s)
{
    /* what is next to nothing is not sure to be more */
    const struct gn_problem_gain *half =
        p->is_of_messages ? gn_problem_gain_by(p, GN_PROBLEM_HALF) : NULL; /* where ranks hardly wait */
    const double surely_s = half ? half->low_s : p->gain_low_s,
                 low = surely_s >= GN_PROBLEM_LEAST_SHARE * s->elapsed_s ? surely_s : 0;
    if (p->is_before_all)
        return INFINITY;
    const double perhaps = p->waited_each_s > 0 ? fmin(p->waited_each_s, p->gain_high_s) : p->gain_high_s;
    return p->is_startup ? -1 / (p->gain_high_s + 1) : sqrt(low * p->gain_high_s) + 0.01 * perhaps;
}

static int compare(const void *left, const void *right)
{
    const double x = ((const struct gn_problem *)left)->worth, y = ((const struct gn_problem *)right)->worth;
    return x > y ? -1 : x < y;
}

/* What evening it out spares at most, where that is next to nothing: whoever distributes the work gains no
 * more, and chance makes ranks differ by as much. 0: it is more, or not known. */
static double next_to_even_s(const struct gn_problem *p, const struct gn_summary *s)
{
    const double even_s = p->is_replayed ? p->even_high_s : p->even_s;
    return p->pattern == &imbalance && gn_problem_is_of_rank(p) && !(p->gain_low_s > 0) &&
                   even_s < GN_PROBLEM_LEAST_SHARE * s->elapsed_s
               ? fmax(0, even_s)
               : 0;
}

static void put_in_order(struct gn_problems *problems, const struct gn_summary *summary)
{
    for (size_t i = 0; i < problems->count; i++)
        problems->items[i].is_before_all = is_before_all(problems, &problems->items[i]);
    for (size_t i = 0; i < problems->count; i++)
        problems->items[i].worth = worth(&problems->items[i], summary);
    qsort(problems->items, problems->count, sizeof *problems->items, compare);
}

void gn_problems_rank(struct gn_problems *problems, const struct gn_summary *summary)
{
    size_t kept = 0;
    for (size_t i = 0; i < problems->count; i++) {
        struct gn_problem *p = &problems->items[i];
        gn_problem_limit(p, summary);
        const double even_s = next_to_even_s(p, summary);
        if (even_s > 0) {
            problems->small_s += even_s;
            problems->small_count++;
        } else if (p->gain_high_s >= GN_PROBLEM_LEAST_SHARE * summary->elapsed_s) {
            problems->items[kept++] = *p;
        } else {
            problems->small_s += p->gain_high_s;
            problems->small_count += p->gain_high_s > 0;
        }
    }
    problems->count = kept;
    put_in_order(problems, summary);
}

bool gn_problems_can_compare(const struct gn_summary *s)
{
    return s->is_live || s->hosts < 2 || !s->saved_hosts[0];
}

void gn_problems_find(struct gn_problems *problems, const struct gn_summary *summary)
{
    const struct gn_problem_search x = {summary, problems};
    /* the items are many, and none is there yet */
    problems->count = problems->slack_count = problems->small_count = 0;
    problems->small_s = 0;
    problems->seen = (struct gn_problems_seen){.parts = 0};
    problems->are_cores_kept = gn_problems_lack_cores(summary); /* until that is seen */
    if (!(summary->elapsed_s > 0))
        return;
    find_preempted(&x);
    if (gn_problems_can_compare(summary))
        find_uneven(&x);
    find_startup(&x);
    find_polling(&x);
    find_small_messages(&x);
    find_large_messages(&x);
    find_locks(&x);
    find_collectives(&x);
    gn_problems_find_threads(&x);
    gn_problems_rank(problems, summary);
}

/* ---- cores that those who wait keep ---- */

bool gn_problems_lack_cores(const struct gn_summary *s)
{
    return is_crowded(s) ? !(s->resources.preempted_share < GN_PROBLEM_PREEMPTED_SHARE) : lacks_cores(s);
}

/* How many times as long a thread may take for the same, were others ready for its core whenever it is: each
 * gets its share. */
static double longest_stretch(const struct gn_summary *s)
{
    static const double most = 0.99; /* without a core */
    double stretch = 1;
    for (size_t i = 0; i < s->rank_count; i++) {
        const struct gn_rank_row *r = &s->ranks_told[i];
        const double ready_s = fmax(r->elapsed_s, r->cpu_s + r->preempted_s);
        if (r->preempted_s > 0 && ready_s > 0)
            stretch = fmax(stretch, 1 / (1 - fmin(r->preempted_s / ready_s, most)));
    }
    for (size_t i = 0; i < s->host_count; i++)
        if (s->hosts_told[i].cores > 0)
            stretch = fmax(stretch, s->hosts_told[i].ranks / s->hosts_told[i].cores);
    return stretch;
}

/* The ranks of the program that is mended may wait longer, with cores that others need, and so be slower; or
 * not as long, and then nothing keeps the others back. */
static void allow_for_cores(struct gn_problem *p, const struct gn_summary *s, double stretch)
{
    p->gain_low_s = s->elapsed_s - stretch * (s->elapsed_s - p->gain_low_s);
    p->gain_high_s = s->elapsed_s - (s->elapsed_s - p->gain_high_s) / stretch;
    if (p->waited_each_s > 0)
        p->waited_each_s = s->elapsed_s - (s->elapsed_s - p->waited_each_s) / stretch;
    p->even_s = p->even_low_s = p->even_high_s = 0; /* in which way more is gained cannot be told */
    p->gain_count = 0;
    p->lost_low_s = 0;
    p->sure = GN_PROBLEM_POSSIBLE;
    p->assumes |= GN_PROBLEM_CORES;
}

void gn_problems_share_cores(struct gn_problems *problems, const struct gn_summary *summary)
{
    if (!problems->are_cores_kept)
        return;
    const double stretch = longest_stretch(summary);
    for (size_t i = 0; i < problems->count; i++) {
        struct gn_problem *p = &problems->items[i];
        /* MPI_Init waits for other things than cores */
        if (!p->is_of_cores && !p->is_startup && !(p->assumes & GN_PROBLEM_CORES))
            allow_for_cores(p, summary, stretch);
    }
    put_in_order(problems, summary);
}
