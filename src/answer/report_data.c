/* answer/report_data — the report for programs: JSON (documented in docs/report-format.md, stable) and CSV.
 */
#include "answer/report.h"

#include "answer/period_text.h"
#include "answer/report_checks.h"
#include "answer/report_last_calls.h"
#include "answer/report_resources.h"
#include "answer/report_table.h"
#include "answer/report_tree.h"
#include "answer/problem_text.h"
#include "profile/clock.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static json_t *text(const char *value)
{
    return value && *value ? json_string_nocheck(value) : json_null();
}

static json_t *run_object(const struct gn_summary *s, const struct gn_report_options *o)
{
    json_t *failed = s->failed ? json_pack("{s:i, s:i, s:i}", "ranks", s->failed, "rank", s->failed_rank,
                                           "exit_status", s->failed_status)
                               : json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:o, s:f, s:f, s:f, s:b, s:o, s:o, s:o, s:b, s:o, "
                     "s:b, s:o, s:o}",
                     "exe", text(s->exe), "command", text(s->command), "started", text(s->started), "gnomon",
                     text(s->version), "ranks", s->ranks, "world", s->world, "hosts", s->hosts, "host_names",
                     text(s->host_names), "elapsed_s", s->elapsed_s, "measured_s", s->measured_s, "mpi_share",
                     s->mpi_share, "complete", s->complete, "flavour", text(s->flavour), "library",
                     text(s->library), "missing_ranks", text(s->missing_ranks), "raw", o->raw, "saved_s",
                     s->saved_hosts[0] ? json_real(s->saved_s) : json_null(), "live", s->is_live, "between",
                     gn_period_object(&s->period), "failed", failed);
}

static json_t *trouble_object(const struct gn_trouble_row *t)
{
    return json_pack("{s:i, s:o, s:o, s:i, s:o, s:o, s:b, s:f, s:o, s:o, s:o, s:b}", "rank", t->rank, "host",
                     text(t->host), "ended", text(t->ended), "exit_status", t->exit_status, "message",
                     text(t->message), "last", text(t->last), "inside", t->inside, "last_s", t->last_s,
                     "ending", gn_report_ending_json(t), "last_calls", gn_report_last_calls_json(t), "fatal",
                     gn_report_fatal_json(t), "victim", t->victim);
}

static json_t *trace_object(const struct gn_trace_facts *t)
{
    if (!t->asked)
        return json_null();
    return json_pack("{s:i, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "archives", t->archives, "path",
                     text(t->path), "events", (json_int_t)t->events, "bytes", (json_int_t)t->bytes, "dropped",
                     (json_int_t)t->dropped, "unwritten", (json_int_t)t->unwritten, "garbled",
                     (json_int_t)t->garbled, "lost_communicators", (json_int_t)t->lost_comms, "error",
                     text(t->error));
}

/* JSON has no infinity. */
static json_t *number_or_null(bool known, double number)
{
    return known && isfinite(number) ? json_real(number) : json_null();
}

static json_t *clock_object(const struct gn_clock_fact *c)
{
    json_t *refuted = !c->refuted ? json_null()
                                  : json_pack("{s:s, s:o, s:o}", "assumption", c->refuted, "seen_ppb",
                                              number_or_null(true, c->seen_ppb), "allowed_ppb",
                                              number_or_null(true, c->allowed_ppb));
    return json_pack("{s:o, s:o, s:o, s:o, s:b, s:i, s:i, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, "
                     "s:I, s:o, s:o}",
                     "host", text(c->host), "domain", text(c->domain), "parent", text(c->parent), "counter",
                     text(c->counter), "shared", c->shared, "cores", c->cores, "untried", c->untried,
                     "shared_width_ns", number_or_null(true, c->shared_width_ns), "compared", c->reached,
                     "rests_on", c->reached ? text(c->rests_on) : json_null(), "rate_lo_ppb",
                     number_or_null(c->reached, c->rate_lo_ppb), "rate_hi_ppb",
                     number_or_null(c->reached, c->rate_hi_ppb), "width_ns",
                     c->reached ? json_integer((json_int_t)c->width_ns) : json_null(), "width_at_s",
                     number_or_null(c->reached, c->width_at_s), "asked", (json_int_t)c->asked, "answered",
                     (json_int_t)c->answered, "narrowed", (json_int_t)c->narrowed, "refused",
                     (json_int_t)c->refused, "problem", text(c->problem), "refuted", refuted);
}

