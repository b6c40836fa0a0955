#include "live/folder.h"

#include <dirent.h>
#include <errno.h>
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

/* Makes `name` below `where`, with a number behind it when it is taken. */
static int make_fresh(const char *where, const char *name, char *path, size_t size)
{
    for (int number = 1; number < 1000; number++) {
        int bytes = number == 1 ? snprintf(path, size, "%s/%s", where, name)
                                : snprintf(path, size, "%s/%s-%d", where, name, number);
        if (bytes < 0 || (size_t)bytes >= size)
            return -ENAMETOOLONG;
        if (mkdir(path, 0777) == 0)
            return 0;
        if (errno != EEXIST)
            return -errno;
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

/* Hosts agree on one folder by who makes the link first. A link to a finished run is left over from another
 * job. */
static int join(struct gn_folder *folder, const char *where, const char *name, uint64_t job_hash)
{
    char link[300], target[256], profile[4400];
    snprintf(link, sizeof link, ".gnomon-%016llx", (unsigned long long)job_hash);
    for (int tries = 0; tries < 50; tries++) {
        if (symlink(name, link) == 0) {
            snprintf(folder->link, sizeof folder->link, "%s", link);
            snprintf(folder->path, sizeof folder->path, "%s/%s", where, name);
            return mkdir(folder->path, 0777) == 0 || errno == EEXIST ? 0 : -errno;
        }
        if (errno != EEXIST)
            return -errno;
        ssize_t bytes = readlink(link, target, sizeof target - 1);
        if (bytes <= 0)
            continue;
        target[bytes] = '\0';
        snprintf(folder->path, sizeof folder->path, "%s/%s", where, target);
        snprintf(profile, sizeof profile, "%s/profile.db", folder->path);
        if (access(profile, F_OK) == 0) {
            unlink(link);
            continue;
        }
        if (access(folder->path, W_OK) == 0) {
            snprintf(folder->link, sizeof folder->link, "%s", link);
            return 0;
        }
        usleep(20000);
    }
    return -EAGAIN;
}

int gn_folder_open(struct gn_folder *folder, const char *exe, uint64_t job_hash, bool shared,
                   struct gn_error *err)
{
    char name[256], where[3500];
    memset(folder, 0, sizeof *folder);
    folder->shared = shared;
    make_name(name, sizeof name, exe, job_hash);
    if (!getcwd(where, sizeof where))
        snprintf(where, sizeof where, ".");
    int code = shared ? join(folder, where, name, job_hash)
                      : make_fresh(where, name, folder->path, sizeof folder->path);
    if (code == 0)
        return 0;
    snprintf(folder->path, sizeof folder->path, "%s", name);
    folder->shared = false;
    return gn_folder_elsewhere(folder, err);
}

int gn_folder_marks(const char *folder, const char *host, bool fresh)
{
    enum { STALE_SECONDS = 60 };
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
            (time(NULL) - info.st_mtime < STALE_SECONDS) == fresh)
            count++;
    }
    if (parts)
        closedir(parts);
    return count;
}

void gn_folder_remove_parts(const char *path)
{
    char name[4200];
    snprintf(name, sizeof name, "%.4096s/parts", path);
    DIR *parts = opendir(name);
    for (struct dirent *entry; parts && (entry = readdir(parts));)
        unlinkat(dirfd(parts), entry->d_name, 0); /* not . and .., which are no files */
    if (parts)
        closedir(parts);
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
