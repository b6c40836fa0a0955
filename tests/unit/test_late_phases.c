/* Which rank is late in which part of a run, by who is waited for in slices of it (analyse/late_phases.h). */
#include "analyse/late_phases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PROCESSES = 3, SLICES = GN_WAITS_SLICES };

/* A trace of 1 s, in which each slice of time is waited for these. */
struct made {
    struct gn_definitions d;
    struct gn_location_def locations[PROCESSES];
    struct gn_process processes[PROCESSES];
    struct gn_seen_part part;
    double slices[PROCESSES * SLICES];
    struct gn_seen seen;
};

static struct made *make(void)
{
    struct made *m = calloc(1, sizeof *m);
    assert_non_null(m);
    for (uint32_t i = 0; i < PROCESSES; i++)
        m->locations[i].process = i;
    m->d.locations = m->locations;
    m->d.processes = m->processes;
    m->d.location_count = m->d.process_count = PROCESSES;
    m->d.ticks_per_second = 1000;
    m->d.length_ticks = 1000;
    m->part.waits.slices = m->slices;
    m->part.counted_weight = 1;
    m->seen = (struct gn_seen){.definitions = &m->d, .parts = &m->part, .count = 1, .is_whole = true};
    return m;
}

static void wait_for(struct made *m, size_t first, size_t end, uint32_t process, double ns)
{
    for (size_t s = first; s < end; s++)
        m->slices[process * SLICES + s] += ns;
}

static void each_part_has_its_own(void **state)
{
    struct gn_late_phases p;
    struct made *m = make();
    (void)state;
    wait_for(m, 10, 40, 0, 90);
    wait_for(m, 10, 40, 2, 10);
    wait_for(m, 41, 80, 1, 100);
    wait_for(m, 40, 41, 0, 50); /* one ends and the other one begins */
    wait_for(m, 40, 41, 1, 50);
    gn_late_phases_find(&p, &m->seen);
    assert_int_equal(p.count, 2);
    assert_int_equal(p.items[0].process, 0);
    assert_int_equal(p.items[1].process, 1);
    assert_float_equal(p.items[0].from.lo_ns, 0.09e9, 1);
    assert_float_equal(p.items[0].from.hi_ns, 0.11e9, 1);
    assert_float_equal(p.items[0].to.lo_ns, p.items[1].from.lo_ns, 1);
    assert_true(p.items[0].to.lo_ns <= 0.4e9 && p.items[0].to.hi_ns >= 0.4e9);
    assert_true(p.items[0].to.hi_ns - p.items[0].to.lo_ns <= 0.021e9);
    assert_true(p.items[1].to.lo_ns <= 0.8e9 && p.items[1].to.hi_ns >= 0.8e9);
    assert_float_equal(p.caused_ns, 30 * 90 + 39 * 100, 1);
    assert_float_equal(gn_late_phases_share(&p, 0), 30.0 * 90 / (30 * 90 + 50), 1e-9);
    assert_float_equal(gn_late_phases_share(&p, 2), 0, 1e-9);
    assert_true(gn_late_phases_have(&p, 0) && gn_late_phases_have(&p, 1) && !gn_late_phases_have(&p, 2));
    free(m);
}

static void gaps_and_short_ones_do_not_cut_it(void **state)
{
    struct gn_late_phases p;
    struct made *m = make();
    (void)state;
    wait_for(m, 0, 30, 0, 100);
    wait_for(m, 35, 50, 0, 100); /* nothing is waited for in between */
    wait_for(m, 50, 52, 2, 100); /* by chance */
    wait_for(m, 52, 60, 0, 100);
    wait_for(m, 60, 100, 1, 100);
    gn_late_phases_find(&p, &m->seen);
    assert_int_equal(p.count, 2);
    assert_int_equal(p.items[0].first, 0);
    assert_int_equal(p.items[0].last, 59);
    free(m);
}

