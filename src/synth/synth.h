/*
 * synth/synth — traces with known truth: programs simulated event by event, seen through clocks that are
 * wrong.
 *
 * Each pattern is a small program (who computes how long, who sends what to whom); a simulation in true time
 * gives every event its true instant; each clock domain's clock (offset, rate, wander) turns that into the
 * ticks that the event carries. Everything follows from the seed. Locations are simulated as far as they are
 * pulled, so 10^10 events take no more memory than the window of messages under way.
 */
#ifndef GNOMON_SYNTH_SYNTH_H
#define GNOMON_SYNTH_SYNTH_H

#include "event/stream.h"
#include "synth/settings.h"

/* Settings that give a trace: ring, 4 locations, 10^5 events, seed 1, one domain with a perfect clock. */
struct gn_synth_settings gn_synth_defaults(void);

/* 0, or -EINVAL or -ENOMEM with err set. */
int gn_synth_open(struct gn_source *source, const struct gn_synth_settings *settings, struct gn_error *err);
/* True times, in ns since the simulation's begin, of the events that the last pull of this location gave. */
const double *gn_synth_truth(const struct gn_source *source, uint32_t location);
/* After all events were pulled, where clocks were measured: puts the clock offsets that a tool would have
 * found into the source's definitions, and when the trace begins and ends on the first domain's clock.
 *   - measure_period_s 0: two offsets, at the first and at the last event of the domain, whose deviation is
 *     the error. What the clock does in between nobody knows.
 *   - otherwise they are guaranteed bounds (definitions->clock_bounds, docs/trace-format.md).
 * 0, or -ENOMEM with err set. */
int gn_synth_measure(struct gn_source *source, struct gn_error *err);
/* Events simulated and not yet pulled: what memory follows. */
uint64_t gn_synth_waiting(const struct gn_source *source);

#endif
