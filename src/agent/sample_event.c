#include "agent/sample_event.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { FP = PERF_REG_X86_BP, SP = PERF_REG_X86_SP, IP = PERF_REG_X86_IP };
#elif defined(__aarch64__)
enum { FP = PERF_REG_ARM64_X29, SP = PERF_REG_ARM64_SP, IP = PERF_REG_ARM64_PC };
#endif
_Static_assert((int)FP < (int)SP && (int)SP < (int)IP, "registers come in the order of their numbers");

enum { NS_PER_S = 1000000000 };

/* ---- reading ---- */

struct piece {
    const uint8_t *at, *end;
    bool short_of; /* something was asked for that is not there */
};

static uint64_t word(struct piece *p)
{
    uint64_t value = 0;
    if ((size_t)(p->end - p->at) < sizeof value) {
        p->short_of = true;
        return 0;
    }
    memcpy(&value, p->at, sizeof value);
    p->at += sizeof value;
    return value;
}

/* In the order that the kernel documents for the bits of sample_type that are asked for below. */
static bool parse_sample(struct piece *p, struct gn_sample *s)
{
    *s = (struct gn_sample){.at.ip = word(p)};
    const uint64_t ids = word(p);
    s->pid = (int)(uint32_t)ids;
    s->tid = (int)(uint32_t)(ids >> 32);
    s->time_ns = word(p);
    s->counted = word(p);
    word(p); /* how long it was counted */
    word(p);
    if (word(p) == PERF_SAMPLE_REGS_ABI_64) {
        s->at.fp = word(p);
        s->at.sp = word(p);
        s->at.ip = word(p); /* where it entered the kernel, if it is there */
    }
    const uint64_t size = word(p);
    if (p->short_of || size > (size_t)(p->end - p->at))
        return !p->short_of && size == 0;
    const uint8_t *stack = p->at;
    p->at += size;
    const uint64_t used = size ? word(p) : 0;
    s->stack = (struct gn_stack_copy){stack, s->at.sp, used < size ? used : size, false};
    return !p->short_of;
}

static void copy_out(uint8_t *to, const uint8_t *ring, size_t bytes, uint64_t from, size_t count)
{
    const size_t at = from & (bytes - 1), first = count < bytes - at ? count : bytes - at;
    memcpy(to, ring + at, first);
    memcpy(to + first, ring, count - first);
}

uint64_t gn_sample_ring_take(const uint8_t *ring, size_t bytes, uint64_t from, uint64_t to,
                             gn_sample_taken *taken, void *self)
{
    _Alignas(8) static _Thread_local uint8_t record[UINT16_MAX + 1];
    struct perf_event_header header;
    uint64_t lost = 0;
    for (; to - from >= sizeof header && to - from <= bytes; from += header.size) {
        copy_out((uint8_t *)&header, ring, bytes, from, sizeof header);
        if (header.size < sizeof header || header.size > to - from)
            break;
        copy_out(record, ring, bytes, from, header.size);
        struct piece piece = {record + sizeof header, record + header.size, false};
        struct gn_sample sample;
        if (header.type == PERF_RECORD_SAMPLE && parse_sample(&piece, &sample))
            taken(self, &sample, GN_SAMPLE_TAKEN);
        if (header.type == PERF_RECORD_MMAP)
            taken(self, NULL, GN_SAMPLE_MAPPED);
        if (header.type == PERF_RECORD_FORK || header.type == PERF_RECORD_EXIT)
            taken(self, NULL, GN_SAMPLE_THREADS);
        if (header.type == PERF_RECORD_LOST) {
            word(&piece); /* whose */
            lost += word(&piece);
        }
    }
    return lost;
}

uint64_t gn_sample_event_take(struct gn_sample_event *e, gn_sample_taken *taken, void *self)
{
    struct perf_event_mmap_page *page = e->map;
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail;
    if (head == tail)
        return 0;
    const uint64_t lost = gn_sample_ring_take((const uint8_t *)e->map + page_bytes, e->map_bytes - page_bytes,
                                              tail, head, taken, self);
    __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
    return lost;
}

/* ---- events ---- */

