/* answer/clock_report_data — the clocks of a run for programs: JSON and CSV (docs/clock-report.md). */
#include "answer/quantities.h"
#include "answer/clock_report.h"

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

static json_t *range(struct gn_clock_report_range r, double scale)
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

/* ---- pairs, as text and as CSV ---- */

static void fill_pair(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_clock_report *r = self;
    const struct gn_clock_pair *p = &r->pairs[i];
    gn_cell_text(&cells[0], r->hosts[p->a].row->domain);
    gn_cell_text(&cells[1], r->hosts[p->b].row->domain);
    gn_cell_real(&cells[2], p->offset_ns.lo);
    gn_cell_real(&cells[3], p->offset_ns.hi);
    gn_cell_real(&cells[4], p->rate_ppb.lo / 1e3);
    gn_cell_real(&cells[5], p->rate_ppb.hi / 1e3);
    gn_cell_real(&cells[6], p->mean_ns);
    gn_cell_real(&cells[7], p->most_ns);
    gn_cell_text(&cells[8], gn_offset_text(p->offset_ns.lo, p->offset_ns.hi, cells[8].buffer));
    gn_cell_text(&cells[9], gn_rate_text(p->rate_ppb.lo, p->rate_ppb.hi, cells[9].buffer));
    gn_cell_real(&cells[10], p->mean_ns / 2);
    gn_cell_real(&cells[11], p->most_ns / 2);
}

struct gn_table gn_clock_pairs(const struct gn_clock_report *report)
{
    static const struct gn_column columns[] = {
        {.title = "pair", .name = "a", .least = 12},
        {.title = "", .name = "b", .least = 12},
        {.name = "offset_lo_ns", .kind = GN_CELL_REAL},
        {.name = "offset_hi_ns", .kind = GN_CELL_REAL},
        {.name = "rate_lo_ppm", .kind = GN_CELL_REAL},
        {.name = "rate_hi_ppm", .kind = GN_CELL_REAL},
        {.name = "width_mean_ns", .kind = GN_CELL_REAL},
        {.name = "width_most_ns", .kind = GN_CELL_REAL},
        {.title = "second ahead by", .flags = GN_COLUMN_RIGHT},
        {.title = "faster by", .flags = GN_COLUMN_RIGHT, .goes = 2},
        {.title = "± mean", .kind = GN_CELL_WIDTH, .goes = 1},
        {.title = "± most", .kind = GN_CELL_WIDTH},
    };
    return (struct gn_table){.columns = columns,
                             .column_count = sizeof columns / sizeof *columns,
                             .row_count = report->pair_count,
                             .fill = fill_pair,
                             .self = report,
                             .indent = 2};
}

int gn_clock_report_csv(const struct gn_clock_report *r, FILE *out)
{
    const struct gn_table table = gn_clock_pairs(r);
    return gn_table_csv(&table, out);
}
