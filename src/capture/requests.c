#include "capture/requests.h"

#include "capture/counting.h"
#include "capture/facts.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = 8, LINES = 8192, BUSY = 1 };

struct table {
    _Alignas(64) gn_shared64 keys[LINES * LINE]; /* handles, a line's together */
    struct gn_request requests[LINES * LINE];
};
static struct table *table;
static struct {
    struct gn_request_trace requests[LINES * LINE];
    struct gn_capture_part parts[LINES * LINE][GN_REQUEST_PARTS];
} * traces;
static _Atomic uint32_t displaced; /* insertions that went to their second line, ever */
static _Atomic uint32_t doubled;   /* that found their handle followed already, ever */
static bool serial;
static _Atomic uint32_t completing_unrecorded; /* calls */
static struct {
    _Alignas(64) gn_shared32 inside;
} completing[GN_MAX_LOCATIONS];
static _Atomic uint32_t completing_end; /* the highest location that ever was, plus 1 */

static void *take(size_t bytes)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

int gn_requests_open(void)
{
    table = take(sizeof *table);
    traces = take(sizeof *traces);
    return table && traces ? 0 : -1;
}

static uint32_t line_of(gn_handle handle)
{
    return (uint32_t)((handle * 0x9e3779b97f4a7c15ull) >> 40) & (LINES - 1u);
}

static uint32_t second_line(uint32_t line)
{
    return (line * 5u + 1u) & (LINES - 1u);
}

static bool claim_key(gn_shared64 *key)
{
    uint64_t expected = 0;
    if (GN_GET(*key) != 0)
        return false;
    if (!serial)
        return atomic_compare_exchange_strong(key, &expected, BUSY);
    GN_SET(*key, BUSY);
    return true;
}

static int32_t claim(uint32_t line)
{
    for (uint32_t i = 0; i < LINE; i++)
        if (claim_key(&table->keys[line * LINE + i]))
            return (int32_t)(line * LINE + i);
    return -1;
}

void gn_requests_serial(bool one_at_a_time)
{
    serial = one_at_a_time;
}

void gn_requests_completing(uint32_t location, bool inside)
{
    if (serial)
        return;
    if (location >= GN_MAX_LOCATIONS) {
        atomic_fetch_add(&completing_unrecorded, inside ? 1u : -1u);
        return;
    }
    uint32_t end = GN_GET(completing_end);
    while (__builtin_expect(end <= location, 0) &&
           !atomic_compare_exchange_weak(&completing_end, &end, location + 1))
        ;
    GN_PUBLISH(completing[location].inside, inside); /* after what was taken is gone */
}

static bool others_complete(uint32_t location)
{
    uint32_t end = serial ? 0 : GN_OBSERVE(completing_end);
    for (uint32_t i = 0; i < end; i++)
        if (i != location && GN_OBSERVE(completing[i].inside))
            return true;
    return !serial && GN_OBSERVE(completing_unrecorded);
}

static gn_shared64 *key_at(int32_t position)
{
    return &table->keys[position];
}

static void set_key(int32_t position, uint64_t key)
{
    GN_PUBLISH(*key_at(position), key);
}

static bool hold(int32_t position, gn_handle handle)
{
    uint64_t expected = handle;
    if (!serial)
        return atomic_compare_exchange_strong(key_at(position), &expected, BUSY);
    set_key(position, BUSY);
    return true;
}

/* Where an entry of this handle was left behind; -1: it is not left behind (rule 1). */
static int32_t replace(gn_handle handle, bool others)
{
    int32_t position, other;
    if (others) {
        atomic_fetch_add_explicit(&doubled, 1, memory_order_relaxed);
        return -1;
    }
    position = gn_request_take(handle, GN_NEWEST); /* what was being completed is gone by now */
    if (position >= 0)
        gn_counted_freed(gn_request_at(position));
    while (GN_GET(doubled) && (other = gn_request_take(handle, GN_NEWEST)) >= 0)
        gn_request_drop(other);
    return position;
}

static bool may_share(uint8_t kind)
{
    return kind >= GN_SEND && kind != GN_MESSAGE;
}

static void fill(int32_t position, const struct gn_request *request, const struct gn_request_trace *trace,
                 const struct gn_capture_part *parts)
{
    enum {
        SINCE = offsetof(struct gn_request, since_ticks),
        AFTER = SINCE + sizeof(uint64_t),
        AT = offsetof(struct gn_request, at)
    };
    struct gn_request *to = gn_request_at(position);
    /* others may look at when it was followed, who found its handle here a moment ago */
    __atomic_store_n(&to->since_ticks, request->since_ticks, __ATOMIC_RELAXED);
    memcpy(to, request, SINCE);
    memcpy((char *)to + AFTER, (const char *)request + AFTER, AT - AFTER);
    if (request->kind <= GN_SEND || request->kind == GN_MESSAGE)
        to->at = request->at;
    to->traced = trace != NULL;
    if (trace)
        *gn_request_trace_at(position) = *trace;
    if (trace && parts)
        memcpy(gn_request_parts_at(position), parts, trace->parts * sizeof *parts);
}

