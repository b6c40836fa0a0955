/*
 * capture/signal_samples — the program's own threads say where they are, each time that they have used so
 * much processor time: a timer for each thread, and a signal. Only where the user has asked for it (gnomon
 * run
 * --sample signal), on systems that refuse perf_event_open; by default no signal of ours ever comes.
 *
 *   timer of the thread's processor time ──► signal, to that thread ──► registers, the end of its stack, time
 *                                                                           └► a slot
 * (image/signal_samples.h)
 *
 * The signal is the last real-time one that nobody handles at MPI_Init, with SA_RESTART; still, calls that
 * the kernel never restarts (poll, nanosleep and others) may end with EINTR, where a thread is waiting there
 * just when its time is up, which is while it computes, not while it waits. Timers are not inherited by
 * children, and end with exec. The handler takes no lock and no memory; the stack is read through the kernel,
 * since a coroutine's may end anywhere.
 */
#ifndef GNOMON_CAPTURE_SIGNAL_SAMPLES_H
#define GNOMON_CAPTURE_SIGNAL_SAMPLES_H

#include "image/signal_samples.h"

/* Samples the calling thread, and all that begin from now on, if samples->period_ns says so. */
void gn_signal_samples_open(struct gn_signal_samples *samples);
/* The calling thread has begun. */
void gn_signal_samples_thread(void);

#endif
