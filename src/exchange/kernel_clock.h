/*
 * exchange/kernel_clock — the moments of the kernel's time stamps on our counter.
 *
 * The kernel stamps packets with CLOCK_REALTIME. A bracket is a reading of it between two of the counter;
 * from a bracket nearby, a stamp is at a counter reading that is known within the bracket's width and what
 * the rate can make of the time in between:
 *
 *      ticks   ──[before──────after]───────────────[lo ───── hi]──►
 *      realtime        real_ns                         stamp_ns
 *
 *      lo = before + (stamp − real) · f · (1 − slack)      hi = after + (stamp − real) · f · (1 + slack)
 *
 * and the other way round for stamps before the bracket. The latest brackets are all used: each is a little
 * off in another way, and what they say is intersected.
 *
 * The rate f is steered, by as much as the kernel says when asked. What is asked before and after and was the
 * same was so in between. A clock that was set shows in two ways: brackets contradict each other, and the
 * kernel cancels a timer. Whenever one of these is not as it was, stamps from before that are not used.
 */
#ifndef GNOMON_EXCHANGE_KERNEL_CLOCK_H
#define GNOMON_EXCHANGE_KERNEL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct gn_bracket {
    uint64_t before_ticks, after_ticks;
    int64_t real_ns; /* CLOCK_REALTIME, somewhere between the two */
};

struct gn_tick_range {
    uint64_t lo_ticks, hi_ticks;
};

/* How many ticks there are to a nanosecond of CLOCK_REALTIME: within 1 ± slack of the rate. */
struct gn_steering {
    double ticks_per_ns, slack;
};

enum { GN_BRACKETS = 48 };

struct gn_kernel_clock {
    double nominal_ticks_per_ns, nominal_error; /* the error is relative */
    struct gn_steering steering;
    long freq, tick;             /* the kernel's words for it */
    uint64_t same_since_ticks;   /* since when they have been the same, for all we know */
    double offset_slack;         /* what an offset that is worked off adds to the slack, */
    uint64_t offset_since_ticks; /* told then */
    int timer;                   /* cancelled when the clock is set; -1: there is none */
    unsigned steps;              /* how often it was set */
    uint64_t since_ticks;        /* nothing before this can be told from stamps */
    struct gn_bracket brackets[GN_BRACKETS];
    unsigned count; /* of all brackets since since_ticks; the last GN_BRACKETS are there */
};

/* hz: of the counter, and how well that is known. */
void gn_kernel_clock_open(struct gn_kernel_clock *clock, double hz, double hz_error_ppb);
void gn_kernel_clock_close(struct gn_kernel_clock *clock);

/* Takes brackets of now. Notices when they contradict those from before. */
void gn_kernel_clock_bracket(struct gn_kernel_clock *clock);

/* Asks the kernel whether the clock was set or steered differently since it was last asked. */
void gn_kernel_clock_check(struct gn_kernel_clock *clock);

/* Between which ticks the clock showed stamp_ns, rounded outward. To be called after a bracket from after the
 * stamp. False: that cannot be told. It holds if the next check moves since_ticks no further than below it.
 */
bool gn_kernel_clock_locate(const struct gn_kernel_clock *clock, int64_t stamp_ns,
                            struct gn_tick_range *range);

/* The same, judged by one bracket. False: too far away to say. */
bool gn_bracket_locate(const struct gn_bracket *bracket, int64_t stamp_ns, const struct gn_steering *steering,
                       struct gn_tick_range *range);

/* Whether both can be brackets of a clock that was not set in between. */
bool gn_brackets_agree(const struct gn_bracket *earlier, const struct gn_bracket *later,
                       const struct gn_steering *steering);

#endif
