/*
 * causality/order — the on-the-fly topological sort (Kimelman & Zernik): events of many locations come in as
 * they are delivered and go out in causal order, each as soon as all its predecessors are out.
 *
 * Predecessors of an event are the event before it at its location, and
 *   - of a receive: its send (causality/match.h says which);
 *   - of a collective's end: the begins that its data, or a barrier, depend on. One node in between stands
 * for an instance of a collective, so N ranks cost N and not N².
 *
 * An event is reported inside the very push that made it eligible. What is kept of it afterwards is a few
 * words for successors that have not arrived, gone when the last of them has. The number of nodes of the
 * paper's graph is counted exactly (gn_order_stats), though most events never become one in memory: one that
 * finds its location's queue empty and waits for nobody goes straight through.
 *
 * What one push sets free comes out in the order in which locations became able to go on, each followed by
 * what it had waiting: deterministic, whatever memory looks like.
 *
 * Nothing waits for ever. A location that ended, or lost events, releases whatever waits for it; such events
 * come out marked (GN_PLACE_RELEASED) and are counted. Memory follows the window, not the trace.
 */
#ifndef GNOMON_CAUSALITY_ORDER_H
#define GNOMON_CAUSALITY_ORDER_H

#include "base/error.h"
#include "event/definitions.h"
#include "event/event.h"
#include "event/place.h"

#include <stdbool.h>
#include <stddef.h>

struct gn_order;

struct gn_order_sink {
    void *self;
    /* event and place are valid until it returns; it does not call the sort that it is called by. 0, or a
     * negative errno value, which the push that led here returns; the sort then takes no more. */
    int (*report)(void *self, const struct gn_event *event, const struct gn_place *place);
};

struct gn_order_settings {
    bool adjust;  /* fill place.ticks by the paper's section 2.6; else place.ticks is the event's own */
    bool in_time; /* the events of a process's locations are pushed in the order of their times: then nothing
                     waits until it is known what the other locations did before (threads.c) */
    bool is_live; /* a location that has not communicated so far is not waited for to that end, others for
                     `patience` events of their process, or as many of each location of the run (else: a
                     hundred times as many). What is counted without them is marked ambiguous, unless it has
                     numbers */
    uint32_t
        patience; /* events of a location that may pile up while an open request is in the way of a
                     receive that has completed; and, a hundred times as many, while all open requests are
                     known to be for one channel each, or while it is unclear which instance a nonblocking
                     collective is. 0: a default. Then the open ones are passed
                     over, and what they held up is marked ambiguous. Mostly traces that do not say what
                     a request was for make use of it. */
};

struct gn_order_stats {
    uint64_t pushed, reported;
    uint64_t nodes, unreported; /* the paper's figure 3, now: "Total" and "Unreported" */
    uint64_t nodes_max, unreported_max;
    double nodes_sum, unreported_sum; /* over all pushes: mean = sum / pushed */
    uint64_t messages;                /* receives reported with their send */
    uint64_t collectives;             /* instances of which all ends were reported */
    uint64_t unmatched_sends, unmatched_receives, incomplete_collectives;
    uint64_t released, ambiguous; /* events reported with that mark */
    uint64_t lost;                /* as lost events say */
    uint64_t adjusted;            /* events whose time moved */
    uint64_t contradictions;      /* events that fit no definition or no earlier event: taken as local ones */
};

/* definitions may grow while events come in, and outlive the sort, as sink->self does; *settings (NULL: none)
 * and *sink are copied. 0: *order is the caller's, to be closed; -ENOMEM with err set: it is not set. */
int gn_order_open(struct gn_order **order, const struct gn_definitions *definitions,
                  const struct gn_order_settings *settings, const struct gn_order_sink *sink,
                  struct gn_error *err);
/* Reports nothing more: see gn_order_finish. NULL is allowed. */
void gn_order_close(struct gn_order *order);

/* The next event of event->location, of which a copy is kept where it has to wait. 0; -EINVAL (a location
 * that is not defined or has ended; nothing changed); -ENOMEM, or what the sink returned: then, and from then
 * on. */
int gn_order_push(struct gn_order *order, const struct gn_event *event);

/* The same for delivery that is not FIFO: sequence counts a location's events from 0. Events that come early
 * are kept, however many, until those before them have come, or the location ends: numbers that have not come
 * by then become LOST events. -EEXIST: this number was there already; nothing changed. A location is pushed
 * with numbers or without. */
int gn_order_push_numbered(struct gn_order *order, const struct gn_event *event, uint64_t sequence);

/* The location has no more events: it finished, or died. This and the next return what a push does. */
int gn_order_end(struct gn_order *order, uint32_t location);
/* All have ended. Afterwards everything that was pushed has been reported. */
int gn_order_finish(struct gn_order *order);

/* As of now; valid until the sort is closed, brought up to date by each call. */
const struct gn_order_stats *gn_order_stats(struct gn_order *order);

#endif
