#include "answer/condition_report.h"

#include "answer/coverage.h"
#include "answer/fit.h"
#include "answer/quantities.h"
#include "answer/table.h"
#include "repair/sync_clocks.h"
#include "trace/who.h"

#include <inttypes.h>
#include <jansson.h>

static double ticks_per_second(const struct gn_definitions *d)
{
    return d->ticks_per_second ? (double)d->ticks_per_second : 1e9;
}

static double mean_ticks(const struct gn_condition_count *count)
{
    return count->reversed ? count->error_ticks_sum / (double)count->reversed : 0;
}

static double since_begin_s(const struct gn_definitions *d, int64_t ticks)
{
    return (double)(ticks - (int64_t)d->first_ticks) / ticks_per_second(d);
}

/* ---- text ---- */

static const char *time_text(const struct gn_condition_report *r, double ticks, char text[GN_QUANTITY_TEXT])
{
    return gn_ticks_text(ticks, ticks_per_second(r->definitions), text);
}

struct row {
    const char *name;
    const struct gn_condition_count *count;
};

struct rows {
    const struct gn_condition_report *report;
    struct row list[4];
    size_t count;
};

static void fill_share(struct gn_cell *cell, uint64_t part, uint64_t whole)
{
    char count[GN_QUANTITY_TEXT], share[GN_QUANTITY_TEXT];
    if (part)
        gn_cell_print(cell, "%s (%s)", gn_count_text((int64_t)part, count),
                      gn_share_text((double)part / (double)whole, share));
    else
        gn_cell_text(cell, "0");
}

static void fill_row(const void *self, size_t i, struct gn_cell *cells)
{
    const struct rows *rows = self;
    const struct gn_condition_count *count = rows->list[i].count;
    const double tick_ns = 1e9 / ticks_per_second(rows->report->definitions);
    gn_cell_text(&cells[0], rows->list[i].name);
    gn_cell_number(&cells[1], (int64_t)count->messages);
    fill_share(&cells[2], count->reversed, count->messages);
    fill_share(&cells[3], count->violating, count->messages);
    if (count->reversed) {
        gn_cell_real(&cells[4], mean_ticks(count) * tick_ns);
        gn_cell_real(&cells[5], (double)count->error_ticks_max * tick_ns);
    }
    if (count->violating)
        gn_cell_real(&cells[6], (double)count->worst_ticks * tick_ns);
}

static void print_table(const struct gn_condition_report *r, const struct gn_terminal *terminal, FILE *out)
{
    static const struct gn_column columns[] = {
        {.title = ""},
        {.title = "messages", .kind = GN_CELL_COUNT},
        {.title = "reversed", .flags = GN_COLUMN_RIGHT},
        {.title = "violating", .flags = GN_COLUMN_RIGHT},
        {.title = "mean error", .kind = GN_CELL_DURATION, .goes = 2},
        {.title = "max. error", .kind = GN_CELL_DURATION, .goes = 3},
        {.title = "missing", .kind = GN_CELL_DURATION, .goes = 1},
    };
    const struct gn_condition *c = r->condition;
    struct rows rows = {r, {{"point to point", &c->messages}, {"logical, collectives", &c->collectives}}, 2};
    if (c->epochs.messages)
        rows.list[rows.count++] = (struct row){"epochs of windows", &c->epochs};
    if (c->uncertain.messages)
        rows.list[rows.count++] = (struct row){"logical, uncertain", &c->uncertain};
    const struct gn_table table = {.columns = columns,
                                   .column_count = sizeof columns / sizeof *columns,
                                   .row_count = rows.count,
                                   .fill = fill_row,
                                   .self = &rows,
                                   .indent = 2};
    gn_table_text(&table, terminal, out);
}

static void print_where(const struct gn_condition_report *r, struct gn_whos *whos, uint32_t location,
                        FILE *out)
{
    const struct gn_definitions *d = r->definitions;
    const struct gn_who who = gn_who_of(whos, location);
    if (who.rank >= 0)
        fprintf(out, "rank %" PRId32, who.rank);
    else
        fprintf(out, "location %" PRIu64, d->locations[location].file_id);
    if (who.thread)
        fprintf(out, " thread %" PRIu32, who.thread);
    fprintf(out, " (%s)", gn_domain_name(d, d->locations[location].domain));
}

static void print_worst(const struct gn_condition_report *r, FILE *out)
{
    const struct gn_condition_message *worst = &r->condition->worst;
    struct gn_whos whos = {.definitions = r->definitions};
    char missing[GN_QUANTITY_TEXT];
    if (worst->from == GN_NONE)
        return;
    fprintf(out, "the worst one, %s: ",
            worst->is_collective ? "from a collective's begin to an end" : "a message");
    print_where(r, &whos, worst->from, out);
    fprintf(out, " at %.9f s to ", since_begin_s(r->definitions, worst->sent_ticks));
    print_where(r, &whos, worst->to, out);
    fprintf(out, " at %.9f s: %s too early\n", since_begin_s(r->definitions, worst->received_ticks),
            time_text(r, (double)gn_condition_worst_ticks(r->condition), missing));
    gn_whos_clear(&whos);
}

