/*
 * analyse/ordering — from delivered events to what `gnomon order` shows: the sort, the question of --when, an
 * output, and what is measured on the way.
 *
 * The numbers that compare with the paper: the graph's window and its unreported part (from the sort), how
 * many pushes an event waited, and how many messages go backward in three orders: by their timestamps, as
 * they arrived, and as they came out. The last is counted here, by causality/backward, not taken on trust.
 */
#ifndef GNOMON_ANALYSE_ORDERING_H
#define GNOMON_ANALYSE_ORDERING_H

#include "trace/origin.h"
#include "trace/output.h"
#include "causality/plot.h"
#include "analyse/predicate.h"
#include "causality/backward.h"
#include "causality/order.h"

struct gn_ordering_settings {
    bool unsorted; /* events go out as they arrive */
    bool adjust;
    bool in_time, is_live;                /* causality/order.h */
    bool measure;                         /* fill struct gn_measured */
    bool check;                           /* … only what there is of receives that came out */
    const char *when;                     /* a predicate; NULL: all events */
    uint64_t stop_after;                  /* matches; 0: never */
    struct gn_plot *plot;                 /* NULL: none */
    const struct gn_event_bounds *bounds; /* NULL: none */
    const struct gn_definitions *definitions;
};

struct gn_measured {
    uint64_t receives;            /* matched with a send */
    uint64_t backward_timestamps; /* … received at an earlier raw time than sent */
    uint64_t backward_arrived;    /* … that arrived before their sends */
    uint64_t backward_reported;   /* … that came out before their sends: 0 */
    uint64_t delayed;             /* events reported by a later push than their own */
    uint64_t delay_max;           /* pushes from observation to report; 0: the same push */
    double delay_sum;
};

struct gn_ordering;

/* 0, or a negative errno value with err set; a predicate that is wrong has been explained on standard error
 * and leaves err empty. */
int gn_ordering_open(struct gn_ordering **ordering, const struct gn_ordering_settings *settings,
                     struct gn_error *err);
void gn_ordering_close(struct gn_ordering *ordering); /* NULL is allowed */

/* For outputs that show times; valid as long as the ordering. Known from the first event on. */
const struct gn_origin *gn_ordering_origin(const struct gn_ordering *ordering);
/* Where events go; the output stays the caller's. Before the first push. */
void gn_ordering_send_to(struct gn_ordering *ordering, const struct gn_output *output);

/* 0; -ECANCELED: as many events as were asked for have matched; other negative values with err set. */
int gn_ordering_push(struct gn_ordering *ordering, const struct gn_event *event, struct gn_error *err);
/* The same with the event's number at its location; -EEXIST: it was there already. */
int gn_ordering_push_numbered(struct gn_ordering *ordering, const struct gn_event *event, uint64_t sequence,
                              struct gn_error *err);
int gn_ordering_end(struct gn_ordering *ordering, uint32_t location, struct gn_error *err);
int gn_ordering_finish(struct gn_ordering *ordering, struct gn_error *err);

uint64_t gn_ordering_matches(const struct gn_ordering *ordering); /* of the predicate */
struct gn_measured gn_ordering_measured(const struct gn_ordering *ordering);
const struct gn_order_stats *gn_ordering_stats(const struct gn_ordering *ordering); /* NULL: unsorted */

#endif
