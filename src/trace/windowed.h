/*
 * trace/windowed — a trace in windows (agent/windows.h) as one source for each of them.
 *
 * A call belongs to the window in which it was left, with all that it communicated: what was waited for is
 * known as soon as that has ended, and so each call of the run is in a window with the same chance, the long
 * ones, too. Collectives begin in it with the first one that all of their members have. What began before and
 * what a window's end cuts off has no other half here: messages without their send or their receive,
 * collectives without all of their members.
 */
#ifndef GNOMON_TRACE_WINDOWED_H
#define GNOMON_TRACE_WINDOWED_H

#include "event/kept_window.h"
#include "event/stream.h"

#include <stdbool.h>
#include <stddef.h>

struct gn_windowed;

enum gn_windowed_as {
    GN_WINDOWED_CALLS, /* calls, and what else is in a window */
    GN_WINDOWED_PARTS, /* functions and regions that are open when a window begins are entered there, and
                          those that are open at its end are left there */
    /*
     * Likewise, and all windows are one, number 0: one after the other, as if there were no time between
     * them. What began before a window begins with it; a call that is left behind its end is left there,
     * without what it communicated. Of collectives there are those that all members have.
     *
     *     ──├─ 1 ─┤───────├─── 2 ───┤────     →     ├─ 1 ─├─── 2 ───┤
     */
    GN_WINDOWED_JOINED
};

/* Reads all of the source. windows: count of them, in their order, which do not overlap. 0, and the caller
 * frees; or a negative errno value with err set; -ENOTSUP: windows that are to be joined have collectives
 * without numbers, of which nobody knows which ones all members have. The source's definitions outlive it. */
int gn_windowed_read(struct gn_windowed **windowed, struct gn_source *source,
                     const struct gn_kept_window *windows, size_t count, enum gn_windowed_as as,
                     struct gn_error *err);
void gn_windowed_free(struct gn_windowed *windowed); /* NULL is allowed */

/* Events of a window; nobody needs to close it. One at a time, as often as wanted. */
void gn_windowed_source(struct gn_windowed *windowed, size_t window, struct gn_source *source);
uint64_t gn_windowed_events(const struct gn_windowed *windowed, size_t window);
/* Whether messages and collectives say which ones they are: else nobody knows what matches what, as the first
 * ones of a window are not the first ones of the run. */
bool gn_windowed_is_numbered(const struct gn_windowed *windowed);

#endif
