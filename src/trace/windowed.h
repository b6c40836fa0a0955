/*
 * trace/windowed — a trace in windows (agent/windows.h) as one source for each of them.
 *
 * A call belongs to the window in which it was left, with all that it communicated: what was waited for is
 * known as soon as that has ended, and so each call of the run is in a window with the same chance, the long
 * ones, too. What began before and what a window's end cuts off has no other half here: messages without
 * their send or their receive, collectives without all of their members.
 */
#ifndef GNOMON_TRACE_WINDOWED_H
#define GNOMON_TRACE_WINDOWED_H

#include "event/kept_window.h"
#include "event/stream.h"

#include <stddef.h>

struct gn_windowed;

/* Reads all of the source. windows: count of them, in their order, which do not overlap. 0, and the caller
 * frees; or a negative errno value with err set. The source's definitions outlive it. */
int gn_windowed_read(struct gn_windowed **windowed, struct gn_source *source,
                     const struct gn_kept_window *windows, size_t count, struct gn_error *err);
void gn_windowed_free(struct gn_windowed *windowed); /* NULL is allowed */

/* Events of a window; nobody needs to close it. One at a time, as often as wanted. */
void gn_windowed_source(struct gn_windowed *windowed, size_t window, struct gn_source *source);
uint64_t gn_windowed_events(const struct gn_windowed *windowed, size_t window);

#endif
