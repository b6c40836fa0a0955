/*
 * repair/replay_inside — what the files of the replay share. Not for anybody else.
 *
 *   replay.c       a pass: locations in turn, the clock itself
 *   parcels.c      messages between them
 *   gatherings.c   instances of collectives, with gathering_*.c (gatherings_inside.h)
 *   mail.c         what goes to other processes of the transport, and comes from them
 *   stillness.c    when nobody can go on: the end of a pass, or something to be passed by
 *
 * "Rank" is a rank of the transport here; a process of the definitions has an owner among them, and a member
 * of a communicator is called by its process.
 */
#ifndef GNOMON_REPAIR_REPLAY_INSIDE_H
#define GNOMON_REPAIR_REPLAY_INSIDE_H

#include "base/map.h"
#include "repair/latest.h"
#include "repair/replay.h"

#include <stdbool.h>

/* ---- locations ---- */

struct gn_replay_location {
    uint64_t next; /* op */
    bool any;      /* an op is behind */
    bool has_jumped;
    bool queued, blocked;
    bool release; /* the op that it is blocked at is passed by */
    uint32_t process, domain;
    uint32_t after;      /* in the queue of those that can go on, or of those that wait for the same */
    int64_t begin_ticks; /* of its first op */
    int64_t corrected;   /* LC' of the op before */
    int64_t jump_ticks, jump_shift; /* where the shift began to fall, and what it was */
};

/* ---- parcels.c ---- */

struct gn_parcel { /* a message under way */
    int64_t time;
    uint64_t index;
    uint32_t location; /* of the send: with index, its op */
    /* 0: not sent, 1: sent, 2: received; 3: received by somebody who did not wait (where and when is said),
     * not sent */
    uint8_t state;
    bool vague; /* of the send, or (3) of the receive: which message it is, is a guess */
};

struct gn_replay_channel {
    uint32_t to_rank, from_rank;
    uint32_t sends;            /* how many there are; UINT32_MAX: not known yet */
    struct gn_parcel *parcels; /* a ring: message n is at n & (capacity − 1), first ≤ n < first + capacity */
    uint32_t first, capacity;
    uint32_t waiting; /* locations; GN_NONE */
    uint32_t next;    /* channel from the same process; GN_NONE */
};

/* ---- gatherings.c ---- */

struct gn_begun {
    struct gn_op *op;
    uint32_t member, domain, side;
};

/* Of a prefix reduction, by rank in the communicator. */
struct gn_prefix {
    struct gn_latest_entry begin, end; /* end: with negated time */
    struct gn_latest lower;            /* begins of all ranks below; valid up to gathering.prefix_known */
    struct gn_op *op;                  /* of the begin, if that is ours */
    bool begun;
};

/* An end that was measured before what it depends on was known. */
struct gn_awaiting {
    int64_t ticks;
    uint32_t location, member, domain, rank; /* rank: in the communicator, of a prefix reduction */
    uint8_t side;
    bool vague;
};

struct gn_gathering {                         /* an instance, as this rank sees it */
    struct gn_gathering *variant, *next_free; /* the same number, but another operation: a broken trace */
    uint32_t group, number, root;             /* root: process; GN_NONE */
    uint8_t shape, root_side;
    bool known;                          /* what ends depend on is complete */
    bool passed_up;                      /* our part of the begins went to the parent */
    bool asked;                          /* children that are missing were told so */
    bool ends_passed_up, limited;        /* the same of the ends; their limits are set */
    uint32_t ended, gone;                /* of our members; gone: left before they had begun */
    uint32_t parts, end_parts;           /* children that have sent theirs, as bits */
    struct gn_latest begins[2], ends[2]; /* by side; ends with negated times */
    struct gn_begun *begun;
    size_t begun_count, begun_capacity, begun_hint; /* hint: who was looked for last */
    struct gn_awaiting *awaiting;                   /* only measuring */
    size_t awaiting_count, awaiting_capacity;
    struct gn_prefix *prefix;
    uint32_t prefix_size, prefix_known, prefix_ended;
    uint32_t waiting; /* locations; GN_NONE */
};

struct gn_party { /* ranks of the transport that have members of a group, ascending */
    uint32_t *ranks;
    uint32_t count;
};

struct gn_replay_group {
    struct gn_op_group what;
    uint32_t comm; /* GN_NONE: a team */
    bool is_intercomm;
    uint32_t local[2], left[2]; /* members that are ours, by side; and those of them that have left */
    struct gn_party party[3];   /* of the first side, the second, and both */
    struct gn_gathering **ring; /* by number, as the parcels of a channel */
    uint32_t first, capacity;
    uint32_t end;    /* above all numbers that there have been */
    uint32_t passed; /* numbers below it that the ring does not have are over */
};

