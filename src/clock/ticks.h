/*
 * clock/ticks — the cheapest monotonic counter there is, raw.
 *
 * The processor's own counter where it can be relied on, CLOCK_MONOTONIC_RAW otherwise (in ns, then). Which
 * of them is decided once per host, by the agent, and everybody obeys: programs of gnomon decide before main
 * (ticks.c), the capture library does as the segment's header says, since nothing may be looked up in other
 * people's processes and readings of two counters must never meet. GNOMON_COUNTER in the agent's environment
 * overrides the rule.
 *
 * Ticks are only comparable within one clock domain (a host whose cores share the counter). They are a type
 * of their own by name: every variable that holds them ends in _ticks, everything in nanoseconds in _ns.
 */
#ifndef GNOMON_CLOCK_TICKS_H
#define GNOMON_CLOCK_TICKS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum gn_tick_source { GN_TICKS_PROCESSOR, GN_TICKS_KERNEL };

/* Set before the first reading and never again. Defined by clock/ticks.c, and by capture/lifecycle.c for the
 * library. Hidden: a load without a detour in position-independent code. */
extern bool gn_ticks_from_kernel __attribute__((visibility("hidden")));

static inline enum gn_tick_source gn_tick_source(void)
{
    return gn_ticks_from_kernel ? GN_TICKS_KERNEL : GN_TICKS_PROCESSOR;
}

/* Why a program of gnomon does not read the processor's counter; NULL when it does. Not in the library. */
const char *gn_ticks_why_not(void);
/* What is wrong with GNOMON_COUNTER; NULL: nothing. Not in the library. */
const char *gn_ticks_problem(void);

static inline uint64_t gn_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t gn_monotonic_ns(void)
{
    return gn_clock_ns(CLOCK_MONOTONIC_RAW);
}

#if defined(__x86_64__)

#define GN_PROCESSOR_COUNTER "tsc"

/* A process can be forbidden to read it (PR_SET_TSC). Nothing asks for that: the loader and clock_gettime
 * read it, too, and such a process dies of them. */
static inline uint64_t gn_ticks_of_processor(void)
{
    return __builtin_ia32_rdtsc();
}

/* Earlier instructions have completed, later ones have not begun. */
static inline void gn_ticks_fence(void)
{
    __asm__ volatile("lfence" ::: "memory");
}

#elif defined(__aarch64__)

#define GN_PROCESSOR_COUNTER "cntvct"

static inline uint64_t gn_ticks_of_processor(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

/* isb alone does not wait for earlier loads. */
static inline void gn_ticks_fence(void)
{
    __asm__ volatile("dsb ishld\n\tisb" ::: "memory");
}

#else

static inline void gn_ticks_fence(void)
{
    __sync_synchronize();
}

#endif

/* No fence is used: a reading may move by a few instructions. */
static inline uint64_t gn_ticks(void)
{
#ifdef GN_PROCESSOR_COUNTER
    if (__builtin_expect(!gn_ticks_from_kernel, 1))
        return gn_ticks_of_processor();
#endif
    return gn_monotonic_ns();
}

/*
 * For readings that prove something about another clock: what stands before it has happened, what stands
 * behind it has not begun. (A store that stands before it may not have reached other cores yet.)
 */
static inline uint64_t gn_ticks_ordered(void)
{
    gn_ticks_fence();
    uint64_t ticks = gn_ticks();
    gn_ticks_fence();
    return ticks;
}

/* One moment read on both clocks; two of them, some time apart, give the length of a tick. */
struct gn_moment {
    uint64_t ticks;
    uint64_t ns; /* CLOCK_MONOTONIC_RAW, unless something else is said */
};

/* The tick reading is bracketed by two clock readings; the tightest of a few tries is kept. */
static inline struct gn_moment gn_moment_of(clockid_t clock)
{
    struct gn_moment best = {0, 0};
    uint64_t best_width_ticks = UINT64_MAX;
    if (gn_ticks_from_kernel && clock == CLOCK_MONOTONIC_RAW) { /* one clock: the same reading */
        best.ticks = best.ns = gn_monotonic_ns();
        return best;
    }
    for (int i = 0; i < 5; i++) {
        uint64_t before = gn_ticks();
        uint64_t ns = gn_clock_ns(clock);
        uint64_t after = gn_ticks();
        if (after - before < best_width_ticks) {
            best_width_ticks = after - before;
            best = (struct gn_moment){before + (after - before) / 2, ns};
        }
    }
    return best;
}

static inline struct gn_moment gn_moment_now(void)
{
    return gn_moment_of(CLOCK_MONOTONIC_RAW);
}

#endif
