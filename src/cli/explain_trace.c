#include "cli/explain_trace.h"

#include "analyse/levelled.h"
#include "answer/process_name.h"
#include "cli/findings.h"
#include "cli/history.h"
#include "cli/report_trace.h"
#include "event/definitions.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

/* Whether it is known that what it took longer was not waiting for a core. */
static bool had_a_core(const struct gn_summary *s, const struct gn_problem *p)
{
    for (size_t i = 0; i < s->rank_count; i++)
        if (s->ranks_told[i].rank == p->rank)
            return s->ranks_told[i].preempted_s <= 0.1 * p->lost_low_s;
    return false;
}

/* The call that the others wait in, and how often: as it was seen. */
static void tell_cause(struct gn_problem *p, const struct gn_history *h, const struct gn_cause *cause)
{
    const struct gn_definitions *d = h->definitions;
    if (!cause || cause->call_region >= d->region_count)
        return;
    snprintf(p->waited_in, sizeof p->waited_in, "%s", gn_string(d, d->regions[cause->call_region].name));
    if (cause->call_path < d->path_count) {
        snprintf(p->waited_file, sizeof p->waited_file, "%s",
                 gn_string(d, d->paths[cause->call_path].source_file));
        p->waited_line = (int)d->paths[cause->call_path].line;
    }
    p->times = (int64_t)cause->times;
}

static int replay(struct gn_problem *p, const struct gn_summary *s, const struct gn_history *h,
                  const struct gn_waits *waits, struct gn_error *err)
{
    const uint32_t process = gn_process_of_rank(h->definitions, p->rank);
    struct gn_levelled levelled;
    if (process == GN_NONE)
        return 0;
    const int code = gn_levelled_find(&levelled, h, waits, process, err);
    if (code < 0)
        return code;
    const double low = fmax(0, fmin(levelled.mean.reduction_lo_ns, levelled.fastest.reduction_lo_ns) * 1e-9),
                 high = fmax(levelled.mean.reduction_hi_ns, levelled.fastest.reduction_hi_ns) * 1e-9;
    tell_cause(p, h, levelled.cause);
    if (high < p->gain_low_s || low > p->gain_high_s) {
        /* what the trace does not have (before MPI_Init), what replay keeps as it was, several slow ranks:
         * then both may be right */
        p->gain_low_s = p->lost_low_s = fmin(low, p->gain_low_s);
        p->gain_high_s = p->lost_high_s = fmax(high, p->gain_high_s);
        p->sure = GN_PROBLEM_POSSIBLE;
        return 0;
    }
    p->gain_low_s = p->lost_low_s = low;
    p->gain_high_s = p->lost_high_s = high;
    p->assumes = GN_PROBLEM_SAME | GN_PROBLEM_ALONE;
    p->is_replayed = true;
    /* that as much was waited for it is certain, and so is that it was computing meanwhile */
    if (levelled.cause && levelled.cause->caused.lo_ns * 1e-9 >= low && low > 0 && had_a_core(s, p))
        p->sure = GN_PROBLEM_CERTAIN;
    return 0;
}

/* All of the excess of a rank is taken away at once: of its problems only the first one has that price. */
static bool has_been(const struct gn_problems *problems, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (problems->items[i].rank == problems->items[index].rank && problems->items[i].is_replayed)
            return true;
    return false;
}

static int replay_all(struct gn_problems *problems, const struct gn_summary *s, const char *trace,
                      struct gn_error *err)
{
    const struct gn_cli_history_settings settings = {.command = "explain", .most_events = GN_FINDINGS_MOST};
    struct gn_cli_history opened;
    struct gn_waits waits;
    int code = gn_cli_history_open(&opened, trace, &settings, err);
    if (code < 0)
        return code;
    if (opened.found->truncated || opened.found->missing_files ||
        opened.history.definitions->process_count < (size_t)s->ranks) {
        gn_cli_history_close(&opened);
        return gn_fail(err, -ENODATA, "it is not whole; gnomon stragglers says what is missing");
    }
    code = gn_waits_find(&waits, &opened.history, err);
    if (code == 0) {
        for (size_t i = 0; i < problems->count && code == 0; i++)
            if (problems->items[i].rank >= 0 && problems->items[i].own_s > 0 && !has_been(problems, i))
                code = replay(&problems->items[i], s, &opened.history, &waits, err);
        gn_waits_clear(&waits);
    }
    gn_cli_history_close(&opened);
    return code;
}

/* Whether any problem is one of a rank. */
static bool has_ranks(const struct gn_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        if (problems->items[i].rank >= 0 && problems->items[i].own_s > 0)
            return true;
    return false;
}

void gn_explain_by_trace(struct gn_problems *problems, const struct gn_summary *summary, const char *profile)
{
    char trace[4800];
    struct gn_error err = {""};
    if (summary->trace.apart || !summary->trace.asked ||
        !gn_report_trace_of(&summary->trace, profile, trace, sizeof trace) || !has_ranks(problems))
        return;
    if (replay_all(problems, summary, trace, &err) < 0)
        fprintf(stderr, "gnomon explain: without the trace: %s\n", err.text);
}
