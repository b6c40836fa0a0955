/*
 * agent/sampler — where the threads of measured processes spend their time, seen from outside.
 *
 *   the kernel: a sample of each thread after each 10 ms of its processor time     agent/sample_event
 *        │ address, stack, time
 *        ├► the recorder of its process: between which calls, or in which one      agent/sample_moment
 *        ├► the mappings of its process: in which code, called from where          agent/sample_code
 *        └► counted: (from, to, place)                                             agent/sample_counts
 *
 * A thread of the agent comes by some twenty times a second, where it sees Python (agent/sample_python) fifty
 * times. It runs at nice 19, but not there, and takes at most 1 % of one core (of the 2 % that all of the
 * agent may take): where there are more samples to look at, they are taken less often. Threads that make no
 * MPI calls are sampled, too; what they do belongs to what the thread of MPI_Init does meanwhile.
 *
 * Where the user wants it, threads interrupt themselves instead (agent/sample_signal): all else is the same.
 *
 * What is lost is counted: samples that the kernel had no room for, and those of a moment that the recorder
 * does not know any more.
 */
#ifndef GNOMON_AGENT_SAMPLER_H
#define GNOMON_AGENT_SAMPLER_H

#include "agent/order.h"
#include "agent/sample_moment.h"
#include "graph/sampled.h"

struct gn_sampler;

/* NULL: no memory, or no thread. */
struct gn_sampler *gn_sampler_begin(const struct gn_sample_settings *settings);

/* Samples a process from now on. Its memory stays where it is until gn_sampler_end. again: another agent has
 * done so before this one. sampler may be NULL, here and below. */
void gn_sampler_watch(struct gn_sampler *sampler, int pid, const struct gn_recorded *recorded, bool again);
/* It has ended. */
void gn_sampler_ended(struct gn_sampler *sampler, int pid);

/* So many samples a second of each thread from now on, at most; 0: none. Not of samples by a signal. */
void gn_sampler_set_rate(struct gn_sampler *sampler, unsigned hz);

/* A bit for each metric that is counted from now on (graph/metrics.h). Of each run no more than
 * GN_METRICS_AT_A_TIME different ones: those beyond are refused. Likewise. */
void gn_sampler_set_metrics(struct gn_sampler *sampler, uint32_t metrics);

/* By the kernel, of all threads. */
bool gn_sampler_is_refused(const struct gn_sampler *sampler);

/* What is known of a process; nobody samples until gn_sampler_go_on. False: it is not watched. */
bool gn_sampler_look(struct gn_sampler *sampler, int pid, struct gn_sampled *sampled);
/* Likewise, but false, too, where it would have to wait for who samples. */
bool gn_sampler_try(struct gn_sampler *sampler, int pid, struct gn_sampled *sampled);
void gn_sampler_go_on(struct gn_sampler *sampler);

/* Processor time that it has used. */
uint64_t gn_sampler_used_ns(struct gn_sampler *sampler);

/* Takes the last samples and ends the thread. What is known stays to be looked at. */
void gn_sampler_end(struct gn_sampler *sampler);
void gn_sampler_free(struct gn_sampler *sampler);

#endif
