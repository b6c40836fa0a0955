/*
 * repair/op — what of a location's events takes part in repairing timestamps: the ends of messages, whether
 * the program sent them or they follow from what a collective means (Becker 2009, section 4: logical events).
 *
 *   reader ──events──► extract ──ops──► replay (forward) ──► amortize (backward) ──knots──► trace/retime
 *
 * All other events are internal ones: nothing depends on them but their neighbours, so they are counted here
 * and get their new times when the archive is rewritten. Ops are kept in files (repair/op_store.h): memory
 * follows what is being looked at, not the trace.
 *
 * Times are signed ticks of the archive, presynchronised (repair/presync.h). shift is how far the corrected
 * time LC' is ahead of that.
 */
#ifndef GNOMON_REPAIR_OP_H
#define GNOMON_REPAIR_OP_H

#include "event/collective.h"

#include <stdbool.h>
#include <stdint.h>

enum gn_op_kind {
    GN_OP_LOCAL,   /* takes part in nothing: what a match could not be told of, the end of a very long row */
    GN_OP_SEND,    /* link: channel; number: of the message on it */
    GN_OP_RECEIVE, /* the same: it is after the send with this number */
    GN_OP_BEGIN,   /* of a collective; link: group; number: instance */
    GN_OP_END,
    /* Nothing more of this location's process can be counted: it ended, or lost events. The last op of its
     * main location, every process has one; ticks: of the location's last event. The process's other
     * locations may still have ops to come: it has left when all its rows are at their ends. */
    GN_OP_LEFT,
};

enum gn_op_flag {
    GN_OP_GIVES = 1,   /* a begin that others wait for: it contributes data, or it is of a barrier */
    GN_OP_GETS = 2,    /* an end that waits for others */
    GN_OP_VAGUE = 4,   /* who waits for whom is not known, or MPI does not say that anybody does; of a
                          message: it may be another one of its channel */
    GN_OP_JUMP = 8,    /* set by the replay: it was put forward because of its predecessor elsewhere */
    GN_OP_SECOND = 16, /* a member of the second group of an intercommunicator */
};

struct gn_op {
    int64_t ticks; /* presynchronised; where timestamps go back, that of the latest event before */
    int64_t shift; /* ticks; negative only where ceilings are */
    /* of sends and begins: the latest corrected time that they may get before a successor elsewhere is
     * reached, INT64_MAX: any; of receives and ends: the replay's own */
    int64_t limit;
    /* the latest time that guaranteed bounds allow, INT64_MAX: any; it comes down to what successors
     * elsewhere leave of it (repair/ceilings.h) */
    int64_t high;
    /* the lower one of these bounds, INT64_MIN: there is none; when ceilings have been settled, the time that
     * the clock starts from */
    int64_t start;
    uint32_t records; /* it is this many records of the location's file after the op before (or after the
                         file's begin: then the first record is 1); 0: the same record, which has one time:
                         its ops do not wait for each other's successors, they are all sends and begins, or
                         all receives and ends (or LOCAL and LEFT) */
    uint32_t steps;   /* between the op before (or the first event) and this one, time went on so many times:
                         events later than all before them */
    uint32_t link, number;
    /* of ONE_TO_ALL and ALL_TO_ONE: rank in the group that has it; GN_NONE, GN_ROOT_…; of a team: how many
     * BEGINs this instance has, of a fork how many ENDs */
    uint32_t root;
    uint8_t kind, shape, flags, reserved; /* shape: enum gn_shape, what an end depends on */
};

_Static_assert(sizeof(struct gn_op) == 64, "an op is a cache line");

/* What links of SEND and RECEIVE mean. Processes are those of the definitions. */
struct gn_op_channel {
    uint32_t comm, from, to, tag; /* GN_OP_TAG_EPOCH: comm is a window */
    uint32_t sends; /* how many sends of it there are among the store's ops: their numbers are below this */
};

/* No tag that MPI has: the messages are of epochs on a window, from whoever completes one to whoever waits.
 */
#define GN_OP_TAG_EPOCH 0xfffffff0u

/* What links of BEGIN and END mean. */
struct gn_op_group {
    uint32_t comm; /* or window */
    bool is_window;
    /* Forks, joins, or barriers (three groups) of the threads of process `comm`, in OpenMP. All BEGINs and
     * ENDs of an instance are at locations of that process, and whatever its shape is, each END with GETS
     * depends on all BEGINs of it (a fork has one, of the master; a join those of all others; a barrier one
     * of each thread). The process has no rank in such a group. */
    bool is_team;
};

#endif