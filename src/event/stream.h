/*
 * event/stream — how events travel: pulled from a source, location by location; pushed to a consumer.
 *
 * A source keeps each location's events in the order in which they happened there; between locations it
 * promises nothing. Who drives it decides in which order locations are asked (causality/arrival.h).
 */
#ifndef GNOMON_EVENT_STREAM_H
#define GNOMON_EVENT_STREAM_H

#include "base/error.h"
#include "event/definitions.h"
#include "event/event.h"

/* Owned by whoever opened it, who calls close. definitions may grow between pulls of a live source (never
 * shrink or change what is there). */
struct gn_source {
    void *self;
    const struct gn_definitions *definitions;
    /* The next events of a location (0 ≤ location < definitions->location_count): sets *events to an array of
     * them, which is valid until the next pull of the same location. Returns how many (≥ 1), 0 at the end of
     * the location, -EAGAIN when a live source has none yet, or another negative errno value with err set. */
    int64_t (*pull)(void *self, uint32_t location, const struct gn_event **events, struct gn_error *err);
    void (*close)(void *self);
};

/* push returns 0, or a negative errno value that stops the stream; it keeps no reference to the event. */
struct gn_sink {
    void *self;
    int (*push)(void *self, const struct gn_event *event);
};

#endif
