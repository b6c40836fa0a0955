/* Processes that talk to each other, as threads of one: struct gn_transport without an MPI job. */
#ifndef GNOMON_TESTS_THREADS_TRANSPORT_H
#define GNOMON_TESTS_THREADS_TRANSPORT_H

#include "repair/transport.h"

struct threads_world;

struct threads_world *threads_world_new(uint32_t size);
struct gn_transport threads_transport(struct threads_world *world, uint32_t rank);
void threads_world_free(struct threads_world *world);

/* From here on batches are under way for up to so long, each for another time (those from one process to
 * another stay in order), and now and then a process is held up for as long. The seed says which. */
void threads_world_delay(struct threads_world *world, uint32_t most_us, uint64_t seed);

#endif
