/*
 * event/collective — what each collective operation of MPI means: the one table. The sort, the check, the
 * repair, the analyses, the generator, capture and the writer of archives ask it, and docs/collectives.md is
 * compared with it by a test; nobody else says what a collective means.
 *
 *   shape     whose data goes to whom; so, whose end depends on whose begin
 *   lengths   whether members have lengths of their own: one that gives, or takes, zero bytes takes no part
 *   holds     whether the standard says that the dependency is there
 *   sent, received   how much of a member's buffers goes out and comes in
 *
 * Only data makes anybody wait: MPI says of no operation but the barrier that it synchronises (MPI 4.1, 6.1:
 * "a collective … may, or may not, have the effect of synchronizing"). Where nobody gave anything, libraries
 * return at once. Constant data and inline functions only: capture is in the measured program's process.
 */
#ifndef GNOMON_EVENT_COLLECTIVE_H
#define GNOMON_EVENT_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

enum gn_shape {
    GN_SHAPE_ALL_TO_ALL, /* between two groups: from each to the other one */
    GN_SHAPE_ONE_TO_ALL, /* from the root */
    GN_SHAPE_ALL_TO_ONE, /* to the root */
    GN_SHAPE_PREFIX      /* from each rank to all higher ones */
};

enum gn_lengths {
    GN_LENGTHS_NONE,  /* it moves no data */
    GN_LENGTHS_EQUAL, /* all members say the same */
    GN_LENGTHS_GIVEN, /* of each member that gives */
    GN_LENGTHS_TAKEN, /* of each member that takes */
    GN_LENGTHS_PAIRS  /* of each pair; what is recorded are a member's sums */
};

enum gn_holds {
    GN_HOLDS_ALWAYS, /* nobody leaves before all have come */
    GN_HOLDS_DATA,   /* for bytes that were given: nobody can have what does not exist yet */
    GN_HOLDS_MAYBE   /* the standard does not say so, or who gave to whom is not recorded */
};

/* Of a buffer with a count, or an array of them, for each rank that is talked to: of an intercommunicator
 * those of the other group, but where a reduction is scattered the members of the own one. */
enum gn_amount {
    GN_AMOUNT_NOTHING,
    GN_AMOUNT_ONE,
    GN_AMOUNT_SAME, /* received: one, by whoever has not sent this very buffer */
    GN_AMOUNT_EACH,
    GN_AMOUNT_COUNTS,
    GN_AMOUNT_MINE, /* the count with the own rank */
    GN_AMOUNT_MEMBERS,
    GN_AMOUNT_MEMBER_COUNTS
};

/* X(OP, name, shape, lengths, holds, sent, received), in OTF2's order: OTF2_CollectiveOp has the same
 * numbers.
 */
#define GN_COLLECTIVES(X)                                                                                    \
    X(BARRIER, barrier, ALL_TO_ALL, NONE, ALWAYS, NOTHING, NOTHING)                                          \
    X(BCAST, bcast, ONE_TO_ALL, EQUAL, DATA, ONE, SAME)                                                      \
    X(GATHER, gather, ALL_TO_ONE, EQUAL, DATA, ONE, EACH)                                                    \
    X(GATHERV, gatherv, ALL_TO_ONE, GIVEN, DATA, ONE, COUNTS)                                                \
    X(SCATTER, scatter, ONE_TO_ALL, EQUAL, DATA, EACH, ONE)                                                  \
    X(SCATTERV, scatterv, ONE_TO_ALL, TAKEN, DATA, COUNTS, ONE)                                              \
    X(ALLGATHER, allgather, ALL_TO_ALL, EQUAL, DATA, ONE, EACH)                                              \
    X(ALLGATHERV, allgatherv, ALL_TO_ALL, GIVEN, DATA, ONE, COUNTS)                                          \
    X(ALLTOALL, alltoall, ALL_TO_ALL, EQUAL, DATA, EACH, EACH)                                               \
    X(ALLTOALLV, alltoallv, ALL_TO_ALL, PAIRS, MAYBE, COUNTS, COUNTS)                                        \
    X(ALLTOALLW, alltoallw, ALL_TO_ALL, PAIRS, MAYBE, COUNTS, COUNTS)                                        \
    X(ALLREDUCE, allreduce, ALL_TO_ALL, EQUAL, DATA, ONE, ONE)                                               \
    X(REDUCE, reduce, ALL_TO_ONE, EQUAL, DATA, ONE, ONE)                                                     \
    X(REDUCE_SCATTER, reduce_scatter, ALL_TO_ALL, TAKEN, DATA, MEMBER_COUNTS, MINE)                          \
    X(SCAN, scan, PREFIX, EQUAL, DATA, ONE, ONE)                                                             \
    X(EXSCAN, exscan, PREFIX, EQUAL, DATA, ONE, ONE)                                                         \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_block, ALL_TO_ALL, EQUAL, DATA, MEMBERS, ONE)                     \
    X(CREATE_HANDLE, create_handle, ALL_TO_ALL, NONE, MAYBE, NOTHING, NOTHING)                               \
    X(DESTROY_HANDLE, destroy_handle, ALL_TO_ALL, NONE, MAYBE, NOTHING, NOTHING)                             \
    X(ALLOCATE, allocate, ALL_TO_ALL, NONE, MAYBE, NOTHING, NOTHING)                                         \
    X(DEALLOCATE, deallocate, ALL_TO_ALL, NONE, MAYBE, NOTHING, NOTHING)                                     \
    X(CREATE_HANDLE_AND_ALLOCATE, create_handle_and_allocate, ALL_TO_ALL, NONE, MAYBE, NOTHING, NOTHING)     \
    X(DESTROY_HANDLE_AND_DEALLOCATE, destroy_handle_and_deallocate, ALL_TO_ALL, NONE, MAYBE, NOTHING, NOTHING)

