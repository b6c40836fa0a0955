/* cli/sync_report_text — what `gnomon sync` has done, on one screen. */
#include "cli/sync_report.h"

#include <inttypes.h>
#include <math.h>

/* Three significant digits with a unit. */
static const char *duration(double ns, char into[16])
{
    const char *unit = ns >= 999.5e6 ? "s" : ns >= 999.5e3 ? "ms" : ns >= 999.5 ? "us" : "ns";
    const double shown = ns >= 999.5e6 ? ns / 1e9 : ns >= 999.5e3 ? ns / 1e6 : ns >= 999.5 ? ns / 1e3 : ns;
    const int digits = shown >= 99.95 || *unit == 'n' ? 0 : shown >= 9.995 ? 1 : 2;
    snprintf(into, 16, "%.*f %s", digits, shown, unit);
    return into;
}

static const char *duration_of(const struct gn_sync_report *r, double ticks, char into[16])
{
    return duration(gn_sync_ns(r, ticks), into);
}

/* Small shares keep their first digits: 0.00012 % is not 0.00 %. */
static const char *share(double percent, char into[16])
{
    const int digits = percent >= 0.095 || percent <= 0 ? 2 : (int)fmin(8, 1 - floor(log10(percent)));
    snprintf(into, 16, "%.*f %%", digits, percent);
    return into;
}

/* ---- before ---- */

static void print_what(const struct gn_sync_report *r, FILE *out)
{
    const struct gn_definitions *d = r->definitions;
    fprintf(out, "%" PRIu64 " events of %zu location%s, %zu process%s", r->events.events, d->location_count,
            d->location_count == 1 ? "" : "s", d->process_count, d->process_count == 1 ? "" : "es");
    if (r->ranks > 1)
        fprintf(out, "; by %u ranks together", r->ranks);
    fprintf(out, "\npresynchronised: %s (%s)\n", gn_sync_presync_name(r->clocks.presync.kind), r->clocks.why);
}

static void print_row(const struct gn_sync_report *r, const char *name, const struct gn_replay_count *before,
                      const struct gn_replay_count *after, FILE *out)
{
    char mean[16], most[16], reversed[16], violating[16];
    const double all = (double)before->messages, errors = (double)before->error_ticks_sum;
    if (!before->messages)
        return;
    fprintf(out, "  %-15s %12" PRIu64 " %12" PRIu64 " %8s %12" PRIu64 " %8s %12" PRIu64, name,
            before->messages, before->reversed,
            share(gn_sync_percent((double)before->reversed, all), reversed), before->violating,
            share(gn_sync_percent((double)before->violating, all), violating), after->corrected);
    if (before->reversed)
        fprintf(out, " %9s %9s", duration_of(r, errors / (double)before->reversed, mean),
                duration_of(r, (double)before->error_ticks_max, most));
    fputc('\n', out);
}

static void print_messages(const struct gn_sync_report *r, FILE *out)
{
    const struct gn_replay_stats *before = &r->repair.before, *after = &r->repair.after;
    fprintf(out, "%-17s %12s %21s %21s %12s %9s %9s\n", "messages", "", "reversed", "violating", "corrected",
            "by mean", "most");
    print_row(r, "point to point", &before->messages, &after->messages, out);
    print_row(r, "collectives", &before->collectives, &after->collectives, out);
    print_row(r, "uncertain", &before->uncertain, &after->uncertain, out);
}

static void print_range(double least_ns, double most_ns, const char *where, FILE *out)
{
    char least[16], most[16];
    if (most_ns > least_ns)
        fprintf(out, "%s to ", duration(least_ns, least));
    fprintf(out, "%s %s", duration(most_ns, most), where);
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
        {r->events.uncounted, "send, receive or collective after something was lost",
         "sends, receives and collectives after something was lost"},
        {r->events.unfit, "event that fits no definition or no earlier event",
         "events that fit no definition or no earlier event"},
        {r->truncated, "location whose file ends in the middle", "locations whose file ends in the middle"},
        {r->missing_files, "location without an event file", "locations without an event file"},
    };
    bool any = false;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (lines[i].count)
            fprintf(out, "%s  %" PRIu64 " %s\n", any ? "" : "passed by:\n", lines[i].count,
                    lines[i].count == 1 ? lines[i].one : lines[i].many);
        any |= lines[i].count > 0;
    }
}

