/*
 * trace/reader_location — the events of one location of an OTF2 archive, in batches.
 *
 *   library ──a callback per record──► events[]: │ handed out │ ready │ held: a collective_begin … │
 *
 * OTF2's collective_begin does not say which collective begins. So it is held, with all that follows it,
 * until its end comes; at most HELD events, and not beyond the leave of the region that it began in (some
 * tools write begins that have no end).
 */
#ifndef GNOMON_TRACE_READER_LOCATION_H
#define GNOMON_TRACE_READER_LOCATION_H

#include "trace/archive.h"
#include "trace/open_requests.h"
#include "trace/path_stack.h"
#include "trace/reader_definitions.h"

/* What all locations of an archive share. */
struct gn_reader_shared {
    OTF2_Reader *otf2;
    OTF2_EvtReaderCallbacks *callbacks;
    struct gn_definitions *definitions;
    struct gn_reader_maps maps;
    struct gn_trace_report report;
    struct gn_archive archive;
    uint32_t batch;                         /* events read at once */
    uint64_t event_chunk, definition_chunk; /* bytes */
    bool *has_no_numbers;                   /* [location_count] its local definitions are broken */
    bool has_plain_files; /* neither compressed nor in a container: can be looked at without the library */
};

/* A collective that has begun; index: of its begin in events[]. */
struct gn_reader_pending {
    uint32_t index, depth;
    bool is_open;
};

struct gn_reader_location {
    struct gn_reader_shared *shared;
    struct gn_open_requests *requests; /* of the process */
    uint32_t index;                    /* of the definition */
    struct gn_event bare;              /* what all events of this location have in common */
    OTF2_EvtReader *otf2;              /* NULL: not open (yet, at the moment, or any more) */
    uint64_t records;                  /* read so far; where to go on after it has been parked */
    uint64_t limit;                    /* records that there are at most */
    bool has_begun, at_end;            /* at_end: nothing more to read; the last events may still be here */
    bool has_ended;                    /* the process knows */
    bool thread_has_ended;
    bool is_cut; /* counted as truncated */
    struct gn_path_stack entered;
    uint64_t position; /* of the record that is being read, from 1: among all of the file's that are events */
    uint64_t last_ticks;
    uint64_t end_ticks; /* of the trace, where the location's clock is the trace's */
    struct gn_event *events;
    size_t count, handed_out, capacity;
    struct gn_reader_pending mpi, rma;
};

/* The callbacks that turn records into events; NULL: no memory. The caller deletes them. */
OTF2_EvtReaderCallbacks *gn_reader_callbacks(void);

/* Selects all locations and reads their local definitions, which say how events are numbered. */
int gn_reader_select(struct gn_reader_shared *shared, struct gn_error *err);

/* As gn_source's pull. The location must be open unless it is at its end. */
int64_t gn_reader_location_pull(struct gn_reader_location *location, const struct gn_event **events,
                                struct gn_error *err);

/* Opens the event file, and goes to where it was when it was parked. Returns 0 or a negative errno value. A
 * file that is not there is a location at its end. */
int gn_reader_location_open(struct gn_reader_location *location, struct gn_error *err);

/* Gives back the library's memory and file: for ever, or for a while. Events that were handed out stay. */
void gn_reader_location_park(struct gn_reader_location *location);

/* Frees everything but the structure itself. */
void gn_reader_location_close(struct gn_reader_location *location);

#endif
