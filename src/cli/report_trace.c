#include "cli/report_trace.h"

#include "cli/findings.h"
#include "cli/trace_of_run.h"

#include <stdio.h>
#include <string.h>

void gn_report_cut_profile(char *folder)
{
    char *slash = strrchr(folder, '/'), *name = slash ? slash + 1 : folder;
    if (strcmp(name, "profile.db") == 0)
        strcpy(name, slash ? "" : ".");
    if (slash && slash > folder && slash[1] == '\0')
        *slash = '\0';
}

static void look_at_trace(struct gn_findings *findings, const struct gn_summary *summary, const char *profile,
                          struct gn_report_options *asked)
{
    char trace[4800];
    if (summary->trace.apart || !summary->trace.asked ||
        !gn_trace_of_run(&summary->trace, profile, trace, sizeof trace))
        return;
    gn_findings_look(findings, trace, &asked->terminal);
    asked->findings = findings;
}

struct gn_cli_run gn_report_run(const struct gn_report_asked *asked, sqlite3 *db, const char *profile,
                                bool is_world)
{
    return (struct gn_cli_run){.db = db,
                               .profile = profile,
                               .is_world = is_world,
                               .trace_most = asked->no_trace ? -1 : INT64_MAX,
                               .raw = asked->options.raw};
}

void gn_report_look(struct gn_report_looked *looked, const struct gn_cli_run *run, struct gn_summary *summary,
                    struct gn_report_options *asked)
{
    if (asked->by != GN_BY_ACTIVITY)
        return;
    gn_cli_explain(&looked->explained, run, summary);
    gn_cli_tell_waited(&looked->explained, summary);
    asked->problems = &looked->explained.problems;
    if (summary->trace.events <= run->trace_most && !summary->period.is_set)
        look_at_trace(&looked->findings, summary, run->profile, asked);
}

void gn_report_looked_clear(struct gn_report_looked *looked)
{
    gn_findings_clear(&looked->findings);
    gn_cli_explained_close(&looked->explained);
}
