/*
 * capture/postings — receives in the order in which they were posted, as far as it takes more than a count.
 *
 * Most receives name source and tag with nothing unsettled ahead of them: they take the next number of their
 * channel when they are posted, and are never seen here. The others have a record each, in one of these
 * states:
 *
 *            post wildcard ─────► OPEN ───────complete──────────┐
 *                                   ▲ cancel                    ▼
 *            post behind one ────► KNOWN ◄───────────────── SETTLED, until it is the first of its group
 *                                   │ all OPEN ahead that may be of its channel are settled (release)
 *                                   ▼
 *   counted when posted ·······► NUMBERED ──cancel──► CANCELLING ──cancelled──► those behind move up
 *                                   │                    │
 *                                   └──────complete──────┴──► number, or DEFERRED while a CANCELLING one is
 * ahead
 *
 * OPEN records are in groups, one for each pattern (communicator, source, tag) that is pending, in posting
 * order: what blocks a channel is known from the first record of each group that meets it. A group stays when
 * one of its receives was lost (freed, no room): what is posted after that one, and meets the group, is
 * unnumbered.
 *
 * Numbers that were given when a receive was posted and that a cancelled one has made wrong are set right
 * when they are asked for: a correction (channel, k, how many receives it is for) moves those above k down by
 * one, or makes them unnumbered when it is not known whether k took a message. It goes when all that it is
 * for have passed. An epoch says which corrections came after a number was given.
 *
 * Not thread-safe; the caller locks.
 */
#ifndef GNOMON_CAPTURE_POSTINGS_H
#define GNOMON_CAPTURE_POSTINGS_H

#include "capture/counts.h"
#include "capture/numbered.h"

enum { GN_POSTINGS = 16384, GN_POSTING_GROUPS = 256, GN_CORRECTIONS = 256 };

enum gn_posting_state { GN_OPEN, GN_SETTLED, GN_KNOWN, GN_NUMBERED, GN_CANCELLING, GN_DEFERRED };

struct gn_posting {
    uint64_t when;   /* place in posting order */
    uint64_t number; /* from NUMBERED on */
    uint64_t id;     /* complete: the caller's */
    uint32_t comm;
    int32_t source, tag; /* OPEN: the pattern */
    uint32_t epoch;      /* of number */
    uint32_t next, previous;
    uint8_t state;
    bool complete; /* only the number is missing */
    bool freed;    /* nobody asks for it */
    bool unordered;
};

/* Indices of records, + 1, in posting order. */
struct gn_posting_list {
    uint32_t first, last;
};

struct gn_posting_group {
    uint32_t comm;
    int32_t source, tag;
    struct gn_posting_list open; /* and settled ones; the first one is open */
    uint64_t lost;               /* place in posting order of the first one that was lost; UINT64_MAX */
};

struct gn_correction {
    uint64_t number;
    uint64_t where;
    int32_t tag;
    uint32_t epoch;
    uint32_t left; /* receives that it is for and that have not passed */
    bool void_;    /* not known: unnumbered */
};

struct gn_postings {
    struct gn_counts *counts;
    gn_number_late *late;
    uint64_t clock; /* places in posting order */
    uint64_t lost;  /* no room for a group: as if one of pattern (any, any, any) was lost here */
    uint64_t met;   /* bit comm % 64: there are groups of it */
    uint32_t epoch;
    uint32_t
        settled_epoch; /* numbers of this epoch are final; GN_EPOCH_NONE while any receive is CANCELLING */
    uint32_t floor;    /* numbers of earlier epochs are void */
    uint32_t group_count, correction_count;
    uint32_t most_records, most_groups, most_corrections;
    uint32_t unused; /* records: index + 1, or 0 */
    uint32_t fresh;  /* never used yet: from this index on */
    struct gn_posting_list known, cancelling, deferred;
    uint64_t unnumbered[GN_UNNUMBERED_REASONS];
    struct gn_posting_group groups[GN_POSTING_GROUPS];
    struct gn_correction corrections[GN_CORRECTIONS];
    struct gn_posting records[GN_POSTINGS];
};

/* Epochs of receives that have no number of their own. */
enum { GN_EPOCH_WAITING = 0, GN_EPOCH_FIRST = 1 };
#define GN_EPOCH_NONE UINT32_MAX

/* In zeroed memory. */
void gn_postings_init(struct gn_postings *postings, struct gn_counts *counts, gn_number_late *late);

/* Whether the next number of the channel is the receive's without more. */
static inline bool gn_posting_is_plain(const struct gn_postings *postings, uint32_t comm, int32_t source,
                                       int32_t tag)
{
    return !(postings->met >> comm % 64 & 1) && source != GN_NUMBER_ANY && tag != GN_NUMBER_ANY;
}

/* As in capture/numbers.h; comm is a number. unordered: may have changed places with another one. */
void gn_posting_add(struct gn_postings *postings, struct gn_receive *receive, uint32_t comm, int32_t source,
                    int32_t tag, bool unordered);
void gn_posting_cancel(struct gn_postings *postings, struct gn_receive *receive);
uint64_t gn_posting_complete(struct gn_postings *postings, const struct gn_receive *receive, int32_t source,
                             int32_t tag, uint64_t id, void *context);
void gn_posting_cancelled(struct gn_postings *postings, struct gn_receive *receive, void *context);
void gn_posting_freed(struct gn_postings *postings, const struct gn_receive *receive, void *context);
/* A receive of this pattern, beginning now, will never be known. */
void gn_posting_lose(struct gn_postings *postings, uint32_t comm, int32_t source, int32_t tag);
/* Of those that have not ended, and of all later ones, none will be known. */
void gn_postings_void(struct gn_postings *postings);
void gn_postings_drop_comm(struct gn_postings *postings, uint32_t comm, void *context);

#endif
