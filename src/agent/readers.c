#include "agent/readers.h"

#include "base/grow.h"
#include "clock/ticks.h"
#include "event/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BACKLOG = 16 << 20, BEGIN = BACKLOG / 2, PIECE = 1 << 16 };

/* A place goes free → asked by the agent, asked → open → free by the rings' thread (after that has ended: by
 * the agent). */
enum { FREE, ASKED, OPEN };

struct reader {
    atomic_int state;
    int fd;
    struct gn_wire_writer *writer;
    size_t tried;      /* bytes that waited after the last flush */
    bool full;         /* events are left out */
    uint64_t *missing; /* by location: left out, and not yet told */
    size_t missing_count, missing_capacity;
};

/* What a location has had so far, for those who come later. */
struct past {
    uint64_t events; /* with those that were lost */
    uint64_t last_ticks;
    bool ended;
};

struct gn_readers {
    struct gn_readers_program program;
    struct gn_wire_writer *begin; /* the stream so far, flushed to nobody; NULL: too long, or not begun */
    bool begun;
    bool watched;      /* somebody was there in the last round */
    struct past *past; /* by location */
    size_t past_count, past_capacity;
    struct reader readers[GN_READERS_MAX];
};

struct gn_readers *gn_readers_new(const struct gn_readers_program *program)
{
    struct gn_readers *all = calloc(1, sizeof *all);
    if (all)
        all->program = *program;
    return all;
}

static void close_reader(struct reader *r)
{
    gn_wire_writer_close(r->writer);
    free(r->missing);
    close(r->fd);
    r->writer = NULL;
    r->missing = NULL;
    r->missing_count = r->missing_capacity = 0;
    atomic_store(&r->state, FREE);
}

void gn_readers_free(struct gn_readers *all)
{
    if (!all)
        return;
    for (int i = 0; i < GN_READERS_MAX; i++)
        if (atomic_load(&all->readers[i].state) != FREE)
            close_reader(&all->readers[i]);
    gn_wire_writer_close(all->begin);
    free(all->past);
    free(all);
}

/* ---- the agent ---- */

/* A file would be written to however long that takes. */
static bool is_usable(int fd)
{
    struct stat info;
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && fstat(fd, &info) == 0 &&
           (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)) && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

int gn_readers_add(struct gn_readers *all, int descriptor)
{
    if (!is_usable(descriptor))
        return -EINVAL;
    for (int i = 0; i < GN_READERS_MAX; i++) {
        struct reader *r = &all->readers[i];
        if (atomic_load(&r->state) == FREE) {
            r->fd = descriptor;
            atomic_store(&r->state, ASKED);
            return 0;
        }
    }
    return -EBUSY;
}

/* ---- one reader ---- */

/* Codes of the functions below are those of the wire's writer: anything but 0 is the end of this reader. */

static int flush(struct reader *r)
{
    int code = gn_wire_flush(r->writer, NULL);
    r->tried = gn_wire_waiting(r->writer);
    return code == -EAGAIN ? 0 : code;
}

/* The thread writes a piece each time so much has gathered, and whatever there is once in a round. */
static int flush_pieces(struct reader *r)
{
    return gn_wire_waiting(r->writer) - r->tried >= PIECE ? flush(r) : 0;
}

static int miss(struct reader *r, uint32_t location, uint64_t events)
{
    while (r->missing_count <= location) {
        if (!gn_grow(&r->missing, &r->missing_capacity, r->missing_count, sizeof *r->missing))
            return -ENOMEM;
        r->missing[r->missing_count++] = 0;
    }
    r->missing[location] += events;
    return 0;
}

static int tell_missing(struct reader *r, uint32_t location, uint64_t ticks)
{
    if (location >= r->missing_count || r->missing[location] == 0)
        return 0;
    struct gn_event lost = gn_event_bare(GN_EVENT_LOST, location, ticks);
    lost.request = r->missing[location];
    r->missing[location] = 0;
    return gn_wire_write(r->writer, &lost, NULL);
}

/* Once full, there is room again when half of what waits has gone: not one event and a `lost` event in turn.
 */
static bool has_room(struct reader *r)
{
    size_t waiting = gn_wire_waiting(r->writer);
    r->full = r->full ? waiting > BACKLOG / 2 : waiting > BACKLOG;
    return !r->full;
}

static uint64_t weight(const struct gn_event *event)
{
    return event->kind == GN_EVENT_LOST ? event->request : 1;
}

static int give(struct reader *r, const struct gn_event *event)
{
    if (!has_room(r))
        return miss(r, event->location, weight(event));
    int code = tell_missing(r, event->location, event->ticks);
    if (code == 0)
        code = gn_wire_write(r->writer, event, NULL);
    return code == 0 ? flush_pieces(r) : code;
}

static int give_end(struct gn_readers *all, struct reader *r, uint32_t location)
{
    int code = tell_missing(r, location, all->past[location].last_ticks);
    return code == 0 ? gn_wire_end(r->writer, location, NULL) : code;
}

static int give_past(struct gn_readers *all, struct reader *r)
{
    int code = 0;
    for (uint32_t i = 0; i < all->past_count && code == 0; i++) {
        const struct past *past = &all->past[i];
        code = miss(r, i, past->events);
        if (code == 0)
            code = past->ended ? give_end(all, r, i) : tell_missing(r, i, past->last_ticks);
    }
    return code;
}

