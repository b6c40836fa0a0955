/*
 * soundness/world — hosts with known clocks, a network between them, and the messages that they exchange.
 *
 * A world follows from its cell (what is assumed, which network, which hosts) and its seed, and from nothing
 * else. What the cell leaves open, the seed draws: frequencies, granularities, where the counters begin, when
 * and how often is asked, what is lost, doubled or out of order, how much memory the pairs get.
 */
#ifndef GNOMON_SOUNDNESS_WORLD_H
#define GNOMON_SOUNDNESS_WORLD_H

#include "clock/clocks.h"
#include "line.h"

#include <stddef.h>

enum world_wander { WANDER_NONE, WANDER_100, WANDER_1000, WANDER_5000, WANDER_VIOLATED, WORLD_WANDERS };
enum world_network { NETWORK_QUIET, NETWORK_LOADED, NETWORK_ASYMMETRIC, WORLD_NETWORKS };
enum world_hosts { HOSTS_TWO, HOSTS_CHAIN, HOSTS_TREE, WORLD_HOSTS };

struct world_cell {
    enum world_wander wander;
    enum world_network network;
    enum world_hosts hosts;
};

extern const char *const world_wander_names[], *const world_network_names[], *const world_hosts_names[];

enum { WORLD_DOMAINS = 4 };

struct world_message {
    uint32_t from, to;
    uint64_t sent, received; /* true ticks */
};

struct world {
    uint32_t count;
    uint32_t parent[WORLD_DOMAINS];
    struct line line[WORLD_DOMAINS];
    uint64_t epoch_ticks;
    uint64_t first, last; /* true ticks between which there are exchanges */
    struct gn_assumption assumption;
    size_t capacity;
    bool thinned;                   /* more messages than capacity */
    double floor_ns[WORLD_DOMAINS]; /* smallest delays there and back, all the way to the reference */
    bool connected[WORLD_DOMAINS];  /* with the reference, by messages */
    struct world_message *messages; /* in the order in which they are told */
    size_t message_count, message_capacity;
};

/* Makes and clears a world. Memory is taken or the program ends. */
void world_make(struct world *world, const struct world_cell *cell, uint64_t seed);
void world_clear(struct world *world);

/* Domains and messages, nothing solved. Ends the program when something is refused. */
struct gn_clocks *world_clocks(const struct world *world);

/* Whether an assumption of this kind is true for a domain and all that lie between it and the reference. */
bool world_holds(const struct world *world, enum gn_assumption_kind kind, uint32_t domain);

#endif
