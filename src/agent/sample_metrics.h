/*
 * agent/sample_metrics — what the kernel counts of a thread besides its time (graph/metrics.h): exact sums,
 * and samples of where.
 *
 * Each sample has the counter's value: it stands for what was counted since the one before it. They come
 * after so and so much was counted, which is set anew when the thread counts at quite another pace, so that
 * there are about as many of them as of its time. (The kernel could choose that itself; it does so by the
 * last moments, and of what comes in bursts few samples have most of the weight then.)
 */
#ifndef GNOMON_AGENT_SAMPLE_METRICS_H
#define GNOMON_AGENT_SAMPLE_METRICS_H

#include "agent/sample_event.h"

/* Of a process. */
struct gn_sample_metrics {
    struct gn_sample_metric {
        uint32_t number; /* graph/metrics.h */
        uint64_t total;  /* of threads that are gone */
        uint64_t samples;
        bool scaled, is_whole; /* all threads are in the total, also those that nobody has seen */
        int refused;           /* an errno value, negative; 0: it is counted */
        bool is_late, is_off;  /* it was not counted from the beginning; it is not any more */
    } items[GN_METRICS_AT_A_TIME];
    uint32_t count;
};

/* Of one of its threads. */
struct gn_sample_metric_event {
    struct gn_sample_event event; /* map NULL: not counted */
    uint64_t begun_ns,
        seen_ns; /* since when, 0: it is not counted; the last round, and what was counted until then */
    uint64_t seen;
    uint64_t told; /* what samples stand for so far */
    int family;    /* a counter of the thread and of those that it makes; negative: it is in another one's */
};

/* Those whose bits are set, from the beginning; and from now on. Of those that there is no room for nothing
 * is counted. */
void gn_sample_metrics_choose(struct gn_sample_metrics *metrics, uint32_t bits);
void gn_sample_metrics_change(struct gn_sample_metrics *metrics, uint32_t bits);

/* events[GN_METRICS_AT_A_TIME], each begun; those that are counted and not open are opened, those that are
 * off closed. Why one could not be opened stands in its metric. is_first: the thread was there before anybody
 * counted. */
void gn_sample_metrics_open(struct gn_sample_metrics *metrics, struct gn_sample_metric_event *events, int tid,
                            bool is_first, uint64_t now_ns);
void gn_sample_metrics_begin(struct gn_sample_metric_event *events);
void gn_sample_metrics_close(struct gn_sample_metrics *metrics, struct gn_sample_metric_event *events);

/* Takes the samples of one metric (index in items) that there are; each one's amount is set. */
void gn_sample_metrics_take(struct gn_sample_metrics *metrics, uint32_t metric,
                            struct gn_sample_metric_event *event, gn_sample_taken *taken, void *self);

/* Once a round: about one sample in period_ns. */
void gn_sample_metrics_pace(const struct gn_sample_metrics *metrics, struct gn_sample_metric_event *events,
                            uint64_t now_ns, uint64_t period_ns);

/* Adds what the thread has counted of that metric so far. */
void gn_sample_metrics_add(struct gn_sample_metrics *metrics, uint32_t metric,
                           const struct gn_sample_metric_event *event, uint64_t *sum);

#endif
