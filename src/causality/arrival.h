/*
 * causality/arrival — in which order the events of a source reach the sort.
 *
 * A trace on disk has lost how its events would have been delivered. These are the ways to deliver them
 * again; each keeps the order within a location, and gives the same order for the same source and settings:
 *
 *   recorded     by timestamp, ties by location: the merge that needs clocks that agree
 *   aligned      the same with each clock domain's readings counted from its first one: clocks need not agree
 *   roundrobin   one event of each location in turn
 *   random       one event of a random location each time
 *   delayed      as monitors deliver them: each location fills a buffer, which is sent when it is full and
 *                arrives some time later (Kimelman & Zernik, section 3); those of one location in order
 *
 * Where events were lost, nobody knows when: what says so arrives right behind the event before it, by
 * whatever is sorted, so ahead of all that may have come behind what is missing.
 *
 * Events come in slices of what the source gave, so that recorded and roundrobin cost a few ns an event.
 */
#ifndef GNOMON_CAUSALITY_ARRIVAL_H
#define GNOMON_CAUSALITY_ARRIVAL_H

#include "event/stream.h"

enum gn_arrival_kind {
    GN_ARRIVAL_RECORDED,
    GN_ARRIVAL_ROUNDROBIN,
    GN_ARRIVAL_RANDOM,
    GN_ARRIVAL_DELAYED,
    GN_ARRIVAL_ALIGNED
};

struct gn_arrival_settings {
    enum gn_arrival_kind kind;
    uint64_t seed;          /* of random and delayed */
    uint32_t buffer_events; /* ≥ 1; this and those below: of delayed only */
    uint64_t flush_ns;      /* a buffer is also sent when its first event is that old; 0: only when full */
    uint64_t latency_min_ns, latency_max_ns; /* from sending to arrival, by the events' timestamps: uniform */
};

/* Some events of a location that arrive one after the other; none: the location has ended. */
struct gn_arrived {
    uint32_t location;
    uint32_t count;
    const struct gn_event *events; /* valid until the next gn_arrival_next */
};

struct gn_arrival;

/* The source stays the caller's and outlives the arrival; nobody else pulls from it. 0 or -ENOMEM. */
int gn_arrival_open(struct gn_arrival **arrival, struct gn_source *source,
                    const struct gn_arrival_settings *settings, struct gn_error *err);
void gn_arrival_close(struct gn_arrival *arrival); /* NULL is allowed */

/* 1: *arrived is set; 0: all locations have ended; -EAGAIN: a live source has nothing that could come next,
 * try again; otherwise what the source's pull returned, or -ENOMEM. */
int gn_arrival_next(struct gn_arrival *arrival, struct gn_arrived *arrived, struct gn_error *err);

/* Who is told of everything that arrives. Both: 0 to go on, or a negative code, with err set. */
struct gn_arrival_sink {
    void *self;
    int (*event)(void *self, const struct gn_event *event, struct gn_error *err);
    int (*end)(void *self, uint32_t location, struct gn_error *err); /* the location has ended */
};

/* Carries all there is, aligned, to the sink: by time since each clock's first event, whatever the clocks
 * say, so that what belongs together comes about together and little is open at a time. 0, what the sink
 * returned, or what gn_arrival_next did. */
int gn_arrival_carry(struct gn_source *source, const struct gn_arrival_sink *sink, struct gn_error *err);

#endif
