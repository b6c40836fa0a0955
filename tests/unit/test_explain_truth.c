/*
 * What explain says of random programs against the truth: synthetic programs of all patterns, with a rank
 * that takes longer in all that it computes, are looked at through wrong clocks; then each problem of a rank
 * that was found is really mended, everything else (and all random numbers) being the same. What is certain
 * is true, and what was foretold to be gained has what is gained in it.
 *
 * test_explain_truth [-n CASES] [-s SEED] [-v]
 */
#include "analyse/patterns_seen.h"
#include "analyse/patterns_look.h"
#include "base/mix.h"
#include "synth_history.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int cases = 250;
static uint64_t seed = 1;
static bool verbose;

/* ---- a profile's rows, of events ---- */

enum { ROWS = 256, RANKS = 16 };

struct profile {
    struct gn_summary s;
    struct gn_activity_row rows[ROWS];
    double ns[ROWS][RANKS];
    struct gn_rank_row ranks[RANKS];
    struct gn_host_row host;
};

static char *text(const char *value)
{
    return (char *)(uintptr_t)value; /* of definitions, which outlive the rows */
}

static struct gn_activity_row *row_at(struct profile *p, const struct gn_activity_row *wanted)
{
    for (size_t i = 0; i < p->s.row_count; i++) {
        const struct gn_activity_row *r = &p->rows[i];
        if (r->line == wanted->line && r->until_line == wanted->until_line &&
            strcmp(r->kind, wanted->kind) == 0 && strcmp(r->name, wanted->name) == 0)
            return &p->rows[i];
    }
    assert_true(p->s.row_count < ROWS);
    p->rows[p->s.row_count] = *wanted;
    p->rows[p->s.row_count].in_range = p->rows[p->s.row_count].place = -1;
    return &p->rows[p->s.row_count++];
}

static void add(struct profile *p, const struct gn_activity_row *wanted, uint32_t rank, double ns)
{
    struct gn_activity_row *row = row_at(p, wanted);
    row->count++;
    p->ns[row - p->rows][rank] += ns;
}

static struct gn_call_place place_of(const struct gn_history *h, uint32_t call)
{
    return gn_call_place_at(h->definitions, h->calls[call].region, h->calls[call].path);
}

