/* capture/requests: the table of followed requests. */
#include "capture/requests.h"
#include "repeated.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct gn_request receive = {.kind = GN_RECEIVE, .node = 42};

static void unknown_is_not_found(void **state)
{
    (void)state;
    assert_int_equal(gn_request_find(0x2c000000, GN_NEWEST), -1);
}

/* A null pointer, of an array that the program forgot to fill, is no request. */
static void null_is_not_found(void **state)
{
    (void)state;
    assert_int_equal(gn_request_find(0, GN_NEWEST), -1);
}

static void followed_is_found(void **state)
{
    (void)state;
    assert_true(gn_request_follow(0, 0x1000, &receive, NULL, NULL));
    int32_t position = gn_request_find(0x1000, GN_NEWEST);
    assert_true(position >= 0);
    assert_int_equal(gn_request_at(position)->node, 42);
    gn_request_drop(position);
    assert_int_equal(gn_request_find(0x1000, GN_NEWEST), -1);
}

static bool follow(uint32_t location, gn_handle handle, uint32_t node, uint64_t since_ticks)
{
    struct gn_request request = {.kind = GN_RECEIVE, .node = node, .since_ticks = since_ticks};
    return gn_request_follow(location, handle, &request, NULL, NULL);
}

static uint32_t take_and_drop(gn_handle handle, uint64_t before_ticks)
{
    int32_t position = gn_request_take(handle, before_ticks);
    if (position < 0)
        return UINT32_MAX;
    uint32_t node = gn_request_at(position)->node;
    gn_request_drop(position);
    return node;
}

/* Another thread is inside the call that completes the first request of the handle: the library has given it
 * out again, and the call's look-up has yet to come. */
static void handle_comes_again_while_its_end_is_looked_up(void **state)
{
    (void)state;
    assert_true(follow(0, 0x2000, 42, 100));
    gn_requests_completing(1, true);
    assert_true(follow(0, 0x2000, 43, 200));
    assert_int_equal(take_and_drop(0x2000, 150), 42);
    gn_requests_completing(1, false);
    assert_int_equal(take_and_drop(0x2000, GN_NEWEST), 43);
    assert_int_equal(take_and_drop(0x2000, GN_NEWEST), UINT32_MAX);
}

/* A call means the newest that was there when it began, wherever in the table the entries are. */
static void newest_before_the_call_is_meant(void **state)
{
    (void)state;
    const uint64_t since[] = {300, 100, 500, 200, 400};
    gn_requests_completing(1, true);
    for (uint32_t i = 0; i < 5; i++)
        assert_true(follow(0, 0x2100, i, since[i]));
    gn_requests_completing(1, false);
    assert_int_equal(take_and_drop(0x2100, 99), UINT32_MAX);
    assert_int_equal(take_and_drop(0x2100, 250), 3);
    assert_int_equal(take_and_drop(0x2100, 450), 4);
    assert_int_equal(take_and_drop(0x2100, 450), 0);
    assert_int_equal(take_and_drop(0x2100, 150), 1);
    assert_int_equal(take_and_drop(0x2100, 1000), 2);
}

/* Its own location's mark says nothing: it cannot start a request and complete one at once. */
static void end_that_was_not_seen_is_replaced(void **state)
{
    (void)state;
    assert_true(follow(0, 0x2200, 1, 100));
    gn_requests_completing(0, true);
    assert_true(follow(0, 0x2200, 2, 200));
    gn_requests_completing(0, false);
    assert_int_equal(take_and_drop(0x2200, GN_NEWEST), 2);
    assert_int_equal(take_and_drop(0x2200, GN_NEWEST), UINT32_MAX);
}

static void all_that_were_left_are_replaced(void **state)
{
    (void)state;
    gn_requests_completing(2, true);
    for (uint32_t i = 0; i < 5; i++)
        assert_true(follow(0, 0x2300, i, 100 + i));
    gn_requests_completing(2, false);
    assert_true(follow(0, 0x2300, 5, 105));
    assert_int_equal(take_and_drop(0x2300, GN_NEWEST), 5);
    assert_int_equal(take_and_drop(0x2300, GN_NEWEST), UINT32_MAX);
}

