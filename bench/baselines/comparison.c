#include "baselines/comparison.h"

#include "clock/ticks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MODELS = GN_COMPARED_METHODS - GN_FIT_KINDS, TIMINGS = 3 };

static const struct {
    enum gn_assumption_kind kind;
    const char *name;
} models[MODELS] = {
    {GN_RATE_WANDERS, "gnomon, rate wanders"},
    {GN_RATE_WITHIN, "gnomon, rate within limits"},
    {GN_RATE_CONSTANT, "gnomon, rate constant"},
};

/* What converts: one of the two. */
struct converter {
    const struct gn_fit *fit;
    const struct gn_bounds *bounds;
};

/* What every method is asked for, and room for its answers. */
struct work {
    const struct gn_comparison_input *input;
    uint64_t *readings, *message_readings;
    struct gn_interval *intervals; /* as many as the longest of all lists */
    size_t count, complete;        /* readings; exchanges with all four */
    double least_ns;
};

static void convert(const struct converter *by, const uint64_t *ticks, struct gn_interval *intervals,
                    size_t count)
{
    if (by->fit)
        gn_fit_convert_all(by->fit, ticks, intervals, count);
    else
        gn_bounds_convert_all(by->bounds, ticks, intervals, count);
}

static bool known(struct gn_interval at)
{
    return at.lo_ns != INT64_MIN && at.hi_ns != INT64_MAX;
}

/* 0 where the published FreeZer turns its bounds around. */
static double width_of(struct gn_interval at)
{
    return !known(at) ? INFINITY : at.hi_ns < at.lo_ns ? 0 : (double)at.hi_ns - (double)at.lo_ns;
}

static long double middle_of(struct gn_interval at)
{
    return ((long double)at.lo_ns + (long double)at.hi_ns) / 2;
}

/* ---- readings ---- */

static double ns_to_convert(const struct work *work, const struct converter *by)
{
    double least = INFINITY;
    for (int i = 0; i < TIMINGS; i++) {
        uint64_t begin_ns = gn_monotonic_ns();
        convert(by, work->readings, work->intervals, work->count);
        least = fmin(least, (double)(gn_monotonic_ns() - begin_ns));
    }
    return least;
}

static void compare_with_truth(const struct work *work, struct gn_comparison *row)
{
    const struct gn_comparison_input *input = work->input;
    double sum = 0;
    size_t outside = 0;
    row->truth_known = true;
    for (size_t i = 0; i < work->count; i++) {
        struct gn_interval truth = input->truth(input->truth_context, work->readings[i]);
        struct gn_interval at = work->intervals[i];
        double error = known(at) ? fabs((double)(middle_of(at) - middle_of(truth))) : INFINITY;
        sum += error;
        row->error_max_ns = fmax(row->error_max_ns, error);
        outside += truth.hi_ns < at.lo_ns || truth.lo_ns > at.hi_ns;
    }
    row->error_ns = sum / (double)work->count;
    row->outside = (double)outside / (double)work->count;
}

static void compare_readings(const struct work *work, const struct converter *by, struct gn_comparison *row)
{
    double sum = 0;
    row->ns_per_reading = ns_to_convert(work, by) / (double)work->count;
    for (size_t i = 0; i < work->count; i++)
        sum += width_of(work->intervals[i]);
    row->width_ns = sum / (double)work->count;
    if (work->input->truth)
        compare_with_truth(work, row);
}

static void compare_exchanges(const struct work *work, const struct converter *by, struct gn_comparison *row)
{
    const struct gn_fit_pair *pair = &work->input->pair;
    double sum = 0;
    for (size_t i = 0; i < pair->count; i++) {
        const struct gn_exchange *e = &pair->exchanges[i];
        const uint64_t both[] = {e->asked_ticks, e->received_ticks};
        struct gn_interval at[2];
        if (!e->there || !e->back)
            continue;
        convert(by, both, at, 2);
        sum += fmin(width_of(at[0]), width_of(at[1]));
    }
    row->exchange_width_ns = sum / (double)work->complete;
}

