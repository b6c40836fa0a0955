/*
 * event/activity — what a program is measured doing: a call of MPI, or what gnomon itself takes part in (the
 * program's begin and end, parts that the user named, measurement that was switched off).
 *
 * One activity is one number everywhere, and all else about it follows from that: nodes of the graph in
 * shared memory have it, regions of traces (event/definitions.h) get it from their names, profiles keep its
 * kind and name. Calls have their numbers of enum gn_call_id (calls.h), which is made from event/mpi_api.txt,
 * as is what is said of them here: a new call is a line there.
 */
#ifndef GNOMON_EVENT_ACTIVITY_H
#define GNOMON_EVENT_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

/* Those that are no calls. */
enum gn_activity {
    GN_ACTIVITY_START = 0x10000,
    GN_ACTIVITY_END,
    GN_ACTIVITY_OTHER,        /* the overflow node */
    GN_ACTIVITY_REGION_BEGIN, /* flags of the node: index into names[] */
    GN_ACTIVITY_REGION_END,   /* its time is the region's, begin to end, inclusive */
    GN_ACTIVITY_OFF,          /* measurement switched off by MPI_Pcontrol */
};
#define GN_ACTIVITY_NONE UINT32_MAX /* of a region that is none of these */

/* What a call's name says of it. */
enum gn_trait {
    GN_TRAIT_WAITS = 1,       /* it may wait for what others do; of collectives their shape tells that */
    GN_TRAIT_STARTS = 2,      /* it starts or prepares something, and returns at once */
    GN_TRAIT_SYNCHRONOUS = 4, /* a send that is complete only when it is being received */
    GN_TRAIT_BUFFERED = 8,    /* a send that waits for nobody */
    GN_TRAIT_SENDS = 16,      /* it may send a message from one process to another, or start to */
    GN_TRAIT_RECEIVES = 32,   /* it may take one, or say that one is to be taken */
    GN_TRAIT_SEVERAL = 64,    /* … more than one of each */
    GN_TRAIT_POLLS = 128,     /* it asks whether something has come, and returns at once */
    GN_TRAIT_UNTOLD = 256,    /* others may hold it up, and no event tells who does, or for how long */
};

struct gn_activity_def {
    const char *name;  /* "MPI_Send"; of regions that the user named: what any of them is */
    const char *kind;  /* as in profiles: "mpi", "start", … */
    const char *group; /* of a call: "p2p", "collective", …; else "" */
    uint8_t op;        /* enum gn_collective of a call that is one, or starts one; GN_COLLECTIVE_UNKNOWN */
    uint16_t traits;   /* bits of enum gn_trait */
};

/* Never NULL: of a number that is none, GN_ACTIVITY_OTHER's. */
const struct gn_activity_def *gn_activity_def(uint32_t activity);

bool gn_activity_is_call(uint32_t activity);

/* Whether the time of its node is a part of its thread's: a region's contains that of others. */
static inline bool gn_activity_takes_time(uint32_t activity)
{
    return activity != GN_ACTIVITY_REGION_BEGIN && activity != GN_ACTIVITY_REGION_END;
}

/* The call with this name, in any case of its letters; GN_ACTIVITY_NONE. */
uint32_t gn_activity_named(const char *name);

/* Whether the call may be left only after others have done something. Roots, and members that only give, may
 * not have to wait: that is left to whoever knows who they are. */
bool gn_activity_may_wait(uint32_t activity);

/* Whether it may, and no event tells. */
bool gn_activity_is_untold(uint32_t activity);

/* MPI_Init, MPI_Init_thread; these and MPI_Finalize. */
bool gn_activity_starts(uint32_t activity);
bool gn_activity_starts_or_ends(uint32_t activity);

#endif
