#include "trace/copy_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 1 << 20, OPEN_FOLDERS = 16, DEEPEST = 32 };

static int cannot_write(const char *path, uint64_t size, int code, struct gn_error *err)
{
    return gn_fail(err, -code, "cannot write %" PRIu64 " more bytes to %s: %s", size, path, strerror(code));
}

static int cannot_read(const char *path, int code, struct gn_error *err)
{
    return gn_fail(err, -code, "cannot read %s: %s", path, strerror(code));
}

int gn_write_all(int fd, const char *path, const void *bytes, uint64_t size, struct gn_error *err)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t written = write(fd, at, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return cannot_write(path, size, written < 0 ? errno : EIO, err);
        at += written;
        size -= (uint64_t)written;
    }
    return 0;
}

int gn_open_input(const char *path, struct gn_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* not to wait for the writer of a pipe */
    return fd < 0 ? cannot_read(path, errno, err) : fd;
}

int gn_open_output(const char *path, struct gn_error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return fd < 0 ? gn_fail(err, -errno, "cannot create %s: %s", path, strerror(errno)) : fd;
}

int gn_close_output(int fd, const char *path, int result, struct gn_error *err)
{
    int code = close(fd) == 0 ? 0 : errno;
    if (result < 0 || code == 0)
        return result;
    return gn_fail(err, -code, "cannot write %s: %s", path, strerror(code));
}

/* What is left of a file, by hand. */
static int copy_rest(int from, const char *from_path, int to, const char *to_path, uint64_t bytes,
                     struct gn_error *err)
{
    char *block = malloc(BLOCK);
    int result = block ? 0 : gn_fail(err, -ENOMEM, "no memory to copy %s", from_path);
    while (result == 0 && bytes > 0) {
        ssize_t size = read(from, block, bytes < BLOCK ? bytes : BLOCK);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            result = cannot_read(from_path, errno, err);
        else if (size == 0)
            result = gn_fail(err, -EIO, "%s became shorter while it was read", from_path);
        else
            result = gn_write_all(to, to_path, block, (uint64_t)size, err);
        bytes -= size > 0 ? (uint64_t)size : 0;
    }
    free(block);
    return result;
}

/* Errors that the hand may not have: between file systems, or a kernel that does not know how. */
static bool is_no_room(int code)
{
    return code == ENOSPC || code == EDQUOT || code == EFBIG;
}

int gn_copy_bytes(int from, const char *from_path, int to, const char *to_path, uint64_t bytes,
                  struct gn_error *err)
{
    while (bytes > 0) {
        ssize_t size = copy_file_range(from, NULL, to, NULL, bytes < 1u << 30 ? bytes : 1u << 30, 0);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && is_no_room(errno))
            return cannot_write(to_path, bytes, errno, err);
        if (size <= 0)
            break;
        bytes -= (uint64_t)size;
    }
    return copy_rest(from, from_path, to, to_path, bytes, err);
}

static int copy_open(int from, const char *from_path, const char *to_path, uint64_t size,
                     struct gn_error *err)
{
    int to = gn_open_output(to_path, err);
    if (to < 0)
        return to;
    int result = 0;
    if (ioctl(to, FICLONE, from) != 0)
        result = gn_copy_bytes(from, from_path, to, to_path, size, err);
    return gn_close_output(to, to_path, result, err);
}

int gn_copy_file(const char *from, const char *to, struct gn_error *err)
{
    struct stat is;
    int fd = gn_open_input(from, err);
    if (fd < 0)
        return fd;
    int result = fstat(fd, &is) == 0 ? 0 : cannot_read(from, errno, err);
    if (result == 0 && S_ISREG(is.st_mode))
        result = copy_open(fd, from, to, (uint64_t)is.st_size, err);
    close(fd);
    return result;
}

static int copy_tree(const char *from, const char *to, int depth, struct gn_error *err);

static int copy_entry(const char *from, const char *to, const char *name, int depth, struct gn_error *err)
{
    struct stat is;
    char *source = NULL, *copy = NULL;
    int result = 0;
    if (asprintf(&source, "%s/%s", from, name) < 0)
        source = NULL;
    if (asprintf(&copy, "%s/%s", to, name) < 0)
        copy = NULL;
    if (!source || !copy)
        result = gn_fail(err, -ENOMEM, "no memory to copy %s/%s", from, name);
    else if (lstat(source, &is) == 0 && S_ISDIR(is.st_mode))
        result = copy_tree(source, copy, depth + 1, err);
    else if (stat(source, &is) == 0 && S_ISREG(is.st_mode))
        result = gn_copy_file(source, copy, err);
    free(source);
    free(copy);
    return result;
}

static int copy_tree(const char *from, const char *to, int depth, struct gn_error *err)
{
    const struct dirent *entry;
    if (depth > DEEPEST)
        return gn_fail(err, -ELOOP, "more than %d folders inside each other: %s", DEEPEST, from);
    if (mkdir(to, 0777) != 0)
        return gn_fail(err, -errno, "cannot create the folder %s: %s", to, strerror(errno));
    DIR *folder = opendir(from);
    if (!folder)
        return cannot_read(from, errno, err);
    int result = 0;
    while (result == 0 && (entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            result = copy_entry(from, to, entry->d_name, depth, err);
    closedir(folder);
    return result;
}

int gn_copy_tree(const char *from, const char *to, struct gn_error *err)
{
    return copy_tree(from, to, 0, err);
}

static int remove_entry(const char *path, const struct stat *is, int type, struct FTW *where)
{
    (void)is, (void)type, (void)where;
    remove(path);
    return 0;
}

int gn_remove_tree(const char *path, struct gn_error *err)
{
    nftw(path, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return 0;
    return gn_fail(err, -ENOTEMPTY, "cannot remove all of %s: remove it yourself", path);
}
