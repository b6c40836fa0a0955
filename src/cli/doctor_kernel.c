/* cli/doctor_kernel — what the kernel can do, and what this machine's administrator, a container or a
 * resource manager has left of it. */
#include "cli/doctor.h"

#include "answer/quantities.h"
#include "capture/channel.h"
#include "clock/counter.h"
#include "exchange/addresses.h"
#include "graph/metrics.h"
#include "agent/process_files.h"
#include "agent/sample_event.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- processes that share memory and watch each other ---- */

/* A process of ours that does nothing, or turns in circles; it does not outlive us. */
static pid_t start_child(bool spins)
{
    pid_t parent = getpid(), child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile unsigned turns = 0; getppid() == parent;)
        if (!spins || ++turns == 0)
            pause();
    _exit(0);
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

void gn_doctor_memory(struct gn_finding *f)
{
    enum { BYTES = 1 << 20 };
    int file = memfd_create("gnomon-doctor", MFD_CLOEXEC);
    void *memory = MAP_FAILED;
    if (file >= 0 && ftruncate(file, BYTES) == 0)
        memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
        gn_found(f, false, "memfd_create: %s", strerror(errno));
        return;
    }
    volatile char *last = (char *)memory + BYTES - 1;
    pid_t child = fork();
    if (child == 0) {
        *last = 1;
        _exit(0);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
    gn_found(f, child > 0 && *last, "memfd_create: %s",
             *last ? "works" : "what one process writes, another one does not see");
}

void gn_doctor_watching(struct gn_finding *f)
{
    pid_t child = start_child(false);
    int handle = child > 0 ? (int)syscall(SYS_pidfd_open, child, 0) : -1, code = errno;
    if (child > 0)
        end_child(child);
    if (handle < 0) {
        gn_found(f, false, "pidfd_open: %s", strerror(code));
        return;
    }
    struct pollfd end = {.fd = handle, .events = POLLIN};
    const bool seen = poll(&end, 1, 5000) > 0;
    gn_found(f, seen, "pidfd_open: %s", seen ? "works" : "the end of a process is not told");
}

/* The way in which a rank meets its agent, whole: a name, a connection, credentials, a descriptor. */
static int meet(const char *name)
{
    struct gn_message message = {
        .magic = GN_PROTOCOL_MAGIC, .version = GN_PROTOCOL_VERSION, .kind = GN_REPLY};
    struct gn_channel_peer peer = {.pid = 0};
    int listener = gn_channel_listen(name), descriptor = -1;
    if (listener < 0)
        return listener;
    int connection = gn_channel_connect(name, GN_CHANNEL_PATIENCE_MS, NULL);
    if (connection < 0)
        return connection;
    int accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    int code = accepted < 0 ? -errno : gn_channel_peer(accepted, &peer);
    if (code == 0)
        code = gn_channel_send(connection, &message, STDERR_FILENO);
    if (code == 0)
        code = gn_channel_receive(accepted, &message, &descriptor);
    return code != 0 ? code : descriptor < 0 || peer.pid != (int)getpid() ? -EPROTO : 0;
}

void gn_doctor_sockets(struct gn_finding *f)
{
    char name[64];
    snprintf(name, sizeof name, "gnomon-doctor-%d", (int)getpid());
    int code = meet(name);
    gn_found(f, code == 0, "UNIX sockets that carry credentials and descriptors: %s",
             code == 0 ? "work" : strerror(-code));
}

void gn_doctor_proc(struct gn_finding *f)
{
    const bool seen = gn_parent_of((int)getpid()) == (int)getppid();
    gn_found(f, seen, seen ? "says who started whom" : "is not there, or is of other processes");
}

void gn_doctor_own_memory(struct gn_finding *f)
{
    int from = 4711, to = 0;
    struct iovec local = {&to, sizeof to}, remote = {&from, sizeof from};
    ssize_t bytes = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    gn_found(f, bytes == (ssize_t)sizeof to && to == from, "process_vm_readv: %s",
             bytes < 0 ? strerror(errno) : "works");
}

/* Metrics of the processor's own counters that may be had. */
static void list_hardware(char *text, size_t size)
{
    for (uint32_t i = 0; gn_metric(i); i++) {
        struct gn_sample_event event;
        if (gn_metric(i)->type == PERF_TYPE_SOFTWARE)
            continue;
        const int code = gn_sample_event_open(&event, (int)getpid(), gn_metric(i), false, 1 << 20, 1);
        const size_t used = strlen(text);
        if (code == 0)
            gn_sample_event_close(&event);
        if (code == 0 || code == -ENOBUFS) /* no room for samples of it now */
            snprintf(text + used, size - used, "%s%s", used ? ", " : "", gn_metric(i)->name);
    }
}

