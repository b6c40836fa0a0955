/*
 * analyse/seen — what was seen of who waited for whom in a run: in all of its events (a trace: one part) or
 * in windows of them (agent/windows.h: a part each), which stand for the rest.
 *
 * What is asked of each part becomes one of the run here: the sum, in proportion to the time that the parts
 * cover. Its error is the one that the parts' own differences tell (a ratio estimate from a random sample of
 * clusters, with Student's t for as few as there are): windows begin at random. It is 0 where all was seen.
 */
#ifndef GNOMON_ANALYSE_SEEN_H
#define GNOMON_ANALYSE_SEEN_H

#include "analyse/history.h"
#include "analyse/waits.h"

struct gn_seen_part {
    struct gn_history history;
    struct gn_waits waits;
    double length_ns;
};

struct gn_seen {
    const struct gn_definitions *definitions;
    struct gn_seen_part *parts; /* [count] in their order in time */
    size_t count;
    double covered_ns; /* the parts' lengths */
    double run_ns;     /* from MPI_Init to MPI_Finalize; what the parts stand for */
    bool is_whole;     /* nothing, or next to nothing, is left out */
};

/* Takes the parts' lengths together; parts and run_ns are there. */
void gn_seen_measure(struct gn_seen *seen);

/* Of the whole run: each[part] is what was found there, lo_ns ≤ hi_ns. Of a single part that is not the whole
 * run nobody knows how it differs from the rest: lo_ns is no more than what was seen, hi_ns has no end. */
struct gn_span gn_seen_total(const struct gn_seen *seen, const struct gn_span *each);

/* An edge of all parts. */
struct gn_seen_edge {
    struct gn_wait_edge edge; /* times, certain: as often as it was seen */
    struct gn_span waited;    /* of the run */
};

/* All edges, the longest first; the caller frees *list. Returns how many, or -ENOMEM. */
int64_t gn_seen_edges(const struct gn_seen *seen, struct gn_seen_edge **list);

/* Who made others wait in a call, over all parts. */
struct gn_seen_cause {
    uint32_t process; /* that was waited for */
    uint32_t call_region, call_path;
    struct gn_span caused;    /* of the run */
    double seen_ns, squares;  /* as it was seen: sum, and of the squares of each, ns² */
    uint64_t times;           /* it was surely the last one */
    uint64_t first, last, of; /* struct gn_cause; of one part that is the whole run, else 0 */
};

/* Likewise. */
int64_t gn_seen_causes(const struct gn_seen *seen, struct gn_seen_cause **list);

void gn_seen_clear(struct gn_seen *seen); /* the parts, too */

#endif
