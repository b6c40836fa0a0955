/*
 * analyse/seen — what was seen of who waited for whom in a run: in all of its events (a trace: one part) or
 * in windows of them (agent/windows.h: a part each), which stand for the rest.
 *
 * What is asked of each part becomes one of the run here (analyse/estimate.h): windows begin at random, each
 * stands for the time until the next one begins, and what is waited in calls is in proportion to the time in
 * them. Where all was seen nothing is estimated.
 */
#ifndef GNOMON_ANALYSE_SEEN_H
#define GNOMON_ANALYSE_SEEN_H

#include "analyse/estimate.h"
#include "analyse/history.h"
#include "analyse/waits.h"
#include "base/lookup.h"
#include "event/kept_window.h"

enum { GN_SEEN_MARGIN = 5 /* of a window, at each end: it is looked at, and not counted */ };

struct gn_seen_part {
    struct gn_history history;
    struct gn_waits waits;
    struct gn_kept_window window;  /* that it is of; 0, 0: of all of the run */
    struct gn_kept_window counted; /* the part of it in which waits count; likewise */
    double slowed;                 /* what was measured took so many times as long as in the history: ≥ 1 */
    double length_ns, counted_ns;  /* between MPI_Init and MPI_Finalize; … where waits count */
    double weight, counted_weight; /* of what it stands for, so many times as long */
};

/* Calls of one kind from one line, by whoever: what was waited there is in proportion to the time in them,
 * and of that the profile knows how much there was, however rare the long ones are. */
struct gn_seen_site {
    uint32_t region, source_file, line;
    double *each_ns;  /* [parts] in such calls, where waits count; of all locations */
    double untold_ns; /* of all that: in those of which nothing tells whom they waited for */
    struct gn_sizes sizes;
    struct gn_estimate waited;
    struct gn_span part; /* … of the part that is added just now */
    double total_ns;     /* in the whole run; 0: not known, and the parts' lengths have to do */
    bool is_polled;      /* calls that come back at once: what lies between is waited, too */
};

/* What a process computes after the calls of a site, in all of the run: exactly. */
struct gn_seen_after {
    double ns, times;
};

struct gn_seen {
    const struct gn_definitions *definitions;
    struct gn_seen_part *parts; /* [count] in their order in time */
    size_t count;
    size_t windows;                   /* that they are of; 0: each is one */
    double covered_ns;                /* by all of them together */
    struct gn_sizes lengths, counted; /* of the parts */
    double run_ns;                    /* from MPI_Init to MPI_Finalize; what the parts stand for */
    double gone_ns;                   /* by measuring, of that: most likely */
    struct gn_span gone; /* by measuring, of that: at least, at most; run_ns has what is most likely */
    double measured_ns;  /* … as measured: longer, where histories are in virtual time */
    bool is_whole;       /* there is one, and nothing is left out */
    const struct gn_kept_window *off; /* [off_count] nobody wanted windows then: they say nothing of it */
    size_t off_count;
    double off_ns;                /* of run_ns */
    struct gn_kept_window period; /* the part of the run that they stand for; 0, 0: all of it */
    struct gn_seen_site *sites;   /* [site_count] */
    struct gn_seen_after *after;  /* [site_count * process_count] from the profile; NULL: not known */
    size_t site_count, site_capacity;
    struct gn_lookup site_index;
};

/* What a part is of, in the time of its history, which is there. window: as measured; NULL: all of the run.
 * Waits count in a part of a window only: one that ends in it may be for what was sent just before it, or by
 * a call that is left just after it; near its ends, where others were left out, there would be too few. */
void gn_seen_set_window(struct gn_seen_part *part, const struct gn_definitions *definitions,
                        const struct gn_kept_window *window);

/* Takes the parts' lengths together, and finds the sites; parts, with their windows, and measured_ns are
 * there. The sites' total_ns can be set then. 0 or -ENOMEM. */
int gn_seen_measure(struct gn_seen *seen);

/* Whether any of it is in virtual time. */
bool gn_seen_is_virtual(const struct gn_seen *seen);

/* Of a location's time, what measuring took of it in what was seen: the largest share; 0: as measured. */
double gn_seen_own_share(const struct gn_seen *seen);

/* By how many ns calls of each site by each process are shorter in virtual time than as measured, all of the
 * run's: [process * site_count + site]. Below 0: they wait longer, as they come sooner. NULL: no memory. The
 * caller frees. */
double *gn_seen_gone(const struct gn_seen *seen);

/* Of the whole run: each[part] is what was found there, 0 ≤ lo_ns ≤ hi_ns. hi_ns has no end where nobody
 * knows. */
struct gn_span gn_seen_total(const struct gn_seen *seen, const struct gn_span *each);
/* Likewise of what was found in the counted calls of a site: sites[site]. */
struct gn_span gn_seen_at_site(const struct gn_seen *seen, size_t site, const struct gn_span *each);
/* Of the calls with that region from there; -1: none was counted. */
int64_t gn_seen_site_of(const struct gn_seen *seen, uint32_t region, uint32_t path);
/* Whether what is found in a call of the part stands for others. */
bool gn_seen_counts(const struct gn_seen *seen, size_t part, const struct gn_call *call);
/* What was waited at a site; *most_likely: in between. */
struct gn_span gn_seen_waited(const struct gn_seen *seen, const struct gn_seen_site *site,
                              double *most_likely);

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
    struct gn_span caused;           /* of the run */
    double seen_ns, squares;         /* sum, and of the squares of each, ns², weighted as the parts are */
    uint64_t times;                  /* it was surely the last one */
    uint64_t calls;                  /* as were seen, of the location that has made the most, weighted */
    uint64_t first, last, steps, of; /* struct gn_cause; of one part that is the whole run, else 0 */
};

/* Likewise. */
int64_t gn_seen_causes(const struct gn_seen *seen, struct gn_seen_cause **list);

void gn_seen_clear(struct gn_seen *seen); /* the parts, too */

#endif
