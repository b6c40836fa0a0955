/* halo_step — the records that benchmarks of archives write, over and over: what a trace of a solver looks
 * like. */
#ifndef GNOMON_BENCH_HALO_STEP_H
#define GNOMON_BENCH_HALO_STEP_H

#include <otf2/otf2.h>

/* A step of a halo exchange and its residual: 22 records, from `time` on. The time of the next step. */
static inline uint64_t write_step(OTF2_EvtWriter *w, uint64_t time)
{
    for (uint32_t i = 0; i < 2; i++, time += 300) {
        OTF2_EvtWriter_Enter(w, NULL, time, 1);
        OTF2_EvtWriter_MpiIrecvRequest(w, NULL, time + 100, 2 * i);
        OTF2_EvtWriter_Leave(w, NULL, time + 200, 1);
    }
    for (uint32_t i = 0; i < 2; i++, time += 300) {
        OTF2_EvtWriter_Enter(w, NULL, time, 2);
        OTF2_EvtWriter_MpiIsend(w, NULL, time + 100, 1, 0, 7, 8192, 2 * i + 1);
        OTF2_EvtWriter_Leave(w, NULL, time + 200, 2);
    }
    OTF2_EvtWriter_Enter(w, NULL, time, 3);
    for (uint32_t i = 0; i < 2; i++, time += 200) {
        OTF2_EvtWriter_MpiIrecv(w, NULL, time, 1, 0, 7, 8192, 2 * i);
        OTF2_EvtWriter_MpiIsendComplete(w, NULL, time + 100, 2 * i + 1);
    }
    OTF2_EvtWriter_Leave(w, NULL, time + 100, 3);
    OTF2_EvtWriter_Enter(w, NULL, time + 200, 4);
    OTF2_EvtWriter_MpiCollectiveBegin(w, NULL, time + 200);
    OTF2_EvtWriter_MpiCollectiveEnd(w, NULL, time + 900, OTF2_COLLECTIVE_OP_ALLREDUCE, 0,
                                    OTF2_COLLECTIVE_ROOT_NONE, 8, 8);
    OTF2_EvtWriter_Leave(w, NULL, time + 1000, 4);
    return time + 2000;
}

#endif