enum gn_follow_result gn_request_follow(uint32_t location, gn_handle handle, const struct gn_request *request,
                                        const struct gn_request_trace *trace,
                                        const struct gn_capture_part *parts)
{
    if (handle <= BUSY)
        return GN_NO_ROOM;
    int32_t position = gn_request_find(handle, GN_NEWEST);
    if (__builtin_expect(position >= 0, 0)) {
        bool others = others_complete(location);
        if (!others && may_share(request->kind) && may_share(gn_request_at(position)->kind) &&
            gn_request_find(handle, GN_NEWEST) >= 0)
            return GN_SHARED;
        position = replace(handle, others);
    }
    uint32_t line = line_of(handle);
    if (position < 0)
        position = claim(line);
    if (position < 0) {
        position = claim(second_line(line));
        atomic_fetch_add_explicit(&displaced, 1, memory_order_relaxed);
    }
    if (position < 0)
        return GN_NO_ROOM;
    fill(position, request, trace, parts);
    set_key(position, handle);
    return GN_FOLLOWED;
}

static uint64_t since(int32_t position)
{
    return __atomic_load_n(&gn_request_at(position)->since_ticks, __ATOMIC_RELAXED);
}

struct found {
    int32_t position;
    uint64_t since_ticks; /* as it was seen: the entry may be another one by now */
};

/* The newer one of `best` and what is in the line. */
static struct found find_in(uint32_t line, gn_handle handle, uint64_t before_ticks, struct found best)
{
    for (uint32_t i = 0; i < LINE; i++) {
        if (GN_OBSERVE(table->keys[line * LINE + i]) != handle)
            continue;
        int32_t position = (int32_t)(line * LINE + i);
        uint64_t ticks = since(position);
        if (ticks <= before_ticks && (best.position < 0 || ticks > best.since_ticks))
            best = (struct found){position, ticks};
    }
    return best;
}

/* As long as no handle was ever followed twice at a time, any one is the newest. */
static inline int32_t find_single(uint32_t line, gn_handle handle)
{
    for (uint32_t i = 0; i < LINE; i++)
        if (GN_OBSERVE(table->keys[line * LINE + i]) == handle)
            return (int32_t)(line * LINE + i);
    return -1;
}

static __attribute__((noinline)) int32_t find_newest(uint32_t line, gn_handle handle, uint64_t before_ticks)
{
    struct found found = find_in(line, handle, before_ticks, (struct found){-1, 0});
    if (GN_GET(displaced))
        found = find_in(second_line(line), handle, before_ticks, found);
    return found.position;
}

int32_t gn_request_find(gn_handle handle, uint64_t before_ticks)
{
    if (handle <= BUSY) /* our own marks; no library's handle */
        return -1;
    uint32_t line = line_of(handle);
    if (__builtin_expect(GN_GET(doubled) != 0, 0))
        return find_newest(line, handle, before_ticks);
    int32_t position = find_single(line, handle);
    if (__builtin_expect(position < 0 && GN_GET(displaced) != 0, 0))
        position = find_single(second_line(line), handle);
    return position;
}

int32_t gn_request_take(gn_handle handle, uint64_t before_ticks)
{
    for (;;) {
        int32_t position = gn_request_find(handle, before_ticks);
        if (position < 0)
            return -1;
        if (!hold(position, handle)) /* another thread's: it may be one of several */
            continue;
        if (__builtin_expect(GN_GET(doubled) == 0 || since(position) <= before_ticks, 1))
            return position;
        set_key(position,
                handle); /* meanwhile it has ended, and its place is another one's with this handle */
    }
}

struct gn_request *gn_request_at(int32_t position)
{
    return &table->requests[position];
}

struct gn_request_trace *gn_request_trace_at(int32_t position)
{
    return &traces->requests[position];
}

struct gn_capture_part *gn_request_parts_at(int32_t position)
{
    return traces->parts[position];
}

void gn_request_release(int32_t position, gn_handle handle)
{
    set_key(position, handle);
}

void gn_request_drop(int32_t position)
{
    struct gn_request *request = gn_request_at(position);
    if (__builtin_expect(request->counting | request->cancelling, 0))
        gn_counted_freed(request);
    if (__builtin_expect(request->fortran != 0, 0))
        gn_fortran_forget(request->fortran - 1);
    set_key(position, 0);
}

int32_t gn_request_refile(uint32_t location, int32_t position, gn_handle handle, uint32_t fortran,
                          uint64_t since_ticks)
{
    struct gn_request *before = gn_request_at(position), after = *before;
    after.fortran = fortran;
    after.since_ticks = since_ticks;
    bool followed =
        gn_request_follow(location, handle, &after, after.traced ? gn_request_trace_at(position) : NULL,
                          gn_request_parts_at(position)) == GN_FOLLOWED;
    if (followed)
        before->counting = before->cancelling = 0; /* the other one's now */
    gn_request_drop(position);
    return followed ? gn_request_find(handle, GN_NEWEST) : -1;
}

void gn_requests_lose_comm(gn_handle comm, uint32_t number)
{
    for (int32_t position = 0; position < LINES * LINE; position++) {
        if (!GN_OBSERVE(*key_at(position)))
            continue;
        struct gn_request *request = gn_request_at(position);
        if (request->comm == comm)
            request->comm = 0;
        if (gn_request_is_persistent(request) && request->at.comm == number)
            request->orphaned = 1;
    }
}
