#include "live/trace_complete.h"

#include "live/part_file.h"
#include "live/trace_join.h"
#include "live/trace_paths.h"
#include "trace/writer.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int recover(const struct gn_part *part, const char *path, struct gn_error *err)
{
    const struct gn_definitions *d = part->translate->definitions;
    struct gn_trace_local local = {.paths = {part->paths, part->translate->node_count}};
    const struct gn_trace_local **locals = calloc(d->location_count + 1, sizeof *locals);
    if (!locals)
        return gn_fail(err, -ENOMEM, "no memory to complete %s", path);
    for (size_t i = 0; i < d->location_count; i++)
        locals[i] = &local;
    int code = gn_trace_recover_mapped(path, d, locals, err);
    free(locals);
    return code;
}

/* Of several hosts the file is needed once more, to join them. */
static int complete(const char *path, bool several_hosts, sqlite3 *profile, struct gn_error *err)
{
    struct gn_part part;
    char file[4800];
    int code = gn_part_load(&part, path, err);
    if (code != 0)
        return code;
    if (!part.paths)
        code = gn_trace_paths(part.translate, profile, &part.paths, err);
    if (code == 0)
        code = recover(&part, path, err);
    snprintf(file, sizeof file, "%s/" GN_PART_FILE, path);
    if (code == 0 && several_hosts)
        code = gn_part_save(&part, path, err);
    else if (code == 0)
        unlink(file);
    gn_part_clear(&part);
    return code;
}

static bool is_unfinished(const char *path)
{
    char file[4800];
    snprintf(file, sizeof file, "%s/" GN_PART_FILE, path);
    if (access(file, F_OK) != 0)
        return false;
    snprintf(file, sizeof file, "%s/traces.otf2", path);
    return access(file, F_OK) != 0;
}

int gn_trace_complete(const char *folder, sqlite3 *profile, struct gn_error *err)
{
    int count = 0, code = 0;
    DIR *run = opendir(folder);
    for (struct dirent *entry; run && code == 0 && (entry = readdir(run));) {
        char path[4700];
        bool several_hosts = strncmp(entry->d_name, "trace-", 6) == 0;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if ((!several_hosts && strcmp(entry->d_name, "trace") != 0) || !is_unfinished(path))
            continue;
        code = complete(path, several_hosts, profile, err);
        count += code == 0;
    }
    if (run)
        closedir(run);
    int joined = code == 0 && count > 0 ? gn_trace_join(folder, profile, err) : code;
    return joined < 0 ? joined : count;
}
