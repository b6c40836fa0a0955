/*
 * agent/process_files — what /proc tells of a process. It may be gone at any moment, hide from other users,
 * or there may be no /proc at all: then nothing is known, which is no error.
 */
#ifndef GNOMON_AGENT_PROCESS_FILES_H
#define GNOMON_AGENT_PROCESS_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* All of /proc/PID/NAME that has room in text, which ends with a zero: the number of bytes without it, 0 when
 * there is nothing. */
size_t gn_process_file(int pid, const char *name, char *text, size_t size);

/* All of it, however long; the caller frees it. NULL when there is nothing. */
char *gn_process_file_whole(int pid, const char *name, size_t *bytes);

struct gn_process_stat {
    char state; /* 'Z' and 'X': it has ended */
    int parent;
    unsigned flags;                                           /* the kernel's, PF_… */
    unsigned long long user_ticks, system_ticks, start_ticks; /* of sysconf(_SC_CLK_TCK); start: since boot */
    int core;        /* on which its first thread is, or was last; -1: not told */
    int wait_status; /* of one that has ended; 0 when it may not be seen */
};

/* False: nothing is known. */
bool gn_process_stat(int pid, struct gn_process_stat *stat);

/* 0 when unknown. */
int gn_parent_of(int pid);

#endif
