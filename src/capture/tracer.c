#include "capture/tracer.h"

#include <sched.h>
#include <string.h>
#include <time.h>

enum { PATIENCE_S = 2, YIELDS = 100, NAP_NS = 50000 };

struct gn_ring_segment *gn_ring_memory;

void gn_tracer_attach(struct gn_tracer *tracer, uint32_t location)
{
    if (!gn_ring_memory || tracer->ring || location >= gn_ring_memory->location_capacity)
        return;
    struct gn_ring *ring = gn_ring_of(gn_ring_memory, location, gn_ring_memory->ring_events);
    tracer->events = gn_ring_events(ring);
    tracer->mask = gn_ring_memory->ring_events - 1;
    tracer->limit = gn_ring_memory->ring_events;
    tracer->location = location;
    tracer->ring = ring;
}

/* ---- room ---- */

/* A reader that claims to have taken more than was written has taken nothing that we rely on. */
static bool has_room(struct gn_tracer *tracer, uint32_t slots)
{
    uint64_t tail = atomic_load_explicit(&tracer->ring->tail, memory_order_acquire);
    if (tracer->head - tail <= tracer->mask + 1)
        tracer->limit = tail + tracer->mask + 1;
    return tracer->head + slots + 2 * tracer->open <= tracer->limit;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* An agent for which we have waited in vain is not waited for again before it moves. */
static bool wait_for_room(struct gn_tracer *tracer, uint32_t slots)
{
    uint64_t alive = atomic_load_explicit(&gn_ring_memory->alive, memory_order_relaxed);
    if (tracer->given_up_at == alive + 1)
        return false;
    int64_t since_ns = now_ns();
    for (uint32_t turn = 0; !has_room(tracer, slots); turn++) {
        uint64_t now_alive = atomic_load_explicit(&gn_ring_memory->alive, memory_order_relaxed);
        if (now_alive != alive) {
            alive = now_alive;
            since_ns = now_ns();
        } else if (now_ns() - since_ns > PATIENCE_S * 1000000000ll) {
            tracer->given_up_at = alive + 1;
            return false;
        }
        if (turn < YIELDS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
    tracer->given_up_at = 0;
    return true;
}

static uint64_t last_ticks(const struct gn_tracer *tracer)
{
    return tracer->head ? tracer->events[(tracer->head - 1) & tracer->mask].ticks : 0;
}

static void tell_lost(struct gn_tracer *tracer)
{
    struct gn_event lost = gn_event_bare(GN_EVENT_LOST, tracer->location, last_ticks(tracer));
    lost.request = tracer->owed;
    tracer->owed = 0;
    *gn_tracer_next(tracer) = lost;
    gn_tracer_publish(tracer);
}

void gn_tracer_drop(struct gn_tracer *tracer, uint32_t events)
{
    tracer->owed += events;
    uint64_t dropped = atomic_load_explicit(&tracer->ring->dropped, memory_order_relaxed);
    atomic_store_explicit(&tracer->ring->dropped, dropped + events, memory_order_relaxed);
}

bool gn_tracer_make_room(struct gn_tracer *tracer, uint32_t slots, uint32_t dropped)
{
    uint32_t wanted = slots + (tracer->owed != 0);
    if (!has_room(tracer, wanted) && !(gn_ring_memory->block && wait_for_room(tracer, wanted))) {
        gn_tracer_drop(tracer, dropped);
        return false;
    }
    if (tracer->owed)
        tell_lost(tracer);
    return true;
}

/* ---- what begins and ends ---- */

enum { CALL_SLOTS = 8 }; /* a call that begins finds room for what most calls write */

bool gn_tracer_enter(struct gn_tracer *tracer, uint32_t region, uint32_t path)
{
    if (!gn_tracer_room(tracer, CALL_SLOTS, 1))
        return false;
    tracer->region = region;
    tracer->path = path;
    struct gn_event enter = gn_event_bare(GN_EVENT_ENTER, tracer->location, 0);
    enter.region = region;
    enter.path = path;
    *gn_tracer_next(tracer) = enter;
    return true;
}

/* Ends of what has begun: the room is reserved. */
static void end(struct gn_tracer *tracer, const struct gn_event *event)
{
    tracer->open--;
    if (tracer->owed)
        tell_lost(tracer);
    *gn_tracer_next(tracer) = *event;
    gn_tracer_publish(tracer);
}

void gn_tracer_leave(struct gn_tracer *tracer, uint64_t ticks)
{
    struct gn_event leave = gn_event_bare(GN_EVENT_LEAVE, tracer->location, ticks);
    leave.region = tracer->region;
    leave.path = tracer->path;
    tracer->in_call = false;
    end(tracer, &leave);
}

static struct gn_event region_event(const struct gn_tracer *tracer, enum gn_event_kind kind, uint32_t name,
                                    uint32_t path, uint64_t ticks)
{
    struct gn_event event = gn_event_bare(kind, tracer->location, ticks);
    event.region = GN_RING_NAME + name;
    event.path = path;
    return event;
}

bool gn_tracer_region_begin(struct gn_tracer *tracer, uint32_t name, uint32_t path, uint64_t ticks)
{
    if (!gn_tracer_room(tracer, 3, 1))
        return false;
    *gn_tracer_next(tracer) = region_event(tracer, GN_EVENT_REGION_BEGIN, name, path, ticks);
    tracer->open++;
    gn_tracer_publish(tracer);
    return true;
}

void gn_tracer_region_end(struct gn_tracer *tracer, uint32_t name, uint32_t path, uint64_t ticks)
{
    struct gn_event event = region_event(tracer, GN_EVENT_REGION_END, name, path, ticks);
    end(tracer, &event);
}
