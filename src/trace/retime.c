#include "trace/retime.h"

#include "trace/archive.h"
#include "trace/copy_file.h"
#include "trace/file_record.h"
#include "trace/retime_events.h"
#include "trace/retime_place.h"
#include "trace/retime_records.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNFINISHED ".unfinished"

struct gn_retime {
    struct gn_archive archive;
    char *out;        /* the new archive's folder */
    char *unfinished; /* its name until it is finished */
    const char *name; /* of the archive, without .otf2: in archive.folder */
    int mark;         /* the maker's lock; -1: not the maker, or finished */
};

static int no_memory(const struct gn_retime *r, struct gn_error *err)
{
    return gn_fail(err, -ENOMEM, "no memory to write the trace %s again", r->archive.anchor);
}

/* A path to be freed; NULL: no memory. */
__attribute__((format(printf, 1, 2))) static char *path_of(const char *format, ...)
{
    char *path;
    va_list list;
    va_start(list, format);
    int size = vasprintf(&path, format, list);
    va_end(list);
    return size < 0 ? NULL : path;
}

/* ---- what ---- */

static bool is_chunk_size(uint64_t size)
{
    return size >= GN_CHUNK_LEAST && size <= GN_CHUNK_MOST;
}

static int check_archive(const struct gn_retime *r, struct gn_error *err)
{
    const struct gn_anchor *a = &r->archive.content;
    if (!a->has_plain_files)
        return gn_fail(err, -ENOTSUP,
                       "the trace %s is compressed or in a SION container: its timestamps cannot be changed; "
                       "convert it to plain files first",
                       r->archive.anchor);
    if (is_chunk_size(a->event_chunk) && is_chunk_size(a->definition_chunk))
        return 0;
    return gn_fail(err, -EINVAL,
                   "the OTF2 anchor file %s is broken: chunks of %" PRIu64 " and %" PRIu64
                   " bytes; copy it again from where it was written",
                   r->archive.anchor, a->event_chunk, a->definition_chunk);
}

/* ---- the unfinished folder ---- */

static char *mark_in(const char *folder)
{
    return path_of("%s/" GN_RETIME_MARK, folder);
}

