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
    double *stays = gn_seen_stays(seen);
    struct gn_call_left *list = calloc(processes * sites + 1, sizeof *list);
    int code = stays && list ? 0 : gn_fail(err, -ENOMEM, "no memory for what is left of calls");
    for (size_t i = 0; code == 0 && i < processes * sites; i++) {
        const struct gn_call_place place = gn_call_place_of(seen, &seen->sites[i % sites]);
        list[i] = (struct gn_call_left){(int)seen->definitions->processes[i / sites].rank, place.call,
                                        place.file, place.line, stays[i]};
    }
    if (code == 0)
        code = gn_profile_go_virtual(db, list, processes * sites, err);
    free(list);
    free(stays);
    return code;
}

static int summarise_again(struct gn_cli_explained *e, const struct gn_cli_run *run, enum gn_by by,
                           struct gn_summary *s, struct gn_error *err)
{
    const struct gn_seen *seen = &e->seen.seen;
    const double gone_s = (seen->measured_ns - seen->run_ns) * 1e-9;
    int code = go_virtual(run->db, seen, err);
    gn_summary_clear(s);
    if (code < 0)
        return code;
    code = gn_summarise(run->db, by, false, s, err);
    if (code < 0)
        return code;
    s->elapsed_s = fmax(s->measured_s - gone_s, 0);
    const double repeats_s = GN_PROBLEM_REPEATED_SHARE * s->measured_s; /* no two runs are alike */
    s->unmeasured_s.low = fmin(s->measured_s - seen->gone.hi_ns * 1e-9, s->elapsed_s) - repeats_s;
    s->unmeasured_s.low = fmax(s->unmeasured_s.low, 0);
    s->unmeasured_s.high = fmax(s->measured_s - seen->gone.lo_ns * 1e-9, s->elapsed_s) + repeats_s;
    gn_seen_tell_totals(&e->seen.seen, s);
    return 0;
}

int gn_cli_summarise(struct gn_cli_explained *e, const struct gn_cli_run *run, enum gn_by by,
                     struct gn_summary *s, struct gn_error *err)
{
    struct gn_error why = {""};
    e->is_open = false;
    int code = gn_summarise(run->db, by, run->raw, s, err);
    if (code < 0 || run->raw || run->is_world || !run->profile ||
        gn_profile_own_share(run->db) < GN_OWN_WORK_NOTED ||
        !gn_cli_can_see(s, run->profile, s->trace.events <= run->trace_most))
        return code;
    /* of events that cannot be read, gn_cli_explain says why */
    if (gn_cli_see(&e->seen, s, run->profile, false, run->command ? run->command : "explain", &why) < 0)
        return 0;
    e->is_open = true;
    code = gn_seen_is_virtual(&e->seen.seen) ? summarise_again(e, run, by, s, err) : 0;
    if (code < 0)
        gn_cli_explained_close(e);
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
        !gn_cli_can_see(summary, run->profile, summary->trace.events <= run->trace_most))
        return;
    if (!e->is_open) {
        code = gn_cli_see(&e->seen, summary, run->profile, run->raw, run->command ? run->command : "explain",
                          &err);
        e->is_open = code == 0;
    }
    if (e->is_open)
        code = gn_problems_see(&e->problems, summary, &e->seen.seen, &err);
    if (code < 0 && run->command)
        fprintf(stderr, "gnomon %s: without the run's events: %s\n", run->command, err.text);
    gn_problems_rank(&e->problems, summary);
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
