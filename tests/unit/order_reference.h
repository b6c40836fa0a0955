/*
 * order_reference — by definition, what a sort may have reported and must still keep after some of an
 * execution's events have been pushed. Everything is computed anew from the beginning, by looking at all
 * events: slow, and obviously right.
 *
 *   A receive's send is known once no request that its location posted earlier, and that might have taken
 *   the message, is open. A begin's instance is known once it and all begins before it at its location say
 *   their communicator (those of RMA: their window), themselves or by their end.
 *   An event is reported when it and everything it depends on is pushed, known and reported; or will never
 *   be pushed, because the process it would come from has ended.
 *   An event is kept while it is not reported, or while a successor may still come: the next event of its
 *   location, the receive of a send, the ends that may depend on a begin.
 */
#ifndef GNOMON_TEST_ORDER_REFERENCE_H
#define GNOMON_TEST_ORDER_REFERENCE_H

#include "order_execution.h"

struct reference {
    const struct execution *x;
    size_t pushed[MAX_LOCATIONS]; /* how many events of each location */
    bool ended[MAX_LOCATIONS];
    /* results */
    size_t reported[MAX_LOCATIONS]; /* of each location that many, the first ones */
    uint64_t nodes, unreported;
    struct reference_tables *tables;
};

int reference_open(struct reference *reference, const struct execution *execution);
void reference_close(struct reference *reference);

/* Computes the results for what is pushed and ended. */
void reference_compute(struct reference *reference);

/* After compute. What an event depends on besides the event before it: how many, in where[]; -1 while
 * something is missing or not known. *released: something will never come. */
int reference_predecessors(const struct reference *reference, uint32_t location, size_t index,
                           struct where where[MAX_PROCESSES], bool *released);

/* After compute. Messages that are known completely; sends without a receive, receives without a send;
 * instances of collectives with all their ends, and the others. */
struct reference_counts {
    uint64_t messages, unmatched_sends, unmatched_receives, collectives, incomplete_collectives;
};
struct reference_counts reference_counts(const struct reference *reference);

#endif
