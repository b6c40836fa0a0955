#include "probe.h"

#include "capture/recorder.h"
#include "clock/ticks.h"

#include <sys/mman.h>

enum { LOCATIONS = 64, ACTIVITY = 1, OVERFLOW_NODE = 2 };

int gn_probe_open(void)
{
    struct gn_tag *segment = mmap(NULL, gn_tag_bytes(LOCATIONS), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (segment == MAP_FAILED)
        return -1;
    segment->magic = GN_TAG_MAGIC;
    segment->version = GN_TAG_VERSION;
    segment->header_bytes = (uint32_t)sizeof *segment;
    segment->segment_bytes = gn_tag_bytes(LOCATIONS);
    segment->location_capacity = LOCATIONS;
    segment->counter = gn_tick_source();
    segment->rank = -1;
    return gn_recorder_open(segment, gn_ticks());
}

/* By the library's unwinder: what a walk finds shows in the recorder's path only, since it keeps a procedure
 * that calls itself once. */
unsigned gn_probe_path(void *caller, void *frame, struct probe_frame *frames, unsigned max)
{
    static __thread struct gn_registers walked[GN_MAX_DEPTH];
    unsigned count = gn_unwind_slowly(gn_registers_of(caller, frame), walked, GN_MAX_DEPTH);
    for (unsigned i = 0; i < count && i < max; i++)
        frames[i].ip = walked[i].ip;
    return count < max ? count : max;
}

static unsigned read_path(uint32_t path, struct probe_kept *kept, unsigned max)
{
    unsigned depth = 0;
    for (uint32_t at = path; at; at = gn_segment->frames[at].parent)
        depth++;
    for (unsigned i = depth; path && depth <= max; path = gn_segment->frames[path].parent) {
        const struct gn_tag_frame *frame = &gn_segment->frames[path];
        kept[--i] = (struct probe_kept){frame->module ? gn_segment->modules[frame->module].path : "",
                                        frame->offset, frame->folded};
    }
    return depth <= max ? depth : 0;
}

static __thread const struct gn_location *here;

int gn_probe_recorded(void *caller, void *frame, struct probe_kept *kept, unsigned max)
{
    struct gn_capture_call call = {.binding = 0};
    uint64_t cut = here ? GN_GET(here->lost_paths) : 0;
    if (!gn_enter(&call, ACTIVITY, caller, frame))
        return -1;
    call.exit_ticks = gn_ticks();
    gn_leave(&call, 0);
    here = call.recorder->location;
    if (call.node == OVERFLOW_NODE || GN_GET(here->lost_paths) != cut ||
        GN_GET(gn_segment->frame_count) == GN_MAX_FRAMES)
        return -1;
    return (int)read_path(GN_GET(here->nodes[call.node].path), kept, max);
}

unsigned long gn_probe_unwound(void)
{
    unsigned long sum = 0;
    for (uint32_t i = 0; i < GN_OBSERVE(gn_segment->location_count) && i < LOCATIONS; i++)
        sum += (unsigned long)GN_GET(gn_segment->locations[i].unwound);
    return sum;
}

unsigned gn_probe_paths(void)
{
    return GN_GET(gn_segment->frame_count);
}
