#include "trace/event_file.h"

#include "trace/file_record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = GN_CHUNK_SIZE - GN_END_SIZE /* for records */ };
static const uint8_t end_mark[GN_END_SIZE] = {GN_RECORD_END_OF_LAST_CHUNK, GN_RECORD_END_OF_FILE};

static int failed(struct gn_error *err, int code, const char *doing, const char *path)
{
    return gn_fail(err, -code, "%s %s failed: %s", doing, path, strerror(code));
}

char *gn_event_file_path(const char *folder, uint64_t file_id)
{
    char *path = NULL;
    return asprintf(&path, "%s/" GN_ARCHIVE_NAME "/%" PRIu64 ".evt", folder, file_id) < 0 ? NULL : path;
}

/* ---- writing ---- */

/* at: where, replacing what is mapped there; NULL: anywhere. */
static uint8_t *map_chunk(int fd, uint64_t offset, uint8_t *at)
{
    void *chunk =
        mmap(at, GN_CHUNK_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), fd, (off_t)offset);
    return chunk == MAP_FAILED ? NULL : chunk;
}

/* Whoever has filled one chunk will fill the next: its pages come at once, instead of with a fault each.
 * Kernels before 5.14 cannot. */
static void populate(uint8_t *chunk)
{
#ifdef MADV_POPULATE_WRITE
    madvise(chunk, GN_CHUNK_SIZE, MADV_POPULATE_WRITE);
#else
    (void)chunk;
#endif
}

int gn_event_file_next(struct gn_event_file *file, struct gn_error *err)
{
    int fd = open(file->path, O_RDWR | O_CLOEXEC | (file->size ? 0 : O_CREAT | O_EXCL), 0666);
    if (fd < 0)
        return failed(err, errno, "opening the event file", file->path);
    uint8_t *chunk = NULL;
    int code = posix_fallocate(fd, (off_t)file->size, GN_CHUNK_SIZE);
    if (code == 0 && !(chunk = map_chunk(fd, file->size, NULL)))
        code = errno;
    if (code && ftruncate(fd, (off_t)file->size) == 0 && file->size == 0)
        unlink(file->path);
    close(fd);
    if (code)
        return failed(err, code, "getting room for events in", file->path);
    if (file->chunk) {
        munmap(file->chunk, GN_CHUNK_SIZE);
        populate(chunk);
    }
    file->chunk = chunk;
    file->size += GN_CHUNK_SIZE;
    return 0;
}

/* What keeps the addresses of parked chunks is one mapping to the kernel where they lie side by side. */
int gn_event_file_park(struct gn_event_file *file, struct gn_error *err)
{
    if (mmap(file->chunk, GN_CHUNK_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
             -1, 0) == MAP_FAILED)
        return failed(err, errno, "unmapping the event file", file->path);
    file->parked = true;
    return 0;
}

