/* gnomon report — where the time went. */
#include "cli/commands.h"
#include "cli/report.h"
#include "live/folder.h"

#include <argp.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* An agent that has seen the last process end needs a moment to write the profile: a launcher that was
 * killed, or that killed its ranks, does not wait for it. */
static void wait_for_agent(const char *run, const char *profile)
{
    char pattern[4200], line[64];
    for (int tenths = 0; tenths < 300 && access(profile, F_OK) != 0; tenths++) {
        glob_t marks;
        bool finishing = false;
        snprintf(pattern, sizeof pattern, "%s/parts/*.open", run);
        if (glob(pattern, 0, NULL, &marks) != 0)
            return;
        for (size_t i = 0; i < marks.gl_pathc; i++) {
            FILE *mark = fopen(marks.gl_pathv[i], "re");
            finishing = finishing ||
                        (mark && fgets(line, sizeof line, mark) && strcmp(line, "state finishing\n") == 0);
            if (mark)
                fclose(mark);
        }
        globfree(&marks);
        if (!finishing)
            return;
        usleep(100000);
    }
}

/* A folder, or the profile itself. */
static int locate(const char *run, char *folder, size_t folder_size, char *profile, size_t profile_size,
                  struct gn_error *err)
{
    struct stat info;
    if (!run) {
        int code = gn_folder_newest(".", folder, folder_size, err);
        if (code != 0)
            return code;
        run = folder;
    } else {
        snprintf(folder, folder_size, "%s", run);
    }
    if (stat(run, &info) != 0)
        return gn_fail(err, -errno, "cannot read the run %s: %s", run, strerror(errno));
    snprintf(profile, profile_size, S_ISDIR(info.st_mode) ? "%s/profile.db" : "%s", run);
    char parts[4200];
    snprintf(parts, sizeof parts, "%s/parts", run);
    wait_for_agent(run, profile);
    if (access(profile, F_OK) != 0 && access(parts, F_OK) == 0)
        return gn_fail(err, -ENOENT,
                       "the run %s has no profile.db: it is still running, or its agent was killed; what was "
                       "saved on the "
                       "way can be joined with `gnomon merge -o %s/profile.db %s/parts/*.db`",
                       run, run, run);
    return 0;
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
    sqlite3 *db = NULL;
    if (a.options.top < 0)
        a.options.top = strcmp(a.format, "text") == 0 ? 10 : 0;
    if (locate(a.run, folder, sizeof folder, profile, sizeof profile, &err) != 0 ||
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
