#include "capture/agreement.h"

#include "clock/ticks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PATH_BYTES = 4500,
    OWN_PATH_BYTES = PATH_BYTES + 200,
    LINE_BYTES = 160,
    NAP_MS = 2,
    LONGEST_NAP_MS = 50
};

static const char mark_suffix[] = ".envoy";

static const char last_line[] = "end";

/* ---- lines ---- */

static size_t write_line(char *line, const struct gn_mark *mark)
{
    return (size_t)snprintf(line, LINE_BYTES, "%d %d %d %lld %d %s\n", (int)mark->envoy, (int)mark->first,
                            (int)mark->local, (long long)mark->coming, (int)mark->beat, mark->host);
}

static bool number(const char **text, int64_t most, int64_t *value)
{
    int64_t sum = 0;
    const char *c = *text;
    for (; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, *c - '0', &sum))
            return false;
    if (c == *text || *c != ' ' || sum > most)
        return false;
    *value = sum;
    *text = c + 1;
    return true;
}

static bool small_number(const char **text, int32_t *value)
{
    int64_t wide;
    if (!number(text, INT32_MAX, &wide))
        return false;
    *value = (int32_t)wide;
    return true;
}

/* line: ends with a zero. */
static bool read_line(const char *line, struct gn_mark *mark)
{
    if (!small_number(&line, &mark->envoy) || !small_number(&line, &mark->first) ||
        !small_number(&line, &mark->local) || !number(&line, INT64_MAX, &mark->coming) ||
        !small_number(&line, &mark->beat))
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

/* A file is complete under its name: written under another one first. Those of marks[] that are alive. */
static int write_marks(const char *path, const struct gn_mark *marks, size_t count)
{
    char line[LINE_BYTES];
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), code = 0;
    if (file < 0)
        return -errno;
    fchmod(file, 0600); /* the program's umask may leave nothing of it to the other hosts */
    for (size_t i = 0; i < count && code == 0; i++)
        if (marks[i].alive)
            code = write_all(file, line, write_line(line, &marks[i]));
    if (code == 0)
        code = write_all(file, line, (size_t)snprintf(line, sizeof line, "%s\n", last_line));
    if (close(file) != 0 && code == 0) /* a file system over the network may tell it only now */
        code = -errno;
    return code;
}

/* What was read of a file so far. */
struct lines {
    struct gn_mark *marks;
    size_t count, capacity, used;
    bool ended;
    char line[LINE_BYTES];
};

static bool take_byte(struct lines *l, char byte)
{
    if (byte != '\n' && l->used < sizeof l->line - 1) {
        l->line[l->used++] = byte;
        return true;
    }
    l->line[l->used] = '\0';
    l->used = 0;
    if (byte != '\n' || l->ended)
        return false;
    l->ended = strcmp(l->line, last_line) == 0;
    return l->ended || (l->count < l->capacity && read_line(l->line, &l->marks[l->count++]));
}

/* Number of marks in a file, -ENOENT: there is none, -EPROTO: it has other lines, too many, or not all. */
static int read_marks(int directory, const char *name, struct gn_mark *marks, size_t capacity)
{
    struct lines lines = {.marks = marks, .capacity = capacity};
    char buffer[1024];
    ssize_t bytes;
    int file = openat(directory, name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -errno;
    int code = 0;
    while (code == 0 && (bytes = read(file, buffer, sizeof buffer)) != 0) {
        if (bytes < 0)
            code = -errno;
        for (ssize_t i = 0; i < bytes && code == 0; i++)
            code = take_byte(&lines, buffer[i]) ? 0 : -EPROTO;
    }
    close(file);
    return code != 0 ? code : !lines.ended || lines.used ? -EPROTO : (int)lines.count;
}

/* ---- the marks of all hosts ---- */

/* All that were found, lowest first. */
struct table {
    struct gn_mark *marks;
    size_t count, capacity;
};

/* The host whose mark has that name. */
static bool is_mark(const char *name, char host[GN_SHEET_NAME_BYTES])
{
    size_t length = strlen(name), suffix = sizeof mark_suffix - 1;
    if (length <= suffix || name[0] == '.' || length - suffix >= GN_SHEET_NAME_BYTES ||
        strcmp(name + length - suffix, mark_suffix) != 0)
        return false;
    memcpy(host, name, length - suffix);
    host[length - suffix] = '\0';
    return true;
}

static struct gn_mark *find(struct table *t, const char *host)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->marks[i].host, host) == 0)
            return &t->marks[i];
    return NULL;
}

