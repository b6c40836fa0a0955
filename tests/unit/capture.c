#include "capture.h"

#include "clock/ticks.h"

#include <sys/mman.h>
#include <unwind.h>

/* The plain unwinder: the guarded one of capture/unwind_guard.c needs a linker's help. */
bool gn_guarded_backtrace(int (*step)(void *context, void *argument), void *argument)
{
    _Unwind_Backtrace((_Unwind_Trace_Fn)(void *)step, argument);
    return true;
}

__thread const void *test_last_frame;

struct gn_tag *test_segment(uint32_t locations)
{
    struct gn_tag *segment = mmap(NULL, gn_tag_bytes(locations), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (segment == MAP_FAILED)
        return NULL;
    segment->magic = GN_TAG_MAGIC;
    segment->version = GN_TAG_VERSION;
    segment->header_bytes = (uint32_t)sizeof *segment;
    segment->segment_bytes = gn_tag_bytes(locations);
    segment->location_capacity = locations;
    segment->counter = gn_tick_source();
    segment->rank = -1;
    return segment;
}

static void leave_after(struct gn_capture_call *call, uint64_t ticks)
{
    call->exit_ticks = call->enter_ticks + ticks;
    gn_leave(call, 0);
    call->recorder->previous_exit_ticks = call->enter_ticks; /* the made-up duration did not really pass */
}

__attribute__((noipa)) uint32_t test_call(uint32_t activity, uint64_t ticks)
{
    struct gn_capture_call call = {.binding = 0};
    test_last_frame = GN_FRAME;
    if (!gn_enter(&call, activity, GN_CALLER, GN_FRAME))
        return UINT32_MAX;
    leave_after(&call, ticks);
    return call.node;
}

/* The path by the library's unwinder. */
static uint32_t unwound_path(struct gn_registers at)
{
    static struct gn_registers walked[GN_MAX_DEPTH];
    static struct gn_stack_frame stack[GN_MAX_DEPTH];
    bool cut;
    uint32_t count = gn_unwind_slowly(at, walked, GN_MAX_DEPTH);
    for (uint32_t i = 0; i < count; i++) {
        struct gn_ip_facts code;
        gn_ip_facts_at(gn_segment, walked[i].ip, &code);
        stack[count - 1 - i] =
            (struct gn_stack_frame){.ip = walked[i].ip, .function = code.function, .module = code.module};
    }
    uint32_t path;
    gn_callpath_find(gn_segment, stack, count, &path, &cut);
    return path;
}

__attribute__((noipa)) uint32_t test_call_unwound(uint32_t activity, uint32_t *path)
{
    struct gn_capture_call call = {.binding = 0};
    *path = unwound_path((struct gn_registers){.ip = (uintptr_t)GN_CALLER});
    if (!gn_enter(&call, activity, GN_CALLER, GN_FRAME))
        return UINT32_MAX;
    leave_after(&call, 1);
    return call.node;
}

__attribute__((noipa)) uint32_t test_send(uint32_t activity, uint64_t ticks, uint32_t peer, uint64_t bytes)
{
    struct gn_capture_call call = {.binding = 0};
    if (!gn_enter(&call, activity, GN_CALLER, GN_FRAME))
        return UINT32_MAX;
    call.bytes = bytes;
    call.messages = 1;
    gn_record_sent(call.recorder, call.node, peer, bytes);
    leave_after(&call, ticks);
    return call.node;
}

__attribute__((noipa)) uint32_t test_call_around(uint32_t activity, void (*inside)(void *), void *argument)
{
    struct gn_capture_call call = {.binding = 0};
    bool recorded = gn_enter(&call, activity, GN_CALLER, GN_FRAME);
    inside(argument);
    if (!recorded)
        return UINT32_MAX;
    leave_after(&call, 1);
    return call.node;
}

__attribute__((noipa)) void test_region(const char *name, bool begin)
{
    gn_record_region(name, begin, GN_CALLER, GN_FRAME, 0, 0);
    __asm__ volatile("" ::: "memory"); /* not a tail call: the frame must be there */
}

__attribute__((noipa)) void test_switch(bool on)
{
    gn_record_switch(on, GN_CALLER, GN_FRAME);
    __asm__ volatile("" ::: "memory");
}

struct gn_location *test_location(void)
{
    return &gn_segment->locations[0];
}

uint64_t test_edge_count(const struct gn_location *location)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < GN_GET(location->edge_count); i++)
        sum += GN_GET(location->edges[i].time.count);
    return sum;
}
