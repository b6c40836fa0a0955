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

/* 0 ≤ result < below; Knuth's generator. */
static uint64_t any(struct gn_delay *delay, uint64_t below)
{
    delay->random = delay->random * 6364136223846793005u + 1442695040888963407u;
    return below ? (delay->random >> 33) % below : 0;
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
    any(delay, 1); /* seeds that are alike are not told from what comes first */
    any(delay, 1);
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