static void add_call(struct profile *p, const struct gn_history *h, uint32_t c)
{
    const struct gn_call *call = &h->calls[c];
    const uint32_t rank =
        (uint32_t)h->definitions->processes[h->definitions->locations[call->location].process].rank;
    const double computed = gn_computed_before(h, call),
                 inside = (double)(call->leave_ticks - call->enter_ticks) * 1e9 /
                          (double)h->definitions->ticks_per_second;
    if (call->before == GN_NONE)
        return;
    struct gn_activity_row since = {
        .kind = text("computation"), .name = text("computation"), .how = GN_HOW_RANGE};
    const struct gn_call_place from = place_of(h, call->before), to = place_of(h, c);
    since.function = text(from.function);
    since.file = text(from.file);
    since.line = from.line;
    since.until_file = text(to.file);
    since.until_line = to.line;
    add(p, &since, rank, computed);
    p->ranks[rank].useful_s += computed * 1e-9;
    if (call->region == GN_NONE)
        return;
    add(p,
        &(struct gn_activity_row){.kind = text("mpi"),
                                  .name = text(to.call),
                                  .function = text(to.function),
                                  .file = text(to.file),
                                  .line = to.line},
        rank, inside);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sum_up(struct profile *p, struct gn_activity_row *row, const double *of_ranks)
{
    double sorted[RANKS], sum = 0;
    const int ranks = p->s.ranks;
    for (int r = 0; r < ranks; r++) {
        sum += sorted[r] = of_ranks[r];
        if (r == 0 || of_ranks[r] > of_ranks[row->max_rank])
            row->max_rank = r;
    }
    qsort(sorted, (size_t)ranks, sizeof *sorted, by_value);
    row->min_ns = (int64_t)sorted[0];
    row->max_ns = (int64_t)sorted[ranks - 1];
    row->median_ns = (int64_t)(sorted[(ranks - 1) / 2] + sorted[ranks / 2]) / 2;
    row->total_ns = (int64_t)sum;
    row->mean_ns = (int64_t)(sum / ranks);
    row->mpi_ns = strcmp(row->kind, "mpi") == 0 ? row->total_ns : 0;
    row->preempted_s = row->off_core_s = (struct gn_between){0, 0};
    p->s.total_ns += row->total_ns;
}

static struct profile *profile_of(const struct gn_history *h)
{
    struct profile *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->s.ranks = p->s.world = (int)h->definitions->process_count;
    assert_true(p->s.ranks <= RANKS);
    p->s.elapsed_s = p->s.measured_s = ((double)h->length.lo_ns + (double)h->length.hi_ns) / 2 * 1e-9;
    p->s.complete = true;
    for (int r = 0; r < p->s.ranks; r++)
        p->ranks[r] = (struct gn_rank_row){
            .rank = r, .host = text("host"), .elapsed_s = p->s.elapsed_s, .cores_quota = NAN};
    for (uint32_t c = 0; c < h->call_count; c++)
        add_call(p, h, c);
    for (int r = 0; r < p->s.ranks; r++) /* until all have come to MPI_Init, and to MPI_Finalize */
        p->ranks[r].mpi_s = p->s.elapsed_s - p->ranks[r].useful_s;
    for (size_t i = 0; i < p->s.row_count; i++)
        sum_up(p, &p->rows[i], p->ns[i]);
    for (size_t i = 0; i < p->s.row_count; i++) {
        p->rows[i].share = (double)p->rows[i].total_ns / (double)p->s.total_ns;
        p->rows[i].low = p->rows[i].high = p->rows[i].share;
    }
    p->s.rows = p->rows;
    p->s.ranks_told = p->ranks;
    p->s.rank_count = (size_t)p->s.ranks;
    p->host = (struct gn_host_row){.name = "host", .ranks = p->s.ranks, .cores = RANKS};
    p->s.hosts_told = &p->host;
    p->s.host_count = 1;
    p->s.efficiency = gn_efficiency_of(p->ranks, p->s.rank_count);
    return p;
}

/* ---- programs ---- */

static double between(uint64_t *random, double low, double high)
{
    return low + (high - low) * gn_mix_unit(gn_mix_next(random));
}

/* One rank is slower; or, once in four, none to speak of. */
static struct gn_synth_settings any_program(uint64_t *random)
{
    static const char *const patterns[] = {"ring",        "stencil1",   "stencil2",    "stencil3",
                                           "multigrid",   "wavefront",  "collectives", "nbc",
                                           "nonblocking", "persistent", "coupled"};
    struct gn_synth_settings s = gn_synth_defaults();
    s.pattern = patterns[gn_mix_next(random) % (sizeof patterns / sizeof *patterns)];
    s.locations = 2 + (uint32_t)(gn_mix_next(random) % 7);
    s.iterations = 20 + gn_mix_next(random) % 60;
    s.event_ns = 1;
    s.seed = gn_mix_next(random) % 1000000;
    s.compute_ns = pow(10, between(random, 4.5, 6));
    s.latency_ns = pow(10, between(random, 2.5, 4));
    /* what is mended is what "compute" takes: of multigrid that is not all */
    const bool is_even = gn_mix_next(random) % 2 || strcmp(s.pattern, "multigrid") == 0;
    s.imbalance = is_even ? 0 : between(random, 0, 0.2);
    s.fast_region = "compute";
    s.fast_rank = (uint32_t)(gn_mix_next(random) % s.locations);
    s.fast_percent = gn_mix_next(random) % 4 == 0 ? -1 : -between(random, 20, 200);
    s.measured = true;
    s.measure_error_ns = 1000;
    s.measure_period_s = 0.001;
    s.domains = gn_mix_next(random) % 2 ? 1 : s.locations;
    s.rate_ppm = 10;
    return s;
}

static int rank_of(const struct gn_history *h, uint32_t call)
{
    return (int)h->definitions->processes[h->definitions->locations[h->calls[call].location].process].rank;
}

/* Those that do the same as the slow rank. */
static bool is_in_its_half(const struct gn_synth_settings *s, uint32_t rank)
{
    const uint32_t half = s->locations / 2;
    return strcmp(s->pattern, "coupled") != 0 || (s->fast_rank < half) == (rank < half);
}

static bool has_peers(const struct gn_synth_settings *s)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < s->locations; r++)
        count += is_in_its_half(s, r);
    return count > 1;
}

/* Where nobody does the same, all others tell what it should take. */
static bool is_compared(const struct gn_synth_settings *s, int rank)
{
    return !has_peers(s) || is_in_its_half(s, (uint32_t)rank);
}

