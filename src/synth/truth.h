/*
 * synth/truth — the true times of a simulated trace's events, in a file beside the archive:
 * docs/true-times.md. Written as a stream; each block has a run of events of one location.
 */
#ifndef GNOMON_SYNTH_TRUTH_H
#define GNOMON_SYNTH_TRUTH_H

#include "base/error.h"

#include <stdint.h>

struct gn_truth;

/* Creates folder/true-times. 0 or a negative errno value with err set. */
int gn_truth_create(struct gn_truth **truth, const char *folder, struct gn_error *err);
/* The next `count` events of a location (as the archive calls it) happened at these times. 0 or a negative
 * errno value with err set. */
int gn_truth_write(struct gn_truth *truth, uint64_t file_id, const double *true_ns, uint64_t count,
                   struct gn_error *err);
/* Writes what is buffered; *truth is gone in any case. 0 or a negative errno value with err set. */
int gn_truth_finish(struct gn_truth *truth, struct gn_error *err);

#endif
