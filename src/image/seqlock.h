/*
 * image/seqlock — the memory ordering of shared task activity graphs, all of it.
 *
 * One writer (the thread that owns the location), any number of readers in other processes that never stop
 * it. Each record starts with a 32-bit sequence number: odd while the writer is inside. Fields are
 * relaxed atomics, so that a torn word cannot be seen and no compiler may invent accesses; on x86-64 and
 * aarch64 they cost plain loads and stores.
 *
 *   writer                                   reader
 *   seq = s+1        (relaxed)               s1 = seq      (acquire: data is read after it)
 *   fence release    (data after the odd)    copy data     (relaxed)
 *   write data       (relaxed)               fence acquire (data is read before the second look)
 *   seq = s+2        (release: data before)  s2 = seq; good when s1 == s2 and even
 *
 * New records are complete before the count that makes them visible is stored with release order.
 */
#ifndef GNOMON_IMAGE_SEQLOCK_H
#define GNOMON_IMAGE_SEQLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef _Atomic uint32_t gn_shared32;
typedef _Atomic uint64_t gn_shared64;

#define GN_GET(field) atomic_load_explicit(&(field), memory_order_relaxed)
#define GN_SET(field, value) atomic_store_explicit(&(field), (value), memory_order_relaxed)
/* The owner is the only writer: an addition needs no locked instruction. */
#define GN_ADD(field, value) GN_SET(field, GN_GET(field) + (value))

#define GN_PUBLISH(field, value) atomic_store_explicit(&(field), (value), memory_order_release)
#define GN_OBSERVE(field) atomic_load_explicit(&(field), memory_order_acquire)

static inline void gn_seq_begin(gn_shared32 *seq)
{
    GN_SET(*seq, GN_GET(*seq) + 1);
    atomic_thread_fence(memory_order_release);
}

static inline void gn_seq_end(gn_shared32 *seq)
{
    GN_PUBLISH(*seq, GN_GET(*seq) + 1);
}

static inline uint32_t gn_seq_read_begin(gn_shared32 *seq)
{
    return GN_OBSERVE(*seq);
}

static inline bool gn_seq_read_good(gn_shared32 *seq, uint32_t before)
{
    atomic_thread_fence(memory_order_acquire);
    return (before & 1u) == 0 && GN_GET(*seq) == before;
}

#endif
