/* gnomon critical — what the run's length is made of. */
#include "cli/analysis_options.h"
#include "cli/commands.h"
#include "cli/asked_part.h"
#include "cli/print_analysis.h"
#include "cli/trace_names.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BAD_INPUT = 2, KEY_BY = 256, KEY_REGION };

struct arguments {
    const char *trace, *region;
    enum gn_critical_by by;
    size_t top;
    double longest_ns;
    enum gn_format format;
};

static const struct argp_option options[] = {
    {"by", KEY_BY, "WHAT", 0, "activity (default): what is computed and called; or rank", 0},
    {"region", KEY_REGION, "REGION", 0,
     "Only what this names: any name that gnomon prints (gnomon whatif --list)", 0},
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
    case KEY_REGION:
        a->region = value;
        break;
    case GN_KEY_TOP:
        a->top = gn_top_option(state, value);
        break;
    case GN_KEY_LONGEST:
        a->longest_ns = gn_quantity_option(state, "longest", value, GN_QUANTITY_TIME_NS);
        break;
    case GN_KEY_FORMAT:
        a->format = gn_format_option(state, value);
        break;
    case ARGP_KEY_ARG:
        gn_one_trace(state, &a->trace, value);
        break;
    case ARGP_KEY_END:
        if (a->region && a->by == GN_CRITICAL_BY_RANK)
            argp_error(state, "--region: rows by rank are of all that a rank does");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* Rows of what the name means go on; those of ranks stay. */
static int keep_named(struct gn_critical *path, const struct gn_cli_history *opened, const char *name,
                      struct gn_error *err)
{
    const struct gn_history *h = &opened->history;
    struct gn_named calls;
    bool *chosen = calloc(h->activity_count + 1, sizeof *chosen);
    if (!chosen || !gn_named_open(&calls, h->definitions)) {
        free(chosen);
        return gn_fail(err, -ENOMEM, "no memory for the trace's names");
    }
    size_t kept = path->first_whole;
    const bool is_call = gn_named_add(&calls, h, name) > 0;
    int code = gn_trace_name_computed(chosen, NULL, h, opened->path, name, err);
    if (is_call || code > 0)
        code = 0;
    for (size_t i = path->first_whole; code == 0 && i < path->first_process; i++) {
        const struct gn_critical_row *row = &path->rows[i];
        if (row->activity != GN_NONE ? chosen[row->activity]
                                     : gn_is_named(&calls, h->definitions, row->region, row->path))
            path->rows[kept++] = *row;
    }
    path->first_process = kept;
    gn_named_clear(&calls);
    free(chosen);
    return code;
}

static int look(void *self, const struct gn_cli_history *opened, struct gn_error *err)
{
    const struct arguments *a = self;
    struct gn_critical path;
    int code = gn_critical_find(&path, &opened->history, err);
    if (code < 0)
        return code;
    if (a->region)
        code = keep_named(&path, opened, a->region, err);
    if (code < 0) {
        gn_critical_clear(&path);
        return code;
    }
    const struct gn_critical_report report = {.path = opened->path,
                                              .history = &opened->history,
                                              .critical = &path,
                                              .by = a->by,
                                              .top = a->top,
                                              .spread = opened->spread};
    code = gn_print_critical(&report, a->format, err);
    gn_critical_clear(&path);
    return code;
}

static int critical(struct arguments *a, struct gn_error *err)
{
    const struct gn_cli_history_settings settings = {
        .command = "critical", .longest_ns = a->longest_ns, .has_spread = true};
    return gn_look_at_history(a->trace, &settings, look, a, err);
}

int gn_command_critical(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "[RUN|TRACE]",
        "What the run's length is made of: what each activity and each MPI call has on its critical path, as "
        "intervals.\vRUN is a run, of whose events there are all (gnomon run --trace) or windows, TRACE an "
        "OTF2 archive; without it, the newest run here. Exit status 2: there is no trace to look at.",
        gn_asked_part_options,
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
