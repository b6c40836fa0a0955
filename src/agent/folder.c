#include "agent/folder.h"

#include "agent/mark.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void make_name(char *name, size_t size, const char *exe, uint64_t job_hash)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm local;
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%S", localtime_r(&now, &local));
    const char *slash = strrchr(exe, '/');
    char base[64];
    snprintf(base, sizeof base, "%.60s", slash ? slash + 1 : exe);
    for (char *c = base; *c; c++)
        if (*c <= ' ' || *c == 0x7f)
            *c = '_';
    snprintf(name, size, "gnomon-%s-%06llx-%s", base, (unsigned long long)(job_hash & 0xffffff), stamp);
}

/* The owner's alone, whatever umask says. */
static int make(const char *path)
{
    mode_t before = umask(077);
    int code = mkdir(path, 0700) == 0 ? 0 : -errno;
    umask(before);
    return code;
}

int gn_folder_make_all(const char *path)
{
    char above[4096];
    struct stat info;
    if (stat(path, &info) == 0)
        return S_ISDIR(info.st_mode) ? 0 : -ENOTDIR;
    int code = make(path);
    if (code != -ENOENT) /* another rank makes it, too */
        return code == -EEXIST ? 0 : code;
    if (snprintf(above, sizeof above, "%s", path) >= (int)sizeof above)
        return -ENAMETOOLONG;
    for (char *end = above + strlen(above); end > above && end[-1] == '/';)
        *--end = '\0';
    char *slash = strrchr(above, '/');
    if (!slash || slash == above)
        return code;
    *slash = '\0';
    code = gn_folder_make_all(above);
    if (code == 0)
        code = make(path);
    return code == -EEXIST ? 0 : code;
}

/* Not a link, and nobody else's. */
static bool is_ours(const char *path, mode_t kind)
{
    struct stat info;
    return lstat(path, &info) == 0 && (info.st_mode & S_IFMT) == kind && info.st_uid == geteuid();
}

/* Makes `name` below `where`, with a number behind it when it is taken. */
static int make_fresh(const char *where, const char *name, char *path, size_t size)
{
    for (int number = 1; number < 1000; number++) {
        int bytes = number == 1 ? snprintf(path, size, "%s/%s", where, name)
                                : snprintf(path, size, "%s/%s-%d", where, name, number);
        if (bytes < 0 || (size_t)bytes >= size)
            return -ENAMETOOLONG;
        int code = make(path);
        if (code != -EEXIST)
            return code;
    }
    return -EEXIST;
}

static const char *const *emergency_places(void)
{
    static const char *places[4];
    size_t count = 0;
    if (getenv("TMPDIR") && getenv("TMPDIR")[0])
        places[count++] = getenv("TMPDIR");
    places[count++] = "/tmp";
    if (getenv("HOME") && getenv("HOME")[0])
        places[count++] = getenv("HOME");
    places[count] = NULL;
    return places;
}

int gn_folder_elsewhere(struct gn_folder *folder, struct gn_error *err)
{
    const char *slash = strrchr(folder->path, '/');
    char name[256], tried[4096];
    snprintf(name, sizeof name, "%.255s", slash ? slash + 1 : folder->path);
    snprintf(tried, sizeof tried, "%s", folder->path);
    for (const char *const *place = emergency_places(); *place; place++)
        if (strncmp(*place, tried, strlen(*place)) != 0 || folder->path[0] == '\0' || !folder->elsewhere)
            if (make_fresh(*place, name, folder->path, sizeof folder->path) == 0) {
                folder->elsewhere = true;
                return 0;
            }
    return gn_fail(err, -EROFS,
                   "no place to write the run's folder: neither here nor in $TMPDIR, /tmp or $HOME");
}

/* The folder that the link names. In a place where all may write, link and folder may be another user's. */
static int follow(const char *link, const char *where, char *path, size_t size)
{
    char target[256];
    ssize_t bytes = readlink(link, target, sizeof target - 1);
    if (bytes <= 0)
        return errno == EINVAL ? -EINVAL : -EAGAIN; /* it is something else; it has just gone */
    target[bytes] = '\0';
    int length = snprintf(path, size, "%s/%s", where, target);
    if (!is_ours(link, S_IFLNK))
        return -EPERM;
    if (strncmp(target, "gnomon-", 7) != 0 || strchr(target, '/'))
        return -EINVAL;
    if (length < 0 || (size_t)length >= size)
        return -ENAMETOOLONG;
    if (access(path, F_OK) != 0)
        return -EAGAIN; /* about to be made */
    return is_ours(path, S_IFDIR) ? 0 : -EPERM;
}

static bool is_finished(const char *path)
{
    char profile[4400];
    snprintf(profile, sizeof profile, "%s/profile.db", path);
    return access(profile, F_OK) == 0;
}

/* Hosts agree on one folder by who makes the link first. A link to a finished run is left over from another
 * job. */
static int join(struct gn_folder *folder, const char *where, const char *name, uint64_t job_hash)
{
    char link[4000];
    int code = -EAGAIN;
    snprintf(link, sizeof link, "%s/.gnomon-%016llx", where, (unsigned long long)job_hash);
    for (int tries = 0; tries < 50 && code == -EAGAIN; tries++) {
        if (symlink(name, link) == 0) {
            snprintf(folder->path, sizeof folder->path, "%s/%s", where, name);
            code = make(folder->path);
            code = code == -EEXIST && is_ours(folder->path, S_IFDIR) ? 0 : code;
        } else if (errno != EEXIST) {
            return -errno;
        } else {
            code = follow(link, where, folder->path, sizeof folder->path);
            if (code == 0 && is_finished(folder->path)) {
                unlink(link);
                code = -EAGAIN;
                continue;
            }
        }
        if (code == -EAGAIN)
            usleep(20000);
    }
    if (code == 0)
        snprintf(folder->link, sizeof folder->link, "%s", link);
    return code;
}

