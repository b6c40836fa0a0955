/* graph/sampled — what was sampled of a process, on its way into a graph: where its threads were, by the
 * nodes of its locations. */
#ifndef GNOMON_GRAPH_SAMPLED_H
#define GNOMON_GRAPH_SAMPLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GN_SAMPLED_NONE UINT32_MAX

/* How the reason begins that is given of samples by a signal. */
#define GN_SAMPLED_BY_SIGNAL "samples by a signal"

/* What a count is of. */
enum gn_sampled_how {
    GN_SAMPLED_RUNNING,     /* samples of processor time */
    GN_SAMPLED_ASLEEP,      /* looks, at the sampler's rounds, that found the thread asleep */
    GN_SAMPLED_INTERPRETED, /* … that found it computing in Python, and at which line */
    GN_SAMPLED_NATIVE,      /* … outside of Python, which it runs, too: where, samples say */
    GN_SAMPLED_HOWS,
    GN_SAMPLED_METRIC = 16 /* from there on: samples of the metric (graph/metrics.h) of that number behind it,
                              and instead of a time how much of it they stand for */
};

/* Samples, that is: no looks. */
static inline bool gn_sampled_is_counted(int how)
{
    return how == GN_SAMPLED_RUNNING || how >= GN_SAMPLED_METRIC;
}

struct gn_sampled_module {
    const char *path;
    const uint8_t *build_id;
    uint32_t build_id_bytes;
    bool is_source; /* a file of Python: nothing else is known of it */
};

struct gn_sampled_place {
    uint32_t module; /* index */
    uint64_t offset; /* as of a return address: the code is just before it; of a source: gn_source_line_key */
    uint64_t function; /* where its function begins; 0: not known */
    const char *name;  /* of a source: the function */
    uint32_t line;     /* likewise */
};

struct gn_sampled_count {
    uint32_t location, from, to; /* nodes; to GN_SAMPLED_NONE: inside of `from` */
    uint32_t site, called;       /* places; GN_SAMPLED_NONE as in struct gn_graph_sample */
    bool other_threads;
    unsigned how;            /* enum gn_sampled_how */
    uint64_t count, time_ns; /* of a metric: how much of it */
};

/* What a metric came to, in the threads that were sampled. */
struct gn_sampled_metric {
    uint32_t number; /* graph/metrics.h */
    uint64_t total;
    uint64_t samples;   /* that were taken of it */
    bool is_scaled;     /* it shared a counter with others, and was counted part of the time */
    const char *reason; /* why it, or a part of it, is not counted; NULL: it is */
};

struct gn_sampled {
    const char *state, *reason;
    uint64_t samples, bursts, by_place, unattributed, lost, time_ns; /* time: that all of them stand for */
    uint64_t helpers;           /* threads without a location that work */
    bool is_whole, with_kernel; /* as in struct gn_graph_sampling */
    const struct gn_sampled_module *modules;
    const struct gn_sampled_place *places;
    const struct gn_sampled_count *counts;
    const struct gn_sampled_metric *metrics;
    size_t module_count, place_count, count, metric_count;
};

#endif