static void print_rest(const struct gn_condition_report *r, FILE *out)
{
    const struct gn_condition *c = r->condition;
    char count[GN_QUANTITY_TEXT];
    if (c->backward)
        fprintf(out, "%s events are before the one ahead of them at their own location\n",
                gn_count_text((int64_t)c->backward, count));
    if (c->unmatched)
        fprintf(out,
                "%s could not be checked: sends, receives or members of collectives whose other end "
                "is not in the trace\n",
                gn_count_text((int64_t)c->unmatched, count));
    if (c->ambiguous)
        fprintf(out, "%s receives could not be checked: it is not certain which send is theirs\n",
                gn_count_text((int64_t)c->ambiguous, count));
    gn_judged_text(c, out);
}

static void print_verdict(const struct gn_condition_report *r, FILE *out)
{
    if (gn_condition_holds(r->condition))
        fprintf(out, "the clock condition holds\n");
    else if (r->trace)
        fprintf(out, "the clock condition is violated\n" GN_AS_IT_IS "next: gnomon sync %s -o FOLDER\n",
                r->trace);
    else
        fprintf(out, "the clock condition is violated\n");
}

static void print_all(const struct gn_condition_report *r, const struct gn_terminal *terminal, FILE *out)
{
    char latency[GN_QUANTITY_TEXT], events[GN_QUANTITY_TEXT];
    fprintf(out, "%s events of %zu locations, presync %s, smallest latency between hosts %s\n",
            gn_count_text((int64_t)r->condition->events, events), r->definitions->location_count,
            gn_sync_presync_name(r->presync),
            time_text(r, r->latency ? (double)r->latency->between_ticks : 0, latency));
    print_table(r, terminal, out);
    gn_coverage_text(r->condition, out);
    print_worst(r, out);
    print_rest(r, out);
    print_verdict(r, out);
}

void gn_condition_report_text(const struct gn_condition_report *report, FILE *out)
{
    const struct gn_terminal terminal = gn_terminal_of(fileno(out));
    struct gn_page page;
    gn_page_open(&page, &terminal, out);
    print_all(report, &terminal, page.out);
    gn_page_close(&page);
}

/* ---- JSON ---- */

static json_t *integer(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *count_json(const struct gn_definitions *d, const struct gn_condition_count *count)
{
    const double rate = ticks_per_second(d);
    return json_pack(
        "{s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:I, s:I}", "messages", integer(count->messages), "reversed",
        integer(count->reversed), "violating", integer(count->violating), "error_mean_s",
        mean_ticks(count) / rate, "error_max_s", (double)count->error_ticks_max / rate, "missing_max_s",
        (double)count->worst_ticks / rate, "error_sum_ticks", count->error_ticks_sum, "error_max_ticks",
        (json_int_t)count->error_ticks_max, "missing_max_ticks", (json_int_t)count->worst_ticks);
}

static json_t *where_json(const struct gn_definitions *d, struct gn_whos *whos, uint32_t location,
                          int64_t ticks)
{
    const struct gn_who who = gn_who_of(whos, location);
    return json_pack("{s:o, s:i, s:i, s:s, s:I, s:f}", "location", integer(d->locations[location].file_id),
                     "rank", (int)who.rank, "thread", (int)who.thread, "clock",
                     gn_domain_name(d, d->locations[location].domain), "ticks", (json_int_t)ticks, "time_s",
                     since_begin_s(d, ticks));
}

static json_t *worst_json(const struct gn_condition_report *r)
{
    const struct gn_condition_message *worst = &r->condition->worst;
    struct gn_whos whos = {.definitions = r->definitions};
    if (worst->from == GN_NONE)
        return json_null();
    json_t *json = json_pack("{s:s, s:o, s:o}", "kind", worst->is_collective ? "collective" : "message",
                             "from", where_json(r->definitions, &whos, worst->from, worst->sent_ticks), "to",
                             where_json(r->definitions, &whos, worst->to, worst->received_ticks));
    gn_whos_clear(&whos);
    return json;
}

static json_t *report_json(const struct gn_condition_report *r)
{
    const struct gn_condition *c = r->condition;
    const struct gn_definitions *d = r->definitions;
    const double between = r->latency ? (double)r->latency->between_ticks : 0;
    return json_pack("{s:i, s:b, s:s, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "version", 1, "holds", gn_condition_holds(c), "presync",
                     gn_sync_presync_name(r->presync), "latency_between_s", between / ticks_per_second(d),
                     "ticks_per_second", integer(d->ticks_per_second ? d->ticks_per_second : 1000000000),
                     "locations", integer(d->location_count), "events", integer(c->events), "backward",
                     integer(c->backward), "unmatched", integer(c->unmatched), "ambiguous",
                     integer(c->ambiguous), "messages", count_json(d, &c->messages), "collectives",
                     count_json(d, &c->collectives), "uncertain", count_json(d, &c->uncertain), "epochs",
                     count_json(d, &c->epochs), "judged", gn_judged_json(c), "coverage", gn_coverage_json(c),
                     "worst", worst_json(r));
}

int gn_condition_report_print_json(const struct gn_condition_report *report, FILE *out)
{
    json_t *json = report_json(report);
    if (!json)
        return -1;
    json_dumpf(json, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    fputc('\n', out);
    json_decref(json);
    return 0;
}
