/*
 * bench/smpi/workload — what a program like SMG2000 leaves to repair, made in memory: the same number of ops
 * for each process, however many there are.
 *
 * In each iteration a process exchanges messages with both neighbours of a ring and with one partner whose
 * number differs in a bit, another bit each time: like a multigrid solver's coarse levels, that is sometimes
 * half the machine away. Every tenth iteration ends with an allreduce of all. Eight processes share a clock;
 * clocks are off by up to 8 us and drift by up to 0.1 ppm, so that a few percent of the messages are received
 * before they were sent.
 */
#ifndef GNOMON_BENCH_WORKLOAD_H
#define GNOMON_BENCH_WORKLOAD_H

#include "event/definitions.h"
#include "repair/latency.h"
#include "repair/op_store.h"

enum { GN_WORKLOAD_EVENTS_PER_OP = 3 }; /* enter, the op, leave */

/* Definitions of `processes` (a power of two) with a thread each and one communicator; NULL: no memory. */
struct gn_definitions *gn_workload_define(uint32_t processes);

/* 1 us between clocks, 300 ns within one. 0, or -ENOMEM. */
int gn_workload_latency(struct gn_latency *latency, uint32_t processes);

/* The ops of processes first … first + count − 1. 0, or -ENOMEM. */
int gn_workload_fill(struct gn_op_store *store, uint32_t processes, uint32_t first, uint32_t count,
                     uint32_t iterations);

/* A number that follows from the result of the replay at these processes; results of parts are added. */
uint64_t gn_workload_digest(const struct gn_op_store *store, uint32_t first, uint32_t count);

#endif
