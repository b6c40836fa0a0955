/*
 * meddler — somebody on the way between a child and its parent who sees everything, and does with it what he
 * likes, except that he does not know the key.
 */
#ifndef GNOMON_TEST_MEDDLER_H
#define GNOMON_TEST_MEDDLER_H

#include "exchange/exchanges.h"

enum gn_meddling {
    GN_LOSE = 1,         /* every third datagram, or so */
    GN_DOUBLE = 2,       /* each comes twice */
    GN_REORDER = 4,      /* some come after the next */
    GN_DELAY_THERE = 8,  /* to the parent takes 3 ms longer than back */
    GN_FORGE = 16,       /* each also comes with a bit changed */
    GN_REPLAY = 32,      /* old ones come again, in both directions */
    GN_TRUNCATE = 64,    /* each also comes shortened, or with more at its end */
    GN_REFLECT = 128,    /* each also goes back to who sent it */
    GN_RUBBISH = 256,    /* random bytes */
    GN_OTHER_KEY = 512,  /* good datagrams with wrong readings under another key */
    GN_MUTE_AFTER = 1024 /* nothing goes through after the first hundred */
};

struct meddler;

/* In front of the parent: *instead is the parent's endpoint as the child is to see it. */
struct meddler *meddler_begin(const struct gn_endpoint *parent, unsigned meddling, uint64_t seed,
                              struct gn_endpoint *instead);
/* Meddles no more. */
void meddler_end(struct meddler *meddler);
void meddler_free(struct meddler *meddler);

/* After the end: whether the parent itself said this, a pair of readings. */
bool meddler_saw(const struct meddler *meddler, uint64_t heard_ticks, uint64_t answered_ticks);

#endif
