/*
 * agent/drain — empties the rings of the host's measured processes, in a thread of its own, into the trace.
 *
 * At ten million events a second a 16 MiB ring is full after 26 ms, on a machine whose cores are all busy
 * with ranks: nobody else's work may stand in between, so the thread does nothing but copy, translate and
 * write. It sleeps as long as it takes to fill a small part of a ring (at most 5 ms, which costs less than a
 * hundredth of a core), not at all while one is half full, and asks for a better priority, which it gets
 * where the user may have it. Measured on two busy cores, it takes about eight million events a second: what
 * all ranks of a host together exceed that by for long fills the rings.
 *
 *   gn_drain_add (agent) ──► rings ──take──► expand ──► translate ─┬─► output (trace/writer)
 *                                                                  └─► readers (agent/readers)
 *
 * In windows it takes nothing between them: the rings overwrite themselves.
 *
 * The rings outlive their processes: what was pushed before a kill is taken. When the output fails (the disk
 * is full), events are taken and counted as lost all the same, so that no process waits for room.
 */
#ifndef GNOMON_AGENT_DRAIN_H
#define GNOMON_AGENT_DRAIN_H

#include "base/error.h"
#include "agent/readers.h"
#include "agent/rings.h"
#include "agent/translate.h"
#include "agent/windows.h"

/* Between two calls of a location. */
struct gn_drain_point {
    uint64_t records; /* taken or lost */
    uint64_t written; /* to the output, with those that tell of a loss */
    uint64_t events;  /* of them, without those */
    uint64_t dropped; /* as they tell */
    uint64_t ticks;   /* of the last event, as the process has it */
};

struct gn_drain_output {
    void *self;
    /* Both: 0, or a negative errno value with err set, after which neither is called again. */
    int (*write)(void *self, const struct gn_event *event, struct gn_error *err);
    int (*flush)(void *self, struct gn_error *err); /* about once a second while events come */
    /* Of a location's records and events so many are over: whoever goes on there misses nothing. NULL: nobody
     * wants to know. */
    void (*reached)(void *self, uint32_t location, const struct gn_drain_point *point);
    double windows_rate; /* events a second that are kept, in windows (agent/windows.h); 0: all are */
    /* The moment of the run, as for gn_windows_wanted, and what windows of several hosts follow from; NULL:
     * this is the only one. From the drain's thread. */
    uint64_t (*moment)(void *self, uint64_t *common);
    /* What gn_drain_show asks for: up to now all of these windows is written, of which the last one may go
     * on. From the drain's thread. */
    void (*show)(void *self, const struct gn_kept_window *windows, size_t count);
    struct gn_readers
        *readers; /* get every event, too, whatever becomes of the output; NULL: there are none */
};

struct gn_drain_stats {
    uint64_t events;       /* written */
    uint64_t dropped;      /* by the processes, because a ring was full */
    uint64_t unwritten;    /* taken and lost: the output had failed */
    uint64_t garbled;      /* events and references that made no sense, rings that were overwritten */
    uint64_t lost_comms;   /* communicators that found no room in a process's table */
    struct gn_error error; /* why the output failed; empty: it did not */
};

struct gn_drain;

/* Starts the thread. translate and output outlive it. 0 or a negative errno value. */
int gn_drain_start(struct gn_drain **drain, struct gn_translate *translate,
                   const struct gn_drain_output *output, struct gn_error *err);

/*
 * Takes over the rings of a process, to be closed at the end. Its rank is waited for (it is known when
 * MPI_Init returns); launcher_rank counts when it never comes. tag outlives the drain. 0 or a negative errno
 * value: then the rings stay the caller's.
 */
int gn_drain_add(struct gn_drain *drain, const struct gn_rings *rings, struct gn_tag *tag, size_t tag_bytes,
                 int launcher_rank, int pid);

/* The same for a process that another drain has emptied up to a point in each of its first `count` locations.
 */
int gn_drain_go_on(struct gn_drain *drain, const struct gn_rings *rings, struct gn_tag *tag, size_t tag_bytes,
                   int launcher_rank, int pid, const struct gn_drain_point *points, uint32_t count);

/* A process of gn_drain_add has ended: what is left in its rings is taken, and readers are told that its
 * locations have no more. */
void gn_drain_ended(struct gn_drain *drain, int pid);

/* So many events a second are kept in windows from now on, where they are; 0: none. */
void gn_drain_set_rate(struct gn_drain *drain, double rate);

/* Has `show` called, where events are kept in windows. false: not within some tenths of a second, or never.
 */
bool gn_drain_show(struct gn_drain *drain);

/* Takes what is left of all processes, finishes the readers' streams and ends the thread. */
void gn_drain_stop(struct gn_drain *drain);

/* After gn_drain_stop. The windows that were kept; NULL: all was. */
const struct gn_windows *gn_drain_windows(const struct gn_drain *drain);
const struct gn_drain_stats *gn_drain_stats(const struct gn_drain *drain);
void gn_drain_free(struct gn_drain *drain); /* NULL is allowed */

#endif
