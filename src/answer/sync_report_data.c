/* answer/sync_report_data — what both reports have worked out, and the one for programs (docs/repair.md). */
#include "answer/sync_report.h"

#include "answer/coverage.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

const double gn_sync_thresholds[GN_DEVIATIONS] = {0, 0.01, 0.1, 1, 10, 100};

double gn_sync_ns(const struct gn_sync_report *report, double ticks)
{
    const uint64_t rate = report->definitions->ticks_per_second;
    return ticks * 1e9 / (double)(rate ? rate : 1000000000);
}

static void include(double *least, double *most, double value)
{
    *least = value < *least ? value : *least;
    *most = value > *most ? value : *most;
}

static void include_all(struct gn_sync_latency *l, const struct gn_latency *latency, const bool *used)
{
    for (uint32_t i = 0; i < latency->domains; i++)
        for (uint32_t k = 0; used[i] && k < latency->domains; k++) {
            const double ticks = (double)gn_latency_of(latency, i, k);
            if (i == k)
                include(&l->within_least_ns, &l->within_most_ns, ticks);
            else if (used[k])
                include(&l->between_least_ns, &l->between_most_ns, ticks);
        }
}

struct gn_sync_latency gn_sync_latency(const struct gn_sync_report *report)
{
    const struct gn_latency *latency = &report->repair.latency;
    const struct gn_definitions *d = report->definitions;
    struct gn_sync_latency l = {.within_least_ns = INFINITY, .between_least_ns = INFINITY};
    bool *used = calloc(latency->domains + 1, sizeof *used);
    for (size_t i = 0; used && i < d->location_count; i++)
        if (d->locations[i].domain < latency->domains)
            used[d->locations[i].domain] = true;
    if (used)
        include_all(&l, latency, used);
    free(used);
    l.has_between = isfinite(l.between_least_ns);
    l.within_least_ns = isfinite(l.within_least_ns) ? gn_sync_ns(report, l.within_least_ns) : 0;
    l.between_least_ns = l.has_between ? gn_sync_ns(report, l.between_least_ns) : 0;
    l.within_most_ns = gn_sync_ns(report, l.within_most_ns);
    l.between_most_ns = gn_sync_ns(report, l.between_most_ns);
    return l;
}

/* ---- JSON ---- */

