/* gnomon report — where the time went. */
#include "cli/commands.h"
#include "cli/locate.h"
#include "cli/report.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const gn_by_names[] = {"activity", "callpath", "region", "function", "line",
                                   "rank",     "host",     "pair",   NULL};

struct arguments {
    struct gn_report_options options;
    const char *format;
    const char *run;
};

static enum gn_by parse_by(const char *name, struct argp_state *state)
{
    for (int i = 0; gn_by_names[i]; i++)
        if (strcmp(name, gn_by_names[i]) == 0)
            return (enum gn_by)i;
    argp_error(state,
               "--by %s: one of activity, callpath, region, function, line, rank, host, pair is expected",
               name);
    return GN_BY_ACTIVITY;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *a = state->input;
    char *end;
    switch (key) {
    case 'b':
        a->options.by = parse_by(value, state);
        break;
    case 't':
        a->options.top = (int)strtol(value, &end, 10);
        if (*end || end == value || a->options.top < 0)
            argp_error(state, "--top %s: a number of rows is expected (0: all)", value);
        break;
    case 'r':
        a->options.raw = true;
        break;
    case 'f':
        if (strcmp(value, "text") && strcmp(value, "json") && strcmp(value, "csv"))
            argp_error(state, "--format %s: one of text, json, csv is expected", value);
        a->format = value;
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
    {"by", 'b', "WHAT", 0, "Rows by activity (default), callpath, region, function, line, rank, host or pair",
     0},
    {"top", 't', "N", 0, "Show N rows; 0 shows all (default: 10 as text, all otherwise)", 0},
    {"raw", 'r', NULL, 0, "Times as they were, gnomon's own cost not subtracted", 0},
    {"format", 'f', "FORMAT", 0, "text (default), json or csv", 0},
    {0}};

int gn_command_report(int argc, char **argv)
{
    static const struct argp argp = {options,
                                     parse,
                                     "[RUN]",
                                     "Where the time of a measured run went.\vRUN is a run's folder or its "
                                     "profile.db; without it, the newest run "
                                     "folder here.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct arguments a = {.options = {.by = GN_BY_ACTIVITY, .top = -1}, .format = "text"};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    char folder[4096], profile[4200];
    struct gn_error err;
    struct gn_summary summary;
    sqlite3 *db = NULL;
    if (a.options.top < 0)
        a.options.top = strcmp(a.format, "text") == 0 ? 10 : 0;
    if (gn_locate_profile(a.run, folder, sizeof folder, profile, sizeof profile, &err) != 0 ||
        gn_profile_open(&db, profile, &err) != 0 ||
        gn_summarise(db, a.options.by, a.options.raw, &summary, &err) != 0) {
        fprintf(stderr, "gnomon report: %s\n", err.text);
        gn_profile_close(db);
        return 2;
    }
    a.options.folder = strncmp(folder, "./", 2) == 0 ? folder + 2 : folder;
    gn_report_terminal(&a.options, STDOUT_FILENO);
    if (strcmp(a.format, "json") == 0)
        gn_report_json(&summary, &a.options, stdout);
    else if (strcmp(a.format, "csv") == 0)
        gn_report_csv(&summary, &a.options, stdout);
    else
        gn_report_text(&summary, &a.options, stdout);
    gn_summary_clear(&summary);
    gn_profile_close(db);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "gnomon report: cannot write the report: %s\n", strerror(errno));
        return 1;
    }
    return 0;
}
