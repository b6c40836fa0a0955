/*
 * frames_reference — random changes of state with known true times, and what a question's answer has to be,
 * by ways that know nothing of sweeping:
 *
 *   - by definition: at each instant the stages that each location may be in, and all choices of them;
 *   - by aggregation: the same, of events merged until nothing overlaps any more;
 *   - by exhaustion: all true times that ticks and bounds allow, and how long the answer was yes in each;
 *   - by truth: how long it was.
 *
 * Times are small whole numbers, so that an instant t stands for [t, t + 1). Answers are [0] of whoever it
 * is, [1 + l] of location l being the one that is not in A; after the last bound there is no frame.
 */
#ifndef GNOMON_TEST_FRAMES_REFERENCE_H
#define GNOMON_TEST_FRAMES_REFERENCE_H

#include "analyse/frames.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_LOCATIONS = 8, MOST_STAGES = 40, MOST_EVENTS = MOST_LOCATIONS * MOST_STAGES, SIZES = 10 };

struct world {
    size_t count;
    int64_t length;
    struct gn_stages stages[MOST_LOCATIONS];
    struct gn_stage list[MOST_LOCATIONS][MOST_STAGES];
    int64_t truth[MOST_LOCATIONS][MOST_STAGES];
};

/* How worlds are made. */
struct making {
    uint32_t locations, stages; /* at most */
    int64_t length, width;      /* of bounds, each side, at most */
    uint32_t domains;           /* at most; 0: each location its own */
    int64_t granularity;        /* of clocks */
    uint32_t cut;               /* of a hundred bounds, made narrower one by one */
};

struct event {
    int64_t lo, hi;
    size_t location, stage, group;
};

/* w, others, last and the events are given, and found is 0. */
struct exhaustion {
    void (*visit)(struct exhaustion *x); /* all times that ticks and bounds allow; NULL: measures `others` */
    void *self;
    const struct world *w;
    struct event events[MOST_EVENTS];
    size_t count;
    uint32_t others;
    int64_t times[MOST_LOCATIONS][MOST_STAGES];
    int64_t last, least[MOST_LOCATIONS + 1], most[MOST_LOCATIONS + 1];
    uint64_t found;
};

void begin_with(uint64_t number); /* what follows is the same each time */
uint64_t below(uint64_t n);

void make_world(struct world *w, const struct making *m);
void print_world(const struct world *w);
int64_t last_bound(const struct world *w);
size_t list_events(const struct world *w, struct event *events);

void by_definition(const struct world *w, uint32_t others, struct gn_frame_time *times);
void by_aggregation(const struct world *w, uint32_t others, struct gn_frame_time *times, uint64_t *sizes);
void exhaust(struct exhaustion *x, size_t e); /* e: 0 */
void measure(const struct world *w, const int64_t times[][MOST_STAGES], int64_t last, uint32_t others,
             int64_t *yes);

#endif
