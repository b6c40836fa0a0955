/*
 * agent/sample_event — one thread's samples, as the kernel takes them: an event of its processor time or of a
 * metric (perf_event_open), and the ring that they come in.
 *
 * The thread is interrupted after each period of processor time that it used; nothing is done to it but that
 * the kernel writes down where it was: address, registers, the end of its stack. No signal, no ptrace, no
 * page of the program. What it does in the kernel counts where one may see that (perf_event_paranoid 1,
 * or a privilege): it is at the place of the program that has the kernel do it. Else it is left out; without
 * it anybody may do this to his own processes (perf_event_paranoid 2). Nobody is woken: the ring is looked at
 * when the sampler comes by.
 */
#ifndef GNOMON_AGENT_SAMPLE_EVENT_H
#define GNOMON_AGENT_SAMPLE_EVENT_H

#include "graph/metrics.h"
#include "unwind/rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gn_sample {
    uint64_t time_ns; /* CLOCK_MONOTONIC_RAW */
    uint64_t
        stands_ns;    /* processor time that it stands for, where it says so itself; 0: as its event has it */
    uint64_t counted; /* by its event until then: ns, or of its metric */
    uint64_t amount;  /* of its metric, that it stands for; for whoever takes it */
    int pid, tid;
    struct gn_registers at;     /* ip is where it was; fp, sp: 0 where they are not known */
    struct gn_stack_copy stack; /* from sp on; its count may be 0 */
};

struct gn_sample_event {
    int file;
    void *map; /* the kernel's page, and its ring behind it */
    size_t map_bytes;
    uint64_t period; /* of processor time in ns, or of its metric, that passes from one sample to the next */
};

enum { GN_SAMPLE_STACK_BYTES = 4096 };

/* Whether such events may be opened at all, as a child finds out: some containers end whoever tries. 0, or a
 * negative errno value; -EPERM: it was ended. *with_kernel: whether they may count what the kernel does for
 * the thread, too. */
int gn_sample_event_try(bool *with_kernel);

/* Opens the event of a thread, of its processor time or of a metric, its ring of 2^order pages. Nothing is
 * left after an error: -EACCES, -EPERM (not allowed), -ESRCH (the thread is gone), -ENOENT, -ENOSYS,
 * -EOPNOTSUPP (no such events), -EMFILE, -ENOMEM; -ENOBUFS: no more memory may be locked for rings of this
 * size. */
int gn_sample_event_open(struct gn_sample_event *event, int tid, const struct gn_metric *metric,
                         bool with_kernel, uint64_t period, unsigned order);
void gn_sample_event_close(struct gn_sample_event *event);

/* Why not, in words, of what gn_sample_event_open says. */
const char *gn_sample_event_why(int code);

/* From the next sample on; those before have been taken. */
void gn_sample_event_pace(struct gn_sample_event *event, uint64_t period);

/* Opens a counter of a metric of the thread, and of all threads that it and these make from now on: it has no
 * samples. A descriptor, or a negative errno value. */
int gn_sample_event_count(int tid, const struct gn_metric *metric);

/* How much there was of what the event counts. scaled: it was counted a part of the time, others needed the
 * counter, and this is what it would have come to. False: the kernel does not say. */
bool gn_sample_event_total(int file, uint64_t *total, bool *scaled);

enum gn_sample_news {
    GN_SAMPLE_TAKEN,
    GN_SAMPLE_MAPPED, /* the thread has mapped code since the one before */
    GN_SAMPLE_THREADS /* it has made a thread or a process, or has ended */
};
/* A sample; NULL: other news. */
typedef void gn_sample_taken(void *self, struct gn_sample *sample, enum gn_sample_news news);

/* Takes all samples that there are, and what was mapped, in their order. Returns how many were lost, as far
 * as the kernel says. */
uint64_t gn_sample_event_take(struct gn_sample_event *event, gn_sample_taken *taken, void *self);

/* The same of a ring of `bytes` (a power of two) between two positions. What makes no sense ends it. */
uint64_t gn_sample_ring_take(const uint8_t *ring, size_t bytes, uint64_t from, uint64_t to,
                             gn_sample_taken *taken, void *self);

#endif