/* An insertion keeps them in order. */
static void insert(struct table *t, const struct gn_mark *mark)
{
    size_t at = t->count++;
    for (;
         at > 0 && (t->marks[at - 1].first > mark->first ||
                    (t->marks[at - 1].first == mark->first && strcmp(t->marks[at - 1].host, mark->host) > 0));
         at--)
        t->marks[at] = t->marks[at - 1];
    t->marks[at] = *mark;
}

static void drop(struct table *t, struct gn_mark *mark)
{
    size_t after = (size_t)(t->marks + t->count - mark) - 1;
    memmove(mark, mark + 1, after * sizeof *mark);
    t->count--;
}

/* Whoever has been seen to write his mark anew is there, and not looked at again. */
static void look_at(struct table *t, int parts, const char *name, const struct gn_mark *own)
{
    struct gn_mark mark;
    char host[GN_SHEET_NAME_BYTES];
    if (!is_mark(name, host))
        return;
    struct gn_mark *known = find(t, host);
    if (known)
        known->listed = true;
    if ((known && known->alive) || read_marks(parts, name, &mark, 1) != 1 || strcmp(mark.host, host) != 0)
        return;
    mark.listed = true;
    mark.alive =
        mark.coming == own->coming || (known && known->coming == mark.coming && known->beat != mark.beat);
    if (known)
        drop(t, known);
    if (t->count < t->capacity)
        insert(t, &mark);
}

/* opendir would take memory from the program. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

static void list_marks(struct table *t, int parts, const struct gn_mark *own)
{
    _Alignas(struct entry) char buffer[2048];
    long bytes;
    for (size_t i = 0; i < t->count; i++)
        t->marks[i].listed = false;
    lseek(parts, 0, SEEK_SET);
    while ((bytes = syscall(SYS_getdents64, parts, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < bytes; at += ((struct entry *)(buffer + at))->bytes)
            look_at(t, parts, ((const struct entry *)(buffer + at))->name, own);
    for (size_t i = t->count; i-- > 0;)
        if (!t->marks[i].listed)
            drop(t, &t->marks[i]);
}

static bool accounts_for(const struct table *t, int world)
{
    int64_t ranks = 0;
    for (size_t i = 0; i < t->count; i++)
        ranks += t->marks[i].alive ? t->marks[i].local : 0;
    return ranks >= world;
}

/* ---- agreeing ---- */

struct agreement {
    int parts; /* the folder */
    char path[PATH_BYTES];
    struct gn_mark own;
};

static void own_path(const struct agreement *a, const char *before, const char *after,
                     char path[OWN_PATH_BYTES])
{
    snprintf(path, OWN_PATH_BYTES, "%s/%s%s%s", a->path, before, a->own.host, after);
}

static int leave_mark(struct agreement *a)
{
    char fresh[OWN_PATH_BYTES], name[OWN_PATH_BYTES];
    own_path(a, ".", ".fresh", fresh);
    own_path(a, "", mark_suffix, name);
    a->own.beat = a->own.beat < INT32_MAX ? a->own.beat + 1 : 0;
    int code = write_marks(fresh, &a->own, 1);
    return code != 0 ? code : rename(fresh, name) == 0 ? 0 : -errno;
}

/* link fails when the name is there already: the first proposal is everybody's. */
static int link_agreement(const struct agreement *a, const char *proposal)
{
    char name[OWN_PATH_BYTES];
    snprintf(name, sizeof name, "%s/meeting", a->path);
    return link(proposal, name) == 0 || errno == EEXIST ? 0 : -errno;
}

static int propose(const struct agreement *a, const struct table *t)
{
    char fresh[OWN_PATH_BYTES];
    own_path(a, ".", ".proposal", fresh);
    int code = write_marks(fresh, t->marks, t->count);
    if (code == 0)
        code = link_agreement(a, fresh);
    unlink(fresh);
    return code;
}

