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

void gn_report_look(struct gn_report_looked *looked, const struct gn_summary *summary, const char *profile,
                    bool with_trace, struct gn_report_options *asked)
{
    looked->findings = (struct gn_findings){.text = NULL};
    looked->explained.is_open = false;
    if (asked->by != GN_BY_ACTIVITY)
        return;
    gn_cli_explain(&looked->explained, summary, profile, with_trace, NULL);
    asked->problems = &looked->explained.problems;
    if (with_trace)
        look_at_trace(&looked->findings, summary, profile, asked);
}

void gn_report_looked_clear(struct gn_report_looked *looked)
{
    gn_findings_clear(&looked->findings);
    gn_cli_explained_close(&looked->explained);
}
