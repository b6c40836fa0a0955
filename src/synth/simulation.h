/*
 * synth/simulation — ranks in true time: what MPI calls do to the clock of a rank that makes them.
 *
 * A pattern (synth/patterns.c) says for each iteration who computes, sends, receives; the functions here emit
 * the events of a call and move its rank's true time. A call that needs another rank's message is simulated
 * after the one that sends it, which hands over the time of arrival. The whole machine advances iteration by
 * iteration, so that a trace does not depend on the order in which its locations are pulled; events wait in
 * their rank's queue as small records.
 *
 *   pattern ── send, receive, … ──► rank: now, random numbers ──► queue of records ──► synth/synth: events
 *
 * Queues are lists of chunks from one pool: memory follows the number of waiting events, whoever they are of.
 * Sends are eager. Transfers take the latency (between domains or within one) and an exponential delay; a
 * channel does not reorder.
 */
#ifndef GNOMON_SYNTH_SIMULATION_H
#define GNOMON_SYNTH_SIMULATION_H

#include "event/stream.h"
#include "synth/settings.h"

#include <stdbool.h>

enum {
    GN_SIM_COMM_WORLD = 0,
    GN_SIM_COMM_OWN = 1, /* the rank's own one of the split communicators */
    GN_SIM_TAG_STRAY = 999,
};

struct gn_sim_record {
    double true_ns;
    uint64_t request;
    uint32_t peer, sent, received;
    uint16_t form; /* index of the event that it becomes, but for time, place and the above */
    uint16_t reserved;
};

struct gn_sim_chunk {
    struct gn_sim_chunk *next;
    struct gn_sim_record records[];
};

struct gn_sim_rank {
    double now_ns;
    double slowness; /* of computation; 1 in the mean over ranks */
    uint64_t random; /* states of two generators: losses do not change what happens */
    uint64_t loss_random;
    uint64_t own_random;   /* of what measuring costs, which changes nothing else either */
    double own_ns;         /* what it costs the call under way before it */
    uint64_t requests;     /* given out so far */
    uint64_t keep;         /* events until the next burst of losses */
    uint64_t lose, losses; /* still to lose in this one; lost in it so far */
    uint64_t waiting;      /* records in the queue */
    struct gn_sim_record *write, *end;
    struct gn_sim_chunk *first, *last;
};

/* A place in the program from which something is called; what its events have in common. */
struct gn_sim_call {
    const char *name; /* of the region */
    uint32_t line;
    uint32_t comm; /* GN_SIM_COMM_ */
    uint32_t tag;
    double share;   /* of a computation's time that it takes; 0: all of it */
    uint8_t op;     /* enum gn_collective */
    bool from_main; /* called by main() and not by step() */
};

struct gn_sim;

/* What a program is to the simulation. */
struct gn_pattern {
    struct gn_synth_pattern shown;
    void (*setup)(struct gn_sim *sim);  /* defines calls, makes sim->state; tells by sim->no_memory */
    void (*begin)(struct gn_sim *sim);  /* what the program does before its first iteration; or NULL */
    void (*step)(struct gn_sim *sim);   /* one iteration of all ranks */
    void (*finish)(struct gn_sim *sim); /* what it does after its last one; or NULL */
    uint32_t dimensions, messages;      /* on a grid: how many, and to each neighbour */
    bool split;                         /* has split communicators */
    double unmatched, lost;             /* where the settings have none */
    const char *computes;               /* a region that does, beside "compute"; or NULL */
};