/* What its computation would have to be, of what it is, to be as the mean of the others'. */
static double like_others(const struct gn_synth_settings *s, const struct gn_history *h,
                          const struct gn_problem *of)
{
    double own = 0, others = 0, count = 0;
    for (uint32_t r = 0; r < s->locations; r++)
        count += !gn_problem_has_rank(of, (int)r) && is_compared(s, (int)r);
    for (uint32_t c = 0; c < h->call_count; c++)
        for (uint32_t i = h->calls[c].first_piece; i < h->calls[c].first_piece + h->calls[c].piece_count;
             i++) {
            const struct gn_computation *what = &h->activities[h->pieces[i].activity];
            const int rank = rank_of(h, c);
            if (what->region != GN_NONE && is_compared(s, rank) &&
                strcmp(gn_region_called(h->definitions, what->region), "compute") == 0)
                *(gn_problem_has_rank(of, rank) ? &own : &others) +=
                    (h->pieces[i].lo_ns + h->pieces[i].hi_ns) / 2;
        }
    return own > 0 && count > 0 ? others / count / own : 1;
}

/* How long each rank computes each time: [rank * most + time]; count: [RANKS] times. The caller frees it. */
static double *times_of(const struct gn_history *h, size_t most, size_t *count)
{
    double *times = calloc(RANKS * most + 1, sizeof *times);
    assert_non_null(times);
    for (uint32_t c = 0; c < h->call_count; c++)
        for (uint32_t i = h->calls[c].first_piece; i < h->calls[c].first_piece + h->calls[c].piece_count;
             i++) {
            const struct gn_computation *what = &h->activities[h->pieces[i].activity];
            const char *name = what->region == GN_NONE ? "" : gn_region_called(h->definitions, what->region);
            const int rank = rank_of(h, c);
            if (strcmp(name, "compute") == 0 || strcmp(name, "relax") == 0)
                times[(size_t)rank * most + count[rank]++] = (h->pieces[i].lo_ns + h->pieces[i].hi_ns) / 2;
        }
    return times;
}

/* Than the mean of the others each time, where it is longer: they have waited then. Of several, the one that
 * is so most. */
static double longer_each_time(const struct gn_history *h, const struct gn_problem *of)
{
    const int ranks = (int)h->definitions->process_count;
    const size_t most = h->piece_count;
    size_t count[RANKS] = {0};
    double *times = times_of(h, most, count), longest = 0;
    for (int r = 0; r < ranks; r++) {
        double longer = 0;
        for (size_t k = 0; k < count[r] && gn_problem_has_rank(of, r); k++) {
            double others = 0, other_count = 0;
            for (int o = 0; o < ranks; o++)
                if (!gn_problem_has_rank(of, o) && k < count[o]) {
                    others += times[(size_t)o * most + k];
                    other_count++;
                }
            longer += fmax(0, times[(size_t)r * most + k] - others / fmax(1, other_count));
        }
        longest = fmax(longest, longer);
    }
    free(times);
    return longest * 1e-9;
}

/* Than the mean of the others, in all that it computes; of several, the one that does so most. Where what it
 * does each time depends on the one before, longer at some times is lost, too. */
static double longer_than_others(const struct gn_synth_settings *s, const struct profile *p,
                                 const struct gn_history *h, const struct gn_problem *of)
{
    double most = 0, others = 0, count = 0;
    for (int r = 0; r < p->s.ranks; r++)
        if (!gn_problem_has_rank(of, r)) {
            others += p->ranks[r].useful_s;
            count++;
        } else {
            most = fmax(most, p->ranks[r].useful_s);
        }
    most -= others / fmax(1, count);
    return strcmp(s->pattern, "wavefront") == 0 ? fmax(most, longer_each_time(h, of)) : most;
}

/* Only by these is it said that a rank would be mended by being like the others. */
static bool is_of_longer_work(const struct gn_problem *p)
{
    return gn_problem_is_of_rank(p) &&
           (strcmp(p->pattern->name, "static imbalance") == 0 || strcmp(p->pattern->name, "slow rank") == 0);
}

struct counts {
    int programs, told, certain, possible, wrong, others_told, false_certain, slow, found;
    double widths[4096];
    int width_count;
    struct {
        int told, wrong, width_count;
        double widths[4096];
    } ways[2]; /* like the others, twice as fast */
};

/* What is gained when what the slow rank computes takes so many times as long as it does. */
static double gain_of(const struct gn_synth_settings *s, double factor)
{
    struct gn_synth_settings free = *s, mended;
    free.own_work_ns = 0; /* what is told is of the program that nobody measures */
    mended = free;
    mended.fast_percent = 100 * (1 - (1 - s->fast_percent / 100) * factor);
    return fmax(synth_length(&free) - synth_length(&mended), 0) * 1e-9;
}

