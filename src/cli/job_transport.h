/* cli/job_transport — the processes of the MPI job that gnomon was started in, as a transport. The module
 * that speaks the launcher's MPI (repair/transport_mpi.h) is looked for beside the capture library. */
#ifndef GNOMON_CLI_JOB_TRANSPORT_H
#define GNOMON_CLI_JOB_TRANSPORT_H

#include "base/error.h"
#include "repair/transport.h"

/*
 * Joins the others that the launcher (Open MPI's or MPICH's mpirun, Slurm's srun) has started; without one,
 * or when it started one process only, this is gn_transport_alone and no MPI library is loaded. mpi: as in
 * gn_mpi_library_load; NULL: as the launcher's environment says. Blocks until all have called it.
 *
 * 0, or a negative errno value with err set: no MPI library or no module for it, or processes that were
 * started together do not find each other. An MPI library that fails to start usually ends the job itself.
 */
int gn_job_transport_open(struct gn_transport *transport, const char *mpi, struct gn_error *err);

#endif
