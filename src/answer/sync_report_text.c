/* answer/sync_report_text — what `gnomon sync` has done, on one screen. */
#include "answer/sync_report.h"

#include "answer/coverage.h"
#include "answer/fit.h"
#include "answer/quantities.h"
#include "answer/table.h"

#include <inttypes.h>

static const char *duration_of(const struct gn_sync_report *r, double ticks, char text[GN_QUANTITY_TEXT])
{
    return gn_duration_text(gn_sync_ns(r, ticks), text);
}

static const char *share(double percent, char text[GN_QUANTITY_TEXT])
{
    return gn_share_text(percent / 100, text);
}

static const char *count_text(uint64_t count, char text[GN_QUANTITY_TEXT])
{
    return gn_count_text((int64_t)count, text);
}

/* ---- before ---- */

static void print_what(const struct gn_sync_report *r, FILE *out)
{
    const struct gn_definitions *d = r->definitions;
    char events[GN_QUANTITY_TEXT];
    fprintf(out, "%s events of %zu location%s, %zu process%s", count_text(r->events.events, events),
            d->location_count, d->location_count == 1 ? "" : "s", d->process_count,
            d->process_count == 1 ? "" : "es");
    if (r->ranks > 1)
        fprintf(out, "; by %u ranks together", r->ranks);
    fprintf(out, "\npresynchronised: %s (%s)\n", gn_sync_presync_name(r->clocks.presync.kind), r->clocks.why);
}

struct rows {
    const struct gn_sync_report *report;
    struct row {
        const char *name;
        const struct gn_replay_count *before, *after;
    } list[3];
    size_t count;
};

static void fill_row(const void *self, size_t i, struct gn_cell *cells)
{
    const struct rows *rows = self;
    const struct gn_replay_count *before = rows->list[i].before;
    const double all = (double)before->messages, errors = (double)before->error_ticks_sum;
    gn_cell_text(&cells[0], rows->list[i].name);
    gn_cell_number(&cells[1], (int64_t)before->messages);
    gn_cell_number(&cells[2], (int64_t)before->reversed);
    gn_cell_real(&cells[3], (double)before->reversed / all);
    gn_cell_number(&cells[4], (int64_t)before->violating);
    gn_cell_real(&cells[5], (double)before->violating / all);
    gn_cell_number(&cells[6], (int64_t)rows->list[i].after->corrected);
    if (!before->reversed)
        return;
    gn_cell_real(&cells[7], gn_sync_ns(rows->report, errors / (double)before->reversed));
    gn_cell_real(&cells[8], gn_sync_ns(rows->report, (double)before->error_ticks_max));
}

static void add_row(struct rows *rows, const char *name, const struct gn_replay_count *before,
                    const struct gn_replay_count *after)
{
    if (before->messages)
        rows->list[rows->count++] = (struct row){name, before, after};
}

static void print_messages(const struct gn_sync_report *r, const struct gn_terminal *terminal, FILE *out)
{
    static const struct gn_column columns[] = {
        {.title = ""},
        {.title = "messages", .kind = GN_CELL_COUNT},
        {.title = "reversed", .kind = GN_CELL_COUNT},
        {.title = "", .kind = GN_CELL_SHARE, .goes = 2},
        {.title = "violating", .kind = GN_CELL_COUNT},
        {.title = "", .kind = GN_CELL_SHARE, .goes = 1},
        {.title = "corrected", .kind = GN_CELL_COUNT},
        {.title = "by mean", .kind = GN_CELL_DURATION, .goes = 3},
        {.title = "most", .kind = GN_CELL_DURATION, .goes = 4},
    };
    const struct gn_replay_stats *before = &r->repair.before, *after = &r->repair.after;
    struct rows rows = {.report = r};
    add_row(&rows, "point to point", &before->messages, &after->messages);
    add_row(&rows, "collectives", &before->collectives, &after->collectives);
    add_row(&rows, "uncertain", &before->uncertain, &after->uncertain);
    const struct gn_table table = {.columns = columns,
                                   .column_count = sizeof columns / sizeof *columns,
                                   .row_count = rows.count,
                                   .fill = fill_row,
                                   .self = &rows,
                                   .indent = 2};
    gn_table_text(&table, terminal, out);
}

