#include "capture/segment.h"

#include "capture/channel.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Abstract names belong to nobody: gn_channel_peer makes sure that the agent is of the same user before it is
 * trusted with our memory. */
static int exchange(int fd, enum gn_message_kind kind, struct gn_message *reply, int *descriptor)
{
    struct gn_message hello = {.magic = GN_PROTOCOL_MAGIC,
                               .version = GN_PROTOCOL_VERSION,
                               .kind = kind,
                               .pid = (int32_t)getpid(),
                               .rank = -1};
    int agent;
    int code = gn_channel_peer(fd, &agent);
    if (code == 0)
        code = gn_channel_send(fd, &hello, -1);
    if (code == 0)
        code = gn_channel_receive(fd, reply, descriptor);
    return code == 0 ? reply->status : code;
}

static bool is_tag(const void *memory, size_t bytes)
{
    const struct gn_tag *tag = memory;
    return bytes >= gn_tag_bytes(1) && tag->magic == GN_TAG_MAGIC && tag->version == GN_TAG_VERSION &&
           gn_tag_bytes(tag->location_capacity) <= bytes;
}

static bool is_rings(const void *memory, size_t bytes)
{
    const struct gn_ring_segment *rings = memory;
    return bytes >= sizeof *rings && rings->magic == GN_RING_MAGIC && rings->version == GN_RING_VERSION &&
           rings->ring_records >= GN_RING_MIN_RECORDS &&
           (rings->ring_records & (rings->ring_records - 1)) == 0 &&
           gn_ring_segment_bytes(rings->location_capacity, rings->ring_records) <= bytes;
}

static int map(int descriptor, bool (*is_right)(const void *, size_t), void **segment)
{
    struct stat info;
    if (descriptor < 0 || fstat(descriptor, &info) != 0 || info.st_size <= 0)
        return -EPROTO;
    size_t bytes = (size_t)info.st_size;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED)
        return -errno;
    if (!is_right(memory, bytes)) {
        munmap(memory, bytes);
        return -EPROTO;
    }
    madvise(memory, bytes, MADV_DONTFORK); /* a child must not write into its parent's graph */
    *segment = memory;
    return 0;
}

static int take(const char *agent, enum gn_message_kind kind, bool (*is_right)(const void *, size_t),
                void **segment, struct gn_message *reply, char *reason, size_t size)
{
    int descriptor = -1;
    int fd = gn_channel_connect(agent);
    if (fd < 0) {
        snprintf(reason, size, "no agent answers on this host (%s)", strerror(-fd));
        return fd;
    }
    int code = exchange(fd, kind, reply, &descriptor);
    close(fd);
    if (code == 0)
        code = map(descriptor, is_right, segment);
    if (code != 0)
        snprintf(reason, size, "the agent of this host gave no memory: %s%s%s", strerror(-code),
                 reply->text[0] ? ", " : "", reply->text);
    if (descriptor >= 0)
        close(descriptor);
    return code;
}

int gn_segment_take(const char *agent, struct gn_tag **segment, bool *several, char *reason,
                    unsigned long size)
{
    struct gn_message reply = {.magic = 0};
    void *memory;
    int code = take(agent, GN_HELLO_RANK, is_tag, &memory, &reply, reason, size);
    if (code == 0)
        *segment = memory;
    *several = code == 0 && reply.rank > 0;
    return code;
}

int gn_segment_take_rings(const char *agent, struct gn_ring_segment **segment, char *reason,
                          unsigned long size)
{
    struct gn_message reply = {.magic = 0};
    void *memory;
    int code = take(agent, GN_HELLO_TRACE, is_rings, &memory, &reply, reason, size);
    if (code == 0) {
        *segment = memory;
        snprintf(reason, size, "%s", reply.text);
    }
    return code;
}