int gn_event_file_wake(struct gn_event_file *file, struct gn_error *err)
{
    int fd = open(file->path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return failed(err, errno, "opening the event file", file->path);
    uint8_t *chunk = map_chunk(fd, file->size - GN_CHUNK_SIZE, file->chunk);
    int code = chunk ? 0 : errno;
    close(fd);
    if (code)
        return failed(err, code, "mapping the event file", file->path);
    file->parked = false;
    return 0;
}

bool gn_event_file_detach(struct gn_event_file *file)
{
    file->parked = mprotect(file->chunk, GN_CHUNK_SIZE, PROT_READ | PROT_WRITE) != 0;
    return !file->parked;
}

int gn_event_file_hand_over(struct gn_event_file *file, struct gn_error *err)
{
    /* the last one is still written to, and each of its pages would fault again */
    const uint64_t full = file->chunk ? file->size - GN_CHUNK_SIZE : 0;
    if (full <= file->handed_over)
        return 0;
    int fd = open(file->path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return failed(err, errno, "opening the event file", file->path);
    int code = sync_file_range(fd, (off_t)file->handed_over, (off_t)(full - file->handed_over),
                               SYNC_FILE_RANGE_WRITE) == 0
                   ? 0
                   : errno;
    close(fd);
    if (code == ESPIPE || code == EINVAL ||
        code == ENOSYS) /* a file system that cannot: it does it by itself */
        code = 0;
    if (code)
        return failed(err, code, "writing", file->path);
    file->handed_over = full;
    return 0;
}

static int renumber_file(const char *path);

int gn_event_file_close(struct gn_event_file *file, struct gn_error *err)
{
    int code = 0;
    if (file->chunk) {
        uint64_t used = GN_CHUNK_SIZE;
        while (used && file->chunk[used - 1] == 0) /* the end mark is the last byte that is not 0 */
            used--;
        munmap(file->chunk, GN_CHUNK_SIZE);
        code = truncate(file->path, (off_t)(file->size - GN_CHUNK_SIZE + used)) == 0 ? 0 : errno;
    }
    if (code == 0 && file->goes_on)
        code = -renumber_file(file->path);
    int result = code ? failed(err, code, "closing", file->path) : 0;
    free(file->path);
    *file = (struct gn_event_file){0};
    return result;
}

/* ---- repairing ---- */

struct walk {
    const uint8_t *chunk;
    size_t at;
    uint64_t events, ticks;
    uint64_t first_ticks;
    bool seen;
};

/* This writer's own files have this machine's byte order. */
static uint64_t number_at(const uint8_t *at)
{
    return gn_file_number(at, false);
}

/* The bytes of the record at w->at, or 0: it is not complete, or not a record. */
static size_t record_size(const struct walk *w)
{
    return w->at < ROOM ? gn_event_record_size(w->chunk + w->at, ROOM - w->at, false) : 0;
}

static void pass_timestamp(struct walk *w)
{
    w->ticks = number_at(w->chunk + w->at + 1);
    if (!w->seen)
        w->first_ticks = w->ticks;
    w->seen = true;
}

/* Goes on to behind event number `last`, or as far as there are whole events. */
static void walk_to(struct walk *w, uint64_t last)
{
    size_t behind = w->at;
    uint64_t ticks = w->ticks;
    while (w->events < last) {
        size_t size = record_size(w);
        if (!size)
            break;
        uint8_t type = w->chunk[w->at];
        if (type == GN_RECORD_TIME)
            pass_timestamp(w);
        w->at += size;
        if (gn_is_event(type)) {
            w->events++;
            behind = w->at;
            ticks = w->ticks;
        }
    }
    w->at = behind;
    w->ticks = ticks;
}

/* A writer that went on in this file began to count again: the numbers of its chunks follow on those of the
 * chunk before. */
static void renumber(uint8_t *bytes, uint64_t size)
{
    uint64_t before = 0;
    for (uint64_t at = 0; at + GN_CHUNK_HEADER_SIZE <= size && bytes[at] == GN_RECORD_CHUNK;
         at += GN_CHUNK_SIZE) {
        uint64_t first = number_at(bytes + at + GN_FIRST_EVENT_AT),
                 last = number_at(bytes + at + GN_LAST_EVENT_AT);
        const uint64_t missing = before + 1 - first;
        if (first && missing) {
            first += missing;
            last = last ? last + missing : 0;
            memcpy(bytes + at + GN_FIRST_EVENT_AT, &first, sizeof first);
            memcpy(bytes + at + GN_LAST_EVENT_AT, &last, sizeof last);
        }
        before = last ? last : before;
    }
}

/* 0 or a negative errno value. */
static int renumber_file(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0) {
        int code = -errno;
        if (fd >= 0)
            close(fd);
        return code;
    }
    uint8_t *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int code = bytes == MAP_FAILED ? -errno : 0;
    close(fd);
    if (code != 0)
        return code;
    renumber(bytes, (uint64_t)info.st_size);
    munmap(bytes, (size_t)info.st_size);
    return 0;
}

/* The offset of the last chunk with a whole event, or of the first chunk; -1: none. A chunk may have got its
 * room and nothing else. */
static int64_t last_chunk(const uint8_t *bytes, uint64_t size, uint64_t most)
{
    for (int64_t at = (int64_t)((size - 1) / GN_CHUNK_SIZE * GN_CHUNK_SIZE); at >= 0; at -= GN_CHUNK_SIZE)
        if (bytes[at] == GN_RECORD_CHUNK && (at == 0 || (number_at(bytes + at + GN_LAST_EVENT_AT) &&
                                                         number_at(bytes + at + GN_FIRST_EVENT_AT) <= most)))
            return at;
    return -1;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Sets the end mark behind the first `most` events or all that are whole; returns the size that the file
 * should have, or 0: nothing of an event file is here. */
static uint64_t repair_bytes(uint8_t *bytes, uint64_t size, uint64_t most, struct gn_event_summary *summary)
{
    renumber(bytes, size);
    int64_t offset = last_chunk(bytes, size, most);
    if (offset < 0)
        return 0;
    uint8_t *chunk = bytes + offset;
    uint64_t first = number_at(chunk + GN_FIRST_EVENT_AT);
    struct walk w = {.chunk = chunk, .at = GN_CHUNK_HEADER_SIZE, .events = first ? first - 1 : 0};
    walk_to(&w, smaller(most, number_at(chunk + GN_LAST_EVENT_AT)));
    struct walk start = {.chunk = bytes, .at = GN_CHUNK_HEADER_SIZE};
    walk_to(&start, 1);
    *summary = (struct gn_event_summary){w.events, start.first_ticks, w.ticks};
    memcpy(chunk + GN_LAST_EVENT_AT, &w.events, sizeof w.events);
    memcpy(chunk + w.at, end_mark, GN_END_SIZE);
    return (uint64_t)offset + w.at + GN_END_SIZE;
}

static int repair_file(int fd, const char *path, uint64_t most, struct gn_event_summary *summary,
                       struct gn_error *err)
{
    struct stat info;
    if (fstat(fd, &info) < 0)
        return failed(err, errno, "reading", path);
    /* A file that was cut gets the rest of its chunk back, so that there is room for the mark. */
    uint64_t size = ((uint64_t)info.st_size + GN_CHUNK_SIZE - 1) / GN_CHUNK_SIZE * GN_CHUNK_SIZE;
    int code = size ? posix_fallocate(fd, 0, (off_t)size) : 0;
    if (code)
        return failed(err, code, "getting room in", path);
    uint8_t *bytes = size ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : NULL;
    if (bytes == MAP_FAILED)
        return failed(err, errno, "mapping", path);
    uint64_t wanted = size ? repair_bytes(bytes, size, most, summary) : 0;
    if (size)
        munmap(bytes, size);
    if (!wanted)
        return gn_fail(err, -ENODATA, "%s does not begin like an event file", path);
    if (ftruncate(fd, (off_t)wanted) < 0)
        return failed(err, errno, "cutting", path);
    return 0;
}

int gn_event_file_repair(const char *path, struct gn_event_summary *summary, struct gn_error *err)
{
    *summary = (struct gn_event_summary){0};
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return failed(err, errno, "opening the event file", path);
    int result = repair_file(fd, path, UINT64_MAX, summary, err);
    close(fd);
    return result;
}

/* The rest of the last chunk becomes what is behind the last record of one that is full. */
static int fill_chunk(int fd)
{
    const uint8_t nothing[GN_END_SIZE] = {GN_RECORD_END_OF_CHUNK, GN_RECORD_END_OF_CHUNK};
    struct stat info;
    if (fstat(fd, &info) != 0)
        return -errno;
    const off_t full = (info.st_size + GN_CHUNK_SIZE - 1) / GN_CHUNK_SIZE * GN_CHUNK_SIZE;
    if (pwrite(fd, nothing, sizeof nothing, info.st_size - GN_END_SIZE) != GN_END_SIZE ||
        ftruncate(fd, full) != 0)
        return errno ? -errno : -EIO;
    return 0;
}

static int go_on(int fd, struct gn_event_file *file, uint64_t events, struct gn_event_summary *summary,
                 struct gn_error *err)
{
    struct stat info;
    int code = repair_file(fd, file->path, events, summary, err);
    if (code == 0 && summary->events != events)
        code = gn_fail(err, -ENODATA, "%s has %" PRIu64 " events of %" PRIu64, file->path, summary->events,
                       events);
    if (code == 0 && ((code = fill_chunk(fd)) != 0 || fstat(fd, &info) != 0))
        code = failed(err, -code, "going on in", file->path);
    if (code == 0)
        file->size = file->handed_over = (uint64_t)info.st_size;
    return code;
}

int gn_event_file_go_on(struct gn_event_file *file, uint64_t events, struct gn_event_summary *summary,
                        struct gn_error *err)
{
    *summary = (struct gn_event_summary){0};
    file->goes_on = true;
    if (events == 0) /* as if there had never been one */
        return unlink(file->path) == 0 || errno == ENOENT ? 0 : failed(err, errno, "removing", file->path);
    int fd = open(file->path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return failed(err, errno, "opening the event file", file->path);
    int code = go_on(fd, file, events, summary, err);
    close(fd);
    return code;
}

int gn_event_file_empty(const char *path, struct gn_error *err)
{
    const uint64_t first = 1;
    uint8_t bytes[GN_CHUNK_HEADER_SIZE + GN_END_SIZE] = {GN_RECORD_CHUNK, GN_BYTE_ORDER_MARK};
    memcpy(bytes + GN_FIRST_EVENT_AT, &first, sizeof first);
    memcpy(bytes + GN_CHUNK_HEADER_SIZE, end_mark, GN_END_SIZE);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return failed(err, errno, "creating the event file", path);
    int code = write(fd, bytes, sizeof bytes) == sizeof bytes ? 0 : errno;
    close(fd);
    return code ? failed(err, code, "writing", path) : 0;
}
