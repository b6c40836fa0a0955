/* gnomon order — the events of a run in causal order. */
#include "cli/commands.h"
#include "cli/order_report.h"
#include "cli/order_use.h"
#include "analyse/trace_worlds.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Beside events on standard output the statistics go to standard error. */
static void tell(const struct gn_order_use *u, bool stopped)
{
    const struct gn_order_options *a = u->options;
    bool taken = a->to != GN_ORDER_TO_NONE && (!a->output || strcmp(a->output, "-") == 0);
    struct gn_trace_report trace = {0};
    struct gn_order_report report = {.arrival = a->arrival_text,
                                     .locations = gn_order_use_definitions(u)->location_count,
                                     .asked = a->when != NULL,
                                     .matches = gn_ordering_matches(u->ordering),
                                     .stopped = stopped,
                                     .measured = gn_ordering_measured(u->ordering),
                                     .stats = gn_ordering_stats(u->ordering),
                                     .live = a->live ? &u->live : NULL};
    if (!a->live) {
        trace = gn_joined_report(u->joined);
        for (size_t i = 0; i < a->input_count; i++)
            gn_trace_worlds_tell(a->inputs[i], "order");
        if (a->input_count == 0)
            gn_trace_worlds_tell(u->newest, "order");
        report.trace = &trace;
    }
    if (a->json)
        gn_order_report_json(&report, taken ? stderr : stdout);
    else
        gn_order_report_text(&report, taken ? stderr : stdout);
}

/* What the sort could not settle because it is not there, or wrong; whether there is any. Ambiguous events
 * are none of it: they are marked, and where calls overlap MPI itself leaves the order open. */
static bool tell_unsettled(const struct gn_order_stats *stats)
{
    if (!stats)
        return false;
    const struct {
        uint64_t count;
        const char *what, *after_losses;
    } lines[] = {
        {stats->lost, "events were lost while the program was measured", ""},
        {stats->contradictions, "events fit nothing in the trace", ""},
        {stats->unmatched_receives, "receives have no send in the trace",
         ", or none that can be told after losses"},
        {stats->unmatched_sends, "sends have no receive in the trace",
         ", or none that can be told after losses"},
        {stats->incomplete_collectives, "collectives lack some of their members",
         ", or those that cannot be told after losses"},
        {stats->released, "events came out although something before them never came",
         ", or cannot be told after losses"},
    };
    bool any = false;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (lines[i].count)
            fprintf(stderr, "gnomon order: %llu %s%s\n", (unsigned long long)lines[i].count, lines[i].what,
                    stats->lost ? lines[i].after_losses : "");
        any |= lines[i].count > 0;
    }
    return any;
}

/* What was not all there: says so, and whether there is any. */
static bool tell_missing(const struct gn_order_use *u)
{
    const struct gn_order_stats *stats = gn_ordering_stats(u->ordering);
    const struct gn_trace_report trace =
        u->joined ? gn_joined_report(u->joined) : (struct gn_trace_report){0};
    const uint64_t cut = trace.truncated + trace.missing_files;
    if (cut)
        fprintf(
            stderr,
            "gnomon order: not all of the trace is there: %llu locations were cut off, %llu of them have no "
            "file\n",
            (unsigned long long)cut, (unsigned long long)trace.missing_files);
    return tell_unsettled(stats) || cut;
}

/* Status 1: it worked, and found a problem; 2: a stream turned out to be something else. */
static int verdict(const struct gn_order_use *u)
{
    const struct gn_order_options *a = u->options;
    uint64_t backward = gn_ordering_measured(u->ordering).backward_reported;
    const bool is_incomplete = tell_missing(u);
    if (backward)
        fprintf(stderr,
                "gnomon order: %llu messages came out before they were sent: this is an error of gnomon's\n",
                (unsigned long long)backward);
    if (a->count && gn_ordering_matches(u->ordering) < a->count)
        fprintf(stderr, "gnomon order: only %llu events match\n",
                (unsigned long long)gn_ordering_matches(u->ordering));
    if (u->live.broken)
        return 2;
    return backward || is_incomplete || u->live.died ||
           (a->count && gn_ordering_matches(u->ordering) < a->count);
}

/* The exit status. Bad input is 2; what cannot be written is 1. */
static int order(struct gn_order_use *u)
{
    struct gn_error err = {""};
    int code = gn_order_use_open(u, &err);
    if (code == 0)
        code = gn_order_use_run(u, &err);
    const bool stopped = code == -ECANCELED;
    int status = code == 0 || stopped ? 0 : 2;
    if (status == 0 && gn_order_use_end(u, &err) != 0)
        status = 1;
    if (status != 0) {
        if (err.text[0])
            fprintf(stderr, "gnomon order: %s\n", err.text);
        return status;
    }
    if (u->options->stats)
        tell(u, stopped);
    return verdict(u);
}

int gn_command_order(int argc, char **argv)
{
    struct gn_order_options options;
    gn_order_options(&options, argc, argv);
    struct gn_order_use use = {.options = &options};
    const int status = order(&use);
    gn_order_use_close(&use);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "gnomon order: cannot write to standard output: %s\n", strerror(errno));
        return 1;
    }
    return status;
}
