/*
 * What lies behind waits against the truth: random programs in which ranks compute and send each other
 * messages, of which each moment is known. What rank 0 waits for is followed back through time, from rank to
 * rank.
 *
 * test_meanwhile [-n CASES] [-s SEED]
 */
#include "analyse/meanwhile.h"
#include "base/mix.h"
#include "made_history.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 4, STEPS = 60, SENDS = 16, RECEIVES = 16 /* regions, each from one line */ };
static const double call_ms = 0.25; /* what a call takes by itself */

static int cases = 300;
static uint64_t seed = 1;

/* What each rank did, one behind the other. */
struct stretch {
    double begin_ms, end_ms;
    uint32_t region; /* the call, or the one that it computes after */
    enum gn_doing doing;
    uint32_t giver; /* WAITS: whose, until the end */
};
struct program {
    struct made *m;
    struct stretch did[RANKS][4 * STEPS + 4];
    int count[RANKS];
    double now_ms[RANKS];
    uint32_t last[RANKS]; /* region of the call before; GN_NONE */
    uint32_t regions[SENDS + RECEIVES];
};

static void put(struct program *p, uint32_t rank, double ms, enum gn_doing doing, uint32_t region,
                uint32_t giver)
{
    if (ms <= 0)
        return;
    p->did[rank][p->count[rank]++] =
        (struct stretch){p->now_ms[rank], p->now_ms[rank] + ms, region, doing, giver};
    p->now_ms[rank] += ms;
}

static void compute(struct program *p, uint32_t rank, double ms)
{
    put(p, rank, ms, GN_DOING_COMPUTES, p->last[rank], GN_NONE);
}

static void send_message(struct program *p, uint64_t *random, uint32_t from, uint32_t to)
{
    const uint32_t sends = p->regions[gn_mix_next(random) % SENDS],
                   receives = p->regions[SENDS + gn_mix_next(random) % RECEIVES];
    const double given_ms = p->now_ms[from], enter_ms = p->now_ms[to];
    const uint32_t sent = made_call(p->m, from, given_ms, given_ms + call_ms, 0);
    put(p, from, call_ms, GN_DOING_CALLS, sends, GN_NONE);
    put(p, to, given_ms - enter_ms, GN_DOING_WAITS, receives, from);
    put(p, to, call_ms, GN_DOING_CALLS, receives, GN_NONE);
    const uint32_t received = made_call(p->m, to, enter_ms, p->now_ms[to], 0);
    p->m->calls[sent].region = sends;
    p->m->calls[received].region = receives;
    made_takes_message(p->m, received, sent);
    p->last[from] = sends;
    p->last[to] = receives;
}

static void run(struct program *p, uint64_t *random)
{
    for (int i = 0; i < SENDS + RECEIVES; i++)
        p->regions[i] = made_region(p->m, i < SENDS ? "MPI_Send" : "MPI_Recv", GN_ROLE_MPI);
    for (uint32_t r = 0; r < RANKS; r++)
        p->last[r] = GN_NONE;
    for (int i = 0; i < STEPS; i++) {
        const uint32_t from = (uint32_t)(gn_mix_next(random) % RANKS),
                       to = (from + 1 + (uint32_t)(gn_mix_next(random) % (RANKS - 1))) % RANKS;
        compute(p, from, 0.5 + 8 * gn_mix_unit(gn_mix_next(random)));
        compute(p, to, 0.5 + 2 * gn_mix_unit(gn_mix_next(random)));
        send_message(p, random, from, to);
    }
}

/* ---- the truth ---- */

struct truth {
    double ms[RANKS][GN_DOING_OTHER][SENDS + RECEIVES + 1], all_ms;
};

/* Of the rank, the time from `from_ms` to `to_ms`, and of its waits in that what lies behind them. */
static void follow(const struct program *p, struct truth *t, uint32_t rank, double from_ms, double to_ms)
{
    for (int i = 0; i < p->count[rank]; i++) {
        const struct stretch *s = &p->did[rank][i];
        const double begin_ms = fmax(from_ms, s->begin_ms), end_ms = fmin(to_ms, s->end_ms);
        if (end_ms <= begin_ms)
            continue;
        if (s->doing == GN_DOING_WAITS) /* the message came at the end of it */
            follow(p, t, s->giver, s->end_ms - (end_ms - begin_ms), s->end_ms);
        else if (s->region != GN_NONE)
            t->ms[rank][s->doing][s->region] += end_ms - begin_ms;
    }
}

