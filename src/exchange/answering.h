/*
 * exchange/answering — the parent's side: each question of a child is answered once.
 *
 * A number that comes again is refused, whether the network doubled it or somebody kept it, so there is never
 * more than one answer that READINGS could belong to, and nobody gets datagrams for less than a new question.
 */
#ifndef GNOMON_EXCHANGE_ANSWERING_H
#define GNOMON_EXCHANGE_ANSWERING_H

#include "exchange/line.h"

struct gn_answering {
    uint32_t first, count; /* indices of the children */
    uint64_t served;
    struct gn_child {
        uint64_t session; /* of the first question; there is one per child and run */
        struct gn_numbers numbers;
        uint64_t last_ns; /* CLOCK_MONOTONIC_RAW of its last word; 0: none yet */
        bool gone;        /* said goodbye */
    } * children;
};

/* 0 or -ENOMEM. */
int gn_answering_init(struct gn_answering *answering, uint32_t first, uint32_t count);
void gn_answering_clear(struct gn_answering *answering);

/* QUESTION or GOODBYE, verified and addressed to this host. False: it changes nothing. */
bool gn_answering_hear(struct gn_answering *answering, struct gn_exchange_line *line,
                       const struct gn_datagram *d, const struct gn_exchange_peer *from,
                       const struct gn_reading *heard);

/* Until when (CLOCK_MONOTONIC_RAW) it is worth waiting for children that have not said goodbye; 0: for none.
 * silence_ns: how long after their last word. */
uint64_t gn_answering_until(const struct gn_answering *answering, uint64_t silence_ns);

#endif
