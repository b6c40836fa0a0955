/*
 * repair/latency — µ, the smallest time that a message takes from one clock domain to another (Becker 2009,
 * equation 2), estimated from the trace itself or given.
 *
 * An estimate that is too large bends a correct trace, and grows from message to message around each circle
 * of them. So it is never above the smallest feasible transfer:
 *   - within a domain, the smallest difference of receive and send (one clock: it is a fact); 0 if that is
 *     negative, and never more than between domains;
 *   - between domains, the largest µ for which constant corrections of the clocks exist that leave every
 *     message at least µ: the smallest mean of a circle in the graph of smallest differences. Because clocks
 * drift, such graphs are made per slice of time, and what clocks could drift apart in a slice is taken off;
 * longer slices lower it where the fast messages close circles only there. It is not above the smallest
 * difference of a pair of domains where that is positive; nor, where one is negative, above the most that the
 * clocks are proven to be wrong by: means tell how long messages lay before receivers took them, too, and so
 * no message is put forward by more than twice what is proven. Where the trace does not tell, µ is 0: the
 * clock condition without a latency.
 */
#ifndef GNOMON_REPAIR_LATENCY_H
#define GNOMON_REPAIR_LATENCY_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct gn_latency {
    uint32_t domains;
    int64_t *ticks;        /* [domains * domains], [from * domains + to]; owned */
    int64_t between_ticks; /* smallest of all pairs of different domains: what collectives use */
};

/* Of µ from one domain to another, in ticks ≥ 0. */
static inline int64_t gn_latency_of(const struct gn_latency *latency, uint32_t from, uint32_t to)
{
    return latency->ticks[(size_t)from * latency->domains + to];
}

/* All zero. -ENOMEM with err set. */
int gn_latency_open(struct gn_latency *latency, uint32_t domains, struct gn_error *err);
void gn_latency_close(struct gn_latency *latency);

/* ---- estimating ---- */

struct gn_latency_sample;

/* ticks_per_second of the archive; apart_ppm: what the presynchronised clocks may drift from each other.
 * NULL: no memory. */
struct gn_latency_sample *gn_latency_sample_new(uint32_t domains, double ticks_per_second, double apart_ppm);
void gn_latency_sample_free(struct gn_latency_sample *sample);

/* A message between two domains, or within one; its time is that of the receive. -ENOMEM, -EINVAL (there is
 * no such domain), or 0. Memory is bounded; the order does not matter. */
int gn_latency_sample_message(struct gn_latency_sample *sample, uint32_t from, uint32_t to,
                              int64_t sent_ticks, int64_t received_ticks);

/* For several processes: what was sampled as bytes (to be freed), and taking such bytes in: it comes to the
 * same as one sample of all messages. -ENOMEM, -EINVAL (not bytes of a sample like this one), or 0. */
int gn_latency_sample_pack(const struct gn_latency_sample *sample, void **bytes, size_t *size);
int gn_latency_sample_unpack(struct gn_latency_sample *sample, const void *bytes, size_t size);

/* The estimate, into a latency that was opened for as many domains. Within a domain without messages it is 0,
 * between two without messages what it is between others at least. -ENOMEM, or 0. */
int gn_latency_estimate(const struct gn_latency_sample *sample, struct gn_latency *latency);

#endif
