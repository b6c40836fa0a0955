/*
 * baselines/fits — what others have made of the same exchanges, kept as baselines for clocks.h.
 *
 * Each fit is built from the exchanges of one child with its parent and turns the child's readings into
 * nanoseconds on the parent's time line. What they have in common is a straight line, or two: all of them
 * assume that the rate between the two clocks does not change.
 *
 * Points are rounded to the nearest ns and have lo = hi. GN_FIT_HULL_LP and GN_FIT_FREEZER allow for
 * granularity and round outward, so they are right wherever their assumption is. Readings of one clock may be
 * 2^61 ticks from the exchanges. Products have 128 bits; long double is only used relative to a point in the
 * middle, and what it loses is on the safe side.
 */
#ifndef GNOMON_BASELINES_FITS_H
#define GNOMON_BASELINES_FITS_H

#include "base/error.h"
#include "clock/bounds.h"
#include "clock/clocks.h"
#include "clock/exchange.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gn_fit_kind {
    /* Duda, Harrus, Haddad & Bernard 1987. The line of least squares through the pairs of readings of all
     * messages, of both directions together. A point. Assumes that delays are alike in both directions. Flaw:
     * where they are not, it is off by half of the difference, and a late message pulls it; nothing is said
     * of the error, and effects may come before their causes. */
    GN_FIT_REGRESSION,

    /* Duda et al. 1987. Messages there lie above the true line and messages back below it; taken is the mean
     * of the steepest and of the flattest line that keep to that. A point. Flaw: nothing is said of the
     * error, which is that of regression where delays differ; and no line at all when the rate has changed.
     */
    GN_FIT_HULL,

    /* Poirier, Roy & Dagenais 2010, the accuracy-reporting hull. Bounds of a reading are its extremes over
     * all lines of that corridor; its authors solve a linear program for each bound of each reading, and so
     * does this (corridor.h). Flaw: its cost; and the same assumption, so that there is no result, or a wrong
     * one, when the rate changes. */
    GN_FIT_HULL_LP,

    /* Scalasca (Becker 2010) and others. Two offsets, each from the shortest round trip of a burst, the first
     * and the last; between them the offset changes linearly. A point. Assumes that delays are alike in both
     * directions. Flaw: nothing is said of the error, and it is blind to what happens between the ends. */
    GN_FIT_TWO_POINTS,

    /*
     * Benavides, Vora & Gupta 2019, sections 3.1, 3.2 and 4.3. The rate lies between two quotients of
     * durations of which, by cause and effect, one contains the other (first and last exchange); the zero is
     * a reading of one clock trapped between two of the other (here of the exchange with the shortest round
     * trip: the paper does not say which, and no other one is better). Readings are taken for exact. Two
     * flaws are kept:
     *
     * The lower bound takes the lower rate and the upper bound the upper one, always (4.3). Before the zero
     * that narrows the interval, and further away turns it around: lo > hi, in this fit only.
     *
     * The zero's interval is one of the child's clock (algorithm 4), but is added on the parent's (4.3): its
     * ticks count as the parent's, too few where that clock ticks faster. By the letter the formula even
     * subtracts a reading of the parent's clock from one of the child's, which does not convert at all; this
     * is the nearest that does, with the middle of the interval for the zero, as 3.2 says.
     */
    GN_FIT_FREEZER_AS_PUBLISHED,

    /* The same, mended: the sign of (reading − zero) decides which rate belongs to which bound; and the lower
     * bound starts from the zero's way back, the upper one from its way there, both on the parent's clock.
     * Flaw: it knows three exchanges only, and a rate that was bounded over a window says nothing of the
     * moments in it when the rate wanders. */
    GN_FIT_FREEZER,

    GN_FIT_KINDS
};

/* What a fit is built from. Only read while it is built. */
struct gn_fit_pair {
    const struct gn_exchange *exchanges; /* in the order of asking */
    size_t count;
    struct gn_clock_def child, parent;
    uint64_t epoch_ticks; /* the parent's reading that is 0 ns */
    unsigned burst;       /* exchanges in the first and in the last burst, 0: 8 */
};

struct gn_fit;

/* "linear regression", … */
const char *gn_fit_name(enum gn_fit_kind kind);

/* Whether it gives bounds; otherwise a point, lo = hi. */
bool gn_fit_has_bounds(enum gn_fit_kind kind);

/* NULL when there is no such fit (too few exchanges, no line has all messages on its right side, no memory):
 * the reason is in err. */
struct gn_fit *gn_fit_new(enum gn_fit_kind kind, const struct gn_fit_pair *pair, struct gn_error *err);
void gn_fit_free(struct gn_fit *fit);

/* ns since the epoch on the parent's time line. Saturates at INT64_MIN and INT64_MAX. */
struct gn_interval gn_fit_convert(const struct gn_fit *fit, uint64_t ticks);

/* count readings in any order. */
void gn_fit_convert_all(const struct gn_fit *fit, const uint64_t *ticks, struct gn_interval *intervals,
                        size_t count);

#endif
