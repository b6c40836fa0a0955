/*
 * agent/last_calls — what a process did last, out of its recorder (image/recorder_ring.h).
 *
 * The memory belongs to a program that has come to a bad end, perhaps by writing where it should not: what
 * cannot be right is left out. That are records of another generation or torn ones, calls that began before
 * the process or ended after it, peers that their communicator does not have.
 */
#ifndef GNOMON_AGENT_LAST_CALLS_H
#define GNOMON_AGENT_LAST_CALLS_H

#include "agent/watched.h"
#include "graph/last_calls.h"

/* The last GN_LAST_CALLS calls of each thread, in *last. now_ticks: none of them was later; one_counter: the
 * process read the same counter as we. Whether drained or not, rings stay as they are. The process may still
 * run. The caller clears *last, also after -ENOMEM. */
int gn_last_calls_take(struct gn_last_calls *last, struct gn_watched *watched, uint64_t now_ticks,
                       bool one_counter);
void gn_last_calls_clear(struct gn_last_calls *last);

#endif
