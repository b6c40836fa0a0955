#include "agent/parts.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

bool gn_part_has_ending(const char *name, const char *ending)
{
    size_t length = strlen(name), most = strlen(ending);
    return length > most && strcmp(name + length - most, ending) == 0;
}

/* How many could be joined; when none could, why the last of them could not. */
static int join_parts(const char *parts, sqlite3 *db, struct gn_graph *graph, bool *all, struct gn_error *err)
{
    int count = 0, code = 0;
    DIR *folder = opendir(parts);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[4600];
        snprintf(path, sizeof path, "%s/%s", parts, entry->d_name);
        if (!gn_part_has_ending(entry->d_name, ".db"))
            continue;
        const int joined = gn_profile_join_or_note(db, graph, path, err);
        count += joined == 0;
        code = joined ? joined : code;
    }
    if (folder)
        closedir(folder);
    *all = code == 0;
    return count == 0 ? code : count;
}

int gn_parts_merge(const char *parts, sqlite3 *db, bool *all, struct gn_error *err)
{
    struct gn_graph *graph = gn_graph_new();
    const int count =
        graph ? join_parts(parts, db, graph, all, err) : gn_fail(err, -ENOMEM, "no memory for a profile");
    const int code = count < 0 ? count : gn_profile_write(db, graph, err);
    gn_graph_free(graph);
    return code < 0 ? code : count;
}
