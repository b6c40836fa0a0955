/* clock_facts: what messages and collectives prove about clocks. What clocks would be told is looked at here,
 * so gn_clocks_message is this file's own. */
#include "causality/clock_facts.h"
#include "synth/skew.h"
#include "synth/synth.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 64, DOMAINS = 4 };

struct told {
    uint32_t from, to;
    uint64_t sent_ticks, received_ticks;
};

/* What was told; and, of a simulation, the clocks. */
static struct {
    struct told all[MOST];
    uint64_t count, false_ones;
    const struct gn_synth_settings *settings;
} told;

/* The first instant, in true ns, at which a clock shows at least so much. */
static double shows(uint32_t domain, uint64_t ticks)
{
    const struct gn_skew skew = gn_skew_of(told.settings, domain);
    double below = -1e12, above = 1e13;
    for (int i = 0; i < 100; i++) {
        double middle = (below + above) / 2;
        if (gn_skew_ticks(&skew, middle) >= ticks)
            above = middle;
        else
            below = middle;
    }
    return above;
}

int gn_clocks_message(struct gn_clocks *clocks, uint32_t from, uint64_t sent_ticks, uint32_t to,
                      uint64_t received_ticks)
{
    assert_null(clocks);
    assert_int_not_equal(from, to);
    if (told.count < MOST)
        told.all[told.count] = (struct told){from, to, sent_ticks, received_ticks};
    told.count++;
    if (told.settings)
        told.false_ones += shows(from, sent_ticks) > shows(to, received_ticks + 1);
    return 0;
}

/* ---- simulated programs ---- */

static struct gn_clock_facts_stats simulate(const struct gn_synth_settings *settings)
{
    struct gn_clock_facts_stats stats;
    struct gn_source source;
    struct gn_error err = {""};
    uint32_t domain_of[256];
    memset(&told, 0, sizeof told);
    told.settings = settings;
    assert_int_equal(gn_synth_open(&source, settings, &err), 0);
    for (uint32_t i = 0; i < settings->locations; i++)
        domain_of[i] = i * settings->domains / settings->locations;
    assert_int_equal(gn_clock_facts(&source, domain_of, NULL, &stats, &err), 0);
    source.close(source.self);
    return stats;
}

static struct gn_synth_settings skewed(const char *pattern, enum gn_wander wander)
{
    struct gn_synth_settings s = gn_synth_defaults();
    s.pattern = pattern;
    s.locations = 12;
    s.events = 20000;
    s.domains = DOMAINS;
    s.offset_ns = 1e9;
    s.rate_ppm = 50;
    s.wander = wander;
    s.wander_ppm = 2;
    s.wander_period_s = 0.01;
    return s;
}

static void all_that_is_told_is_true(void **state)
{
    (void)state;
    for (const struct gn_synth_pattern *p = gn_synth_patterns(); p->name; p++) {
        for (enum gn_wander wander = GN_WANDER_NONE; wander <= GN_WANDER_STEP; wander++) {
            struct gn_synth_settings settings = skewed(p->name, wander);
            struct gn_clock_facts_stats stats = simulate(&settings);
            if (told.false_ones || !told.count)
                fail_msg("%s: %llu of %llu messages are not true", p->name,
                         (unsigned long long)told.false_ones, (unsigned long long)told.count);
            assert_int_equal(stats.uncertain, 0);
        }
    }
}

/* Where events are missing, counting is over: nothing is told on the ground of a count that is wrong. */
static void what_is_lost_is_not_counted_on(void **state)
{
    (void)state;
    for (const struct gn_synth_pattern *p = gn_synth_patterns(); p->name; p++) {
        struct gn_synth_settings settings = skewed(p->name, GN_WANDER_SINE);
        settings.lost = 0.01;
        struct gn_clock_facts_stats stats = simulate(&settings);
        (void)stats;
        if (told.false_ones)
            fail_msg("%s: %llu of %llu messages are not true", p->name, (unsigned long long)told.false_ones,
                     (unsigned long long)told.count);
    }
}

static void unmatched_sends_are_no_matter(void **state)
{
    (void)state;
    for (const struct gn_synth_pattern *p = gn_synth_patterns(); p->name; p++) {
        struct gn_synth_settings settings = skewed(p->name, GN_WANDER_NONE);
        settings.unmatched = 0.1;
        simulate(&settings);
        assert_int_equal(told.false_ones, 0);
    }
}

/* ---- events made by hand: two or more processes, each with a clock of its own ---- */

struct script {
    struct gn_definitions *d;
    struct gn_event events[DOMAINS][MOST];
    int64_t count[DOMAINS];
    uint64_t ticks[DOMAINS];
    uint32_t mpi, world;
};

static int64_t pull_script(void *self, uint32_t location, const struct gn_event **events,
                           struct gn_error *err)
{
    struct script *s = self;
    int64_t count = s->count[location];
    (void)err;
    *events = s->events[location];
    s->count[location] = 0;
    return count;
}

