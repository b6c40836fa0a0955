/* synth/patterns — the programs that synth/simulation can run. */
#ifndef GNOMON_SYNTH_PATTERNS_H
#define GNOMON_SYNTH_PATTERNS_H

#include "synth/simulation.h"

const struct gn_pattern *gn_pattern_find(const char *name); /* NULL: there is none */

/* A call on the world communicator that is no collective. */
uint16_t gn_pattern_call(struct gn_sim *sim, const char *name, uint32_t line, uint32_t tag);
/* Makes sim->state of `bytes` bytes with room for a number of doubles behind it, all zero. NULL: no memory,
 * and sim->no_memory is set. */
void *gn_pattern_state(struct gn_sim *sim, size_t bytes, size_t doubles);

/* synth/patterns_grid.c: ranks in 1, 2 or 3 dimensions exchange with their neighbours */
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

/* synth/patterns_multigrid.c */
void gn_multigrid_setup(struct gn_sim *sim);
void gn_multigrid_step(struct gn_sim *sim);

/* synth/patterns_coupled.c */
void gn_coupled_setup(struct gn_sim *sim);
void gn_coupled_step(struct gn_sim *sim);

/* synth/patterns_collective.c */
void gn_collectives_setup(struct gn_sim *sim);
void gn_collectives_begin(struct gn_sim *sim);
void gn_collectives_step(struct gn_sim *sim);
void gn_collectives_finish(struct gn_sim *sim);
void gn_nbc_setup(struct gn_sim *sim);
void gn_nbc_step(struct gn_sim *sim);

#endif
