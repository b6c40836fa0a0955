/*
 * agent/windows — when a host's rings are emptied into the trace of windows, and when they are left to
 * overwrite themselves.
 *
 * Who waits for whom is seen in events, of which an ordinary program has more than anybody wants to keep. So
 * they are kept in windows: everything of all ranks of the host from one moment to another. A window lasts as
 * long as its share of events took before it, whatever is in it: one that ended with its last event would
 * have the end of each long wait that it began in, and such waits would be seen too often. The next one
 * begins when the rate allows it: a program that makes few calls has one window, which is the whole run. The
 * gaps are of random length, so that no step of the program keeps pace with them, and double with every
 * `GN_WINDOWS_DOUBLE` events: so that what is kept grows as the logarithm of the run's length.
 *
 * Hosts of a run keep the same windows without a word: but for the first, which begins with the first
 * process, each begins at moments that follow from a number that all of them have. Moments have levels, each
 * level's are half as many as those of the one below and are among them: who has to wait longer for the next
 * window takes moments of a higher level, at which the others begin one, too. A window ends on each host when
 * it has its share there; what all of them have is found when the run is over (profile/kept_windows.h).
 *
 *   begin            window             gap, at random         window
 *   │─────────────────────────────────│··········│───────────────────────────────│·· … ── end of the run
 */
#ifndef GNOMON_AGENT_WINDOWS_H
#define GNOMON_AGENT_WINDOWS_H

#include "event/kept_window.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GN_WINDOWS_RATE = 100000, /* events a second of a host, where nothing else was asked for */
    GN_WINDOWS_LEAST = 1500,  /* events of a window, and GN_WINDOWS_EACH more for every location */
    GN_WINDOWS_EACH = 200,
    GN_WINDOWS_DOUBLE = 120000 /* … and GN_WINDOWS_EACH more for every location */
};

struct gn_windows {
    double rate;     /* events a second; 0: none for now */
    uint64_t common; /* what the moments of several hosts follow from; 0: this is the only one */
    uint64_t random;
    bool is_open;
    bool has_gaps;    /* something was in no window */
    uint64_t events;  /* when the open one, or this part of it, began */
    uint64_t next_ns; /* when the next one may begin */
    uint64_t now_ns, begun_ns;
    uint64_t paid_ns; /* when what was kept was last paid for, or the window began */
    double parts, kept,
        kept_ns; /* windows, or parts of those that went on; events in them, and in how long */
    struct gn_kept_window spans[GN_KEPT_WINDOWS_MOST];
    size_t count;
};

void gn_windows_begin(struct gn_windows *windows, double rate, uint64_t seed);

/* Another rate from now on; 0: there are no more windows until there is another one again. */
void gn_windows_set_rate(struct gn_windows *windows, double rate, uint64_t now_ns);

/* Whether events are to be kept from now on. now_ns: of several hosts the run's (gn_exchanges_moment), 0
 * where that is not known. events: that were kept so far, of `locations` threads. */
bool gn_windows_wanted(struct gn_windows *windows, uint64_t now_ns, uint64_t events, size_t locations);

/* What is in the rings from now on is kept; up to here. One of no length is none. What came with the last
 * look at the rings is in `events`, too, and counts. is_late: something was ahead of it. */
void gn_windows_open(struct gn_windows *windows, uint64_t ticks, uint64_t events, bool is_late);
void gn_windows_close(struct gn_windows *windows, uint64_t ticks, uint64_t events, size_t locations);
/* The run is over. */
void gn_windows_end(struct gn_windows *windows, uint64_t ticks);
/* Whether there was one from the begin to the end. */
bool gn_windows_are_whole(const struct gn_windows *windows);
/* A ring was overwritten faster than it could be read: all is kept up to here, and the next one comes when it
 * would have come after so many events. */
void gn_windows_cut(struct gn_windows *windows, uint64_t ticks, uint64_t events, size_t locations);

#endif
