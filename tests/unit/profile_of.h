/* A profile that gets one process more, as an agent would write it. */
#ifndef PROFILE_OF_H
#define PROFILE_OF_H

#include "graph/process.h"
#include "image/snapshot.h"
#include "profile/profile.h"

#include <errno.h>

static inline int profile_add(sqlite3 *db, const struct gn_process_facts *facts, struct gn_snapshot *snapshot,
                              struct gn_error *err)
{
    struct gn_graph *graph = gn_graph_new();
    int code = graph ? gn_profile_read(db, graph, err) : -ENOMEM;
    if (code == 0)
        code = gn_graph_add_process(graph, facts, snapshot, err);
    if (code == 0)
        code = gn_profile_write(db, graph, err);
    gn_graph_free(graph);
    return code;
}

#endif
