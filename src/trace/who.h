/* trace/who — where a location is, in the words that people use: its rank, and which thread of it. */
#ifndef GNOMON_TRACE_WHO_H
#define GNOMON_TRACE_WHO_H

#include "event/definitions.h"

struct gn_who {
    int32_t rank;    /* -1: none */
    uint32_t thread; /* 0: the first location of its process */
};

/* All zero but definitions, which may grow. Freed by gn_whos_clear. */
struct gn_whos {
    const struct gn_definitions *definitions;
    struct gn_who *locations;
    uint32_t *threads; /* per process: locations so far */
    size_t location_count, location_capacity, thread_count, thread_capacity;
};

/* Looks at what has been defined since the last time; gn_who_of does so when it has to. */
void gn_whos_extend(struct gn_whos *whos);

/* Of a location that is not defined, or without memory: rank -1, thread 0. */
static inline struct gn_who gn_who_of(struct gn_whos *whos, uint32_t location)
{
    if (location >= whos->location_count)
        gn_whos_extend(whos);
    return location < whos->location_count ? whos->locations[location] : (struct gn_who){-1, 0};
}

void gn_whos_clear(struct gn_whos *whos);

#endif
