/* gnomon merge — joins the parts of hosts that do not share a file system. */
#include "cli/commands.h"
#include "live/trace_complete.h"
#include "profile/clock.h"
#include "profile/profile.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>

struct arguments {
    const char *output;
    char **parts;
    int count;
};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 'o':
        a->output = value;
        break;
    case ARGP_KEY_ARGS:
        a->parts = state->argv + state->next;
        a->count = state->argc - state->next;
        break;
    case ARGP_KEY_END:
        if (!a->output || a->count == 0)
            argp_error(state, "an output (-o) and at least one part are expected");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp_option options[] = {{"output", 'o', "PROFILE", 0, "The profile to write", 0}, {0}};

/* The run's folder is where its profile is. */
static int complete_traces(const char *output, sqlite3 *db, struct gn_error *err)
{
    char folder[4096];
    const char *slash = strrchr(output, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - output) : 1, slash ? output : ".");
    int count = gn_trace_complete(folder, db, err);
    if (count > 0)
        fprintf(stderr, "gnomon merge: the trace in %s was completed\n", folder);
    return count < 0 ? count : 0;
}

int gn_command_merge(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "-o PROFILE PART...",
        "Joins profiles of one run (profile.db or parts/*.db of each host) into one.",
        NULL,
        NULL,
        NULL};
    struct arguments a = {.output = NULL};
    struct gn_error err;
    sqlite3 *db;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    int code = gn_profile_create(&db, ":memory:", &err);
    for (int i = 0; i < a.count && code == 0; i++)
        code = gn_profile_merge(db, a.parts[i], &err);
    if (code == 0) /* parts of a run that was never finished have no source places yet */
        code = gn_profile_resolve(db, NULL, NULL, &err);
    struct gn_assumption assumption = gn_assumption_default();
    if (code == 0)
        code = gn_profile_solve_clocks(db, &assumption, &err);
    if (code == 0)
        code = gn_profile_save(db, a.output, &err);
    if (code == 0)
        code = complete_traces(a.output, db, &err);
    if (code != 0)
        fprintf(stderr, "gnomon merge: %s\n", err.text);
    gn_profile_close(db);
    return code == 0 ? 0 : 2;
}
