#include "capture/segment.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* Abstract names belong to nobody: only an agent of the same user is trusted with our memory. */
static bool is_own_agent(int fd)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == geteuid();
}

static int open_connection(const char *agent)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(agent);
    if (length == 0 || length > sizeof address.sun_path - 1)
        return -EINVAL;
    memcpy(address.sun_path + 1, agent, length); /* abstract: a leading zero byte */
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    struct timeval patience = {.tv_sec = 5};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    if (connect(fd, (struct sockaddr *)&address, bytes) != 0) {
        int code = -errno;
        close(fd);
        return code;
    }
    if (!is_own_agent(fd)) {
        close(fd);
        return -EPERM;
    }
    return fd;
}

/* Receives the reply and the descriptor that may come with it (-1 otherwise). */
static int receive(int fd, struct gn_message *reply, int *descriptor)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec data = {reply, sizeof *reply};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    *descriptor = -1;
    ssize_t bytes = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    if (bytes < 0)
        return -errno;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
        memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
    if (bytes != sizeof *reply || reply->magic != GN_PROTOCOL_MAGIC || reply->version != GN_PROTOCOL_VERSION)
        return -EPROTO;
    return 0;
}

static int exchange(int fd, struct gn_message *reply, int *descriptor)
{
    struct gn_message hello = {.magic = GN_PROTOCOL_MAGIC,
                               .version = GN_PROTOCOL_VERSION,
                               .kind = GN_HELLO_RANK,
                               .pid = (int32_t)getpid(),
                               .rank = -1};
    if (send(fd, &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)
        return -errno;
    return receive(fd, reply, descriptor);
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
    int fd = open_connection(agent);
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
