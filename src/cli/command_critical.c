/* gnomon critical — what the run's length is made of. */
#include "cli/analysis_options.h"
#include "cli/commands.h"
#include "cli/critical_report.h"
#include "cli/history.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BAD_INPUT = 2, KEY_BY = 256 };

struct arguments {
    const char *trace;
    enum gn_critical_by by;
    size_t top;
    double longest_ns;
    bool json;
};

static const struct argp_option options[] = {
    {"by", KEY_BY, "WHAT", 0, "activity (default): what is computed and called; or rank", 0},
    GN_OPTION_TOP,
    GN_OPTION_LONGEST,
    GN_OPTION_FORMAT,
    {0}};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_BY:
        if (strcmp(value, "activity") && strcmp(value, "rank"))
            argp_error(state, "--by %s: activity or rank is expected", value);
        a->by = strcmp(value, "rank") == 0 ? GN_CRITICAL_BY_RANK : GN_CRITICAL_BY_ACTIVITY;
        break;
    case GN_KEY_TOP:
        a->top = gn_top_option(state, value);
        break;
    case GN_KEY_LONGEST:
        a->longest_ns = gn_quantity_option(state, "longest", value, GN_QUANTITY_TIME_NS);
        break;
    case GN_KEY_FORMAT:
        a->json = gn_is_json_option(state, value);
        break;
    case ARGP_KEY_ARG:
        gn_one_trace(state, &a->trace, value);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int print(const struct arguments *a, const struct gn_critical_report *report, struct gn_error *err)
{
    if (a->json)
        return gn_print_json(gn_critical_json(report), err);
    const struct gn_terminal terminal = gn_terminal_of(STDOUT_FILENO);
    gn_critical_text(report, &terminal, stdout);
    return gn_print_end(err);
}

static int critical(const struct arguments *a, struct gn_error *err)
{
    struct gn_cli_history *opened = malloc(sizeof *opened);
    const struct gn_cli_history_settings settings = {.command = "critical", .longest_ns = a->longest_ns};
    struct gn_critical path;
    int code = opened ? gn_cli_history_open(opened, a->trace, &settings, err)
                      : gn_fail(err, -ENOMEM, "no memory for the trace");
    if (code == 0) {
        gn_cli_history_tell(opened, "critical");
        code = gn_critical_find(&path, &opened->history, err);
        if (code == 0) {
            const struct gn_critical_report report = {opened->path, &opened->history, &path, a->by, a->top};
            code = print(a, &report, err);
            gn_critical_clear(&path);
        }
        gn_cli_history_close(opened);
    }
    free(opened);
    return code;
}

int gn_command_critical(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "[RUN|TRACE]",
        "What the run's length is made of: what each activity and each MPI call has on its critical path, as "
        "intervals.\vRUN is a run with a trace (gnomon run --trace), TRACE an OTF2 archive; without it, the "
        "newest run here. Exit status 2: there is no trace to look at.",
        NULL,
        NULL,
        NULL};
    struct arguments a = {.top = GN_TOP};
    struct gn_error err = {""};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (critical(&a, &err) >= 0)
        return 0;
    fprintf(stderr, "gnomon critical: %s\n", err.text);
    return BAD_INPUT;
}