/* Where runs go; of several hosts all in one, unless they cannot agree on it. */
static int open_there(struct gn_folder *folder, const char *where, const char *name, uint64_t job_hash)
{
    int code = folder->shared ? join(folder, where, name, job_hash) : -EAGAIN;
    if (code == 0)
        return 0;
    bool apart = folder->shared;
    folder->shared = false;
    int fresh = make_fresh(where, name, folder->path, sizeof folder->path);
    if (fresh == 0 && apart)
        snprintf(
            folder->trouble, sizeof folder->trouble,
            "this host has a folder of its own, %.400s: %.400s/.gnomon-%016llx, by which hosts find each "
            "other's, is %s",
            folder->path, where, (unsigned long long)job_hash,
            code == -EPERM    ? "another user's"
            : code == -EINVAL ? "no link to a run's folder"
                              : strerror(-code));
    return fresh;
}

int gn_folder_open(struct gn_folder *folder, const char *where, const char *exe, uint64_t job_hash,
                   bool shared, struct gn_error *err)
{
    char name[256], here[3500];
    memset(folder, 0, sizeof *folder);
    folder->shared = shared;
    make_name(name, sizeof name, exe, job_hash);
    if (where && *where)
        snprintf(here, sizeof here, "%s", where);
    else if (!getcwd(here, sizeof here))
        snprintf(here, sizeof here, ".");
    int code = open_there(folder, here, name, job_hash);
    if (code == 0)
        return 0;
    snprintf(folder->path, sizeof folder->path, "%s", name);
    int lost = gn_folder_elsewhere(folder, err);
    snprintf(folder->trouble, sizeof folder->trouble,
             "runs cannot be kept in %.500s: %s; this one is in %.400s (-d FOLDER names another place)", here,
             strerror(-code), lost == 0 ? folder->path : "memory only");
    return lost;
}

int gn_folder_marks(const char *folder, const char *host, bool fresh)
{
    char path[4500];
    int count = 0;
    snprintf(path, sizeof path, "%s/parts", folder);
    DIR *parts = opendir(path);
    for (struct dirent *entry; parts && (entry = readdir(parts));) {
        struct stat info;
        size_t length = strlen(entry->d_name);
        if (length < 6 || strcmp(entry->d_name + length - 5, ".open") != 0)
            continue;
        if (host && strncmp(entry->d_name, host, length - 5) == 0 && host[length - 5] == '\0')
            continue;
        if (fstatat(dirfd(parts), entry->d_name, &info, 0) == 0 &&
            (time(NULL) - info.st_mtime < GN_MARK_STALE_SECONDS) == fresh)
            count++;
    }
    if (parts)
        closedir(parts);
    return count;
}

void gn_folder_reserve(const char *file, uint64_t bytes)
{
    struct stat info;
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    const uint64_t before = fstat(fd, &info) == 0 ? (uint64_t)info.st_size : 0;
    if (before < bytes && posix_fallocate(fd, 0, (off_t)bytes) != 0 && before == 0)
        unlink(file);
    close(fd);
}

/* The lock last: who comes before that waits for it, and who comes later finds nothing that could be taken
 * for the whole. */
void gn_folder_remove_parts(const char *path)
{
    char name[4200];
    snprintf(name, sizeof name, "%.4096s/parts", path);
    DIR *parts = opendir(name);
    for (struct dirent *entry; parts && (entry = readdir(parts));)
        if (strcmp(entry->d_name, "lock") != 0)
            unlinkat(dirfd(parts), entry->d_name, 0); /* not . and .., which are no files */
    if (parts) {
        unlinkat(dirfd(parts), "lock", 0);
        closedir(parts);
    }
    rmdir(name);
}

int gn_folder_newest(const char *where, char *path, unsigned long size, struct gn_error *err)
{
    DIR *directory = opendir(where);
    struct timespec best = {0, 0};
    bool found = false;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char candidate[4096];
        struct stat info;
        if (strncmp(entry->d_name, "gnomon-", 7) != 0)
            continue;
        snprintf(candidate, sizeof candidate, "%s/%s/profile.db", where, entry->d_name);
        if (stat(candidate, &info) != 0) { /* not finished? */
            snprintf(candidate, sizeof candidate, "%s/%s/parts", where, entry->d_name);
            if (stat(candidate, &info) != 0)
                continue;
        }
        if (!found || info.st_mtim.tv_sec > best.tv_sec ||
            (info.st_mtim.tv_sec == best.tv_sec && info.st_mtim.tv_nsec > best.tv_nsec)) {
            best = info.st_mtim;
            found = true;
            snprintf(path, size, "%s/%s", where, entry->d_name);
        }
    }
    if (directory)
        closedir(directory);
    if (!found)
        return gn_fail(
            err, -ENOENT,
            "there is no run folder (gnomon-…/profile.db) in %s; measure one with `mpirun -n 4 gnomon run "
            "./app`, or name a folder",
            where);
    return 0;
}
