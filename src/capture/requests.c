#include "capture/requests.h"

#include <string.h>
#include <sys/mman.h>

enum { LINE = 8, LINES = 8192, BUSY = 1 };

struct table {
    _Atomic uintptr_t keys[LINES][LINE];
    struct gn_request requests[LINES][LINE];
};
static struct table *table;
static struct { /* when the run is traced */
    struct gn_request_trace requests[LINES * LINE];
    struct gn_part parts[LINES * LINE][GN_REQUEST_PARTS];
} * traces;
static _Atomic uint32_t displaced; /* insertions that went to their second line, ever */

static void *take(size_t bytes)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

int gn_requests_open(bool traced)
{
    table = take(sizeof *table);
    if (traced)
        traces = take(sizeof *traces);
    return table && (traces || !traced) ? 0 : -1;
}

static uint32_t line_of(gn_handle handle)
{
    return (uint32_t)((handle * 0x9e3779b97f4a7c15ull) >> 40) & (LINES - 1u);
}

static uint32_t second_line(uint32_t line)
{
    return (line * 5u + 1u) & (LINES - 1u);
}

static int32_t claim(uint32_t line)
{
    for (uint32_t i = 0; i < LINE; i++) {
        uintptr_t expected = 0;
        if (GN_GET(table->keys[line][i]) == 0 &&
            atomic_compare_exchange_strong(&table->keys[line][i], &expected, BUSY))
            return (int32_t)(line * LINE + i);
    }
    return -1;
}

bool gn_request_follow(gn_handle handle, const struct gn_request *request,
                       const struct gn_request_trace *trace, const struct gn_part *parts)
{
    if (handle <= BUSY)
        return false;
    uint32_t line = line_of(handle);
    int32_t position = gn_request_find(handle);
    /* found: its end was not seen; the handle has been given out again */
    if (position < 0 || !gn_request_hold(position, handle))
        position = claim(line);
    if (position < 0) {
        position = claim(second_line(line));
        atomic_fetch_add_explicit(&displaced, 1, memory_order_relaxed);
    }
    if (position < 0)
        return false;
    *gn_request_at(position) = *request;
    gn_request_at(position)->traced = trace != NULL;
    if (trace)
        *gn_request_trace_at(position) = *trace;
    if (parts)
        memcpy(gn_request_parts_at(position), parts, trace->parts * sizeof *parts);
    gn_request_release(position, handle);
    return true;
}

static int32_t find_in(uint32_t line, gn_handle handle)
{
    for (uint32_t i = 0; i < LINE; i++)
        if (GN_OBSERVE(table->keys[line][i]) == handle)
            return (int32_t)(line * LINE + i);
    return -1;
}

int32_t gn_request_find(gn_handle handle)
{
    if (handle <= BUSY) /* our own marks; no library's handle */
        return -1;
    uint32_t line = line_of(handle);
    int32_t position = find_in(line, handle);
    if (position < 0 && __builtin_expect(GN_GET(displaced) != 0, 0))
        position = find_in(second_line(line), handle);
    return position;
}

struct gn_request *gn_request_at(int32_t position)
{
    return &table->requests[position / LINE][position % LINE];
}

struct gn_request_trace *gn_request_trace_at(int32_t position)
{
    return &traces->requests[position];
}

struct gn_part *gn_request_parts_at(int32_t position)
{
    return traces->parts[position];
}

static void set_key(int32_t position, uintptr_t key)
{
    GN_PUBLISH(table->keys[position / LINE][position % LINE], key);
}

/* Shared handles are only followed when the run is traced; any other is one thread's to complete. */
bool gn_request_hold(int32_t position, gn_handle handle)
{
    uintptr_t expected = handle;
    if (traces)
        return atomic_compare_exchange_strong(&table->keys[position / LINE][position % LINE], &expected,
                                              BUSY);
    set_key(position, BUSY);
    return true;
}

void gn_request_release(int32_t position, gn_handle handle)
{
    set_key(position, handle);
}

void gn_request_drop(int32_t position)
{
    set_key(position, 0);
}

void gn_requests_lose_comm(gn_handle comm)
{
    for (int32_t position = 0; position < LINES * LINE; position++)
        if (GN_OBSERVE(table->keys[position / LINE][position % LINE]) &&
            gn_request_at(position)->comm == comm)
            gn_request_at(position)->comm = 0;
}
