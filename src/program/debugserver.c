#include "program/debugserver.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ID_BYTES_MAX = 64 };

/* ---- the client's cache (debuginfod_find_debuginfo(3), "CACHE") ---- */

static bool cache_folder(char *folder, size_t bytes)
{
    const char *path = getenv("DEBUGINFOD_CACHE_PATH"), *home = getenv("HOME"),
               *xdg = getenv("XDG_CACHE_HOME");
    int length = -1;
    if (path && path[0])
        length = snprintf(folder, bytes, "%s", path);
    else if (xdg && xdg[0])
        length = snprintf(folder, bytes, "%s/debuginfod_client", xdg);
    else if (home && home[0])
        length = snprintf(folder, bytes, "%s/.cache/debuginfod_client", home);
    return length > 0 && (size_t)length < bytes;
}

/* A file without a byte says that no server had one. */
static int open_file(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0))
        return fd;
    close(fd);
    return -1;
}

static int find_in_cache(const uint8_t *build_id, size_t bytes, char **path)
{
    char folder[PATH_MAX / 2], file[PATH_MAX], hex[2 * ID_BYTES_MAX + 1];
    if (!cache_folder(folder, sizeof folder))
        return -1;
    for (size_t i = 0; i < bytes; i++)
        snprintf(&hex[2 * i], 3, "%02x", build_id[i]);
    snprintf(file, sizeof file, "%s/%s/debuginfo", folder, hex);
    int fd = open_file(file);
    if (fd >= 0)
        *path = strdup(file);
    return fd;
}

/* ---- the client ---- */

struct debuginfod_client;
typedef int progress_function(struct debuginfod_client *client, long done, long all);

static struct {
    struct debuginfod_client *(*begin)(void);
    void (*end)(struct debuginfod_client *client);
    int (*find)(struct debuginfod_client *client, const unsigned char *build_id, int bytes, char **path);
    void (*set_progress)(struct debuginfod_client *client, progress_function *function);
    void (*set_data)(struct debuginfod_client *client, void *data);
    void *(*get_data)(struct debuginfod_client *client);
} api;

static bool load(void **function, void *library, const char *name)
{
    *function = dlsym(library, name);
    return *function != NULL;
}

static bool loaded;

static void load_client(void)
{
    void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    loaded = library && load((void **)&api.begin, library, "debuginfod_begin") &&
             load((void **)&api.end, library, "debuginfod_end") &&
             load((void **)&api.find, library, "debuginfod_find_debuginfo") &&
             load((void **)&api.set_progress, library, "debuginfod_set_progressfn") &&
             load((void **)&api.set_data, library, "debuginfod_set_user_data") &&
             load((void **)&api.get_data, library, "debuginfod_get_user_data");
}

/* One question. */
struct question {
    struct gn_debug_patience *patience;
    uint64_t began_ns;
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int stop_or_not(struct debuginfod_client *client, long done, long all)
{
    const struct question *q = api.get_data(client);
    (void)done, (void)all;
    return !q->patience->goes_on(q->patience->context) || now_ns() - q->began_ns >= q->patience->left_ns;
}

static int ask(const uint8_t *build_id, size_t bytes, struct gn_debug_patience *patience, char **path)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_client);
    struct question q = {patience, now_ns()};
    struct debuginfod_client *client = loaded ? api.begin() : NULL;
    if (!client)
        return -1;
    api.set_data(client, &q);
    api.set_progress(client, stop_or_not);
    int fd = api.find(client, build_id, (int)bytes, path);
    api.end(client);
    uint64_t took_ns = now_ns() - q.began_ns;
    patience->left_ns -= took_ns < patience->left_ns ? took_ns : patience->left_ns;
    return fd;
}

int gn_debugserver_find(const uint8_t *build_id, size_t bytes, struct gn_debug_patience *patience,
                        char **path)
{
    const char *servers = getenv("DEBUGINFOD_URLS");
    if (bytes == 0 || bytes > ID_BYTES_MAX)
        return -1;
    int fd = find_in_cache(build_id, bytes, path);
    if (fd < 0 && servers && servers[0] && patience && patience->left_ns > 0 &&
        patience->goes_on(patience->context))
        fd = ask(build_id, bytes, patience, path);
    return fd < 0 ? -1 : fd;
}
