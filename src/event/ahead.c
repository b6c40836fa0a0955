#include "event/ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_LOCATIONS = 8192,
    BATCH_MAX = 4096,
    BATCH_MIN = 256,
    BUDGET = 1 << 20 /* events in all batches */
};

struct lane {
    struct gn_event *batches[2]; /* [capacity]; NULL: not needed yet */
    int64_t counts[2];           /* of the batch that is full: what pull returned */
    uint8_t filling;             /* the batch that the thread fills, or has filled */
    bool is_full;
    bool has_ended;
    int64_t failure; /* of the inner source, after events that were good; 0: none */
    uint32_t next;   /* in the queue */
};

struct ahead {
    struct gn_source inner;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t asked, filled;
    struct lane *lanes;
    uint32_t count, capacity;
    uint32_t first, last; /* lanes whose batch is to be filled; GN_NONE: none */
    uint32_t wanted;      /* the lane that the consumer waits for, or GN_NONE */
    bool stop, sleeping;
    struct gn_error err; /* of the inner source; first one */
};

/* ---- the thread ---- */

/* As much as fits; what the inner source gives at a time fits at least once. */
static int64_t fill(struct ahead *a, uint32_t location, struct lane *lane, struct gn_error *err)
{
    struct gn_event *batch = lane->batches[lane->filling];
    uint32_t filled = 0;
    do {
        const struct gn_event *events;
        int64_t count = a->inner.pull(a->inner.self, location, &events, err);
        if (count <= 0) {
            lane->has_ended = count == 0;
            lane->failure = count;
            return filled ? filled : count;
        }
        if ((uint64_t)count > a->capacity - filled) { /* larger than any batch of ours */
            struct gn_event *larger = realloc(batch, ((size_t)filled + (size_t)count) * sizeof *larger);
            if (!larger)
                return gn_fail(err, -ENOMEM, "no memory for %lld events", (long long)count);
            lane->batches[lane->filling] = batch = larger;
        }
        memcpy(batch + filled, events, (size_t)count * sizeof *events);
        filled += (uint32_t)count;
    } while (filled + BATCH_MIN <= a->capacity);
    return filled;
}

static bool make_batch(struct ahead *a, struct lane *lane)
{
    struct gn_event **batch = &lane->batches[lane->filling];
    if (!*batch)
        *batch = malloc(a->capacity * sizeof **batch);
    return *batch != NULL;
}

static void fill_first(struct ahead *a)
{
    struct gn_error err = {.text = ""};
    uint32_t location = a->first;
    struct lane *lane = &a->lanes[location];
    a->first = lane->next;
    pthread_mutex_unlock(&a->lock);
    int64_t count = lane->failure;
    if (count == 0 && !lane->has_ended)
        count = make_batch(a, lane) ? fill(a, location, lane, &err)
                                    : gn_fail(&err, -ENOMEM, "no memory to read ahead");
    pthread_mutex_lock(&a->lock);
    if (err.text[0] && !a->err.text[0])
        a->err = err;
    lane->counts[lane->filling] = count;
    lane->is_full = true;
    if (a->wanted == location)
        pthread_cond_signal(&a->filled);
}

static void *run(void *self)
{
    struct ahead *a = self;
    pthread_mutex_lock(&a->lock);
    while (!a->stop) {
        if (a->first != GN_NONE) {
            fill_first(a);
            continue;
        }
        a->sleeping = true;
        pthread_cond_wait(&a->asked, &a->lock);
        a->sleeping = false;
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* ---- the consumer ---- */

static void ask(struct ahead *a, uint32_t location)
{
    a->lanes[location].next = GN_NONE;
    if (a->first == GN_NONE)
        a->first = location;
    else
        a->lanes[a->last].next = location;
    a->last = location;
    if (a->sleeping)
        pthread_cond_signal(&a->asked);
}

static int64_t pull(void *self, uint32_t location, const struct gn_event **events, struct gn_error *err)
{
    struct ahead *a = self;
    struct lane *lane = &a->lanes[location];
    pthread_mutex_lock(&a->lock);
    a->wanted = location;
    while (!lane->is_full)
        pthread_cond_wait(&a->filled, &a->lock);
    a->wanted = GN_NONE;
    int64_t count = lane->counts[lane->filling];
    if (count > 0) {
        *events = lane->batches[lane->filling];
        lane->filling = !lane->filling;
        lane->is_full = false;
        ask(a, location);
    } else if (count < 0 && err) {
        *err = a->err;
    }
    pthread_mutex_unlock(&a->lock);
    return count;
}

static void free_ahead(struct ahead *a)
{
    for (uint32_t i = 0; a->lanes && i < a->count; i++) {
        free(a->lanes[i].batches[0]);
        free(a->lanes[i].batches[1]);
    }
    free(a->lanes);
    pthread_cond_destroy(&a->asked);
    pthread_cond_destroy(&a->filled);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

static void close_ahead(void *self)
{
    struct ahead *a = self;
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_cond_signal(&a->asked);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    a->inner.close(a->inner.self);
    free_ahead(a);
}

static uint32_t batch_capacity(uint32_t locations)
{
    uint32_t share = locations ? BUDGET / locations / 2 : BATCH_MAX;
    return share > BATCH_MAX ? BATCH_MAX : share < BATCH_MIN ? BATCH_MIN : share;
}

int gn_source_ahead(struct gn_source *source)
{
    if (source->definitions->location_count > MOST_LOCATIONS)
        return -E2BIG;
    struct ahead *a = calloc(1, sizeof *a);
    if (!a)
        return -ENOMEM;
    a->inner = *source;
    a->count = (uint32_t)source->definitions->location_count;
    a->capacity = batch_capacity(a->count);
    a->first = a->wanted = GN_NONE;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->asked, NULL);
    pthread_cond_init(&a->filled, NULL);
    a->lanes = calloc(a->count ? a->count : 1, sizeof *a->lanes);
    for (uint32_t i = 0; a->lanes && i < a->count; i++)
        ask(a, i);
    int code = a->lanes ? -pthread_create(&a->thread, NULL, run, a) : -ENOMEM;
    if (code != 0) {
        free_ahead(a);
        return code;
    }
    *source = (struct gn_source){a, source->definitions, pull, close_ahead};
    return 0;
}
