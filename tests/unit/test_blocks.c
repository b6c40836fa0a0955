/*
 * Pipelines with smaller blocks against the truth: random ones, in which each rank computes something else at
 * each step, are run with blocks as they are, for the history, and with so many in place of each.
 *
 * test_blocks [-n CASES] [-s SEED]
 */
#include "analyse/blocks.h"
#include "base/mix.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 6, STEPS = 4, MOST_EVENTS = 1024, MOST_BLOCKS = 1024 };
enum { RECV, SEND, BARRIER, PROBE, REGIONS };
static const char *const names[REGIONS] = {"MPI_Recv", "MPI_Send", "MPI_Barrier", "MPI_Iprobe"};

static int cases = 500;
static uint64_t seed = 1;

struct pipe {
    uint32_t ranks;
    double ns[STEPS][RANKS]; /* of each step, at each rank */
    double call_ns;          /* what a call takes by itself */
    unsigned blocks;         /* as it is */
    double probes_at;        /* after such a part of what is computed; 0: not */
};

struct events {
    struct gn_definitions *d;
    struct gn_event events[RANKS][MOST_EVENTS];
    uint32_t count[RANKS], pulled[RANKS];
};

static struct gn_event *emit(struct events *e, uint32_t rank, enum gn_event_kind kind, double at_ns)
{
    struct gn_event *event = &e->events[rank][e->count[rank]++];
    *event = gn_event_bare(kind, rank, (uint64_t)at_ns);
    event->comm = 0;
    return event;
}

/* e NULL: only how long it takes is asked for. */
static void call(struct events *e, uint32_t rank, uint32_t region, double enter_ns, double leave_ns)
{
    if (!e)
        return;
    emit(e, rank, GN_EVENT_ENTER, enter_ns)->region = region;
    if (region == BARRIER) {
        emit(e, rank, GN_EVENT_COLLECTIVE_BEGIN, enter_ns)->op = GN_COLLECTIVE_BARRIER;
        emit(e, rank, GN_EVENT_COLLECTIVE_END, leave_ns)->op = GN_COLLECTIVE_BARRIER;
    } else if (region != PROBE) {
        struct gn_event *message = region == RECV ? emit(e, rank, GN_EVENT_MPI_RECV, leave_ns)
                                                  : emit(e, rank, GN_EVENT_MPI_SEND, enter_ns);
        message->peer = region == RECV ? rank - 1 : rank + 1;
        message->tag = 0;
    }
    emit(e, rank, GN_EVENT_LEAVE, leave_ns)->region = region;
}

/* One step from so many ns on; when all are through. */
static double run_step(const struct pipe *p, const double *ns, double from_ns, unsigned blocks,
                       struct events *e)
{
    double at[RANKS], given[RANKS][MOST_BLOCKS], last = 0;
    for (uint32_t r = 0; r < p->ranks; r++) {
        at[r] = from_ns;
        for (unsigned b = 0; b < blocks; b++) {
            const double enter_ns = at[r];
            if (r > 0) {
                at[r] = fmax(at[r], given[r - 1][b]) + p->call_ns;
                call(e, r, RECV, enter_ns, at[r]);
            }
            if (p->probes_at > 0) {
                at[r] += ns[r] / blocks * p->probes_at;
                call(e, r, PROBE, at[r], at[r] + p->call_ns);
                at[r] += p->call_ns;
            }
            at[r] += ns[r] / blocks * (1 - p->probes_at);
            if (r + 1 < p->ranks) {
                given[r][b] = at[r];
                at[r] += p->call_ns;
                call(e, r, SEND, given[r][b], at[r]);
            }
        }
        last = fmax(last, at[r]);
    }
    for (uint32_t r = 0; r < p->ranks; r++)
        call(e, r, BARRIER, at[r], last + p->call_ns);
    return last + p->call_ns;
}

static double run(const struct pipe *p, unsigned blocks, struct events *e)
{
    double ns = 0;
    for (uint32_t r = 0; e && r < p->ranks; r++)
        emit(e, r, GN_EVENT_PROGRAM_BEGIN, 0);
    for (int s = 0; s < STEPS; s++)
        ns = run_step(p, p->ns[s], ns, blocks, e);
    for (uint32_t r = 0; e && r < p->ranks; r++)
        emit(e, r, GN_EVENT_PROGRAM_END, ns);
    return ns;
}

static struct gn_definitions *define(uint32_t ranks)
{
    uint32_t members[RANKS];
    struct gn_definitions *d = gn_definitions_new();
    assert_non_null(d);
    d->ticks_per_second = 1000000000;
    for (uint32_t i = 0; i < REGIONS; i++)
        gn_define_region(d,
                         &(struct gn_region_def){.name = gn_define_string(d, names[i]), .role = GN_ROLE_MPI});
    for (uint32_t r = 0; r < ranks; r++) {
        members[r] = gn_define_process(d, &(struct gn_process){.main_location = GN_NONE, .rank = (int32_t)r});
        gn_define_location(d, &(struct gn_location_def){.process = r, .events = UINT64_MAX});
    }
    gn_define_comm(d, &(struct gn_comm_def){.parent = GN_NONE, .member_count = ranks, .members = members});
    return d;
}

