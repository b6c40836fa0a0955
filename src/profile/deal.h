/*
 * profile/deal — how an edge's time is dealt to places, as the samples that were taken on it are.
 *
 *   samples (location, edge, place) ──gn_deal_sort──► by edge and location
 *   each location's time on an edge ──gn_deal_count──► what all of them say together (profile/divide)
 *   once more                       ──gn_deal_time───► a piece for each place, and for what no sample is of
 *   the edge as a whole      ──gn_deal_uncertainty───► how far the shares of its places may be off
 */
#ifndef GNOMON_PROFILE_DEAL_H
#define GNOMON_PROFILE_DEAL_H

#include "profile/divide.h"
#include "profile/row_pieces.h"
#include "profile/samples.h"

/* Begins as zeros but for what is said. */
struct gn_edge_dealer {
    struct gn_row_pieces *rows;     /* where the pieces go */
    bool raw;                       /* recording counts, too */
    struct gn_samples samples;      /* as read; sorted: those of what locations did themselves, by location */
    double per_burst;               /* samples */
    struct gn_sample_row *added_up; /* over all locations */
    struct gn_sample_row *in_calls; /* of what locations did inside of calls */
    struct gn_sample_row *counted;  /* of metrics */
    struct gn_sample_row *asleep;   /* where they were found asleep */
    struct gn_sample_row *lines, *native;         /* looks at lines of Python, and outside of it */
    struct gn_sample_row *all_lines, *all_native; /* likewise, over all locations */
    size_t added_up_count, in_call_count, counted_count, asleep_count, line_count, native_count,
        all_line_count, all_native_count;
};

struct gn_dealt_edge {
    struct gn_activity_row range; /* how its row is called where nothing else is known */
    struct gn_edge_sum sum;
    int64_t unseen_ns; /* dealt to what no sample is of */
    int64_t lines_ns;  /* dealt to lines of Python, which have their own doubt */
    int64_t number;    /* of the range among ranges, where these are asked for; negative: none yet */
};

/* Once the samples are read: puts them in order. 0, or -ENOMEM. */
int gn_deal_sort(struct gn_edge_dealer *g);
/* First of each location on the edge: its time there, and how many times it was there. */
void gn_deal_count(const struct gn_edge_dealer *g, struct gn_dealt_edge *edge, int64_t location, int64_t ns,
                   int64_t times, const struct gn_sampled_process *process);
/* Then likewise: divides that time as the location's samples there are, as those of all locations where it
 * has none. What no sample is of has a row of its own. 0, or -ENOMEM. */
int gn_deal_time(struct gn_edge_dealer *g, struct gn_dealt_edge *edge, int64_t location,
                 const struct gn_row_stretch *whole, const struct gn_sampled_process *process);
/* Last of each edge, which took edge_ns in all: edges are sampled independently of each other, so
 * squares add up. */
void gn_deal_uncertainty(struct gn_edge_dealer *g, const struct gn_dealt_edge *edge, int64_t edge_ns);
/* How the row of a place of an edge is called. Its texts are the samples'. */
struct gn_activity_row gn_deal_row(const struct gn_edge_dealer *g, const struct gn_activity_row *range,
                                   int place);
/* Whether it is gnomon's own, and in no row. */
bool gn_deal_is_ours(const struct gn_edge_dealer *g, int place);
/* Processor time that samples say a location used inside of a call. */
int64_t gn_deal_in_call(const struct gn_edge_dealer *g, int64_t activity, int64_t location);
void gn_deal_clear(struct gn_edge_dealer *g);

#endif
