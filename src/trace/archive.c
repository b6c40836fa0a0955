#include "trace/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[] = {3, 'B', 'O', 'T', 'F', '2'}; /* or 'L': little endian */

/* The anchor files in a folder: how many, and the first one. */
static size_t anchors_in(const char *folder, char first[PATH_MAX])
{
    char pattern[PATH_MAX];
    glob_t found;
    size_t escaped = 0;
    for (const char *c = folder; *c && escaped < sizeof pattern - 16; c++) {
        if (strchr("*?[]\\", *c))
            pattern[escaped++] = '\\';
        pattern[escaped++] = *c;
    }
    strcpy(pattern + escaped, "/*.otf2");
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    size_t count = found.gl_pathc;
    if (count)
        snprintf(first, PATH_MAX, "%s", found.gl_pathv[0]);
    globfree(&found);
    return count;
}

static int find_in_folder(struct gn_archive *archive, const char *folder, struct gn_error *err)
{
    char trace[PATH_MAX];
    size_t count = anchors_in(folder, archive->anchor);
    if (count == 0 && snprintf(trace, sizeof trace, "%s/trace", folder) < (int)sizeof trace)
        count = anchors_in(trace, archive->anchor);
    if (count == 0)
        return gn_fail(err, -ENOENT,
                       "no OTF2 archive in %s: there is no *.otf2 in it nor in its trace/ folder; was the "
                       "run made with `gnomon run --trace`?",
                       folder);
    if (count > 1)
        return gn_fail(err, -EINVAL, "%zu OTF2 archives in %s: name the *.otf2 file of one", count, folder);
    return 0;
}

static int check_anchor(const char *anchor, struct gn_error *err)
{
    char begin[sizeof magic] = {0};
    const char *dot = strrchr(anchor, '.');
    int file = open(anchor, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return gn_fail(err, -errno, "cannot open the trace %s: %s", anchor, strerror(errno));
    ssize_t length = read(file, begin, sizeof begin);
    close(file);
    if (begin[1] == 'L')
        begin[1] = 'B';
    if (length != sizeof begin || memcmp(begin, magic, sizeof magic) != 0)
        return gn_fail(err, -EINVAL,
                       "%s is no OTF2 anchor file: it does not begin like one; name the *.otf2 file of an "
                       "archive or the folder it is in",
                       anchor);
    if (!dot || strchr(dot, '/') || dot == anchor)
        return gn_fail(err, -EINVAL,
                       "the name of the anchor file %s has no extension, so the folder of its events is "
                       "not known: give it back its name (*.otf2)",
                       anchor);
    return 0;
}

int gn_archive_find(struct gn_archive *archive, const char *path, struct gn_error *err)
{
    struct stat is;
    if (stat(path, &is) != 0)
        return gn_fail(err, -errno, "cannot open the trace %s: %s", path, strerror(errno));
    if (strlen(path) >= PATH_MAX)
        return gn_fail(err, -ENAMETOOLONG, "the name of the trace is too long: %.64s…", path);
    strcpy(archive->anchor, path);
    int status = S_ISDIR(is.st_mode) ? find_in_folder(archive, path, err) : 0;
    if (status == 0)
        status = check_anchor(archive->anchor, err);
    if (status < 0)
        return status;
    strcpy(archive->folder, archive->anchor);
    *strrchr(archive->folder, '.') = '\0';
    return 0;
}

/* An event file is whole when it ends with the mark for that: anything may be missing before it, but what was
 * cut off in the middle of a write, as by a crash or a full disk, has no such mark. */
enum gn_event_file gn_archive_event_file(const struct gn_archive *archive, uint64_t location)
{
    enum { END_OF_FILE = 1 };
    char path[PATH_MAX + 32], last = 0;
    snprintf(path, sizeof path, "%s/%" PRIu64 ".evt", archive->folder, location);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return GN_EVENT_FILE_MISSING;
    if (lseek(file, -1, SEEK_END) < 0 || read(file, &last, 1) != 1)
        last = 0;
    close(file);
    return last == END_OF_FILE ? GN_EVENT_FILE_WHOLE : GN_EVENT_FILE_TRUNCATED;
}
