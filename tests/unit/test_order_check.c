/* order_check and order_reference: right about sequences that are in order, and about ones that are not. */
#include "order_check.h"
#include "order_reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { EXECUTIONS = 300, MAX_SEQUENCE = MAX_LOCATIONS * MAX_EVENTS };

/* An execution whose edges are all known, and a sequence of its events. */
struct sample {
    struct execution *x;
    struct reference r;
    struct where sequence[MAX_SEQUENCE + 1];
    size_t length;
};

static bool is_out(const size_t *out, struct where where)
{
    return out[where.location] > where.index;
}

static bool free_to_go(const struct sample *s, const size_t *out, uint32_t l, struct where ignored,
                       struct where ignoring)
{
    struct where where[MAX_PROCESSES];
    bool released;
    int count = reference_predecessors(&s->r, l, out[l], where, &released);
    for (int i = 0; i < count; i++) {
        bool skip = ignoring.location == l && ignoring.index == out[l] &&
                    where[i].location == ignored.location && where[i].index == ignored.index;
        if (!skip && !is_out(out, where[i]))
            return false;
    }
    return true;
}

/* Puts the events into a random causal order, in which the edge ignored → ignoring is turned around. False:
 * it cannot be, because it follows from others. */
static bool arrange(struct sample *s, uint64_t *seed, struct where ignored, struct where ignoring)
{
    size_t out[MAX_LOCATIONS] = {0};
    s->length = 0;
    for (unsigned idle = 0; idle < 1000; idle++) {
        uint32_t l = dice_below(seed, s->x->location_count);
        bool held = ignored.location == l && ignored.index == out[l] && !is_out(out, ignoring);
        if (out[l] >= s->x->counts[l] || held || !free_to_go(s, out, l, ignored, ignoring))
            continue;
        s->sequence[s->length++] = (struct where){l, (uint32_t)out[l]++};
        idle = 0;
    }
    for (uint32_t l = 0; l < s->x->location_count; l++)
        if (out[l] < s->x->counts[l])
            return false;
    return true;
}

static const struct where nowhere = {GN_NONE, 0};

static void sample_open(struct sample *s, uint64_t seed)
{
    struct execution_settings settings = {.seed = seed,
                                          .steps = 60,
                                          .unknown = 0.2,
                                          .wildcards = 0.3,
                                          .cancelled = 0.2,
                                          .collectives = true,
                                          .windows = true};
    s->x = execution_new(&settings);
    assert_non_null(s->x);
    assert_int_equal(reference_open(&s->r, s->x), 0);
    for (uint32_t l = 0; l < s->x->location_count; l++) {
        s->r.pushed[l] = s->x->counts[l];
        s->r.ended[l] = true;
    }
    reference_compute(&s->r);
}

static void sample_close(struct sample *s)
{
    reference_close(&s->r);
    execution_free(s->x);
}

static const struct gn_event *at(const struct sample *s, struct where where)
{
    return &s->x->events[where.location][where.index];
}

static struct order_verdict judge(const struct sample *s, bool *good)
{
    struct order_check *check = order_check_new(s->x->definitions);
    struct order_verdict verdict;
    for (uint32_t l = 0; l < s->x->location_count; l++)
        for (size_t i = 0; i < s->x->counts[l]; i++)
            order_check_pushed(check, &s->x->events[l][i]);
    for (size_t i = 0; i < s->length; i++)
        order_check_reported(check, at(s, s->sequence[i]), false);
    *good = order_check_finish(check, &verdict);
    order_check_free(check);
    return verdict;
}

/* ---- what is in order ---- */

static void the_reference_matches_as_the_simulation_did(void **state)
{
    (void)state;
    static struct sample s;
    for (uint64_t seed = 1; seed <= EXECUTIONS; seed++) {
        sample_open(&s, seed);
        for (uint32_t l = 0; l < s.x->location_count; l++)
            for (size_t i = 0; i < s.x->counts[l]; i++) {
                struct where where[MAX_PROCESSES], truth = s.x->sends[l][i];
                bool released;
                int count = reference_predecessors(&s.r, l, i, where, &released);
                assert_false(released);
                if (truth.location == GN_NONE)
                    continue;
                assert_int_equal(count, 1);
                assert_int_equal(where[0].location, truth.location);
                assert_int_equal(where[0].index, truth.index);
            }
        assert_int_equal(s.r.unreported, 0);
        assert_int_equal(s.r.nodes, 0);
        sample_close(&s);
    }
}

