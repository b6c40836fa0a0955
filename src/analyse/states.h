/*
 * analyse/states — of each location, or of all locations of a rank or a host as one, when it waits and when
 * it is busy: what the questions of analyse/frames.h are asked over.
 *
 *   waiting (A)   in an MPI call that depends on others, by what it took, or where that is not known by what
 *                 it is called; or in regions that were named
 *   busy (B)      outside of MPI calls; or in regions that were named, and not waiting
 *
 * Several locations as one are busy when one of them is; else they wait when one of them does. Only those
 * have a say that make MPI calls (or, with names, enter those regions): a thread that only computes for
 * another one would never be seen waiting. Where no thread of a rank has a say, all have.
 *
 * A thread that waits for others of its process (GN_PIECE_JOIN) waits where threads are asked for, each by
 * itself. What it belongs to works meanwhile, and is busy.
 */
#ifndef GNOMON_ANALYSE_STATES_H
#define GNOMON_ANALYSE_STATES_H

#include "analyse/names.h"
#include "analyse/stages.h"

struct gn_states_settings {
    const struct gn_named *waiting; /* in these; NULL: in calls that depend on others */
    const struct gn_named *busy;    /* NULL: outside of MPI calls */
    bool is_asked;  /* as questions mean it (docs/frames.md): those who are together are in a region when one
                       of  them is, and wait when one does and none computes, whoever of them enters regions;
                       else as  above */
    uint32_t comm;  /* waiting only in collectives of this communicator; GN_NONE: all calls */
    uint32_t phase; /* busy only where this is the outermost region that the user named; GN_NONE: anywhere */
};

struct gn_states {
    struct gn_stages *of; /* [count] */
    size_t count;
    struct gn_stage *stages; /* of all */
};

/*
 * group_of: [location_count] < count, or GN_NONE: left out. settings' regions and phase need a history with
 * tracks. 0, and the caller clears; or -ENOMEM with err set.
 */
int gn_states_make(struct gn_states *states, const struct gn_history *history, const uint32_t *group_of,
                   size_t count, const struct gn_states_settings *settings, struct gn_error *err);
void gn_states_clear(struct gn_states *states);

/* What a location may be in, as bits of a stage's state: any number of them. A thread that has no say is
 * neither waiting nor busy. */
enum gn_being {
    GN_RUNNING = 1, /* from its first to its last event */
    GN_CALLING = 2, /* in an MPI call */
    GN_WAITING = 4, /* in one that depends on others */
    GN_BUSY = 8,    /* outside of MPI calls */
    /* The same of a thread, not of what it belongs to: that works while one of its threads waits for another.
     */
    GN_WAITING_ALONE = 16, /* also for threads of its process */
    GN_BUSY_ALONE = 32,
};
enum { GN_FIRST_REGION_BIT = 6, GN_STATE_BITS = 64 }; /* bits of regions */

/* Bits GN_FIRST_REGION_BIT … GN_STATE_BITS − 1 of what is asked for, which regions and paths may have in
 * common. */
struct gn_region_bits {
    const uint64_t *of_region; /* [region_count] of the definitions */
    const uint64_t *of_path;   /* [path_count] */
};

/*
 * A stage for each change of what is asked, of each location by itself. bits NULL: no region is asked for;
 * else history has tracks. asked: all bits that matter. As gn_states_make.
 */
int gn_states_of_each(struct gn_states *states, const struct gn_history *history,
                      const struct gn_region_bits *bits, uint64_t asked, struct gn_error *err);

/* Regions that are the outermost one that the user named (role GN_ROLE_USER) somewhere: regions[count], in
 * the order in which they come, at most `most`. Needs tracks. */
size_t gn_states_phases(const struct gn_history *history, uint32_t *regions, size_t most);

#endif
