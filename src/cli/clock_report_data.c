/* cli/clock_report_data — the clocks of a run for programs: JSON and CSV (docs/clock-report.md). */
#include "cli/clock_report.h"

#include <jansson.h>
#include <math.h>

/* A name out of a profile may be anything: what is not UTF-8 loses its other bytes than ASCII. */
static json_t *text(const char *value)
{
    if (!value || !*value)
        return json_null();
    json_t *string = json_string(value);
    char ascii[512];
    size_t used = 0;
    for (; !string && *value && used + 1 < sizeof ascii; value++)
        ascii[used++] = (unsigned char)*value < 0x80 ? *value : '?';
    ascii[used] = '\0';
    return string ? string : json_string(ascii);
}

/* JSON has no infinity: null where nothing is known. */
static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *known(double value)
{
    return value >= 0 ? number(value) : json_null();
}

static json_t *range(struct gn_range r, double scale)
{
    return json_pack("[o, o]", number(r.lo * scale), number(r.hi * scale));
}

static json_t *widths(double least, double mean, double most)
{
    return json_pack("{s:o, s:o, s:o}", "least", number(least), "mean", number(mean), "most", number(most));
}

static json_t *refutation(const struct gn_clock_host *host, const struct gn_refutation *r)
{
    double hz = host->row->def.hz, first = (double)host->first_ticks;
    return json_pack("{s:s, s:I, s:I, s:f, s:f, s:o, s:o}", "assumption", gn_assumption_name(r->kind),
                     "first_ticks", (json_int_t)r->first_ticks, "last_ticks", (json_int_t)r->last_ticks,
                     "first_s", ((double)r->first_ticks - first) / hz, "last_s",
                     ((double)r->last_ticks - first) / hz, "seen_ppm", number(fabs(r->seen_ppb) / 1e3),
                     "allowed_ppm", number(r->allowed_ppb / 1e3));
}

static json_t *compared(const struct gn_clock_host *host)
{
    json_t *list = json_array();
    for (int i = 0; host->compared && i < GN_COMPARED_METHODS; i++) {
        const struct gn_comparison *c = &host->compared[i];
        json_t *row = json_pack("{s:s, s:b, s:o}", "method", c->method, "failed", c->failed, "problem",
                                text(c->problem.text));
        if (!c->failed) {
            json_object_set_new(row, "bounded", json_boolean(c->bounded));
            json_object_set_new(row, "width_ns", c->bounded ? number(c->width_ns) : json_null());
            json_object_set_new(row, "exchange_width_ns",
                                c->bounded ? number(c->exchange_width_ns) : json_null());
            json_object_set_new(row, "error_ns", c->truth_known ? number(c->error_ns) : json_null());
            json_object_set_new(row, "error_most_ns", c->truth_known ? number(c->error_max_ns) : json_null());
            json_object_set_new(row, "outside", c->truth_known ? number(c->outside) : json_null());
            json_object_set_new(row, "fast_sends", json_integer((json_int_t)c->fast));
            json_object_set_new(row, "inversions", json_integer((json_int_t)c->inverted));
            json_object_set_new(row, "ns_per_reading", number(c->ns_per_reading));
        }
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *host_object(const struct gn_clock_host *h)
{
    const struct gn_clock_row *row = h->row;
    const struct gn_clock_state *state = h->state;
    json_t *refuted = json_array();
    for (int i = 0; i < state->refuted_count; i++)
        json_array_append_new(refuted, refutation(h, &state->refuted[i]));
    json_t *object = json_pack(
        "{s:o, s:o, s:o, s:b, s:{s:o, s:f, s:I, s:b, s:i, s:i, s:f}, s:{s:I, s:I, s:I, s:I, s:I, s:I}, "
        "s:s, s:o, s:o}",
        "clock", text(row->domain), "host", text(row->host), "parent", text(row->parent), "reached",
        state->reached, "counter", "name", text(row->counter), "hz", row->def.hz, "granularity_ticks",
        (json_int_t)row->def.granularity_ticks, "shared", row->shared, "cores", (int)row->cores, "untried",
        (int)row->untried, "shared_width_ns", row->shared_width_ns, "exchanges", "asked",
        (json_int_t)row->asked, "answered", (json_int_t)row->answered, "narrowed", (json_int_t)row->narrowed,
        "refused", (json_int_t)row->refused, "used_there", (json_int_t)state->used_there, "used_back",
        (json_int_t)state->used_back, "rests_on", gn_assumption_name(state->rests_on), "refuted", refuted,
        "problem", text(row->problem));
    if (!object || !state->reached)
        return object;
    json_object_set_new(object, "rate_ppm", range(h->rate_ppb, 1e-3));
    json_object_set_new(object, "offset_ns", range(h->offset_ns, 1));
    json_object_set_new(object, "at_ticks", json_integer((json_int_t)h->at_ticks));
    json_object_set_new(object, "at_ns",
                        json_pack("[I, I]", (json_int_t)h->at.lo_ns, (json_int_t)h->at.hi_ns));
    json_object_set_new(object, "width_ns", widths(h->least_ns, h->mean_ns, h->most_ns));
    json_object_set_new(object, "floor_ns", known(h->floor_ns));
    if (h->compared)
        json_object_set_new(object, "compared", compared(h));
    return object;
}

static json_t *pair_object(const struct gn_clock_report *r, const struct gn_clock_pair *p)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:{s:o, s:o}}", "a", text(r->hosts[p->a].row->domain), "b",
                     text(r->hosts[p->b].row->domain), "offset_ns", range(p->offset_ns, 1), "rate_ppm",
                     range(p->rate_ppb, 1e-3), "width_ns", "mean", number(p->mean_ns), "most",
                     number(p->most_ns));
}

