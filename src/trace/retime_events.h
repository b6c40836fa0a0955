/*
 * trace/retime_events — an event file again, with other timestamps.
 *
 *   input   ┌ chunk ┬ chunk ┬ ch│unk ┬ …          as long as no timestamp changes nothing is written;
 *           └───────┴───────┴───┼────┴            then what is before is copied as it is, and records follow
 *   output  ┌ chunk ┬ chunk ┬ ch│unk  ┬ …         one by one into chunks that fill up at other places
 *
 * A timestamp is a record of its own, before the first of the events that have it: it appears where two
 * events get different times, and disappears where they get the same.
 *
 * A BufferFlush has a second time, of its end. It gets the distance to the last event before it that it had,
 * but does not get behind the first event after it.
 */
#ifndef GNOMON_TRACE_RETIME_EVENTS_H
#define GNOMON_TRACE_RETIME_EVENTS_H

#include "base/error.h"
#include "trace/retimer.h"

/* chunk: the archive's size of chunks, in bytes. retimer NULL: every timestamp stays. *events: how many there
 * are; what is behind them and is not whole is left out, if the file was cut off. to must not be there yet. 0
 * or a negative errno value: -EBADMSG: not an event file, or one that is whole but cannot be understood. */
int gn_retime_events(const char *from, const char *to, uint64_t chunk, const struct gn_retimer *retimer,
                     uint64_t *events, struct gn_error *err);

#endif
