/* agent/trace_paths — call paths of a trace, from the frames that its events were recorded with to functions,
 * files and lines, which the run's profile has found out already. */
#ifndef GNOMON_AGENT_TRACE_PATHS_H
#define GNOMON_AGENT_TRACE_PATHS_H

#include "base/error.h"
#include "agent/translate.h"

#include <sqlite3.h>

/*
 * Adds the regions of all frames and all paths to translate's definitions. Functions that were inlined are
 * paths of their own; frames of one function that were called from one place become one path. profile: with
 * sites resolved; NULL: functions stay unknown. *map (the caller frees it) says for each of translate's
 * nodes, which is what events refer to, which path it is. 0 or -ENOMEM.
 */
int gn_trace_paths(struct gn_translate *translate, sqlite3 *profile, uint32_t **map, struct gn_error *err);

#endif
