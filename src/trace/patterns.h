/* trace/patterns — the programs that trace/simulation can run. */
#ifndef GNOMON_TRACE_PATTERNS_H
#define GNOMON_TRACE_PATTERNS_H

#include "trace/simulation.h"

struct gn_pattern {
    struct gn_synth_pattern shown;
    void (*setup)(struct gn_sim *sim);  /* defines calls, makes sim->state; tells by sim->no_memory */
    void (*begin)(struct gn_sim *sim);  /* what the program does before its first iteration; or NULL */
    void (*step)(struct gn_sim *sim);   /* one iteration of all ranks */
    void (*finish)(struct gn_sim *sim); /* what it does after its last one; or NULL */
    uint32_t dimensions, messages;      /* on a grid: how many, and to each neighbour */
    bool split;                         /* has split communicators */
    double unmatched, lost;             /* where the settings have none */
    const char *computes;               /* a region that does, beside "compute"; or NULL */
};

const struct gn_pattern *gn_pattern_find(const char *name); /* NULL: there is none */

/* A call on the world communicator that is no collective. */
uint16_t gn_pattern_call(struct gn_sim *sim, const char *name, uint32_t line, uint32_t tag);
/* Makes sim->state of `bytes` bytes with room for a number of doubles behind it, all zero. NULL: no memory,
 * and sim->no_memory is set. */
void *gn_pattern_state(struct gn_sim *sim, size_t bytes, size_t doubles);

/* trace/patterns_grid.c: ranks in 1, 2 or 3 dimensions exchange with their neighbours */
/* How many ranks there are along each dimension: about as many along all of them. */
void gn_grid_extents(uint32_t *extent, uint32_t count, uint32_t dimensions);
void gn_stencil_setup(struct gn_sim *sim);
void gn_stencil_step(struct gn_sim *sim);
void gn_nonblocking_setup(struct gn_sim *sim);
void gn_nonblocking_step(struct gn_sim *sim);
void gn_persistent_setup(struct gn_sim *sim);
void gn_persistent_begin(struct gn_sim *sim);
void gn_persistent_step(struct gn_sim *sim);
void gn_persistent_finish(struct gn_sim *sim);
void gn_wavefront_setup(struct gn_sim *sim);
void gn_wavefront_step(struct gn_sim *sim);

/* trace/patterns_multigrid.c */
void gn_multigrid_setup(struct gn_sim *sim);
void gn_multigrid_step(struct gn_sim *sim);

/* trace/patterns_collective.c */
void gn_collectives_setup(struct gn_sim *sim);
void gn_collectives_begin(struct gn_sim *sim);
void gn_collectives_step(struct gn_sim *sim);
void gn_collectives_finish(struct gn_sim *sim);
void gn_nbc_setup(struct gn_sim *sim);
void gn_nbc_step(struct gn_sim *sim);

#endif
