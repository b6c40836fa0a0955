#include "cli/explained.h"

#include "analyse/patterns_look.h"
#include "answer/problem_text.h"
#include "answer/report.h"
#include "answer/waits_report.h"
#include "profile/virtual.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- in virtual time ---- */

static int go_virtual(sqlite3 *db, const struct gn_seen *seen, struct gn_error *err)
{
    const size_t processes = seen->definitions->process_count, sites = seen->site_count;
    double *gone_ns = gn_seen_gone(seen);
    struct gn_call_gone *list = calloc(processes * sites + 1, sizeof *list);
    int code = gone_ns && list ? 0 : gn_fail(err, -ENOMEM, "no memory for what is gone of calls");
    for (size_t i = 0; code == 0 && i < processes * sites; i++) {
        const struct gn_call_place place = gn_call_place_of(seen, &seen->sites[i % sites]);
        list[i] = (struct gn_call_gone){(int)seen->definitions->processes[i / sites].rank, place.call,
                                        place.line > 0 ? place.file : place.function, place.line, gone_ns[i]};
    }
    if (code == 0)
        code = gn_profile_go_virtual(db, list, processes * sites, err);
    free(list);
    free(gone_ns);
    return code;
}

/* From MPI_Init to MPI_Finalize, of all ranks in the mean; with what measuring has taken, or without. */
static double mean_s(const struct gn_summary *s, bool with_cost)
{
    double sum = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        sum += s->ranks_told[i].useful_s + s->ranks_told[i].mpi_s + (with_cost ? s->ranks_told[i].cost_s : 0);
    return s->rank_count ? sum / (double)s->rank_count : 0;
}

/* Of what ranks have lost follows what the run has: their own cost is known exactly, where windows have only
 * some of it. How sure that is, events tell. */
static void tell_length(struct gn_summary *s, double measured_s, struct gn_seen *seen)
{
    const double gone_s = fmax(measured_s - mean_s(s, false), 0);
    /* no two runs are alike; and what recording does to caches and to others is not in what it takes itself
     */
    const double repeats_s = GN_PROBLEM_REPEATED_SHARE * s->measured_s;
    const double less_s = fmax(seen->gone.hi_ns - seen->gone_ns, 0) * 1e-9 + repeats_s +
                          GN_OWN_COST_HIDDEN * gone_s,
                 more_s = fmax(seen->gone_ns - seen->gone.lo_ns, 0) * 1e-9 + repeats_s +
                          GN_OWN_COST_BESIDE * gone_s;
    s->elapsed_s = fmax(s->measured_s - gone_s, 0);
    s->unmeasured_s = (struct gn_between){fmax(s->elapsed_s - less_s, 0), s->elapsed_s + more_s};
    seen->run_ns = fmax(seen->measured_ns - gone_s * 1e9, 0);
}

static int summarise_again(struct gn_cli_explained *e, const struct gn_cli_run *run, enum gn_by by,
                           struct gn_summary *s, struct gn_error *err)
{
    const double measured_s = mean_s(s, true);
    int code = go_virtual(run->db, &e->seen.seen, err);
    gn_summary_clear(s);
    if (code < 0)
        return code;
    code = gn_summarise(run->db, by, false, s, err);
    if (code < 0)
        return code;
    tell_length(s, measured_s, &e->seen.seen);
    gn_seen_tell_totals(&e->seen.seen, s);
    return 0;
}

/* Without events, only each rank's own cost is known: the run is shorter by no more than that of one of them.
 */
static void tell_least_length(struct gn_summary *s)
{
    const double repeats_s = GN_PROBLEM_REPEATED_SHARE * s->measured_s;
    double most_s = 0, sum_s = 0;
    for (size_t i = 0; i < s->rank_count; i++) {
        most_s = fmax(most_s, s->ranks_told[i].cost_s);
        sum_s += s->ranks_told[i].cost_s;
    }
    if (most_s < repeats_s)
        return;
    s->elapsed_s = fmax(s->measured_s - sum_s / (double)s->rank_count, 0);
    s->unmeasured_s = (struct gn_between){
        fmax(s->measured_s - (1 + GN_OWN_COST_HIDDEN) * most_s - repeats_s, 0), s->measured_s + repeats_s};
}