struct gn_sim {
    struct gn_synth_settings settings;
    const struct gn_pattern *pattern;
    struct gn_definitions *definitions;
    struct gn_sim_rank *ranks;
    uint32_t count; /* of ranks */
    uint32_t split; /* communicators that the ranks are dealt to in turn; 0: none */
    uint64_t iteration, emitted;
    bool begun, ended, no_memory;
    struct gn_event *forms; /* [call * GN_EVENT_KIND_COUNT + kind] */
    struct gn_sim_speed {
        double share, fast; /* factor of its computation's duration: elsewhere, where it is fast */
        bool is_mpi;
    } * speed; /* [call] */
    uint32_t calls;
    size_t form_capacity, speed_capacity;
    uint32_t chunk_records;
    struct gn_sim_chunk *free;
    uint32_t main_path, step_path;
    uint16_t main_call, step_call, init_call, finalize_call, split_call, free_call, stray_call, sleep_call;
    void *state; /* the pattern's; freed with free() */
};

/* Defines everything but the calls. 0, or -EINVAL or -ENOMEM with err set; closed in any case by the caller.
 */
int gn_sim_open(struct gn_sim *sim, const struct gn_synth_settings *settings,
                const struct gn_pattern *pattern, struct gn_error *err);
void gn_sim_close(struct gn_sim *sim);
/* Simulates one more iteration (the first time: the program's begin, too). false: the program has ended. */
bool gn_sim_advance(struct gn_sim *sim);
/* Defines a call and returns its number. Without memory sim->no_memory is set. */
uint16_t gn_sim_call(struct gn_sim *sim, const struct gn_sim_call *what);
/* Takes the first chunk of a rank's queue: the number of its records (0: none). To be given back. */
uint32_t gn_sim_take(struct gn_sim *sim, uint32_t rank, struct gn_sim_chunk **chunk);
void gn_sim_give_back(struct gn_sim *sim, struct gn_sim_chunk *chunk);

/* ---- for patterns ---- */

/* How long a message sent by this rank is under way; to == GN_NONE: of a collective, whose members may be in
 * any domain. */
double gn_sim_transfer(struct gn_sim *sim, uint32_t rank, uint32_t to);
double gn_sim_uniform(struct gn_sim *sim, uint32_t rank); /* 0 ≤ u < 1, of the rank's own sequence */
uint64_t gn_sim_hash(const struct gn_sim *sim, uint64_t what, uint64_t which); /* the same for all ranks */

void gn_sim_enter(struct gn_sim *sim, uint32_t rank, uint16_t call);
void gn_sim_leave(struct gn_sim *sim, uint32_t rank, uint16_t call);
/* A record inside of a call, now; the rank's time moves on a little. */
void gn_sim_mark(struct gn_sim *sim, uint32_t rank, uint16_t call, enum gn_event_kind kind, uint32_t peer,
                 uint64_t request);
/* The same for a part in a collective. */
void gn_sim_take_part(struct gn_sim *sim, uint32_t rank, uint16_t call, enum gn_event_kind kind,
                      uint32_t root, uint64_t request, uint32_t sent, uint32_t received);
/* Nothing happens at the rank before this. */
void gn_sim_wait_until(struct gn_sim *sim, uint32_t rank, double ns);
void gn_sim_compute(struct gn_sim *sim, uint32_t rank, uint16_t call);

/* The record of a send, now; the return value is the message's arrival. not_before: arrival of the channel's
 * message before it, or 0. request: 0 is MPI_Send. With the settings' share, a stray message follows the
 * whole call: see gn_sim_stray. */
double gn_sim_sent(struct gn_sim *sim, uint32_t rank, uint16_t call, uint32_t to, uint32_t bytes,
                   uint64_t request, double not_before);
/* The record of a receive that is complete now. request: 0 is MPI_Recv. */
void gn_sim_received(struct gn_sim *sim, uint32_t rank, uint16_t call, uint32_t from, uint32_t bytes,
                     uint64_t request);
/* Now and then a message that nobody receives, on a channel of its own. Called after each send. */
void gn_sim_stray(struct gn_sim *sim, uint32_t rank, uint32_t to);

/* Whole calls. */
double gn_sim_send(struct gn_sim *sim, uint32_t rank, uint16_t call, uint32_t to, uint32_t bytes);
void gn_sim_recv(struct gn_sim *sim, uint32_t rank, uint16_t call, uint32_t from, uint32_t bytes,
                 double arrival);

#endif
