/*
 * analyse/blocks — a pipeline with smaller blocks: the run if what each rank computes between what it is sent
 * and what it sends on were handed on in so many parts, by replay of its events (analyse/whatif.h).
 *
 * A rank begins when the first part has come, and is done no sooner than one part of its own after the last
 * one has. Each message more costs its two calls. That all parts are alike, and cost nothing else, is
 * assumed.
 */
#ifndef GNOMON_ANALYSE_BLOCKS_H
#define GNOMON_ANALYSE_BLOCKS_H

#include "analyse/seen.h"
#include "analyse/whatif.h"

/* Of the messages that the calls of some sites, is_of_pipe[seen->site_count], wait for, in one part of what
 * was seen; count ≥ 2 blocks instead of each. By how much it is shorter: less than 0 where it is longer. 0,
 * or -ENOMEM with err set. */
int gn_blocks_find(struct gn_span *shorter_ns, const struct gn_seen *seen, size_t part,
                   const bool *is_of_pipe, unsigned count, struct gn_error *err);

#endif
