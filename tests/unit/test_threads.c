/* capture/recorder with threads: one location each, used again, and a count of those that found none. */
#include "capture.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stddef.h>

#include <cmocka.h>

enum { LOCATIONS = 4, MANY = 8 };

static __attribute__((noipa)) uint32_t call_here(void)
{
    uint32_t node = test_call(1, 1);
    __asm__ volatile("" ::: "memory");
    return node;
}

static uint64_t events_of_threads(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 1; i < GN_GET(gn_segment->location_count); i++)
        sum += GN_GET(gn_segment->locations[i].events);
    return sum;
}

static void *one_call(void *unused)
{
    (void)unused;
    call_here();
    return NULL;
}

static void locations_are_used_again(void **state)
{
    (void)state;
    enum { TIMES = 50 };
    pthread_t thread;
    for (int i = 0; i < TIMES; i++) {
        assert_int_equal(pthread_create(&thread, NULL, one_call, NULL), 0);
        pthread_join(thread, NULL);
    }
    assert_int_equal(GN_GET(gn_segment->location_count), 2);
    assert_int_equal(events_of_threads(), TIMES);
    assert_int_equal(gn_segment->threads_reused, TIMES - 1);
    assert_int_equal(GN_GET(gn_segment->missed_threads), 0);
}

static pthread_barrier_t all_here;

static void *calls_between_barriers(void *recorded)
{
    pthread_barrier_wait(&all_here);
    for (int i = 0; i < 1000; i++)
        *(uint64_t *)recorded += call_here() != UINT32_MAX;
    pthread_barrier_wait(&all_here);
    return NULL;
}

static void together(void *(*body)(void *), uint64_t recorded[MANY])
{
    pthread_t threads[MANY];
    pthread_barrier_init(&all_here, NULL, MANY);
    for (int i = 0; i < MANY; i++) {
        recorded[i] = 0;
        assert_int_equal(pthread_create(&threads[i], NULL, body, &recorded[i]), 0);
    }
    for (int i = 0; i < MANY; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&all_here);
}

static void too_many_threads_are_counted(void **state)
{
    (void)state;
    uint64_t recorded[MANY], sum = 0, before = events_of_threads();
    together(calls_between_barriers, recorded);
    for (int i = 0; i < MANY; i++) {
        assert_true(recorded[i] == 0 || recorded[i] == 1000); /* all of a thread or nothing */
        sum += recorded[i];
    }
    assert_int_equal(sum, (LOCATIONS - 1) * 1000);
    assert_int_equal(events_of_threads() - before, sum);
    assert_int_equal(GN_GET(gn_segment->location_count), LOCATIONS);
    assert_int_equal(GN_GET(gn_segment->missed_threads), MANY - (LOCATIONS - 1));
}

/* Threads that come at once, again and again, each in a location that another one has left. */
static void reuse_is_safe_and_counted(void **state)
{
    (void)state;
    enum { WAVES = 50 };
    uint64_t recorded[MANY], sum = 0, before = events_of_threads();
    int32_t reused = gn_segment->threads_reused;
    for (int wave = 0; wave < WAVES; wave++) {
        together(calls_between_barriers, recorded);
        for (int i = 0; i < MANY; i++)
            sum += recorded[i];
    }
    assert_int_equal(events_of_threads() - before, sum);
    assert_int_equal(gn_segment->threads_reused - reused, WAVES * (LOCATIONS - 1));
}

/* Each thread names regions of its own, all at the same time. */
static void *name_regions(void *first)
{
    char name[GN_NAME_BYTES];
    pthread_barrier_wait(&all_here);
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "%p %d", first, i);
        test_region(name, true);
        test_region(name, false);
    }
    pthread_barrier_wait(&all_here);
    return NULL;
}

static void no_region_loses_its_name(void **state)
{
    (void)state;
    uint64_t unused[MANY], nameless = 0;
    for (int wave = 0; wave < 4; wave++)
        together(name_regions, unused);
    for (uint32_t l = 1; l < GN_GET(gn_segment->location_count); l++)
        for (uint32_t i = 3; i < GN_GET(gn_segment->locations[l].node_count); i++) {
            struct gn_tag_node *node = &gn_segment->locations[l].nodes[i];
            nameless += GN_GET(node->activity) >= GN_ACTIVITY_REGION_BEGIN && GN_GET(node->name) == 0;
        }
    assert_int_equal(nameless, 0);
}

static void end_here(void *unused)
{
    (void)unused;
    pthread_exit(NULL);
}

static void *end_in_a_call(void *unused)
{
    (void)unused;
    test_call_around(2, end_here, NULL);
    return NULL;
}

static uint64_t abandoned_calls(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 1; i < GN_GET(gn_segment->location_count); i++)
        sum += GN_GET(gn_segment->locations[i].lost_calls);
    return sum;
}

/* As a thread does that is cancelled: its call is counted, and whoever gets the location begins outside. */
static void thread_may_end_in_a_call(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, end_in_a_call, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(abandoned_calls(), 1);
    uint64_t before = events_of_threads();
    assert_int_equal(pthread_create(&thread, NULL, one_call, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(events_of_threads(), before + 1);
    assert_int_equal(abandoned_calls(), 1);
}

static int open_recorder(void **state)
{
    (void)state;
    struct gn_tag *segment = test_segment(LOCATIONS);
    return segment ? gn_recorder_open(segment, gn_ticks()) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locations_are_used_again),  cmocka_unit_test(too_many_threads_are_counted),
        cmocka_unit_test(reuse_is_safe_and_counted), cmocka_unit_test(no_region_loses_its_name),
        cmocka_unit_test(thread_may_end_in_a_call),
    };
    return cmocka_run_group_tests(tests, open_recorder, NULL);
}
