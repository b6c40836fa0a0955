/*
 * agent/expand — from the records of a process's rings (image/record.h) to events.
 *
 *   call record   enter, what it did at its enter …, what was over when it was left …, leave
 *   polls         enter, leave; the enter says how many calls it stands for (request) and the ticks inside of
 *                 them (bytes_sent): the rest of the time between the two is the program's
 *   collective    its end stands in the call's record: the begin comes right after the enter, the end last
 *
 * A call is complete with the record that is not followed by another one. Events have the process's numbers:
 * region is the activity of the call's node, or GN_REGION_NAME + index into the TAG's names[]; path is an
 * index into the TAG's frames[]; comm one into comms[] or windows[] of the ring segment. What cannot be right
 * is counted and left out.
 *
 * A number that was not known when its message was received comes as an event `number` at whichever location
 * found it out.
 *
 * Where records were overwritten before they were taken, a `lost` event stands in their place and says how
 * many they were. A receive of which the post is among them is a message received at once; other requests
 * that complete without having begun are lost with their begin.
 */
#ifndef GNOMON_AGENT_EXPAND_H
#define GNOMON_AGENT_EXPAND_H

#include "image/tag.h"
#include "image/recorder_ring.h"

#define GN_REGION_NAME 0x10000u

struct gn_expand;

/* Gets each event, location by location in their order. */
typedef void gn_expand_emit(void *self, uint32_t location, struct gn_event *event);

/* Of a process: tag and rings are its segments, and outlive the result. NULL: no memory. */
struct gn_expand *gn_expand_new(struct gn_tag *tag, struct gn_ring_segment *rings, uint32_t locations,
                                uint32_t ring_records, gn_expand_emit *emit, void *self);
void gn_expand_free(struct gn_expand *expand);

/* Begins with record `index` of a location: those before it have been expanded by another one, up to `ticks`.
 */
void gn_expand_begin_at(struct gn_expand *expand, uint32_t location, uint64_t index, uint64_t ticks);

/* Of the last event of a location. */
uint64_t gn_expand_last_ticks(const struct gn_expand *expand, uint32_t location);

/* Whether the next record of a location is a new beginning: whoever begins there misses nothing. */
bool gn_expand_is_between(const struct gn_expand *expand, uint32_t location);

/* The record that comes next. */
uint64_t gn_expand_next(const struct gn_expand *expand, uint32_t location);

/* Those up to index were not asked for: measurement was off. */
void gn_expand_skip(struct gn_expand *expand, uint32_t location, uint64_t index);
/* Record `index` of a location. They come in their order; those in between are lost. */
void gn_expand_record(struct gn_expand *expand, uint32_t location, uint64_t index,
                      const struct gn_record *record);

/* The location's records before `index` have all come or are lost. */
void gn_expand_up_to(struct gn_expand *expand, uint32_t location, uint64_t index);

/* The process has ended, or nothing more is taken of it: what is not in the ring comes last, polls and the
 * call that was never left. */
void gn_expand_end(struct gn_expand *expand, uint32_t location);

/* Records that made no sense. */
uint64_t gn_expand_garbled(const struct gn_expand *expand);

#endif
