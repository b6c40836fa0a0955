#include "history_checks.h"

#include "analyse/global_state.h"
#include "analyse/scores.h"
#include "analyse/states.h"
#include "analyse/sweep.h"
#include "analyse/waits.h"
#include "answer/critical_report.h"
#include "answer/stragglers_report.h"
#include "answer/whatif_report.h"
#include "seen_checks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 32, BEST = 5 };

void history_must(bool fact, const char *what)
{
    if (fact)
        return;
    fprintf(stderr, "\nnot so: %s\n", what);
    abort();
}

static void must_span(double lo, double hi, double least, double most, const char *what)
{
    if (isfinite(lo) && isfinite(hi) && least <= lo && lo <= hi && hi <= most)
        return;
    fprintf(stderr, "\n%.17g to %.17g within %g to %g", lo, hi, least, most);
    history_must(false, what);
}

static bool is_interval(struct gn_interval i)
{
    return i.lo_ns <= i.hi_ns;
}

/* ---- the history ---- */

static void check_call(const struct gn_history *h, uint32_t number)
{
    const struct gn_call *c = &h->calls[number];
    history_must(is_interval(c->enter) && is_interval(c->leave), "bounds of a call are intervals");
    history_must(c->enter.lo_ns <= c->leave.lo_ns && c->enter.hi_ns <= c->leave.hi_ns,
                 "a call is not left before it is entered");
    history_must(c->enter_ticks <= c->leave_ticks, "readings do not go back");
    history_must(c->location < h->definitions->location_count, "a call's location");
    history_must(c->before == GN_NONE || c->before < number, "the call before");
    history_must(c->waits_from <= number && h->calls[c->waits_from].location == c->location, "polls");
    history_must((size_t)c->first_piece + c->piece_count <= h->piece_count, "pieces of a call");
    history_must((size_t)c->first_take + c->take_count <= h->take_count, "takes of a call");
    history_must((size_t)c->first_part + c->part_count <= h->part_count, "parts of a call");
    history_must(c->extra_ns >= 0 && isfinite(c->extra_ns), "extra of a call");
}

static void check_take(const struct gn_history *h, const struct gn_take *t, const uint32_t *entered,
                       const uint32_t *left)
{
    history_must(t->call < h->call_count && t->extra_ns >= 0 && t->room_ns >= 0 && isfinite(t->extra_ns) &&
                     isfinite(t->room_ns),
                 "a take");
    if (t->kind != GN_TAKE_GATHERING) {
        history_must(t->from < h->call_count && entered[t->from] < left[t->call],
                     "what is taken has been given before");
        return;
    }
    history_must(t->from < h->gathering_count, "an instance that is taken from");
    const struct gn_history_gathering *g = &h->gatherings[t->from];
    history_must(t->member >= g->first_part && t->member < g->first_part + g->part_count, "an own part");
    const uint32_t end = g->shape == GN_SHAPE_PREFIX ? t->member : g->first_part + g->part_count;
    for (uint32_t p = g->first_part; p < end; p++)
        history_must(!h->parts[p].gives || entered[h->parts[p].call] < left[t->call],
                     "all that is taken from an instance has been given before");
}

/* Each call is entered and left once, in the order of its location. */
static void check_steps(const struct gn_history *h, uint32_t *entered, uint32_t *left)
{
    history_must(h->step_count == 2 * h->call_count, "each call is entered and left");
    memset(entered, 0xff, h->call_count * sizeof *entered);
    memset(left, 0xff, h->call_count * sizeof *left);
    for (size_t s = 0; s < h->step_count; s++) {
        const uint32_t call = h->steps[s] >> 1, before = h->calls[call].before;
        uint32_t *at = h->steps[s] & 1 ? left : entered;
        history_must(at[call] == GN_NONE, "once");
        history_must(h->steps[s] & 1 ? entered[call] != GN_NONE
                                     : before == GN_NONE || left[before] != GN_NONE,
                     "in the order of its location");
        at[call] = (uint32_t)s;
    }
}

