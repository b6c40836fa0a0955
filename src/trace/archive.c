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

static int check_content(struct gn_archive *archive, const unsigned char *bytes, size_t size,
                         struct gn_error *err)
{
    if (!gn_anchor_begins(bytes, size))
        return gn_fail(err, -EINVAL,
                       "%s is no OTF2 anchor file: it does not begin like one; name the *.otf2 file of an "
                       "archive or the folder it is in",
                       archive->anchor);
    if (!gn_anchor_parse(&archive->content, bytes, size))
        return gn_fail(err, -EINVAL,
                       "the OTF2 anchor file %s is broken: it says that it has more in it than it has; copy "
                       "it again from where it was written",
                       archive->anchor);
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

static int check_anchor(struct gn_archive *archive, struct gn_error *err)
{
    const char *anchor = archive->anchor;
    int file = open(anchor, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return gn_fail(err, -errno, "cannot open the trace %s: %s", anchor, strerror(errno));
    unsigned char *bytes = malloc(GN_ANCHOR_MOST);
    ssize_t size = bytes ? read(file, bytes, GN_ANCHOR_MOST) : -1;
    int code = bytes ? errno : ENOMEM;
    close(file);
    int status = size < 0 ? gn_fail(err, -code, "cannot read the trace %s: %s", anchor, strerror(code))
                          : check_content(archive, bytes, (size_t)size, err);
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
        status = check_anchor(archive, err);
    if (status < 0)
        return status;
    strcpy(archive->folder, archive->anchor);
    *strrchr(archive->folder, '.') = '\0';
    return 0;
}
