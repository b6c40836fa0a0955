/*
 * agent/sample_moment — what a measured thread was doing at a moment, by its recorder.
 *
 * A call's record says when it was entered and left. So a moment lies inside of a call, or between two of
 * them, and that is the edge of the graph that it belongs to:
 *
 *        enter │ call k │ leave ············ enter │ call k+1 │ leave ···········► now
 *              └ inside ┘       └ from k to k+1 ┘                      └ since k+1: where to is told later
 *
 * In a row of calls of several nodes that take turns nobody knows which of them is on turn. So an edge
 * between two of them is drawn by chance, each as often as it has time in the graph.
 *
 * The ring overwrites itself: of what was too long ago nothing is known, and that is an answer. The memory
 * belongs to a program that may have written nonsense into it; whatever is found there, an answer names nodes
 * that a location can have.
 */
#ifndef GNOMON_AGENT_SAMPLE_MOMENT_H
#define GNOMON_AGENT_SAMPLE_MOMENT_H

#include "image/recorder_ring.h"
#include "image/tag.h"

#include <stdbool.h>
#include <stdint.h>

/* A process's memory. Numbers are our own copies. */
struct gn_recorded {
    struct gn_tag *tag;
    struct gn_ring_segment *rings;
    uint32_t locations, ring_records;
};

enum gn_moment_kind {
    GN_MOMENT_UNKNOWN,
    GN_MOMENT_INSIDE,  /* of node `from` */
    GN_MOMENT_BETWEEN, /* computing from node to node */
    GN_MOMENT_SINCE,   /* computing since node `from`: where to is not known yet */
    GN_MOMENT_ROW /* in a row of calls of node `from` that found nothing: inside of one, or between two */
};

struct gn_sample_moment {
    enum gn_moment_kind kind;
    uint32_t from, to; /* row: what is between two of its calls; of nodes that take turns an edge by chance,
                          as they have time */
    uint32_t within;   /* row: of nodes that take turns one by chance, as they have time */
    uint64_t record, ticks; /* since: the record behind which, and when it was left */
    bool in_row;            /* … which a row of calls that found nothing is to be, that may go on */
};

/* What a location was doing when its counter was `ticks`. */
struct gn_sample_moment gn_sample_moment_at(const struct gn_recorded *recorded, uint32_t location,
                                            uint64_t ticks);

/* Where a moment of kind `since` has led meanwhile: it becomes `between` or `unknown`. False: not yet. */
bool gn_sample_moment_goes_on(const struct gn_recorded *recorded, uint32_t location,
                              struct gn_sample_moment *moment);

#endif
