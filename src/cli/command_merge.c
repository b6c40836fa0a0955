/* gnomon merge — joins the parts of hosts that do not share a file system. */
#include "cli/commands.h"
#include "agent/abandoned.h"
#include "agent/trace_complete.h"
#include "profile/clock.h"
#include "profile/profile.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
        if (a->output ? a->count == 0 : a->count != 1)
            argp_error(state, "an output (-o) and at least one part are expected, or the folder of one run");
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

static int merge(const struct arguments *a, sqlite3 *db, bool *all, struct gn_error *err)
{
    struct gn_graph *graph = gn_graph_new();
    int joined = 0, code = graph ? 0 : gn_fail(err, -ENOMEM, "no memory for a profile");
    for (int i = 0; i < a->count && graph; i++) {
        code = gn_profile_join_or_note(db, graph, a->parts[i], err);
        joined += code == 0;
        if (code != 0)
            fprintf(stderr, "gnomon merge: left out: %s\n", err->text);
    }
    *all = joined == a->count;
    code = joined ? 0 : code;
    if (code == 0)
        code = gn_profile_write(db, graph, err);
    gn_graph_free(graph);
    return code;
}

static int finish_run(const char *run)
{
    struct gn_error err;
    int code = gn_abandoned_finish(run, &err);
    if (code < 0) {
        fprintf(stderr, "gnomon merge: %s\n", err.text);
        return 2;
    }
    fprintf(stderr,
            code ? "gnomon merge: %s was finished, with what had been saved\n"
                 : "gnomon merge: there is nothing to finish in %s\n",
            run);
    if (code == 2)
        fprintf(stderr, "gnomon merge: not all of its parts could be joined: gnomon report %s says why\n",
                run);
    return code == 2;
}

int gn_command_merge(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "-o PROFILE PART...\nRUN",
        "Joins profiles of one run (profile.db or parts/*.db of each host) into one.\v"
        "With a run's folder alone: finishes it where gnomon was ended with the run. Exit status 1: "
        "parts that cannot be read, or contradict themselves, were left out.",
        NULL,
        NULL,
        NULL};
    struct arguments a = {.output = NULL};
    struct gn_error err;
    sqlite3 *db;
    bool all = true;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    umask(077); /* as in a run: what was measured is nobody else's */
    if (!a.output)
        return finish_run(a.parts[0]);
    int code = gn_profile_create(&db, ":memory:", &err);
    if (code == 0)
        code = merge(&a, db, &all, &err);
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
    return code != 0 ? 2 : !all;
}
