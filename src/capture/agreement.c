#include "capture/agreement.h"

#include "clock/ticks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH_BYTES = 4500, LINE_BYTES = 160, NAP_MS = 2, LONGEST_NAP_MS = 50 };

static const char mark_suffix[] = ".envoy";

/* ---- lines ---- */

static size_t write_line(char *line, const struct gn_mark *mark)
{
    return (size_t)snprintf(line, LINE_BYTES, "%d %d %d %s\n", (int)mark->envoy, (int)mark->first,
                            (int)mark->local, mark->host);
}

static bool number(const char **text, int32_t *value)
{
    int64_t sum = 0;
    const char *c = *text;
    for (; *c >= '0' && *c <= '9' && sum <= INT32_MAX; c++)
        sum = 10 * sum + (*c - '0');
    if (c == *text || *c != ' ' || sum > INT32_MAX)
        return false;
    *value = (int32_t)sum;
    *text = c + 1;
    return true;
}

/* line: ends with a zero. */
static bool read_line(const char *line, struct gn_mark *mark)
{
    if (!number(&line, &mark->envoy) || !number(&line, &mark->first) || !number(&line, &mark->local))
        return false;
    size_t length = strlen(line);
    if (length == 0 || length >= sizeof mark->host)
        return false;
    memcpy(mark->host, line, length + 1);
    return true;
}

/* ---- files ---- */

static int write_all(int file, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = write(file, text, bytes);
        if (written < 0)
            return -errno;
        text += written;
        bytes -= (size_t)written;
    }
    return 0;
}

/* A file is complete under its name: written under another one first. */
static int write_marks(const char *path, const struct gn_mark *marks, size_t count)
{
    char line[LINE_BYTES];
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), code = 0;
    if (file < 0)
        return -errno;
    for (size_t i = 0; i < count && code == 0; i++)
        code = write_all(file, line, write_line(line, &marks[i]));
    if (close(file) != 0 && code == 0) /* a file system over the network may tell it only now */
        code = -errno;
    return code;
}

