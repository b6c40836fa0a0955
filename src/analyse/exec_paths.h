/*
 * analyse/exec_paths — causal execution paths (Sikora 2016, 3.1.5): what ranks call between two passes of one
 * point, from whom they take messages and to whom they send, and each such sequence kept once, with how often
 * it was gone and how long that took.
 *
 *   … │ Irecv  Irecv  Isend(+1)  Isend(−1)  Waitall(−1, +1)  Allreduce │ Irecv …     path 1, 149 times
 *     │ Irecv  Irecv  Isend(+1)  Isend(−1)  Waitall(−1, +1)  Allreduce  File_write │  path 2, once
 *
 * The point is a call that the user names, or of each rank the one that its outermost loop begins with, as
 * far as its calls show that: of those that come again and again over half of the time or more the first, or
 * one that comes nearly as often and more rarely; where there is none, the one that goes on for longest, and
 * the same again of what is ahead of it and behind it. Partners are relative to the rank, the shorter way
 * round, so that alike ranks have alike paths. Polls are one with the call that ends them; what repeats
 * itself at once is a block, told once with how often it came.
 *
 * Paths are bounded in number: those that find no room are counted (`rest`). So are passes with a gap between
 * windows of events in them (`cut`), which nobody knows.
 */
#ifndef GNOMON_ANALYSE_EXEC_PATHS_H
#define GNOMON_ANALYSE_EXEC_PATHS_H

#include "analyse/givers.h"
#include "analyse/names.h"

enum { GN_EXEC_PATHS_MOST = 1000, GN_EXEC_BLOCK_MOST = 8 };

/* A call of a path. */
struct gn_exec_step {
    uint32_t region, path;
    uint32_t first_peer, peer_count; /* in peers */
    uint32_t block; /* so many steps from this one on are a block, which is repeated; 0: none begins here */
    uint64_t times; /* in all passes of the path */
    double computed_ns, call_ns, waited_ns; /* likewise: before it, in it, of that for others */
};

struct gn_exec_peer {
    int32_t rank; /* relative; with `is_absolute` a rank */
    bool takes;   /* from it; else it sends to it */
};

struct gn_exec_path {
    uint32_t begin_region, begin_path; /* the point */
    uint32_t first_step, step_count;
    uint64_t count; /* passes */
    double total_ns, least_ns, most_ns;
    double behind_ns; /* in all passes: computed behind the last step, before the point comes again */
    uint32_t processes, first_process; /* that went it; one of them */
};

/* What receives that may have taken any sender's message took, by place. */
struct gn_exec_sender {
    uint32_t region, path; /* of the call that took it */
    uint32_t process;
    uint64_t count;
};

struct gn_exec_paths {
    struct gn_exec_path *paths; /* [path_count] by total_ns, descending */
    size_t path_count;
    struct gn_exec_step *steps;
    size_t step_count;
    struct gn_exec_peer *peers;
    size_t peer_count;
    struct gn_exec_sender *senders; /* [sender_count] by place, then by count, descending */
    size_t sender_count;
    uint64_t passes; /* all that are whole */
    double total_ns;
    uint64_t rest; /* of them, without room */
    double rest_ns;
    uint64_t cut;
    uint32_t without; /* processes that pass no such point twice */
};

struct gn_exec_settings {
    const struct gn_named *point; /* calls; NULL: it is found */
    bool is_absolute;             /* partners by their ranks */
};

/* 0, and the caller clears; or -ENOMEM with err set. */
int gn_exec_paths_find(struct gn_exec_paths *found, const struct gn_history *history,
                       const struct gn_exec_settings *settings, struct gn_error *err);
void gn_exec_paths_clear(struct gn_exec_paths *found);

#endif
