#include "cli/naps.h"

#include "event/activity.h"
#include "profile/naps.h"
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

struct found {
    const struct gn_definitions *d;
    bool *naps;
    bool any;
};

static bool polls(const struct gn_definitions *d)
{
    bool any = false;
    for (uint32_t r = 0; r < d->region_count && !any; r++)
        any = gn_activity_def(gn_region_activity(d, r))->traits & GN_TRAIT_POLLS;
    return any;
}

static int add(void *self, const char *call, const char *file, int line)
{
    struct found *f = self;
    for (uint32_t p = 0; p < f->d->path_count; p++) {
        const struct gn_path_def *path = &f->d->paths[p];
        const uint32_t at = gn_sourced_path(f->d, p);
        if (path->region >= f->d->region_count || at == GN_NONE || line <= 0 ||
            f->d->paths[at].line != (uint32_t)line ||
            strcmp(gn_string(f->d, f->d->paths[at].source_file), file) != 0 ||
            strcmp(gn_string(f->d, f->d->regions[path->region].name), call) != 0)
            continue;
        f->naps[p] = f->any = true;
    }
    return 0;
}

bool *gn_cli_naps(const char *profile, const struct gn_definitions *d)
{
    struct found f = {d, NULL, false};
    sqlite3 *db;
    if (!polls(d) || gn_profile_open(&db, profile, NULL) != 0)
        return NULL;
    f.naps = calloc(d->path_count + 1, sizeof *f.naps);
    if (f.naps)
        gn_profile_naps(db, add, &f, NULL);
    gn_profile_close(db);
    if (f.any)
        return f.naps;
    free(f.naps);
    return NULL;
}
