#include "cli/condition_report.h"

#include "cli/sync_clocks.h"
#include "trace/who.h"

#include <inttypes.h>

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

/* Three significant digits with a unit. */
static const char *time_text(const struct gn_condition_report *r, double ticks, char text[24])
{
    const double ns = ticks / ticks_per_second(r->definitions) * 1e9;
    const char *unit = ns >= 999.5e6 ? "s" : ns >= 999.5e3 ? "ms" : ns >= 999.5 ? "us" : "ns";
    const double shown = ns >= 999.5e6 ? ns / 1e9 : ns >= 999.5e3 ? ns / 1e6 : ns >= 999.5 ? ns / 1e3 : ns;
    const int digits = shown >= 99.95 || shown == 0 ? 0 : shown >= 9.995 ? 1 : 2;
    snprintf(text, 24, "%.*f %s", digits, shown, unit);
    return text;
}

static const char *share_text(uint64_t part, uint64_t whole, char text[40])
{
    if (part == 0)
        snprintf(text, 40, "0");
    else
        snprintf(text, 40, "%" PRIu64 " (%.3g %%)", part, 100.0 * (double)part / (double)whole);
    return text;
}

static void print_row(const struct gn_condition_report *r, const char *name,
                      const struct gn_condition_count *count, FILE *out)
{
    char reversed[40], violating[40], mean[24] = "-", most[24] = "-", missing[24] = "-";
    if (count->reversed) {
        time_text(r, mean_ticks(count), mean);
        time_text(r, (double)count->error_ticks_max, most);
    }
    if (count->violating)
        time_text(r, (double)count->worst_ticks, missing);
    fprintf(out, "  %-22s %14" PRIu64 " %20s %20s %10s %10s %10s\n", name, count->messages,
            share_text(count->reversed, count->messages, reversed),
            share_text(count->violating, count->messages, violating), mean, most, missing);
}

static void print_table(const struct gn_condition_report *r, FILE *out)
{
    const struct gn_condition *c = r->condition;
    fprintf(out, "  %-22s %14s %20s %20s %10s %10s %10s\n", "", "messages", "reversed", "violating",
            "mean error", "max. error", "missing");
    print_row(r, "point to point", &c->messages, out);
    print_row(r, "logical, collectives", &c->collectives, out);
    if (c->uncertain.messages)
        print_row(r, "logical, uncertain", &c->uncertain, out);
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
    char missing[24];
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
    if (c->backward)
        fprintf(out, "%" PRIu64 " events are before the one ahead of them at their own location\n",
                c->backward);
    if (c->unmatched)
        fprintf(out,
                "%" PRIu64 " could not be checked: sends, receives or members of collectives whose other end "
                "is not in the trace\n",
                c->unmatched);
    if (c->ambiguous)
        fprintf(out, "%" PRIu64 " receives could not be checked: it is not certain which send is theirs\n",
                c->ambiguous);
    if (c->uncertain.violating)
        fprintf(out,
                "uncertain: of alltoallv and alltoallw, windows, and making and freeing handles it is not "
                "known who waits for whom; these are not held against the trace\n");
}

static void print_verdict(const struct gn_condition_report *r, FILE *out)
{
    if (gn_condition_holds(r->condition))
        fprintf(out, "the clock condition holds\n");
    else if (r->trace)
        fprintf(out, "the clock condition is violated\nnext: gnomon sync %s -o FOLDER\n", r->trace);
    else
        fprintf(out, "the clock condition is violated\n");
}

void gn_condition_report_text(const struct gn_condition_report *r, FILE *out)
{
    char latency[24];
    fprintf(out, "%" PRIu64 " events of %zu locations, presync %s, smallest latency between hosts %s\n",
            r->condition->events, r->definitions->location_count, gn_sync_presync_name(r->presync),
            time_text(r, r->latency ? (double)r->latency->between_ticks : 0, latency));
    print_table(r, out);
    print_worst(r, out);
    print_rest(r, out);
    print_verdict(r, out);
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

json_t *gn_condition_report_json(const struct gn_condition_report *r)
{
    const struct gn_condition *c = r->condition;
    const struct gn_definitions *d = r->definitions;
    const double between = r->latency ? (double)r->latency->between_ticks : 0;
    return json_pack("{s:i, s:b, s:s, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version", 1,
                     "holds", gn_condition_holds(c), "presync", gn_sync_presync_name(r->presync),
                     "latency_between_s", between / ticks_per_second(d), "ticks_per_second",
                     integer(d->ticks_per_second ? d->ticks_per_second : 1000000000), "locations",
                     integer(d->location_count), "events", integer(c->events), "backward",
                     integer(c->backward), "unmatched", integer(c->unmatched), "ambiguous",
                     integer(c->ambiguous), "messages", count_json(d, &c->messages), "collectives",
                     count_json(d, &c->collectives), "uncertain", count_json(d, &c->uncertain), "worst",
                     worst_json(r));
}
