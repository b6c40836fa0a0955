/* answer/tree_export — the call tree of a profile for programs that draw flame graphs (docs/export.md). */
#ifndef GNOMON_ANSWER_TREE_EXPORT_H
#define GNOMON_ANSWER_TREE_EXPORT_H

#include "profile/summary.h"

#include <stdio.h>

/* Of a summary by tree. "main;solve;relax (heat.c:79) 1234", microseconds of all ranks. 0, or -ENOMEM. */
int gn_tree_collapsed(const struct gn_summary *summary, FILE *out);
/* https://www.speedscope.app/file-format-schema.json, in nanoseconds. 0, or -ENOMEM. */
int gn_tree_speedscope(const struct gn_summary *summary, FILE *out);

#endif
