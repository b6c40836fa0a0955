/*
 * answer/clock_report — what is known of the clocks of a run's hosts, as text for a person and as JSON and
 * CSV for programs (docs/clock-report.md).
 *
 * Times between hosts are intervals, so what matters is how wide those are: of one host's clock against the
 * reference's, and, both together, of any two hosts' against each other.
 */
#ifndef GNOMON_ANSWER_CLOCK_REPORT_H
#define GNOMON_ANSWER_CLOCK_REPORT_H

#include "answer/table.h"
#include "profile/clock.h"

#include <stdio.h>

/* Bounds, both included. Infinite: not known. */
struct gn_clock_report_range {
    double lo, hi;
};

/* One clock domain, as a rule a host. */
struct gn_clock_host {
    const struct gn_clock_row *row;
    const struct gn_clock_state *state;
    uint32_t parent; /* index; UINT32_MAX: the reference, or its parent is not known */
    uint64_t first_ticks, at_ticks, last_ticks; /* of the run, in its own readings: begin, middle, end */
    struct gn_interval at;                      /* of at_ticks */
    struct gn_clock_report_range
        rate_ppb; /* by how much faster it is than the reference, beyond what the frequencies say */
    struct gn_clock_report_range
        offset_ns; /* by how much it shows more than the reference, in the middle of the run */
    double least_ns, mean_ns, most_ns; /* how wide the bounds of its readings are during the run */
    double floor_ns; /* how narrow the exchanges allow them to be, from here to the reference; < 0 unknown */
};

/* Two of them: what is known of b's clock against a's. */
struct gn_clock_pair {
    uint32_t a, b;
    struct gn_clock_report_range offset_ns; /* b's reading less a's, in the middle of the run */
    struct gn_clock_report_range rate_ppb;  /* by how much faster b's is, beyond what the frequencies say */
    double mean_ns, most_ns;                /* widths of both together */
};

struct gn_clock_report {
    struct gn_assumption assumption;
    struct gn_clock_host *hosts;
    uint32_t count, machines;    /* clocks, and hosts that they are on */
    struct gn_clock_pair *pairs; /* of clocks that are reached, the worst first */
    size_t pair_count;
    uint32_t unreached, refuted; /* clocks */
    double elapsed_s;            /* of the reference */
    int64_t missing_ranks;       /* of the run: not in the profile, and so their hosts' clocks */
    bool from_trace;             /* bounds come from the program's own messages: */
    uint64_t messages, collectives, uncertain, exchanged; /* used, used, left out; gnomon's own among them */
    char folder[4096];                                    /* the run's, empty: there is none */
    double most_ns,
        mean_ns; /* times of any two can be compared to ± this; < 0: there is nothing to compare */
};

struct gn_clock_report_options {
    bool pairs; /* all pairs, not only a few */
    bool kept;  /* say where the report's folder is */
    struct gn_terminal terminal;
};

/*
 * Solves the clocks under the assumption. rows: one for each domain, domain 0 the reference. clocks and rows
 * must stay while the report is in use. 0, or negative errno; then there is nothing to clear.
 */
int gn_clock_report_make(struct gn_clock_report *report, struct gn_clocks *clocks,
                         const struct gn_clock_row *rows, const struct gn_assumption *assumption,
                         struct gn_error *err);
void gn_clock_report_clear(struct gn_clock_report *report);

void gn_clock_report_text(const struct gn_clock_report *report, const struct gn_clock_report_options *options,
                          FILE *out);
int gn_clock_report_json(const struct gn_clock_report *report, FILE *out);
/* One line for each pair. 0, or -ENOMEM. */
int gn_clock_report_csv(const struct gn_clock_report *report, FILE *out);

/* Its pairs, as text and as CSV. */
struct gn_table gn_clock_pairs(const struct gn_clock_report *report);

/* Whether times of every two clocks that are reached can be compared: of one clock, and where no width is
 * known or it is years, they cannot. */
bool gn_clock_report_comparable(const struct gn_clock_report *report);

/* 0, or 1: something that was assumed is refuted, a host's clock could not be reached, or nothing can be
 * compared. */
int gn_clock_report_status(const struct gn_clock_report *report);

#endif
