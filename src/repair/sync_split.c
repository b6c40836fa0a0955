#include "repair/sync_split.h"

#include "base/map.h"
#include "trace/archive.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- files and definitions ---- */

static size_t measure(struct gn_sync_split *s, const struct gn_archive *archive,
                      const struct gn_definitions *d, uint64_t *missing)
{
    char path[PATH_MAX + 32];
    struct stat status;
    size_t count = 0;
    for (size_t i = 0; i < d->location_count; i++) {
        const struct gn_location_def *l = &d->locations[i];
        snprintf(path, sizeof path, "%s/%" PRIu64 ".evt", archive->folder, l->file_id);
        s->bytes[i] = stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
        if (s->bytes[i] == 0 && l->events > 0 && l->events != UINT64_MAX && count++ == 0)
            *missing = l->file_id;
    }
    return count;
}

/* The number of a location's event file; false: the name is of something else. */
static bool number_of(const char *name, uint64_t *number)
{
    char *end;
    if (*name < '0' || *name > '9')
        return false;
    errno = 0;
    *number = strtoull(name, &end, 10);
    return errno == 0 && strcmp(end, ".evt") == 0;
}

/* How many event files are of no location; *one: one of them. -ENOMEM: no memory. */
static int64_t count_strangers(const struct gn_archive *archive, const struct gn_definitions *d,
                               uint64_t *one)
{
    struct gn_map known = {0};
    int64_t count = 0;
    uint64_t number;
    for (size_t i = 0; i < d->location_count && count == 0; i++) {
        const struct gn_key key = {d->locations[i].file_id, 0};
        if (!gn_map_find(&known, key) && !gn_map_add(&known, key, &known))
            count = -ENOMEM;
    }
    DIR *folder = count == 0 ? opendir(archive->folder) : NULL;
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        if (number_of(entry->d_name, &number) && !gn_map_find(&known, (struct gn_key){number, 0}))
            *one = count++ ? *one : number;
    if (folder)
        closedir(folder);
    gn_map_clear(&known);
    return count;
}

static int look_at_files(struct gn_sync_split *s, const char *path, const struct gn_definitions *d,
                         bool keeps_going, struct gn_error *err)
{
    struct gn_archive archive;
    uint64_t missing = 0, stranger = 0;
    int code = gn_archive_find(&archive, path, err);
    if (code < 0)
        return code;
    const size_t lacking = measure(s, &archive, d, &missing);
    const int64_t strangers = count_strangers(&archive, d, &stranger);
    if (strangers < 0)
        return gn_fail(err, -ENOMEM, "no memory for the locations of the trace");
    if (lacking && !keeps_going)
        return gn_fail(err, -ENOENT,
                       "%zu of the %zu locations of %s should have events and have no event file, such as "
                       "%s/%" PRIu64 ".evt; --keep-going repairs what there is",
                       lacking, d->location_count, archive.anchor, archive.folder, missing);
    if (strangers && !keeps_going)
        return gn_fail(err, -EINVAL,
                       "%s has event files of %" PRId64 " locations that are not defined in %s, such as "
                       "%" PRIu64 ".evt; --keep-going leaves their times as they are",
                       archive.folder, strangers, archive.anchor, stranger);
    return 0;
}

/* ---- who has what ---- */

static void give_out(struct gn_sync_split *s, const struct gn_definitions *d, uint32_t ranks,
                     uint64_t *weights)
{
    double all = 0, before = 0;
    for (size_t i = 0; i < d->location_count; i++)
        weights[d->locations[i].process] += s->bytes[i] + 1;
    for (size_t i = 0; i < d->process_count; i++)
        all += (double)weights[i];
    for (size_t i = 0; i < d->process_count; i++) {
        const double middle = before + (double)weights[i] / 2;
        const uint32_t rank = all > 0 ? (uint32_t)(middle / all * ranks) : 0;
        s->owner[i] = rank < ranks ? rank : ranks - 1;
        before += (double)weights[i];
    }
}

int gn_sync_split(struct gn_sync_split *split, const char *path, const struct gn_definitions *definitions,
                  uint32_t ranks, bool keeps_going, struct gn_error *err)
{
    uint64_t *weights = calloc(definitions->process_count + 1, sizeof *weights);
    *split = (struct gn_sync_split){.bytes = calloc(definitions->location_count + 1, sizeof *split->bytes),
                                    .owner = calloc(definitions->process_count + 1, sizeof *split->owner)};
    int code = weights && split->bytes && split->owner
                   ? look_at_files(split, path, definitions, keeps_going, err)
                   : gn_fail(err, -ENOMEM, "no memory for the processes of the trace");
    if (code == 0)
        give_out(split, definitions, ranks, weights);
    else
        gn_sync_split_clear(split);
    free(weights);
    return code;
}

void gn_sync_split_clear(struct gn_sync_split *split)
{
    free(split->bytes);
    free(split->owner);
    *split = (struct gn_sync_split){.bytes = NULL};
}
