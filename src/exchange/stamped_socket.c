/* exchange/stamped_socket — a UDP socket whose datagrams come and go with readings of the counter. */
#include "exchange/stamped_socket.h"

#include "clock/ticks.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    CONTROL = 512,
    STAMP_PATIENCE_NS = 1000000,
    TOO_MANY_MISSING = 16,
    GIVEN = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_OPT_ID |
            SOF_TIMESTAMPING_OPT_TSONLY
};

union control {
    char bytes[CONTROL];
    struct cmsghdr align;
};

/* ---- opening ---- */

static int bind_any(struct gn_stamped_socket *s)
{
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6};
    struct sockaddr_in any4 = {.sin_family = AF_INET};
    int off = 0, on = 1;
    s->fd = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->fd >= 0 && setsockopt(s->fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0 &&
        bind(s->fd, (struct sockaddr *)&any6, sizeof any6) == 0)
        return setsockopt(s->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on), 0;
    if (s->fd >= 0)
        close(s->fd);
    s->only_v4 = true; /* a kernel without IPv6, or with it disabled */
    s->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return s->fd >= 0 && bind(s->fd, (struct sockaddr *)&any4, sizeof any4) == 0 ? 0 : -errno;
}

static int find_port(struct gn_stamped_socket *s)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } name;
    socklen_t size = sizeof name;
    if (getsockname(s->fd, &name.any, &size) != 0)
        return -errno;
    s->port = ntohs(name.any.sa_family == AF_INET6 ? name.v6.sin6_port : name.v4.sin_port);
    return 0;
}

static void ask_for_stamps(struct gn_stamped_socket *s)
{
    int given = GIVEN;
    s->kernel = setsockopt(s->fd, SOL_SOCKET, SO_TIMESTAMPING, &given, sizeof given) == 0;
    if (!s->kernel)
        s->why_not = errno == EPERM ? "not permitted" : "not supported by this kernel";
}

int gn_stamped_socket_open(struct gn_stamped_socket *s, const struct gn_counter *counter, bool kernel,
                           struct gn_error *err)
{
    memset(s, 0, sizeof *s);
    int code = bind_any(s);
    if (code == 0)
        code = find_port(s);
    if (code != 0) {
        if (s->fd >= 0)
            close(s->fd);
        return gn_fail(err, code, "cannot open a UDP socket for exchanges of clock readings: %s",
                       strerror(-code));
    }
    if (kernel)
        ask_for_stamps(s);
    gn_kernel_clock_open(&s->clock, counter->hz, counter->hz_error_ppb);
    return 0;
}

void gn_stamped_socket_close(struct gn_stamped_socket *s)
{
    close(s->fd);
    gn_kernel_clock_close(&s->clock);
    s->fd = -1;
}

/* ---- stamps ---- */

static bool take_stamp(const struct cmsghdr *c, int64_t *stamp_ns)
{
    struct scm_timestamping stamps;
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPING ||
        c->cmsg_len < CMSG_LEN(sizeof stamps))
        return false;
    memcpy(&stamps, CMSG_DATA(c), sizeof stamps);
    *stamp_ns = (int64_t)stamps.ts[0].tv_sec * 1000000000 + stamps.ts[0].tv_nsec;
    return *stamp_ns != 0;
}

static bool take_number(const struct cmsghdr *c, uint32_t *number)
{
    struct sock_extended_err error;
    bool v4 = c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR;
    bool v6 = c->cmsg_level == SOL_IPV6 && c->cmsg_type == IPV6_RECVERR;
    if ((!v4 && !v6) || c->cmsg_len < CMSG_LEN(sizeof error))
        return false;
    memcpy(&error, CMSG_DATA(c), sizeof error);
    *number = error.ee_data;
    return error.ee_origin == SO_EE_ORIGIN_TIMESTAMPING && error.ee_info == SCM_TSTAMP_SND;
}

