#include "cli/find.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

bool gn_find_in_path(const char *program, char *path, size_t size)
{
    const char *folders = getenv("PATH");
    snprintf(path, size, "%s", program);
    if (strchr(program, '/'))
        return access(program, X_OK) == 0;
    for (const char *at = folders ? folders : ""; *at;) {
        int length = (int)strcspn(at, ":");
        snprintf(path, size, "%.*s/%s", length, at, program);
        if (access(path, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

bool gn_find_program(const char *program)
{
    char path[PATH_MAX];
    return gn_find_in_path(program, path, sizeof path);
}

int gn_find_self(char *path, size_t size)
{
    char resolved[PATH_MAX];
    ssize_t bytes = readlink("/proc/self/exe", path, size - 1);
    if (bytes > 0) {
        path[bytes] = '\0';
        return 0;
    }
    /* a root folder without /proc: as we were called */
    const char *called = (const char *)getauxval(AT_EXECFN);
    if (!called || !realpath(called, resolved) || strlen(resolved) >= size)
        return -ENOENT;
    strcpy(path, resolved);
    return 0;
}

int gn_find_library(const char *name, char *path, size_t size)
{
    /* for bin/gnomon and lib/gnomon/gnomon-commands alike */
    static const char *const places[] = {"../lib/gnomon", "../" GNOMON_LIBDIR "/gnomon", "."};
    char self[PATH_MAX], candidate[PATH_MAX + 128], resolved[PATH_MAX];
    if (gn_find_self(self, sizeof self) != 0)
        return -ENOENT;
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(candidate, sizeof candidate, "%s/%s/%s", self, places[i], name);
        if (access(candidate, R_OK) == 0 && realpath(candidate, resolved) && strlen(resolved) < size) {
            strcpy(path, resolved);
            return 0;
        }
    }
    return -ENOENT;
}

int gn_find_capture(char *path, size_t size)
{
    return gn_find_library("libgnomon.so", path, size);
}

int gn_find_commands(char *path, size_t size)
{
    return gn_find_library("gnomon-commands", path, size);
}

void gn_become_commands(char **words)
{
    char path[PATH_MAX];
    if (gn_find_commands(path, sizeof path) == 0)
        execv(path, words);
    fprintf(stderr,
            "gnomon: lib/gnomon/gnomon-commands is not beside this gnomon: it is installed in part only\n");
}
