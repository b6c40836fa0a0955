#include "trace/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* What is left of an anchor file. */
struct rest {
    const unsigned char *at;
    size_t size;
};

static bool skip(struct rest *rest, size_t bytes)
{
    if (bytes > rest->size)
        return false;
    rest->at += bytes;
    rest->size -= bytes;
    return true;
}

static bool skip_string(struct rest *rest)
{
    const unsigned char *end = rest->size ? memchr(rest->at, 0, rest->size) : NULL;
    return end && skip(rest, (size_t)(end - rest->at) + 1);
}

static uint32_t number(const unsigned char *bytes, bool is_other_order)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return is_other_order ? __builtin_bswap32(value) : value;
}

/*
 * The library believes how many properties an anchor file says it has, and writes them into memory of a size
 * that has wrapped around. So they are counted ahead:
 *
 *   3, byte order, "OTF2", 0 │ 5 bytes of versions │ 2 chunk sizes │ 2 bytes │ 2 numbers │ 3 strings │ count:
 * 4 bytes │ name, value … │ …
 */
static bool has_its_properties(const unsigned char *bytes, size_t size)
{
    struct rest rest = {bytes, size};
    if (!skip(&rest, 7 + 5 + 2 * 8 + 2 + 2 * 8))
        return false;
    for (int i = 0; i < 3; i++)
        if (!skip_string(&rest))
            return false;
    if (rest.size < 4)
        return false;
    uint32_t count = number(rest.at, bytes[1] != 'B');
    skip(&rest, 4);
    if (count > rest.size / 2)
        return false;
    for (uint64_t i = 0; i < 2 * (uint64_t)count; i++)
        if (!skip_string(&rest))
            return false;
    return true;
}

static int check_content(const unsigned char *bytes, size_t size, const char *anchor, struct gn_error *err)
{
    if (size < 7 || bytes[0] != 3 || (bytes[1] != 'B' && bytes[1] != 'L') ||
        memcmp(bytes + 2, "OTF2", 5) != 0)
        return gn_fail(err, -EINVAL,
                       "%s is no OTF2 anchor file: it does not begin like one; name the *.otf2 file of an "
                       "archive or the folder it is in",
                       anchor);
    if (!has_its_properties(bytes, size))
        return gn_fail(err, -EINVAL,
                       "the OTF2 anchor file %s is broken: it says that it has more in it than it has; copy "
                       "it again from where it was written",
                       anchor);
    return 0;
}

/* The folder of the events has the anchor file's name without its extension. */
static int check_name(const char *anchor, struct gn_error *err)
{
    const char *dot = strrchr(anchor, '.');
    if (dot && !strchr(dot, '/') && dot != anchor)
        return 0;
    return gn_fail(
        err, -EINVAL,
        "the name of the anchor file %s has no extension, so the folder of its events is not known: "
        "give it back its name (*.otf2)",
        anchor);
}

static int check_anchor(const char *anchor, struct gn_error *err)
{
    enum { MOST = 1 << 20 };
    int file = open(anchor, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return gn_fail(err, -errno, "cannot open the trace %s: %s", anchor, strerror(errno));
    unsigned char *bytes = malloc(MOST);
    ssize_t size = bytes ? read(file, bytes, MOST) : -1;
    int code = bytes ? errno : ENOMEM;
    close(file);
    int status = size < 0 ? gn_fail(err, -code, "cannot read the trace %s: %s", anchor, strerror(code))
                          : check_content(bytes, (size_t)size, anchor, err);
    free(bytes);
    return status == 0 ? check_name(anchor, err) : status;
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