/* ---- mail.c ---- */

enum gn_mail_kind {
    GN_MAIL_CHANNEL,      /* link: the sender's number of a channel; a, b, c, d: its key */
    GN_MAIL_SEND,         /* link: that number; number: of the message; a: location, index, time */
    GN_MAIL_LIMIT,        /* a: location, index, time: of a send whose message was received */
    GN_MAIL_BEGINS,       /* of a gathering, upward: begins of a subtree */
    GN_MAIL_KNOWN,        /* … downward: begins of all */
    GN_MAIL_ENDS,         /* … upward */
    GN_MAIL_ASK,          /* … downward: the part of a child is missing */
    GN_MAIL_LIMITS,       /* … downward, or to anybody: ends of all, or some */
    GN_MAIL_PREFIX_BEGIN, /* of a member of a prefix reduction: a: rank, b: domain, c: process, time */
    GN_MAIL_PREFIX_END,
};

struct gn_mail {
    uint8_t kind, shape, root_side, flags; /* flags: 1: of a window, 2: the entry counts; of a message
                                              enum gn_op_flag */
    uint32_t link;                         /* channel; of gatherings the communicator or window */
    uint32_t number;
    uint32_t a, b, c, d; /* of gatherings a: root process, b: child of the parent */
    uint32_t reserved;
    uint64_t index;
    int64_t time;
};

/* Follows gathering mail: both sides. */
struct gn_mail_sides {
    struct gn_latest side[2];
};

struct gn_outbox {
    uint8_t *bytes;
    size_t size, capacity;
    uint32_t next; /* with mail in it; GN_NONE */
    bool listed;   /* among them */
};

struct gn_peer {
    struct gn_outbox out;
    uint32_t *links; /* [link_capacity] our channel by the peer's number; GN_NONE: no receive here */
    size_t link_capacity;
};

/* ---- all of it ---- */

struct gn_replay {
    const struct gn_definitions *definitions;
    struct gn_op_store *store;
    const struct gn_transport *transport;
    const uint32_t *owner;
    const struct gn_replay_settings *settings; /* of this pass */
    bool moves, limits; /* it gives ops new times, and waits for those of others; it sets op.limit */
    struct gn_latency_sample *sample;
    struct gn_replay_stats stats; /* of this rank */
    struct gn_replay_location *locations;
    uint32_t first_ready, last_ready;
    uint32_t first_far;      /* locations that can go on, but are far ahead of the others; GN_NONE */
    int64_t until_ticks;     /* how far from their begin locations go now */
    int64_t step_ticks;      /* by how much that is raised when nobody is behind it */
    uint64_t locations_open; /* that have ops left */
    struct gn_replay_channel *channels;
    uint32_t *first_channel;     /* [process_count] from it; GN_NONE */
    struct gn_map channel_links; /* key → link + 1 */
    struct gn_replay_group *groups;
    size_t group_count, group_capacity;
    struct gn_map group_links;
    struct gn_gathering *free_gatherings;
    uint64_t gatherings_open;
    bool flushed;                /* limits go out as they are: what is open now stays so, for those of all */
    uint32_t *rows_open;         /* [process_count] locations of a process of ours with ops left */
    bool *left;                  /* [process_count] the process sends and begins nothing more */
    bool somebody_left;          /* as all ranks know */
    struct gn_peer *peers;       /* [transport->size] */
    uint32_t first_outbox;       /* with mail in it: of a thousand peers few are written to at a time */
    int64_t mails_out, mails_in; /* batches */
    uint64_t sends, receives, ops_done;
    uint64_t ahead; /* receives that did not wait for their messages, which are to come */
    bool has_announced;
    int failed; /* -ENOMEM, or the transport's; nothing works any more */
};

static inline int64_t gn_replay_delay(const struct gn_replay *replay, uint32_t from, uint32_t to)
{
    return replay->settings->latency ? gn_latency_of(replay->settings->latency, from, to) : 0;
}

/* replay.c */
void gn_replay_ready(struct gn_replay *replay, uint32_t location);
void gn_replay_wake(struct gn_replay *replay, uint32_t *waiting); /* a whole list of waiting locations */
void gn_replay_wait(struct gn_replay *replay, uint32_t *waiting, uint32_t location);
void gn_replay_unwait(struct gn_replay *replay, uint32_t location);
/* Until nobody can go on (false), or all that can are far ahead: then they are ready. */
bool gn_replay_run(struct gn_replay *replay);
void gn_replay_leave(struct gn_replay *replay, uint32_t process);

