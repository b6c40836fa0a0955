/* A whole simulated trace in memory, and how to get it. */
#ifndef GNOMON_TEST_SYNTH_STREAM_H
#define GNOMON_TEST_SYNTH_STREAM_H

#include "synth/synth.h"

#include <stddef.h>

enum pull_order { IN_TURN, ONE_BY_ONE, BACKWARD, BY_CHANCE, PULL_ORDERS };

struct stream {
    struct gn_event *events;
    double *truth;
    size_t count, capacity, truth_capacity;
};

struct trace {
    struct gn_synth_settings settings;
    struct gn_source source; /* open until trace_close: its definitions */
    struct stream *streams;  /* [location] */
    uint64_t most_waiting;   /* seen after a pull */
};

/* Fails the test when something is wrong. */
struct trace trace_open(const struct gn_synth_settings *settings, enum pull_order order);
void trace_close(struct trace *trace);

/* What a possible execution is, checked without the simulation's own means. Each fails the test. */
void check_well_formed(const struct trace *trace);
void check_messages(const struct trace *trace);
void check_collectives(const struct trace *trace);

#endif
