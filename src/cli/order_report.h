/* cli/order_report — what `gnomon order --stats` says, as text and as JSON (docs/order.md). */
#ifndef GNOMON_CLI_ORDER_REPORT_H
#define GNOMON_CLI_ORDER_REPORT_H

#include "agent/live.h"
#include "analyse/ordering.h"
#include "trace/reader.h"

struct gn_order_report {
    const char *arrival; /* as asked for; "live" */
    uint64_t locations;
    bool asked; /* for events that match a predicate */
    uint64_t matches;
    bool stopped; /* before the end, because enough events matched */
    struct gn_measured measured;
    const struct gn_order_stats *stats;  /* NULL: unsorted */
    const struct gn_trace_report *trace; /* NULL: live */
    const struct gn_live_counts *live;   /* NULL: from traces */
};

void gn_order_report_text(const struct gn_order_report *report, FILE *out);
void gn_order_report_json(const struct gn_order_report *report, FILE *out);

#endif