static int64_t pull(void *self, uint32_t location, const struct gn_event **events, struct gn_error *err)
{
    struct events *e = self;
    (void)err;
    if (e->pulled[location] == e->count[location])
        return 0;
    *events = &e->events[location][e->pulled[location]++];
    return 1;
}

/* What is found of all messages in a run with blocks as they are, for 2, 4, … blocks in place of each. */
static void find(const struct pipe *p, struct gn_span *told)
{
    static struct events e;
    struct gn_error err = {""};
    struct gn_bounds *bounds = gn_bounds_reference(1e9, 1, 0, &err);
    const struct gn_bounds *of[RANKS] = {bounds, bounds, bounds, bounds, bounds, bounds};
    e = (struct events){.d = define(p->ranks)};
    run(p, p->blocks, &e);
    struct gn_source source = {.self = &e, .definitions = e.d, .pull = pull};
    struct gn_seen_part part = {.history = {0}};
    if (gn_history_read(&part.history, &source, &(struct gn_history_settings){.bounds = of}, &err) != 0)
        fail_msg("%s", err.text);
    struct gn_seen seen = {.definitions = e.d,
                           .parts = &part,
                           .count = 1,
                           .is_whole = true,
                           .measured_ns = (double)part.history.length.hi_ns};
    assert_int_equal(gn_waits_find(&part.waits, &part.history, NULL, &err), 0);
    gn_seen_set_window(&part, seen.definitions, NULL);
    assert_int_equal(gn_seen_measure(&seen), 0);
    bool receives[REGIONS] = {false};
    assert_true(seen.site_count <= REGIONS);
    for (size_t i = 0; i < seen.site_count; i++)
        receives[i] = seen.sites[i].region == RECV;
    assert_int_equal(gn_blocks_find(told, &seen, 0, receives, &err), 0);
    gn_waits_clear(&part.waits);
    gn_history_clear(&part.history);
    seen.parts = NULL;
    seen.count = 0;
    gn_seen_clear(&seen);
    gn_bounds_free(bounds);
    gn_definitions_free(e.d);
}

static struct pipe any_pipe(uint64_t *random)
{
    struct pipe p = {.ranks = 2 + (uint32_t)(gn_mix_next(random) % (RANKS - 1)),
                     .call_ns = 1000 * (double)(1 + gn_mix_next(random) % 3),
                     .blocks = 1U << gn_mix_next(random) % 4,
                     .probes_at = gn_mix_next(random) % 3 == 0 ? gn_mix_unit(gn_mix_next(random)) : 0};
    const bool is_even = gn_mix_next(random) % 4 == 0;
    for (int s = 0; s < STEPS; s++)
        for (uint32_t r = 0; r < p.ranks; r++)
            p.ns[s][r] = 1e6 * (is_even ? 8 : 1 + 9 * gn_mix_unit(gn_mix_next(random)));
    return p;
}

static void what_smaller_blocks_gain_is_told(void **state)
{
    (void)state;
    uint64_t random = seed;
    double width = 0, gains = 0;
    for (int i = 0; i < cases; i++) {
        const struct pipe p = any_pipe(&random);
        struct gn_span told[GN_BLOCKS_TIMES], *of = told;
        find(&p, told);
        for (unsigned blocks = 2; blocks <= 1U << GN_BLOCKS_TIMES; blocks *= 2, of++) {
            const double gain_ns = run(&p, p.blocks, NULL) - run(&p, p.blocks * blocks, NULL),
                         rounding_ns = 10 * STEPS;
            if (!(gain_ns >= of->lo_ns - rounding_ns && gain_ns <= of->hi_ns + rounding_ns))
                fail_msg("case %d, %u ranks, %u blocks of %u, probes %.2f: %.6f to %.6f ms, is %.6f", i,
                         p.ranks, blocks, p.blocks, p.probes_at, of->lo_ns * 1e-6, of->hi_ns * 1e-6,
                         gain_ns * 1e-6);
            width += of->hi_ns - of->lo_ns;
            gains += gain_ns;
        }
    }
    printf("intervals are %.2f %% of what is gained, in the mean\n", 100 * width / gains);
}

int main(int argc, char **argv)
{
    int option;
    while ((option = getopt(argc, argv, "n:s:")) != -1) {
        if (option == 'n')
            cases = atoi(optarg);
        else
            seed = strtoull(optarg, NULL, 10);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_smaller_blocks_gain_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
