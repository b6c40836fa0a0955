/*
 * order_check — says whether a reported sequence of events is in causal order. Knows nothing of how it was
 * sorted: everything is derived from the events as they were pushed, at the end, by sorting three tables.
 *
 *   messages     n-th send of a channel ↔ n-th receive of it in posting order
 *   collectives  n-th begin on a communicator (or window) at each member ↔ the ends that depend on it
 *
 * Not checked, but counted as excused: events that were reported as released or ambiguous, and what counts
 * on events of a location that lost some. A channel that several threads of one process use is skipped.
 */
#ifndef GNOMON_TEST_ORDER_CHECK_H
#define GNOMON_TEST_ORDER_CHECK_H

#include "event/definitions.h"
#include "event/event.h"

#include <stdbool.h>

struct order_check;

struct order_verdict {
    uint64_t pushed, reported;
    uint64_t missing;         /* pushed and not reported */
    uint64_t foreign;         /* reported, but not the next event of its location: too often or too early */
    uint64_t messages;        /* receives compared with their send */
    uint64_t collective_ends; /* ends compared with the begins that they depend on */
    uint64_t receives_before_send; /* violations */
    uint64_t ends_before_begin;    /* violations */
    uint64_t excused;              /* receives and ends that promise no order */
    struct gn_event first_foreign;
};

struct order_check *order_check_new(const struct gn_definitions *definitions);
void order_check_free(struct order_check *check);

/* Every event as it is pushed (in the order of its location), and as it is reported. excused: it says itself
 * that its order is not certain. */
void order_check_pushed(struct order_check *check, const struct gn_event *event);
void order_check_reported(struct order_check *check, const struct gn_event *event, bool excused);

/* Ends the checking; true: no violation. */
bool order_check_finish(struct order_check *check, struct order_verdict *verdict);

/* Whether the end at one rank depends on the begin at another rank. */
bool order_check_depends(unsigned op, uint32_t root, uint32_t end_rank, uint32_t begin_rank);
/* Whether members of this operation may contribute or receive nothing: the v and w variants. */
bool order_check_partial(unsigned op);

#endif
