/*
 * event/ahead — a source that is pulled by a thread of its own, ahead of who asks.
 *
 * Decoding an archive takes longer than sorting its events; on two cores it then takes no time of the sort's.
 * Each location has two batches: one that the consumer looks at, one that the thread fills.
 *
 *   consumer ── takes the full one, gives back the other ──► queue of batches to fill ──► thread ──► inner
 * source
 */
#ifndef GNOMON_EVENT_AHEAD_H
#define GNOMON_EVENT_AHEAD_H

#include "event/stream.h"

/*
 * Replaces *source by one that gives the same events, and owns the first one. Only for sources that end (not
 * live ones), and whose definitions do not grow. Returns 0; or, with *source as it was, -ENOMEM, -EAGAIN (no
 * thread), or -E2BIG when there are so many locations that batches would take more memory than they are
 * worth.
 */
int gn_source_ahead(struct gn_source *source);

#endif
