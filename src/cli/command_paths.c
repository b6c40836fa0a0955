/* gnomon paths — what is called between two passes of a point, each such sequence once. */
#include "answer/paths_report.h"
#include "cli/analysis_options.h"
#include "cli/asked_part.h"
#include "cli/commands.h"
#include "cli/print_analysis.h"
#include "cli/trace_names.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

enum { BAD_INPUT = 2, KEY_PARTNERS = 256 };

struct arguments {
    const char *trace;
    struct gn_trace_names at;
    bool is_absolute;
    enum gn_format format;
    size_t top;
};

static const struct argp_option options[] = {
    {"at", 'a', "CALL", 0,
     "A path goes from this call until it comes again: an MPI call, also at one place; may be given again "
     "(default: of each rank the call that its outermost loop begins with)",
     0},
    {"partners", KEY_PARTNERS, "HOW", 0,
     "Partners relative to the rank (default), or absolute: paths of two ranks are then hardly ever alike",
     0},
    GN_OPTION_TOP,
    GN_OPTION_FORMAT,
    {0}};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 'a':
        gn_trace_name_option(state, &a->at, value);
        break;
    case KEY_PARTNERS:
        if (strcmp(value, "relative") && strcmp(value, "absolute"))
            argp_error(state, "--partners %s: relative or absolute is expected", value);
        a->is_absolute = strcmp(value, "absolute") == 0;
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

static int look(void *self, const struct gn_cli_history *opened, struct gn_error *err)
{
    const struct arguments *a = self;
    struct gn_named in_point = {NULL, NULL};
    struct gn_exec_settings settings = {.is_absolute = a->is_absolute};
    struct gn_exec_paths found;
    int code = gn_trace_names_chosen(&in_point, &settings.point, opened->path, &opened->history, &a->at, err);
    if (code == 0)
        code = gn_exec_paths_find(&found, &opened->history, &settings, err);
    if (code == 0) {
        const struct gn_paths_report report = {opened->path, &opened->history, &found, a->is_absolute,
                                               a->top};
        code = gn_print_paths(&report, a->format, err);
        gn_exec_paths_clear(&found);
    }
    gn_named_clear(&in_point);
    return code;
}

int gn_command_paths(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "[RUN|TRACE]",
        "What ranks call between two passes of a point, from whom they take messages and to whom they send: "
        "each such sequence once, with how often and how long (causal execution paths).\vRUN is a run, of "
        "whose "
        "events there are all (gnomon run --trace) or windows, TRACE an OTF2 archive; without it, the newest "
        "run "
        "here. Exit status 2: there is no trace to look at, or no call of that name.",
        gn_asked_part_options,
        NULL,
        NULL};
    struct arguments a = {.top = GN_TOP};
    const struct gn_cli_history_settings settings = {.command = "paths"};
    struct gn_error err = {""};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (gn_look_at_history(a.trace, &settings, look, &a, &err) >= 0)
        return 0;
    fprintf(stderr, "gnomon paths: %s\n", err.text);
    return BAD_INPUT;
}