/* As a sampler would: the time on a core of another process of this user, without the kernel's part. */
void gn_doctor_events(struct gn_finding *f)
{
    struct perf_event_attr task_clock = {.type = PERF_TYPE_SOFTWARE,
                                         .size = sizeof task_clock,
                                         .config = PERF_COUNT_SW_TASK_CLOCK,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    pid_t child = start_child(true);
    int event = (int)syscall(SYS_perf_event_open, &task_clock, child, -1, -1, 0ul), code = errno;
    uint64_t ns = 0;
    for (int tries = 0; event >= 0 && ns == 0 && tries < 400; tries++) {
        usleep(5000);
        if (read(event, &ns, sizeof ns) != (ssize_t)sizeof ns)
            ns = 0;
    }
    if (child > 0)
        end_child(child);
    char hardware[256] = "";
    bool with_kernel;
    list_hardware(hardware, sizeof hardware);
    gn_sample_event_try(&with_kernel);
    gn_found(
        f, ns > 0, "%s%s%s",
        event < 0 ? strerror(code)
        : ns > 0  ? "counts the time of this user's processes"
                  : "opens, and counts nothing",
        ns <= 0 ? ""
        : with_kernel
            ? "; hardware counters: "
            : ", not what the kernel does for them (kernel.perf_event_paranoid=1 would); hardware counters: ",
        ns <= 0       ? ""
        : hardware[0] ? hardware
                      : "none");
}

/* ---- what is between hosts and ranks ---- */

/* Through an address of this host, which the kernel does not send out: what is between hosts, it cannot tell.
 */
static bool arrives(struct gn_stamped_socket *from, struct gn_stamped_socket *to,
                    struct gn_endpoint *endpoint, unsigned index)
{
    struct gn_exchange_peer peer, sender;
    struct gn_reading reading;
    char sent[] = "gnomon doctor", received[sizeof sent] = "";
    endpoint->port = to->port;
    if (!gn_addresses_peer(endpoint, index, from->only_v4, &peer) ||
        gn_stamped_socket_send(from, &peer, sent, sizeof sent, NULL) != 0)
        return false;
    struct pollfd news = {.fd = to->fd, .events = POLLIN};
    return poll(&news, 1, 1000) > 0 &&
           gn_stamped_socket_receive(to, &sender, received, sizeof received, &reading) == sizeof sent &&
           strcmp(sent, received) == 0;
}

static bool is_loopback(const struct gn_endpoint *endpoint, unsigned index)
{
    const uint8_t *bytes = endpoint->addresses[index].bytes;
    static const uint8_t v6[16] = {[15] = 1};
    return endpoint->addresses[index].family == 4 ? bytes[0] == 127 : memcmp(bytes, v6, sizeof v6) == 0;
}

void gn_doctor_network(struct gn_finding *f)
{
    struct gn_counter counter;
    struct gn_stamped_socket from, to;
    struct gn_endpoint endpoint = {.port = 0};
    struct gn_error err;
    char text[GN_ADDRESS_TEXT], list[256] = "";
    unsigned outside = 0;
    gn_counter_measure(&counter);
    if (gn_stamped_socket_open(&from, &counter, true, &err) != 0 ||
        gn_stamped_socket_open(&to, &counter, true, &err) != 0 ||
        gn_addresses_find(&endpoint, from.only_v4, &err) != 0) {
        gn_found(f, false, "%.400s", err.text);
        return;
    }
    for (unsigned i = 0; i < endpoint.address_count; i++) {
        if (is_loopback(&endpoint, i) || !arrives(&from, &to, &endpoint, i))
            continue;
        endpoint.port = 0;
        gn_addresses_text(&endpoint, i, text);
        text[strlen(text) - 2] = '\0'; /* ":0" */
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", outside ? ", " : "", text);
        outside++;
    }
    gn_found(f, outside > 0, "%s%s%s", outside ? "come through " : "no interface but the loopback", list,
             !outside || from.kernel ? "" : "; without the kernel's time stamps: wider bounds");
}

void gn_doctor_shm(struct gn_finding *f)
{
    enum { BYTES = 4 << 20 };
    struct statvfs space;
    char room[GN_QUANTITY_TEXT];
    int file = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    int code = file < 0 ? errno : posix_fallocate(file, 0, BYTES);
    if (code == 0 && statvfs("/dev/shm", &space) == 0)
        gn_found(f, true, "/dev/shm has %s of room",
                 gn_bytes_text((double)space.f_bavail * (double)space.f_frsize + BYTES, room));
    else
        gn_found(f, false, "/dev/shm: no %s of room: %s", gn_bytes_text(BYTES, room), strerror(code));
    if (code == ENOENT)
        snprintf(f->mend, sizeof f->mend, "mkdir -p /dev/shm && mount -t tmpfs -o size=2g none /dev/shm");
}
