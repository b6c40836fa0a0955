#include "cli/after_run.h"

#include "answer/explain_report.h"
#include "answer/report.h"
#include "answer/report_worlds.h"
#include "cli/explained.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PROBLEMS = 5, QUICK = 200000 /* events, that are read in no time */ };

static void explain(const struct gn_report_options *options, const struct gn_summary *summary, int descriptor)
{
    const struct gn_explain_report report = {summary, options->problems, PROBLEMS};
    const int copy = dup(descriptor);
    FILE *out = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (!out)
        return;
    fputc('\n', out);
    gn_explain_text(&report, &options->terminal, out);
    fclose(out);
}

static void tell(struct gn_report_options *options, const struct gn_cli_run *run,
                 struct gn_cli_explained *explained, struct gn_summary *summary,
                 const struct gn_worlds *worlds, bool explains, int descriptor)
{
    if (run->profile) {
        gn_cli_explain(explained, run, summary);
        gn_cli_tell_waited(explained, summary);
    }
    options->problems = run->profile ? &explained->problems : NULL;
    gn_report_to(summary, worlds, options, descriptor);
    if (run->profile && explains)
        explain(options, summary, descriptor);
    gn_cli_explained_close(explained);
}

static void after_run(sqlite3 *profile, const char *folder, bool explains, int descriptor)
{
    static struct gn_cli_explained explained;
    struct gn_report_options options = {.by = GN_BY_ACTIVITY, .top = 10};
    struct gn_summary summary;
    struct gn_worlds worlds;
    struct gn_error err;
    char path[4200];
    const char *cwd = getcwd((char[4096]){0}, 4096);
    size_t length = cwd ? strlen(cwd) : 0;
    /* a folder below the working directory is named as a person would type it */
    options.folder = folder && cwd && strncmp(folder, cwd, length) == 0 && folder[length] == '/'
                         ? folder + length + 1
                         : folder;
    if (descriptor < 0 || gn_worlds_read(profile, &worlds, &err) != 0)
        return;
    snprintf(path, sizeof path, "%s/profile.db", folder ? folder : "");
    const bool several = worlds.count > 1;
    const struct gn_cli_run run = {.db = profile,
                                   .profile = folder ? path : NULL,
                                   .is_world = several,
                                   .trace_most = explains ? INT64_MAX : QUICK};
    if (several)
        gn_world_select(profile, gn_worlds_largest(&worlds)->id, &err);
    if (gn_cli_summarise(&explained, &run, options.by, &summary, &err) == 0) {
        if (several)
            gn_report_narrow(&summary, &worlds, gn_worlds_largest(&worlds));
        options.terminal = gn_terminal_of(descriptor);
        tell(&options, &run, &explained, &summary, &worlds, explains, descriptor);
        gn_summary_clear(&summary);
    }
    if (several)
        gn_world_select(profile, 0, &err);
    gn_worlds_clear(&worlds);
}

void gn_report_after_run(sqlite3 *profile, const char *folder, int descriptor)
{
    after_run(profile, folder, false, descriptor);
}

void gn_explain_after_run(sqlite3 *profile, const char *folder, int descriptor)
{
    after_run(profile, folder, true, descriptor);
}