static void released_is_followed_on(void **state)
{
    (void)state;
    assert_true(gn_request_follow(0, 0x3000, &receive, NULL, NULL));
    int32_t position = gn_request_take(0x3000, GN_NEWEST);
    assert_int_equal(gn_request_find(0x3000, GN_NEWEST), -1);
    gn_request_release(position, 0x3000);
    assert_int_equal(gn_request_find(0x3000, GN_NEWEST), position);
    gn_request_drop(position);
}

/* Several requests may have one handle: of the threads that look for it, one gets it. */
static void one_thread_takes_a_shared_handle(void **state)
{
    (void)state;
    assert_true(gn_request_follow(0, 0x4000, &receive, NULL, NULL));
    int32_t mine = gn_request_take(0x4000, GN_NEWEST);
    assert_true(mine >= 0);
    assert_int_equal(gn_request_take(0x4000, GN_NEWEST), -1);
    gn_request_drop(mine);
    assert_int_equal(gn_request_take(0x4000, GN_NEWEST), -1);
}

/* Small sends: one is followed, the others are over. A receive that got a send's handle is another matter. */
static void sends_share_a_handle(void **state)
{
    (void)state;
    struct gn_request send = {.kind = GN_SEND};
    assert_int_equal(gn_request_follow(0, 0x4100, &send, NULL, NULL), GN_FOLLOWED);
    assert_int_equal(gn_request_follow(0, 0x4100, &send, NULL, NULL), GN_SHARED);
    assert_true(follow(0, 0x4100, 9, 100));
    assert_int_equal(take_and_drop(0x4100, GN_NEWEST), 9);
    assert_int_equal(take_and_drop(0x4100, GN_NEWEST), UINT32_MAX);
}

/* Thousands at once, as pointers and as small integers: what is followed is found, what has no room is
 * refused. */
static void many_at_once(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    static bool followed[COUNT];
    for (int kind = 0; kind < 2; kind++) {
        uint32_t refused = 0;
        for (uint32_t i = 0; i < COUNT; i++) {
            gn_handle handle = kind ? 0x98000000u + i : 0x7f0000001000ull + 0x2c0ull * i;
            struct gn_request request = {.kind = GN_RECEIVE, .node = i};
            followed[i] = gn_request_follow(0, handle, &request, NULL, NULL) == GN_FOLLOWED;
            refused += !followed[i];
        }
        assert_true(refused < COUNT / 100);
        for (uint32_t i = 0; i < COUNT; i++) {
            gn_handle handle = kind ? 0x98000000u + i : 0x7f0000001000ull + 0x2c0ull * i;
            int32_t position = gn_request_find(handle, GN_NEWEST);
            assert_int_equal(position >= 0, followed[i]);
            if (position < 0)
                continue;
            assert_int_equal(gn_request_at(position)->node, i);
            gn_request_drop(position);
        }
    }
}

static void full_table_refuses(void **state)
{
    (void)state;
    enum { MORE = 300000 };
    static int32_t positions[MORE];
    uint32_t followed = 0;
    for (gn_handle i = 0; i < MORE; i++)
        if (gn_request_follow(0, 0x10000 + 64 * i, &receive, NULL, NULL))
            positions[followed++] = gn_request_find(0x10000 + 64 * i, GN_NEWEST);
    assert_true(followed < MORE && followed >= 60000);
    for (uint32_t i = 0; i < followed; i++)
        gn_request_drop(positions[i]);
    assert_true(gn_request_follow(0, 0x5000, &receive, NULL, NULL));
    gn_request_drop(gn_request_find(0x5000, GN_NEWEST));
}

