/*
 * clock/ticks — the cheapest monotonic counter of the processor, raw.
 *
 * Ticks are only comparable within one clock domain (a host whose cores share an invariant counter). They
 * are a type of their own by name: every variable that holds them ends in _ticks, everything in nanoseconds
 * in _ns. No fence is used: a reading may move by a few instructions, which is below its granularity.
 */
#ifndef GNOMON_CLOCK_TICKS_H
#define GNOMON_CLOCK_TICKS_H

#include <stdint.h>
#include <time.h>

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

static inline uint64_t gn_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return gn_monotonic_ns();
#endif
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