/* ---- messages ---- */

static long double parent_ns(const struct gn_fit_pair *pair, uint64_t ticks)
{
    return (long double)(int64_t)(ticks - pair->epoch_ticks) * 1e9L / (long double)pair->parent.hz;
}

static void compare_messages(const struct work *work, const struct converter *by, struct gn_comparison *row)
{
    const struct gn_comparison_input *input = work->input;
    convert(by, work->message_readings, work->intervals, input->message_count);
    for (size_t i = 0; i < input->message_count; i++) {
        const struct gn_compared_message *m = &input->messages[i];
        long double child = middle_of(work->intervals[i]);
        double took = (double)(m->to_parent ? parent_ns(&input->pair, m->received_ticks) - child
                                            : child - parent_ns(&input->pair, m->sent_ticks));
        row->fast += took < work->least_ns;
        row->inverted += took < 0;
    }
}

static void compare(const struct work *work, const struct converter *by, struct gn_comparison *row)
{
    compare_readings(work, by, row);
    compare_exchanges(work, by, row);
    compare_messages(work, by, row);
}

/* ---- methods ---- */

static void compare_fit(const struct work *work, enum gn_fit_kind kind, struct gn_comparison *row)
{
    row->method = gn_fit_name(kind);
    row->bounded = gn_fit_has_bounds(kind);
    struct gn_fit *fit = gn_fit_new(kind, &work->input->pair, &row->problem);
    row->failed = !fit;
    if (fit)
        compare(work, &(struct converter){.fit = fit}, row);
    gn_fit_free(fit);
}

static void tell_refuted(const struct gn_clock_state *state, struct gn_comparison *row)
{
    const struct gn_refutation *first = &state->refuted[0];
    if (state->refuted_count > 0)
        snprintf(row->problem.text, sizeof row->problem.text,
                 "refuted: the rate differs by %.0f ppb at least, %.0f were assumed", first->seen_ppb,
                 first->allowed_ppb);
}

static int compare_model(const struct work *work, struct gn_clocks *clocks, int model,
                         struct gn_comparison *row, struct gn_error *err)
{
    struct gn_assumption assumption = work->input->assumption;
    assumption.kind = models[model].kind;
    row->method = models[model].name;
    row->bounded = true;
    int code = gn_clocks_solve(clocks, &assumption, err);
    if (code != 0)
        return code;
    const struct gn_clock_state *state = gn_clocks_state(clocks, 1);
    row->failed = !state->bounds;
    tell_refuted(state, row);
    if (state->bounds)
        compare(work, &(struct converter){.bounds = state->bounds}, row);
    else
        gn_fail(&row->problem, 0, "no messages in both directions");
    return 0;
}

static int give_exchanges(struct gn_clocks *clocks, const struct gn_fit_pair *pair)
{
    int code = 0;
    for (size_t i = 0; i < pair->count && code == 0; i++) {
        const struct gn_exchange *e = &pair->exchanges[i];
        if (e->there)
            code = gn_clocks_message(clocks, 1, e->asked_ticks, 0, e->heard_ticks);
        if (e->back && code == 0)
            code = gn_clocks_message(clocks, 0, e->answered_ticks, 1, e->received_ticks);
    }
    return code;
}

static int compare_models(const struct work *work, struct gn_comparison *rows, struct gn_error *err)
{
    const struct gn_fit_pair *pair = &work->input->pair;
    struct gn_clocks *clocks = gn_clocks_new(0);
    int code = -ENOMEM;
    if (clocks && gn_clocks_add(clocks, &pair->parent) == 0 && gn_clocks_add(clocks, &pair->child) == 1) {
        gn_clocks_set_epoch(clocks, pair->epoch_ticks);
        code = give_exchanges(clocks, pair);
    }
    if (code != 0)
        gn_fail(err, code, "no memory for the models of two clocks");
    for (int i = 0; i < MODELS && code == 0; i++)
        code = compare_model(work, clocks, i, &rows[i], err);
    gn_clocks_free(clocks);
    return code;
}