static void check_way(const struct gn_synth_settings *s, const struct gn_problem *of, enum gn_problem_how how,
                      double gain_s, struct counts *n)
{
    const struct gn_problem_gain *told = gn_problem_gain_by(of, how);
    const int way = how == GN_PROBLEM_HALF;
    if (!told)
        return;
    const bool in = gain_s >= told->low_s - 1e-6 && gain_s <= told->high_s + 1e-6;
    n->ways[way].told++;
    n->ways[way].wrong += !in;
    if (gain_s > 0 && n->ways[way].width_count < 4096)
        n->ways[way].widths[n->ways[way].width_count++] = (told->high_s - told->low_s) / gain_s;
    if (!in || verbose)
        fprintf(
            stderr,
            "%s %s: %s -n %u --iterations %lu --seed %lu --domains %u rank %u %+.0f %%, imbalance %.2f: %s "
            "of rank %d: gain %.3f to %.3f ms, is %.3f\n",
            in ? "right" : "WRONG", way ? "half" : "like", s->pattern, s->locations,
            (unsigned long)s->iterations, (unsigned long)s->seed, s->domains, s->fast_rank, -s->fast_percent,
            s->imbalance, of->pattern->name, of->rank, told->low_s * 1e3, told->high_s * 1e3, gain_s * 1e3);
}

static void check_problem(const struct gn_synth_settings *s, const struct profile *p,
                          const struct gn_history *h, const struct gn_problem *of, struct counts *n)
{
    struct gn_synth_settings free = *s;
    free.own_work_ns = 0;
    if (!is_of_longer_work(of))
        return;
    if (of->late_count > 1 || of->rank != (int)s->fast_rank) { /* not the one that was made slow: by chance,
                                                                  or by what it has to do in this pattern */
        const double longer_s = longer_than_others(s, p, h, of);
        n->others_told++;
        if (of->sure == GN_PROBLEM_CERTAIN && longer_s < of->lost_low_s * 0.99) {
            n->false_certain++;
            fprintf(stderr,
                    "FALSE: %s -n %u --iterations %lu --seed %lu: certain of rank %d, %.3f ms at least; it "
                    "computes %.3f ms longer\n",
                    s->pattern, s->locations, (unsigned long)s->iterations, (unsigned long)s->seed, of->rank,
                    of->lost_low_s * 1e3, longer_s * 1e3);
        }
        return;
    }
    if (strcmp(s->pattern, "multigrid") ==
        0) /* ranks have different work to begin with: that is not mended then */
        return;
    /* what it takes longer by chance, and was not made to, is all that is like the others' then */
    const bool is_made = s->imbalance <= 0 && s->fast_percent < -10 && has_peers(s);
    const double factor = is_made ? 1 / (1 - s->fast_percent / 100) : like_others(s, h, of);
    const double now_s = synth_length(&free) * 1e-9, gain_s = gain_of(s, factor);
    const bool in = gain_s >= of->gain_low_s - 1e-6 && gain_s <= of->gain_high_s + 1e-6;
    /* who is late by chance is so at some steps, and what the others waited then is lost, though it is no
     * slower in all */
    const bool is_false = s->fast_percent < -10 && of->sure == GN_PROBLEM_CERTAIN &&
                          of->lost_low_s > gain_s * 1.02 + GN_PROBLEM_REPEATED_SHARE * now_s;
    check_way(s, of, GN_PROBLEM_LIKE, gain_s, n);
    /* who computes behind other calls than the others is longer here and less there, and only the former is
     * twice as fast; of two halves, that is all who have a partner, when one has none */
    const bool is_apart =
        strcmp(s->pattern, "wavefront") == 0 || (strcmp(s->pattern, "coupled") == 0 && s->locations % 2);
    if (!is_apart)
        check_way(s, of, GN_PROBLEM_HALF, gain_of(s, 0.5), n);
    n->told++;
    n->certain += of->sure == GN_PROBLEM_CERTAIN;
    n->possible += of->sure != GN_PROBLEM_CERTAIN;
    n->wrong += !in;
    n->false_certain += is_false;
    if (gain_s > 0 && n->width_count < 4096)
        n->widths[n->width_count++] = (of->gain_high_s - of->gain_low_s) / gain_s;
    if (!in || is_false || verbose)
        fprintf(stderr,
                "%s %s -n %u --iterations %lu --seed %lu --domains %u rank %u %+.0f %%, imbalance %.2f: %s "
                "of rank %d, %s: gain %.3f to %.3f ms, is %.3f of %.3f ms\n",
                in ? "right" : "WRONG", s->pattern, s->locations, (unsigned long)s->iterations,
                (unsigned long)s->seed, s->domains, s->fast_rank, -s->fast_percent, s->imbalance,
                of->pattern->name, of->rank, of->sure == GN_PROBLEM_CERTAIN ? "certain" : "possible",
                of->gain_low_s * 1e3, of->gain_high_s * 1e3, gain_s * 1e3, now_s * 1e3);
}

