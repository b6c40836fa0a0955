/*
 * repair/transport_mpi — the processes of an MPI job as a transport.
 *
 * gnomon is linked with no MPI, and MPI libraries differ in their binary interface: this is built once per
 * flavour as a module, which finds MPI's functions in the library that is loaded before it
 * (cli/job_transport). What it is made of:
 *   - batches: MPI_Isend of a copy, some at a time; what is more waits in a queue for its turn, so that the
 *     library never has to search through many. Whoever waits for anything moves this on;
 *   - a settlement: sums go up a binary tree of the processes and the result goes down again, as messages of
 *     their own tag. (With MPI_Iallreduce it would be left to the library how many messages that takes: of
 *     simulated ones it is the square of the processes.);
 *   - waiting: asks again and again, at first at once, then letting others run in between, then after naps
 *     that get longer up to 200 us. MPI's own waiting takes a whole core, which is somebody else's where
 *     there are more processes than cores.
 *
 * With GNOMON_SIMULATED_TIME it is for SimGrid's SMPI. There each question is an event of the simulation, so
 * waiting is left to MPI: receives are posted, and MPI_Waitany says which came. A timeout above 0 then never
 * runs out: where something is missing, the simulation ends with a deadlock. Batches are at most
 * GN_TRANSPORT_MOST_SIMULATED bytes, and below smpi/send-is-detached-thresh: they are sent by MPI_Send, which
 * must not wait for the receiver.
 *
 * All calls come from one thread.
 */
#ifndef GNOMON_REPAIR_TRANSPORT_MPI_H
#define GNOMON_REPAIR_TRANSPORT_MPI_H

#include "base/error.h"
#include "repair/transport.h"

enum { GN_TRANSPORT_MOST_SIMULATED = 256 * 1024 };

/* Joins the job: MPI_Init_thread if that has not been called, and then MPI_Finalize in close. 0, or a
 * negative errno value with err set: then nothing is left to close. */
__attribute__((visibility("default"))) int gn_transport_mpi_open(struct gn_transport *transport,
                                                                 struct gn_error *err);

#endif
