#include "repair/check.h"

#include "event/ahead.h"
#include "trace/reader.h"

static int check_events(const struct gn_check_settings *s, struct gn_check_report *r, struct gn_error *err)
{
    struct gn_presync bounds;
    int code = gn_sync_bounds_at_hand(&r->clocks, &s->bounds, r->definitions, &bounds, err);
    if (code < 0)
        return code;
    gn_source_ahead(&r->source); /* without it, it only takes longer */
    struct gn_source pulled = s->watch ? s->watch(s->self, &r->source) : r->source;
    const struct gn_condition_terms terms = {.presync = &r->clocks.presync,
                                             .latency = &r->latency,
                                             .bounds = bounds.kind == GN_PRESYNC_BOUNDS ? &bounds : NULL};
    return gn_condition_check(&pulled, &terms, &r->condition, err);
}

int gn_check(const struct gn_check_settings *settings, struct gn_check_report *report, struct gn_error *err)
{
    const struct gn_trace_report *found;
    *report = (struct gn_check_report){.trace = settings->trace};
    int code = gn_trace_open(&report->source, &found, settings->trace, err);
    if (code < 0)
        return code;
    report->definitions = report->source.definitions;
    code = gn_sync_clocks(&report->clocks, settings->presync, settings->trace, &settings->bounds,
                          report->definitions, err);
    if (code == 0)
        code = gn_latency_given(&report->latency, &settings->latency, report->definitions, err);
    if (code == 0)
        code = check_events(settings, report, err);
    report->truncated = found->truncated;
    report->missing_files = found->missing_files;
    report->condition.unread_locations = found->truncated + found->missing_files;
    if (code < 0)
        gn_check_report_clear(report);
    return code;
}

void gn_check_report_clear(struct gn_check_report *report)
{
    gn_latency_close(&report->latency);
    if (report->source.close)
        report->source.close(report->source.self);
    *report = (struct gn_check_report){.trace = NULL};
}
