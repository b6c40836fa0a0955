/*
 * Time per call from many short batches: a batch (about two milliseconds) is long against reading the clock
 * and short against what else goes on in the machine, so that most batches are undisturbed and their median
 * is what a call takes.
 */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TIMING_MAX_BATCHES = 1000 };

static inline double timing_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline int timing_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double timing_min(double a, double b)
{
    return a < b ? a : b;
}

struct timing_summary {
    double min, q1, median, q3;
};

/* Sorts the values. */
static inline struct timing_summary timing_summarise(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, timing_order);
    return (struct timing_summary){values[0], values[count / 4], values[count / 2],
                                   values[count - 1 - count / 4]};
}

#endif
