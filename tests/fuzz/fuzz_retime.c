/*
 * Broken archives with other timestamps (packed_main.c): no input may crash that, or make it run for ever or
 * take much memory; an error must have a text and leave nothing; and what was written is an archive whose
 * event files have as many events as was said.
 */
#include "packed_archive.h"
#include "trace/archive.h"
#include "trace/archive_file.h"
#include "trace/copy_file.h"
#include "trace/retime.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void must(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "\n%s\n", what);
    abort();
}

/* Some stay, some are moved, some that were the same differ, and some that differed are the same. */
static uint64_t new_time(void *self, uint64_t record, uint64_t ticks)
{
    uint64_t seed = *(const uint64_t *)self;
    return record % 512 < seed % 512 ? ticks : seed & 1 ? ticks | 1023 : ticks + record % (2 + seed % 5);
}

/* An event file of the archive: is all of it there again? */
static int retime_file(struct gn_retime *r, const char *path, const char *out, uint64_t chunk, uint64_t seed,
                       struct gn_error *err)
{
    uint64_t events, id = strtoull(strrchr(path, '/') + 1, NULL, 10);
    const struct gn_retimer retimer = {.self = &seed, .time = new_time};
    int code = gn_retime_location(r, id, seed % 4 ? &retimer : NULL, &events, err);
    if (code < 0)
        return code;
    must(gn_archive_events_state(out, id) == GN_FILE_WHOLE, "an event file does not end in order");
    if (seed % 4)
        must(gn_archive_file_records(out, id, chunk) == events, "an event file has other events");
    return 0;
}

static int retime_files(struct gn_retime *r, const struct gn_archive *archive, const char *unfinished,
                        uint64_t seed, struct gn_error *err)
{
    char pattern[PATH_MAX + 8], out[PATH_MAX];
    glob_t found;
    int code = 0;
    snprintf(pattern, sizeof pattern, "%s/*.evt", archive->folder);
    snprintf(out, sizeof out, "%s%s", unfinished, strrchr(archive->folder, '/'));
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc && code == 0; i++) {
        char name[64];
        const char *path = found.gl_pathv[i];
        uint64_t id = strtoull(strrchr(path, '/') + 1, NULL, 10);
        snprintf(name, sizeof name, "/%" PRIu64 ".evt", id);
        if (strcmp(strrchr(path, '/'), name) == 0)
            code = retime_file(r, path, out, archive->content.event_chunk, seed, err);
    }
    globfree(&found);
    return code;
}

static int retime(const char *folder, const char *out, uint64_t seed, struct gn_error *err)
{
    char unfinished[128];
    struct gn_archive archive;
    struct gn_retime *r;
    const struct gn_retime_range range = {seed, seed << seed % 64};
    int code = gn_archive_find(&archive, folder, err);
    if (code == 0)
        code = gn_retime_open(&r, folder, out, true, err);
    if (code < 0)
        return code;
    snprintf(unfinished, sizeof unfinished, "%s.unfinished", out);
    code = retime_files(r, &archive, unfinished, seed, err);
    if (code == 0)
        code = gn_retime_rest(r, &range, seed & 1, err);
    if (code == 0)
        code = gn_retime_finish(r, err);
    gn_retime_close(r);
    must(access(unfinished, F_OK) != 0, "something unfinished is left");
    return code;
}

static void check(const char *folder, uint64_t seed)
{
    struct gn_error err = {0};
    char out[64];
    snprintf(out, sizeof out, "%s.out", folder);
    int code = retime(folder, out, seed, &err);
    must(code == 0 || err.text[0], "an error without a text");
    must((code == 0) == (access(out, F_OK) == 0), "an archive after an error, or none without");
    gn_remove_tree(out, NULL);
}

void packed_target(const char *folder)
{
    static const uint64_t seeds[] = {4, 5, 510};
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        check(folder, seeds[i]);
}