/* JSON has no infinity. */
static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *integer(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *text(const char *value)
{
    json_t *string = json_string(value);
    return string ? string : json_string("(not UTF-8)");
}

static void set(json_t *object, const char *name, json_t *value)
{
    json_object_set_new(object, name, value);
}

static json_t *counted(const struct gn_sync_report *r, const struct gn_replay_count *before,
                       const struct gn_replay_count *after)
{
    const double errors = (double)before->error_ticks_sum;
    json_t *object = json_object();
    set(object, "messages", integer(before->messages));
    set(object, "reversed", integer(before->reversed));
    set(object, "violating", integer(before->violating));
    set(object, "corrected", integer(after->corrected));
    set(object, "worst_ns", number(gn_sync_ns(r, (double)before->worst_ticks)));
    set(object, "error_mean_ns",
        before->reversed ? number(gn_sync_ns(r, errors / (double)before->reversed)) : json_null());
    set(object, "error_max_ns", number(gn_sync_ns(r, (double)before->error_ticks_max)));
    return object;
}

static json_t *presync(const struct gn_sync_report *r)
{
    json_t *object = json_object();
    set(object, "kind", json_string(gn_sync_presync_name(r->clocks.presync.kind)));
    set(object, "chosen", json_boolean(r->clocks.was_chosen));
    set(object, "why", text(r->clocks.why));
    set(object, "bounded_locations", integer(r->clocks.bounded));
    return object;
}

static json_t *latency(const struct gn_sync_report *r)
{
    const struct gn_sync_latency l = gn_sync_latency(r);
    json_t *object = json_object();
    set(object, "within_least_ns", number(l.within_least_ns));
    set(object, "within_most_ns", number(l.within_most_ns));
    set(object, "between_least_ns", l.has_between ? number(l.between_least_ns) : json_null());
    set(object, "between_most_ns", l.has_between ? number(l.between_most_ns) : json_null());
    return object;
}

static json_t *passes(const struct gn_sync_report *r)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->repair.pass_count; i++) {
        const struct gn_repair_pass *pass = &r->repair.passes[i];
        json_t *object = json_object();
        set(object, "gamma", number(pass->gamma));
        set(object, "latency", json_boolean(!pass->no_latency));
        set(object, "largest_shift_ns", number(gn_sync_ns(r, (double)pass->largest_shift_ticks)));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *amortization(const struct gn_sync_report *r)
{
    const struct gn_amortize_stats *a = &r->repair.amortized;
    json_t *object = json_object();
    set(object, "jumps", integer(a->jumps));
    set(object, "largest_jump_ns", number(gn_sync_ns(r, (double)a->largest_jump_ticks)));
    set(object, "limited", integer(a->limited));
    set(object, "steepest", number(a->steepest));
    set(object, "largest_shift_ns", number(gn_sync_ns(r, (double)a->largest_shift_ticks)));
    return object;
}

static json_t *distance(const struct gn_sync_report *r)
{
    const struct gn_deviation *d = &r->deviation;
    json_t *object = json_object(), *above = json_array();
    for (int i = 0; i < GN_DEVIATIONS; i++) {
        json_t *row = json_object();
        set(row, "percent", number(gn_sync_thresholds[i]));
        set(row, "intervals", integer(d->above[i]));
        set(row, "intervals_percent", number(gn_sync_percent((double)d->above[i], (double)d->intervals)));
        set(row, "time_percent", number(gn_sync_percent(d->above_ticks[i], d->interval_ticks)));
        json_array_append_new(above, row);
    }
    set(object, "intervals", integer(d->intervals));
    set(object, "mean_percent", number(gn_sync_percent(d->deviation_ticks, d->interval_ticks)));
    set(object, "largest_percent", number(100 * d->largest_distance));
    set(object, "steepest", number(d->steepest));
    set(object, "above", above);
    return object;
}

static json_t *position(const struct gn_sync_report *r)
{
    json_t *object = json_object();
    set(object, "largest_percent", number(100 * r->deviation.largest_position));
    set(object, "largest_ns", number(gn_sync_ns(r, (double)r->deviation.largest_position_ticks)));
    return object;
}

static json_t *left_out(const struct gn_sync_report *r)
{
    const struct gn_replay_stats *s = &r->repair.before;
    json_t *object = json_object();
    set(object, "unmatched_sends", integer(s->unmatched_sends));
    set(object, "unmatched_receives", integer(s->unmatched_receives));
    set(object, "incomplete_collectives", integer(s->incomplete_collectives));
    set(object, "cut", integer(s->cut));
    set(object, "ambiguous", integer(r->events.ambiguous));
    set(object, "uncounted", integer(r->events.uncounted));
    set(object, "unfit", integer(r->events.unfit));
    set(object, "truncated_locations", integer(r->truncated));
    set(object, "missing_files", integer(r->missing_files));
    return object;
}

static json_t *seconds(const struct gn_sync_report *r)
{
    json_t *object = json_object();
    set(object, "read", number(r->seconds[GN_SYNC_READ]));
    set(object, "measure", number(r->repair.seconds_measure));
    set(object, "forward", number(r->repair.seconds_forward));
    set(object, "backward", number(r->repair.seconds_backward));
    set(object, "write", number(r->seconds[GN_SYNC_WRITE]));
    set(object, "verify", number(r->seconds[GN_SYNC_VERIFY]));
    return object;
}

static json_t *residual(const struct gn_sync_report *r, const struct gn_condition_count *count)
{
    json_t *object = json_object();
    set(object, "messages", integer(count->messages));
    set(object, "violating", integer(count->violating));
    set(object, "worst_ns", number(gn_sync_ns(r, (double)count->worst_ticks)));
    return object;
}

static json_t *verified(const struct gn_sync_report *r)
{
    const struct gn_condition *c = &r->condition;
    if (!r->was_verified)
        return json_null();
    json_t *object = json_object();
    set(object, "holds", json_boolean(gn_condition_holds(c)));
    set(object, "point_to_point", residual(r, &c->messages));
    set(object, "collectives", residual(r, &c->collectives));
    set(object, "uncertain", residual(r, &c->uncertain));
    set(object, "epochs", residual(r, &c->epochs));
    set(object, "judged", gn_judged_json(c));
    set(object, "coverage", gn_coverage_json(c));
    set(object, "events", integer(c->events));
    set(object, "backward", integer(c->backward));
    return object;
}

static json_t *bounds(const struct gn_sync_report *r)
{
    json_t *object = json_object();
    set(object, "bounded", integer(r->deviation.bounded));
    set(object, "outside", integer(r->deviation.outside));
    return object;
}

static void set_counts(json_t *all, const struct gn_sync_report *r)
{
    const struct gn_replay_stats *before = &r->repair.before, *after = &r->repair.after;
    json_t *messages = json_object();
    set(messages, "point_to_point", counted(r, &before->messages, &after->messages));
    set(messages, "collectives", counted(r, &before->collectives, &after->collectives));
    set(messages, "uncertain", counted(r, &before->uncertain, &after->uncertain));
    set(all, "messages", messages);
    set(all, "left_out", left_out(r));
}

void gn_sync_report_json(const struct gn_sync_report *report, FILE *out)
{
    json_t *all = json_object();
    set(all, "trace", text(report->trace));
    set(all, "output", text(report->out));
    set(all, "ranks", integer(report->ranks));
    set(all, "locations", integer(report->definitions->location_count));
    set(all, "processes", integer(report->definitions->process_count));
    set(all, "events", integer(report->events.events));
    set(all, "unchanged", json_boolean(report->is_unchanged));
    set(all, "presync", presync(report));
    set_counts(all, report);
    set(all, "latency", latency(report));
    set(all, "passes", passes(report));
    set(all, "converged", json_boolean(report->repair.converged));
    set(all, "threshold_ns", number(gn_sync_ns(report, (double)report->repair.threshold_ticks)));
    set(all, "amortization", amortization(report));
    set(all, "moved", integer(report->deviation.moved));
    set(all, "distance", distance(report));
    set(all, "position", position(report));
    set(all, "bounds", bounds(report));
    set(all, "verified", verified(report));
    set(all, "seconds", seconds(report));
    json_dumpf(all, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    fputc('\n', out);
    json_decref(all);
}