static void check_program(const struct gn_synth_settings *s, struct counts *n)
{
    struct synth_history of;
    struct gn_error err = {""};
    static struct gn_problems problems;
    synth_history_open(&of, s, s->own_work_ns > 0);
    struct profile *p = profile_of(&of.h);
    struct gn_seen_part part = {.history = of.h};
    struct gn_seen seen = {.definitions = of.h.definitions,
                           .parts = &part,
                           .count = 1,
                           .is_whole = true,
                           .measured_ns = p->s.elapsed_s * 1e9};
    assert_int_equal(gn_waits_find(&part.waits, &of.h, NULL, &err), 0);
    gn_seen_set_window(&part, seen.definitions, NULL);
    assert_int_equal(gn_seen_measure(&seen), 0);
    gn_seen_tell_totals(&seen, &p->s);
    gn_problems_find(&problems, &p->s);
    assert_int_equal(gn_problems_see(&problems, &p->s, &seen, &err), 0);
    gn_problems_rank(&problems, &p->s);
    n->programs++;
    const bool is_slow = s->fast_percent < -10;
    n->slow += is_slow;
    n->found += is_slow && problems.count > 0 && gn_problem_has_rank(&problems.items[0], (int)s->fast_rank);
    if (verbose && is_slow &&
        !(problems.count > 0 && gn_problem_has_rank(&problems.items[0], (int)s->fast_rank)))
        fprintf(stderr, "other %s -n %u --seed %lu rank %u %+.0f %%: first is %s of rank %d\n", s->pattern,
                s->locations, (unsigned long)s->seed, s->fast_rank, -s->fast_percent,
                problems.count ? problems.items[0].pattern->name : "balanced",
                problems.count ? problems.items[0].rank : -1);
    for (size_t i = 0; i < problems.count; i++)
        check_problem(s, p, &of.h, &problems.items[i], n);
    free(p);
    gn_waits_clear(&part.waits);
    seen.parts = NULL;
    seen.count = 0;
    gn_seen_clear(&seen);
    synth_history_close(&of);
}

static void check_programs(bool is_dear)
{
    struct counts n = {.programs = 0};
    uint64_t random = seed;
    for (int i = 0; i < cases; i++) {
        struct gn_synth_settings s = any_program(&random);
        s.own_work_ns = is_dear ? s.compute_ns * pow(10, between(&random, -2, 0)) : 0;
        check_program(&s, &n);
    }
    qsort(n.widths, (size_t)n.width_count, sizeof *n.widths, by_value);
    printf("%d programs, a slow rank in %d, told first in %d; of %d problems of it %d certain, %d possible; "
           "gain in its interval "
           "in all but %d; width %.1f %% of the gain in the median\n",
           n.programs, n.slow, n.found, n.told, n.certain, n.possible, n.wrong,
           n.width_count ? 100 * n.widths[n.width_count / 2] : 0);
    for (int way = 0; way < 2; way++) {
        qsort(n.ways[way].widths, (size_t)n.ways[way].width_count, sizeof *n.ways[way].widths, by_value);
        printf("with it %s: in its interval in all but %d of %d; width %.1f %% of the gain in the median\n",
               way ? "twice as fast" : "like the others", n.ways[way].wrong, n.ways[way].told,
               n.ways[way].width_count ? 100 * n.ways[way].widths[n.ways[way].width_count / 2] : 0);
    }
    assert_int_equal(n.false_certain, 0);
    assert_int_equal(n.wrong, 0);
    assert_int_equal(n.ways[0].wrong + n.ways[1].wrong, 0);
}

static void what_is_certain_is_true(void **state)
{
    (void)state;
    check_programs(false);
}

static void so_it_is_in_virtual_time(void **state)
{
    (void)state;
    check_programs(true);
}

int main(int argc, char **argv)
{
    int option;
    while ((option = getopt(argc, argv, "n:s:v")) != -1) {
        if (option == 'n')
            cases = atoi(optarg);
        else if (option == 's')
            seed = strtoull(optarg, NULL, 10);
        else
            verbose = true;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_certain_is_true),
                                       cmocka_unit_test(so_it_is_in_virtual_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
