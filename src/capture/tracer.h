/*
 * capture/tracer — writes what one location does into its ring in shared memory (image/recorder_ring.h),
 * always; who reads it, and whether anybody does, is none of our business.
 *
 * A call is written when it is left: one record, with what it communicated, and records behind it for what
 * does not fit (image/record.h). A record says whether another one follows, so the last one is held back
 * until that is known. No lock, no allocation, no system call; only with `block` a thread waits for a reader,
 * and never for an agent that has not moved for two seconds.
 *
 * Calls in a row that found nothing, from one node or a few that take turns, are one record for each node:
 * the row stands beside the ring, where it grows (gn_tracer_poll), until something else is written.
 */
#ifndef GNOMON_CAPTURE_TRACER_H
#define GNOMON_CAPTURE_TRACER_H

#include "image/recorder_ring.h"

#include <stdbool.h>
#include <stdint.h>

/* The process's ring segment; NULL: there is none, nothing is written. */
extern struct gn_ring_segment *gn_ring_memory;

/* A location's end of its ring; part of the recorder. All zero: there is none. */
struct gn_tracer {
    struct gn_ring *ring;
    uint64_t mask;
    uint64_t head;
    uint64_t limit;       /* head may go up to here without a look at tail; without `block` for ever */
    uint64_t given_up_at; /* `alive` of the agent when waiting for it was given up, plus 1; 0: it lives */
    uint32_t location;
    uint32_t poll_nodes; /* of the row of calls that find nothing; 0: there is none */
    uint8_t shift;       /* of generations */
    uint8_t held;        /* records in last[]: 0, 1, or 2 with its wide one */
    bool in_call;        /* the call's own record is written or held back */
    struct gn_record last[2];
};

/* What the tracer knows of a call: when it was entered and left, and its node. */
struct gn_call_span {
    uint64_t enter_ticks, exit_ticks;
    uint32_t node;
};

/* Takes `location`'s ring, if it has one, and touches its memory. */
void gn_tracer_attach(struct gn_tracer *tracer, uint32_t location);

/* An event of the call: begins of collectives are gn_tracer_begin's. What completes a request names it in
 * `request`; what starts one has anything but 0 there, and gets the name that gn_tracer_next_name gave. */
void gn_tracer_put(struct gn_tracer *tracer, const struct gn_call_span *call, const struct gn_event *event);

/* The name (gn_request_name) of the record that the next event of the call, which must follow, will stand in,
 * if it is a message received by the call itself. */
static inline uint64_t gn_tracer_own_name(struct gn_tracer *tracer);

/* A number that an event before this one left to be told later, under that name. Between calls, or where
 * nothing is held back. */
void gn_tracer_late(struct gn_tracer *tracer, uint64_t name, uint64_t number);

/* The same for messages and their completions, which most events are: mpi_send, mpi_isend,
 * mpi_isend_complete, mpi_irecv_request, mpi_recv, mpi_irecv. */
struct gn_note {
    uint8_t kind; /* enum gn_event_kind */
    uint32_t comm, peer, tag;
    uint64_t bytes, request;
    uint64_t number; /* as of an event; GN_UNNUMBERED of kinds that have none */
};
static inline void gn_tracer_note(struct gn_tracer *tracer, const struct gn_call_span *call,
                                  const struct gn_note *note);
/* … with values of any size. */
void gn_tracer_put_note(struct gn_tracer *tracer, const struct gn_call_span *call,
                        const struct gn_note *note);

/* Writes what is held back; more: another record of the call follows. */
void gn_tracer_release(struct gn_tracer *tracer, bool more);
/* Holds the call's own record back, with nothing that it communicated. */
void gn_tracer_open(struct gn_tracer *tracer, const struct gn_call_span *call);

/* Name of the request that the next event of the call, which must follow, will start. `alone`: it and those
 * directly behind it stand in records of their own, with names that follow each other. */
uint64_t gn_tracer_next_name(struct gn_tracer *tracer, const struct gn_call_span *call, bool alone);

/* What the call that was entered at `ticks` begins with all members of a communicator or window: seen if it
 * never comes back. */
struct gn_tracer_begun {
    uint16_t kind; /* enum gn_event_kind */
    uint8_t op;    /* enum gn_collective */
    uint32_t comm, root;
};
static inline void gn_tracer_begin(struct gn_tracer *tracer, uint64_t ticks, struct gn_tracer_begun begun);

/* The end of a collective, the only thing that the call communicated so far in most cases. */
static inline void gn_tracer_collective(struct gn_tracer *tracer, const struct gn_call_span *call,
                                        const struct gn_event *end);

/* Ends a call of which something was put. */
void gn_tracer_finish(struct gn_tracer *tracer);

/* A call that found nothing and of which nothing was put. */
void gn_tracer_poll(struct gn_tracer *tracer, const struct gn_call_span *call);

/* Ends a row of such calls. */
void gn_tracer_end_polls(struct gn_tracer *tracer);

/* Something that is no call: kind as in image/record.h. node: of the graph; 0: it is none there. */
void gn_tracer_control(struct gn_tracer *tracer, unsigned kind, uint64_t ticks, uint32_t node, uint32_t value,
                       uint32_t name);