/* Of what ranks wait for in calls of the region, for the process. */
static void true_roots(const struct program *p, uint32_t region, uint32_t process, struct truth *t)
{
    *t = (struct truth){.all_ms = 0};
    for (uint32_t r = 0; r < RANKS; r++)
        for (int i = 0; i < p->count[r]; i++) {
            const struct stretch *s = &p->did[r][i];
            if (s->doing != GN_DOING_WAITS || s->region != region || s->giver != process)
                continue;
            t->all_ms += s->end_ms - s->begin_ms;
            follow(p, t, process, s->begin_ms, s->end_ms);
        }
}

static double largest(const struct truth *t)
{
    double ms = 0;
    for (size_t i = 0; i < sizeof t->ms / sizeof(double); i++)
        ms = fmax(ms, (&t->ms[0][0][0])[i]);
    return ms;
}

static void compare(const struct gn_seen *seen, const struct gn_meanwhile_parts *told, struct truth *t)
{
    static const double nearly = 1e-4;
    double least = 1, low = 0, high = 0;
    for (size_t i = 0; i < told->count; i++) {
        const struct gn_meanwhile_part *part = &told->items[i];
        low += part->low;
        high += part->high;
        if (part->doing == GN_DOING_OTHER)
            continue;
        double *ms = &t->ms[part->process][part->doing][seen->sites[part->site].region];
        if (!(*ms / t->all_ms >= part->low - nearly && *ms / t->all_ms <= part->high + nearly))
            fail_msg("rank %u does %d in %u for %.4f to %.4f, is %.4f", part->process, (int)part->doing,
                     seen->sites[part->site].region, part->low, part->high, *ms / t->all_ms);
        least = part->high;
        *ms = 0;
    }
    assert_true(low <= 1 + nearly && high >= 1 - nearly);
    assert_true(largest(t) / t->all_ms <= fmax(least, 0.02) + nearly); /* of those that are not told */
}

static int look_behind(const struct program *p, const struct gn_seen *seen)
{
    int looked = 0;
    for (int i = SENDS; i < SENDS + RECEIVES; i++)
        for (uint32_t process = 0; process < RANKS; process++) {
            struct gn_error err = {""};
            struct gn_meanwhile m;
            struct truth t;
            true_roots(p, p->regions[i], process, &t);
            assert_int_equal(gn_meanwhile_find(&m, seen, p->regions[i], GN_NONE, process, &err), 0);
            if (m.roots.count > 0)
                compare(seen, &m.roots, &t);
            else /* the program began, or nothing was waited for */
                assert_true(largest(&t) <= 0.02 * t.all_ms);
            looked += m.roots.count > 0;
        }
    return looked;
}

static void roots_are_found(void **state)
{
    (void)state;
    uint64_t random = seed;
    int looked = 0;
    for (int i = 0; i < cases; i++) {
        static struct program p;
        struct gn_error err = {""};
        p = (struct program){.m = made_new(RANKS, NULL)};
        run(&p, &random);
        double end_ms = 0;
        for (uint32_t r = 0; r < RANKS; r++)
            end_ms = fmax(end_ms, p.now_ms[r]);
        struct gn_seen_part part = {.history = *made_end(p.m, end_ms + 1)};
        struct gn_seen seen = {.definitions = p.m->d,
                               .parts = &part,
                               .count = 1,
                               .is_whole = true,
                               .measured_ns = (end_ms + 1) * 1e6};
        assert_int_equal(gn_waits_find(&part.waits, &part.history, NULL, &err), 0);
        gn_seen_set_window(&part, seen.definitions, NULL);
        assert_int_equal(gn_seen_measure(&seen), 0);
        looked += look_behind(&p, &seen);
        gn_waits_clear(&part.waits);
        seen.parts = NULL;
        seen.count = 0;
        gn_seen_clear(&seen);
        made_free(p.m);
    }
    printf("%d waits in %d programs\n", looked, cases);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(roots_are_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
