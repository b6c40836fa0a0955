#include "capture/channel.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static socklen_t address_of(const char *name, struct sockaddr_un *address)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    size_t length = strnlen(name, sizeof address->sun_path - 1);
    memcpy(address->sun_path + 1, name, length); /* abstract: a leading zero byte */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

enum { ANSWER_MS = 10000 }; /* of a peer who is known to be the same user's */

static void limit_time(int fd, unsigned send_ms, unsigned answer_ms)
{
    struct timeval send = {send_ms / 1000, send_ms % 1000 * 1000},
                   answer = {answer_ms / 1000, answer_ms % 1000 * 1000};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &send, sizeof send);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &answer, sizeof answer);
}

enum { BACKLOG = 4096 }; /* who finds it full cannot see whose it is; the kernel may allow less */

int gn_channel_listen(const char *name)
{
    struct sockaddr_un address;
    socklen_t bytes = address_of(name, &address);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (bind(fd, (struct sockaddr *)&address, bytes) != 0 || listen(fd, BACKLOG) != 0) {
        int code = -errno;
        close(fd);
        return code;
    }
    return fd;
}

int gn_channel_connect(const char *name, unsigned patience_ms, struct gn_channel_peer *peer)
{
    struct gn_channel_peer ignored;
    struct sockaddr_un address;
    socklen_t bytes = address_of(name, &address);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    limit_time(fd, patience_ms, ANSWER_MS);
    int code = connect(fd, (struct sockaddr *)&address, bytes) == 0 ? 0 : -errno;
    if (code == 0)
        code = gn_channel_peer(fd, peer ? peer : &ignored);
    if (code == 0)
        return fd;
    close(fd);
    return code;
}

bool gn_channel_is_there(const char *name)
{
    struct sockaddr_un address;
    socklen_t bytes = address_of(name, &address);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool refused = fd >= 0 && connect(fd, (struct sockaddr *)&address, bytes) != 0 && errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return !refused;
}

int gn_channel_pass(int fd, const void *bytes, size_t size, int descriptor)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec data = {(void *)bytes, size};
    struct msghdr packet = {.msg_iov = &data, .msg_iovlen = 1};
    if (descriptor >= 0) {
        memset(&control, 0, sizeof control);
        packet.msg_control = &control;
        packet.msg_controllen = sizeof control;
        struct cmsghdr *header = CMSG_FIRSTHDR(&packet);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    ssize_t sent = sendmsg(fd, &packet, MSG_NOSIGNAL);
    return sent == (ssize_t)size ? 0 : sent < 0 ? -errno : -EPROTO;
}

int gn_channel_send(int fd, const struct gn_message *message, int descriptor)
{
    return gn_channel_pass(fd, message, sizeof *message, descriptor);
}

static int descriptor_in(struct msghdr *packet)
{
    int found = -1;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(packet); header; header = CMSG_NXTHDR(packet, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof descriptor);
            if (found < 0)
                found = descriptor;
            else
                close(descriptor); /* one was agreed on */
        }
    }
    return found;
}

ssize_t gn_channel_take(int fd, void *bytes, size_t size, int *descriptor)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(4 * sizeof(int))];
    } control;
    struct iovec data = {bytes, size};
    struct msghdr packet = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    *descriptor = -1;
    ssize_t received = recvmsg(fd, &packet, MSG_CMSG_CLOEXEC);
    if (received < 0)
        return -errno;
    *descriptor = descriptor_in(&packet);
    return received;
}

int gn_channel_receive(int fd, struct gn_message *message, int *descriptor)
{
    ssize_t bytes = gn_channel_take(fd, message, sizeof *message, descriptor);
    if (bytes == sizeof *message && message->magic == GN_PROTOCOL_MAGIC &&
        message->version == GN_PROTOCOL_VERSION) {
        message->text[sizeof message->text - 1] = '\0';
        return 0;
    }
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
    return bytes < 0 ? (int)bytes : bytes == 0 ? -ECONNRESET : -EPROTO;
}

int gn_channel_peer(int fd, struct gn_channel_peer *peer)
{
    struct ucred credentials;
    socklen_t bytes = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0)
        return -errno;
    *peer = (struct gn_channel_peer){(int)credentials.pid, credentials.uid};
    return credentials.uid == geteuid() ? 0 : -EPERM;
}
