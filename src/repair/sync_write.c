/* repair/sync_write — the pass of repair/sync that writes the new archive, and the one that checks it. */
#include "repair/sync_inside.h"

#include <errno.h>
#include <inttypes.h>

/* A location while it is written. */
struct writing {
    const struct gn_sync_state *sync;
    struct gn_retiming retiming;
    uint64_t events, expected;
    double share, weight; /* of the phase: before it, and its own */
};

static uint64_t new_time(void *self, uint64_t record, uint64_t ticks)
{
    enum { OFTEN = 1 << 16 };
    struct writing *w = self;
    if (++w->events % OFTEN == 0) {
        const double part = w->expected ? (double)w->events / (double)w->expected : 0;
        gn_sync_show(w->sync, "writing", w->share + w->weight * (part < 1 ? part : 1));
    }
    return gn_retiming_time(&w->retiming, record, ticks);
}

static void widen(struct gn_sync_state *s, const struct gn_retiming *retiming)
{
    const uint64_t first = (uint64_t)retiming->first_new, last = (uint64_t)retiming->new_ticks;
    if (!retiming->any)
        return;
    if (!s->has_range || first < s->range.first_ticks)
        s->range.first_ticks = first;
    if (!s->has_range || last > s->range.last_ticks)
        s->range.last_ticks = last;
    s->has_range = true;
}

static int write_with(struct gn_sync_state *s, uint32_t location, struct writing *writing,
                      struct gn_error *err)
{
    const struct gn_location_def *l = &s->definitions->locations[location];
    const struct gn_retimer retimer = {writing, new_time, s->found->ends[location]};
    struct gn_sync_report *r = s->report;
    uint64_t events = 0;
    writing->events = 0;
    writing->expected = l->events == UINT64_MAX ? 0 : l->events;
    int code = gn_retime_location(s->retime, l->file_id, r->is_unchanged ? NULL : &retimer, &events, err);
    widen(s, &writing->retiming);
    r->written += events;
    if (code == 0 && writing->retiming.is_late)
        code = gn_fail(err, -ERANGE,
                       "events of location %" PRIu64 " (%s) would get times above %" PRId64
                       " (2^62), which are none: are timestamps damaged?",
                       l->file_id, gn_string(s->definitions, l->name), INT64_MAX / 2);
    return code;
}

static int write_location(struct gn_sync_state *s, uint32_t location, struct writing *writing,
                          struct gn_error *err)
{
    struct gn_sync_report *r = s->report;
    struct gn_knots *knots;
    int code = gn_repair_knots(s->repair, location, &knots, err);
    if (code < 0)
        return code;
    const struct gn_knot_source source = knots ? gn_knots_source(knots) : (struct gn_knot_source){0};
    writing->retiming = gn_retiming_begin(&r->clocks.presync, location, &source, &r->deviation);
    code = write_with(s, location, writing, err);
    const int lost = gn_repair_knots_close(s->repair, knots, code < 0 ? NULL : err);
    return code < 0 ? code : lost;
}

static int write_locations(struct gn_sync_state *s, struct gn_error *err)
{
    struct writing writing = {.sync = s};
    double all = 0;
    int code = 0;
    for (size_t i = 0; i < s->definitions->location_count; i++)
        all += gn_sync_is_mine(s, s->definitions->locations[i].process) ? (double)s->split.bytes[i] : 0;
    for (uint32_t i = 0; i < s->definitions->location_count && code == 0; i++) {
        if (!gn_sync_is_mine(s, s->definitions->locations[i].process))
            continue;
        gn_sync_show(s, "writing", writing.share);
        writing.weight = all > 0 ? (double)s->split.bytes[i] / all : 0;
        code = write_location(s, i, &writing, err);
        writing.share += writing.weight;
    }
    return code;
}

/* After a signal; not by two at a time. */
static void remove_unfinished(void *self)
{
    struct gn_sync_state *s = self;
    gn_retime_close(s->retime);
    s->retime = NULL;
}

static void tell_unfinished(struct gn_sync_state *s, void (*clean)(void *self))
{
    const struct gn_sync_watcher *w = &s->settings->watcher;
    if (w->unfinished)
        w->unfinished(w->self, clean, s);
}

static int open_output(struct gn_sync_state *s, struct gn_error *err)
{
    int code = 0;
    if (gn_sync_is_first(s))
        code = gn_retime_open(&s->retime, s->settings->trace, s->settings->out, true, err);
    code = gn_sync_settled_input(s, code, err);
    if (code < 0)
        return code;
    if (!gn_sync_is_first(s))
        code = gn_retime_open(&s->retime, s->settings->trace, s->settings->out, false, err);
    return gn_sync_settled_input(s, code, err);
}

