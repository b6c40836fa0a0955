/*
 * exchange/asking — the child's side: when to ask the parent, at which of its addresses, and what came back.
 *
 *               an answer                       all addresses tried
 *   SEEKING ───────────────► FOUND           (a pause that doubles, then again)
 *      ▲   one question each   │ bursts, ever more rarely
 *      └───────────────────────┘
 *        a whole burst and more without an answer
 *
 *   gn_asking_end: one more burst ─► LEAVING (goodbye until there is a farewell) ─► GONE
 *
 * Questions of a burst go one after the other: a queue of our own would only widen the bounds. A burst in the
 * long run is over as soon as its best is as good as the best of all. Answers that come late count as well.
 */
#ifndef GNOMON_EXCHANGE_ASKING_H
#define GNOMON_EXCHANGE_ASKING_H

#include "clock/exchange.h"
#include "exchange/endpoint.h"
#include "exchange/line.h"

enum { GN_QUESTIONS = 64 }; /* answers to older ones are not waited for */

struct gn_exchange_question {
    uint64_t number; /* 0: none */
    unsigned address;
    struct gn_reading asked, received;
    uint64_t heard_ticks, answered_ticks;
    bool answer, readings;
    uint64_t sent_ns; /* CLOCK_MONOTONIC_RAW */
};

enum gn_asking_state { GN_ASKING_SEEKING, GN_ASKING_FOUND, GN_ASKING_LEAVING, GN_ASKING_GONE };

struct gn_asking {
    const struct gn_endpoint *parent;
    uint32_t parent_index;
    unsigned burst;
    uint64_t interval_ns;
    double own_per_parent; /* ticks */
    /* Gets each question with what is known of it, in the order of asking. */
    void (*done)(void *context, const struct gn_exchange *exchange);
    void *context;

    enum gn_asking_state state;
    bool ending;
    uint64_t session, number; /* of the last question */
    struct gn_exchange_question questions[GN_QUESTIONS];
    unsigned address, tried;  /* of the parent's; how many were tried since it was last heard */
    unsigned left, in_burst;  /* questions to go, and asked, in this burst */
    unsigned silent;          /* questions in a row without an answer */
    bool waiting;             /* for what the last question brings */
    uint64_t next_ns, gap_ns; /* when something is to be done, and the pause after this burst */
    uint64_t patience_ns;     /* for one answer */
    double usual_ns, deviation_ns;
    double best_ticks, burst_ticks; /* narrowest exchange of all, and of this burst */
    uint64_t heard_ns;              /* when the parent was last heard; 0: never */
    uint64_t asked, answered, narrowed;
    int failed; /* errno of the last question that could not be sent */
};

/* parent, of the run's hosts, stays the caller's. The rest of *asking that is given above is set before. */
void gn_asking_begin(struct gn_asking *asking, uint64_t now_ns);

/* Does what is due. Returns when it wants to be called again; UINT64_MAX: it is done. */
uint64_t gn_asking_go_on(struct gn_asking *asking, struct gn_exchange_line *line, uint64_t now_ns);

/* ANSWER, READINGS or FAREWELL, verified and addressed to this host. False: it changes nothing. */
bool gn_asking_hear(struct gn_asking *asking, struct gn_exchange_line *line, const struct gn_datagram *d,
                    const struct gn_reading *received, uint64_t now_ns);

/* One more burst, and the goodbye. */
void gn_asking_end(struct gn_asking *asking, uint64_t now_ns);

/* Tells done() of all questions that it has not been told of. */
void gn_asking_settle(struct gn_asking *asking, struct gn_exchange_line *line);

#endif
