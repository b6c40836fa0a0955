/*
 * graph/metrics — what can be counted of a thread besides its time: the kernel's counters, by perf's names.
 *
 * A metric's number stands in profiles (sample.how): it never changes, new ones go behind the last.
 */
#ifndef GNOMON_GRAPH_METRICS_H
#define GNOMON_GRAPH_METRICS_H

#include <stddef.h>
#include <stdint.h>

struct gn_metric {
    const char *name; /* as perf has it */
    uint32_t type;    /* of perf_event_open */
    uint64_t config;
};

enum {
    GN_METRICS_AT_A_TIME = 4
}; /* each costs as many samples as time does, and more of them share counters */

/* NULL: there are no more. */
const struct gn_metric *gn_metric(uint32_t number);
/* The number of the one of that name (size bytes), negative: there is none. */
int gn_metric_find(const char *name, size_t size);

#endif
