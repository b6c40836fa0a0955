#include "base/printable.h"
#include "answer/assumptions.h"
#include "answer/rests_on.h"
#include "answer/spans.h"
#include "answer/stragglers_report.h"

#include <math.h>

static json_t *integer(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *score_json(struct gn_score score)
{
    return gn_span_json(score.lo, score.hi, 1);
}

static json_t *blame_json(struct gn_blame blame)
{
    return gn_span_json(blame.lo_ns, blame.hi_ns, 1e-9);
}

static json_t *name_json(const struct gn_stragglers_report *r, uint32_t group)
{
    char name[128];
    gn_straggler_name(r, group, name, sizeof name);
    return json_string(name);
}

static json_t *cause_json(const struct gn_stragglers_report *r, const struct gn_cause *cause)
{
    char work[1024], place[256] = "", call[1024];
    gn_straggler_work(r, cause, work, sizeof work);
    gn_straggler_call(r, cause, call, sizeof call);
    if (cause->activity != GN_NONE)
        gn_activity_place(r->history, cause->activity, place, sizeof place);
    return json_pack("{s:o, s:s, s:b, s:s, s:s, s:o, s:o}", "name",
                     name_json(r, r->groups->of[cause->location]), "work", work, "is_call",
                     cause->activity == GN_NONE, "place", place, "waited_in", call, "caused_s",
                     blame_json(cause->caused), "times", integer(cause->times));
}

static json_t *context_json(const struct gn_stragglers_report *r, const struct gn_context *context)
{
    const struct gn_definitions *d = r->history->definitions;
    char name[256];
    if (context->comm == GN_NONE)
        return json_null();
    gn_printable_copy(name, sizeof name, gn_string(d, d->comms[context->comm].name));
    return json_pack("{s:s, s:o, s:o, s:o}", "communicator", name, "expected", integer(context->expected),
                     "instances", integer(context->instances), "score_percent", score_json(context->score));
}

static json_t *straggler_json(const struct gn_stragglers_report *r, const struct gn_straggler *s)
{
    const struct gn_table rows = gn_stragglers_table(r);
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "name",
                     name_json(r, s->group), "score_percent", score_json(r->scores->scores[s->group]),
                     "run_score_percent", gn_table_of_run(&rows, (size_t)(s - r->list)), "caused_percent",
                     score_json(s->share), "caused_s", blame_json(s->caused), "waited_s",
                     blame_json(s->waited), "extra_s", blame_json(s->extra), "parts", integer(s->parts),
                     "parts_first", integer(s->parts_first), "is_persistent", gn_straggler_is_persistent(s),
                     "context", context_json(r, &r->scores->contexts[s->group]), "cause",
                     s->cause == GN_NONE ? json_null() : cause_json(r, &r->waits->causes[s->cause]));
}

static json_t *stragglers_json(const struct gn_stragglers_report *r)
{
    json_t *list = json_array();
    for (size_t i = 0; i < r->groups->count && (r->top == 0 || i < r->top); i++)
        json_array_append_new(list, straggler_json(r, &r->list[i]));
    return list;
}

static json_t *causes_json(const struct gn_stragglers_report *r)
{
    json_t *list = json_array();
    size_t count = 0;
    for (size_t i = 0; i < r->waits->cause_count && (r->top == 0 || count < r->top); i++)
        if (r->groups->of[r->waits->causes[i].location] != GN_NONE && r->waits->causes[i].caused.hi_ns > 0) {
            json_array_append_new(list, cause_json(r, &r->waits->causes[i]));
            count++;
        }
    return list;
}

static json_t *phase_json(const struct gn_stragglers_report *r, const struct gn_phase *phase)
{
    const struct gn_definitions *d = r->history->definitions;
    const double origin_ns = (double)r->history->first.lo_ns;
    char region[256] = "";
    if (phase->region != GN_NONE)
        gn_printable_copy(region, sizeof region, gn_string(d, d->regions[phase->region].name));
    json_t *scores = json_array(),
           *json = phase->region != GN_NONE
                       ? json_pack("{s:s}", "region", region)
                       : json_pack("{s:f, s:f}", "begin_s", (phase->begin_ns - origin_ns) * 1e-9, "end_s",
                                   (phase->end_ns - origin_ns) * 1e-9);
    for (uint32_t i = 0; i < r->scores->count; i++)
        json_array_append_new(scores, json_pack("{s:o, s:o}", "name", name_json(r, i), "score_percent",
                                                score_json(phase->scores[i])));
    json_object_set_new(json, "scores", scores);
    return json;
}

static json_t *phases_json(const struct gn_stragglers_report *r)
{
    json_t *list = json_array();
    for (size_t i = 0; i < r->scores->phase_count; i++)
        json_array_append_new(list, phase_json(r, &r->scores->phases[i]));
    return list;
}

static json_t *width_json(double ns)
{
    return isinf(ns) ? json_null() : json_real(ns * 1e-9);
}

static json_t *sureness_json(const struct gn_stragglers_report *r)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "width_mean_s", width_json(r->mean_width_ns), "width_max_s",
                     width_json(r->most_width_ns), "waits_certain", integer(r->waits->last_certain),
                     "waits_possible", integer(r->waits->last_possible), "rests_on",
                     gn_rests_on_json(r->history));
}

json_t *gn_stragglers_json(const struct gn_stragglers_report *r)
{
    const struct gn_history *h = r->history;
    return json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o?}", "version", 2, "trace",
        r->path, "by", gn_scored_name(r->by), "verdict", gn_straggler_verdict_name(r->verdict), "waited_for",
        gn_straggler_verdict_name(r->waited_for), "count", integer(r->groups->count), "events",
        integer(h->events), "length_s", gn_span_json((double)h->length.lo_ns, (double)h->length.hi_ns, 1e-9),
        "all_percent", score_json(r->scores->all), "stragglers", stragglers_json(r), "causes", causes_json(r),
        "phases", phases_json(r), "how_sure", sureness_json(r), "assumptions",
        gn_assumptions_json(h, GN_ASSUMES_OF_WAITS));
}

json_t *gn_straggler_first_json(const struct gn_stragglers_report *r)
{
    return r->verdict == GN_STRAGGLER_NOBODY ? json_null() : straggler_json(r, &r->list[0]);
}