/* The next of the error queue. 1: a stamp; 0: something else; -1: the queue is empty. */
static int next_stamp(struct gn_stamped_socket *s, uint32_t *number, int64_t *stamp_ns)
{
    union control control;
    struct msghdr message = {.msg_control = &control, .msg_controllen = sizeof control};
    bool has_stamp = false, has_number = false;
    if (recvmsg(s->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
        return -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        has_stamp |= take_stamp(c, stamp_ns);
        has_number |= take_number(c, number);
    }
    return has_stamp && has_number;
}

/* A higher number than was wanted: the kernel has counted a datagram that it did not send. The stamp is of
 * this datagram or an earlier one: never too late. */
static bool find_stamp(struct gn_stamped_socket *s, uint32_t wanted, int64_t *stamp_ns)
{
    uint32_t number;
    for (int got; (got = next_stamp(s, &number, stamp_ns)) >= 0;)
        if (got && (int32_t)(number - wanted) >= 0) {
            s->next_stamp = number + 1;
            return true;
        }
    return false;
}

/* As a rule it is there when sending has returned. */
static bool wait_for_stamp(struct gn_stamped_socket *s, uint32_t wanted, int64_t *stamp_ns)
{
    struct pollfd error_queue = {.fd = s->fd, .events = 0};
    const struct timespec patience = {.tv_nsec = STAMP_PATIENCE_NS};
    if (find_stamp(s, wanted, stamp_ns))
        return true;
    return s->missing < TOO_MANY_MISSING && ppoll(&error_queue, 1, &patience, NULL) > 0 &&
           find_stamp(s, wanted, stamp_ns);
}

void gn_stamped_socket_discard(struct gn_stamped_socket *s)
{
    uint32_t number;
    int64_t stamp_ns;
    int error;
    socklen_t size = sizeof error;
    while (next_stamp(s, &number, &stamp_ns) >= 0)
        ;
    getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &size); /* as long as it stands, poll() does not wait */
}

static bool locate(struct gn_stamped_socket *s, int64_t stamp_ns, struct gn_tick_range *range)
{
    gn_kernel_clock_bracket(&s->clock);
    return gn_kernel_clock_locate(&s->clock, stamp_ns, range);
}

void gn_stamped_socket_check(struct gn_stamped_socket *s)
{
    if (s->kernel)
        gn_kernel_clock_check(&s->clock);
}

uint64_t gn_reading_best(const struct gn_stamped_socket *s, const struct gn_reading *reading)
{
    uint64_t since_ticks = s->clock.since_ticks;
    return reading->plain_ticks > since_ticks && reading->narrow_ticks > since_ticks ? reading->narrow_ticks
                                                                                     : reading->plain_ticks;
}

/* ---- sending ---- */

static void *add_control(struct msghdr *message, int level, int type, const void *data, size_t size)
{
    struct cmsghdr *c = (struct cmsghdr *)((char *)message->msg_control + message->msg_controllen);
    c->cmsg_level = level;
    c->cmsg_type = type;
    c->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(c), data, size);
    message->msg_controllen += CMSG_SPACE(size);
    return c;
}

static void add_wishes(struct gn_stamped_socket *s, struct msghdr *message, const struct gn_exchange_peer *to,
                       bool stamp)
{
    const uint32_t wanted = SOF_TIMESTAMPING_TX_SOFTWARE;
    const struct in6_pktinfo local = {to->local, to->interface};
    if (stamp && s->kernel)
        add_control(message, SOL_SOCKET, SO_TIMESTAMPING, &wanted, sizeof wanted);
    if (!s->only_v4 && !IN6_IS_ADDR_UNSPECIFIED(&to->local))
        add_control(message, IPPROTO_IPV6, IPV6_PKTINFO, &local, sizeof local);
}

