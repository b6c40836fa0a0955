/* synth/settings — which program is simulated, on what machine, seen through which clocks. */
#ifndef GNOMON_SYNTH_SETTINGS_H
#define GNOMON_SYNTH_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

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
    double own_work_ns; /* measuring costs each MPI call so much at most: a rank has a random share of it, a
                           call a random part of that, before it and behind it; events tell it (own_work) */
    double quiet_ns;    /* the program sleeps so long before its first iteration and after its last */
    double imbalance;   /* 0 … 1: share by which ranks differ in their computation */
    double unmatched;   /* 0 … 0.5: share of sends whose receive is missing */
    double lost;        /* 0 … 0.9: share of events that are lost, in bursts */
    const char *fast_region; /* computes faster than the others by fast_percent at fast_rank (GN_NONE: at all
                                ranks), everything else and all random numbers being the same; NULL: none */
    uint32_t fast_rank;
    double fast_percent;     /* −10000 … 100; below 0 it is slower */
    bool measured;           /* clocks were compared with the first domain's: gn_synth_measure */
    double measure_error_ns; /* each time to within ± this */
    double measure_period_s; /* as often as this, too; 0: only at the begin and at the end */
};

/* A pattern's name, and one line about it. */
struct gn_synth_pattern {
    const char *name, *about;
};
/* All of them, ending with {NULL, NULL}. */
const struct gn_synth_pattern *gn_synth_patterns(void);

#endif
