/* gnomon explain — why it took as long, in a few lines. */
#include "answer/explain_report.h"
#include "answer/problem_text.h"
#include "answer/report.h"
#include "answer/report_worlds.h"
#include "cli/analysis_options.h"
#include "cli/commands.h"
#include "cli/explained.h"
#include "cli/locate.h"
#include "cli/period_option.h"
#include "cli/place.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BAD_INPUT = 2, PROBLEMS = 5, WAITS = 20, KEY_WAITS = 256, KEY_RAW, KEY_WORLD };

struct arguments {
    const char *run;
    bool json, waits, raw, has_top;
    struct gn_located_part part;
    size_t top;
    int world; /* 0: the largest */
};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case GN_KEY_TOP:
        a->top = gn_top_option(state, value);
        a->has_top = true;
        break;
    case KEY_WAITS:
        a->waits = true;
        break;
    case KEY_WORLD:
        a->world = gn_world_option(state, value);
        break;
    case KEY_RAW:
        a->raw = true;
        break;
    case GN_KEY_LIVE:
        a->part.live = a->part.with_events = true;
        break;
    case GN_KEY_BETWEEN:
        a->part.period = gn_period_option(state, value);
        break;
    case 'f':
        a->json = gn_json_option(state, value);
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

static const struct argp_option options[] = {
    {"top", GN_KEY_TOP, "N", 0, "So many problems (default: 5); 0 for all", 0},
    {"waits", KEY_WAITS, NULL, 0, "Who waits for whom, in which call: so many of these (default: 20)", 0},
    GN_OPTION_LIVE,
    GN_OPTION_BETWEEN,
    {"world", KEY_WORLD, "N", 0, "Of a run of several worlds: of this one (default: the largest)", 0},
    {"raw", KEY_RAW, NULL, 0, "Times as measured, gnomon's own cost and what waited for it included", 0},
    {"format", 'f', "FORMAT", 0, "text (default) or json", 0},
    {0}};

static int explain(const struct arguments *a, sqlite3 *db, const char *profile, struct gn_error *err)
{
    struct gn_summary summary;
    struct gn_worlds worlds = {.items = NULL};
    static struct gn_cli_explained explained;
    int code = gn_worlds_read(db, &worlds, err);
    const struct gn_world *world = NULL;
    if (code == 0)
        code = gn_worlds_asked(&worlds, a->world, &world, err);
    if (code == 0 && world)
        code = gn_world_select(db, world->id, err);
    const struct gn_cli_run run = {db, profile, world != NULL, INT64_MAX, a->raw, "explain"};
    if (code == 0)
        code = gn_cli_summarise(&explained, &run, GN_BY_ACTIVITY, &summary, err);
    if (code == 0) {
        const struct gn_explain_report report = {&summary, &explained.problems, a->top};
        const struct gn_terminal terminal = gn_terminal_of(STDOUT_FILENO);
        if (world)
            gn_report_narrow(&summary, &worlds, world);
        if (world && !a->world)
            fprintf(stderr, "gnomon explain: world %d of %zu, the largest; --world N explains another\n",
                    world->number, worlds.count);
        gn_cli_explain(&explained, &run, &summary);
        if (a->waits)
            code = gn_cli_explained_waits(&explained, a->has_top ? a->top : WAITS, a->json ? NULL : &terminal,
                                          err);
        else if (a->json)
            gn_report_print_json(gn_explain_json(&report), stdout);
        else
            gn_explain_text(&report, &terminal, stdout);
        gn_cli_explained_close(&explained);
        gn_summary_clear(&summary);
    }
    gn_worlds_clear(&worlds);
    return code;
}

int gn_command_explain(int argc, char **argv)
{
    static const struct argp argp = {options,
                                     parse,
                                     "[RUN]",
                                     "Why a run took as long: who, where, how much, what to do, how sure.\v"
                                     "RUN is a run's folder or its profile.db, or a folder with runs: its "
                                     "newest; without it, the newest run"
                                     " folder here.",
                                     gn_place_option,
                                     NULL,
                                     NULL};
    struct arguments a = {.top = PROBLEMS};
    struct gn_error err = {""};
    char folder[4096], profile[4200];
    sqlite3 *db = NULL;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    int code = gn_locate_open(&db, a.run, &a.part, folder, sizeof folder, profile, sizeof profile, &err);
    if (code == 0)
        code = explain(&a, db, profile, &err);
    gn_profile_close(db);
    if (code != 0) {
        fprintf(stderr, "gnomon explain: %s\n", err.text);
        return BAD_INPUT;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "gnomon explain: cannot write: %s\n", strerror(errno));
        return 1;
    }
    return 0;
}
