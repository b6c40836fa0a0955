/*
 * trace/synth — traces with known truth: programs simulated event by event, seen through clocks that are
 * wrong.
 *
 * Each pattern is a small program (who computes how long, who sends what to whom); a simulation in true time
 * gives every event its true instant; each clock domain's clock (offset, rate, wander) turns that into the
 * ticks that the event carries. Everything follows from the seed. Locations are simulated as far as they are
 * pulled, so 10^10 events take no more memory than the window of messages under way.
 */
#ifndef GNOMON_TRACE_SYNTH_H
#define GNOMON_TRACE_SYNTH_H

#include "event/stream.h"

enum gn_wander { GN_WANDER_NONE, GN_WANDER_SINE, GN_WANDER_RAMP, GN_WANDER_STEP };

struct gn_synth_settings {
    const char *pattern; /* a name of gn_synth_patterns() */
    uint32_t locations;  /* 1 … 100000: ranks, one location each */
    uint64_t events;     /* about as many in all, at least one iteration */
    uint64_t
        iterations; /* exactly as many; 0: as events say, which differs where a faster program tests less */
    uint64_t seed;
    uint32_t domains; /* clock domains; ranks are dealt to them in blocks */
    double offset_ns; /* clocks start within ± this of the truth */
    double rate_ppm;  /* and run within ± this of it */
    enum gn_wander wander;
    double wander_ppm; /* amplitude of the rate's wander */
    double wander_period_s;
    double
        latency_ns; /* smallest transfer; each has an exponential delay on top, in the mean as long again */
    double within_latency_ns; /* the same between ranks of one domain; 0: no less than between domains */
    double compute_ns;        /* mean computation between calls */
    double event_ns;          /* between two events of a rank, at least: what recording one takes; 40 */
    double quiet_ns;          /* the program sleeps so long before its first iteration and after its last */
    double imbalance;         /* 0 … 1: share by which ranks differ in their computation */
    double unmatched;         /* 0 … 0.5: share of sends whose receive is missing */
    double lost;              /* 0 … 0.9: share of events that are lost, in bursts */
    const char *fast_region;  /* computes faster than the others by fast_percent at fast_rank (GN_NONE: at all
                                 ranks), everything else and all random numbers being the same; NULL: none */
    uint32_t fast_rank;
    double fast_percent;     /* −10000 … 100; below 0 it is slower */
    bool measured;           /* clocks were compared with the first domain's: gn_synth_measure */
    double measure_error_ns; /* each time to within ± this */
    double measure_period_s; /* as often as this, too; 0: only at the begin and at the end */
};

/* Settings that give a trace: ring, 4 locations, 10^5 events, seed 1, one domain with a perfect clock. */
struct gn_synth_settings gn_synth_defaults(void);
/* The patterns' names and one line about each, ending with {NULL, NULL}. */
struct gn_synth_pattern {
    const char *name, *about;
};
const struct gn_synth_pattern *gn_synth_patterns(void);

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
