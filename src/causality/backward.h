/*
 * causality/backward — how many messages a given order of events shows as received before they were sent.
 *
 * Shown a sequence of events, it counts sends and receives of each channel (communicator, sender, receiver,
 * tag). Whatever send belongs to whatever receive: a receive that comes when its channel has had no more
 * sends than receives is ahead of its send or has pushed another one ahead of its own. This knows nothing of
 * how the sort matches messages, so it can check it. Channels that are even are forgotten now and then.
 */
#ifndef GNOMON_CAUSALITY_BACKWARD_H
#define GNOMON_CAUSALITY_BACKWARD_H

#include "event/definitions.h"

struct gn_backward;

/* definitions may grow, and outlive it. NULL: no memory. */
struct gn_backward *gn_backward_open(const struct gn_definitions *definitions);
void gn_backward_close(struct gn_backward *backward); /* NULL is allowed */

/* The next event. 1: a receive ahead of its send; 0: anything else; -ENOMEM. */
int gn_backward_see(struct gn_backward *backward, const struct gn_event *event);
/* A receive that was seen turns out to have no send in the trace: its channel does not owe one, and if it
 * counted as backward it does not any more. */
int gn_backward_forgive(struct gn_backward *backward, const struct gn_event *event);

uint64_t gn_backward_receives(const struct gn_backward *backward); /* seen and not forgiven */
uint64_t gn_backward_count(const struct gn_backward *backward);    /* of them ahead of their sends */

#endif
