/* capture/requests: the table of followed requests. */
#include "capture/requests.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct gn_request receive = {.kind = GN_RECEIVE, .node = 42};

static void unknown_is_not_found(void **state)
{
    (void)state;
    assert_int_equal(gn_request_find(0x2c000000), -1);
}

/* A null pointer, of an array that the program forgot to fill, is no request. */
static void null_is_not_found(void **state)
{
    (void)state;
    assert_int_equal(gn_request_find(0), -1);
}

static void followed_is_found(void **state)
{
    (void)state;
    assert_true(gn_request_follow(0x1000, &receive, NULL, NULL));
    int32_t position = gn_request_find(0x1000);
    assert_true(position >= 0);
    assert_int_equal(gn_request_at(position)->node, 42);
    gn_request_drop(position);
    assert_int_equal(gn_request_find(0x1000), -1);
}

/* The MPI library may give the handle out again inside the call that completes it. */
static void held_handle_may_come_again(void **state)
{
    (void)state;
    struct gn_request again = {.kind = GN_RECEIVE, .node = 43};
    assert_true(gn_request_follow(0x2000, &receive, NULL, NULL));
    int32_t first = gn_request_find(0x2000);
    assert_true(gn_request_hold(first, 0x2000));
    assert_int_equal(gn_request_find(0x2000), -1);
    assert_true(gn_request_follow(0x2000, &again, NULL, NULL));
    int32_t second = gn_request_find(0x2000);
    assert_int_not_equal(first, second);
    assert_int_equal(gn_request_at(first)->node, 42);
    assert_int_equal(gn_request_at(second)->node, 43);
    gn_request_drop(first);
    gn_request_drop(second);
    assert_int_equal(gn_request_find(0x2000), -1);
}

static void released_is_followed_on(void **state)
{
    (void)state;
    assert_true(gn_request_follow(0x3000, &receive, NULL, NULL));
    int32_t position = gn_request_find(0x3000);
    assert_true(gn_request_hold(position, 0x3000));
    gn_request_release(position, 0x3000);
    assert_int_equal(gn_request_find(0x3000), position);
    gn_request_drop(position);
}

/* Several requests may have one handle: of the threads that find it, one gets it. */
static void one_thread_holds_a_shared_handle(void **state)
{
    (void)state;
    assert_true(gn_request_follow(0x4000, &receive, NULL, NULL));
    int32_t mine = gn_request_find(0x4000), another_threads = gn_request_find(0x4000);
    assert_true(gn_request_hold(mine, 0x4000));
    assert_false(gn_request_hold(another_threads, 0x4000));
    gn_request_drop(mine);
    assert_false(gn_request_hold(another_threads, 0x4000));
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
            followed[i] = gn_request_follow(handle, &request, NULL, NULL);
            refused += !followed[i];
        }
        assert_true(refused < COUNT / 100);
        for (uint32_t i = 0; i < COUNT; i++) {
            gn_handle handle = kind ? 0x98000000u + i : 0x7f0000001000ull + 0x2c0ull * i;
            int32_t position = gn_request_find(handle);
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
        if (gn_request_follow(0x10000 + 64 * i, &receive, NULL, NULL))
            positions[followed++] = gn_request_find(0x10000 + 64 * i);
    assert_true(followed < MORE && followed >= 60000);
    for (uint32_t i = 0; i < followed; i++)
        gn_request_drop(positions[i]);
    assert_true(gn_request_follow(0x5000, &receive, NULL, NULL));
    gn_request_drop(gn_request_find(0x5000));
}

static void *follow_and_drop(void *number)
{
    uintptr_t own = (uintptr_t)number, wrong = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        gn_handle handle = own << 32 | (64 * (i + 1));
        struct gn_request request = {.kind = GN_PERSISTENT_RECEIVE, .node = i, .peer = (uint32_t)own};
        if (!gn_request_follow(handle, &request, NULL, NULL)) {
            wrong++;
            continue;
        }
        int32_t position = gn_request_find(handle);
        if (position < 0 || gn_request_at(position)->node != i || gn_request_at(position)->peer != own) {
            wrong++;
            continue;
        }
        wrong += !gn_request_hold(position, handle);
        gn_request_drop(position);
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

static int open_table(void **state)
{
    (void)state;
    return gn_requests_open(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_is_not_found),
        cmocka_unit_test(followed_is_found),
        cmocka_unit_test(held_handle_may_come_again),
        cmocka_unit_test(released_is_followed_on),
        cmocka_unit_test(one_thread_holds_a_shared_handle),
        cmocka_unit_test(threads_do_not_disturb_each_other),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(full_table_refuses),
        cmocka_unit_test(null_is_not_found),
    };
    return cmocka_run_group_tests(tests, open_table, NULL);
}