static int summarise(struct gn_cli_explained *e, const struct gn_cli_run *run, enum gn_by by,
                     struct gn_summary *s, struct gn_error *err)
{
    struct gn_error why = {""};
    e->is_open = e->is_virtual = false;
    int code = gn_summarise(run->db, by, run->raw, s, err);
    if (code < 0 || run->raw || run->is_world || s->period.is_set || !run->profile ||
        gn_profile_own_share(run->db) < GN_OWN_COST_NOTED ||
        !gn_cli_can_see(s, run->profile, s->trace.events <= run->trace_most))
        return code;
    /* of events that cannot be read, gn_cli_explain says why */
    if (gn_cli_see(&e->seen, s, run->profile, false, run->command, &why) < 0)
        return 0;
    e->is_open = true;
    e->is_virtual = gn_seen_is_virtual(&e->seen.seen);
    code = e->is_virtual ? summarise_again(e, run, by, s, err) : 0;
    if (code < 0)
        gn_cli_explained_close(e);
    return code;
}

int gn_cli_summarise(struct gn_cli_explained *e, const struct gn_cli_run *run, enum gn_by by,
                     struct gn_summary *s, struct gn_error *err)
{
    const int code = summarise(e, run, by, s, err);
    if (code == 0 && !run->raw && !e->is_virtual && !s->period.is_set)
        tell_least_length(s);
    return code;
}

/* ---- problems ---- */

void gn_cli_explain(struct gn_cli_explained *e, const struct gn_cli_run *run,
                    const struct gn_summary *summary)
{
    struct gn_error err = {""};
    int code = 0;
    gn_problems_find(&e->problems, summary);
    if (!(summary->elapsed_s > 0) || !isfinite(summary->elapsed_s) || !run->profile ||
        !gn_cli_can_see(summary, run->profile, summary->trace.events <= run->trace_most)) {
        if (run->command && summary->windows.error[0])
            fprintf(stderr, "gnomon %s: without windows of events: %s\n", run->command,
                    summary->windows.error);
        gn_problems_share_cores(&e->problems, summary);
        return;
    }
    if (!e->is_open) {
        code = gn_cli_see(&e->seen, summary, run->profile, !e->is_virtual, run->command, &err);
        e->is_open = code == 0;
    }
    if (e->is_open && !e->seen.seen.is_whole)
        code = gn_seen_tell_after(&e->seen.seen, run->db, &err);
    if (e->is_open && code == 0)
        code = gn_problems_see(&e->problems, summary, &e->seen.seen, &err);
    if (code < 0 && run->command)
        fprintf(stderr, "gnomon %s: without the run's events: %s\n", run->command, err.text);
    gn_problems_rank(&e->problems, summary);
    gn_problems_share_cores(&e->problems, summary);
}

void gn_cli_tell_waited(const struct gn_cli_explained *e, struct gn_summary *summary)
{
    if (e->is_open)
        gn_seen_tell_waited(&e->seen.seen, summary);
}

int gn_cli_explained_waits(const struct gn_cli_explained *e, size_t top, const struct gn_terminal *terminal,
                           struct gn_error *err)
{
    struct gn_seen_edge *edges = NULL;
    if (!e->is_open)
        return gn_fail(err, -ENODATA, "no events of it were kept (gnomon run --windows)");
    const int64_t count = gn_seen_edges(&e->seen.seen, &edges);
    if (count < 0)
        return gn_fail(err, -ENOMEM, "no memory for who waits for whom");
    const struct gn_waits_report report = {&e->seen.seen, edges, (size_t)count, top};
    if (terminal)
        gn_waits_text(&report, terminal, stdout);
    else
        gn_report_print_json(gn_waits_json(&report, gn_problems_seen_json(&e->problems.seen)), stdout);
    free(edges);
    return 0;
}

void gn_cli_explained_close(struct gn_cli_explained *e)
{
    if (e->is_open)
        gn_cli_seen_close(&e->seen);
    e->is_open = false;
}
