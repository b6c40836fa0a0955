/* cli/report_data — the report for programs: JSON (documented in docs/report-format.md, stable) and CSV. */
#include "cli/report.h"

#include "cli/report_last_calls.h"
#include "profile/clock.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static json_t *text(const char *value)
{
    return value && *value ? json_string_nocheck(value) : json_null();
}

static json_t *seconds(int64_t ns)
{
    return json_real((double)ns * 1e-9);
}

static json_t *run_object(const struct gn_summary *s, const struct gn_report_options *o)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:o, s:f, s:f, s:b, s:o, s:o, s:o, s:b}", "exe",
                     text(s->exe), "command", text(s->command), "started", text(s->started), "gnomon",
                     text(s->version), "ranks", s->ranks, "world", s->world, "hosts", s->hosts, "host_names",
                     text(s->host_names), "elapsed_s", s->elapsed_s, "mpi_share", s->mpi_share, "complete",
                     s->complete, "flavour", text(s->flavour), "library", text(s->library), "missing_ranks",
                     text(s->missing_ranks), "raw", o->raw);
}

static json_t *row_object(const struct gn_activity_row *r)
{
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:i}", "kind",
                  text(r->kind), "name", text(r->name), "file", text(r->file), "line",
                  r->line > 0 ? json_integer(r->line) : json_null(), "function", text(r->function), "count",
                  (json_int_t)r->count, "bytes", (json_int_t)r->bytes, "total_s", seconds(r->total_ns),
                  "share", r->share, "weight_s", seconds(r->weight_ns), "min_s", seconds(r->min_ns),
                  "median_s", seconds(r->median_ns), "mean_s", seconds(r->mean_ns), "max_s",
                  seconds(r->max_ns), "max_rank", r->max_rank);
    if (object && r->path)
        json_object_set_new(object, "callpath", text(r->path));
    if (object && (strcmp(r->kind, "rank") == 0 || strcmp(r->kind, "host") == 0))
        json_object_set_new(object, "mpi_s", seconds(r->mpi_ns));
    return object;
}

static json_t *trouble_object(const struct gn_trouble_row *t)
{
    return json_pack("{s:i, s:o, s:o, s:i, s:o, s:o, s:b, s:f, s:o, s:o}", "rank", t->rank, "host",
                     text(t->host), "ended", text(t->ended), "exit_status", t->exit_status, "message",
                     text(t->message), "last", text(t->last), "inside", t->inside, "last_s", t->last_s,
                     "ending", gn_report_ending_json(t), "last_calls", gn_report_last_calls_json(t));
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
                                          [GN_COST_UNWOUND] = "unwound",
                                          [GN_COST_FIRST] = "first calls",
                                          [GN_COST_START_UP] = "start-up"};
    json_t *cpu = c->program_cpu_s > 0 ? json_real(c->program_cpu_s) : json_null();
    return json_pack("{s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:o, s:f, s:s?}", "calls", (json_int_t)c->calls,
                     "unwound", (json_int_t)c->unwound, "ns_per_call", c->ns_per_call, "probe_ns_per_call",
                     c->probe_ns_per_call, "slow_s", c->slow_s, "startup_s", c->startup_s, "own_s", c->own_s,
                     "program_cpu_s", cpu, "share", c->share, "reason", reasons[c->reason]);
}

static bool within(const struct gn_report_options *o, size_t i)
{
    return o->top <= 0 || i < (size_t)o->top;
}

int gn_report_json(const struct gn_summary *s, const struct gn_report_options *o, FILE *out)
{
    json_t *activities = json_array(), *pairs = json_array(), *troubles = json_array(), *lost = json_object();
    for (size_t i = 0; i < s->row_count && within(o, i); i++)
        json_array_append_new(activities, row_object(&s->rows[i]));
    for (size_t i = 0; i < s->pair_count && within(o, i); i++)
        json_array_append_new(pairs, json_pack("{s:i, s:i, s:I, s:I}", "from", s->pairs[i].from, "to",
                                               s->pairs[i].to, "messages", (json_int_t)s->pairs[i].messages,
                                               "bytes", (json_int_t)s->pairs[i].bytes));
    for (size_t i = 0; i < s->trouble_count; i++)
        json_array_append_new(troubles, trouble_object(&s->troubles[i]));
    for (size_t i = 0; i < s->lost_count; i++)
        json_object_set_new(lost, s->lost[i].what, json_integer((json_int_t)s->lost[i].count));
    json_t *root = json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:O?}", "version", 1, "by",
                             gn_by_names[o->by], "run", run_object(s, o), "cost", cost_object(&s->cost),
                             "activities", activities, "pairs", pairs, "troubles", troubles, "lost", lost,
                             "trace", trace_object(&s->trace), "clocks", clocks_object(s), "analysis",
                             o->findings ? o->findings->json : NULL);
    int code = root ? json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : -1;
    fputc('\n', out);
    json_decref(root);
    return code;
}

/* RFC 4180: quotes doubled, fields with special characters quoted. */
static void field(FILE *out, const char *value, char end)
{
    const char *shown = value ? value : "";
    if (!strpbrk(shown, ",\"\n\r")) {
        fprintf(out, "%s%c", shown, end);
        return;
    }
    fputc('"', out);
    for (; *shown; shown++) {
        if (*shown == '"')
            fputc('"', out);
        fputc(*shown, out);
    }
    fprintf(out, "\"%c", end);
}

void gn_report_csv(const struct gn_summary *s, const struct gn_report_options *o, FILE *out)
{
    if (o->by == GN_BY_PAIR) {
        fprintf(out, "from,to,messages,bytes\n");
        for (size_t i = 0; i < s->pair_count && within(o, i); i++)
            fprintf(out, "%d,%d,%lld,%lld\n", s->pairs[i].from, s->pairs[i].to,
                    (long long)s->pairs[i].messages, (long long)s->pairs[i].bytes);
        return;
    }
    fprintf(
        out,
        "kind,name,function,file,line,callpath,count,bytes,total_s,share,weight_s,min_s,median_s,mean_s,max_"
        "s,max_rank,"
        "mpi_s\n");
    for (size_t i = 0; i < s->row_count && within(o, i); i++) {
        const struct gn_activity_row *r = &s->rows[i];
        field(out, r->kind, ',');
        field(out, r->name, ',');
        field(out, r->function, ',');
        field(out, r->file, ',');
        fprintf(out, "%d,", r->line);
        field(out, r->path, ',');
        fprintf(out, "%lld,%lld,%.9f,%.6f,%.9f,%.9f,%.9f,%.9f,%.9f,%d,%.9f\n", (long long)r->count,
                (long long)r->bytes, (double)r->total_ns * 1e-9, r->share, (double)r->weight_ns * 1e-9,
                (double)r->min_ns * 1e-9, (double)r->median_ns * 1e-9, (double)r->mean_ns * 1e-9,
                (double)r->max_ns * 1e-9, r->max_rank, (double)r->mpi_ns * 1e-9);
    }
}
