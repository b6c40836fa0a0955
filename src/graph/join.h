/* graph/join — graphs of several processes, hosts or runs as one. */
#ifndef GNOMON_GRAPH_JOIN_H
#define GNOMON_GRAPH_JOIN_H

#include "graph/graph.h"

/*
 * Adds all of `part` to `graph`: what is known by a key and is in both is one, processes and what is theirs
 * come behind those that are there. Of what else a known row says, the graph's own counts; a world is as
 * large as either says. 0 or -ENOMEM: then nothing of the part's processes has been added.
 */
int gn_graph_join(struct gn_graph *graph, const struct gn_graph *part, struct gn_error *err);

#endif