static void set_name(const struct gn_stamped_socket *s, struct msghdr *message,
                     const struct gn_exchange_peer *to, struct sockaddr_in *v4)
{
    message->msg_name = (void *)&to->address;
    message->msg_namelen = sizeof to->address;
    if (s->only_v4) {
        *v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = to->address.sin6_port};
        memcpy(&v4->sin_addr, to->address.sin6_addr.s6_addr + 12, 4);
        message->msg_name = v4;
        message->msg_namelen = sizeof *v4;
    }
}

/* The datagram did not leave before the stamp. */
static void narrow_departure(struct gn_stamped_socket *s, struct gn_reading *left)
{
    struct gn_tick_range range;
    int64_t stamp_ns;
    if (!wait_for_stamp(s, s->next_stamp - 1, &stamp_ns)) {
        s->missing++;
        return;
    }
    s->missing = 0;
    if (locate(s, stamp_ns, &range) && range.lo_ticks > left->plain_ticks)
        left->narrow_ticks = range.lo_ticks;
}

int gn_stamped_socket_send(struct gn_stamped_socket *s, const struct gn_exchange_peer *to, const void *bytes,
                           size_t size, struct gn_reading *left)
{
    union control control = {0};
    struct sockaddr_in v4;
    struct iovec data = {(void *)bytes, size};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control};
    set_name(s, &message, to, &v4);
    add_wishes(s, &message, to, left);
    if (!left)
        return sendmsg(s->fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
    if (s->kernel)
        gn_kernel_clock_bracket(&s->clock);
    left->plain_ticks = left->narrow_ticks = gn_ticks_ordered();
    if (sendmsg(s->fd, &message, MSG_NOSIGNAL) < 0)
        return -errno;
    if (s->kernel) {
        s->next_stamp++;
        narrow_departure(s, left);
    }
    return 0;
}

/* ---- receiving ---- */

static void take_local(const struct cmsghdr *c, struct gn_exchange_peer *from)
{
    struct in6_pktinfo info;
    if (c->cmsg_level != IPPROTO_IPV6 || c->cmsg_type != IPV6_PKTINFO || c->cmsg_len < CMSG_LEN(sizeof info))
        return;
    memcpy(&info, CMSG_DATA(c), sizeof info);
    from->local = info.ipi6_addr;
    from->interface = IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr) ? info.ipi6_ifindex : 0;
}

static void take_name(const struct gn_stamped_socket *s, const void *name, struct gn_exchange_peer *from)
{
    struct sockaddr_in v4;
    if (!s->only_v4) {
        memcpy(&from->address, name, sizeof from->address);
        return;
    }
    memcpy(&v4, name, sizeof v4);
    from->address = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = v4.sin_port};
    from->address.sin6_addr.s6_addr[10] = from->address.sin6_addr.s6_addr[11] = 0xff;
    memcpy(from->address.sin6_addr.s6_addr + 12, &v4.sin_addr, 4);
}

/* The datagram was there at the stamp. */
void gn_stamped_socket_narrow(struct gn_stamped_socket *s, struct gn_reading *arrived)
{
    struct gn_tick_range range;
    if (arrived->stamp_ns && locate(s, arrived->stamp_ns, &range) && range.hi_ticks < arrived->plain_ticks)
        arrived->narrow_ticks = range.hi_ticks;
}

long gn_stamped_socket_receive(struct gn_stamped_socket *s, struct gn_exchange_peer *from, void *bytes,
                               size_t size, struct gn_reading *arrived)
{
    union control control;
    struct sockaddr_in6 name = {0};
    struct iovec data = {bytes, size};
    struct msghdr message = {.msg_name = &name,
                             .msg_namelen = sizeof name,
                             .msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    long length = recvmsg(s->fd, &message, MSG_DONTWAIT | MSG_TRUNC);
    if (length < 0)
        return -errno;
    arrived->plain_ticks = arrived->narrow_ticks = gn_ticks_ordered();
    arrived->stamp_ns = 0;
    memset(from, 0, sizeof *from);
    take_name(s, &name, from);
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        take_local(c, from);
        take_stamp(c, &arrived->stamp_ns);
    }
    return length;
}
