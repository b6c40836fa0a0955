/*
 * capture/partitioned — which messages of partitioned communication belong together.
 *
 * MPI_Psend_init and MPI_Precv_init match in the order in which they are made, each with the same
 * communicator, ranks and tag, and never with other messages. From then on the n-th start of one is the n-th
 * of the other, whatever else is started in between. So each pair gets a channel of its own, which looks like
 * a tag: the number that both sides count for themselves, and the tag. Traces have it where they have tags
 * (event/event.h: GN_TAG_PARTITIONED).
 */
#ifndef GNOMON_CAPTURE_PARTITIONED_H
#define GNOMON_CAPTURE_PARTITIONED_H

#include <stdbool.h>
#include <stdint.h>

/* Channel of the next one that is made with these. Counts, so once for each. comm: its number, peer: rank in
 * it. GN_NONE: it cannot be told, because the tag is 2^24 or more, 62 with this tag were made before, or too
 * many different ones are there. */
uint32_t gn_partitioned_tag(uint32_t comm, int peer, int tag, bool receives);

#endif
