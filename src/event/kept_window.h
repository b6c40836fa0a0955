/* event/kept_window — a part of a run's time in which all events of a host were kept. Calls that ended in it
 * belong to it, whenever they began. */
#ifndef GNOMON_EVENT_KEPT_WINDOW_H
#define GNOMON_EVENT_KEPT_WINDOW_H

#include <stdint.h>

enum { GN_KEPT_WINDOWS_MOST = 4096 }; /* of a run: a month has not as many */

struct gn_kept_window {
    uint64_t begin_ticks, end_ticks; /* of the clock that the events have */
};

#endif
