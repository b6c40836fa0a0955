/* graph/process_series — which rows of a time series are of a process's graph, by the indices that its image
 * has them at. Their sums are in ticks; what they are of, the comments say. */
#ifndef GNOMON_GRAPH_PROCESS_SERIES_H
#define GNOMON_GRAPH_PROCESS_SERIES_H

#include "graph/series.h"

/* Of a location. */
struct gn_series_location {
    struct gn_series_node {
        uint32_t node; /* row of: count, ticks until the moment, messages, bytes */
        /* rows of ticks, where it is not known yet of which edge they are: */
        uint32_t open;  /* that it has computed since the node */
        uint32_t ahead; /* that it had computed ahead of the node's call, while it is in that */
    } * nodes;          /* by node */
    size_t node_count, node_room;
    uint32_t since; /* the node since which it computed, and how many events there had been, when it was last
                       seen to compute; GN_SERIES_NONE: it never was */
    uint64_t since_events;
    struct gn_series_edge {
        uint32_t from, to;
        uint32_t row; /* of: count, ticks, passages whose cost is exact, that cost in ticks */
    } * edges;        /* by edge */
    size_t edge_count, edge_room;
    struct gn_series_peer {
        uint32_t node, peer; /* peer: as in struct gn_tag_peer */
        uint32_t row;        /* of: messages and bytes sent, and received */
    } * peers;               /* by peer */
    size_t peer_count, peer_room;
    struct gn_series_edge *completions; /* by completion; rows of: count, ticks, ticks ahead */
    size_t completion_count, completion_room;
};

struct gn_series_process {
    const struct gn_series *series;
    struct gn_series_location *locations;
    uint32_t location_count;
    uint32_t *samples; /* by index in struct gn_sampled: rows of: count, time_ns */
    size_t sample_count, sample_room;
};

#endif