/* A receive for which nothing is moved has its message; when measuring: that, and the end of a collective, in
 * presynchronised time. */
void gn_replay_measure_receive(struct gn_replay *replay, uint32_t link, const struct gn_parcel *parcel,
                               const struct gn_parcel *receive);
void gn_replay_measure_end(struct gn_replay *replay, uint32_t domain, bool vague, int64_t ticks,
                           int64_t after, const struct gn_latest_entry which[2]);

/* parcels.c */
int gn_parcels_open(struct gn_replay *replay);
void gn_parcels_shut(struct gn_replay *replay);
void gn_parcels_reset(struct gn_replay *replay);
void gn_parcels_put(struct gn_replay *replay, uint32_t link, uint32_t number, const struct gn_parcel *parcel);
void gn_parcels_send(struct gn_replay *replay, const struct gn_op *op, const struct gn_parcel *parcel);
/* The message of a receive, NULL: it is not there. Valid until the next put. */
const struct gn_parcel *gn_parcels_peek(const struct gn_replay *replay, const struct gn_op *op);
/* Tells the ranks that receive from us how many messages there are. Once: before the first pass. */
void gn_parcels_announce(struct gn_replay *replay);
void gn_parcels_announced(struct gn_replay *replay, uint32_t link, uint32_t sends);
bool gn_parcels_will_come(const struct gn_replay *replay, const struct gn_op *op);
/* All ranks know who has left, and all have announced what they send: whoever waits looks again. */
void gn_parcels_reconsider(struct gn_replay *replay);
/* Nobody waits for it: the receive is over, its message to come. False: no memory, or too many such. */
bool gn_parcels_await(struct gn_replay *replay, uint32_t location, const struct gn_op *op, int64_t time);
void gn_parcels_take(struct gn_replay *replay, const struct gn_op *op);
/* Our link of a channel whose receives are ours; GN_NONE: there are none. */
uint32_t gn_parcels_link(const struct gn_replay *replay, const struct gn_op_channel *channel);

/* gatherings.c */
int gn_gatherings_open(struct gn_replay *replay);
void gn_gatherings_shut(struct gn_replay *replay);
void gn_gatherings_reset(struct gn_replay *replay);
void gn_gatherings_begin(struct gn_replay *replay, uint32_t location, struct gn_op *op, int64_t time);
/* Whether an end can go on; then *after is the earliest time that its predecessors allow (INT64_MIN: any),
 * which[0] the one that says so without µ, and which[1] the latest of other domains where that is of the
 * end's own (else its time is INT64_MIN). Otherwise the location was put where it is waked. */
bool gn_gatherings_ready(struct gn_replay *replay, uint32_t location, const struct gn_op *op, bool release,
                         int64_t *after, struct gn_latest_entry which[2]);
/* The location waits for the instance of this end: all that do go on. */
void gn_gatherings_wake(struct gn_replay *replay, uint32_t location, const struct gn_op *op);
/* The end of a collective when only measuring: nobody waits. */
void gn_gatherings_measure(struct gn_replay *replay, uint32_t location, const struct gn_op *op);
/* The end has its time; counts: others' begins have to respect it. */
void gn_gatherings_end(struct gn_replay *replay, uint32_t location, const struct gn_op *op, int64_t time,
                       bool counts);
void gn_gatherings_leave(struct gn_replay *replay, uint32_t process);
void gn_gatherings_mail(struct gn_replay *replay, const struct gn_mail *mail,
                        const struct gn_mail_sides *sides);
/* Nobody will begin or end anything more: limits that could not be completed go out as they are. */
void gn_gatherings_flush(struct gn_replay *replay);
/* All ranks know who has left: what waits for them waits no longer. */
void gn_gatherings_reconsider(struct gn_replay *replay);

/* mail.c */
int gn_mail_open(struct gn_replay *replay);
void gn_mail_shut(struct gn_replay *replay);
void gn_mail_post(struct gn_replay *replay, uint32_t to, const struct gn_mail *mail,
                  const struct gn_mail_sides *sides);
void gn_mail_flush(struct gn_replay *replay);
void gn_mail_take(struct gn_replay *replay, uint32_t from, const uint8_t *bytes, size_t size);

/* stillness.c */
void gn_stillness_reach(struct gn_replay *replay); /* runs, and comes back when all ranks are done */
/* All are done: what is still open because nobody was told who had left is settled. */
void gn_stillness_after_leaving(struct gn_replay *replay);

#endif