static void *follow_and_drop(void *number)
{
    uintptr_t own = (uintptr_t)number, wrong = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        gn_handle handle = own << 32 | (64 * (i + 1));
        struct gn_request request = {.kind = GN_PERSISTENT_RECEIVE, .node = i, .peer = (uint32_t)own};
        if (!gn_request_follow((uint32_t)own, handle, &request, NULL, NULL)) {
            wrong++;
            continue;
        }
        gn_requests_completing((uint32_t)own, true);
        int32_t position = gn_request_take(handle, GN_NEWEST);
        wrong += position < 0 || gn_request_at(position)->node != i || gn_request_at(position)->peer != own;
        if (position >= 0)
            gn_request_drop(position);
        gn_requests_completing((uint32_t)own, false);
    }
    return (void *)wrong;
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, follow_and_drop, (void *)(i + 1)), 0);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
}

/* A library with few handles, which gives each out again as soon as its request is complete. Every request is
 * found by the call that completes it: by its node, a number of its own. */
enum { HANDLES = 3, TURNS = REPEATED(20000) };
static struct {
    pthread_mutex_t lock;
    int free_count;
    gn_handle free[HANDLES];
    uint64_t clock;
} library = {PTHREAD_MUTEX_INITIALIZER, HANDLES, {0x6000, 0x6040, 0x6080}, 0};

static gn_handle library_starts(uint64_t *ticks)
{
    gn_handle handle = 0;
    while (!handle) {
        pthread_mutex_lock(&library.lock);
        if (library.free_count > 0)
            handle = library.free[--library.free_count];
        *ticks = ++library.clock;
        pthread_mutex_unlock(&library.lock);
        if (!handle)
            sched_yield(); /* others have them */
    }
    return handle;
}

static uint64_t library_time(void)
{
    pthread_mutex_lock(&library.lock);
    uint64_t ticks = ++library.clock;
    pthread_mutex_unlock(&library.lock);
    return ticks;
}

static void library_completes(gn_handle handle)
{
    pthread_mutex_lock(&library.lock);
    library.free[library.free_count++] = handle;
    pthread_mutex_unlock(&library.lock);
    sched_yield(); /* before the look-up */
}

static void *start_and_complete(void *number)
{
    uintptr_t own = (uintptr_t)number, wrong = 0;
    for (uint32_t i = 0; i < TURNS; i++) {
        uint64_t ticks;
        gn_handle handle = library_starts(&ticks);
        uint32_t node = (uint32_t)own << 24 | i;
        wrong += !follow((uint32_t)own, handle, node, ticks);
        uint64_t call_ticks = library_time();
        gn_requests_completing((uint32_t)own, true);
        library_completes(handle);
        wrong += take_and_drop(handle, call_ticks) != node;
        gn_requests_completing((uint32_t)own, false);
    }
    return (void *)wrong;
}

static void reused_handles_are_told_apart(void **state)
{
    (void)state;
    pthread_t threads[4];
    uintptr_t wrong = 0;
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, start_and_complete, (void *)(i + 1)), 0);
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += (uintptr_t)result;
    }
    assert_int_equal(wrong, 0);
    for (int i = 0; i < HANDLES; i++)
        assert_int_equal(gn_request_find(library.free[i], GN_NEWEST), -1);
}

static int open_table(void **state)
{
    (void)state;
    return gn_requests_open();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_is_not_found),
        cmocka_unit_test(followed_is_found),
        cmocka_unit_test(handle_comes_again_while_its_end_is_looked_up),
        cmocka_unit_test(newest_before_the_call_is_meant),
        cmocka_unit_test(end_that_was_not_seen_is_replaced),
        cmocka_unit_test(all_that_were_left_are_replaced),
        cmocka_unit_test(released_is_followed_on),
        cmocka_unit_test(one_thread_takes_a_shared_handle),
        cmocka_unit_test(sends_share_a_handle),
        cmocka_unit_test(threads_do_not_disturb_each_other),
        cmocka_unit_test(reused_handles_are_told_apart),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(full_table_refuses),
        cmocka_unit_test(null_is_not_found),
    };
    return cmocka_run_group_tests(tests, open_table, NULL);
}
