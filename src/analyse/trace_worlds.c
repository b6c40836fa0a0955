#include "analyse/trace_worlds.h"

#include "trace/run_of_trace.h"
#include "profile/profile.h"
#include "profile/world.h"

#include <limits.h>
#include <stdio.h>

static bool read_worlds(const char *path, struct gn_worlds *worlds)
{
    sqlite3 *db;
    char profile[PATH_MAX + 24];
    if (!gn_run_of_trace(path, profile, sizeof profile) || gn_profile_open(&db, profile, NULL) != 0)
        return false;
    const bool read = gn_worlds_read(db, worlds, NULL) == 0;
    gn_profile_close(db);
    return read;
}

static size_t count_traced(const struct gn_worlds *worlds, int *last)
{
    size_t traced = 0;
    for (size_t i = 0; i < worlds->count; i++)
        if (worlds->items[i].traced) {
            *last = worlds->items[i].number;
            traced++;
        }
    return traced;
}

size_t gn_trace_worlds(const char *path)
{
    struct gn_worlds worlds;
    int last;
    if (!read_worlds(path, &worlds))
        return 0;
    const size_t traced = count_traced(&worlds, &last);
    gn_worlds_clear(&worlds);
    return traced;
}

bool gn_trace_is_partial(const char *path)
{
    struct gn_worlds worlds;
    bool is_partial = false;
    if (!read_worlds(path, &worlds))
        return false;
    for (size_t i = 0; i < worlds.count; i++)
        is_partial |= worlds.items[i].traced && !worlds.items[i].complete;
    gn_worlds_clear(&worlds);
    return is_partial;
}

void gn_trace_worlds_tell(const char *path, const char *command)
{
    struct gn_worlds worlds;
    int last = 0;
    if (!read_worlds(path, &worlds))
        return;
    const size_t traced = count_traced(&worlds, &last);
    if (worlds.count > 1 && traced == 1)
        fprintf(stderr, "gnomon %s: of the run's %zu worlds the trace is of world %d\n", command,
                worlds.count, last);
    else if (traced > 1)
        fprintf(stderr,
                "gnomon %s: the trace has %zu separate worlds of MPI processes, which have nothing to do "
                "with each "
                "other\n",
                command, traced);
    gn_worlds_clear(&worlds);
}