static int open_reader(struct gn_readers *all, struct reader *r)
{
    all->program.set_clock(all->program.self);
    r->tried = 0;
    r->full = false;
    int code = all->begin ? gn_wire_copy(&r->writer, r->fd, all->begin, NULL)
                          : gn_wire_create(&r->writer, r->fd, all->program.definitions, GN_NONE, NULL);
    if (code != 0)
        return code;
    gn_wire_hold(r->writer);
    atomic_store(&r->state, OPEN);
    return all->begin ? 0 : give_past(all, r);
}

/* ---- the program's begin ---- */

static void forget_begin(struct gn_readers *all)
{
    gn_wire_writer_close(all->begin);
    all->begin = NULL;
}

static void keep_event(struct gn_readers *all, const struct gn_event *event)
{
    if (!all->begun) {
        all->begun = true;
        if (gn_wire_create(&all->begin, -1, all->program.definitions, GN_NONE, NULL) == 0)
            gn_wire_hold(all->begin);
    }
    if (all->begin && (gn_wire_waiting(all->begin) > BEGIN || gn_wire_write(all->begin, event, NULL) != 0))
        forget_begin(all);
}

static void keep_end(struct gn_readers *all, uint32_t location)
{
    if (all->begin && gn_wire_end(all->begin, location, NULL) != 0)
        forget_begin(all);
}

/* ---- the rings' thread ---- */

static bool is_open(const struct reader *r)
{
    return atomic_load_explicit(&r->state, memory_order_relaxed) == OPEN;
}

static struct past *past_of(struct gn_readers *all, uint32_t location)
{
    while (all->past_count <= location) {
        if (!gn_grow(&all->past, &all->past_capacity, all->past_count, sizeof *all->past))
            return NULL;
        all->past[all->past_count++] = (struct past){0};
    }
    return &all->past[location];
}

void gn_readers_event(struct gn_readers *all, const struct gn_event *event)
{
    struct past *past = past_of(all, event->location);
    if (!past || past->ended)
        return;
    past->events += weight(event);
    past->last_ticks = event->ticks;
    struct gn_event shown = *event;
    shown.path = GN_NONE;
    if (gn_event_has_number(shown.kind))
        shown.number = GN_UNNUMBERED;
    keep_event(all, &shown);
    for (int i = 0; i < GN_READERS_MAX && all->watched; i++)
        if (is_open(&all->readers[i]) && give(&all->readers[i], &shown) != 0)
            close_reader(&all->readers[i]);
}

void gn_readers_end(struct gn_readers *all, uint32_t location)
{
    struct past *past = past_of(all, location);
    if (!past || past->ended)
        return;
    past->ended = true;
    keep_end(all, location);
    for (int i = 0; i < GN_READERS_MAX; i++)
        if (is_open(&all->readers[i]) && give_end(all, &all->readers[i], location) != 0)
            close_reader(&all->readers[i]);
}

bool gn_readers_round(struct gn_readers *all)
{
    bool watched = false;
    for (int i = 0; i < GN_READERS_MAX; i++) {
        struct reader *r = &all->readers[i];
        int state = atomic_load(&r->state), code = 0;
        if (state == ASKED)
            code = open_reader(all, r);
        if (state != FREE && code == 0)
            code = flush(r);
        if (code != 0)
            close_reader(r);
        watched |= is_open(r);
    }
    all->watched = watched;
    return watched;
}

void gn_readers_finish(struct gn_readers *all)
{
    gn_readers_round(all);
    forget_begin(all);
    for (uint32_t i = 0; i < all->program.definitions->location_count; i++)
        gn_readers_end(all, i);
    for (int i = 0; i < GN_READERS_MAX; i++) {
        struct reader *r = &all->readers[i];
        int code = is_open(r) ? gn_wire_finish(r->writer, NULL) : -EAGAIN;
        if (code != -EAGAIN) /* it has everything, or is gone */
            close_reader(r);
    }
}

/* ---- what is left ---- */

static size_t poll_open(struct gn_readers *all, struct pollfd polls[GN_READERS_MAX], int timeout_ms)
{
    size_t count = 0;
    for (int i = 0; i < GN_READERS_MAX; i++) {
        bool open = is_open(&all->readers[i]);
        polls[i] = (struct pollfd){.fd = open ? all->readers[i].fd : -1, .events = POLLOUT};
        count += open;
    }
    return count > 0 && poll(polls, GN_READERS_MAX, timeout_ms) > 0 ? count : 0;
}

void gn_readers_wait(struct gn_readers *all, int patience_ms)
{
    struct pollfd polls[GN_READERS_MAX];
    uint64_t end_ns = gn_monotonic_ns() + 10000000ull * (uint64_t)patience_ms;
    while (gn_monotonic_ns() < end_ns && poll_open(all, polls, patience_ms) > 0)
        for (int i = 0; i < GN_READERS_MAX; i++)
            if (polls[i].revents && gn_wire_flush(all->readers[i].writer, NULL) != -EAGAIN)
                close_reader(&all->readers[i]);
}
