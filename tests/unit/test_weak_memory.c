/* The explorer of weak memory knows what the standard allows, and what it forbids: the usual litmus tests. */
#include "weak_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static _Atomic uint64_t x, y;
static bool fences;
static memory_order store_order, load_order;

static void set(_Atomic uint64_t *place, uint64_t value, memory_order order)
{
    atomic_store_explicit(place, value, order);
}

static uint64_t get(_Atomic uint64_t *place, memory_order order)
{
    return atomic_load_explicit(place, order);
}

/* ---- message passing: x is the message, y says that it is there ---- */

static bool pass(void *self)
{
    (void)self;
    set(&x, 1, memory_order_relaxed);
    if (fences)
        atomic_thread_fence(memory_order_release);
    set(&y, 1, store_order);
    return false;
}

static bool take(void *self)
{
    (void)self;
    uint64_t seen_y = get(&y, load_order);
    if (fences)
        atomic_thread_fence(memory_order_acquire);
    uint64_t seen_x = get(&x, memory_order_relaxed);
    if (seen_y == 1 && seen_x == 0)
        wm_wrong("the message is not there");
    return false;
}

/* ---- store buffering, load buffering ---- */

struct half {
    uint64_t saw;
};
static struct half halves[2];

static bool store_x(void *self)
{
    set(&x, 1, memory_order_relaxed);
    ((struct half *)self)->saw = get(&y, memory_order_relaxed);
    return false;
}

static bool store_y(void *self)
{
    set(&y, 1, memory_order_relaxed);
    ((struct half *)self)->saw = get(&x, memory_order_relaxed);
    if (wm_truth(&x) == 1 && ((struct half *)self)->saw == 0)
        wm_wrong("not seen though it was there");
    return false;
}

static bool load_y_store_x(void *self)
{
    ((struct half *)self)->saw = get(&y, memory_order_relaxed);
    set(&x, ((struct half *)self)->saw, memory_order_release);
    return false;
}

/* Sees what can only be there if its own store came first. */
static bool load_x_store_y(void *self)
{
    ((struct half *)self)->saw = get(&x, load_order);
    set(&y, 1, store_order);
    if (((struct half *)self)->saw == 1)
        wm_wrong("the load came after the store");
    return false;
}

/* ---- coherence ---- */

static bool count_up(void *self)
{
    (void)self;
    set(&x, 1, memory_order_relaxed);
    set(&x, 2, memory_order_relaxed);
    return false;
}

static bool look_twice(void *self)
{
    (void)self;
    uint64_t first = get(&x, memory_order_relaxed);
    if (get(&x, memory_order_relaxed) < first)
        wm_wrong("back in time");
    return false;
}

/* ---- */

static uint32_t one_to_come(const volatile void *place, uint64_t values[4])
{
    (void)place;
    values[0] = 1;
    return 1;
}

static bool can_be(bool (*first)(void *), bool (*second)(void *), bool early)
{
    struct wm_thread threads[WM_THREADS] = {{first, &halves[0], sizeof halves[0], false},
                                            {second, &halves[1], sizeof halves[1], false}};
    struct wm_options options = {.early = early, .to_come = one_to_come};
    wm_reset();
    wm_place(&x);
    wm_place(&y);
    struct wm_result result = wm_explore(threads, &options);
    assert_false(result.incomplete);
    assert_true(result.wrong || result.ends > 0);
    return result.wrong;
}

static void orders(memory_order store, memory_order load, bool with_fences)
{
    store_order = store;
    load_order = load;
    fences = with_fences;
}

static void test_message_passing(void **state)
{
    (void)state;
    orders(memory_order_relaxed, memory_order_relaxed, false);
    assert_true(can_be(pass, take, false));
    orders(memory_order_release, memory_order_relaxed, false);
    assert_true(can_be(pass, take, false));
    orders(memory_order_relaxed, memory_order_acquire, false);
    assert_true(can_be(pass, take, false));
    orders(memory_order_release, memory_order_acquire, false);
    assert_false(can_be(pass, take, false));
    orders(memory_order_relaxed, memory_order_relaxed, true);
    assert_false(can_be(pass, take, true));
}

static void test_store_buffering(void **state)
{
    (void)state;
    assert_true(can_be(store_x, store_y, false));
}

/* With early loads only, and not across a release store. */
static void test_load_buffering(void **state)
{
    (void)state;
    orders(memory_order_relaxed, memory_order_relaxed, false);
    assert_false(can_be(load_x_store_y, load_y_store_x, false));
    assert_true(can_be(load_x_store_y, load_y_store_x, true));
    orders(memory_order_release, memory_order_relaxed, false);
    assert_false(can_be(load_x_store_y, load_y_store_x, true));
    orders(memory_order_relaxed, memory_order_acquire, false);
    assert_false(can_be(load_x_store_y, load_y_store_x, true));
}

static void test_coherence(void **state)
{
    (void)state;
    assert_false(can_be(count_up, look_twice, true));
}

static bool wait_for_x(void *self)
{
    (void)self;
    wm_await(&x, 0);
    return false;
}

static bool wait_for_y(void *self)
{
    (void)self;
    wm_await(&y, 0);
    return false;
}

static void test_deadlock(void **state)
{
    (void)state;
    assert_true(can_be(wait_for_x, wait_for_y, false));
    assert_false(can_be(pass, wait_for_y, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message_passing), cmocka_unit_test(test_store_buffering),
        cmocka_unit_test(test_load_buffering),  cmocka_unit_test(test_coherence),
        cmocka_unit_test(test_deadlock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