/* What somebody who was killed has left is removed; what is not known to be that stays, and is an error. */
static int remove_stale(const struct gn_retime *r, struct gn_error *err)
{
    char *mark = mark_in(r->unfinished);
    if (!mark)
        return no_memory(r, err);
    int fd = open(mark, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    free(mark);
    if (fd < 0 && rmdir(r->unfinished) == 0) /* killed before the mark was set: nothing was in it */
        return 0;
    if (fd < 0)
        return gn_fail(err, -EEXIST,
                       "%s exists, and it is not known to be what an unfinished run left: move or remove it",
                       r->unfinished);
    int code = 0;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        code = gn_remove_tree(r->unfinished, err);
    else if (errno == EWOULDBLOCK)
        code = gn_fail(err, -EBUSY, "%s is being written by another process", r->unfinished);
    else
        code = gn_fail(err, -errno,
                       "%s exists, and whether it is still being written cannot be told (%s): remove it if "
                       "it is not",
                       r->unfinished, strerror(errno));
    close(fd);
    return code;
}

static int set_mark(struct gn_retime *r, struct gn_error *err)
{
    char *mark = mark_in(r->unfinished);
    if (!mark)
        return no_memory(r, err);
    int fd = gn_open_output(mark, err);
    free(mark);
    if (fd < 0)
        return fd;
    r->mark = fd;
    flock(fd, LOCK_EX | LOCK_NB); /* a file system without locks: a stale one is then removed by hand */
    return 0;
}

static int make_folder(const char *path, struct gn_error *err)
{
    if (mkdir(path, 0777) == 0)
        return 0;
    return gn_fail(err, -errno, "cannot create the folder %s: %s", path, strerror(errno));
}

static int make_unfinished(struct gn_retime *r, struct gn_error *err)
{
    struct stat is;
    int code = lstat(r->unfinished, &is) == 0 ? remove_stale(r, err) : 0;
    if (code == 0)
        code = make_folder(r->unfinished, err);
    if (code < 0)
        return code;
    char *events = path_of("%s/%s", r->unfinished, r->name);
    code = set_mark(r, err);
    if (code == 0)
        code = events ? make_folder(events, err) : no_memory(r, err);
    free(events);
    if (code < 0)
        gn_remove_tree(r->unfinished, NULL);
    return code;
}

static int find_unfinished(const struct gn_retime *r, struct gn_error *err)
{
    char *mark = mark_in(r->unfinished);
    int code = !mark ? no_memory(r, err)
               : access(mark, F_OK) == 0
                   ? 0
                   : gn_fail(err, -errno, "%s, where the new trace is made, is not there: %s", r->unfinished,
                             strerror(errno));
    free(mark);
    return code;
}

/* ---- open ---- */

static char *without_slashes(const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return strndup(path, length);
}

/* What there is, and where that will be. */
static int find(struct gn_retime *r, const char *path, const char *out, struct gn_error *err)
{
    int code = gn_archive_find(&r->archive, path, err);
    if (code < 0)
        return code;
    const char *slash = strrchr(r->archive.folder, '/');
    r->name = slash ? slash + 1 : r->archive.folder;
    r->out = without_slashes(out);
    r->unfinished = r->out ? path_of("%s" UNFINISHED, r->out) : NULL;
    return r->unfinished ? check_archive(r, err) : no_memory(r, err);
}

static int prepare(struct gn_retime *r, const char *path, const char *out, bool maker, struct gn_error *err)
{
    int code = find(r, path, out, err);
    if (code < 0)
        return code;
    if (!maker)
        return find_unfinished(r, err);
    code = gn_retime_place(&r->archive, r->out, r->unfinished, err);
    return code < 0 ? code : make_unfinished(r, err);
}

int gn_retime_check(const char *path, const char *out, struct gn_error *err)
{
    struct gn_retime *r = calloc(1, sizeof *r);
    if (!r)
        return gn_fail(err, -ENOMEM, "no memory to write the trace %s again", path);
    r->mark = -1;
    int code = find(r, path, out, err);
    if (code == 0)
        code = gn_retime_place(&r->archive, r->out, r->unfinished, err);
    gn_retime_close(r);
    return code;
}

int gn_retime_open(struct gn_retime **retime, const char *path, const char *out, bool maker,
                   struct gn_error *err)
{
    *retime = NULL;
    struct gn_retime *r = calloc(1, sizeof *r);
    if (!r)
        return gn_fail(err, -ENOMEM, "no memory to write the trace %s again", path);
    r->mark = -1;
    int code = prepare(r, path, out, maker, err);
    if (code < 0 && r->mark >= 0) { /* what there was is removed already */
        close(r->mark);
        r->mark = -1;
    }
    if (code < 0)
        gn_retime_close(r);
    else
        *retime = r;
    return code;
}

/* ---- files ---- */

/* Where a file is and where it will be; both are freed. */
struct pair {
    char *from, *to;
};

static void free_pair(struct pair *pair)
{
    free(pair->from);
    free(pair->to);
}

/* Of a file in the folder of the locations' files. */
static int pair_in_folder(struct pair *pair, const struct gn_retime *r, const char *name,
                          struct gn_error *err)
{
    pair->from = path_of("%s/%s", r->archive.folder, name);
    pair->to = path_of("%s/%s/%s", r->unfinished, r->name, name);
    if (pair->from && pair->to)
        return 0;
    free_pair(pair);
    return no_memory(r, err);
}

/* Of a file beside the anchor: the archive's name with an ending. */
static int pair_beside(struct pair *pair, const struct gn_retime *r, const char *ending, struct gn_error *err)
{
    pair->from = path_of("%s%s", r->archive.folder, ending);
    pair->to = path_of("%s/%s%s", r->unfinished, r->name, ending);
    if (pair->from && pair->to)
        return 0;
    free_pair(pair);
    return no_memory(r, err);
}

int gn_retime_location(struct gn_retime *retime, uint64_t file_id, const struct gn_retimer *retimer,
                       uint64_t *events, struct gn_error *err)
{
    char name[32];
    struct pair pair;
    *events = 0;
    snprintf(name, sizeof name, "%" PRIu64 ".evt", file_id);
    int code = pair_in_folder(&pair, retime, name, err);
    if (code < 0)
        return code;
    if (access(pair.from, F_OK) == 0 || errno != ENOENT)
        code =
            gn_retime_events(pair.from, pair.to, retime->archive.content.event_chunk, retimer, events, err);
    free_pair(&pair);
    return code;
}

/* Whether a name is that of a location's file: a number, and the ending. */
static bool is_of_location(const char *name, const char *ending)
{
    size_t digits = strspn(name, "0123456789");
    return digits > 0 && strcmp(name + digits, ending) == 0;
}

/* ---- everything but event files ---- */

struct rest {
    struct gn_retime *retime;
    struct gn_retime_range range;
    bool drop_offsets;
    struct gn_error *err;
};

static int copy_any(const struct pair *pair, struct gn_error *err)
{
    struct stat is;
    if (lstat(pair->from, &is) == 0 && S_ISDIR(is.st_mode))
        return gn_copy_tree(pair->from, pair->to, err);
    if (stat(pair->from, &is) != 0 && errno == ENOENT) /* a link to nothing */
        return 0;
    return gn_copy_file(pair->from, pair->to, err);
}

/* An entry of the folder of the locations' files. */
static int pass_entry(const struct rest *rest, const char *name)
{
    struct pair pair;
    if (is_of_location(name, ".evt") || is_of_location(name, ".snap"))
        return 0;
    int code = pair_in_folder(&pair, rest->retime, name, rest->err);
    if (code < 0)
        return code;
    if (rest->drop_offsets && is_of_location(name, ".def"))
        code = gn_retime_without_offsets(pair.from, pair.to, rest->retime->archive.content.definition_chunk,
                                         rest->err);
    else
        code = copy_any(&pair, rest->err);
    free_pair(&pair);
    return code;
}

/* Calls `pass` for each name in a folder, until one returns an error. */
static int for_entries(const char *path, int (*pass)(const struct rest *, const char *),
                       const struct rest *rest)
{
    int code = 0;
    const struct dirent *entry;
    DIR *folder = opendir(path);
    if (!folder)
        return errno == ENOENT
                   ? 0
                   : gn_fail(rest->err, -errno, "cannot read the folder %s: %s", path, strerror(errno));
    while (code == 0 && (errno = 0, entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            code = pass(rest, entry->d_name);
    if (code == 0 && errno != 0)
        code = gn_fail(rest->err, -errno, "cannot read the folder %s: %s", path, strerror(errno));
    closedir(folder);
    return code;
}

static int write_definitions(const struct rest *rest)
{
    struct pair pair;
    const struct gn_retime *r = rest->retime;
    int code = pair_beside(&pair, r, ".def", rest->err);
    if (code < 0)
        return code;
    code = gn_retime_definitions(pair.from, pair.to, r->archive.content.definition_chunk, &rest->range,
                                 rest->err);
    free_pair(&pair);
    return code;
}

static int write_markers(const struct rest *rest)
{
    struct pair pair;
    const struct gn_retime *r = rest->retime;
    int code = pair_beside(&pair, r, ".marker", rest->err);
    if (code < 0)
        return code;
    if (access(pair.from, F_OK) == 0)
        code = gn_retime_markers(pair.from, pair.to, r->archive.content.definition_chunk, &rest->range,
                                 rest->err);
    free_pair(&pair);
    return code;
}

/* An entry of the folder of the anchor: NAME.3.thumb is the archive's. */
static int pass_thumbnail(const struct rest *rest, const char *name)
{
    const struct gn_retime *r = rest->retime;
    size_t length = strlen(r->name);
    struct pair pair;
    if (strncmp(name, r->name, length) != 0 || name[length] != '.' ||
        !is_of_location(name + length + 1, ".thumb"))
        return 0;
    int code = pair_beside(&pair, r, name + length, rest->err);
    if (code < 0)
        return code;
    code = gn_copy_file(pair.from, pair.to, rest->err);
    free_pair(&pair);
    return code;
}

static int copy_thumbnails(const struct rest *rest)
{
    char *folder = gn_retime_folder_of(rest->retime->archive.anchor);
    int code = folder ? for_entries(folder, pass_thumbnail, rest) : no_memory(rest->retime, rest->err);
    free(folder);
    return code;
}

static int edit_anchor(const struct rest *rest, int from, const char *to)
{
    const struct gn_retime *r = rest->retime;
    uint8_t *bytes = malloc(GN_ANCHOR_MOST);
    ssize_t size = bytes ? read(from, bytes, GN_ANCHOR_MOST) : -1;
    int fd = -1, code = 0;
    if (!bytes)
        code = no_memory(r, rest->err);
    else if (size < 0 || size == GN_ANCHOR_MOST)
        code = gn_fail(rest->err, size < 0 ? -errno : -EFBIG, "cannot read all of %s", r->archive.anchor);
    else
        code = fd = gn_open_output(to, rest->err);
    if (code >= 0) {
        size_t left = gn_anchor_edit(bytes, (size_t)size, rest->drop_offsets);
        code = gn_close_output(fd, to, gn_write_all(fd, to, bytes, left, rest->err), rest->err);
    }
    free(bytes);
    return code;
}

static int write_anchor(const struct rest *rest)
{
    const struct gn_retime *r = rest->retime;
    const char *slash = strrchr(r->archive.anchor, '/');
    char *to = path_of("%s/%s", r->unfinished, slash ? slash + 1 : r->archive.anchor);
    int from = to ? gn_open_input(r->archive.anchor, rest->err) : no_memory(r, rest->err), code = from;
    if (from >= 0) {
        code = edit_anchor(rest, from, to);
        close(from);
    }
    free(to);
    return code;
}

int gn_retime_rest(struct gn_retime *retime, const struct gn_retime_range *range, bool drop_offsets,
                   struct gn_error *err)
{
    struct rest rest = {retime, *range, drop_offsets, err};
    if (rest.range.last_ticks < rest.range.first_ticks)
        rest.range.last_ticks = rest.range.first_ticks;
    int code = write_definitions(&rest);
    if (code == 0)
        code = for_entries(retime->archive.folder, pass_entry, &rest);
    if (code == 0)
        code = write_markers(&rest);
    if (code == 0)
        code = copy_thumbnails(&rest);
    return code < 0 ? code : write_anchor(&rest);
}

/* ---- the end ---- */

/* Event files of locations that the definitions do not have. */
static int copy_unknown(const struct rest *rest, const char *name)
{
    struct pair pair;
    if (!is_of_location(name, ".evt"))
        return 0;
    int code = pair_in_folder(&pair, rest->retime, name, rest->err);
    if (code < 0)
        return code;
    struct gn_error ignored; /* of the one who is asked and not of what was looked up before: is it there? */
    code = gn_copy_file(pair.from, pair.to, &ignored);
    if (code < 0 && code != -EEXIST)
        gn_fail(rest->err, code, "%s", ignored.text);
    free_pair(&pair);
    return code == -EEXIST ? 0 : code;
}

/* A rename that outlives a power failure must not come before what it names. */
static int sync_all(const struct gn_retime *r, struct gn_error *err)
{
    if (syncfs(r->mark) == 0)
        return 0;
    return gn_fail(err, -errno, "cannot write all of %s to the disk: %s", r->unfinished, strerror(errno));
}

static void sync_folder_of(const char *path)
{
    char *folder = gn_retime_folder_of(path);
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}

static int give_name(struct gn_retime *r, struct gn_error *err)
{
    if (rename(r->unfinished, r->out) != 0)
        return errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR
                   ? gn_fail(err, -EEXIST, "%s is there already: remove it, or name another folder", r->out)
                   : gn_fail(err, -errno, "cannot rename %s to %s: %s", r->unfinished, r->out,
                             strerror(errno));
    char *mark = mark_in(r->out); /* one that stays does no harm: the archive is whole */
    if (mark)
        unlink(mark);
    free(mark);
    close(r->mark);
    r->mark = -1;
    sync_folder_of(r->out);
    return 0;
}

int gn_retime_finish(struct gn_retime *retime, struct gn_error *err)
{
    const struct rest rest = {.retime = retime, .err = err};
    int code = for_entries(retime->archive.folder, copy_unknown, &rest);
    if (code == 0)
        code = sync_all(retime, err);
    return code < 0 ? code : give_name(retime, err);
}

void gn_retime_close(struct gn_retime *retime)
{
    if (!retime)
        return;
    if (retime->mark >= 0) {
        gn_remove_tree(retime->unfinished, NULL);
        close(retime->mark);
    }
    free(retime->out);
    free(retime->unfinished);
    free(retime);
}
