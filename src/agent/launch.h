/*
 * agent/launch — what launchers have told a process in its environment: who is in front of it, which of how
 * many processes it is.
 *
 * All that are found are kept. An mpirun inside of a batch job leaves the names of both; a program that was
 * started by the launcher of another MPI library was told, and does not understand. Which one holds is
 * decided where it is known what MPI itself says (graph/world.h).
 */
#ifndef GNOMON_AGENT_LAUNCH_H
#define GNOMON_AGENT_LAUNCH_H

#include "image/tag.h"

/* Of a process of the same user, as it was when the program began. Entries without a launcher follow those
 * with one. */
void gn_launches_of(int pid, struct gn_launch launches[GN_LAUNCHES]);

#endif
