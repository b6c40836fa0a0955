/*
 * causality/arrival_spec — the words of --arrival: recorded, roundrobin, random:SEED, delayed:SPEC.
 *
 * SPEC is a list of WHAT=VALUE, separated by commas; what is left out has the value shown here:
 *
 *   buffer=100B      size of the buffer: events, or bytes with a B behind the number
 *   record=25        bytes that an event takes in it (PICL's records are about that long); with buffer=…B
 *   flush=0          a buffer is also sent when its first event is that old; 0: only when it is full
 *   latency=0..1ms   from sending to arrival: fixed, or uniform between two times
 *   seed=1           for the latencies
 *
 * Times are numbers with ns, us, ms or s behind.
 */
#ifndef GNOMON_CAUSALITY_ARRIVAL_SPEC_H
#define GNOMON_CAUSALITY_ARRIVAL_SPEC_H

#include "causality/arrival.h"

/* 0, or -EINVAL with err saying what is wrong and what may stand there. */
int gn_arrival_parse(struct gn_arrival_settings *settings, const char *text, struct gn_error *err);

#endif
