/*
 * soundness/line — clocks of which every reading is known exactly.
 *
 * A clock is a line of pieces, all of one length in true ticks, each with a rate of its own. Everything is in
 * integers: 2^-40 of the clock's ticks, so that what the clock shows at a moment has no rounding in it at all
 * and a bound that is wrong by the smallest part of a nanosecond is seen. True ticks are finer than any
 * clock's, so that there are moments inside of each reading.
 *
 * The rate jumps between the limits of what is assumed, which no real clock does: a bound that survives this
 * survives every clock that wanders as much.
 */
#ifndef GNOMON_SOUNDNESS_LINE_H
#define GNOMON_SOUNDNESS_LINE_H

#include <stdbool.h>
#include <stdint.h>

#define LINE_TRUE_HZ 16000000000u

enum { LINE_BITS = 40, LINE_PIECES = 4096 };

struct line_piece {
    __int128 base; /* what the clock shows at its beginning, 2^-40 ticks */
    int64_t rate;  /* 2^-40 ticks per true tick */
};

struct line {
    unsigned shift; /* a piece is 2^shift true ticks long */
    uint64_t hz;    /* nominal */
    uint64_t grain; /* readings are multiples of it */
    bool goes_back;
    struct line_piece piece[LINE_PIECES];
};

enum line_shape { LINE_STEADY, LINE_JUMPS, LINE_SINE, LINE_RAMP, LINE_SHAPES };

struct line_plan {
    unsigned shift;
    uint64_t hz, grain, start_ticks;
    double rate_ppb, wander_ppb; /* it stays within ±wander of rate */
    enum line_shape shape;
    double shift_ppb;   /* from piece `at` on, beyond the wander */
    int64_t step_ticks; /* at piece `at` */
    int at;
    uint64_t seed;
};

void line_make(struct line *line, const struct line_plan *plan);

static inline uint64_t line_end(const struct line *line)
{
    return (uint64_t)LINE_PIECES << line->shift;
}

/* What the clock shows at true tick t, in 2^-40 ticks. */
static inline __int128 line_exact(const struct line *line, uint64_t t)
{
    const struct line_piece *piece = &line->piece[t >> line->shift];
    return piece->base + (__int128)piece->rate * (int64_t)(t & ((UINT64_C(1) << line->shift) - 1));
}

static inline uint64_t line_reading(const struct line *line, uint64_t t)
{
    uint64_t ticks = (uint64_t)(line_exact(line, t) >> LINE_BITS);
    return line->grain == 1 ? ticks : ticks - ticks % line->grain;
}

/* The first true tick at which the clock shows at least this; line_end() when there is none. For clocks that
 * do not go back. */
uint64_t line_first(const struct line *line, uint64_t ticks);

/* Smallest and largest rate of a against b, relative to what their frequencies say. */
struct line_range {
    long double lo, hi;
};
struct line_range line_relative(const struct line *a, const struct line *b);

/* The time that the clock shows, in ns since it showed epoch: rounded down, and rounded up. */
struct line_ns {
    int64_t down, up;
};

static inline struct line_ns line_ns(const struct line *line, uint64_t t, uint64_t epoch_ticks)
{
    __int128 since = line_exact(line, t) - ((__int128)epoch_ticks << LINE_BITS);
    int64_t ticks = (int64_t)(since >> LINE_BITS), hz = (int64_t)line->hz;
    int64_t seconds = ticks / hz - (ticks % hz < 0);
    uint64_t fraction = (uint64_t)since & ((UINT64_C(1) << LINE_BITS) - 1);
    unsigned __int128 rest =
        (((unsigned __int128)(uint64_t)(ticks - seconds * hz) << LINE_BITS) + fraction) * 1000000000u;
    uint64_t whole = (uint64_t)(rest >> LINE_BITS);
    bool exact = !((uint64_t)rest & ((UINT64_C(1) << LINE_BITS) - 1)) && whole % line->hz == 0;
    int64_t down = seconds * 1000000000 + (int64_t)(whole / line->hz);
    return (struct line_ns){down, down + !exact};
}

#endif