static void nap(unsigned ms)
{
    struct timespec time = {.tv_nsec = ms * 1000000L};
    nanosleep(&time, NULL);
}

static uint64_t ms_since(uint64_t begin_ns)
{
    return (gn_monotonic_ns() - begin_ns) / 1000000;
}

/* What was agreed on; negative errno: nothing can be seen. */
static int wait_for_agreement(struct agreement *a, int world, unsigned patience_ms, struct gn_mark *marks,
                              size_t capacity)
{
    struct table table = {.marks = marks, .capacity = capacity};
    uint64_t begin_ns = gn_monotonic_ns();
    for (unsigned nap_ms = NAP_MS;; nap_ms = nap_ms < LONGEST_NAP_MS / 2 ? 2 * nap_ms : LONGEST_NAP_MS) {
        int code = read_marks(a->parts, "meeting", marks, capacity);
        if (code >= 0)
            return code;
        if (code != -ENOENT) /* marks[] was written to */
            table.count = 0;
        uint64_t waited_ms = ms_since(begin_ns);
        list_marks(&table, a->parts, &a->own);
        if (code == -ENOENT)
            code = accounts_for(&table, world) || waited_ms >= patience_ms ? propose(a, &table) : -EAGAIN;
        if (code != 0 && code != -EAGAIN && waited_ms >= 2 * patience_ms)
            return code;
        if (code != 0)
            nap(code == -EAGAIN ? nap_ms : LONGEST_NAP_MS);
        /* a sign of life; and a file system over the network looks again at a folder that we have changed */
        leave_mark(a);
    }
}

/*
 * Others may count on the mark. What needs no room on the disk is tried: agreeing on nobody but us, with the
 * mark itself for a proposal. If that cannot be done either, the mark goes, and whoever saw it before that
 * has the time to agree.
 */
static int give_up(struct agreement *a, int why, unsigned patience_ms, struct gn_mark *marks, size_t capacity)
{
    char mark[OWN_PATH_BYTES];
    int code;
    own_path(a, "", mark_suffix, mark);
    if (link_agreement(a, mark) != 0)
        unlink(mark);
    uint64_t begin_ns = gn_monotonic_ns();
    while ((code = read_marks(a->parts, "meeting", marks, capacity)) < 0 && ms_since(begin_ns) < patience_ms)
        nap(LONGEST_NAP_MS);
    return code < 0 ? why : code;
}

/* A number that no other coming has, not that of a run that ended badly and left its marks here either. */
static int64_t new_coming(void)
{
    uint64_t number;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
        number = gn_clock_ns(CLOCK_REALTIME) ^ (uint64_t)getpid() << 40;
    return (int64_t)(number >> 1);
}

/* An agreement that is older than our mark is not about us: we come too late, or it is another run's. */
static int come(struct agreement *a, int world, unsigned patience_ms, struct gn_mark *marks, size_t capacity)
{
    int count = read_marks(a->parts, "meeting", marks, capacity);
    if (count != -ENOENT)
        return count;
    count = leave_mark(a);
    if (count != 0) /* nobody counts on a mark that is not written again */
        return count;
    count = wait_for_agreement(a, world, patience_ms, marks, capacity);
    return count < 0 ? give_up(a, count, patience_ms, marks, capacity) : count;
}

int gn_agree(const char *folder, const struct gn_mark *mark, int world, unsigned patience_ms,
             struct gn_mark *marks, size_t capacity, size_t *own)
{
    struct agreement a = {.own = *mark};
    a.own.coming = new_coming();
    a.own.alive = true;
    snprintf(a.path, sizeof a.path, "%.4096s/parts", folder);
    a.parts = open(a.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (a.parts < 0)
        return -errno;
    int count = come(&a, world, patience_ms, marks, capacity);
    close(a.parts);
    *own = 0;
    while (count > 0 && *own < (size_t)count &&
           (marks[*own].coming != a.own.coming || strcmp(marks[*own].host, mark->host) != 0))
        ++*own;
    return count;
}
