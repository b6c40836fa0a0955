/*
 * weak_memory — runs two pieces of real C code against each other in all ways that C11's memory model allows.
 *
 * Include this ahead of the code: the accesses of <stdatomic.h> become steps of a model. What code keeps for
 * itself is copied aside, so that each step can go on from any state that was reached before; states that
 * were seen are not visited again.
 *
 * The model is that of views (Kang and others, "A promising semantics for relaxed-memory concurrency", POPL
 * 2017, section 2), with one writer for each place:
 *
 *   memory   for each place all values that were ever stored there, in order, each with the view that it
 * carries view     for each place the oldest value that may still be read load     any value that is not
 * older than the thread's view; then the view is there. Acquire: and the value's view is taken over. Relaxed:
 * that waits for the next acquire fence store    appends a value. Release: with the thread's view; relaxed:
 * with its view at its last release fence early    so far no load reads a later store. Where `early` is set,
 * a relaxed load may also give a value that is still to come, as if stores behind it had gone ahead of it:
 * the thread goes on, but not across an acquire fence, a release store, another access to the place, or its
 * step's end before that value was stored. (The standard lets a release fence be crossed; processors do not.)
 *
 * Weaker than AArch64 and all others: threads see stores in different orders, dependencies order nothing.
 */
#ifndef GNOMON_TEST_WEAK_MEMORY_H
#define GNOMON_TEST_WEAK_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WM_THREADS = 2, WM_PLACES = 12, WM_VALUES = 10 };

uint64_t wm_load(const volatile void *place, size_t bytes, memory_order order);
void wm_store(volatile void *place, uint64_t value, memory_order order);
void wm_fence(memory_order order);

#undef atomic_thread_fence
#undef atomic_load_explicit
#undef atomic_store_explicit
#define atomic_load_explicit(object, order)                                                                  \
    ((__typeof__((void)0, *(object)))wm_load((object), sizeof *(object), (order)))
#define atomic_store_explicit(object, value, order) wm_store((object), (uint64_t)(value), (order))
#define atomic_thread_fence(order) wm_fence(order)

/* The thread, which has read `value` there in vain, waits until there is a newer one. Stands for a loop that
 * looks. */
void wm_await(const volatile void *place, uint64_t value);
/* The thread waits until the other one has ended, and sees all that it did. */
void wm_join(void);
/* What the other one has stored there last, whether this thread can see it or not. For checks. */
uint64_t wm_truth(const volatile void *place);
/* A check: with this schedule something is wrong. Ends the step. */
_Noreturn void wm_wrong(const char *what);

struct wm_thread {
    bool (*step)(void *self); /* one operation on *self; false: there is nothing more to do */
    void *self;
    size_t bytes; /* of *self, which is all that the code keeps; at most WM_SELF */
    bool may_die; /* anywhere */
};
enum { WM_SELF = 256 };

struct wm_options {
    bool early;
    uint32_t dropped; /* orders that are taken away: bits of wm_order */
    /* Values that may still come to a place, for `early`: at most 4 into values[]. */
    uint32_t (*to_come)(const volatile void *place, uint64_t values[4]);
};

enum wm_order {
    WM_ACQUIRE_LOAD_0 = 1, /* thread 0's acquire loads are relaxed */
    WM_ACQUIRE_LOAD_1 = 2,
    WM_RELEASE_STORE_0 = 4,
    WM_RELEASE_STORE_1 = 8,
    WM_ACQUIRE_FENCE_0 = 16,
    WM_ACQUIRE_FENCE_1 = 32,
    WM_RELEASE_FENCE_0 = 64,
    WM_RELEASE_FENCE_1 = 128,
};

struct wm_result {
    uint64_t states, ends; /* ends: states in which both threads are through */
    const char *wrong;     /* NULL: in none */
    bool incomplete;       /* there are more states than there was room for */
};

/* Places are in the model from their first wm_place on, with value 0; all other memory is as it is. */
void wm_reset(void);
void wm_place(const volatile void *place);
struct wm_result wm_explore(const struct wm_thread threads[WM_THREADS], const struct wm_options *options);

#endif
