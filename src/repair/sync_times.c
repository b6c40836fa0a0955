/* repair/sync_times — passes of repair/sync: from events to ops, and from ops to corrected times. */
#include "repair/sync_inside.h"

#include <errno.h>
#include <string.h>

/* ---- from events to ops ---- */

static int extract_mine(struct gn_sync_state *s, struct gn_extract *extract, struct gn_error *err)
{
    const size_t count = s->definitions->process_count;
    int code = 0;
    for (uint32_t p = 0; p < count && code == 0; p++) {
        gn_sync_show(s, "reading", (double)p / (double)count);
        if (gn_sync_is_mine(s, p))
            code = gn_extract_process(extract, p, err);
    }
    return code;
}

static int extract(struct gn_sync_state *s, struct gn_error *err)
{
    struct gn_sync_report *r = s->report;
    struct gn_extract *extract;
    int code = gn_op_store_open(&s->store, s->definitions->location_count, s->folder, err);
    if (code < 0)
        return code;
    s->has_store = true;
    gn_op_store_memory(&s->store, s->settings->memory_bytes);
    code = gn_extract_open(&extract, &r->source, &r->clocks.presync, &s->store, err);
    if (code < 0)
        return code;
    code = extract_mine(s, extract, err);
    r->events = *gn_extract_stats(extract);
    gn_extract_close(extract);
    return code;
}

static int sum_extracted(struct gn_sync_state *s, struct gn_error *err)
{
    struct gn_extract_stats *e = &s->report->events;
    struct gn_sync_report *r = s->report;
    int64_t first = e->events ? e->first_ticks : INT64_MAX, last = e->events ? e->last_ticks : INT64_MIN;
    r->truncated = s->found->truncated;
    r->missing_files = s->found->missing_files;
    uint64_t *const counts[] = {&e->events,    &e->ops,       &e->sends, &e->receives,  &e->collectives,
                                &e->uncounted, &e->ambiguous, &e->unfit, &r->truncated, &r->missing_files};
    int code = gn_sync_sum(s, counts, sizeof counts / sizeof counts[0], err);
    if (code == 0)
        code = gn_sync_span(s, &first, &last, err);
    e->first_ticks = e->events ? first : 0;
    e->last_ticks = e->events ? last : 0;
    return code;
}

int gn_sync_read(struct gn_sync_state *s, struct gn_error *err)
{
    int code = gn_sync_settled_input(s, extract(s, err), err);
    return code == 0 ? sum_extracted(s, err) : code;
}

/* ---- the clock ---- */

static void on_repair(void *self, const char *phase, double share)
{
    gn_sync_show(self, phase, share);
}

/* Whether some clock is as it is in C: nothing says how it runs. */
static bool has_raw_clock(const struct gn_sync_clocks *clocks)
{
    switch (clocks->presync.kind) {
    case GN_PRESYNC_LINEAR:
        return clocks->seen.kind == GN_PRESYNC_NONE;
    case GN_PRESYNC_BOUNDS:
        return clocks->bounded < clocks->presync.definitions->location_count;
    default:
        return true;
    }
}

/* What clocks may drift from each other: as they are, and with their rates corrected as far as they are
 * known. */
static double apart_ppm(const struct gn_sync_clocks *clocks)
{
    enum { RAW_PPM = 200, CORRECTED_PPM = 20 };
    return has_raw_clock(clocks) ? RAW_PPM : CORRECTED_PPM;
}

static double gamma_of(const struct gn_sync_state *s)
{
    if (s->settings->gamma > 0)
        return s->settings->gamma;
    return has_raw_clock(&s->report->clocks) ? GN_REPAIR_GAMMA_RAW : GN_REPAIR_GAMMA;
}

static int repair_with(struct gn_sync_state *s, const struct gn_latency *given, struct gn_error *err)
{
    const struct gn_sync_settings *set = s->settings;
    struct gn_repair_result *result = &s->report->repair;
    s->repair_settings = (struct gn_repair_settings){
        .gamma = gamma_of(s),
        .slope = set->slope,
        .longest_ticks = gn_latency_ticks(s->definitions, set->longest_ns),
        .threshold_ticks = gn_latency_ticks(s->definitions, set->threshold_ns),
        .apart_ppm = apart_ppm(&s->report->clocks),
        .latency = given,
        .bounded = s->report->clocks.presync.kind == GN_PRESYNC_BOUNDS,
        .progress = on_repair,
        .self = s,
    };
    int code = gn_repair(&s->repair, s->definitions, &s->store, s->transport, s->split.owner,
                         &s->repair_settings, result, err);
    s->repair_settings.latency = NULL; /* from here on it is in the result */
    if (code < 0)
        *result = (struct gn_repair_result){.pass_count = 0};
    return code;
}

/* The others may be waiting in the middle of it: who fails ends the job. */
static void give_up(const struct gn_sync_state *s, const char *why)
{
    const struct gn_sync_watcher *w = &s->settings->watcher;
    if (w->gives_up)
        w->gives_up(w->self, why);
    s->transport->give_up(s->transport->self, 1);
}

int gn_sync_repair(struct gn_sync_state *s, struct gn_error *err)
{
    struct gn_latency given;
    const bool is_given = s->settings->latency.kind != GN_LATENCY_AUTO;
    int code = is_given ? gn_latency_given(&given, &s->settings->latency, s->definitions, err) : 0;
    code = gn_sync_settled_input(s, code, err);
    if (code < 0)
        return code;
    code = repair_with(s, is_given ? &given : NULL, err);
    if (is_given)
        gn_latency_close(&given);
    if (code == -ERANGE) /* all have found that together */
        return gn_sync_settled_input(s, gn_sync_is_first(s) ? code : 0, err);
    if (code < 0 && s->transport->size > 1)
        give_up(s, err ? err->text : strerror(-code));
    return code;
}

void gn_sync_forget_times(struct gn_sync_state *s)
{
    if (s->repair) {
        gn_repair_close(s->repair);
        gn_latency_close(&s->report->repair.latency);
    }
    s->repair = NULL;
    if (s->has_store)
        gn_op_store_close(&s->store);
    s->has_store = false;
    s->has &= ~(unsigned)(GN_SYNC_OPS | GN_SYNC_TIMES);
}
