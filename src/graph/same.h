/* graph/same — activities that occur twice in a location: call sites of a library that was unloaded and
 * loaded again. */
#ifndef GNOMON_GRAPH_SAME_H
#define GNOMON_GRAPH_SAME_H

#include "image/snapshot.h"

/* Makes one node of those with the same activity (activities[i]: of node i), and one edge of those between
 * the same two nodes. Nodes keep their places; those that were joined to another are empty. 0 or -ENOMEM. */
int gn_graph_join_same(const uint32_t *activities, struct gn_location_copy *location);

#endif
