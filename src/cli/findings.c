#include "cli/findings.h"

#include "answer/assumptions.h"
#include "answer/critical_report.h"
#include "cli/history.h"
#include "answer/rests_on.h"
#include "answer/spans.h"
#include "cli/straggler_removed.h"
#include "answer/stragglers_report.h"
#include "answer/whatif_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct page {
    const char *trace;
    const struct gn_history *history;
    const struct gn_terminal *terminal;
    FILE *out;
    json_t *json;
};

static void label(const struct page *p, const char *name, const char *code)
{
    fprintf(p->out, "%s%s%s: ", gn_shade(p->terminal, code), name, gn_shade(p->terminal, GN_PLAIN));
}

/* ---- whom the others wait for ---- */

static void straggler_text(const struct page *p, const struct gn_stragglers_report *r)
{
    const struct gn_straggler *s = &r->list[0];
    char name[128], work[1024] = "", score[GN_SPAN_TEXT], caused[GN_SPAN_TEXT];
    label(p, "straggler", GN_BOLD);
    if (r->verdict == GN_STRAGGLER_NOBODY) {
        fprintf(p->out, "nobody holds the others up\n");
        return;
    }
    gn_straggler_name(r, s->group, name, sizeof name);
    if (s->cause != GN_NONE)
        gn_straggler_work(r, &r->waits->causes[s->cause], work, sizeof work);
    const struct gn_score of_run = r->scores->scores[s->group];
    fprintf(p->out, "%s (%s%s): score %s of the run, made the others wait %s%s%s\n", name,
            gn_straggler_verdict_name(r->verdict),
            r->waited_for == GN_STRAGGLER_CERTAIN
                ? "; that they wait for it is certain, but it may have had no core"
                : "",
            gn_span_share(of_run.lo / 100, of_run.hi / 100, score),
            gn_span_time(s->caused.lo_ns, s->caused.hi_ns, caused), work[0] ? "; " : "", work);
}

static int tell_straggler(const struct page *p, const struct gn_groups *groups,
                          const struct gn_scores *scores, const struct gn_waits *waits, struct gn_error *err)
{
    struct gn_stragglers_report report = {.path = p->trace,
                                          .history = p->history,
                                          .groups = groups,
                                          .waits = waits,
                                          .scores = scores,
                                          .by = GN_SCORED_RANK};
    int code = gn_stragglers_rank(&report, err);
    if (code < 0)
        return code;
    straggler_text(p, &report);
    json_object_set_new(p->json, "verdict", json_string(gn_straggler_verdict_name(report.verdict)));
    json_object_set_new(p->json, "straggler", gn_straggler_first_json(&report));
    free(report.list);
    return 0;
}

static int find_straggler(const struct page *p, struct gn_error *err)
{
    const struct gn_scores_settings settings = {.has_phases = false};
    struct gn_groups groups;
    struct gn_scores scores;
    struct gn_waits waits;
    int code = gn_groups_make(&groups, p->history, GN_SCORED_RANK, err);
    if (code < 0)
        return code;
    code = gn_scores_find(&scores, p->history, &groups, &settings, err);
    if (code == 0) {
        code = gn_waits_find(&waits, p->history, NULL, err);
        if (code == 0) {
            code = tell_straggler(p, &groups, &scores, &waits, err);
            gn_waits_clear(&waits);
        }
        gn_scores_clear(&scores);
    }
    gn_groups_clear(&groups);
    return code;
}

/* ---- what would help most, and what the run's length is ---- */

/* Of the best ones the first at a single process: that everything is faster everywhere helps more, and tells
 * nobody where to begin. Unless no process alone helps to speak of. How a program starts and ends is no
 * remedy. */
static const struct gn_answer *most_telling(const struct gn_sweep *sweep)
{
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->answers[i].process != GN_NONE && !sweep->answers[i].is_start_or_end &&
            sweep->answers[i].result.speedup_lo >= 0.01)
            return &sweep->answers[i];
    return sweep->count && !sweep->answers[0].is_start_or_end ? &sweep->answers[0] : NULL;
}

static int find_best(const struct page *p, const struct gn_critical *critical, struct gn_error *err)
{
    struct gn_sweep sweep;
    int code = gn_changes_tried(&sweep, p->history, critical, 10, err);
    if (code < 0)
        return code;
    label(p, "what if", GN_BOLD);
    const struct gn_answer *best = most_telling(&sweep);
    if (best)
        gn_sweep_answer_text(p->history, best, p->out);
    fputs(best ? "\n" : "nothing that was tried makes the run shorter\n", p->out);
    json_object_set_new(p->json, "whatif", best ? gn_sweep_answer_json(p->history, best) : json_null());
    gn_sweep_clear(&sweep);
    return 0;
}

