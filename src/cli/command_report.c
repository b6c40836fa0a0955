/* gnomon report — where the time went. */
#include "cli/commands.h"
#include "cli/findings.h"
#include "cli/locate.h"
#include "cli/report.h"
#include "cli/terminal.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const gn_by_names[] = {"activity", "callpath", "region", "function", "line",
                                   "rank",     "host",     "pair",   NULL};

enum { KEY_NO_TRACE = 256 };

struct arguments {
    struct gn_report_options options;
    const char *format;
    const char *run;
    bool no_trace;
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
    case KEY_NO_TRACE:
        a->no_trace = true;
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
    {"no-trace", KEY_NO_TRACE, NULL, 0, "Without a look at the run's trace", 0},
    {"format", 'f', "FORMAT", 0, "text (default), json or csv", 0},
    {0}};

/* Other commands take the run, and not its profile.db. */
static void cut_profile(char *folder)
{
    char *slash = strrchr(folder, '/'), *name = slash ? slash + 1 : folder;
    if (strcmp(name, "profile.db") == 0)
        strcpy(name, slash ? "" : ".");
    if (slash && slash > folder && slash[1] == '\0')
        *slash = '\0';
}

/* The archive of a profile's run; false: there is none, or one per host. */
static bool trace_of(const struct gn_trace_facts *facts, const char *profile, char *path, size_t size)
{
    const char *slash = strrchr(profile, '/');
    if (facts->archives != 1)
        return false;
    if (facts->path[0] == '/' || !slash)
        snprintf(path, size, "%s", facts->path);
    else
        snprintf(path, size, "%.*s/%s", (int)(slash - profile), profile, facts->path);
    return true;
}

/* Only with the rows that say where the time went: who asks for others, or for a table, asks for no more. */
static void look_at_trace(struct gn_findings *findings, const struct gn_summary *summary, const char *profile,
                          struct gn_report_options *asked)
{
    char trace[4800];
    const struct gn_terminal terminal = gn_terminal_of(STDOUT_FILENO);
    if (asked->by != GN_BY_ACTIVITY || !trace_of(&summary->trace, profile, trace, sizeof trace))
        return;
    gn_findings_look(findings, trace, &terminal);
    asked->findings = findings;
}

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
    struct gn_findings findings = {.text = NULL};
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
    cut_profile(folder);
    a.options.folder = strncmp(folder, "./", 2) == 0 ? folder + 2 : folder;
    gn_report_terminal(&a.options, STDOUT_FILENO);
    if (!a.no_trace && strcmp(a.format, "csv") != 0)
        look_at_trace(&findings, &summary, strncmp(profile, "./", 2) == 0 ? profile + 2 : profile,
                      &a.options);
    if (strcmp(a.format, "json") == 0)
        gn_report_json(&summary, &a.options, stdout);
    else if (strcmp(a.format, "csv") == 0)
        gn_report_csv(&summary, &a.options, stdout);
    else
        gn_report_text(&summary, &a.options, stdout);
    gn_findings_clear(&findings);
    gn_summary_clear(&summary);
    gn_profile_close(db);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "gnomon report: cannot write the report: %s\n", strerror(errno));
        return 1;
    }
    return 0;
}