static void check_tracks(const struct gn_history *h)
{
    for (size_t l = 0; h->tracks && l < h->definitions->location_count; l++)
        for (size_t i = 0; i < h->tracks[l].count; i++) {
            const struct gn_change *c = &h->tracks[l].changes[i];
            history_must(is_interval(c->at), "a change is at some time");
            history_must(i == 0 || (c[-1].at.lo_ns <= c->at.lo_ns && c[-1].at.hi_ns <= c->at.hi_ns),
                         "bounds of changes do not descend");
        }
}

static void check_history(const struct gn_history *h)
{
    uint32_t *entered = malloc((h->call_count + 1) * sizeof *entered);
    uint32_t *left = malloc((h->call_count + 1) * sizeof *left);
    history_must(entered && left, "memory");
    history_must(h->length.lo_ns >= 0 && is_interval(h->length), "the run's length");
    for (uint32_t c = 0; c < h->call_count; c++)
        check_call(h, c);
    for (size_t p = 0; p < h->piece_count; p++) {
        history_must(h->pieces[p].activity < h->activity_count, "a piece's activity");
        must_span(h->pieces[p].lo_ns, h->pieces[p].hi_ns, 0, INFINITY, "a piece's time");
    }
    check_steps(h, entered, left);
    for (size_t t = 0; t < h->take_count; t++)
        check_take(h, &h->takes[t], entered, left);
    check_tracks(h);
    free(entered);
    free(left);
}

/* ---- what if ---- */

static void check_result(const struct gn_history *h, const struct gn_whatif_result *r)
{
    must_span(r->reduction_lo_ns, r->reduction_hi_ns, r->may_reorder ? -INFINITY : 0, INFINITY,
              "a reduction");
    must_span(r->speedup_lo, r->speedup_hi, r->may_reorder ? -INFINITY : 0, 1, "a speedup");
    must_span((double)r->length.lo_ns, (double)r->length.hi_ns, 0,
              r->may_reorder ? INFINITY : (double)h->length.hi_ns, "a new length");
}

static void check_whatif(const struct gn_history *h)
{
    struct gn_whatif_pass *pass = gn_whatif_pass_new(h);
    float *share = calloc(h->activity_count + 1, sizeof *share);
    history_must(pass && share, "memory");
    const struct gn_whatif what = {.share = share};
    const struct gn_whatif_result nothing = gn_whatif(pass, &what);
    history_must(nothing.reduction_lo_ns == 0 && nothing.reduction_hi_ns == 0 &&
                     nothing.length.lo_ns == h->length.lo_ns && nothing.length.hi_ns == h->length.hi_ns,
                 "nothing faster is the run as it was");
    for (int tenths = 5; tenths <= 10; tenths += 5) {
        for (size_t i = 0; i < h->activity_count; i++)
            share[i] = (float)(i % 3 ? 0.1 * tenths : 0);
        const struct gn_whatif_result once = gn_whatif(pass, &what), again = gn_whatif(pass, &what);
        check_result(h, &once);
        history_must(once.reduction_lo_ns == again.reduction_lo_ns &&
                         once.reduction_hi_ns == again.reduction_hi_ns,
                     "the same again gives the same");
    }
    gn_whatif_pass_free(pass);
    free(share);
}

static void must_json(json_t *json)
{
    char *text = json ? json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;
    history_must(text != NULL, "a report is JSON");
    free(text);
    json_decref(json);
}

static void check_sweep(const struct gn_history *h, const struct gn_critical *critical)
{
    const struct gn_sweep_settings settings = {.best = BEST, .threads = 2};
    const struct gn_sweep_report report = {
        .path = "trace", .history = h, .sweep = &(struct gn_sweep){.answers = NULL}};
    struct gn_sweep *sweep = (struct gn_sweep *)report.sweep;
    struct gn_error err = {""};
    history_must(gn_sweep(sweep, h, critical, &settings, &err) == 0, "a sweep");
    history_must(sweep->count <= BEST && sweep->tried <= sweep->candidates, "a sweep's counts");
    for (size_t i = 0; i < sweep->count; i++)
        check_result(h, &sweep->answers[i].result);
    must_json(gn_sweep_json(&report));
    gn_sweep_clear(sweep);
}

