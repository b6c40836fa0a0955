/*
 * repair/retiming — the new time of each record of a location: presynchronised, and moved by its knots; and
 * how far that has changed the distances and positions of its events (Becker 2009, section 6.2, table 4).
 */
#ifndef GNOMON_REPAIR_RETIMING_H
#define GNOMON_REPAIR_RETIMING_H

#include "repair/knots.h"
#include "repair/line.h"
#include "repair/presync.h"

enum { GN_DEVIATIONS = 6 }; /* above 0, 0.01, 0.1, 1, 10, 100 % */

/* All sums; those of several locations and processes can be added up. */
struct gn_deviation {
    uint64_t events, moved;            /* moved: the new time is not the presynchronised one */
    uint64_t intervals;                /* between neighbours at a location, longer than 0 */
    double interval_ticks;             /* their lengths */
    double deviation_ticks;            /* |change of length| */
    uint64_t above[GN_DEVIATIONS];     /* intervals whose length changed by more than … */
    double above_ticks[GN_DEVIATIONS]; /* and their lengths before */
    double largest_distance;           /* relative change of an interval, 1 = 100 %; a maximum */
    double largest_position; /* relative change of the time since the location's first event; a maximum */
    int64_t largest_position_ticks; /* absolute; a maximum */
    double steepest; /* largest (new − old length) / old length of an interval of 1 us or more; a maximum */
    uint64_t outside; /* events that were moved out of their guaranteed bounds */
    uint64_t bounded; /* events that have guaranteed bounds */
};

struct gn_retiming {
    struct gn_presync_map map;
    struct gn_deviation *deviation;
    bool is_raw, is_bounded; /* presynchronised times are timestamps; they have bounds */
    double microsecond_ticks;
    struct gn_knot_source source;
    bool is_over;             /* the source has no more of them */
    struct gn_knot_row knots; /* from the one before `next` on, to the one after `next_op`'s record */
    uint64_t next;            /* knot that is not behind */
    uint64_t last_record;     /* of the last knot that is an op; 0: there was none */
    bool is_still; /* between the knot before and that one nothing moves; otherwise the shift is: */
    struct gn_line line;
    int64_t right_ticks, right_shift; /* where it ends; from there on */
    uint64_t next_op;                 /* from `next` on, the first knot that is an op; the count: none */
    int64_t op_new;                   /* its time */
    /* of the records before: */
    bool any;
    int64_t first_old, first_new, old_ticks, new_ticks;
    int64_t latest_old; /* timestamps may go back */
    bool is_late;       /* a new time would have been above INT64_MAX / 2, which it was made */
    bool is_outside;    /* the one before was moved out of its bounds */
    int64_t low, high;  /* bounds of this record */
    uint64_t steps; /* time went on so many times since the last knot that is an op, or the first record */
};

/* knots: NULL or without any: nothing moves; what they come from and the presync outlive it. Whether it has
 * failed is asked there. What is counted is added to *deviation. */
struct gn_retiming gn_retiming_begin(const struct gn_presync *presync, uint32_t location,
                                     const struct gn_knot_source *knots, struct gn_deviation *deviation);

/*
 * The new time of the next record, and its part in the deviation. A struct gn_retimer's time
 * (trace/retime.h). record: ascending, from 1, but not each of them has to be asked for.
 *
 * New times never decrease, and where presynchronised time goes on so does the new one, unless two ops with
 * too little room between them do not let it. Between ops that are inside their guaranteed bounds, new times
 * are inside theirs. Timestamps above INT64_MAX / 2 are no ticks: they stay. New times do not go above it,
 * nor below 0.
 */
uint64_t gn_retiming_time(void *retiming, uint64_t record, uint64_t ticks);

void gn_deviation_add(struct gn_deviation *sum, const struct gn_deviation *more);

#endif