static void none_are_found_where_there_are_none(void **state)
{
    struct gn_late_phases p;
    (void)state;
    for (int kind = 0; kind < 5; kind++) {
        struct made *m = make();
        for (size_t s = 0; s < SLICES; s++)
            switch (kind) {
            case 0: /* always the same one */
                wait_for(m, s, s + 1, 0, 100);
                break;
            case 1: /* nearly always */
                wait_for(m, s, s + 1, s < 20, 100);
                break;
            case 2: /* in turn */
                wait_for(m, s, s + 1, (uint32_t)(s % 2), 100);
                break;
            case 3: /* now these two, now those two */
                wait_for(m, s, s + 1, s < 50 ? 0 : 2, 60);
                wait_for(m, s, s + 1, 1, 40);
                break;
            default: /* nobody is waited for */
                break;
            }
        gn_late_phases_find(&p, &m->seen);
        assert_int_equal(p.count, 0);
        free(m);
    }
}

/* Of a part of a trace waits near the ends do not count: they are of the phases there. Of a window that is
 * not all of what is asked for nothing is told. */
static void a_part_of_a_trace_has_them_too(void **state)
{
    struct gn_late_phases p;
    struct made *m = make();
    (void)state;
    wait_for(m, 20, 50, 1, 100);
    wait_for(m, 50, 80, 2, 100);
    m->seen.is_whole = false;
    m->seen.period = (struct gn_kept_window){200, 600};
    m->seen.run_ns = 0.4e9;
    m->seen.covered_ns = 0.1e9;
    gn_late_phases_find(&p, &m->seen);
    assert_int_equal(p.count, 0);
    m->seen.covered_ns = 0.4e9;
    gn_late_phases_find(&p, &m->seen);
    assert_int_equal(p.count, 2);
    assert_int_equal(p.items[0].first, 0);
    assert_int_equal(p.items[1].last, SLICES - 1);
    assert_float_equal(p.items[0].from.lo_ns, 0.2e9, 1);
    assert_true(p.items[0].to.lo_ns <= 0.4e9 && p.items[0].to.hi_ns >= 0.4e9);
    assert_float_equal(p.items[1].to.hi_ns, 0.6e9, 1);
    free(m);
}

/* A window stands for the time until the next one, however long it is. */
static void windows_are_weighted(void **state)
{
    enum { WINDOWS = 8 };
    struct gn_late_phases p;
    struct made *m = make();
    struct gn_seen_part parts[WINDOWS];
    struct gn_blame caused[WINDOWS][PROCESSES] = {{{0, 0}}};
    (void)state;
    for (uint64_t w = 0; w < WINDOWS; w++) {
        const uint32_t late = w < 4 ? 2 : 1;
        caused[w][late] = (struct gn_blame){w < 4 ? 10 : 1, w < 4 ? 10 : 1};
        parts[w] =
            (struct gn_seen_part){.window = {100 + w * 100, 110 + w * 100}, .counted_weight = w < 4 ? 1 : 10};
        parts[w].waits.caused = caused[w];
    }
    m->seen.parts = parts;
    m->seen.count = WINDOWS;
    m->seen.is_whole = false;
    gn_late_phases_find(&p, &m->seen);
    assert_int_equal(p.count, 2);
    assert_int_equal(p.items[0].process, 2);
    assert_float_equal(p.items[0].from.hi_ns, 0, 1); /* the first one stands for what was before, too */
    assert_float_equal(p.items[0].to.lo_ns, 0.41e9, 1);
    assert_float_equal(p.items[0].to.hi_ns, 0.5e9, 1);
    assert_float_equal(p.items[1].to.lo_ns, 1e9, 1);
    assert_float_equal(p.caused_ns, 80, 1e-9);
    assert_int_equal(gn_late_phase_of_slice(&p, 3), 0);
    assert_int_equal(gn_late_phase_of_slice(&p, 4), 1);
    m->seen.count = 5; /* too few */
    gn_late_phases_find(&p, &m->seen);
    assert_int_equal(p.count, 0);
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_has_its_own),
        cmocka_unit_test(gaps_and_short_ones_do_not_cut_it),
        cmocka_unit_test(none_are_found_where_there_are_none),
        cmocka_unit_test(a_part_of_a_trace_has_them_too),
        cmocka_unit_test(windows_are_weighted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