static void check_critical(const struct gn_history *h)
{
    struct gn_critical critical;
    struct gn_error err = {""};
    history_must(gn_critical_find(&critical, h, &err) == 0, "a critical path");
    must_span(critical.transfer_lo_ns, critical.transfer_hi_ns, 0, INFINITY, "what crosses");
    for (size_t i = 0; i < critical.count; i++)
        must_span(critical.rows[i].lo_ns, critical.rows[i].hi_ns, 0, (double)h->length.hi_ns,
                  "a row of the critical path");
    const struct gn_critical_report report = {
        .path = "trace", .history = h, .critical = &critical, .by = GN_CRITICAL_BY_ACTIVITY};
    must_json(gn_critical_json(&report));
    check_sweep(h, &critical);
    gn_critical_clear(&critical);
}

/* ---- stragglers ---- */

static void check_waits(const struct gn_history *h, const struct gn_waits *w)
{
    for (size_t l = 0; l < h->definitions->location_count; l++) {
        must_span(w->caused[l].lo_ns, w->caused[l].hi_ns, 0, INFINITY, "what a location caused");
        must_span(w->waited[l].lo_ns, w->waited[l].hi_ns, 0, INFINITY, "what a location waited");
    }
    for (size_t i = 0; i < w->cause_count; i++)
        must_span(w->causes[i].caused.lo_ns, w->causes[i].caused.hi_ns, 0, INFINITY, "a cause");
}

static void check_scores(const struct gn_scores *s)
{
    must_span(s->all.lo, s->all.hi, 0, 100, "the score of all");
    for (size_t i = 0; i < s->count; i++) {
        must_span(s->scores[i].lo, s->scores[i].hi, 0, 100, "a score");
        must_span(s->contexts[i].score.lo, s->contexts[i].score.hi, 0, 100, "a score in a communicator");
        for (size_t p = 0; p < s->phase_count; p++)
            must_span(s->phases[p].scores[i].lo, s->phases[p].scores[i].hi, 0, 100, "a score in a phase");
    }
}

static void check_stragglers(const struct gn_history *h, const struct gn_groups *groups, enum gn_scored by)
{
    const struct gn_scores_settings settings = {.has_phases = h->tracks != NULL};
    struct gn_error err = {""};
    struct gn_scores scores;
    struct gn_waits waits;
    history_must(gn_scores_find(&scores, h, groups, &settings, &err) == 0, "scores");
    history_must(gn_waits_find(&waits, h, NULL, &err) == 0, "waits");
    check_scores(&scores);
    check_waits(h, &waits);
    struct gn_stragglers_report report = {
        .path = "trace", .history = h, .groups = groups, .waits = &waits, .scores = &scores, .by = by};
    history_must(gn_stragglers_rank(&report, &err) == 0, "ranks by score");
    must_json(gn_stragglers_json(&report));
    free(report.list);
    gn_waits_clear(&waits);
    gn_scores_clear(&scores);
}

/* ---- frames ---- */

static void check_frames(const struct gn_states *states, uint32_t others)
{
    const struct gn_question question = {others};
    struct gn_frames frames, aggregated;
    struct gn_error err = {""};
    history_must(gn_frames_ask(&frames, states->of, states->count, &question, &err) == 0, "frames");
    history_must(gn_frames_aggregated(&aggregated, states->of, states->count, &question, NULL, 0, &err) == 0,
                 "aggregated frames");
    must_span(frames.all.lo_ns, frames.all.hi_ns, 0, INFINITY, "an answer");
    if (aggregated.all.lo_ns > frames.all.lo_ns || aggregated.all.hi_ns < frames.all.hi_ns)
        fprintf(stderr, "\nall but %u: %.0f to %.0f ns, aggregated %.0f to %.0f ns", others, frames.all.lo_ns,
                frames.all.hi_ns, aggregated.all.lo_ns, aggregated.all.hi_ns);
    history_must(aggregated.all.lo_ns <= frames.all.lo_ns && frames.all.hi_ns <= aggregated.all.hi_ns,
                 "the aggregated view is never tighter");
    for (size_t i = 0; i < frames.count; i++)
        must_span(frames.location[i].lo_ns, frames.location[i].hi_ns, 0, INFINITY, "an answer for one");
    gn_frames_clear(&frames);
    gn_frames_clear(&aggregated);
}

