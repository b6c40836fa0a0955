/*
 * trace/event_file — the event file of one location, written in place.
 *
 * An OTF2 event file is a row of chunks of one size; OTF2 lets its user provide the memory that it encodes a
 * chunk in. That memory here is the file itself, mapped: a record is in the file (the kernel's page cache) as
 * soon as OTF2 has encoded it, and a writer that is killed loses at most the record it was writing. OTF2's
 * own way, chunks in private memory that are written when they are full, would lose up to a chunk per
 * location.
 *
 *   chunk   0      1           2              10            18
 *           header byte order  number of the  … of the last records … 0 (next chunk) 0 0 … | 2 1 (the end)
 *           (3)                first event    event
 *
 * OTF2 fills in "the last event" when a chunk is complete. gn_event_file_count keeps it up to date after each
 * event, so that gn_event_file_repair knows which records are whole, and can put the end mark behind them.
 *
 * Room is allocated before it is mapped, so that a full disk is an error and not a signal.
 */
#ifndef GNOMON_TRACE_EVENT_FILE_H
#define GNOMON_TRACE_EVENT_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Bytes of a chunk: OTF2's smallest. What a location costs in memory, and what is read of it at once. */
enum { GN_CHUNK_SIZE = 256 * 1024 };

struct gn_event_file {
    char *path;           /* owned */
    uint8_t *chunk;       /* the one being written; NULL: none yet */
    uint64_t size;        /* of the file, with the chunk being written */
    uint64_t handed_over; /* bytes from the start that were given to the disk already */
    bool parked;          /* nothing is mapped at chunk, but the address is kept */
    bool goes_on;         /* behind chunks of another writer: see gn_event_file_go_on */
};

/* What is in an event file. */
struct gn_event_summary {
    uint64_t events;
    uint64_t first_ticks, last_ticks; /* 0 when there are no events */
};

/* Of every archive: folder/traces.otf2 is its anchor, folder/traces/ has its event files. */
#define GN_ARCHIVE_NAME "traces"

/* The path of the event file of a location, to be freed; NULL: no memory. */
char *gn_event_file_path(const char *folder, uint64_t file_id);

/* Goes on with the file of a writer that died: cuts off what is behind its first `events` events, and the end
 * mark. OTF2 counts from 1 again in the chunks that follow; gn_event_file_close and _repair put that right,
 * by what stands in the chunk before. -ENODATA: so many events are not there; nothing is cut then. */
int gn_event_file_go_on(struct gn_event_file *file, uint64_t events, struct gn_event_summary *summary,
                        struct gn_error *err);

/* Adds an empty chunk to the file, which is created with the first one, and stops writing the one before.
 * Returns 0, or a negative errno value with everything as before. */
int gn_event_file_next(struct gn_event_file *file, struct gn_error *err);

/* Unmaps the chunk being written, which nobody may touch until gn_event_file_wake has mapped it again at the
 * same address: a process has 65530 mappings and no more. 0, or a negative errno value with everything as
 * before. */
int gn_event_file_park(struct gn_event_file *file, struct gn_error *err);
int gn_event_file_wake(struct gn_event_file *file, struct gn_error *err);
/* For a file that cannot be mapped again: OTF2 may write to the chunk, and it goes nowhere. false: it may
 * not. */
bool gn_event_file_detach(struct gn_event_file *file);

/* Says that `events` events are completely written, counted from the start of the file. */
static inline void gn_event_file_count(struct gn_event_file *file, uint64_t events)
{
    enum { LAST_EVENT = 10 };
    /* A killed process's stores are all seen: it is enough that the compiler keeps them in order. */
    __asm__ volatile("" ::: "memory");
    memcpy(file->chunk + LAST_EVENT, &events, sizeof events);
}

/* Asks the kernel to start writing what is new to the disk, but for the chunk that is still written to; does
 * not wait for it. */
int gn_event_file_hand_over(struct gn_event_file *file, struct gn_error *err);

/* Cuts the file behind its end mark, which OTF2 has written, and frees what the struct holds. */
int gn_event_file_close(struct gn_event_file *file, struct gn_error *err);

/* Makes a readable file of what a writer that died left at path: cuts off what is not a whole event and sets
 * the end mark. A file that is whole stays as it is. *summary says what is in it. -ENODATA: there is not even
 * the beginning of an event file. */
int gn_event_file_repair(const char *path, struct gn_event_summary *summary, struct gn_error *err);

/* Writes an event file without events. */
int gn_event_file_empty(const char *path, struct gn_error *err);

#endif
