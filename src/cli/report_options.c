#include "cli/report_options.h"

#include "cli/analysis_options.h"
#include "cli/period_option.h"
#include "cli/place.h"

#include <argp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_NO_TRACE = 256, KEY_WORLD, KEY_CHECKS, KEY_PATH };

static enum gn_by parse_by(const char *name, struct argp_state *state)
{
    for (int i = 0; gn_by_names[i]; i++)
        if (strcmp(name, gn_by_names[i]) == 0)
            return (enum gn_by)i;
    argp_error(state,
               "--by %s: one of activity, place, tree, callpath, region, function, line, rank, host, pair, "
               "request, time "
               "is expected",
               name);
    return GN_BY_ACTIVITY;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct gn_report_asked *a = state->input;
    size_t top;
    switch (key) {
    case 'b':
        a->options.by = parse_by(value, state);
        break;
    case 't':
        top = gn_top_option(state, value);
        a->options.top = top < INT_MAX ? (int)top : INT_MAX;
        break;
    case 'r':
        a->options.raw = true;
        break;
    case KEY_WORLD:
        a->options.world = gn_world_option(state, value);
        break;
    case GN_KEY_LIVE:
        a->part.live = true;
        break;
    case GN_KEY_BETWEEN:
        a->part.period = gn_period_option(state, value);
        break;
    case ARGP_KEY_END:
        if (a->options.path && a->options.by != GN_BY_TREE && a->options.by != GN_BY_ACTIVITY)
            argp_error(state, "--path with --by %s: it is a part of the tree", gn_by_names[a->options.by]);
        break;
    case KEY_PATH:
        a->options.path = value;
        break;
    case KEY_CHECKS:
        a->options.checks = true;
        break;
    case KEY_NO_TRACE:
        a->no_trace = true;
        break;
    case 'f':
        a->format = gn_format_option(state, value);
        break;
    case ARGP_KEY_ARG:
        if (a->run)
            argp_error(state, "one run at a time: %s is too much", value);
        a->run = value;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp_option list_of_options[] = {
    {"by", 'b', "WHAT", 0,
     "Rows by activity (default), place, tree, callpath, region, function, line, rank, host, pair, request "
     "or time",
     0},
    {"top", 't', "N", 0, "Show N rows; 0 shows all (default: 10 as text, all otherwise)", 0},
    {"path", KEY_PATH, "PATH", 0,
     "Of the tree only what is below this, as main/solve/loop@heat.c:110, or solve@heat.c:40, by the "
     "statement that "
     "calls it; all that are called so (implies --by tree)",
     0},
    GN_OPTION_LIVE,
    GN_OPTION_BETWEEN,
    {"raw", 'r', NULL, 0, "Times as they were, gnomon's own cost not subtracted", 0},
    {"world", KEY_WORLD, "N", 0,
     "Of a run that is several worlds: this one (default: the largest; JSON has all)", 0},
    {"checks", KEY_CHECKS, NULL, 0, "Whether the measurement is to be trusted: all that was checked", 0},
    {"no-trace", KEY_NO_TRACE, NULL, 0, "Without a look at the run's trace", 0},
    {"format", 'f', "FORMAT", 0, "text (default), json or csv", 0},
    {0}};

void gn_report_options(struct gn_report_asked *asked, int argc, char **argv)
{
    static const struct argp argp = {list_of_options,
                                     parse,
                                     "[RUN]",
                                     "Where the time of a measured run went.\vRUN is a run's folder or its "
                                     "profile.db, or a folder with runs: its newest; without it, the "
                                     "newest run folder here.",
                                     gn_place_option,
                                     NULL,
                                     NULL};
    *asked = (struct gn_report_asked){.options = {.by = GN_BY_ACTIVITY, .top = -1}};
    argp_parse(&argp, argc, argv, 0, NULL, asked);
    if (asked->options.path)
        asked->options.by = GN_BY_TREE;
    asked->part.with_events = asked->options.by == GN_BY_ACTIVITY && !asked->no_trace;
    if (asked->options.top < 0)
        asked->options.top = asked->format == GN_FORMAT_TEXT || asked->options.by == GN_BY_TIME ? GN_TOP : 0;
}
