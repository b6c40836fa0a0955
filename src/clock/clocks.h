/*
 * clock/clocks — every clock of a run against one of them, with bounds that hold.
 *
 * The way of the data: a message between two clock domains proves something about their clocks; what is worth
 * keeping of it is kept per ordered pair of domains, in bounded memory (pair.h); solving turns that into
 * bounds of every domain's readings on the reference's time line (bounds.h), through as many domains as lie
 * between. Messages of gnomon's own exchanges and of the application are one and the same here.
 *
 *      message ──► gn_pair (i → j) ──┐
 *      message ──► gn_pair (j → k) ──┼──► solve: points ──► fit ──► gn_bounds of j, of k
 *
 * What a message proves. A reading is at most the true count, and less than a granularity behind it. A
 * message that left i at reading s or later and was in j at reading r or earlier says that i's clock showed
 * at least s when j's showed r + granularity, and nothing else. All that is concluded beyond that rests on an
 * assumption on rates, which is printed with the result and refuted when the messages contradict it:
 *
 *   A  constant   the rate between any two clocks does not change (the papers' assumption)
 *   B  within     it stays within nominal_ppb of what the two frequencies say
 *   C  wanders    it stays within B, and within wander_ppb of a rate that is not known
 *
 * An assumption that is refuted is not used: C gives way to B, B to "clocks never go back", which needs none.
 * Rates are always those against the reference, so bounds do not grow with the number of domains in between
 * by more than the exchanges' own width.
 *
 * Benavides et al. 2019, sections 2 to 4, with the corrections of docs/clocks.md.
 */
#ifndef GNOMON_CLOCK_CLOCKS_H
#define GNOMON_CLOCK_CLOCKS_H

#include "base/error.h"
#include "clock/bounds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gn_assumption_kind { GN_RATE_CONSTANT, GN_RATE_WITHIN, GN_RATE_WANDERS, GN_RATE_UNKNOWN };

struct gn_assumption {
    enum gn_assumption_kind kind;
    uint32_t nominal_ppb; /* B; the outer limit of A and C, too */
    uint32_t wander_ppb;  /* C */
};

enum { GN_NOMINAL_PPB = 200000, GN_WANDER_PPB = 2000 }; /* what is assumed when nothing else is said: C */

static inline struct gn_assumption gn_assumption_default(void)
{
    return (struct gn_assumption){GN_RATE_WANDERS, GN_NOMINAL_PPB, GN_WANDER_PPB};
}

/* A clock domain: locations that share a counter. */
struct gn_clock_def {
    double hz;                  /* nominal ticks per second, positive */
    uint64_t granularity_ticks; /* the true count is less than this ahead of a reading; at least 1 */
};

/* What contradicts an assumption, in the words of the exchanges: four readings of two messages between the
 * domain and the reference (or what bounds them), and what they say. */
struct gn_refutation {
    enum gn_assumption_kind kind;     /* what was refuted */
    uint64_t first_ticks, last_ticks; /* readings of the domain between which it happened */
    double seen_ppb, allowed_ppb;     /* by how much the rate differs, at least; and by how much it may */
};

/* What is known of one domain's clock after solving. */
struct gn_clock_state {
    bool reached;                     /* messages in both directions connect it with the reference */
    enum gn_assumption_kind rests_on; /* what its bounds assume */
    int refuted_count;
    struct gn_refutation refuted[3];
    /* Rates are of the reference's time per tick: how much more than its frequency says. A fast clock's are
     * negative. */
    double rate_lo_ppb, rate_hi_ppb;
    uint64_t used_there, used_back; /* points that the bounds are made of: from it, to it */
    const struct gn_bounds *bounds; /* owned by the clocks, NULL when not reached */
};

struct gn_clocks;

/* capacity: points kept per ordered pair of domains, at least 16 (0: GN_PAIR_CAPACITY). NULL: no memory. */
struct gn_clocks *gn_clocks_new(size_t capacity);
void gn_clocks_free(struct gn_clocks *clocks);

/* Domain 0 is the reference. Returns the domain's number, UINT32_MAX when there is no memory. */
uint32_t gn_clocks_add(struct gn_clocks *clocks, const struct gn_clock_def *def);
uint32_t gn_clocks_count(const struct gn_clocks *clocks);
const struct gn_clock_def *gn_clocks_def(const struct gn_clocks *clocks, uint32_t domain);

/* The reading of the reference that is 0 ns. 0 unless set; before solving. */
void gn_clocks_set_epoch(struct gn_clocks *clocks, uint64_t epoch_ticks);

/*
 * One message: it left `from` not before sent_ticks and was in `to` not after received_ticks. Amortised
 * constant time, bounded memory. The order does not matter, but it is fastest in order of the receiving
 * domain's time. Returns 0, -ENOMEM (the message is not counted), or -EINVAL: no such domains, or both the
 * same.
 */
int gn_clocks_message(struct gn_clocks *clocks, uint32_t from, uint64_t sent_ticks, uint32_t to,
                      uint64_t received_ticks);

/* How many messages from one domain to another were seen. */
uint64_t gn_clocks_messages(const struct gn_clocks *clocks, uint32_t from, uint32_t to);

/* The messages that were kept of a pair, in the order of the receiver's time: all that another gn_clocks
 * needs to come to the same bounds. each() gets them one by one. */
void gn_clocks_each_kept(const struct gn_clocks *clocks, uint32_t from, uint32_t to,
                         void (*each)(void *context, uint64_t sent_ticks, uint64_t received_ticks),
                         void *context);

/* Makes the bounds of all domains. May be called again when more messages have come. 0 or -ENOMEM. */
int gn_clocks_solve(struct gn_clocks *clocks, const struct gn_assumption *assumption, struct gn_error *err);

/* Of the last solving. */
const struct gn_clock_state *gn_clocks_state(const struct gn_clocks *clocks, uint32_t domain);

#endif
