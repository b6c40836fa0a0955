/*
 * analyse/waits — who waited for whom, call by call: at each call that was left for something from elsewhere,
 * from its enter until the last of what it took had been given.
 *
 * The cause is the location that gave last, and what it computed before that: collectives make all ranks
 * equally slow, so it is not the one that waits, nor the one whose calls take long, but the one whose own
 * work was longest. Where several may have been last (their bounds overlap), the wait is possible for each of
 * them and certain for none.
 *
 * Who gave last may be late itself only because it waited for a third one. From where the two were last
 * level — they left the same collective, or one had a message from the other — both have had the same time:
 *
 *   level     work of the one that waits      its enter ......... waits W ......... │
 *   │─────────────────────────────────────────│·····································│
 *   │───────────│········ waits for a third one, w ········│────────────────────────│
 *   level       work of the last giver                        work                  it gives
 *
 * so its own work was longer by W − w, and w of W is the third one's. Waits of the one that waits, for others
 * since they were level, count against w. What comes back to the one that waits stays with the last giver:
 * nobody holds itself up.
 */
#ifndef GNOMON_ANALYSE_WAITS_H
#define GNOMON_ANALYSE_WAITS_H

#include "analyse/wait_edges.h"
#include "event/kept_window.h"

/* What a location has made others wait, or waited. */
struct gn_blame {
    double lo_ns, hi_ns; /* sum over the locations that waited */
};

/* Of one cause: a location's activity before the call in which it gave last. */
struct gn_cause {
    uint32_t location;
    uint32_t
        activity; /* what it computed longest since the two were level; GN_NONE: it was longer in a call */
    uint32_t inside_region, inside_path; /* activity == GN_NONE: of that call (I/O, say) */
    uint32_t call_region, call_path;     /* of the calls that waited for it */
    struct gn_blame caused;
    double squares;       /* sum of the squares of what it caused at each call, ns² */
    uint64_t times;       /* calls (collectives: instances) it was certainly last in */
    uint64_t first, last; /* … which of the waiting location's calls on that path, from 0; times > 0 */
    uint64_t steps;       /* different ones of these */
    uint64_t of;          /* calls on that path, of the location that has made the most */
};

enum { GN_WAITS_SLICES = 100, GN_WAITS_PARTS = 20 /* that stragglers are told by */ };
_Static_assert(GN_WAITS_SLICES % GN_WAITS_PARTS == 0, "each has as many slices");

struct gn_waits {
    struct gn_blame *caused; /* [location_count] */
    struct gn_blame *waited; /* [location_count] */
    double *joined;        /* [location_count] ns of busy in which it waited for threads of its own process */
    struct gn_blame *busy; /* [location_count] from its first event to its last, without these waits, and
                              without starting and ending MPI */
    struct gn_cause *causes; /* [cause_count] by caused.lo_ns, then caused.hi_ns, descending */
    size_t cause_count;
    struct gn_wait_edges edges; /* between processes, sorted */
    uint64_t last_certain;      /* waits that are certain, and for whom */
    uint64_t last_possible;     /* others: several may have been last, or it may have been no wait at all */
    /* of the run in equal slices of time, certain ns that each location caused: [location * SLICES + slice];
     * NULL: dropped */
    double *slices;
};

/* counted: only calls that were left in it count, while the others are looked at, too, for what came before
 * and after them; NULL: all count. 0, and the caller clears; or -ENOMEM with err set. At most linear in calls
 * and takes, but for collectives of which many may have been last: members times those that may. */
int gn_waits_find(struct gn_waits *waits, const struct gn_history *history,
                  const struct gn_kept_window *counted, struct gn_error *err);
/* Of many windows, of which each is a slice, nobody needs them. */
void gn_waits_drop_slices(struct gn_waits *waits);
void gn_waits_clear(struct gn_waits *waits);

#endif
