/*
 * repair/condition_teams — the logical messages of threads, as OpenMP has them: from where a team is forked
 * to the begin of each other thread of it, from their ends to where it is joined, and from the begin of each
 * thread in a barrier to the ends of all others. Which events belong together, causality/teams tells. What a
 * process had open when it lost events is counted as far as it goes.
 */
#ifndef GNOMON_REPAIR_CONDITION_TEAMS_H
#define GNOMON_REPAIR_CONDITION_TEAMS_H

#include "repair/condition_counts.h"

struct gn_condition_teams;

/* All outlive it. latency NULL: µ = 0. NULL: no memory. */
struct gn_condition_teams *gn_condition_teams_new(const struct gn_definitions *definitions,
                                                  const struct gn_latency *latency,
                                                  struct gn_condition *condition);

/* The next event of its location, at presynchronised ticks; kinds that are not about teams, or enters and
 * leaves of barriers in them, are no matter. 0 or -ENOMEM. */
int gn_condition_teams_event(struct gn_condition_teams *teams, const struct gn_event *event);

/* Nothing of this process can be counted from here on, nor what is open. May be said twice. 0 or -ENOMEM. */
int gn_condition_teams_leave(struct gn_condition_teams *teams, uint32_t process);

/* Nothing more will come: counts what is open as far as it goes. 0 or -ENOMEM. */
int gn_condition_teams_finish(struct gn_condition_teams *teams);
void gn_condition_teams_free(struct gn_condition_teams *teams); /* NULL is allowed */

#endif
