/*
 * image/signal_samples — where a process that is sampled by a signal writes its samples (gnomon run --sample
 * signal), and its agent takes them. Part of the ring segment; its pages are touched only where that is asked
 * for.
 *
 * A slot belongs to one side at a time:
 *
 *   free ──(handler: exchange, acquire)──► taken ──(release)──► full ──(agent: copy, then release)──► free
 *
 * A handler that finds no slot free counts a loss. One that is killed in the middle leaves its slot taken for
 * ever; there are others.
 */
#ifndef GNOMON_IMAGE_SIGNAL_SAMPLES_H
#define GNOMON_IMAGE_SIGNAL_SAMPLES_H

#include "image/seqlock.h"

#include <stdint.h>

enum { GN_SIGNAL_SLOTS = 128, GN_SIGNAL_STACK_BYTES = 4096 };
enum gn_signal_slot_state { GN_SIGNAL_FREE, GN_SIGNAL_TAKEN, GN_SIGNAL_FULL };

struct gn_signal_slot {
    _Alignas(64) gn_shared32 state;
    int32_t tid;
    uint32_t stack_bytes;
    uint64_t time_ns; /* CLOCK_MONOTONIC_RAW */
    uint64_t used_ns; /* processor time of the thread since its last sample */
    uint64_t ip, sp, fp;
    uint8_t stack[GN_SIGNAL_STACK_BYTES]; /* from sp on */
};

struct gn_signal_samples {
    _Alignas(64)
        gn_shared64 period_ns; /* of a thread's processor time, by the agent; 0: no samples are asked for */
    gn_shared64 next;          /* where the next handler begins to look for a slot */
    gn_shared64 lost;
    gn_shared32 trouble; /* errno: no thread is sampled; 0: they are */
    struct gn_signal_slot slots[GN_SIGNAL_SLOTS];
};

#endif
