/* answer/tree_export — the call tree of a profile for programs that draw flame graphs (docs/export.md). */
#ifndef GNOMON_ANSWER_TREE_EXPORT_H
#define GNOMON_ANSWER_TREE_EXPORT_H

#include "profile/summary.h"

#include <stdio.h>

/* Of a summary by tree. "main;solve;relax (heat.c:79) 1234", microseconds of all ranks. 0, or -ENOMEM. */
int gn_tree_collapsed(const struct gn_summary *summary, FILE *out);
/* https://www.speedscope.app/file-format-schema.json, in nanoseconds. 0, or -ENOMEM. */
int gn_tree_speedscope(const struct gn_summary *summary, FILE *out);

/* github.com/google/pprof, proto/profile.proto, not compressed, in nanoseconds. 0, or -ENOMEM. */
int gn_tree_pprof(const struct gn_summary *summary, FILE *out);
/* A graph of Hatchet's literal form (hatchet.GraphFrame.from_literal), in seconds. 0, or -ENOMEM. */
int gn_tree_hatchet(const struct gn_summary *summary, FILE *out);

/* "relax (heat.c:79)" */
struct gn_call_node;
void gn_tree_frame_name(const struct gn_call_node *node, char *text, size_t size);

#endif