enum gn_collective {
#define X(OP, ...) GN_COLLECTIVE_##OP,
    GN_COLLECTIVES(X)
#undef X
        GN_COLLECTIVE_COUNT,
    GN_COLLECTIVE_UNKNOWN = 255 /* a begin whose end has not been seen */
};

#define GN_ROOT_SELF (UINT32_MAX - 2) /* root of a collective on an intercommunicator: MPI_ROOT */
#define GN_ROOT_NONE (UINT32_MAX - 3) /* … MPI_PROC_NULL as root: takes no part in the transfer */

struct gn_collective_rule {
    uint8_t shape, lengths, holds, sent, received; /* enum gn_shape, … */
};

/* Of an operation that nobody knows, no more is said than that its members may wait for each other. */
static inline struct gn_collective_rule gn_collective_rule(unsigned op)
{
    static const struct gn_collective_rule rules[] = {
#define X(OP, name, shape, lengths, holds, sent, received)                                                   \
    {GN_SHAPE_##shape, GN_LENGTHS_##lengths, GN_HOLDS_##holds, GN_AMOUNT_##sent, GN_AMOUNT_##received},
        GN_COLLECTIVES(X)
#undef X
    };
    return op < GN_COLLECTIVE_COUNT ? rules[op]
                                    : (struct gn_collective_rule){.shape = GN_SHAPE_ALL_TO_ALL,
                                                                  .lengths = GN_LENGTHS_NONE,
                                                                  .holds = GN_HOLDS_MAYBE};
}

static inline bool gn_shape_is_rooted(unsigned shape)
{
    return shape == GN_SHAPE_ONE_TO_ALL || shape == GN_SHAPE_ALL_TO_ONE;
}

/* is_between: on an intercommunicator. MPI has no scan there; were there one, no more could be said of it. */
static inline enum gn_shape gn_collective_shape(unsigned op, bool is_between)
{
    const enum gn_shape shape = (enum gn_shape)gn_collective_rule(op).shape;
    return shape == GN_SHAPE_PREFIX && is_between ? GN_SHAPE_ALL_TO_ALL : shape;
}

/* Whether a member that gives, or takes, no bytes takes no part: its own length is what it says. */
static inline bool gn_collective_is_sparse(unsigned op)
{
    return gn_collective_rule(op).lengths > GN_LENGTHS_EQUAL;
}

#define GN_BYTES_UNKNOWN UINT64_MAX

/* Whether a member is known to have had something to give, or take, as far as lengths say. */
static inline bool gn_collective_has_data(unsigned op, uint64_t bytes)
{
    return !gn_collective_is_sparse(op) || (bytes != 0 && bytes != GN_BYTES_UNKNOWN);
}

/* Whether dependencies only may hold, whatever was moved. Synchronisation of a window is for the sake of what
 * it ends, which is not recorded: a fence that is told that nothing came before need not wait. */
static inline bool gn_collective_only_may_hold(unsigned op, bool is_window)
{
    return is_window || gn_collective_rule(op).holds == GN_HOLDS_MAYBE;
}

/* Whether such lengths, of a member or of all, say that nothing was moved: then dependencies only may hold.
 */
static inline bool gn_collective_is_empty(unsigned op, uint64_t bytes_sent, uint64_t bytes_received)
{
    return gn_collective_rule(op).holds != GN_HOLDS_ALWAYS && bytes_sent == 0 && bytes_received == 0;
}

/* What a member does, lengths apart: to others. What it gives itself is nobody's business. */
struct gn_collective_does {
    bool gives, takes;
};

/* rank: among the size members of its group; root: as it was recorded, of operations that have one. */
static inline struct gn_collective_does gn_collective_does(enum gn_shape shape, bool is_between,
                                                           uint32_t rank, uint32_t size, uint32_t root)
{
    const bool is_root = is_between ? root == GN_ROOT_SELF : root == rank;
    const bool is_other = !is_root && !(is_between && root == GN_ROOT_NONE);
    switch (shape) {
    case GN_SHAPE_ONE_TO_ALL:
        return (struct gn_collective_does){is_root, is_other};
    case GN_SHAPE_ALL_TO_ONE:
        return (struct gn_collective_does){is_other, is_root};
    case GN_SHAPE_PREFIX:
        return (struct gn_collective_does){rank + 1 < size, rank > 0};
    default:
        return (struct gn_collective_does){true, true};
    }
}

/* The operation's name, in the table's spelling; "unknown" for a number that is none. */
static inline const char *gn_collective_name(unsigned op)
{
    static const char *const names[] = {
#define X(OP, name, ...) #name,
        GN_COLLECTIVES(X)
#undef X
    };
    return op < GN_COLLECTIVE_COUNT ? names[op] : "unknown";
}

#endif
