/*
 * analyse/levelled — the run if some processes, those that are late, had computed no more than the others,
 * section by section (analyse/sections.h): by replay of its events (analyse/whatif.h).
 *
 * The others are those that do such a section at all: a part of the program that is not theirs says nothing
 * of how long it ought to take. Where no other one does it, it goes.
 */
#ifndef GNOMON_ANALYSE_LEVELLED_H
#define GNOMON_ANALYSE_LEVELLED_H

#include "analyse/sections.h"
#include "analyse/whatif.h"

enum gn_level {
    GN_LEVEL_MEAN, /* the late ones do as much as the mean of the others, where they do more */
    GN_LEVEL_NET, /* … and less of each, so that in all it is what they do more than the others: what they do
                     more here they may do less elsewhere, at another end of the same loop */
    GN_LEVEL_FASTEST, /* … as the one that does least */
    GN_LEVEL_EVEN,    /* where they do more, nobody does more than the mean of all, as the others, who have
                         waited, take the rest; and less of each, so that in all nobody does less than that:
                         what others do may be another end of the same loop */
    GN_LEVEL_GONE,    /* where they do more than the one that does least, nothing */
    GN_LEVEL_HALF,    /* where they do more than the mean of the others, half as much */
    GN_LEVELS
};

/* What goes of each section, at each level. */
struct gn_levels {
    const struct gn_sections *sections;
    float *share; /* [GN_LEVELS * site_count * process_count] */
};

/* late: [process_count]. 0, and the caller closes; or -ENOMEM with err set. */
int gn_levels_open(struct gn_levels *levels, const struct gn_sections *sections, const bool *late,
                   struct gn_error *err);
/* Of one part of what was seen, with the levels of all of it. 0, or -ENOMEM with err set. */
int gn_levels_replay(const struct gn_levels *levels, size_t part, struct gn_whatif_result results[GN_LEVELS],
                     struct gn_error *err);
/* … with each phase's own: levels[phases->count]; what is of no phase stays as it is. */
int gn_levels_replay_phases(const struct gn_levels *levels, const struct gn_late_phases *phases, size_t part,
                            struct gn_whatif_result results[GN_LEVELS], struct gn_error *err);
void gn_levels_close(struct gn_levels *levels);

/* The part if each time in a section had taken base_ns at most. Likewise. */
int gn_levelled_to(struct gn_whatif_result *result, const struct gn_sections *sections, size_t part,
                   size_t site, double base_ns, struct gn_error *err);

#endif
