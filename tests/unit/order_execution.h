/*
 * order_execution — small executions of MPI programs that could have happened, as events per location.
 *
 * A simulation of MPI: locations take random steps, messages travel with random delays (in order per pair of
 * processes and communicator), a posted receive takes the first message that fits, a collective's end waits
 * for the begins it depends on. Collectives have one order over all communicators, which every location
 * keeps, so that blocking ones cannot deadlock. The simulation knows which send each receive got.
 *
 * Of an event, record holds the event's index in its location: a name that nothing else uses.
 */
#ifndef GNOMON_TEST_ORDER_EXECUTION_H
#define GNOMON_TEST_ORDER_EXECUTION_H

#include "event/definitions.h"
#include "event/event.h"

#include <stdbool.h>

enum { MAX_PROCESSES = 6, MAX_LOCATIONS = 12, MAX_COMMS = 4, MAX_EVENTS = 400 };

struct where {
    uint32_t location, index; /* location GN_NONE: nowhere */
};

struct execution {
    struct gn_definitions *definitions;
    uint32_t location_count;
    size_t counts[MAX_LOCATIONS];
    struct gn_event events[MAX_LOCATIONS][MAX_EVENTS];
    struct where sends[MAX_LOCATIONS][MAX_EVENTS]; /* of a receive: its send */
    uint32_t instances[MAX_LOCATIONS]
                      [MAX_EVENTS]; /* of a collective's begin or end; GN_NONE: it is neither */
};

struct execution_settings {
    uint64_t seed;
    unsigned steps;   /* about how many events */
    double unknown;   /* share of requests and begins that do not say what they are for */
    double wildcards; /* share of receives with them */
    double cancelled; /* share of waiting receives that are cancelled, when it is their turn */
    double cut;       /* share of locations whose events stop too early */
    bool collectives, windows;
};

/* The same for the same settings. NULL: no memory. */
struct execution *execution_new(const struct execution_settings *settings);
void execution_free(struct execution *execution);

/* Random numbers (splitmix64): below n; true with this probability. */
uint64_t dice(uint64_t *state);
uint32_t dice_below(uint64_t *state, uint32_t n);
bool dice_chance(uint64_t *state, double probability);

#endif
