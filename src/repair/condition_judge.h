/*
 * repair/condition_judge — logical messages that only may exist (event/collective.h), as far as the clocks
 * tell whether they can have: nothing is ever moved for them, so that the times that the clocks showed are
 * all there is to judge by.
 *
 *   begin and end on one clock     the end is not before the begin: held; or it is: not_held
 *
 *   on two clocks that have bounds: latest possible end before earliest possible begin: impossible; else
 * possible
 *
 *   on two clocks otherwise: unknown
 */
#ifndef GNOMON_REPAIR_CONDITION_JUDGE_H
#define GNOMON_REPAIR_CONDITION_JUDGE_H

#include "repair/condition_pairs.h"

struct gn_condition_judge;

/* All outlive it. bounds: of kind BOUNDS; NULL: none are known. NULL: no memory. */
struct gn_condition_judge *gn_condition_judge_new(const struct gn_definitions *definitions,
                                                  const struct gn_presync *bounds,
                                                  struct gn_condition_judged *judged);
/* Adds the pairs, whose sides have raw_ticks. 0 or -ENOMEM. */
int gn_condition_judge(struct gn_condition_judge *judge, const struct gn_pairs *pairs);
void gn_condition_judge_free(struct gn_condition_judge *judge); /* NULL is allowed */

#endif
