/* cli/mpi_library — the MPI library that belongs to the launcher which started this process. gnomon itself is
 * linked against none, so that one gnomon serves all. */
#ifndef GNOMON_CLI_MPI_LIBRARY_H
#define GNOMON_CLI_MPI_LIBRARY_H

#include "base/error.h"

/*
 * Loads it for all of this process to see. wanted: "openmpi", "mpich", the path of a library, or NULL: as the
 * launcher's environment says. The library beside the launcher is preferred to the system's. Returns 0, or
 * -ENOENT with all that was tried in err.
 */
int gn_mpi_library_load(const char *wanted, struct gn_error *err);

/* The names under which programs of "openmpi" or "mpich" ask for their library, up to a NULL; of anything
 * else NULL. */
const char *const *gn_mpi_library_names(const char *flavour);

/* Of the MPI library that is loaded: "openmpi" or "mpich", which is what others' binary interfaces are like,
 * too; NULL: none is. */
const char *gn_mpi_library_flavour(void);

#endif
