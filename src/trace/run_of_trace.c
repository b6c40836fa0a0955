#include "trace/run_of_trace.h"

#include "trace/archive.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool gn_run_of_trace(const char *path, char *profile, size_t size)
{
    struct gn_archive archive;
    if (gn_archive_find(&archive, path, NULL) != 0)
        return false;
    const char *file = strrchr(archive.anchor, '/');
    snprintf(profile, size, "%.*s/../profile.db", file ? (int)(file - archive.anchor) : 1,
             file ? archive.anchor : ".");
    return access(profile, R_OK) == 0;
}
