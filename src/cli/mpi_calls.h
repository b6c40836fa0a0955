/* cli/mpi_calls — which calls an MPI library has, compared with those that gnomon knows (event/mpi_api.txt).
 */
#ifndef GNOMON_CLI_MPI_CALLS_H
#define GNOMON_CLI_MPI_CALLS_H

#include <jansson.h>
#include <stdbool.h>

/* Of the library that programs of a flavour ("openmpi", "mpich") would find: {library: path, recorded: how
 * many have a wrapper, alone: how many need none, unknown: [names]}. NULL: there is none. The caller owns it.
 */
json_t *gn_mpi_calls_of(const char *flavour);

/* Whether gnomon has a wrapper for a call, or knows that it needs none. */
bool gn_mpi_call_is_recorded(const char *name);
bool gn_mpi_call_is_left_alone(const char *name);

#endif
