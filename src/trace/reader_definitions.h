/*
 * trace/reader_definitions — the global definitions of an OTF2 archive as ours.
 *
 * They may come in any order, twice, and refer to what never comes. So they are all collected first
 * (reader_collect.h), and made into ours once everything is known: parents before children, a rank's number
 * in a communicator to a process. The first definition of an id counts; a team of threads and a communicator
 * may have the same id (eztrace), an event says which of the two it means.
 */
#ifndef GNOMON_TRACE_READER_DEFINITIONS_H
#define GNOMON_TRACE_READER_DEFINITIONS_H

#include "base/error.h"
#include "event/definitions.h"
#include "trace/id_map.h"
#include "trace/report.h"

#include <otf2/otf2.h>

/* From the archive's numbers to our indices, and what gnomon's own additions are called in this archive. */
struct gn_reader_maps {
    struct gn_id_map regions, paths, comms, windows;
    struct gn_id_map groups; /* to a communicator with the same members; others than processes': to none */
    /* attributes and parameter of gnomon's writer; GN_NONE: not in this archive */
    uint32_t attribute_comm, attribute_peer, attribute_tag, attribute_op, attribute_path;
    uint32_t attribute_number, attribute_unordered, attribute_late, attribute_behind;
    uint32_t attribute_polls, attribute_poll_ticks;
    uint32_t parameter_lost, parameter_number, parameter_own_work;
    uint64_t end_ticks; /* of the whole trace; UINT64_MAX: unknown */
};

void gn_reader_maps_free(struct gn_reader_maps *maps);

/* Reads all global definitions, limit at most. definitions is empty; maps is zero, and freed by the caller in
 * any case. Returns 0 or a negative errno value. */
int gn_reader_definitions(OTF2_Reader *otf2, uint64_t limit, struct gn_definitions *definitions,
                          struct gn_reader_maps *maps, struct gn_trace_report *report, struct gn_error *err);

#endif