static void open_script(struct script *s, uint32_t processes)
{
    uint32_t members[DOMAINS];
    memset(s, 0, sizeof *s);
    s->d = gn_definitions_new();
    s->mpi = gn_define_region(s->d, &(struct gn_region_def){.role = GN_ROLE_MPI});
    for (uint32_t p = 0; p < processes; p++) {
        gn_define_process(s->d, &(struct gn_process){0, GN_NONE, GN_NONE, (int32_t)p});
        gn_define_location(s->d, &(struct gn_location_def){.process = p, .domain = p});
        members[p] = p;
        s->ticks[p] = 1000 * (p + 1);
    }
    s->world = gn_define_comm(s->d, &(struct gn_comm_def){.member_count = processes, .members = members});
}

/* The next event of a process, 10 ticks after the one before. */
static struct gn_event *add(struct script *s, uint32_t process, enum gn_event_kind kind)
{
    struct gn_event *e = &s->events[process][s->count[process]++];
    *e = gn_event_bare(kind, process, s->ticks[process] += 10);
    if (kind == GN_EVENT_ENTER || kind == GN_EVENT_LEAVE)
        e->region = s->mpi;
    else
        e->comm = s->world;
    return e;
}

static void message(struct script *s, uint32_t process, enum gn_event_kind kind, uint32_t peer)
{
    struct gn_event *e = add(s, process, kind);
    e->peer = peer;
    e->tag = 1;
    e->bytes_sent = e->bytes_received = 8;
}

static void collective(struct script *s, uint32_t process, uint8_t op, uint32_t root, uint64_t sent,
                       uint64_t received)
{
    const enum gn_event_kind kinds[] = {GN_EVENT_ENTER, GN_EVENT_COLLECTIVE_BEGIN, GN_EVENT_COLLECTIVE_END,
                                        GN_EVENT_LEAVE};
    for (int i = 0; i < 4; i++) {
        struct gn_event *e = add(s, process, kinds[i]);
        if (i == 0 || i == 3)
            continue;
        e->op = op;
        e->peer = root;
        e->bytes_sent = sent;
        e->bytes_received = received;
    }
}

static struct gn_clock_facts_stats run_script(struct script *s)
{
    const uint32_t domain_of[DOMAINS] = {0, 1, 2, 3};
    struct gn_source source = {s, s->d, pull_script, NULL};
    struct gn_clock_facts_stats stats;
    struct gn_error err = {""};
    memset(&told, 0, sizeof told);
    assert_int_equal(gn_clock_facts(&source, domain_of, NULL, &stats, &err), 0);
    gn_definitions_free(s->d);
    return stats;
}

static void assert_told(uint64_t index, uint32_t from, uint64_t sent_ticks, uint32_t to, uint64_t received)
{
    assert_true(index < told.count);
    assert_int_equal(told.all[index].from, from);
    assert_int_equal(told.all[index].sent_ticks, sent_ticks);
    assert_int_equal(told.all[index].to, to);
    assert_int_equal(told.all[index].received_ticks, received);
}

/* A tool may stamp a send after the call, and a receive before it: the call's enter and leave are certain. */
static void calls_bracket_their_messages(void **state)
{
    (void)state;
    struct script s;
    open_script(&s, 2);
    add(&s, 0, GN_EVENT_ENTER);           /* 1010 */
    message(&s, 0, GN_EVENT_MPI_SEND, 1); /* 1020 */
    add(&s, 0, GN_EVENT_LEAVE);
    add(&s, 1, GN_EVENT_ENTER);
    add(&s, 1, GN_EVENT_ENTER);           /* a call within a call */
    message(&s, 1, GN_EVENT_MPI_RECV, 0); /* 2030 */
    add(&s, 1, GN_EVENT_LEAVE);
    add(&s, 1, GN_EVENT_LEAVE); /* 2050 */
    struct gn_clock_facts_stats stats = run_script(&s);
    assert_int_equal(stats.messages, 1);
    assert_told(0, 0, 1010, 1, 2050);
}

static void without_calls_the_records_times_count(void **state)
{
    (void)state;
    struct script s;
    open_script(&s, 2);
    message(&s, 0, GN_EVENT_MPI_SEND, 1); /* 1010 */
    message(&s, 1, GN_EVENT_MPI_RECV, 0); /* 2010 */
    run_script(&s);
    assert_told(0, 0, 1010, 1, 2010);
}

/* After a pause sends are missing: the first receive of the second send would be told the third's time. */
static void nothing_sent_after_a_pause_is_used(void **state)
{
    (void)state;
    struct script s;
    open_script(&s, 2);
    message(&s, 0, GN_EVENT_MPI_SEND, 1);
    add(&s, 0, GN_EVENT_MEASUREMENT)->request = 0;
    add(&s, 0, GN_EVENT_MEASUREMENT)->request = 1;
    message(&s, 0, GN_EVENT_MPI_SEND, 1);
    message(&s, 1, GN_EVENT_MPI_RECV, 0);
    message(&s, 1, GN_EVENT_MPI_RECV, 0);
    struct gn_clock_facts_stats stats = run_script(&s);
    assert_int_equal(told.count, 1);
    assert_told(0, 0, 1010, 1, 2010);
    assert_int_equal(stats.uncertain, 1);
}

