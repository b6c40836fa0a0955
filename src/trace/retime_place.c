#include "trace/retime_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(int code, const char *out, struct gn_error *err)
{
    return gn_fail(err, code, "cannot write to %s: %s", out, strerror(-code));
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *gn_retime_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    char *real = folder ? realpath(folder, NULL) : NULL;
    free(folder);
    return real;
}

/* ---- apart from the old archive ---- */

static bool is_below(const char *path, const char *folder)
{
    const size_t length = strlen(folder); /* nothing is below "/": all would be */
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* Neither may the new archive be in the folder of the old one, or among its files where a link leads to
 * them, nor the old one be where the new one is made. */
static int check_folders(const struct gn_archive *archive, const char *out, const char *real,
                         struct gn_error *err)
{
    char *input = gn_retime_folder_of(archive->anchor), *files = realpath(archive->folder, NULL);
    char *unfinished = NULL;
    int code = 0;
    if (!input || asprintf(&unfinished, "%s.unfinished", real) < 0)
        code = refuse(-ENOMEM, out, err);
    else if (is_below(real, input) || (files && is_below(real, files)))
        code = gn_fail(err, -EINVAL,
                       "cannot write to %s: it is in the folder of the trace itself, %s, which stays as it "
                       "is; name a folder outside of it, such as -o %s/../%s",
                       out, input, input, name_of(out));
    else if (is_below(input, unfinished) || (files && is_below(files, unfinished)))
        code = gn_fail(err, -EINVAL,
                       "cannot write to %s: the trace %s is in the folder where it would be made; name "
                       "another one",
                       out, archive->anchor);
    free(input);
    free(files);
    free(unfinished);
    return code;
}

static int check_apart(const struct gn_archive *archive, const char *out, struct gn_error *err)
{
    char *parent = gn_retime_folder_of(out), *real = NULL;
    int code = -errno;
    if (!parent)
        return gn_fail(err, code, "cannot write to %s: the folder it should be in: %s", out, strerror(-code));
    if (access(parent, W_OK | X_OK) != 0) {
        code = -errno;
        gn_fail(err, code, "cannot write to %s: its folder %s: %s", out, parent, strerror(-code));
    } else if (asprintf(&real, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent, name_of(out)) < 0) {
        real = NULL;
        code = refuse(-ENOMEM, out, err);
    } else {
        code = check_folders(archive, out, real, err);
    }
    free(parent);
    free(real);
    return code;
}

/* ---- its name ---- */

static bool is_empty(const char *path)
{
    size_t entries = 0;
    DIR *folder = opendir(path);
    while (folder && readdir(folder))
        entries++;
    if (folder)
        closedir(folder);
    return folder && entries <= 2; /* . and .. */
}

static bool is_mount_point(const char *path, const struct stat *is)
{
    struct stat parent;
    char *folder = gn_retime_folder_of(path);
    const bool differs = folder && stat(folder, &parent) == 0 && parent.st_dev != is->st_dev;
    free(folder);
    return differs;
}

static int check_name(const char *out, struct gn_error *err)
{
    const char *name = name_of(out);
    struct stat is;
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return gn_fail(err, -EINVAL,
                       "cannot write to %s: name the folder itself, as it is called where it is", out);
    if (lstat(out, &is) != 0)
        return errno == ENOENT ? 0 : refuse(-errno, out, err);
    if (!S_ISDIR(is.st_mode) || !is_empty(out))
        return gn_fail(err, -EEXIST, "%s is there already: remove it, or name another folder", out);
    if (is_mount_point(out, &is))
        return gn_fail(err, -EBUSY,
                       "cannot write to %s: a file system is mounted there; name a new folder in it, such "
                       "as -o %s/repaired",
                       out, out);
    return 0;
}

/* ---- where it is made ---- */

static int check_mark(const char *unfinished, struct gn_error *err)
{
    char *mark;
    if (asprintf(&mark, "%s/" GN_RETIME_MARK, unfinished) < 0)
        return refuse(-ENOMEM, unfinished, err);
    const int fd = open(mark, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int code = 0;
    if (fd < 0 && errno == ENOENT && !is_empty(unfinished))
        code = gn_fail(err, -EEXIST,
                       "%s exists, and it is not known to be what an unfinished run left: move or remove it",
                       unfinished);
    else if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        code = gn_fail(err, -EBUSY, "%s is being written by another process", unfinished);
    if (fd >= 0)
        close(fd);
    free(mark);
    return code;
}

static int check_unfinished(const char *unfinished, struct gn_error *err)
{
    struct stat is;
    if (lstat(unfinished, &is) == 0)
        return check_mark(unfinished, err);
    return errno == ENOENT ? 0 : refuse(-errno, unfinished, err);
}

int gn_retime_place(const struct gn_archive *archive, const char *out, const char *unfinished,
                    struct gn_error *err)
{
    int code = check_name(out, err);
    if (code == 0)
        code = check_apart(archive, out, err);
    return code < 0 ? code : check_unfinished(unfinished, err);
}
