/*
 * trace/output — where ordered events go: lines of JSON, an OTF2 archive, an event stream. Each is opened by
 * a function of its own and used the same way.
 */
#ifndef GNOMON_TRACE_OUTPUT_H
#define GNOMON_TRACE_OUTPUT_H

#include "trace/origin.h"
#include "event/definitions.h"
#include "event/place.h"

/* Closed by finish, or by close when something has failed; either is called once. */
struct gn_output {
    void *self;
    /* number: the event's position in the order, from 0. 0 or a negative errno value, like those below. */
    int (*put)(void *self, uint64_t number, const struct gn_event *event, const struct gn_place *place,
               struct gn_error *err);
    int (*end)(void *self, uint32_t location, struct gn_error *err); /* no more of location; may be NULL */
    int (*flush)(void *self, struct gn_error *err);
    int (*finish)(void *self, struct gn_error *err);
    void (*close)(void *self);
};

/* One line of JSON per event, as in docs/order.md, written to fd, which is closed with the output unless it
 * is standard output. definitions may grow. */
int gn_output_jsonl(struct gn_output *output, int fd, const struct gn_definitions *definitions,
                    const struct gn_origin *origin, struct gn_error *err);
/* An archive in a new folder; times are the places' (adjusted, if the sort was asked to adjust them). */
int gn_output_otf2(struct gn_output *output, const char *folder, const struct gn_definitions *definitions,
                   struct gn_error *err);
/* An event stream (event/wire.h) to path, or to standard output when path is "-". A % in path stands for a
 * location's number: one stream for each location of the definitions as they are. */
int gn_output_stream(struct gn_output *output, const char *path, const struct gn_definitions *definitions,
                     struct gn_error *err);

#endif
