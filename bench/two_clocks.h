/*
 * The two readings of the clock that timing a call takes, in a loop; and the loop alone.
 */
#ifndef BENCH_TWO_CLOCKS_H
#define BENCH_TWO_CLOCKS_H

#include "clock/ticks.h"

#define KEEP(value) __asm__ volatile("" ::"r"(value) : "memory")

static __attribute__((noinline)) void two_clocks_loop(long iterations)
{
    for (long i = 0; i < iterations; i++)
        KEEP(i);
}

static __attribute__((noinline)) void two_clocks_read(long iterations)
{
    for (long i = 0; i < iterations; i++) {
        uint64_t begin_ticks = gn_ticks();
        KEEP(begin_ticks);
        KEEP(gn_ticks() - begin_ticks);
    }
}

#endif