/* The first location never calls and is busy at the same time. */
static void check_global(const struct gn_history *h)
{
    uint32_t all[1] = {0};
    struct gn_global_who whos[] = {{0, h->definitions->location_count > 0}};
    struct gn_global_node nodes[] = {
        {.kind = GN_GLOBAL_IN, .child = GN_GLOBAL_NO_NODE, .next = 1, .who_count = 1, .in = {GN_CALLING, 0}},
        {.kind = GN_GLOBAL_IN,
         .child = GN_GLOBAL_NO_NODE,
         .next = GN_GLOBAL_NO_NODE,
         .who_count = 1,
         .in = {GN_BUSY, 0}},
        {.kind = GN_GLOBAL_AND, .child = 0, .next = GN_GLOBAL_NO_NODE}};
    const struct gn_global global = {nodes, whos, all, 3, 1, whos[0].count};
    struct gn_states states;
    struct gn_held held;
    struct gn_error err = {""};
    history_must(gn_states_of_each(&states, h, NULL, GN_CALLING | GN_BUSY, &err) == 0, "states of each");
    history_must(gn_global_ask(&held, &global, states.of, states.count, &err) == 0, "any state");
    must_span(held.time.lo_ns, held.time.hi_ns, 0, INFINITY, "an answer");
    history_must(held.time.lo_ns == 0 && held.times_lo == 0,
                 "one location calls and is busy at the same time");
    gn_held_clear(&held);
    gn_states_clear(&states);
}

static void check_states(const struct gn_history *h, const struct gn_groups *groups)
{
    struct gn_named busy;
    history_must(gn_named_open(&busy, h->definitions), "memory");
    for (size_t i = 0; i < h->definitions->region_count; i++)
        busy.regions[i] = i % 2;
    for (size_t i = 0; i < h->definitions->path_count; i++)
        busy.paths[i] = i % 3 == 0;
    for (int named = 0; named <= (h->tracks != NULL); named++) {
        const struct gn_states_settings settings = {
            .busy = named ? &busy : NULL, .is_asked = named == 1, .comm = GN_NONE, .phase = GN_NONE};
        struct gn_states states;
        struct gn_error err = {""};
        history_must(gn_states_make(&states, h, groups->of, groups->count, &settings, &err) == 0, "states");
        for (uint32_t others = 0; others < 4; others++)
            check_frames(&states, others < 3 ? others : UINT32_MAX);
        gn_states_clear(&states);
    }
    gn_named_clear(&busy);
}

static void check_groups(const struct gn_history *h)
{
    for (enum gn_scored by = GN_SCORED_RANK; by <= GN_SCORED_HOST; by++) {
        struct gn_groups groups;
        struct gn_error err = {""};
        history_must(gn_groups_make(&groups, h, by, &err) == 0, "groups");
        check_stragglers(h, &groups, by);
        check_states(h, &groups);
        gn_groups_clear(&groups);
    }
}

/* ---- names ---- */

static void check_names(const struct gn_history *h)
{
    bool *chosen = calloc(h->activity_count + 1, sizeof *chosen);
    char text[64];
    struct gn_nearest nearest = {"nothing at all", 0, ""};
    history_must(chosen, "memory");
    history_must(gn_nearest_of_trace(&nearest, h) == 0, "names");
    for (uint32_t i = 0; i < h->activity_count && i < SHOWN; i++) {
        gn_activity_text(h, i, text, sizeof text);
        history_must(memchr(text, '\0', sizeof text) != NULL, "a text ends");
    }
    gn_activities_named(h, nearest.text, chosen);
    history_must(gn_activities_named(h, "", chosen) == 0, "no name names nothing");
    for (uint32_t i = 0; i < h->call_count && i < SHOWN; i++)
        gn_path_place(h->definitions, h->calls[i].path, text, sizeof text);
    free(chosen);
}

int history_check(struct gn_source *source, const struct gn_history_settings *settings)
{
    struct gn_history history;
    struct gn_error err = {""};
    const int code = gn_history_read(&history, source, settings, &err);
    if (code != 0) {
        history_must(code < 0 && err.text[0] && !history.calls, "an error has a text, and leaves nothing");
        return code;
    }
    check_history(&history);
    check_whatif(&history);
    check_critical(&history);
    check_groups(&history);
    check_global(&history);
    check_names(&history);
    seen_check(&history);
    gn_history_clear(&history);
    return 0;
}
