/*
 * repair/condition_collectives — the logical messages of collectives, counted. Begins and ends come out of
 * the sort, which says which instance they are of.
 *
 * When all members of an instance have ended it, its logical messages are counted and it is gone: memory
 * follows the instances that are open. A process that ended, or of which something was lost, or of which the
 * sort does not know any more which instances its parts are of, is waited for no longer; its part in what is
 * open then is missing, which is counted. So are the instances that there must be (the most parts of any
 * member) and those of them that all members had a part in and that were checked.
 *
 * Which end depends on which begin: event/collective.h has the table. Whoever sent nothing in a v or w
 * variant is waited for by nobody, and whoever received nothing waits for nobody.
 */
#ifndef GNOMON_REPAIR_CONDITION_COLLECTIVES_H
#define GNOMON_REPAIR_CONDITION_COLLECTIVES_H

#include "causality/order.h"
#include "repair/condition_counts.h"

struct gn_condition_collectives;

/* All outlive it. NULL: no memory. */
struct gn_condition_collectives *gn_condition_collectives_new(const struct gn_definitions *definitions,
                                                              const struct gn_condition_terms *terms,
                                                              struct gn_condition *condition);

/* The next event that the sort reports, as its clock showed it, and its presynchronised ticks; kinds other
 * than begins and ends of collectives are no matter. 0 or -ENOMEM. */
int gn_condition_collectives_event(struct gn_condition_collectives *collectives, const struct gn_event *event,
                                   int64_t ticks, const struct gn_place *place);

/* Nothing of this process can be counted from here on. May be said twice. 0 or -ENOMEM. */
int gn_condition_collectives_leave(struct gn_condition_collectives *collectives, uint32_t process);

/* Whether no instance is open: so it is when all processes have left, unless memory was short. */
bool gn_condition_collectives_all_counted(const struct gn_condition_collectives *collectives);

/* Frees everything (NULL is allowed). What is open is not counted: all processes should have left. */
void gn_condition_collectives_free(struct gn_condition_collectives *collectives);

#endif
