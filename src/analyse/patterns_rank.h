/* analyse/patterns_rank — what the files of what one rank costs share. Not for anybody else. */
#ifndef GNOMON_ANALYSE_PATTERNS_RANK_H
#define GNOMON_ANALYSE_PATTERNS_RANK_H

#include "analyse/patterns_look.h"

/* How much shorter the run is in replays of it, for those of look->late. */
struct gn_replayed {
    struct gn_span like;  /* with the late ones like the others, in the mean or as the fastest of them */
    struct gn_span mean;  /* … in the mean */
    struct gn_span net;   /* … in all that they compute */
    struct gn_span half;  /* with the late ones twice as fast where they take longer */
    struct gn_span even;  /* with the work spread evenly */
    struct gn_span gone;  /* without that work of the late ones */
    struct gn_span gross; /* like, though they do less elsewhere than the others */
    double chance_ns;     /* by so much the late ones may do more or less in another run */
};
/* What another run would gain is no better known than by chance. */
struct gn_span gn_look_by_chance(const struct gn_replayed *replayed, struct gn_span span);
int gn_look_replay(const struct gn_look *look, struct gn_replayed *replayed, struct gn_error *err);

/* What is gained where those that are late are like the others, or twice as fast. */
void gn_look_tell_gains(const struct gn_look *look, struct gn_problem *problem,
                        const struct gn_replayed *replayed);

/* When those of look->late were the last ones, in the call in which the one that most is waited for was so
 * most. *latest: that one. Returns what of it is certain, s. */
double gn_look_tell_times(const struct gn_look *look, struct gn_problem *problem, uint32_t *latest);
/* What a rank takes in MPI beside waiting, in the mean, s. */
struct gn_between gn_look_own_mpi(const struct gn_look *look);
/* Whether it computes less elsewhere, in the section that differs so: who does what when is the matter then.
 */
bool gn_look_evens_out(const struct gn_look *look, uint32_t process, struct gn_section_difference d);
/* All that is known of a problem of one rank. 0, or -ENOMEM with err set. */
int gn_look_see_rank(const struct gn_look *look, struct gn_problem *problem, struct gn_error *err);

/* patterns_together.c. Likewise. */
int gn_look_at_late_ones(const struct gn_look *look, struct gn_error *err);

/* patterns_group.c */

/* Whether it is late with some others by all that they compute, half of it where nobody else does anything.
 * look->late: those that are as late in all. */
bool gn_look_is_in_group(const struct gn_look *look, uint32_t process);
/* Then the problem is about these. The section in which they take longer than the others by most; below 0:
 * there is none. */
int64_t gn_look_tell_group(const struct gn_look *look, struct gn_problem *problem, uint32_t process);
/* Those of which none is told, though others wait for one. 0, or -ENOMEM with err set. */
int gn_look_add_group(const struct gn_look *look, struct gn_error *err);

#endif
