#include "agent/sample_asleep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LINE_BYTES = 256 };

/* The file's line; 0, or a negative errno value. */
static int read_line(int pid, int tid, char line[LINE_BYTES])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", pid, tid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -errno;
    const ssize_t count = read(file, line, LINE_BYTES - 1);
    const int code = count < 0 ? -errno : 0;
    close(file);
    line[count > 0 ? count : 0] = '\0';
    return code;
}

/* "230 0x1 … 0x7ffd… 0x7f3c…": the last two are the stack's end and what is executed next: the instruction
 * behind the one that entered the kernel; or, of a thread in no system call (-1), that instruction itself. */
static bool parse(const char *line, struct gn_registers *at)
{
    const char *next = strrchr(line, ' '), *sp = next;
    while (sp && sp > line && sp[-1] != ' ')
        sp--;
    if (!sp || sp == line)
        return false;
    *at = (struct gn_registers){.ip = strtoull(next, NULL, 0), .sp = strtoull(sp, NULL, 0)};
    at->ip -= line[0] != '-';
    return at->ip != 0 && at->sp != 0;
}

/* As much as there is; the stack may end before. */
static size_t read_stack(int pid, uint64_t sp, uint8_t *stack)
{
    struct iovec to = {stack, GN_SAMPLE_STACK_BYTES};
    struct iovec from = {(void *)(uintptr_t)sp, GN_SAMPLE_STACK_BYTES};
    ssize_t count = process_vm_readv(pid, &to, 1, &from, 1, 0);
    if (count < 0) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        to.iov_len = from.iov_len = page - sp % page;
        count = process_vm_readv(pid, &to, 1, &from, 1, 0);
    }
    return count > 0 ? (size_t)count : 0;
}

enum gn_asleep gn_sample_asleep(int pid, int tid, struct gn_sample *sample,
                                uint8_t stack[GN_SAMPLE_STACK_BYTES])
{
    char before[LINE_BYTES], after[LINE_BYTES];
    const int code = read_line(pid, tid, before);
    *sample = (struct gn_sample){.pid = pid, .tid = tid};
    if (code == -EACCES || code == -EPERM || code == -ENOENT)
        return code == -ENOENT ? GN_ASLEEP_NO : GN_ASLEEP_REFUSED;
    if (code == 0 && strncmp(before, "running", strlen("running")) == 0)
        return GN_ASLEEP_RUNNING;
    if (code != 0 || !parse(before, &sample->at))
        return GN_ASLEEP_NO;
    const size_t count = read_stack(pid, sample->at.sp, stack);
    sample->stack = (struct gn_stack_copy){stack, sample->at.sp, count, false};
    /* what was read while it woke up is of no moment at all */
    return read_line(pid, tid, after) == 0 && strcmp(before, after) == 0 ? GN_ASLEEP_YES : GN_ASLEEP_NO;
}
