/*
 * baselines/comparison — gnomon's bounds and the fits of fits.h, side by side on the same exchanges.
 *
 * Every method converts the same readings of the child. A method without bounds has width 0 and is wrong
 * wherever it is not exact to the ns; what compares it with the others is the error of its midpoint and the
 * application's messages: a fast send arrives earlier than the network can carry it (Benavides et al. 2019,
 * section 3.5), an inversion before it was sent.
 */
#ifndef GNOMON_BASELINES_COMPARISON_H
#define GNOMON_BASELINES_COMPARISON_H

#include "baselines/fits.h"

/* A message of the application between the two. */
struct gn_compared_message {
    uint64_t sent_ticks, received_ticks; /* each on the clock of where it happened */
    bool to_parent;                      /* sent by the child */
};

struct gn_comparison_input {
    struct gn_fit_pair pair;
    struct gn_assumption assumption; /* for the bounds of gnomon's that are used by default */

    /* The readings to convert; NULL: GN_COMPARED_READINGS of them, evenly from the first exchange to the
     * last. */
    const uint64_t *readings;
    size_t reading_count;

    /* When the child read `ticks`, in ns since the epoch on the parent's time line: an interval, because a
     * reading lasts for a tick. NULL: not known. */
    struct gn_interval (*truth)(void *context, uint64_t ticks);
    void *truth_context;

    const struct gn_compared_message *messages;
    size_t message_count;
    double least_ns; /* that a message takes; negative: half of the shortest round trip of the exchanges */
};

enum {
    GN_COMPARED_READINGS = 10000,
    GN_COMPARED_METHODS = GN_FIT_KINDS + 3 /* gnomon's A, B and C */
};

struct gn_comparison {
    const char *method;
    bool failed;              /* there is no result, and why is in `problem`; nothing below holds */
    struct gn_error problem;  /* also without failing: an assumption that was refuted */
    bool bounded;             /* gives bounds; otherwise widths are 0 */
    double width_ns;          /* mean of the readings' */
    double exchange_width_ns; /* mean of the smaller one of both child's readings of each exchange */
    bool truth_known;
    double error_ns, error_max_ns; /* of midpoints: mean and largest */
    double outside;                /* share of readings whose truth is outside of their bounds */
    uint64_t fast, inverted;       /* messages */
    double ns_per_reading;         /* time it took to convert */
};

/*
 * Fills rows, one for each method, gnomon's first. Returns 0, or -EINVAL (no exchanges) or -ENOMEM with
 * the reason in err. A method that fails is a row that says so.
 */
int gn_compare(const struct gn_comparison_input *input, struct gn_comparison rows[GN_COMPARED_METHODS],
               struct gn_error *err);

#endif
