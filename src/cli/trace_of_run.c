#include "cli/trace_of_run.h"

#include <stdio.h>
#include <string.h>

bool gn_trace_of_run(const struct gn_trace_facts *facts, const char *profile, char *path, size_t size)
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
