/* gnomon stragglers — whom the others wait for. */
#include "cli/analysis_options.h"
#include "cli/commands.h"
#include "cli/asked_part.h"
#include "cli/print_analysis.h"
#include "cli/trace_names.h"

#include <argp.h>
#include <stdlib.h>

enum { BAD_INPUT = 2, KEY_BY = 256, KEY_PHASE };

struct arguments {
    const char *trace;
    struct gn_trace_names busy, waiting;
    enum gn_scored by;
    bool has_phases;
    enum gn_format format;
    size_t top;
};

static const struct argp_option options[] = {
    {"busy", 'b', "REGION", 0,
     "Busy is who is in this region: one that the program names, a function, or an MPI call, also at one "
     "place. May "
     "be given again (default: outside of MPI calls)",
     0},
    {"waiting", 'w', "REGION", 0,
     "Waiting is who is in this region; may be given again (default: in MPI calls that depend on others)", 0},
    {"by", KEY_BY, "WHAT", 0, "Who is scored: rank (default), thread or host", 0},
    {"phase", KEY_PHASE, NULL, 0,
     "Also by phase: by the outermost regions that the program names, else by tenths of the run", 0},
    GN_OPTION_TOP,
    GN_OPTION_FORMAT,
    {0}};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 'b':
        gn_trace_name_option(state, &a->busy, value);
        break;
    case 'w':
        gn_trace_name_option(state, &a->waiting, value);
        break;
    case KEY_BY:
        if (!gn_scored_by(value, &a->by))
            argp_error(state, "--by %s: rank, thread or host is expected", value);
        break;
    case KEY_PHASE:
        a->has_phases = true;
        break;
    case GN_KEY_TOP:
        a->top = gn_top_option(state, value);
        break;
    case GN_KEY_FORMAT:
        a->format = gn_format_option(state, value);
        break;
    case ARGP_KEY_ARG:
        gn_one_trace(state, &a->trace, value);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int report_all(const struct arguments *a, const struct gn_cli_history *opened,
                      const struct gn_groups *groups, const struct gn_scores_settings *settings,
                      struct gn_error *err)
{
    struct gn_scores scores;
    struct gn_waits waits;
    int code = gn_scores_find(&scores, &opened->history, groups, settings, err);
    if (code < 0)
        return code;
    code = gn_waits_find(&waits, &opened->history, NULL, err);
    if (code == 0) {
        struct gn_stragglers_report report = {.path = opened->path,
                                              .history = &opened->history,
                                              .groups = groups,
                                              .waits = &waits,
                                              .scores = &scores,
                                              .by = a->by,
                                              .is_annotated = a->busy.count || a->waiting.count,
                                              .top = a->top,
                                              .spread = opened->spread};
        code = gn_stragglers_rank(&report, err);
        if (code == 0)
            code = gn_print_stragglers(&report, a->format, err);
        free(report.list);
        gn_waits_clear(&waits);
    }
    gn_scores_clear(&scores);
    return code;
}

static int look(void *self, const struct gn_cli_history *opened, struct gn_error *err)
{
    const struct arguments *a = self;
    const struct gn_history *h = &opened->history;
    struct gn_named in_busy, in_waiting = {NULL, NULL};
    const struct gn_named *busy, *waiting = NULL;
    struct gn_groups groups;
    int code = gn_trace_names_chosen(&in_busy, &busy, opened->path, h, &a->busy, err);
    if (code == 0)
        code = gn_trace_names_chosen(&in_waiting, &waiting, opened->path, h, &a->waiting, err);
    if (code == 0)
        code = gn_groups_make(&groups, h, a->by, err);
    if (code == 0) {
        const struct gn_scores_settings settings = {waiting, busy, a->has_phases};
        code = report_all(a, opened, &groups, &settings, err);
        gn_groups_clear(&groups);
    }
    gn_named_clear(&in_busy);
    gn_named_clear(&in_waiting);
    return code;
}

static int stragglers(struct arguments *a, struct gn_error *err)
{
    const struct gn_cli_history_settings settings = {
        .command = "stragglers",
        .has_spread = true,
        .has_tracks = a->busy.count || a->waiting.count || a->has_phases || a->by == GN_SCORED_THREAD};
    return gn_look_at_history(a->trace, &settings, look, a, err);
}

int gn_command_stragglers(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "[RUN|TRACE]",
        "Whom the others wait for: which rank's own work holds the others up, how much, and where, as "
        "intervals.\vRUN is a run, of whose events there are all (gnomon run --trace) or windows, TRACE an "
        "OTF2 archive; without it, the newest run here. Exit status 2: no trace, or no region of that name.",
        gn_asked_part_options,
        NULL,
        NULL};
    struct arguments a = {.by = GN_SCORED_RANK, .top = GN_TOP};
    struct gn_error err = {""};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (stragglers(&a, &err) >= 0)
        return 0;
    fprintf(stderr, "gnomon stragglers: %s\n", err.text);
    return BAD_INPUT;
}
