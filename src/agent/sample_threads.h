/* agent/sample_threads — the threads of one process and their events: whoever comes is sampled, whoever is
 * gone is let go. */
#ifndef GNOMON_AGENT_SAMPLE_THREADS_H
#define GNOMON_AGENT_SAMPLE_THREADS_H

#include "agent/sample_event.h"
#include "agent/sample_metrics.h"

enum { GN_SAMPLE_REASON_BYTES = 200 };

struct gn_sample_threads {
    int pid;
    struct gn_sample_thread {
        int tid;
        uint32_t location; /* of the process that it has; GN_SAMPLE_NO_LOCATION */
        bool there;        /* at the last look */
        uint64_t samples;  /* that were taken of it */
        struct gn_sample_event event;
        struct gn_sample_metric_event of_metrics[GN_METRICS_AT_A_TIME];
    } * items;
    size_t count, room;
    struct gn_sample_metrics metrics;
    uint32_t helpers;    /* without a location that work: the most at a time */
    unsigned long links; /* of /proc/PID/task: it changes with the number of threads */
    uint64_t looked_ns;
    bool with_kernel;                    /* as struct gn_sampled has it */
    bool refused;                        /* by the kernel */
    char reason[GN_SAMPLE_REASON_BYTES]; /* why not all are sampled; empty: they are */
};

#define GN_SAMPLE_NO_LOCATION UINT32_MAX

/* None is sampled, for what reason (an errno value); and where it is the kernel that refuses events, with
 * that value, negative. */
void gn_sample_threads_refuse(struct gn_sample_threads *threads, const char *what, int code);
void gn_sample_threads_refuse_event(struct gn_sample_threads *threads, int code);

/* Looks at who is there, if that may have changed. */
void gn_sample_threads_look(struct gn_sample_threads *threads, uint64_t now_ns, uint64_t period_ns);
/* Takes samples after that much processor time from now on, a little more or less for each thread. */
void gn_sample_threads_pace(struct gn_sample_threads *threads, uint64_t period_ns);
/* Counts those metrics from now on: a bit for each. */
void gn_sample_threads_count(struct gn_sample_threads *threads, uint32_t metrics, uint64_t now_ns);
/* How much there was of a metric so far (index in its items). */
uint64_t gn_sample_threads_total(struct gn_sample_threads *threads, uint32_t metric);
void gn_sample_threads_close(struct gn_sample_threads *threads);

#endif
