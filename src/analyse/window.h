/*
 * analyse/window — numbers that each of the stages has which something may be in: which of them there are,
 * the least and the largest. Stages come at one end and go at the other.
 */
#ifndef GNOMON_ANALYSE_WINDOW_H
#define GNOMON_ANALYSE_WINDOW_H

#include <stdint.h>

struct gn_window {
    uint32_t *counts;  /* [numbers] of stages */
    uint64_t *present; /* [words] bits: counts that are not 0 */
    uint32_t words;    /* gn_window_words(numbers) ≥ 1 */
};

static inline uint32_t gn_window_words(uint32_t numbers)
{
    return (numbers + 63) / 64;
}

/* sign: 1, or all ones for -1. */
static inline void gn_window_count(struct gn_window *w, uint32_t number, uint64_t sign)
{
    uint64_t bit = (uint64_t)1 << number % 64;
    w->counts[number] += (uint32_t)sign;
    if (w->counts[number])
        w->present[number / 64] |= bit;
    else
        w->present[number / 64] &= ~bit;
}

/* UINT32_MAX: there is none. */
static inline uint32_t gn_window_least(const struct gn_window *w)
{
    uint32_t word = 0;
    while (word + 1 < w->words && !w->present[word])
        word++;
    return w->present[word] ? 64 * word + (uint32_t)__builtin_ctzll(w->present[word]) : UINT32_MAX;
}

/* There has to be one. */
static inline uint32_t gn_window_most(const struct gn_window *w)
{
    uint32_t word = w->words - 1;
    while (word > 0 && !w->present[word])
        word--;
    return 64 * word + 63 - (uint32_t)__builtin_clzll(w->present[word]);
}

#endif
