#include "answer/assumptions.h"
#include "answer/rests_on.h"
#include "answer/spans.h"
#include "answer/whatif_report.h"

static json_t *length_json(struct gn_interval length)
{
    return gn_span_json((double)length.lo_ns, (double)length.hi_ns, 1e-9);
}

/* Into the object: what the change gives. */
static json_t *add_result(json_t *json, const struct gn_whatif_result *r)
{
    json_object_set_new(json, "new_length_s", length_json(r->length));
    json_object_set_new(json, "reduction_s", gn_span_json(r->reduction_lo_ns, r->reduction_hi_ns, 1e-9));
    json_object_set_new(json, "speedup_percent", gn_span_json(r->speedup_lo, r->speedup_hi, 100));
    json_object_set_new(json, "may_reorder", json_boolean(r->may_reorder));
    return json;
}

static json_t *activity_json(const struct gn_history *h, uint32_t activity)
{
    char text[1024], place[256];
    gn_activity_text(h, activity, text, sizeof text);
    gn_activity_place(h, activity, place, sizeof place);
    return json_pack("{s:s, s:s}", "name", text, "place", place);
}

static json_t *rank_json(const struct gn_history *h, uint32_t process)
{
    return process == GN_NONE ? json_null() : json_integer(h->definitions->processes[process].rank);
}

static json_t *chosen_json(const struct gn_whatif_report *r)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->history->activity_count; i++)
        if (r->chosen[i])
            json_array_append_new(list, activity_json(r->history, i));
    return list;
}

static json_t *ranks_json(const struct gn_whatif_report *r)
{
    json_t *list = r->processes ? json_array() : json_null();
    for (uint32_t i = 0; r->processes && i < r->history->definitions->process_count; i++)
        if (r->processes[i])
            json_array_append_new(list, rank_json(r->history, i));
    return list;
}

static json_t *straggler_json(const struct gn_whatif_report *r)
{
    if (r->straggler == GN_NONE)
        return json_null();
    return json_pack("{s:o, s:o}", "rank", rank_json(r->history, r->straggler), "score_percent",
                     gn_span_json(r->score_lo, r->score_hi, 1));
}

static json_t *run_json(const char *path, const struct gn_history *h)
{
    return json_pack("{s:i, s:s, s:I, s:o, s:o, s:o?}", "version", 2, "trace", path, "events",
                     (json_int_t)h->events, "length_s", length_json(h->length), "rests_on",
                     gn_rests_on_json(h), "assumptions", gn_assumptions_json(h, GN_ASSUMES_OF_CHANGES));
}

json_t *gn_whatif_json(const struct gn_whatif_report *r)
{
    const struct gn_table row = gn_whatif_table(r);
    json_t *json = run_json(r->path, r->history);
    json_object_set_new(json, "activities", chosen_json(r));
    json_object_set_new(json, "ranks", ranks_json(r));
    json_object_set_new(json, "faster_percent", gn_span_json(r->share_lo, r->share_hi, 100));
    json_object_set_new(json, "part_percent", gn_span_json(r->part_lo, r->part_hi, 100));
    json_object_set_new(json, "straggler", straggler_json(r));
    json_object_set_new(json, "run_speedup_percent", gn_table_of_run(&row, 0));
    return add_result(json, &r->result);
}

json_t *gn_sweep_answer_json(const struct gn_history *h, const struct gn_answer *a)
{
    json_t *json =
        json_pack("{s:o, s:o, s:s, s:o, s:f, s:b}", "activity", activity_json(h, a->activity), "rank",
                  rank_json(h, a->process), "change", gn_sweep_to_name(a->to), "run_speedup_percent",
                  json_null(), "faster_percent", 100 * a->share, "start_or_end", a->is_start_or_end);
    return add_result(json, &a->result);
}

json_t *gn_sweep_json(const struct gn_sweep_report *r)
{
    const struct gn_table rows = gn_sweep_table(r);
    json_t *json = run_json(r->path, r->history), *list = json_array();
    for (size_t i = 0; i < r->sweep->count; i++) {
        json_t *answer = gn_sweep_answer_json(r->history, &r->sweep->answers[i]);
        json_object_set_new(answer, "run_speedup_percent", gn_table_of_run(&rows, i));
        json_array_append_new(list, answer);
    }
    json_object_set_new(json, "answers", list);
    json_object_set_new(json, "candidates", json_integer((json_int_t)r->sweep->candidates));
    json_object_set_new(json, "tried", json_integer((json_int_t)r->sweep->tried));
    return json;
}