/* Our own work around the call that was just finished: so many ticks before it and behind it. Not in a row of
 * calls that found nothing, which it would end. */
void gn_tracer_own_work(struct gn_tracer *tracer, uint64_t exit_ticks, uint64_t before_ticks,
                        uint64_t after_ticks);

/* Waits for room, if that is what the user wants. */
void gn_tracer_wait(struct gn_tracer *tracer);

static inline void gn_tracer_write(struct gn_tracer *tracer, const struct gn_record *record)
{
    if (__builtin_expect(tracer->head >= tracer->limit, 0))
        gn_tracer_wait(tracer);
    gn_ring_write(tracer->ring, tracer->mask, tracer->shift, tracer->head++, record);
}

static inline uint64_t gn_tracer_own_name(struct gn_tracer *tracer)
{
    if (__builtin_expect(tracer->poll_nodes != 0, 0))
        gn_tracer_end_polls(tracer);
    return gn_request_name(tracer->location, tracer->head + tracer->held);
}

static inline struct gn_record gn_tracer_plain(const struct gn_call_span *call)
{
    return (struct gn_record){
        {call->enter_ticks,
         gn_record_word1(call->exit_ticks - call->enter_ticks, call->node, GN_RECORD_NOTHING, GN_RECORD_CALL),
         0, 0}};
}

/* A call is over. */
static inline void gn_tracer_call(struct gn_tracer *tracer, const struct gn_call_span *call)
{
    if (__builtin_expect(tracer->poll_nodes != 0, 0))
        gn_tracer_end_polls(tracer);
    if (tracer->held == 1) {
        tracer->held = 0;
        tracer->in_call = false;
        gn_tracer_write(tracer, &tracer->last[0]);
        return;
    }
    if (tracer->in_call || __builtin_expect(call->exit_ticks - call->enter_ticks >= UINT32_MAX, 0)) {
        if (!tracer->in_call)
            gn_tracer_put(tracer, call, NULL);
        gn_tracer_finish(tracer);
        return;
    }
    struct gn_record record = gn_tracer_plain(call);
    gn_tracer_write(tracer, &record);
}

static inline void gn_tracer_begin(struct gn_tracer *tracer, uint64_t ticks, struct gn_tracer_begun begun)
{
    struct gn_ring *ring = tracer->ring;
    GN_SET(ring->begun.kind, begun.kind);
    GN_SET(ring->begun.op, begun.op);
    GN_SET(ring->begun.comm, begun.comm);
    GN_SET(ring->begun.root, begun.root);
    GN_PUBLISH(ring->begun.ticks, ticks);
}

static inline void gn_tracer_collective(struct gn_tracer *tracer, const struct gn_call_span *call,
                                        const struct gn_event *end)
{
    const uint64_t length = call->exit_ticks - call->enter_ticks;
    const bool both = end->bytes_sent == end->bytes_received;
    if (__builtin_expect(!both || (end->bytes_sent | length) >= UINT32_MAX || tracer->in_call ||
                             tracer->poll_nodes != 0,
                         0)) {
        gn_tracer_put(tracer, call, end);
        return;
    }
    tracer->in_call = true;
    tracer->last[0] = (struct gn_record){
        {call->enter_ticks, gn_record_word1(length, call->node, end->kind, GN_RECORD_CALL | GN_RECORD_BOTH),
         gn_record_word2((uint32_t)end->bytes_sent, end->comm, end->op),
         gn_record_word3(end->peer, gn_record_short_number(end->number))}};
    tracer->held = 1;
}

static inline void gn_tracer_note(struct gn_tracer *tracer, const struct gn_call_span *call,
                                  const struct gn_note *note)
{
    const uint32_t tag = gn_record_short_tag(note->tag);
    const uint64_t length = call->exit_ticks - call->enter_ticks;
    const bool names = gn_record_names(note->kind);
    const bool received = note->kind == GN_EVENT_MPI_RECV || note->kind == GN_EVENT_MPI_IRECV;
    const unsigned flags =
        (received ? GN_RECORD_RECEIVED : 0u) | (note->request && !names ? GN_RECORD_REQUEST : 0u);
    if (__builtin_expect(tag == GN_RECORD_TAG_WIDE || (note->bytes | length) >= UINT32_MAX ||
                             tracer->poll_nodes != 0,
                         0)) {
        gn_tracer_put_note(tracer, call, note);
        return;
    }
    struct gn_record record = {{call->enter_ticks,
                                gn_record_word1(length, call->node, note->kind, flags | GN_RECORD_CALL),
                                gn_record_word2((uint32_t)note->bytes, note->comm, tag),
                                gn_record_word3(note->peer, gn_record_short_number(note->number))}};
    if (names && !tracer->in_call)
        gn_tracer_open(tracer, call);
    if (names || tracer->in_call) {
        gn_tracer_release(tracer, true);
        record.word[0] = names ? note->request : 0;
        record.word[1] = gn_record_word1(0, 0, note->kind, flags);
    }
    tracer->in_call = true;
    tracer->last[0] = record;
    tracer->held = 1;
}

#endif
