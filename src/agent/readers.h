/*
 * agent/readers — whoever watches a running trace: each gets all events as an event stream (event/wire.h)
 * through a pipe or a socket of its own.
 *
 * The events come from the thread that empties the rings, which must not wait for anybody. So a reader's
 * descriptor does not block, what it does not take at once waits in memory, and when BACKLOG bytes wait the
 * events that follow are left out until half of that has gone: the reader sees a `lost` event with their
 * number in their place. The stream's begin is kept in memory up to BEGIN bytes: whoever comes as early as
 * that gets everything, who comes later `lost` events for what was before. Who goes away is forgotten.
 *
 *   agent:  gn_readers_add ──► asked ──┐           the rings' thread:
 *                                      └─► round: open, tell what is gone ──► event, end … ──► finish
 *   agent:  gn_readers_wait ◄── what still waits in memory then ◄───────────────────────────────┘
 *
 * Call paths are not known before the run ends: events have none here.
 */
#ifndef GNOMON_AGENT_READERS_H
#define GNOMON_AGENT_READERS_H

#include "event/definitions.h"
#include "event/event.h"

enum { GN_READERS_MAX = 8 };

struct gn_readers;

/* What they are shown. set_clock brings the rate and begin in definitions up to date; it is called by the
 * rings' thread. Everything outlives the call of gn_readers_finish. */
struct gn_readers_program {
    const struct gn_definitions *definitions;
    void *self;
    void (*set_clock)(void *self);
};

/* NULL: no memory. */
struct gn_readers *gn_readers_new(const struct gn_readers_program *program);
/* After the thread has ended. Who has not got everything sees a stream that broke off. NULL is allowed. */
void gn_readers_free(struct gn_readers *readers);

/* ---- by the agent ---- */

/* Takes descriptor over, which must be the end of a pipe or a stream socket that can be written to. 0, and
 * the stream begins with the next round; -EINVAL, -EBUSY (there are GN_READERS_MAX): it stays the caller's.
 */
int gn_readers_add(struct gn_readers *readers, int descriptor);

/* After gn_readers_finish: hands on what still waits in memory, as long as somebody takes some of it within
 * patience_ms, and at most ten times as long. */
void gn_readers_wait(struct gn_readers *readers, int patience_ms);

/* ---- by the thread that empties the rings ---- */

void gn_readers_event(struct gn_readers *readers, const struct gn_event *event);
void gn_readers_end(struct gn_readers *readers, uint32_t location); /* no more of it will come */
/* Lets new readers in, hands on what waits. Whether there are any. */
bool gn_readers_round(struct gn_readers *readers);
/* Ends all locations and the streams. Nobody is let in afterwards. */
void gn_readers_finish(struct gn_readers *readers);

#endif
