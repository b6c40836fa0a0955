/* answer/group_name — those that are scored (analyse/scores.h) as people name them. */
#ifndef GNOMON_ANSWER_GROUP_NAME_H
#define GNOMON_ANSWER_GROUP_NAME_H

#include "analyse/scores.h"

const char *gn_scored_name(enum gn_scored by); /* "rank" */
/* The other way round; false: it is none of them. */
bool gn_scored_by(const char *name, enum gn_scored *by);
/* Of the machine that a location runs on, as the trace has it; "": it is not known. */
const char *gn_host_name(const struct gn_definitions *definitions, uint32_t location);
/* "rank 3", "rank 3 thread 1", "host node2": printable. */
void gn_group_name(const struct gn_history *history, const struct gn_groups *groups, enum gn_scored by,
                   uint32_t group, char *text, size_t size);

#endif
