/* Of programs with threads: they compute, for so much of their own processor time. */
#ifndef GNOMON_TESTS_HYBRID_H
#define GNOMON_TESTS_HYBRID_H

#include "pattern.h"

#include <omp.h>

static inline double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The loops stand where it is written. */
#define SPIN(ms)                                                                                             \
    do {                                                                                                     \
        volatile double x = 1;                                                                               \
        for (const double end_ms = cpu_ms() + (ms); cpu_ms() < end_ms;)                                      \
            for (int i = 0; i < 20000; i++)                                                                  \
                x = x * 0.999 + 1;                                                                           \
    } while (0)

#endif
