/*
 * Two clocks and a network between them, with everything known: readings of a moment t (ns, the parent's time
 * line), and exchanges whose delays follow from a seed.
 */
#ifndef CLOCK_WORLD_H
#define CLOCK_WORLD_H

#include "base/mix.h"
#include "baselines/fits.h"

#include <math.h>
#include <stdlib.h>

struct world {
    double child_hz, parent_hz;
    uint64_t child_base, parent_base; /* readings at t = 0 */
    int64_t rate_ppb;                 /* of the child's clock, beyond its frequency */
    double sine_ns, sine_period_ns;   /* what else the child's clock shows: sine_ns × sin(2π t / period) */
    double there_ns, back_ns;         /* least delays */
    double noise_ns;                  /* mean of what exceeds them */
    uint64_t seed;
};

static inline uint64_t parent_reading(const struct world *w, int64_t t)
{
    return w->parent_base + (uint64_t)(int64_t)floorl((long double)t * (w->parent_hz * 1e-9L));
}

static inline uint64_t child_reading(const struct world *w, int64_t t)
{
    long double ns = (long double)t * (1 + (long double)w->rate_ppb * 1e-9L);
    if (w->sine_ns != 0)
        ns += w->sine_ns * sinl(6.283185307179586477L * (long double)t / w->sine_period_ns);
    return w->child_base + (uint64_t)(int64_t)floorl(ns * (w->child_hz * 1e-9L));
}

static inline struct gn_exchange exchange_at(struct world *w, int64_t t)
{
    int64_t heard = t + (int64_t)(w->there_ns + gn_mix_exponential(gn_mix_next(&w->seed), w->noise_ns));
    int64_t answered = heard + 2000;
    int64_t received =
        answered + (int64_t)(w->back_ns + gn_mix_exponential(gn_mix_next(&w->seed), w->noise_ns));
    return (struct gn_exchange){.asked_ticks = child_reading(w, t),
                                .heard_ticks = parent_reading(w, heard),
                                .answered_ticks = parent_reading(w, answered),
                                .received_ticks = child_reading(w, received),
                                .there = true,
                                .back = true};
}

/* count exchanges, evenly from `from` to `to`; the caller frees them. */
static inline struct gn_exchange *exchanges_between(struct world *w, int64_t from, int64_t to, size_t count)
{
    struct gn_exchange *exchanges = calloc(count, sizeof *exchanges);
    for (size_t i = 0; exchanges && i < count; i++)
        exchanges[i] = exchange_at(w, from + (int64_t)i * ((to - from) / (int64_t)(count - 1)));
    return exchanges;
}

/* The parent's time line begins at t = 0. */
static inline struct gn_fit_pair pair_of(const struct world *w, const struct gn_exchange *exchanges,
                                         size_t count)
{
    return (struct gn_fit_pair){.exchanges = exchanges,
                                .count = count,
                                .child = {w->child_hz, 1},
                                .parent = {w->parent_hz, 1},
                                .epoch_ticks = w->parent_base};
}

#endif
