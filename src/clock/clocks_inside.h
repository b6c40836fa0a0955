/*
 * clock/clocks_inside — what the files of the clocks share. Not for anybody else.
 *
 *   clocks.c         domains, and what is kept of the messages between them
 *   domain.c         the bounds of one domain, from points of its clock that are known
 *   clocks_solve.c   the way from the reference to all others, and what refuted assumptions do to the rest
 */
#ifndef GNOMON_CLOCK_CLOCKS_INSIDE_H
#define GNOMON_CLOCK_CLOCKS_INSIDE_H

#include "base/map.h"
#include "clock/clocks.h"
#include "clock/model.h"
#include "clock/pair.h"

enum { GN_RECENT_PAIRS = 16 };

/* Messages between two domains, seen from one of them. */
struct gn_link {
    uint32_t other;
    struct gn_pair *to_other, *from_other; /* NULL: none went this way */
};

struct gn_domain {
    struct gn_clock_def def;
    struct gn_clock_state state;
    struct gn_bounds *bounds; /* of which one side may mean nothing yet */
    bool has_lo, has_hi;
    struct gn_link *links;
    size_t link_count, link_capacity;
};

struct gn_clocks {
    size_t capacity;
    uint64_t epoch_ticks;
    struct gn_domain *domains;
    size_t count, domain_capacity, link_count;
    struct gn_map pairs;
    struct gn_recent {
        uint32_t from, to;
        struct gn_pair *pair;
    } recent[GN_RECENT_PAIRS];
};

/* ---- domain.c ---- */

/* The domain has no bounds any more; what was refuted stays said. */
void gn_domain_drop_bounds(struct gn_domain *d);

/* Nothing is known or refuted of the domain. */
void gn_domain_forget(struct gn_domain *d);

void gn_points_clear(struct gn_points *points);

/* The bounds under the assumption, or under the strongest weaker one that the points do not refute. 0 or
 * -ENOMEM. */
int gn_domain_two_sided(struct gn_domain *d, const struct gn_points *points,
                        const struct gn_assumption *assumption, struct gn_error *err);

/* Messages of one direction only, as in a ring: one bound is known, and others may come to know their second
 * from it. 0 or -ENOMEM. */
int gn_domain_one_sided(struct gn_domain *d, struct gn_points *points, const struct gn_assumption *assumption,
                        struct gn_error *err);

#endif
