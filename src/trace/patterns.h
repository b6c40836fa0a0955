/* trace/patterns — the programs that trace/simulation can run. */
#ifndef GNOMON_TRACE_PATTERNS_H
#define GNOMON_TRACE_PATTERNS_H

#include "trace/simulation.h"

struct gn_pattern {
    struct gn_synth_pattern shown;
    void (*setup)(struct gn_sim *sim);    /* defines calls, makes sim->state; tells by sim->no_memory */
    void (*begin)(struct gn_sim *sim);    /* what the program does before its first iteration; or NULL */
    void (*step)(struct gn_sim *sim);     /* one iteration of all ranks */
    void (*finish)(struct gn_sim *sim);   /* what it does after its last one; or NULL */
    uint32_t dimensions, messages, style; /* of those with a halo; see halo_setup */
    bool split;                           /* has split communicators */
    double unmatched, lost;               /* where the settings have none */
};

const struct gn_pattern *gn_pattern_find(const char *name); /* NULL: there is none */

#endif
