#include "causality/arrival.h"

#include "base/grow.h"
#include "base/mix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One location's way here. */
struct lane {
    const struct gn_event *events; /* pulled and not handed out: left of them */
    uint32_t left;
    bool ended;
    uint64_t zero_ticks;     /* aligned: what is taken off its readings; wraps around */
    uint64_t last_ticks;     /* recorded, aligned: of the event handed out last, so reduced; 0: none */
    struct gn_event *buffer; /* delayed: what arrives next, buffered of them; they are copies, because they
                                may come from several pulls */
    size_t buffered, buffer_capacity;
    uint64_t arrival_ticks; /* delayed: when it arrives; never before the buffer ahead of it */
};

/* recorded, aligned and delayed take the lane with the smallest key: ticks, and below them the location. One
 * number, so that comparing needs no branch: which lane is next cannot be predicted. */
typedef unsigned __int128 lane_key;

static lane_key key_of(uint64_t ticks, uint32_t location)
{
    return (lane_key)ticks << 32 | location;
}

static uint32_t location_of(lane_key key)
{
    return (uint32_t)key;
}

struct gn_arrival {
    struct gn_source *source;
    struct gn_arrival_settings settings;
    uint64_t flush_ticks, latency_min_ticks, latency_span_ticks;
    uint64_t random;
    struct zero {
        uint64_t ticks;
        bool known;
    } * zeros; /* aligned: by clock domain */
    size_t zero_count, zero_capacity;
    struct lane *lanes;
    size_t lane_count, lane_capacity;
    lane_key *heap;                              /* recorded, aligned, delayed */
    uint32_t *active;                            /* roundrobin, random: lanes that have not ended */
    size_t heap_capacity, active_capacity, open; /* open: lanes in heap or active */
    size_t turn;                                 /* roundrobin */
    size_t gone;                                 /* roundrobin: entries of active that have ended */
    bool pending;                                /* the heap's first lane was handed out and has no key yet */
};

/* ---- lanes ---- */

static uint64_t below(struct gn_arrival *a, uint64_t limit)
{
    return (uint64_t)(((unsigned __int128)gn_mix_next(&a->random) * limit) >> 64);
}

static int pull(struct gn_arrival *a, uint32_t location, struct gn_error *err)
{
    struct lane *lane = &a->lanes[location];
    if (lane->left || lane->ended)
        return 0;
    int64_t count = a->source->pull(a->source->self, location, &lane->events, err);
    if (count < 0)
        return (int)count;
    lane->left = (uint32_t)count;
    lane->ended = count == 0;
    return 0;
}

static uint64_t saturating_add(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

/* When the buffered events arrive, which were sent at sent_ticks. */
static void send_buffer(struct gn_arrival *a, struct lane *lane, uint64_t sent_ticks)
{
    uint64_t latency_ticks =
        a->latency_min_ticks + (a->latency_span_ticks ? below(a, a->latency_span_ticks + 1) : 0);
    uint64_t arrival_ticks = saturating_add(sent_ticks, latency_ticks);
    if (arrival_ticks > lane->arrival_ticks)
        lane->arrival_ticks = arrival_ticks;
}

/* The next buffer of a location. A pull that has nothing yet leaves what is there for the next try. */
static int fill(struct gn_arrival *a, uint32_t location, struct gn_error *err)
{
    struct lane *lane = &a->lanes[location];
    while (lane->buffered < a->settings.buffer_events) {
        int code = pull(a, location, err);
        if (code < 0)
            return code;
        if (lane->ended)
            break;
        uint64_t due = lane->buffered && a->flush_ticks
                           ? saturating_add(lane->buffer[0].ticks, a->flush_ticks)
                           : UINT64_MAX;
        if (lane->events->ticks > due) {
            send_buffer(a, lane, due);
            return 0;
        }
        if (!gn_grow(&lane->buffer, &lane->buffer_capacity, lane->buffered, sizeof *lane->buffer))
            return gn_fail(err, -ENOMEM, "no memory for a buffer of location %u", location);
        lane->buffer[lane->buffered++] = *lane->events++;
        lane->left--;
    }
    if (lane->buffered)
        send_buffer(a, lane, lane->buffer[lane->buffered - 1].ticks);
    return 0;
}

/* ---- recorded, aligned and delayed: a heap ---- */

static void sift_down(lane_key *heap, size_t count, size_t at)
{
    lane_key moving = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count)
            child += heap[child + 1] < heap[child];
        if (heap[child] > moving)
            break;
        heap[at] = heap[child];
    }
    heap[at] = moving;
}

