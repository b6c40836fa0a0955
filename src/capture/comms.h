/*
 * capture/comms — numbers for the communicators and windows of a traced process, and who their members are
 * (image/recorder_ring.h: comms[], windows[]).
 *
 * A communicator gets its number when it is made, in recorded calls and others: the count of those with the
 * same members must be the same in all of them. Handles that were not seen coming (MPI_Comm_get_parent, what
 * an extension of the library makes) have none: to number them at first use would count them differently
 * where two are first used in different order. Nor have those with members outside of MPI_COMM_WORLD.
 *
 * Numbers are looked up without a lock, made and forgotten under one.
 */
#ifndef GNOMON_CAPTURE_COMMS_H
#define GNOMON_CAPTURE_COMMS_H

#include "capture/handle.h"

#include <stdint.h>

/* Takes memory for gn_ring_memory's communicators. 0 or -1. */
int gn_comms_open(void);
/* After MPI_Init: MPI_COMM_WORLD and MPI_COMM_SELF. */
void gn_comms_begin(int rank, int size);

/* Number of a communicator or window, or GN_NONE. Never asks MPI: the handle may be no valid one. */
uint32_t gn_comm_number(gn_handle comm);
uint32_t gn_window_number(gn_handle window);

/* Numbers what a successful call made. `like`: a communicator with the same members, if MPI cannot be asked
 * yet, else 0. The number, or GN_NONE. */
uint32_t gn_comm_define(gn_handle comm, gn_handle parent, gn_handle like);
/* Numbers what stands beside comm with the same members: the starts of a persistent collective. All members
 * make it in the same order, and start it in any: were its starts counted with comm's collectives, these
 * would not be the same ones everywhere. */
uint32_t gn_comm_define_again(gn_handle comm);
uint32_t gn_window_define(gn_handle window, gn_handle comm);

/* The communicators' number that stands for the members of a group, whichever handle it has: no communicator,
 * and counted with none. GN_NONE: there is no room, or not all are of MPI_COMM_WORLD. */
uint32_t gn_group_define(gn_handle group);

/* The handle is about to be freed and may be given out again. */
void gn_comm_forget(gn_handle comm);
void gn_window_forget(gn_handle window);

#endif