/* Each rank's in turn: sums of doubles come out the same everywhere. */
static int share_deviation(struct gn_sync_state *s, struct gn_error *err)
{
    struct gn_deviation sum = {0};
    for (uint32_t rank = 0; rank < s->transport->size; rank++) {
        struct gn_deviation one = s->report->deviation;
        int code = s->transport->share(s->transport->self, rank, &one, sizeof one);
        if (code < 0)
            return gn_fail(err, code, "the processes that work together lost each other");
        gn_deviation_add(&sum, &one);
    }
    s->report->deviation = sum;
    return 0;
}

static int share_written(struct gn_sync_state *s, struct gn_error *err)
{
    uint64_t *const counts[] = {&s->report->written};
    int64_t first = s->has_range ? (int64_t)s->range.first_ticks : INT64_MAX;
    int64_t last = s->has_range ? (int64_t)s->range.last_ticks : INT64_MIN;
    int code = share_deviation(s, err);
    if (code == 0)
        code = gn_sync_sum(s, counts, 1, err);
    if (code == 0)
        code = gn_sync_span(s, &first, &last, err);
    s->has_range = first <= last;
    if (s->has_range)
        s->range = (struct gn_retime_range){(uint64_t)first, (uint64_t)last};
    return code;
}

static int finish_output(struct gn_sync_state *s, struct gn_error *err)
{
    const struct gn_definitions *d = s->definitions;
    const bool is_unchanged = s->report->is_unchanged;
    if (is_unchanged || !s->has_range)
        s->range = (struct gn_retime_range){d->first_ticks, d->first_ticks + d->length_ticks};
    int code = gn_retime_rest(s->retime, &s->range, !is_unchanged, err);
    gn_sync_show(s, "writing", 1);
    return code < 0 ? code : gn_retime_finish(s->retime, err);
}

int gn_sync_write(struct gn_sync_state *s, struct gn_error *err)
{
    s->report->is_unchanged = s->report->repair.pass_count == 0 && s->report->clocks.is_seen;
    tell_unfinished(s, remove_unfinished); /* before there is anything: it cannot come too late */
    int code = open_output(s, err);
    if (code == 0)
        code = gn_sync_settled_output(s, write_locations(s, err), err);
    if (code == 0)
        code = share_written(s, err);
    if (code == 0)
        code = gn_sync_settled_output(s, gn_sync_is_first(s) ? finish_output(s, err) : 0, err);
    tell_unfinished(s, NULL);
    remove_unfinished(s);
    return code;
}

/* ---- the verifier ---- */

/* Corrected times have no offsets any more; unchanged ones may. */
static int check_archive(struct gn_sync_state *s, const struct gn_presync *bounds, struct gn_error *err)
{
    struct gn_source source;
    int code = gn_trace_open(&source, NULL, s->settings->out, err);
    if (code < 0)
        return code;
    const struct gn_presync presync = {
        .kind = s->report->is_unchanged ? GN_PRESYNC_LINEAR : GN_PRESYNC_NONE,
        .definitions = source.definitions,
    };
    const struct gn_condition_terms terms = {&presync, &s->report->repair.latency, bounds};
    code = gn_condition_check(&source, &terms, &s->report->condition, err);
    source.close(source.self);
    s->report->condition.unread_locations = s->report->truncated + s->report->missing_files;
    return code;
}

/* What only may hold is judged by the times that there were before. */
static int judge_original(struct gn_sync_state *s, const struct gn_presync *bounds, struct gn_error *err)
{
    struct gn_source source;
    struct gn_condition original;
    int code = gn_trace_open(&source, NULL, s->settings->trace, err);
    if (code < 0)
        return code;
    const struct gn_presync presync = {.kind = GN_PRESYNC_NONE, .definitions = source.definitions};
    const struct gn_condition_terms terms = {&presync, NULL, bounds};
    code = gn_condition_check(&source, &terms, &original, err);
    source.close(source.self);
    if (code == 0)
        s->report->condition.judged = original.judged;
    return code;
}

static int check(struct gn_sync_state *s, struct gn_error *err)
{
    struct gn_presync bounds;
    int code = gn_sync_bounds_at_hand(&s->report->clocks, &s->settings->bounds, s->definitions, &bounds, err);
    const struct gn_presync *known = bounds.kind == GN_PRESYNC_BOUNDS ? &bounds : NULL;
    if (code == 0)
        code = check_archive(s, known, err);
    if (code == 0 && !s->report->is_unchanged && s->report->condition.uncertain.messages > 0)
        code = judge_original(s, known, err);
    return code;
}

int gn_sync_verify(struct gn_sync_state *s, struct gn_error *err)
{
    struct gn_condition *condition = &s->report->condition;
    int code = gn_sync_settled(s, gn_sync_is_first(s) ? check(s, err) : 0, err);
    if (code == 0)
        code = s->transport->share(s->transport->self, 0, condition, sizeof *condition);
    s->report->was_verified = code == 0;
    return code;
}
