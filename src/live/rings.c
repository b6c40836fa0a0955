#include "live/rings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int gn_rings_make(struct gn_rings *r, uint32_t locations, uint32_t ring_events, bool block, int *file)
{
    *r = (struct gn_rings){.bytes = gn_ring_segment_bytes(locations, ring_events),
                           .locations = locations,
                           .ring_events = ring_events,
                           .places = calloc(locations, sizeof *r->places)};
    *file = r->places ? memfd_create("gnomon-rings", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
    r->segment = MAP_FAILED;
    /* sealed: nobody can cut the file short under a mapping of ours */
    if (*file >= 0 && ftruncate(*file, (off_t)r->bytes) == 0 &&
        fcntl(*file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        r->segment = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, *file, 0);
    if (r->segment == MAP_FAILED) {
        int code = -errno;
        if (*file >= 0)
            close(*file);
        free(r->places);
        return code;
    }
    r->segment->version = GN_RING_VERSION;
    r->segment->location_capacity = locations;
    r->segment->segment_bytes = r->bytes;
    r->segment->ring_events = ring_events;
    r->segment->block = block;
    r->segment->magic = GN_RING_MAGIC;
    return 0;
}

void gn_rings_close(struct gn_rings *r)
{
    munmap(r->segment, r->bytes);
    free(r->places);
}

size_t gn_rings_take(struct gn_rings *r, uint32_t location, struct gn_event *events, size_t max,
                     size_t *waiting)
{
    struct gn_ring *ring = gn_ring_of(r->segment, location, r->ring_events);
    struct gn_rings_place *p = &r->places[location];
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire), there = head - p->tail;
    if (there > r->ring_events) { /* nobody writes that far: begin again where it claims to be */
        p->skipped++;
        p->tail = head;
        atomic_store_explicit(&ring->tail, head, memory_order_release);
        there = 0;
    }
    if (waiting)
        *waiting = there;
    size_t count = there < max ? there : max;
    size_t first = p->tail & (r->ring_events - 1), before_wrap = r->ring_events - first;
    size_t straight = count < before_wrap ? count : before_wrap;
    memcpy(events, gn_ring_events(ring) + first, straight * sizeof *events);
    memcpy(events + straight, gn_ring_events(ring), (count - straight) * sizeof *events);
    p->tail += count;
    if (count > 0) /* an idle ring's memory stays untouched */
        atomic_store_explicit(&ring->tail, p->tail, memory_order_release);
    for (size_t i = 0; i < count; i++)
        if (events[i].kind == GN_EVENT_LOST)
            p->announced += events[i].request;
    return count;
}

uint64_t gn_rings_untold(struct gn_rings *r, uint32_t location)
{
    struct gn_ring *ring = gn_ring_of(r->segment, location, r->ring_events);
    struct gn_rings_place *p = &r->places[location];
    uint64_t dropped = atomic_load_explicit(&ring->dropped, memory_order_relaxed);
    uint64_t untold = dropped > p->announced ? dropped - p->announced : 0;
    p->announced += untold;
    return untold;
}

void gn_rings_alive(struct gn_rings *r)
{
    atomic_fetch_add_explicit(&r->segment->alive, 1, memory_order_relaxed);
}
