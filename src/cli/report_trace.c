#include "cli/report_trace.h"

#include "cli/findings.h"

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

bool gn_report_trace_of(const struct gn_trace_facts *facts, const char *profile, char *path, size_t size)
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

void gn_report_look_at_trace(struct gn_findings *findings, const struct gn_summary *summary,
                             const char *profile, struct gn_report_options *asked)
{
    char trace[4800];
    if (asked->by != GN_BY_ACTIVITY || summary->trace.apart || !summary->trace.asked ||
        !gn_report_trace_of(&summary->trace, profile, trace, sizeof trace))
        return;
    gn_findings_look(findings, trace, &asked->terminal);
    asked->findings = findings;
}
