/* graph/process_series — which rows of a time series are of a process's graph, by the indices that its image
 * has them at. Their sums are in ticks; what they are of, the comments say. */
#ifndef GNOMON_GRAPH_PROCESS_SERIES_H
#define GNOMON_GRAPH_PROCESS_SERIES_H

#include "graph/series.h"

/* Of a location. */
struct gn_series_location {
    struct gn_series_node {
        uint32_t node; /* row of: count, ticks until the moment, messages, bytes */
        uint32_t
            open; /* …: ticks that it has computed since the node, where it is not known yet what follows */
    } * nodes;    /* by node */
    size_t node_count, node_room;
    struct gn_series_edge {
        uint32_t from, to;
        uint32_t row; /* of: count, ticks, passages whose cost is exact, that cost in ticks */
    } * edges;        /* by edge */
    size_t edge_count, edge_room;
};

struct gn_series_process {
    const struct gn_series *series;
    struct gn_series_location *locations;
    uint32_t location_count;
    uint32_t *samples; /* by index in struct gn_sampled: rows of: count, time_ns */
    size_t sample_count, sample_room;
};

#endif
