/*
 * causality/numbering — which message of its channel a send or a receive is, and which instance of its
 * communicator a collective: counted in the events of one process alone.
 *
 * Both halves of a message have the same (communicator, sender, receiver, tag, n), and all parts of a
 * collective the same (communicator, n), so whoever counts each process for itself joins them by key, in as
 * many threads or processes as there are. What is counted, and how, is the first half of the sort (order.h),
 * and the same code:
 *
 *   sends     in the order of the events; those of several threads in their process's time (threads.c)
 *   receives  in posting order (receives.c): the number may come long after the event
 *   parts     in starting order (collectives.c): the same, where only an end says on which communicator it is
 *
 *   events of process p ──take──► [receives, threads, collectives] ──message, part──► the sink
 *
 * Nothing waits for another process. What is kept is what is open in the present one.
 *
 * A number is right, or marked: a guess may have changed places with another one of its channel, one that is
 * low is right or smaller: a receive before it stayed open too long to be waited for, and may have taken a
 * message of the same channel. (Whoever has received message n has received it after message n − 1 was sent:
 * a low number says less, and nothing wrong.) Where another thread has posted a receive and the archive does
 * not say what for, a number may be too low without the mark.
 */
#ifndef GNOMON_CAUSALITY_NUMBERING_H
#define GNOMON_CAUSALITY_NUMBERING_H

#include "base/error.h"
#include "event/definitions.h"
#include "event/event.h"

#include <stdbool.h>

/* token: what was given with the event; calls come during gn_numbering_take or gn_numbering_end, in any
 * order, once for each message. They return 0 or a negative code, with which the numbering stops. */
struct gn_numbered_message {
    void *token;
    bool is_send;
    bool is_guess, is_low;
    uint64_t number; /* from 0; GN_UNNUMBERED: it fits no definition, or something is missing before it */
};

/* A begin, and its end. Told twice when the number is known before the end is there, else once. */
struct gn_numbered_part {
    void *begin, *end; /* tokens; end NULL: it has not come, if it ever does; or it had none */
    uint32_t comm;     /* or window; GN_NONE: nobody has said */
    uint32_t root;     /* as the events say it */
    uint32_t rank;     /* of the process; of the second group of an intercommunicator: behind the first */
    uint8_t op;        /* enum gn_collective */
    bool is_window;
    bool is_guess;   /* others were numbered before it although it came first, or may have been */
    uint64_t number; /* from 0; GN_UNNUMBERED: it is of no instance, or nobody can tell of which */
    uint64_t bytes_sent, bytes_received; /* GN_BYTES_UNKNOWN while there is no end */
};

struct gn_numbering_sink {
    void *self;
    int (*message)(void *self, const struct gn_numbered_message *message);
    int (*part)(void *self, const struct gn_numbered_part *part);
};

struct gn_numbering;

/* definitions and sink->self outlive it; *sink is copied. 0 or -ENOMEM with err set. */
int gn_numbering_open(struct gn_numbering **numbering, const struct gn_definitions *definitions,
                      const struct gn_numbering_sink *sink, struct gn_error *err);
void gn_numbering_close(struct gn_numbering *numbering); /* NULL is allowed */

/* Whether the event says anything that numbers depend on. Only of processes with several locations enters and
 * leaves do. */
bool gn_numbering_wants(const struct gn_numbering *numbering, const struct gn_event *event);

/* The next event of the process, in the order of its time, one that gn_numbering_wants. token: of sends,
 * receives, begins and ends, handed to the sink. 0; -EINVAL: the location is not defined; -ENOMEM, or what
 * the sink returned: then, and from then on. */
int gn_numbering_take(struct gn_numbering *numbering, const struct gn_event *event, void *token);

/* Nothing more of the process can be counted: it has ended, or lost events. What is open gets the number that
 * it has without what never came; what was begun and never said on which communicator gets none. As above. */
int gn_numbering_end(struct gn_numbering *numbering, uint32_t process);

/* Events so far that fit no definition, or no earlier event: they have no number. */
uint64_t gn_numbering_contradictions(const struct gn_numbering *numbering);

#endif