static void print_range(double least_ns, double most_ns, const char *where, FILE *out)
{
    char least[GN_QUANTITY_TEXT], most[GN_QUANTITY_TEXT];
    if (most_ns > least_ns)
        fprintf(out, "%s to ", gn_duration_text(least_ns, least));
    fprintf(out, "%s %s", gn_duration_text(most_ns, most), where);
}

static void print_latency(const struct gn_sync_report *r, FILE *out)
{
    const struct gn_sync_latency l = gn_sync_latency(r);
    fputs("latency: ", out);
    if (l.has_between)
        print_range(l.between_least_ns, l.between_most_ns, "between clocks, ", out);
    print_range(l.within_least_ns, l.within_most_ns, "within one\n", out);
}

struct line {
    uint64_t count;
    const char *one, *many;
};

static void print_left_out(const struct gn_sync_report *r, FILE *out)
{
    const struct gn_replay_stats *s = &r->repair.before;
    const struct line lines[] = {
        {s->unmatched_sends, "send without a receive", "sends without a receive"},
        {s->unmatched_receives, "receive without a send", "receives without a send"},
        {s->incomplete_collectives, "collective that not all members took part in",
         "collectives that not all members took part in"},
        {s->cut, "event passed by because all waited for each other",
         "events passed by because all waited for each other"},
        {r->events.ambiguous, "receive whose message could not be told with certainty",
         "receives whose message could not be told with certainty"},
        {r->events.uncounted, "send, receive or collective after something was lost, or measurement was off",
         "sends, receives and collectives after something was lost, or measurement was off"},
        {r->events.unfit, "event that fits no definition or no earlier event",
         "events that fit no definition or no earlier event"},
        {r->truncated, "location whose file ends in the middle", "locations whose file ends in the middle"},
        {r->missing_files, "location without an event file", "locations without an event file"},
    };
    char count[GN_QUANTITY_TEXT];
    bool any = false;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (lines[i].count)
            fprintf(out, "%s  %s %s\n", any ? "" : "passed by:\n", count_text(lines[i].count, count),
                    lines[i].count == 1 ? lines[i].one : lines[i].many);
        any |= lines[i].count > 0;
    }
}

/* ---- what was done ---- */

static void print_passes(const struct gn_sync_report *r, FILE *out)
{
    char shift[GN_QUANTITY_TEXT], threshold[GN_QUANTITY_TEXT];
    const struct gn_repair_result *result = &r->repair;
    for (uint32_t i = 0; i < result->pass_count; i++)
        fprintf(out, "pass %u: gamma %g%s, largest shift %s\n", i + 1, result->passes[i].gamma,
                result->passes[i].no_latency ? ", latency 0" : "",
                duration_of(r, (double)result->passes[i].largest_shift_ticks, shift));
    if (result->pass_count && !result->converged)
        fprintf(out,
                "WARNING: not converged: the largest shift is still above the threshold of %s; the order of "
                "events is right, how far they were moved is not to be trusted\n",
                duration_of(r, (double)result->threshold_ticks, threshold));
}

/* A line for each threshold: how much is above it. */
static void fill_deviation(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_deviation *d = self;
    gn_cell_real(&cells[0], gn_sync_thresholds[i] / 100);
    gn_cell_real(&cells[1], gn_sync_percent((double)d->above[i], (double)d->intervals) / 100);
    gn_cell_real(&cells[2], gn_sync_percent(d->above_ticks[i], d->interval_ticks) / 100);
}

static void print_table(const struct gn_sync_report *r, const struct gn_terminal *terminal, FILE *out)
{
    static const struct gn_column columns[] = {
        {.title = "deviation above", .kind = GN_CELL_SHARE},
        {.title = "of the intervals", .kind = GN_CELL_SHARE},
        {.title = "of the time", .kind = GN_CELL_SHARE},
    };
    const struct gn_table table = {.columns = columns,
                                   .column_count = sizeof columns / sizeof *columns,
                                   .row_count = GN_DEVIATIONS,
                                   .fill = fill_deviation,
                                   .self = &r->deviation,
                                   .indent = 2};
    gn_table_text(&table, terminal, out);
}

