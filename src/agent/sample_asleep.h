/*
 * agent/sample_asleep — where a thread is that is on no core: asleep, or blocked in a system call.
 *
 * The kernel tells of such a thread where it entered the kernel and where its stack ends
 * (/proc/PID/task/TID/syscall), and of one that is on a core or waits for one just that. The end of the stack
 * is read as a debugger would (process_vm_readv). Nothing is done to the thread. Both are for those who may
 * trace it: its parents, and where kernel.yama.ptrace_scope is 0 everybody of the same user.
 */
#ifndef GNOMON_AGENT_SAMPLE_ASLEEP_H
#define GNOMON_AGENT_SAMPLE_ASLEEP_H

#include "agent/sample_event.h"

enum gn_asleep {
    GN_ASLEEP_NO, /* it is gone, or was not asleep at one place for long enough to say where, or nobody knows
                   */
    GN_ASLEEP_RUNNING, /* on a core, or waiting for one */
    GN_ASLEEP_YES,
    GN_ASLEEP_REFUSED /* one must not look */
};

/* YES: *sample says where, with as much of its stack as there is in `stack`. Its frame pointer is not known.
 */
enum gn_asleep gn_sample_asleep(int pid, int tid, struct gn_sample *sample,
                                uint8_t stack[GN_SAMPLE_STACK_BYTES]);

#endif
