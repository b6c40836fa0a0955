/* cli/order_use — one use of `gnomon order`: where its events come from, the sort, and where they go. */
#ifndef GNOMON_CLI_ORDER_USE_H
#define GNOMON_CLI_ORDER_USE_H

#include "trace/joined.h"
#include "agent/live.h"
#include "cli/order_options.h"

struct gn_order_use {
    const struct gn_order_options *options;
    struct gn_definitions *own_definitions; /* live */
    struct gn_source source;                /* traces */
    struct gn_joined *joined;
    struct gn_ordering *ordering;
    struct gn_output output;
    bool has_output;
    struct gn_plot *plot;
    struct gn_live_counts live;
    char newest[4096], *found; /* the run that is taken when none is named */
};

/* All of *use is zero but options; to be closed whatever this returns: 0, or a negative errno value with err
 * set. */
int gn_order_use_open(struct gn_order_use *use, struct gn_error *err);
void gn_order_use_close(struct gn_order_use *use);

/* All events, as they come. 0; -ECANCELED: as many as were asked for have matched; other negative values with
 * err set. */
int gn_order_use_run(struct gn_order_use *use, struct gn_error *err);
/* What is still to be written: the output's end, the plot. */
int gn_order_use_end(struct gn_order_use *use, struct gn_error *err);

const struct gn_definitions *gn_order_use_definitions(const struct gn_order_use *use);

#endif