static void sift_up(lane_key *heap, size_t at)
{
    lane_key moving = heap[at];
    for (; at && moving < heap[(at - 1) / 2]; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = moving;
}

/* A domain's clock begins in the middle of all readings with the first one that is seen of it: the others of
 * its locations may be earlier. */
static int align(struct gn_arrival *a, uint32_t location, struct gn_error *err)
{
    const uint32_t domain = a->source->definitions->locations[location].domain;
    struct lane *lane = &a->lanes[location];
    while (a->zero_count <= domain) {
        if (!gn_grow(&a->zeros, &a->zero_capacity, a->zero_count, sizeof *a->zeros))
            return gn_fail(err, -ENOMEM, "no memory for clock domain %u", domain);
        a->zeros[a->zero_count++] = (struct zero){0, false};
    }
    struct zero *zero = &a->zeros[domain];
    if (!zero->known && lane->left)
        *zero = (struct zero){lane->events->ticks - UINT64_MAX / 2, true};
    lane->zero_ticks = zero->ticks;
    return 0;
}

/* Finds out what the heap's first lane has next, and gives the lane its place. A lane that has ended comes at
 * once: what waits for it should not wait longer. */
static int settle(struct gn_arrival *a, struct gn_error *err)
{
    uint32_t location = location_of(a->heap[0]);
    struct lane *lane = &a->lanes[location];
    uint64_t ticks = 0;
    bool delayed = a->settings.kind == GN_ARRIVAL_DELAYED;
    int code = delayed ? fill(a, location, err) : pull(a, location, err);
    if (code == 0 && a->settings.kind == GN_ARRIVAL_ALIGNED)
        code = align(a, location, err);
    if (code < 0)
        return code;
    if (delayed && lane->buffered)
        ticks = lane->arrival_ticks;
    else if (!delayed && !lane->ended)
        ticks =
            lane->events->kind == GN_EVENT_LOST ? lane->last_ticks : lane->events->ticks - lane->zero_ticks;
    a->heap[0] = key_of(ticks, location);
    a->pending = false;
    sift_down(a->heap, a->open, 0);
    return 0;
}

static void remove_first(struct gn_arrival *a)
{
    a->heap[0] = a->heap[--a->open];
    sift_down(a->heap, a->open, 0);
}

/* How many of the first lane's events come before any other's. */
static uint32_t run_length(const struct gn_arrival *a, const struct lane *lane)
{
    if (a->open == 1)
        return lane->left;
    lane_key limit = a->heap[1];
    if (a->open > 2 && a->heap[2] < limit)
        limit = a->heap[2];
    uint32_t count = 1;
    uint64_t last_ticks = (uint64_t)(limit >> 32) - (location_of(a->heap[0]) > location_of(limit));
    while (count < lane->left && (lane->events[count].ticks - lane->zero_ticks <= last_ticks ||
                                  lane->events[count].kind == GN_EVENT_LOST))
        count++;
    return count;
}

static int next_of_heap(struct gn_arrival *a, struct gn_arrived *arrived, struct gn_error *err)
{
    if (a->pending) {
        int code = settle(a, err);
        if (code < 0)
            return code;
    }
    struct lane *lane = &a->lanes[location_of(a->heap[0])];
    *arrived = (struct gn_arrived){.location = location_of(a->heap[0])};
    if (a->settings.kind == GN_ARRIVAL_DELAYED) {
        arrived->count = (uint32_t)lane->buffered;
        arrived->events = lane->buffer;
        lane->buffered = 0;
    } else if (lane->left) {
        arrived->count = run_length(a, lane);
        arrived->events = lane->events;
        lane->events += arrived->count;
        lane->left -= arrived->count;
        lane->last_ticks = lane->events[-1].ticks - lane->zero_ticks;
    }
    a->pending = arrived->count > 0;
    if (!arrived->count)
        remove_first(a);
    return 1;
}

/* ---- roundrobin and random: a list ---- */

/* One event of a lane, or that it has ended; 0: it has nothing yet. */
static int one(struct gn_arrival *a, uint32_t location, struct gn_arrived *arrived, struct gn_error *err)
{
    struct lane *lane = &a->lanes[location];
    int code = lane->left ? 0 : pull(a, location, err);
    if (code < 0)
        return code;
    *arrived = (struct gn_arrived){.location = location, .count = !lane->ended, .events = lane->events};
    if (arrived->count) {
        lane->events++;
        lane->left--;
    }
    return 1;
}

/* Closes the gaps that ended lanes left in the list, when they are many enough to pay for it. */
static void close_gaps(struct gn_arrival *a)
{
    size_t kept = 0;
    if (2 * a->gone < a->open)
        return;
    for (size_t i = 0; i < a->open; i++)
        if (a->active[i] != GN_NONE)
            a->active[kept++] = a->active[i];
    a->open = kept;
    a->gone = 0;
}

static int next_in_turn(struct gn_arrival *a, struct gn_arrived *arrived, struct gn_error *err)
{
    for (size_t waiting = 0; waiting < a->open - a->gone;) {
        if (a->turn >= a->open) {
            close_gaps(a);
            a->turn = 0;
        }
        uint32_t location = a->active[a->turn++];
        if (location == GN_NONE)
            continue;
        int code = one(a, location, arrived, err);
        if (code == 1 && !arrived->count) {
            a->active[a->turn - 1] = GN_NONE;
            a->gone++;
        }
        if (code != -EAGAIN)
            return code;
        waiting++;
    }
    return a->gone == a->open ? 0 : -EAGAIN;
}

static int next_at_random(struct gn_arrival *a, struct gn_arrived *arrived, struct gn_error *err)
{
    size_t first = below(a, a->open);
    for (size_t i = 0; i < a->open; i++) {
        size_t at = (first + i) % a->open;
        int code = one(a, a->active[at], arrived, err);
        if (code == 1 && !arrived->count)
            a->active[at] = a->active[--a->open];
        if (code != -EAGAIN)
            return code;
    }
    return -EAGAIN;
}

/* ---- all ---- */

static bool by_heap(const struct gn_arrival *a)
{
    return a->settings.kind == GN_ARRIVAL_RECORDED || a->settings.kind == GN_ARRIVAL_ALIGNED ||
           a->settings.kind == GN_ARRIVAL_DELAYED;
}

/* Takes the next location of the source in. In a heap it becomes the first one, to be settled: a location
 * that is new has to say what it has before anything else can be the oldest. */
static int admit(struct gn_arrival *a, struct gn_error *err)
{
    uint32_t location = (uint32_t)a->lane_count;
    if (!gn_grow(&a->lanes, &a->lane_capacity, a->lane_count, sizeof *a->lanes) ||
        (by_heap(a) ? !gn_grow(&a->heap, &a->heap_capacity, a->open, sizeof *a->heap)
                    : !gn_grow(&a->active, &a->active_capacity, a->open, sizeof *a->active)))
        return gn_fail(err, -ENOMEM, "no memory for location %u", location);
    memset(&a->lanes[a->lane_count++], 0, sizeof *a->lanes);
    if (!by_heap(a)) {
        a->active[a->open++] = location;
        return 0;
    }
    a->heap[a->open++] = key_of(0, location);
    if (a->open > 1) {
        lane_key new = a->heap[a->open - 1];
        a->heap[a->open - 1] = a->heap[0];
        sift_up(a->heap, a->open - 1);
        a->heap[0] = new;
    }
    a->pending = true;
    return settle(a, err);
}

static int admit_new(struct gn_arrival *a, struct gn_error *err)
{
    int code = 0;
    if (a->pending && by_heap(a))
        code = settle(a, err);
    while (code == 0 && a->lane_count < a->source->definitions->location_count)
        code = admit(a, err);
    return code;
}

int gn_arrival_next(struct gn_arrival *a, struct gn_arrived *arrived, struct gn_error *err)
{
    if (a->lane_count < a->source->definitions->location_count) {
        int code = admit_new(a, err);
        if (code < 0)
            return code;
    }
    if (a->open == 0)
        return 0;
    if (by_heap(a))
        return next_of_heap(a, arrived, err);
    return a->settings.kind == GN_ARRIVAL_RANDOM ? next_at_random(a, arrived, err)
                                                 : next_in_turn(a, arrived, err);
}

static uint64_t ticks_of(uint64_t ns, uint64_t ticks_per_second)
{
    unsigned __int128 ticks = (unsigned __int128)ns * ticks_per_second / 1000000000u;
    return ticks > UINT64_MAX / 2 ? UINT64_MAX / 2 : (uint64_t)ticks;
}

int gn_arrival_open(struct gn_arrival **arrival, struct gn_source *source,
                    const struct gn_arrival_settings *settings, struct gn_error *err)
{
    uint64_t rate = source->definitions->ticks_per_second;
    struct gn_arrival *a = calloc(1, sizeof *a);
    *arrival = a;
    if (!a)
        return gn_fail(err, -ENOMEM, "no memory to deliver events");
    a->source = source;
    a->settings = *settings;
    a->random = settings->seed;
    a->flush_ticks = ticks_of(settings->flush_ns, rate);
    a->latency_min_ticks = ticks_of(settings->latency_min_ns, rate);
    a->latency_span_ticks = ticks_of(settings->latency_max_ns, rate) - a->latency_min_ticks;
    return 0;
}

void gn_arrival_close(struct gn_arrival *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < a->lane_count; i++)
        free(a->lanes[i].buffer);
    free(a->lanes);
    free(a->zeros);
    free(a->heap);
    free(a->active);
    free(a);
}

static int hand_over(const struct gn_arrived *arrived, const struct gn_arrival_sink *sink,
                     struct gn_error *err)
{
    int code = arrived->count ? 0 : sink->end(sink->self, arrived->location, err);
    for (uint32_t i = 0; i < arrived->count && code == 0; i++)
        code = sink->event(sink->self, &arrived->events[i], err);
    return code;
}

int gn_arrival_carry(struct gn_source *source, const struct gn_arrival_sink *sink, struct gn_error *err)
{
    static const struct gn_arrival_settings aligned = {.kind = GN_ARRIVAL_ALIGNED};
    struct gn_arrival *arrival;
    struct gn_arrived arrived;
    int code = gn_arrival_open(&arrival, source, &aligned, err);
    while (code == 0 && (code = gn_arrival_next(arrival, &arrived, err)) == 1)
        code = hand_over(&arrived, sink, err);
    gn_arrival_close(arrival);
    return code;
}
