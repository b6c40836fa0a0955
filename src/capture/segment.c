#include "capture/segment.h"

#include "capture/channel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Abstract names belong to nobody: gn_channel_peer makes sure that the agent is of the same user before it is
 * trusted with our memory. */
static int exchange(int fd, struct gn_message *reply, int *descriptor)
{
    struct gn_message hello = {.magic = GN_PROTOCOL_MAGIC,
                               .version = GN_PROTOCOL_VERSION,
                               .kind = GN_HELLO_RANK,
                               .pid = (int32_t)getpid(),
                               .rank = -1};
    int agent;
    int code = gn_channel_peer(fd, &agent);
    if (code == 0)
        code = gn_channel_send(fd, &hello, -1);
    return code != 0 ? code : gn_channel_receive(fd, reply, descriptor);
}

static int map(int descriptor, struct gn_tag **segment)
{
    struct stat info;
    if (fstat(descriptor, &info) != 0 || (size_t)info.st_size < gn_tag_bytes(1))
        return -EPROTO;
    struct gn_tag *tag = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (tag == MAP_FAILED)
        return -errno;
    if (tag->magic != GN_TAG_MAGIC || tag->version != GN_TAG_VERSION ||
        gn_tag_bytes(tag->location_capacity) > (size_t)info.st_size) {
        munmap(tag, (size_t)info.st_size);
        return -EPROTO;
    }
    madvise(tag, (size_t)info.st_size, MADV_DONTFORK); /* a child must not write into its parent's graph */
    *segment = tag;
    return 0;
}

int gn_segment_take(const char *agent, struct gn_tag **segment, char *reason, unsigned long size)
{
    struct gn_message reply = {.magic = 0};
    int descriptor = -1;
    int fd = gn_channel_connect(agent);
    if (fd < 0) {
        snprintf(reason, size, "no agent answers on this host (%s)", strerror(-fd));
        return fd;
    }
    int code = exchange(fd, &reply, &descriptor);
    close(fd);
    if (code == 0 && reply.status != 0)
        code = reply.status;
    if (code == 0)
        code = descriptor >= 0 ? map(descriptor, segment) : -EPROTO;
    if (code != 0)
        snprintf(reason, size, "the agent of this host gave no memory: %s%s%s", strerror(-code),
                 reply.text[0] ? ", " : "", reply.text);
    if (descriptor >= 0)
        close(descriptor);
    return code;
}