static json_t *clocks_object(const struct gn_summary *s)
{
    if (s->clock_count == 0)
        return json_null();
    json_t *domains = json_array();
    for (size_t i = 0; i < s->clock_count; i++)
        json_array_append_new(domains, clock_object(&s->clocks[i]));
    return json_pack("{s:s, s:I, s:I, s:s, s:o}", "assumption", gn_assumption_name(s->assumption.kind),
                     "nominal_ppb", (json_int_t)s->assumption.nominal_ppb, "wander_ppb",
                     (json_int_t)s->assumption.wander_ppb, "ranks_without", s->ranks_without_clock, "domains",
                     domains);
}

static json_t *cost_object(const struct gn_cost *c)
{
    static const char *const reasons[] = {[GN_COST_CALLS] = "calls",
                                          [GN_COST_REGIONS] = "regions",
                                          [GN_COST_UNWOUND] = "unwound",
                                          [GN_COST_FIRST] = "first calls",
                                          [GN_COST_START_UP] = "start-up"};
    json_t *cpu = c->program_cpu_s > 0 ? json_real(c->program_cpu_s) : json_null();
    return json_pack("{s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:o, s:f, s:s?}", "calls", (json_int_t)c->calls,
                     "unwound", (json_int_t)c->unwound, "ns_per_call", c->ns_per_call, "probe_ns_per_call",
                     c->probe_ns_per_call, "slow_s", c->slow_s, "startup_s", c->startup_s, "own_s", c->own_s,
                     "program_cpu_s", cpu, "share", c->share, "reason", reasons[c->reason]);
}

static json_t *sampling_object(const struct gn_sampling_told *t)
{
    if (!t->state[0])
        return json_null();
    return json_pack("{s:s, s:I, s:I, s:o}", "state", t->state, "samples", (json_int_t)t->samples,
                     "unattributed", (json_int_t)t->unattributed, "reason", text(t->reason));
}

static json_t *cause_object(const struct gn_summary *s, const struct gn_report_options *o)
{
    return o->by == GN_BY_ACTIVITY ? gn_report_why_json(s, o->problems) : json_null();
}

/* How well it used what it had, and whether to trust what is said. */
static void add_judgement(json_t *object, const struct gn_summary *s, const struct gn_report_options *o)
{
    json_object_set_new(object, "efficiency", gn_report_efficiency_json(&s->efficiency));
    json_object_set_new(object, "cause", cause_object(s, o));
    json_object_set_new(object, "resources", gn_report_resources_json(s));
    json_object_set_new(object, "ranks", gn_report_ranks_json(s));
    json_object_set_new(object, "hosts", gn_report_hosts_json(s));
    json_object_set_new(object, "other_threads", gn_report_threads_json(s));
    json_object_set_new(object, "counters", gn_report_counters_json(s));
    json_object_set_new(object, "sampling", sampling_object(&s->sampling));
    json_object_set_new(object, "checks", gn_report_checks_json(s));
}

json_t *gn_report_object(const struct gn_summary *s, const struct gn_report_options *o)
{
    struct gn_report_table rows, pairs, requests;
    json_t *troubles = json_array(), *lost = json_object(), *object;
    gn_report_rows(&rows, s, o);
    gn_report_pairs(&pairs, s, o);
    gn_report_requests(&requests, s, o, false);
    for (size_t i = 0; i < s->trouble_count; i++)
        json_array_append_new(troubles, trouble_object(&s->troubles[i]));
    for (size_t i = 0; i < s->lost_count; i++)
        json_object_set_new(lost, s->lost[i].what, json_integer((json_int_t)s->lost[i].count));
    object = json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:O?}", "version", 2, "by",
                       gn_by_names[o->by], "run", run_object(s, o), "cost", cost_object(&s->cost),
                       "activities", o->by == GN_BY_TREE ? json_array() : gn_table_json(&rows.table), "pairs",
                       gn_table_json(&pairs.table), "tree",
                       o->by == GN_BY_TREE ? gn_report_tree_json(s) : json_null(), "troubles", troubles,
                       "lost", lost, "trace", trace_object(&s->trace), "clocks", clocks_object(s), "analysis",
                       o->findings ? o->findings->json : NULL);
    if (object)
        json_object_set_new(object, "requests", gn_table_json(&requests.table));
    if (object)
        add_judgement(object, s, o);
    return object;
}

int gn_report_print_json(json_t *object, FILE *out)
{
    int code = object ? json_dumpf(object, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : -1;
    fputc('\n', out);
    json_decref(object);
    return code;
}

int gn_report_csv(const struct gn_summary *s, const struct gn_report_options *o, FILE *out)
{
    struct gn_report_table rows;
    if (o->by == GN_BY_TREE)
        return gn_report_tree_csv(s, out);
    if (o->by == GN_BY_PAIR)
        gn_report_pairs(&rows, s, o);
    else if (o->by == GN_BY_REQUEST)
        gn_report_requests(&rows, s, o, false);
    else
        gn_report_rows(&rows, s, o);
    return gn_table_csv(&rows.table, out);
}