int gn_clock_report_json(const struct gn_clock_report *r, FILE *out)
{
    json_t *hosts = json_array(), *pairs = json_array();
    for (uint32_t i = 0; i < r->count; i++)
        json_array_append_new(hosts, host_object(&r->hosts[i]));
    for (size_t i = 0; i < r->pair_count; i++)
        json_array_append_new(pairs, pair_object(r, &r->pairs[i]));
    json_t *root = json_pack(
        "{s:i, s:o, s:f, s:I, s:{s:s, s:f, s:f}, s:{s:o, s:o}, s:i, s:i, s:o, s:o}", "version", 1, "run",
        text(r->folder), "elapsed_s", r->elapsed_s, "missing_ranks", (json_int_t)r->missing_ranks,
        "assumption", "kind", gn_assumption_name(r->assumption.kind), "nominal_ppm",
        r->assumption.nominal_ppb / 1e3, "wander_ppm", r->assumption.wander_ppb / 1e3, "comparable_ns",
        "mean", known(r->mean_ns), "most", known(r->most_ns), "refuted", (int)r->refuted, "unreached",
        (int)r->unreached, "clocks", hosts, "pairs", pairs);
    if (root && r->from_trace)
        json_object_set_new(root, "trace",
                            json_pack("{s:I, s:I, s:I, s:I}", "messages", (json_int_t)r->messages,
                                      "collectives", (json_int_t)r->collectives, "uncertain",
                                      (json_int_t)r->uncertain, "exchanged", (json_int_t)r->exchanged));
    int code = root ? json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : -1;
    fputc('\n', out);
    json_decref(root);
    return code;
}

/* RFC 4180. Names of hosts need no quotes as a rule. */
static void field(FILE *out, const char *value)
{
    fputc('"', out);
    for (; *value; value++) {
        if (*value == '"')
            fputc('"', out);
        fputc(*value, out);
    }
    fputs("\",", out);
}

static void real(FILE *out, double value, char end)
{
    if (isfinite(value))
        fprintf(out, "%.17g", value);
    fputc(end, out);
}

void gn_clock_report_csv(const struct gn_clock_report *r, FILE *out)
{
    fprintf(out, "a,b,offset_lo_ns,offset_hi_ns,rate_lo_ppm,rate_hi_ppm,width_mean_ns,width_most_ns\n");
    for (size_t i = 0; i < r->pair_count; i++) {
        const struct gn_clock_pair *p = &r->pairs[i];
        field(out, r->hosts[p->a].row->domain);
        field(out, r->hosts[p->b].row->domain);
        real(out, p->offset_ns.lo, ',');
        real(out, p->offset_ns.hi, ',');
        real(out, p->rate_ppb.lo / 1e3, ',');
        real(out, p->rate_ppb.hi / 1e3, ',');
        real(out, p->mean_ns, ',');
        real(out, p->most_ns, '\n');
    }
}
