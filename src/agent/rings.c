#include "agent/rings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map(struct gn_rings *r, uint32_t locations, uint32_t ring_records, int file)
{
    *r = (struct gn_rings){.bytes = gn_ring_segment_bytes(locations, ring_records),
                           .locations = locations,
                           .ring_records = ring_records,
                           .places = calloc(locations, sizeof *r->places)};
    void *memory = r->places
                       ? mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0)
                       : MAP_FAILED;
    if (memory == MAP_FAILED) {
        int code = r->places ? -errno : -ENOMEM;
        free(r->places);
        return code;
    }
    r->segment = memory;
    return 0;
}

int gn_rings_map(struct gn_rings *r, uint32_t locations, uint32_t ring_records, int file)
{
    struct stat info;
    if (fstat(file, &info) != 0 || (size_t)info.st_size != gn_ring_segment_bytes(locations, ring_records))
        return -EPROTO;
    return map(r, locations, ring_records, file);
}

int gn_rings_make(struct gn_rings *r, uint32_t locations, uint32_t ring_records, bool block, int *file)
{
    *file = memfd_create("gnomon-rings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*file < 0)
        return -errno;
    /* sealed: nobody can cut the file short under a mapping of ours */
    int code = ftruncate(*file, (off_t)gn_ring_segment_bytes(locations, ring_records)) == 0 &&
                       fcntl(*file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0
                   ? map(r, locations, ring_records, *file)
                   : -errno;
    if (code != 0) {
        close(*file);
        return code;
    }
    r->segment->version = GN_RING_VERSION;
    r->segment->location_capacity = locations;
    r->segment->segment_bytes = r->bytes;
    r->segment->ring_records = ring_records;
    r->segment->block = block;
    r->segment->magic = GN_RING_MAGIC;
    return 0;
}

void gn_rings_close(struct gn_rings *r)
{
    munmap(r->segment, r->bytes);
    free(r->places);
}

static void copy(struct gn_record *to, struct gn_ring *ring, uint64_t first, size_t count, uint64_t mask)
{
    for (size_t i = 0; i < count; i++) {
        struct gn_ring_slot *slot = &gn_ring_slots(ring)[(first + i) & mask];
        for (int word = 0; word < 4; word++)
            to[i].word[word] = GN_GET(slot->word[word]);
    }
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* R1 to R5 of image/recorder_ring.h. A writer that is about to overwrite what we begin with would take it
 * from under us again and again: after a loss we begin a little further on. */
size_t gn_rings_take(struct gn_rings *r, uint32_t location, struct gn_record *records, size_t max,
                     uint64_t *first, size_t *waiting)
{
    struct gn_ring *ring = gn_ring_of(r->segment, location, r->ring_records);
    struct gn_rings_place *p = &r->places[location];
    uint64_t head = GN_OBSERVE(ring->head), oldest = gn_ring_oldest(head, r->ring_records);
    *first = p->tail;
    *waiting = 0;
    if (head < p->tail ||
        head - p->tail > GN_RING_MOST_LOST) { /* nobody writes that far: begin where it claims to be */
        p->skipped++;
        p->tail = *first = head;
        GN_PUBLISH(ring->tail, head);
        return 0;
    }
    uint64_t from = oldest > p->tail ? oldest + r->ring_records / 16 : p->tail;
    size_t count = head - from < max ? head - from : max;
    *waiting = head - from;
    copy(records, ring, from, count, r->ring_records - 1);
    atomic_thread_fence(memory_order_acquire);
    uint64_t valid = later(from, gn_ring_oldest(GN_GET(ring->head), r->ring_records));
    size_t gone = valid - from < count ? valid - from : count;
    memmove(records, records + gone, (count - gone) * sizeof *records);
    *first = from + gone;
    if (from + count != p->tail) { /* an idle ring's memory stays untouched */
        p->tail = from + count;
        GN_PUBLISH(ring->tail, p->tail);
    }
    return count - gone;
}

uint64_t gn_rings_skip(struct gn_rings *r, uint32_t location)
{
    struct gn_ring *ring = gn_ring_of(r->segment, location, r->ring_records);
    struct gn_rings_place *p = &r->places[location];
    const uint64_t head = GN_OBSERVE(ring->head);
    if (head > p->tail && head - p->tail <= GN_RING_MOST_LOST) {
        p->tail = head;
        GN_PUBLISH(ring->tail, p->tail);
    }
    return p->tail;
}

size_t gn_rings_last(const struct gn_rings *r, uint32_t location, struct gn_record *records, size_t max,
                     uint64_t *first)
{
    struct gn_ring *ring = gn_ring_of(r->segment, location, r->ring_records);
    const uint64_t head = GN_OBSERVE(ring->head), oldest = gn_ring_oldest(head, r->ring_records);
    const uint64_t from = head - oldest > max ? head - max : oldest;
    const size_t count = head - from;
    copy(records, ring, from, count, r->ring_records - 1);
    atomic_thread_fence(memory_order_acquire);
    const uint64_t valid = later(from, gn_ring_oldest(GN_GET(ring->head), r->ring_records));
    const size_t gone = valid - from < count ? valid - from : count;
    memmove(records, records + gone, (count - gone) * sizeof *records);
    *first = from + gone;
    return count - gone;
}

void gn_rings_alive(struct gn_rings *r)
{
    GN_ADD(r->segment->alive, 1);
}