/* ---- what to convert ---- */

/* Those that were given, or evenly over the time of the exchanges. */
static void spread_readings(struct work *work, const struct gn_exchange *first,
                            const struct gn_exchange *last)
{
    uint64_t span_ticks =
        last->received_ticks > first->asked_ticks ? last->received_ticks - first->asked_ticks : 0;
    for (size_t i = 0; i < work->count; i++)
        work->readings[i] =
            work->input->readings
                ? work->input->readings[i]
                : first->asked_ticks + (uint64_t)((unsigned __int128)span_ticks * i / (work->count - 1));
}

static double round_trip_ns(const struct gn_fit_pair *pair, const struct gn_exchange *e)
{
    return 1e9 * ((double)(int64_t)(e->received_ticks - e->asked_ticks) / pair->child.hz -
                  (double)(int64_t)(e->answered_ticks - e->heard_ticks) / pair->parent.hz);
}

static int look_at_exchanges(struct work *work, const struct gn_exchange **first,
                             const struct gn_exchange **last, struct gn_error *err)
{
    const struct gn_fit_pair *pair = &work->input->pair;
    double shortest_ns = INFINITY;
    *first = *last = NULL;
    for (size_t i = 0; i < pair->count; i++) {
        const struct gn_exchange *e = &pair->exchanges[i];
        if (!e->there || !e->back)
            continue;
        *first = *first ? *first : e;
        *last = e;
        work->complete++;
        shortest_ns = fmin(shortest_ns, round_trip_ns(pair, e));
    }
    if (!*first)
        return gn_fail(err, -EINVAL, "nothing to compare: not one exchange has all of its four readings");
    work->least_ns = work->input->least_ns < 0 ? shortest_ns / 2 : work->input->least_ns;
    return 0;
}

static void forget(struct work *work)
{
    free(work->readings);
    free(work->message_readings);
    free(work->intervals);
}

static int prepare(struct work *work, struct gn_error *err)
{
    const struct gn_comparison_input *input = work->input;
    const struct gn_exchange *first, *last;
    int code = look_at_exchanges(work, &first, &last, err);
    if (code != 0)
        return code;
    work->count = input->readings ? input->reading_count : GN_COMPARED_READINGS;
    if (work->count == 0)
        return gn_fail(err, -EINVAL, "nothing to compare: no readings");
    size_t most = work->count > input->message_count ? work->count : input->message_count;
    work->readings = calloc(work->count, sizeof *work->readings);
    work->message_readings = calloc(input->message_count + 1, sizeof *work->message_readings);
    work->intervals = calloc(most, sizeof *work->intervals);
    if (!work->readings || !work->message_readings || !work->intervals) {
        forget(work);
        return gn_fail(err, -ENOMEM, "no memory to compare %zu readings", most);
    }
    spread_readings(work, first, last);
    for (size_t i = 0; i < input->message_count; i++)
        work->message_readings[i] =
            input->messages[i].to_parent ? input->messages[i].sent_ticks : input->messages[i].received_ticks;
    return 0;
}

int gn_compare(const struct gn_comparison_input *input, struct gn_comparison rows[GN_COMPARED_METHODS],
               struct gn_error *err)
{
    struct work work = {.input = input};
    for (int i = 0; i < GN_COMPARED_METHODS; i++)
        rows[i] = (struct gn_comparison){.method = NULL};
    int code = prepare(&work, err);
    if (code != 0)
        return code;
    code = compare_models(&work, rows, err);
    for (int kind = 0; kind < GN_FIT_KINDS && code == 0; kind++)
        compare_fit(&work, kind, &rows[MODELS + kind]);
    forget(&work);
    return code;
}
