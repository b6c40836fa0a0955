/*
 * answer/report_worlds — the report of a run that is several worlds (graph/world.h): what happened, what
 * worlds there are, and which one it goes on about. Nothing is added up over them.
 */
#ifndef GNOMON_ANSWER_REPORT_WORLDS_H
#define GNOMON_ANSWER_REPORT_WORLDS_H

#include "answer/report.h"
#include "profile/world.h"

/* Ahead of the report of world `shown`. */
void gn_report_worlds(const struct gn_worlds *worlds, const struct gn_world *shown,
                      const struct gn_report_options *options, FILE *out);

/* What happened, in a sentence; empty where there is nothing to be told. */
void gn_report_worlds_why(const struct gn_worlds *worlds, char *text, size_t size);

/* One of them, for programs. */
json_t *gn_report_world_object(const struct gn_world *world);

/* What the summary of one world says of the whole run becomes what it says of this world. */
void gn_report_narrow(struct gn_summary *summary, const struct gn_worlds *worlds,
                      const struct gn_world *world);

#endif
