/* gnomon explain — why it took as long, in a few lines. */
#include "answer/explain_report.h"
#include "answer/report.h"
#include "cli/analysis_options.h"
#include "cli/commands.h"
#include "analyse/patterns_seen.h"
#include "cli/seen.h"
#include "cli/locate.h"
#include "cli/place.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAD_INPUT = 2, PROBLEMS = 5, KEY_LIVE = 256 };

struct arguments {
    const char *run;
    bool json, live;
    size_t top;
};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case GN_KEY_TOP:
        a->top = gn_top_option(state, value);
        break;
    case KEY_LIVE:
        a->live = true;
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
    {"live", KEY_LIVE, NULL, 0, "Of a run that goes on: what it has done until now", 0},
    {"format", 'f', "FORMAT", 0, "text (default) or json", 0},
    {0}};

/* True: *seen is to be closed, after the problems. What goes wrong is said on standard error. */
static bool explain_problems(struct gn_problems *problems, const struct gn_summary *summary,
                             const char *profile, struct gn_cli_seen *seen)
{
    struct gn_error err = {""};
    gn_problems_find(problems, summary);
    int code =
        gn_cli_can_see(summary, profile) ? gn_cli_see(seen, summary, profile, "explain", &err) : -ENOENT;
    const bool opened = code == 0;
    if (opened)
        code = gn_problems_see(problems, summary, &seen->seen, &err);
    if (code < 0 && err.text[0])
        fprintf(stderr, "gnomon explain: without its events: %s\n", err.text);
    gn_problems_rank(problems, summary);
    return opened;
}

static int explain(const struct arguments *a, sqlite3 *db, const char *profile, struct gn_error *err)
{
    struct gn_summary summary;
    struct gn_worlds worlds = {.items = NULL};
    struct gn_problems problems;
    int code = gn_worlds_read(db, &worlds, err);
    const struct gn_world *world = worlds.count > 1 ? gn_worlds_largest(&worlds) : NULL;
    if (code == 0 && world)
        code = gn_world_select(db, world->id, err);
    if (code == 0)
        code = gn_summarise(db, GN_BY_ACTIVITY, false, &summary, err);
    if (code == 0) {
        const struct gn_explain_report report = {&summary, &problems, a->top};
        const struct gn_terminal terminal = gn_terminal_of(STDOUT_FILENO);
        if (world)
            fprintf(stderr, "gnomon explain: world %d of %zu, the largest\n", world->number, worlds.count);
        struct gn_cli_seen seen;
        const bool sees = explain_problems(&problems, &summary, profile, &seen);
        if (a->json)
            gn_report_print_json(gn_explain_json(&report), stdout);
        else
            gn_explain_text(&report, &terminal, stdout);
        if (sees)
            gn_cli_seen_close(&seen);
        gn_summary_clear(&summary);
    }
    gn_worlds_clear(&worlds);
    return code;
}

int gn_command_explain(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "[RUN]",
        "Why a run took as long: who, where, how much, what to do, how sure.\v"
        "RUN is a run's folder or its profile.db; without it, the newest run folder here.",
        gn_place_option,
        NULL,
        NULL};
    struct arguments a = {.top = PROBLEMS};
    struct gn_error err = {""};
    char folder[4096], profile[4200];
    sqlite3 *db = NULL;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    int code = gn_locate_open(&db, a.run, a.live, folder, sizeof folder, profile, sizeof profile, &err);
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
