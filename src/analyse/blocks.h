/*
 * analyse/blocks — a pipeline with smaller blocks: the run if what each rank computes between what it is sent
 * and what it sends on were handed on in so many parts, by replay of its events (analyse/whatif.h).
 *
 * A rank begins when the first part has come, and is done no sooner than one part of its own after the last
 * one has. Each message more costs between nothing, where it is in what is waited for, and four times what a
 * send takes in the median. That work can be divided into parts that are alike is assumed.
 */
#ifndef GNOMON_ANALYSE_BLOCKS_H
#define GNOMON_ANALYSE_BLOCKS_H

#include "analyse/seen.h"
#include "analyse/whatif.h"

enum { GN_BLOCKS_TIMES = 7 }; /* halved: 128 blocks */

/* Of the messages that the calls of some sites, is_of_pipe[seen->site_count], wait for, in one part of what
 * was seen: by how much it is shorter with 2, 4, 8 … blocks in place of each; less than 0 where it is longer,
 * without an end where nobody knows. 0, or -ENOMEM with err set. */
int gn_blocks_find(struct gn_span shorter_ns[GN_BLOCKS_TIMES], const struct gn_seen *seen, size_t part,
                   const bool *is_of_pipe, struct gn_error *err);

#endif
