/*
 * trace/writer — an OTF2 archive from events: what gnomon writes, for anybody who reads OTF2.
 *
 * Events may come for any location in any order between locations. Definitions are written at the end, so a
 * live source may still add to them; everything written until then is on disk at the latest a few seconds
 * after gn_trace_flush, and is a readable archive as soon as somebody (gn_trace_finish, or another process
 * after this one died) has written the definitions beside it.
 */
#ifndef GNOMON_TRACE_WRITER_H
#define GNOMON_TRACE_WRITER_H

#include "event/stream.h"
#include "trace/local.h"

struct gn_trace_writer;

/*
 * Creates the folder (which must not exist or be empty) with an archive folder/traces.otf2 to come in it.
 * Returns 0 or a negative errno value.
 */
int gn_trace_create(struct gn_trace_writer **writer, const char *folder, struct gn_error *err);

/* Goes on with the archive of a writer that died, which has no definitions yet: in the folder that it made.
 */
int gn_trace_create_again(struct gn_trace_writer **writer, const char *folder, struct gn_error *err);

/* Of that: location `index` has its first `events` events, and what is behind them is cut off; ahead of the
 * first gn_trace_write for it. -ENODATA: it has not so many. */
int gn_trace_go_on(struct gn_trace_writer *writer, uint32_t index, uint64_t file_id, uint64_t events,
                   struct gn_error *err);

/* Has the event files of at most so many locations mapped at a time, 1 or more; 16384 if not said, so that
 * there may be more locations than mappings in a process. */
void gn_trace_map_at_most(struct gn_trace_writer *writer, size_t most);

/* Writes one event of location event->location. file_id is what the archive will call the location (OTF2's
 * location reference); it must be the same at each event of a location, and in the definitions at the end.
 * Timestamps that go backward within a location are written as the one before. */
int gn_trace_write(struct gn_trace_writer *writer, uint64_t file_id, const struct gn_event *event,
                   struct gn_error *err);

/* Has the operating system start writing what is new to the disk. What gn_trace_write returned from is in the
 * operating system's hands anyway: this is for a machine that stops, not for a process that is killed. */
int gn_trace_flush(struct gn_trace_writer *writer, struct gn_error *err);

/* Writes the definitions and closes the archive; the writer is gone in any case. */
int gn_trace_finish(struct gn_trace_writer *writer, const struct gn_definitions *definitions,
                    struct gn_error *err);
/* The same, when events of all locations were written with numbers of their own. */
int gn_trace_finish_mapped(struct gn_trace_writer *writer, const struct gn_definitions *definitions,
                           const struct gn_trace_local *local, struct gn_error *err);
/* The same, with what is each location's own: locals[i] of location i, or NULL. */
int gn_trace_finish_each(struct gn_trace_writer *writer, const struct gn_definitions *definitions,
                         const struct gn_trace_local *const *locals, struct gn_error *err);
/* Gives up: what is on disk stays. */
void gn_trace_abandon(struct gn_trace_writer *writer);

/*
 * Makes an archive of what a writer that died left in its folder: ends each event file behind its last whole
 * event, and writes the definitions. A location without an event file gets an empty one. May be done again.
 * Not while a writer is writing. Returns 0 or a negative errno value.
 */
int gn_trace_recover(const char *folder, const struct gn_definitions *definitions, struct gn_error *err);
/* The same, with what is each location's own: locals[i] of location i, or NULL. */
int gn_trace_recover_mapped(const char *folder, const struct gn_definitions *definitions,
                            const struct gn_trace_local *const *locals, struct gn_error *err);

#endif
