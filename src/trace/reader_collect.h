/* trace/reader_collect — the global definitions of an OTF2 archive, as they come: nothing is resolved yet. */
#ifndef GNOMON_TRACE_READER_COLLECT_H
#define GNOMON_TRACE_READER_COLLECT_H

#include "base/error.h"
#include "event/definitions.h"
#include "trace/id_map.h"
#include "trace/report.h"

#include <otf2/otf2.h>

/* Definitions of one kind, in the order in which they came; items[ids(id)] is that of an id. */
struct gn_collected_table {
    struct gn_id_map ids;
    size_t count, capacity;
};

/* References are the archive's own; strings are ours already where their table says so. */
struct gn_collected {
    struct gn_definitions *definitions; /* gets the strings */
    struct gn_trace_report *report;
    bool no_memory, too_many_members;
    uint64_t members;     /* of all communicators */
    uint64_t group_turns; /* definitions of groups so far */
    bool has_clock;
    uint64_t ticks_per_second, first_ticks, length_ticks, realtime_ns;

    struct gn_collected_table string_table, node_table, process_table, location_table, region_table,
        source_table, context_table, group_table, comm_table, window_table, attribute_table, parameter_table;
    uint32_t *strings; /* our number */
    struct gn_collected_node {
        uint32_t id, name, class_name, parent;
    } * nodes;
    struct gn_collected_process {
        uint32_t name, node;
    } * processes;
    struct gn_collected_location {
        uint64_t id, events;
        uint32_t name, process;
    } * locations;
    struct gn_collected_region {
        uint32_t name, file, begin_line, end_line;
        uint8_t paradigm, role;
    } * regions;
    struct gn_collected_source {
        uint32_t file, line;
    } * sources;
    struct gn_collected_context {
        uint32_t region, source, parent;
    } * contexts;
    struct gn_collected_group {
        uint8_t type, paradigm;
        uint32_t count;
        uint64_t turn; /* among all definitions of groups: the latest of this id */
        uint64_t *members;
    } * groups;
    struct gn_collected_comm {
        uint64_t group; /* in the table's ids: GN_ID_OF_TEAM of a team's */
        uint32_t name, other_group /* GN_NONE: an intracommunicator */, parent;
    } * comms;
    struct gn_collected_window {
        uint32_t name, comm;
    } * windows;
    struct gn_collected_named {
        uint32_t id, name;
    } * attributes, *parameters;
    uint32_t *domains; /* ids of nodes below which memory is shared */
    size_t domain_count, domain_capacity;
};

/* Reads all of them, limit at most. The caller frees in any case. Returns 0 or a negative errno value. */
int gn_collect(struct gn_collected *collected, OTF2_Reader *otf2, uint64_t limit, struct gn_error *err);
void gn_collected_free(struct gn_collected *collected);

#endif