/* Of three processes, the latest enter and the earliest leave: enters at 1010, 2010, 3010, leaves 30 later.
 */
static void a_barrier_puts_each_enter_before_each_leave(void **state)
{
    (void)state;
    struct script s;
    open_script(&s, 2);
    for (uint32_t p = 0; p < 2; p++)
        collective(&s, p, GN_COLLECTIVE_BARRIER, GN_NONE, 0, 0);
    struct gn_clock_facts_stats stats = run_script(&s);
    assert_int_equal(stats.collectives, 1);
    assert_int_equal(told.count, 2);
    assert_told(0, 0, 1010, 1, 2040);
    assert_told(1, 1, 2010, 0, 1040);
}

static void a_broadcast_goes_one_way(void **state)
{
    (void)state;
    struct script s;
    open_script(&s, 3);
    for (uint32_t p = 0; p < 3; p++)
        collective(&s, p, GN_COLLECTIVE_BCAST, 1, p == 1 ? 8 : 0, p == 1 ? 0 : 8);
    run_script(&s);
    assert_int_equal(told.count, 2);
    assert_told(0, 1, 2010, 0, 1040);
    assert_told(1, 1, 2010, 2, 3040);
}

static void a_reduction_goes_to_its_root(void **state)
{
    (void)state;
    struct script s;
    open_script(&s, 3);
    for (uint32_t p = 0; p < 3; p++)
        collective(&s, p, GN_COLLECTIVE_REDUCE, 1, 8, p == 1 ? 8 : 0);
    run_script(&s);
    assert_int_equal(told.count, 2);
    assert_told(0, 0, 1010, 1, 2040);
    assert_told(1, 2, 3010, 1, 2040);
}

static void a_scan_goes_up_the_ranks(void **state)
{
    (void)state;
    struct script s;
    open_script(&s, 3);
    for (uint32_t p = 0; p < 3; p++)
        collective(&s, p, GN_COLLECTIVE_SCAN, GN_NONE, 8, 8);
    run_script(&s);
    for (uint64_t i = 0; i < told.count; i++)
        assert_true(told.all[i].from < told.all[i].to);
    assert_int_equal(told.count, 4); /* 0 → 1, 0 → 2; 0 → 2, 1 → 2 */
}

static void what_moves_no_data_proves_nothing(void **state)
{
    (void)state;
    const uint8_t ops[] = {GN_COLLECTIVE_BCAST, GN_COLLECTIVE_ALLREDUCE, GN_COLLECTIVE_GATHER};
    for (size_t i = 0; i < sizeof ops; i++) {
        struct script s;
        open_script(&s, 3);
        for (uint32_t p = 0; p < 3; p++)
            collective(&s, p, ops[i], ops[i] == GN_COLLECTIVE_ALLREDUCE ? GN_NONE : 0, 0, 0);
        run_script(&s);
        assert_int_equal(told.count, 0);
    }
}

static void who_sent_to_whom_is_not_known_of_alltoallv(void **state)
{
    (void)state;
    struct script s;
    open_script(&s, 3);
    for (uint32_t p = 0; p < 3; p++)
        collective(&s, p, GN_COLLECTIVE_ALLTOALLV, GN_NONE, 8, 8);
    run_script(&s);
    assert_int_equal(told.count, 0);
}

/* A trace that lacks a collective of one member: the others' next one is taken for it. */
static void members_that_disagree_are_not_believed(void **state)
{
    (void)state;
    struct script s;
    open_script(&s, 2);
    collective(&s, 0, GN_COLLECTIVE_BARRIER, GN_NONE, 0, 0);
    collective(&s, 0, GN_COLLECTIVE_ALLREDUCE, GN_NONE, 8, 8);
    collective(&s, 1, GN_COLLECTIVE_ALLREDUCE, GN_NONE, 8, 8);
    collective(&s, 1, GN_COLLECTIVE_BARRIER, GN_NONE, 0, 0);
    struct gn_clock_facts_stats stats = run_script(&s);
    assert_int_equal(told.count, 0);
    assert_int_equal(stats.uncertain, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_is_told_is_true),
        cmocka_unit_test(what_is_lost_is_not_counted_on),
        cmocka_unit_test(unmatched_sends_are_no_matter),
        cmocka_unit_test(calls_bracket_their_messages),
        cmocka_unit_test(without_calls_the_records_times_count),
        cmocka_unit_test(nothing_sent_after_a_pause_is_used),
        cmocka_unit_test(a_barrier_puts_each_enter_before_each_leave),
        cmocka_unit_test(a_broadcast_goes_one_way),
        cmocka_unit_test(a_reduction_goes_to_its_root),
        cmocka_unit_test(a_scan_goes_up_the_ranks),
        cmocka_unit_test(what_moves_no_data_proves_nothing),
        cmocka_unit_test(who_sent_to_whom_is_not_known_of_alltoallv),
        cmocka_unit_test(members_that_disagree_are_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