static void print_deviation(const struct gn_sync_report *r, const struct gn_terminal *terminal, FILE *out)
{
    const struct gn_deviation *d = &r->deviation;
    const struct gn_amortize_stats *a = &r->repair.amortized;
    char one[GN_QUANTITY_TEXT], other[GN_QUANTITY_TEXT], slope[GN_QUANTITY_TEXT], moved[GN_QUANTITY_TEXT];
    fprintf(out, "moved: %s events (%s), by at most %s; steepest slope %s\n", count_text(d->moved, moved),
            share(gn_sync_percent((double)d->moved, (double)d->events), one),
            duration_of(r, (double)a->largest_shift_ticks, other), share(100 * d->steepest, slope));
    fprintf(out, "event distance: deviation %s in the mean, at most %s\n",
            share(gn_sync_percent(d->deviation_ticks, d->interval_ticks), one),
            share(100 * d->largest_distance, other));
    print_table(r, terminal, out);
    fprintf(out, "event position: deviation at most %s, %s\n", share(100 * d->largest_position, one),
            duration_of(r, (double)d->largest_position_ticks, other));
    if (d->bounded)
        fprintf(out, "guaranteed bounds: %s of %s events were moved out of theirs\n",
                count_text(d->outside, one), count_text(d->bounded, other));
}

static void print_time(const struct gn_sync_report *r, FILE *out)
{
    const struct gn_repair_result *s = &r->repair;
    fprintf(out, "seconds: %.2f reading, %.2f measuring, %.2f forward, %.2f backward, %.2f writing",
            r->seconds[GN_SYNC_READ], s->seconds_measure, s->seconds_forward, s->seconds_backward,
            r->seconds[GN_SYNC_WRITE]);
    if (r->was_verified)
        fprintf(out, ", %.2f verifying", r->seconds[GN_SYNC_VERIFY]);
    fputc('\n', out);
}

static void print_verified(const struct gn_sync_report *r, FILE *out)
{
    const struct gn_condition *c = &r->condition;
    char missing[GN_QUANTITY_TEXT];
    if (!r->was_verified)
        return;
    fprintf(out,
            "verified: %" PRIu64 " of %" PRIu64 " messages and %" PRIu64 " of %" PRIu64
            " logical ones of collectives violate the clock condition, %" PRIu64 " of %" PRIu64
            " events go back\n",
            c->messages.violating + c->epochs.violating, c->messages.messages + c->epochs.messages,
            c->collectives.violating, c->collectives.messages, c->backward, c->events);
    gn_coverage_text(c, out);
    gn_judged_text(c, out);
    if (!gn_condition_holds(c) && c->worst.from != GN_NONE)
        fprintf(out, "  the worst: %s from location %u to %u, %s too early\n",
                c->worst.is_collective ? "a collective" : "a message", c->worst.from, c->worst.to,
                duration_of(r, (double)gn_condition_worst_ticks(c), missing));
}

static void print_all(const struct gn_sync_report *report, const struct gn_terminal *terminal, FILE *out)
{
    print_what(report, out);
    print_messages(report, terminal, out);
    print_latency(report, out);
    print_left_out(report, out);
    print_passes(report, out);
    if (report->is_unchanged)
        fprintf(out, "nothing violates the clock condition: all timestamps are as they were\n");
    else
        print_deviation(report, terminal, out);
    print_time(report, out);
    print_verified(report, out);
    fprintf(out, GN_AS_IT_IS "written: %s\n", report->out);
}

void gn_sync_report_text(const struct gn_sync_report *report, FILE *out)
{
    const struct gn_terminal terminal = gn_terminal_of(fileno(out));
    struct gn_page page;
    gn_page_open(&page, &terminal, out);
    print_all(report, &terminal, page.out);
    gn_page_close(&page);
}
