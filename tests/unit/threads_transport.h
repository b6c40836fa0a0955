/* Processes that talk to each other, as threads of one: struct gn_transport without an MPI job. */
#ifndef GNOMON_TESTS_THREADS_TRANSPORT_H
#define GNOMON_TESTS_THREADS_TRANSPORT_H

#include "repair/transport.h"

struct threads_world;

struct threads_world *threads_world_new(uint32_t size);
struct gn_transport threads_transport(struct threads_world *world, uint32_t rank);
void threads_world_free(struct threads_world *world);

#endif