/* Number of marks in a file, -ENOENT: there is none, -EPROTO: it has other lines or too many. */
static int read_marks(int directory, const char *name, struct gn_mark *marks, size_t capacity)
{
    char line[LINE_BYTES], buffer[1024];
    size_t used = 0, count = 0;
    ssize_t bytes;
    int file = openat(directory, name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -errno;
    int code = 0;
    while (code == 0 && (bytes = read(file, buffer, sizeof buffer)) > 0)
        for (ssize_t i = 0; i < bytes && code == 0; i++) {
            if (buffer[i] != '\n' && used < sizeof line - 1) {
                line[used++] = buffer[i];
                continue;
            }
            line[used] = '\0';
            used = 0;
            if (buffer[i] != '\n' || count == capacity || !read_line(line, &marks[count++]))
                code = -EPROTO;
        }
    close(file);
    return code != 0 ? code : used > 0 ? -EPROTO : (int)count;
}

/* ---- the marks of all hosts ---- */

static bool is_mark(const char *name)
{
    size_t length = strlen(name), suffix = sizeof mark_suffix - 1;
    return length > suffix && name[0] != '.' && strcmp(name + length - suffix, mark_suffix) == 0;
}

/* Lowest first; an insertion keeps them in order. */
static void insert(struct gn_mark *marks, size_t count, const struct gn_mark *mark)
{
    size_t at = count;
    for (; at > 0 && (marks[at - 1].first > mark->first ||
                      (marks[at - 1].first == mark->first && strcmp(marks[at - 1].host, mark->host) > 0));
         at--)
        marks[at] = marks[at - 1];
    marks[at] = *mark;
}

/* opendir would take memory from the program. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

static size_t list_marks(int parts, struct gn_mark *marks, size_t capacity)
{
    _Alignas(struct entry) char buffer[2048];
    size_t count = 0;
    long bytes;
    lseek(parts, 0, SEEK_SET);
    while ((bytes = syscall(SYS_getdents64, parts, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < bytes; at += ((struct entry *)(buffer + at))->bytes) {
            const struct entry *entry = (const struct entry *)(buffer + at);
            struct gn_mark mark;
            if (count < capacity && is_mark(entry->name) && read_marks(parts, entry->name, &mark, 1) == 1)
                insert(marks, count++, &mark);
        }
    return count;
}

/* ---- agreeing ---- */

struct agreement {
    int parts; /* the folder */
    char path[PATH_BYTES];
    const struct gn_mark *own;
};

static int leave_mark(const struct agreement *a)
{
    char fresh[PATH_BYTES + 200], name[PATH_BYTES + 200];
    snprintf(fresh, sizeof fresh, "%s/.%s.fresh", a->path, a->own->host);
    snprintf(name, sizeof name, "%s/%s%s", a->path, a->own->host, mark_suffix);
    int code = write_marks(fresh, a->own, 1);
    return code != 0 ? code : rename(fresh, name) == 0 ? 0 : -errno;
}

/* link fails when the name is there already: the first proposal is everybody's. */
static int propose(const struct agreement *a, const struct gn_mark *marks, size_t count)
{
    char fresh[PATH_BYTES + 200], name[PATH_BYTES + 200];
    snprintf(fresh, sizeof fresh, "%s/.%s.proposal", a->path, a->own->host);
    snprintf(name, sizeof name, "%s/meeting", a->path);
    int code = write_marks(fresh, marks, count);
    if (code == 0 && link(fresh, name) != 0 && errno != EEXIST)
        code = -errno;
    unlink(fresh);
    return code;
}

static bool accounts_for(const struct gn_mark *marks, size_t count, int world)
{
    int64_t ranks = 0;
    for (size_t i = 0; i < count; i++)
        ranks += marks[i].local;
    return ranks >= world;
}

static void nap(unsigned ms)
{
    struct timespec time = {.tv_nsec = ms * 1000000L};
    nanosleep(&time, NULL);
}

static int wait_for_agreement(const struct agreement *a, int world, unsigned patience_ms,
                              struct gn_mark *marks, size_t capacity)
{
    uint64_t begin_ns = gn_monotonic_ns();
    for (unsigned nap_ms = NAP_MS;; nap_ms = nap_ms < LONGEST_NAP_MS / 2 ? 2 * nap_ms : LONGEST_NAP_MS) {
        int agreed = read_marks(a->parts, "meeting", marks, capacity);
        if (agreed != -ENOENT)
            return agreed;
        uint64_t waited_ms = (gn_monotonic_ns() - begin_ns) / 1000000;
        size_t count = list_marks(a->parts, marks, capacity);
        int code = 0;
        if (accounts_for(marks, count, world) || waited_ms >= patience_ms)
            code = propose(a, marks, count);
        else
            nap(nap_ms);
        if (code != 0 && waited_ms >= 2 * patience_ms) /* nobody can write here */
            return code;
        if (code != 0)
            nap(LONGEST_NAP_MS);
        /* a file system over the network looks again at a folder that we have changed ourselves */
        leave_mark(a);
    }
}

int gn_agree(const char *folder, const struct gn_mark *mark, int world, unsigned patience_ms,
             struct gn_mark *marks, size_t capacity, size_t *own)
{
    struct agreement a = {.own = mark};
    snprintf(a.path, sizeof a.path, "%.4096s/parts", folder);
    a.parts = open(a.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (a.parts < 0)
        return -errno;
    int count = leave_mark(&a);
    if (count == 0)
        count = wait_for_agreement(&a, world, patience_ms, marks, capacity);
    close(a.parts);
    *own = 0;
    while (count > 0 && *own < (size_t)count && strcmp(marks[*own].host, mark->host) != 0)
        ++*own;
    return count;
}
