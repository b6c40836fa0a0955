#include "capture/segment.h"

#include "capture/channel.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

/* Pages are taken one by one, but addresses all at once: of a limited address space (ulimit -v) most is the
 * program's, and that of the MPI library, which takes hundreds of MiB only after us. SIZE_MAX: it is not
 * limited. */
static size_t room(void)
{
    struct rlimit space;
    if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    return gn_segment_room(space.rlim_cur);
}

static int32_t room_mib(void)
{
    const size_t mib = room() >> 20;
    return mib > INT32_MAX ? 0 : mib > 0 ? (int32_t)mib : 1;
}

static int exchange(int fd, enum gn_message_kind kind, const char *text, struct gn_message *reply,
                    int *descriptor)
{
    struct gn_message hello = {.magic = GN_PROTOCOL_MAGIC,
                               .version = GN_PROTOCOL_VERSION,
                               .kind = kind,
                               .status = room_mib(),
                               .pid = (int32_t)getpid(),
                               .rank = -1};
    snprintf(hello.text, sizeof hello.text, "%s", text);
    int code = gn_channel_send(fd, &hello, -1);
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
    if (bytes > room())
        return -EFBIG;
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

/* An agent that dies over it is followed by another one, which listens to the same socket. */
static int ask(const char *agent, enum gn_message_kind kind, const char *text, struct gn_message *reply,
               int *descriptor, char *reason, size_t size)
{
    enum { MOST = 3 };
    int code = -ECONNRESET;
    for (int tries = 0; tries < MOST && (code == -ECONNRESET || code == -EPIPE); tries++) {
        int fd = gn_channel_connect(agent, GN_CHANNEL_PATIENCE_MS, NULL);
        if (fd < 0) {
            snprintf(reason, size, "no agent answers on this host (%s)", strerror(-fd));
            return fd;
        }
        code = exchange(fd, kind, text, reply, descriptor);
        close(fd);
    }
    if (code == 0)
        return 0;
    if (*descriptor >= 0)
        close(*descriptor);
    snprintf(reason, size, "the agent of this host gave no memory: %s%s%s", strerror(-code),
             reply->text[0] ? ", " : "", reply->text);
    return code;
}

static int take(const char *agent, enum gn_message_kind kind, bool (*is_right)(const void *, size_t),
                void **segment, struct gn_message *reply, char *reason, size_t size)
{
    int descriptor = -1;
    int code = ask(agent, kind, "", reply, &descriptor, reason, size);
    if (code != 0)
        return code;
    code = map(descriptor, is_right, segment);
    if (code == -EFBIG)
        snprintf(
            reason, size,
            "its address space is limited (ulimit -v): gnomon's tables would take more than a tenth of it");
    else if (code != 0)
        snprintf(reason, size, "the agent of this host gave no memory: %s", strerror(-code));
    if (descriptor >= 0)
        close(descriptor);
    if (code != 0 && kind == GN_HELLO_RANK)
        gn_segment_decline(agent, reason);
    return code;
}

void gn_segment_decline(const char *agent, const char *reason)
{
    struct gn_message reply = {.magic = 0};
    int descriptor = -1, fd = gn_channel_connect(agent, GN_CHANNEL_PATIENCE_MS, NULL);
    if (fd < 0)
        return;
    /* only for being told: an agent that is stopped is not worth more */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = 1}, sizeof(struct timeval));
    if (exchange(fd, GN_UNMEASURED, reason, &reply, &descriptor) == 0 && descriptor >= 0)
        close(descriptor);
    close(fd);
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
