/*
 * repair/check — whether the timestamps of a trace keep the order of cause and effect (repair/condition.h):
 * from the archive to the answer.
 */
#ifndef GNOMON_REPAIR_CHECK_H
#define GNOMON_REPAIR_CHECK_H

#include "repair/condition.h"
#include "repair/latency_spec.h"
#include "repair/sync_clocks.h"

struct gn_check_settings {
    const char *trace; /* as for gn_trace_open */
    enum gn_sync_presync presync;
    struct gn_latency_spec latency; /* not AUTO */
    struct gn_bounds_asker bounds;  /* outlives the report */
    /* Before all events are pulled: what they are pulled from instead, which outlives the check; NULL: as
     * they are. */
    struct gn_source (*watch)(void *self, const struct gn_source *source);
    void *self;
};

struct gn_check_report {
    const char *trace;
    const struct gn_definitions *definitions;
    struct gn_condition condition;
    struct gn_latency latency; /* that was asked for */
    struct gn_sync_clocks clocks;
    uint64_t truncated, missing_files; /* locations of which not all could be checked */
    struct gn_source source;           /* what definitions belong to */
};

/* 0, and the caller clears the report; or a negative errno value with err set. */
int gn_check(const struct gn_check_settings *settings, struct gn_check_report *report, struct gn_error *err);
void gn_check_report_clear(struct gn_check_report *report);

#endif
