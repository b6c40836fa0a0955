#include "line.h"

#include "base/mix.h"

#include <math.h>

/* How far the wander is at each piece, -1 to 1. */
static void wander_of(const struct line_plan *plan, double *wander)
{
    uint64_t state = plan->seed;
    double period = 16 << gn_mix_next(&state) % 8, phase = gn_mix_unit(gn_mix_next(&state));
    unsigned dwell = 1u << gn_mix_next(&state) % 11;
    double side = 1;
    for (int k = 0, left = 0; k < LINE_PIECES; k++) {
        if (plan->shape == LINE_JUMPS && left-- == 0) {
            side = -side;
            left = (int)(gn_mix_next(&state) % dwell);
        }
        double turn = k / period + phase, saw = turn - floor(turn);
        wander[k] = plan->shape == LINE_JUMPS  ? side
                    : plan->shape == LINE_SINE ? sin(2 * M_PI * turn)
                    : plan->shape == LINE_RAMP ? 4 * fabs(saw - 0.5) - 1
                                               : 0;
    }
}

void line_make(struct line *line, const struct line_plan *plan)
{
    double wander[LINE_PIECES];
    wander_of(plan, wander);
    line->shift = plan->shift;
    line->hz = plan->hz;
    line->grain = plan->grain;
    line->goes_back = plan->step_ticks < 0;
    __int128 base = (__int128)plan->start_ticks << LINE_BITS;
    for (int k = 0; k < LINE_PIECES; k++) {
        long double ppb =
            plan->rate_ppb + plan->wander_ppb * wander[k] + (k >= plan->at ? plan->shift_ppb : 0);
        long double rate = (long double)plan->hz / LINE_TRUE_HZ * (1 + ppb / 1e9L);
        if (k == plan->at)
            base += (__int128)plan->step_ticks * (INT64_C(1) << LINE_BITS);
        line->piece[k] = (struct line_piece){base, (int64_t)(rate * (INT64_C(1) << LINE_BITS))};
        base += (__int128)line->piece[k].rate << plan->shift;
    }
}

uint64_t line_first(const struct line *line, uint64_t ticks)
{
    __int128 wanted = (__int128)ticks << LINE_BITS;
    if (wanted <= line->piece[0].base)
        return 0;
    int low = 0, high = LINE_PIECES; /* piece[low] begins below, piece[high] does not */
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (line->piece[middle].base < wanted)
            low = middle;
        else
            high = middle;
    }
    const struct line_piece *piece = &line->piece[low];
    uint64_t length = UINT64_C(1) << line->shift;
    __int128 within = (wanted - piece->base + piece->rate - 1) / piece->rate;
    return ((uint64_t)low << line->shift) + (within < (__int128)length ? (uint64_t)within : length);
}

struct line_range line_relative(const struct line *a, const struct line *b)
{
    long double nominal = (long double)a->hz / b->hz;
    struct line_range range = {INFINITY, -INFINITY};
    for (int k = 0; k < LINE_PIECES; k++) {
        long double rate = (long double)a->piece[k].rate / b->piece[k].rate / nominal;
        range.lo = fminl(range.lo, rate);
        range.hi = fmaxl(range.hi, rate);
    }
    return range;
}
