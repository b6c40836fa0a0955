/*
 * image/snapshot — a consistent private copy of a process's task activity graph, taken from outside at any
 * instant without stopping the writer (Sikora 2016, section 3.1.3, "optimistic sampling").
 *
 * Every record is consistent in itself; records may be a few events apart from each other. The memory belongs
 * to another program that may have written nonsense into it: counts and indices are checked here, once, and
 * what cannot be right is left out and counted, so that everybody downstream can rely on the copy.
 */
#ifndef GNOMON_IMAGE_SNAPSHOT_H
#define GNOMON_IMAGE_SNAPSHOT_H

#include "base/error.h"
#include "image/tag.h"

struct gn_location_copy {
    struct gn_location_head {
        uint32_t thread_id, in_use, now_node, now_inside;
        uint64_t now_ticks, first_ticks, past_ticks, events;
        uint64_t sampled_events, sampled_ticks, exact_events, exact_ticks, unwound;
        uint64_t lost_nodes, lost_edges, lost_peers, lost_completions, lost_requests, lost_paths, lost_calls,
            lost_regions;
    } head;
    uint32_t node_count, edge_count, peer_count, completion_count;
    struct gn_tag_node *nodes;
    struct gn_tag_edge *edges;
    struct gn_tag_peer *peers;
    struct gn_tag_completion *completions;
};

struct gn_snapshot {
    struct gn_tag head; /* the fixed part, without modules, frames, sources and names */
    uint32_t module_count, frame_count, source_count, name_count, location_count;
    struct gn_module *modules;
    struct gn_tag_frame *frames;
    struct gn_source_line *sources;
    char (*names)[GN_NAME_BYTES];
    struct gn_location_copy *locations;
    uint64_t retries; /* records read again because the writer was inside */
    uint64_t torn;    /* records whose writer stopped inside (its process was killed): taken as they are */
    uint64_t dropped; /* records with impossible contents, left out */
};

/*
 * Copies `shared`, a mapping of segment_bytes bytes. A record is read again while its writer is inside, per
 * location for patience_ms at most (0: 5000, longer than a thread waits for a processor); then it counts as
 * torn. Caller frees with gn_snapshot_free. Errors: -EPROTO not a segment of this version, -ENOMEM.
 */
int gn_snapshot_take(struct gn_tag *shared, size_t segment_bytes, uint32_t patience_ms,
                     struct gn_snapshot **out, struct gn_error *err);
void gn_snapshot_free(struct gn_snapshot *snapshot);

#endif
