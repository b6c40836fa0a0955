#include "capture/delay.h"

#include "clock/ticks.h"

#include <stdlib.h>

enum { MOST_NS = 1000000 };

static void spin(uint64_t ns)
{
    const uint64_t begin_ns = gn_monotonic_ns();
    while (gn_monotonic_ns() - begin_ns < ns) {
    }
}

/* 0 ≤ result < below; Knuth's generator, its bits mixed as in base/mix.h. */
static uint64_t any(struct gn_delay *delay, uint64_t below)
{
    uint64_t bits = delay->random = delay->random * 6364136223846793005u + 1442695040888963407u;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits ^= bits >> 27;
    return below ? bits % below : 0;
}

void gn_delay_open(struct gn_delay *delay, const char *text, uint64_t rank)
{
    *delay = (struct gn_delay){0};
    if (!text)
        return;
    char *end;
    const double ns = strtod(text, &end);
    if (!(ns > 0 && ns <= MOST_NS) || (*end && *end != ':'))
        return;
    const uint64_t seed = *end == ':' ? strtoull(end + 1, NULL, 10) : 0;
    delay->random = seed << 32 | rank;
    delay->most_ns = any(delay, (uint64_t)ns + 1);
}

void gn_delay_before(struct gn_delay *delay)
{
    const uint64_t all_ns = any(delay, delay->most_ns), ns = any(delay, all_ns);
    delay->left_ns = all_ns - ns;
    spin(ns);
}

void gn_delay_after(struct gn_delay *delay)
{
    spin(delay->left_ns);
    delay->left_ns = 0;
}