static void what_the_reference_reports_it_never_takes_back(void **state)
{
    (void)state;
    static struct sample s;
    for (uint64_t seed = 1; seed <= EXECUTIONS / 3; seed++) {
        uint64_t random = seed;
        size_t before[MAX_LOCATIONS] = {0};
        sample_open(&s, seed);
        for (uint32_t l = 0; l < s.x->location_count; l++) {
            s.r.pushed[l] = 0;
            s.r.ended[l] = false;
        }
        for (unsigned i = 0; i < 300; i++) {
            uint32_t l = dice_below(&random, s.x->location_count);
            s.r.ended[l] = s.r.ended[l] || s.r.pushed[l] == s.x->counts[l];
            s.r.pushed[l] += !s.r.ended[l];
            reference_compute(&s.r);
            for (uint32_t k = 0; k < s.x->location_count; k++) {
                assert_true(s.r.reported[k] >= before[k]);
                before[k] = s.r.reported[k];
            }
        }
        sample_close(&s);
    }
}

static void a_causal_order_has_no_violation(void **state)
{
    (void)state;
    static struct sample s;
    uint64_t messages = 0, ends = 0;
    for (uint64_t seed = 1; seed <= EXECUTIONS; seed++) {
        uint64_t random = seed;
        bool good;
        sample_open(&s, seed);
        assert_true(arrange(&s, &random, nowhere, nowhere));
        struct order_verdict verdict = judge(&s, &good);
        assert_true(good);
        assert_int_equal(verdict.excused, 0);
        messages += verdict.messages;
        ends += verdict.collective_ends;
        sample_close(&s);
    }
    assert_true(messages > EXECUTIONS && ends > EXECUTIONS);
}

/* ---- what is not ---- */

/* Turns one edge after the other around, where the others allow it; each must be noticed. */
static unsigned turn_edges(struct sample *s, uint64_t seed)
{
    unsigned turned = 0;
    for (uint32_t l = 0; l < s->x->location_count; l++)
        for (size_t i = 0; i < s->x->counts[l]; i++) {
            struct where where[MAX_PROCESSES], end = {l, (uint32_t)i};
            bool released, good;
            int count = reference_predecessors(&s->r, l, i, where, &released);
            for (int k = 0; k < count; k++) {
                if (!arrange(s, &seed, where[k], end))
                    continue;
                struct order_verdict verdict = judge(s, &good);
                assert_false(good);
                assert_int_equal(verdict.receives_before_send + verdict.ends_before_begin, 1);
                assert_int_equal(verdict.missing + verdict.foreign, 0);
                turned++;
            }
        }
    return turned;
}

static void every_edge_turned_around_is_noticed(void **state)
{
    (void)state;
    static struct sample s;
    unsigned turned = 0;
    for (uint64_t seed = 1; seed <= EXECUTIONS / 3; seed++) {
        sample_open(&s, seed);
        turned += turn_edges(&s, seed);
        sample_close(&s);
    }
    assert_true(turned > EXECUTIONS);
}

static void a_dropped_event_is_missing(void **state)
{
    (void)state;
    static struct sample s;
    uint64_t random = 1;
    bool good;
    sample_open(&s, 1);
    assert_true(arrange(&s, &random, nowhere, nowhere));
    s.length--;
    assert_int_equal(judge(&s, &good).missing, 1);
    assert_false(good);
    sample_close(&s);
}

static void an_event_reported_twice_is_foreign(void **state)
{
    (void)state;
    static struct sample s;
    uint64_t random = 1;
    bool good;
    sample_open(&s, 1);
    assert_true(arrange(&s, &random, nowhere, nowhere));
    s.sequence[s.length] = s.sequence[s.length - 1];
    s.length++;
    assert_int_equal(judge(&s, &good).foreign, 1);
    assert_false(good);
    sample_close(&s);
}

static void swapped_events_of_a_location_are_noticed(void **state)
{
    (void)state;
    static struct sample s;
    for (uint64_t seed = 1; seed <= EXECUTIONS / 3; seed++) {
        uint64_t random = seed;
        bool good;
        sample_open(&s, seed);
        assert_true(arrange(&s, &random, nowhere, nowhere));
        for (size_t i = 1; i < s.length; i++) {
            struct where kept = s.sequence[i];
            if (s.sequence[i - 1].location != kept.location)
                continue;
            s.sequence[i] = s.sequence[i - 1];
            s.sequence[i - 1] = kept;
            judge(&s, &good);
            assert_false(good);
            break;
        }
        sample_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_matches_as_the_simulation_did),
        cmocka_unit_test(what_the_reference_reports_it_never_takes_back),
        cmocka_unit_test(a_causal_order_has_no_violation),
        cmocka_unit_test(every_edge_turned_around_is_noticed),
        cmocka_unit_test(a_dropped_event_is_missing),
        cmocka_unit_test(an_event_reported_twice_is_foreign),
        cmocka_unit_test(swapped_events_of_a_location_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
