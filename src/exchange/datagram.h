/*
 * exchange/datagram — what agents of a run say to each other: one size, one layout, authenticated.
 *
 *    0        4      5       8      12     16        24       32      40         48       56      72
 *    ┌────────┬──────┬───────┬──────┬──────┬─────────┬────────┬───────┬──────────┬────────┬───────┐
 *    │ "GnX2" │ kind │ 0 0 0 │ from │ to   │ session │ number │ heard │ answered │ moment │ tag   │
 *    └────────┴──────┴───────┴──────┴──────┴─────────┴────────┴───────┴──────────┴────────┴───────┘
 *
 * Little endian. from and to are indices of hosts, so that a datagram that is sent back to where it came from
 * is addressed to somebody else. session is the child's, chosen at random; number never comes twice in it.
 * heard, answered and moment are 0 in all but READINGS. The tag is BLAKE2b under the run's key over all
 * before it.
 */
#ifndef GNOMON_EXCHANGE_DATAGRAM_H
#define GNOMON_EXCHANGE_DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GN_DATAGRAM_BYTES = 72, GN_DATAGRAM_TAG_BYTES = 16, GN_DATAGRAM_KEY_BYTES = 32 };

enum gn_datagram_kind {
    GN_QUESTION = 1, /* child to parent: what does your clock show? */
    GN_ANSWER,       /* parent to child: now */
    GN_READINGS,     /* parent to child: it showed heard when I heard you, and answered when I answered */
    GN_GOODBYE,      /* child to parent: no more questions */
    GN_FAREWELL,     /* parent to child: so I heard */
};

struct gn_datagram {
    enum gn_datagram_kind kind;
    uint32_t from, to;
    uint64_t session, number;
    uint64_t heard_ticks, answered_ticks;
    uint64_t moment_ns; /* the run's (gn_exchanges_moment) when these left; 0: not known there */
};

void gn_datagram_seal(uint8_t bytes[GN_DATAGRAM_BYTES], const struct gn_datagram *datagram,
                      const uint8_t key[GN_DATAGRAM_KEY_BYTES]);

/* False: not a datagram of ours under this key. Whatever is cheap to see is looked at before the tag. */
bool gn_datagram_open(struct gn_datagram *datagram, const uint8_t *bytes, size_t size,
                      const uint8_t key[GN_DATAGRAM_KEY_BYTES]);

/* Which numbers have been there. All zero: none. */
struct gn_numbers {
    uint64_t highest, seen; /* bit k: highest − k has been there */
};

/* True once for each number above 0; false for those too far behind the highest to know, too. */
bool gn_number_is_new(struct gn_numbers *numbers, uint64_t number);

#endif