/* metric: NULL for processor time. */
static int open_event(int tid, const struct gn_metric *metric, bool with_kernel, uint64_t period)
{
    struct perf_event_attr attributes = {
        .type = metric ? metric->type : PERF_TYPE_SOFTWARE,
        .size = sizeof attributes,
        .config = metric ? metric->config : PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = period,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_READ |
                       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .exclude_kernel = !with_kernel,
        .exclude_hv = 1,
        .mmap = metric == NULL, /* of code only */
        .task = metric == NULL,
        .watermark = 1,
        .wakeup_watermark = UINT32_MAX,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC_RAW,
        .sample_regs_user = 1ull << FP | 1ull << SP | 1ull << IP,
        .sample_stack_user = GN_SAMPLE_STACK_BYTES};
    const int file =
        (int)syscall(SYS_perf_event_open, &attributes, tid, -1, -1, (unsigned long)PERF_FLAG_FD_CLOEXEC);
    return file < 0 ? -errno : file;
}

bool gn_sample_event_total(int file, uint64_t *total, bool *scaled)
{
    struct {
        uint64_t value, enabled_ns, running_ns;
    } counted;
    if (read(file, &counted, sizeof counted) != sizeof counted)
        return false;
    *scaled = counted.running_ns < counted.enabled_ns;
    *total = counted.value;
    if (*scaled && counted.running_ns > 0)
        *total = (uint64_t)((double)counted.value * (double)counted.enabled_ns / (double)counted.running_ns);
    return counted.running_ns > 0 || counted.enabled_ns == 0;
}

/* Half of the descriptors are for all else that the agent does. */
static bool is_too_many(int file)
{
    struct rlimit files;
    return getrlimit(RLIMIT_NOFILE, &files) == 0 && (rlim_t)file >= files.rlim_cur / 2;
}

int gn_sample_event_try(bool *with_kernel)
{
    enum { KERNEL_TOO = 255, ANOTHER = 254 };
    int status = 0;
    const pid_t child = fork();
    *with_kernel = false;
    if (child == 0) {
        if (open_event(0, NULL, true, NS_PER_S) >= 0)
            _exit(KERNEL_TOO);
        const int file = open_event(0, NULL, false, NS_PER_S);
        _exit(file < 0 ? (-file < ANOTHER ? -file : ANOTHER) : 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 0;
    *with_kernel = WIFEXITED(status) && WEXITSTATUS(status) == KERNEL_TOO;
    if (*with_kernel)
        return 0;
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -EPERM;
}

int gn_sample_event_count(int tid, const struct gn_metric *metric)
{
    struct perf_event_attr attributes = {.type = metric->type,
                                         .size = sizeof attributes,
                                         .config = metric->config,
                                         .read_format =
                                             PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1,
                                         .inherit = 1,
                                         .inherit_thread = 1}; /* no processes; since Linux 5.13 */
    const int file =
        (int)syscall(SYS_perf_event_open, &attributes, tid, -1, -1, (unsigned long)PERF_FLAG_FD_CLOEXEC);
    if (file >= 0 && is_too_many(file)) {
        close(file);
        return -EMFILE;
    }
    return file < 0 ? -errno : file;
}

int gn_sample_event_open(struct gn_sample_event *e, int tid, const struct gn_metric *metric, bool with_kernel,
                         uint64_t period, unsigned order)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const int file = open_event(tid, metric, with_kernel, period);
    if (file < 0)
        return file;
    if (is_too_many(file)) {
        close(file);
        return -EMFILE;
    }
    *e = (struct gn_sample_event){
        .file = file, .map_bytes = page_bytes + (page_bytes << order), .period = period};
    e->map = mmap(NULL, e->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (e->map != MAP_FAILED)
        return 0;
    const int code = errno == EPERM || errno == EAGAIN ? -ENOBUFS : -errno;
    close(file);
    return code;
}

const char *gn_sample_event_why(int code)
{
    switch (code) {
    case -ENOENT:
    case -EOPNOTSUPP:
    case -ENODEV:
        return "this machine, or the virtual one that it is, has no such counter";
    case -ENOBUFS:
        return "no more memory may be locked (ulimit -l)";
    default:
        return strerror(-code);
    }
}

void gn_sample_event_close(struct gn_sample_event *e)
{
    munmap(e->map, e->map_bytes);
    close(e->file);
}

void gn_sample_event_pace(struct gn_sample_event *e, uint64_t period)
{
    if (ioctl(e->file, PERF_EVENT_IOC_PERIOD, &period) == 0)
        e->period = period;
}
