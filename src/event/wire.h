/*
 * event/wire — events of a running program through a pipe, a socket or a file: the gnomon event stream
 * (docs/event-stream.md describes every byte).
 *
 *   header │ record record …          record: type, length, payload
 *
 * Records are definitions, batches of 64-byte events of one location with the number of the first, and marks:
 * which locations this stream carries, that a location has ended, that the stream is complete. What an event
 * refers to is defined before it, so a stream can be read from its begin to wherever it stops. Streams that
 * are read together share one numbering of definitions; each location is carried by one of them.
 *
 * What is read is not trusted: lengths, numbers and references are checked, what does not fit the format is
 * an error that says at which byte, and an event's reference to nothing becomes GN_NONE and is counted.
 */
#ifndef GNOMON_EVENT_WIRE_H
#define GNOMON_EVENT_WIRE_H

#include "base/error.h"
#include "event/definitions.h"
#include "event/event.h"

/* ---- writing ---- */

struct gn_wire_writer;

/* Writes to fd, which stays the caller's. definitions may grow between events, and outlive the writer.
 * location: the only one that this stream carries; GN_NONE: all. Nothing is written before the first flush.
 */
int gn_wire_create(struct gn_wire_writer **writer, int fd, const struct gn_definitions *definitions,
                   uint32_t location, struct gn_error *err);

/* Each: 0 or a negative errno value of the write. An event's number is that of those of its location before
 * it. */
int gn_wire_write(struct gn_wire_writer *writer, const struct gn_event *event, struct gn_error *err);
int gn_wire_end(struct gn_wire_writer *writer, uint32_t location, struct gn_error *err);
int gn_wire_flush(struct gn_wire_writer *writer, struct gn_error *err);
/* Says that the stream is complete, and hands everything to the operating system. */
int gn_wire_finish(struct gn_wire_writer *writer, struct gn_error *err);

/* For an fd that does not wait (O_NONBLOCK): events stay in memory until a flush, which hands on what fd
 * takes and returns -EAGAIN when something is left, for the next one. */
void gn_wire_hold(struct gn_wire_writer *writer);
/* Another stream with all that was written to `from`, of which nothing has been flushed yet; the header says
 * what definitions say now. */
int gn_wire_copy(struct gn_wire_writer **copy, int fd, const struct gn_wire_writer *from,
                 struct gn_error *err);
size_t gn_wire_waiting(const struct gn_wire_writer *writer); /* bytes in memory */

void gn_wire_writer_close(struct gn_wire_writer *writer); /* NULL is allowed; flushes nothing */

/* ---- reading ---- */

/* What a stream says. Each returns 0, or a negative errno value (the last two with err set where it is
 * theirs) that gn_wire_feed then returns. */
struct gn_wire_sink {
    void *self;
    int (*carry)(void *self, uint32_t location, struct gn_error *err); /* events of location will come */
    int (*event)(void *self, const struct gn_event *event, uint64_t sequence, struct gn_error *err);
    int (*end)(void *self, uint32_t location, struct gn_error *err);
};

struct gn_wire_reader;

/* Adds to definitions what the stream defines; several readers may share them. name (of the stream, for
 * messages) and definitions outlive the reader. */
int gn_wire_open(struct gn_wire_reader **reader, const char *name, struct gn_definitions *definitions,
                 const struct gn_wire_sink *sink, struct gn_error *err);
void gn_wire_close(struct gn_wire_reader *reader); /* NULL is allowed */

/* The stream's next bytes, in pieces of any length. 0; -EINVAL: they are not an event stream, or contradict
 * what came before; -ENOMEM; or what the sink returned. After an error the reader takes no more. */
int gn_wire_feed(struct gn_wire_reader *reader, const void *bytes, size_t count, struct gn_error *err);

bool gn_wire_is_complete(const struct gn_wire_reader *reader);   /* its mark has been read */
uint64_t gn_wire_undefined(const struct gn_wire_reader *reader); /* references to nothing, replaced */

#endif