static void tell_critical(const struct page *p, const struct gn_critical *critical)
{
    const struct gn_critical_report report = {.path = p->trace,
                                              .history = p->history,
                                              .critical = critical,
                                              .by = GN_CRITICAL_BY_ACTIVITY,
                                              .top = 1};
    label(p, "critical path", GN_BOLD);
    if (!gn_critical_first_text(&report, p->out))
        fputs("nothing is on it", p->out);
    fputc('\n', p->out);
    json_object_set_new(p->json, "critical", gn_critical_first_json(&report));
}

static int find_causes(const struct page *p, struct gn_error *err)
{
    struct gn_critical critical;
    int code = gn_critical_find(&critical, p->history, err);
    if (code < 0)
        return code;
    code = find_best(p, &critical, err);
    if (code == 0)
        tell_critical(p, &critical);
    gn_critical_clear(&critical);
    return code;
}

/* ---- all ---- */

/* What cannot be read is told like what was never written: rests_on counts only the latter. */
static void tell_missing(const struct page *p, const struct gn_trace_report *found)
{
    char text[160];
    if (!found->truncated && !found->missing_files)
        return;
    snprintf(text, sizeof text,
             "the trace is not whole: %" PRIu64 " locations end early, %" PRIu64 " have no events file",
             found->truncated, found->missing_files);
    label(p, "analysis", GN_YELLOW);
    fprintf(p->out, "of a part of the run: %s\n", text);
    json_object_set_new(p->json, "problem", json_string(text));
}

static int find_all(struct page *p, const struct gn_cli_history *opened, struct gn_error *err)
{
    p->history = &opened->history;
    if (p->history->events == 0)
        return gn_fail(err, -ENODATA, "no event can be read from %s", p->trace);
    int code = find_straggler(p, err);
    if (code == 0)
        code = find_causes(p, err);
    if (code < 0)
        return code;
    tell_missing(p, opened->found);
    gn_rests_on_text(p->history, p->terminal, p->out);
    json_object_set_new(p->json, "rests_on", gn_rests_on_json(p->history));
    /* What would help assumes all that the others do, and more; what every answer does takes no line here. */
    gn_assumptions_text(p->history, GN_ASSUMES_OF_WAITS | GN_ASSUMES_NAMED, p->terminal, p->out);
    json_object_set_new(p->json, "assumptions", gn_assumptions_json(p->history, GN_ASSUMES_OF_CHANGES));
    return 0;
}

static int look(struct page *p, struct gn_cli_history *opened, struct gn_error *err)
{
    const struct gn_cli_history_settings settings = {.command = "report", .most_events = GN_FINDINGS_MOST};
    int code = gn_cli_history_open(opened, p->trace, &settings, err);
    if (code < 0)
        return code;
    code = find_all(p, opened, err);
    gn_cli_history_close(opened);
    return code;
}

/* The report goes on without. */
static void tell_problem(const struct page *p, int code, const struct gn_error *err)
{
    json_object_set_new(p->json, "problem", json_string_nocheck(err->text));
    label(p, "analysis", code == -EFBIG ? GN_DIM : GN_YELLOW);
    if (code == -EFBIG)
        fprintf(p->out, "%s: it is left to the commands that follow\n", err->text);
    else
        fprintf(p->out, "there is none: %s\n", err->text);
}

static json_t *nothing(const char *trace)
{
    return json_pack("{s:s, s:n, s:n, s:n, s:n, s:n, s:n, s:n}", "trace", trace, "problem", "verdict",
                     "straggler", "whatif", "critical", "rests_on", "assumptions");
}

void gn_findings_look(struct gn_findings *findings, const char *trace, const struct gn_terminal *terminal)
{
    size_t size;
    struct gn_error err = {""};
    struct gn_cli_history *opened = malloc(sizeof *opened);
    *findings = (struct gn_findings){.json = nothing(trace)};
    struct page page = {.trace = trace,
                        .terminal = terminal,
                        .out = open_memstream(&findings->text, &size),
                        .json = findings->json};
    if (page.out && page.json && opened) {
        int code = look(&page, opened, &err);
        if (code < 0)
            tell_problem(&page, code, &err);
    }
    if (page.out)
        fclose(page.out);
    free(opened);
}

void gn_findings_clear(struct gn_findings *findings)
{
    free(findings->text);
    json_decref(findings->json);
    *findings = (struct gn_findings){.text = NULL};
}
