/*
 * capture/sessions — who a process is that uses MPI through sessions, where there may be no MPI_COMM_WORLD.
 *
 * Ranks are those of the process set mpi://WORLD, which every library has and which is what MPI_COMM_WORLD
 * would be made of: asking for its group is local. The group is kept for as long as its session lives; it is
 * what ranks of other groups are translated to.
 */
#ifndef GNOMON_CAPTURE_SESSIONS_H
#define GNOMON_CAPTURE_SESSIONS_H

#include "capture/handle.h"

#include <stdbool.h>

/* A session has begun. False: the library does not say who we are. */
bool gn_session_began(gn_handle session, int *rank, int *size);
/* Ahead of MPI_Session_finalize: nothing of ours may be left of it. */
void gn_session_ends(gn_handle session);
/* Its level, of enum MPI_THREAD_…; the highest where it does not say. */
int gn_session_thread_level(gn_handle session);

/* From MPI_Init to MPI_Finalize there is MPI_COMM_WORLD. */
void gn_world_is_there(bool there);
/* Whether MPI has been begun, in whatever way, and not ended. */
bool gn_mpi_is_there(void);

/* Ranks in the world of n ranks of a group; undefined where there is none. False: one is outside, or there is
 * no world to ask. */
bool gn_translate_to_world(gn_handle group, int n, const int *ranks, int *world_ranks);

#endif