/* ---- what was done ---- */

static void print_passes(const struct gn_sync_report *r, FILE *out)
{
    char shift[16], threshold[16];
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

static void print_table(const struct gn_sync_report *r, FILE *out)
{
    const struct gn_deviation *d = &r->deviation;
    char cell[16];
    fprintf(out, "  deviation above   ");
    for (int i = 0; i < GN_DEVIATIONS; i++)
        fprintf(out, " %7g %%", gn_sync_thresholds[i]);
    fprintf(out, "\n  of the intervals  ");
    for (int i = 0; i < GN_DEVIATIONS; i++)
        fprintf(out, " %9s", share(gn_sync_percent((double)d->above[i], (double)d->intervals), cell));
    fprintf(out, "\n  of the time       ");
    for (int i = 0; i < GN_DEVIATIONS; i++)
        fprintf(out, " %9s", share(gn_sync_percent(d->above_ticks[i], d->interval_ticks), cell));
    fputc('\n', out);
}

static void print_deviation(const struct gn_sync_report *r, FILE *out)
{
    const struct gn_deviation *d = &r->deviation;
    const struct gn_amortize_stats *a = &r->repair.amortized;
    char one[16], other[16];
    fprintf(out, "moved: %" PRIu64 " events (%s), by at most %s; steepest slope %s\n", d->moved,
            share(gn_sync_percent((double)d->moved, (double)d->events), one),
            duration_of(r, (double)a->largest_shift_ticks, other), share(100 * d->steepest, (char[16]){0}));
    fprintf(out, "event distance: deviation %s in the mean, at most %s\n",
            share(gn_sync_percent(d->deviation_ticks, d->interval_ticks), one),
            share(100 * d->largest_distance, other));
    print_table(r, out);
    fprintf(out, "event position: deviation at most %s, %s\n", share(100 * d->largest_position, one),
            duration_of(r, (double)d->largest_position_ticks, other));
    if (d->bounded)
        fprintf(out, "guaranteed bounds: %" PRIu64 " of %" PRIu64 " events were moved out of theirs\n",
                d->outside, d->bounded);
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
    char missing[16];
    if (!r->was_verified)
        return;
    fprintf(out,
            "verified: %" PRIu64 " of %" PRIu64 " messages and %" PRIu64 " of %" PRIu64
            " logical ones of collectives violate the clock condition, %" PRIu64 " of %" PRIu64
            " events go back\n",
            c->messages.violating, c->messages.messages, c->collectives.violating, c->collectives.messages,
            c->backward, c->events);
    if (!gn_condition_holds(c) && c->worst.from != GN_NONE)
        fprintf(out, "  the worst: %s from location %u to %u, %s too early\n",
                c->worst.is_collective ? "a collective" : "a message", c->worst.from, c->worst.to,
                duration_of(r,
                            (double)(c->messages.worst_ticks > c->collectives.worst_ticks
                                         ? c->messages.worst_ticks
                                         : c->collectives.worst_ticks),
                            missing));
}

void gn_sync_report_text(const struct gn_sync_report *report, FILE *out)
{
    print_what(report, out);
    print_messages(report, out);
    print_latency(report, out);
    print_left_out(report, out);
    print_passes(report, out);
    if (report->is_unchanged)
        fprintf(out, "nothing violates the clock condition: all timestamps are as they were\n");
    else
        print_deviation(report, out);
    print_time(report, out);
    print_verified(report, out);
    fprintf(out, "written: %s\n", report->out);
}
