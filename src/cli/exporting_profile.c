#include "cli/exporting_profile.h"

#include "answer/report_worlds.h"
#include "answer/tree_export.h"
#include "cli/locate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*write)(const struct gn_summary *summary, FILE *out);
} formats[] = {{"collapsed", gn_tree_collapsed},
               {"speedscope", gn_tree_speedscope},
               {"pprof", gn_tree_pprof},
               {"hatchet", gn_tree_hatchet}};

bool gn_export_is_of_profile(const char *format)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, format) == 0)
            return true;
    return false;
}

/* Of several worlds the largest, as in the report. */
static int choose_world(sqlite3 *db, struct gn_error *err)
{
    struct gn_worlds worlds;
    int code = gn_worlds_read(db, &worlds, err);
    if (code == 0 && worlds.count > 1) {
        const struct gn_world *world = gn_worlds_largest(&worlds);
        fprintf(stderr, "gnomon export: world %d of %zu\n", world->number, worlds.count);
        code = gn_world_select(db, world->id, err);
    }
    gn_worlds_clear(&worlds);
    return code;
}

static int write_to(const char *format, const char *path, const struct gn_summary *s, struct gn_error *err)
{
    FILE *out = path ? fopen(path, "we") : stdout;
    int code = 0;
    if (!out)
        return gn_fail(err, -errno, "cannot write %s: %s", path, strerror(errno));
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, format) == 0)
            code = formats[i].write(s, out);
    if (fflush(out) != 0 || ferror(out))
        code = gn_fail(err, -EIO, "cannot write %s: %s", path ? path : "the profile", strerror(errno));
    if (path)
        fclose(out);
    return code;
}

int gn_export_profile(const char *format, const char *path, const char *run, struct gn_error *err)
{
    char folder[4096], profile[4200];
    struct gn_summary s;
    sqlite3 *db = NULL;
    int code = gn_locate_profile(run, folder, sizeof folder, profile, sizeof profile, err);
    if (code == 0)
        code = gn_profile_open(&db, profile, err);
    if (code == 0)
        code = choose_world(db, err);
    if (code == 0)
        code = gn_summarise(db, GN_BY_TREE, false, &s, err);
    if (code == 0) {
        code = write_to(format, path, &s, err);
        gn_summary_clear(&s);
    }
    gn_profile_close(db);
    return code;
}
