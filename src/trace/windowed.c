#include "trace/windowed.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct place {
    struct gn_event *events; /* those in windows */
    size_t count, capacity;
    size_t *ends; /* [window_count] of events: one behind the window's last */
    size_t begin; /* of what is read: not told yet whose it is */
    size_t next_window;
    unsigned depth; /* of open calls */
};

struct gn_windowed {
    const struct gn_definitions *definitions;
    const struct gn_kept_window *windows;
    size_t window_count, location_count;
    struct place *places;
    size_t window; /* that is pulled */
    bool *pulled;
};

static bool is_in(const struct gn_kept_window *window, uint64_t ticks)
{
    return ticks >= window->begin_ticks && ticks <= window->end_ticks;
}

/* What was read since `begin` is over at `ticks`: it stays if that is in a window. */
static void settle(struct gn_windowed *w, struct place *p, uint64_t ticks)
{
    while (p->next_window < w->window_count && w->windows[p->next_window].end_ticks < ticks)
        p->ends[p->next_window++] = p->begin;
    if (p->next_window == w->window_count || !is_in(&w->windows[p->next_window], ticks))
        p->count = p->begin;
    p->begin = p->count;
}

static bool is_call(const struct gn_windowed *w, const struct gn_event *event)
{
    const struct gn_definitions *d = w->definitions;
    return event->region < d->region_count && d->regions[event->region].role == GN_ROLE_MPI;
}

static int take(struct gn_windowed *w, struct place *p, const struct gn_event *event)
{
    if (!gn_grow(&p->events, &p->capacity, p->count, sizeof *p->events))
        return -ENOMEM;
    p->events[p->count++] = *event;
    if (event->kind == GN_EVENT_ENTER && (p->depth > 0 || is_call(w, event)))
        p->depth++;
    else if (event->kind == GN_EVENT_LEAVE && p->depth > 0)
        p->depth--;
    else if (event->kind == GN_EVENT_LOST)
        p->depth = 0;
    if (p->depth == 0)
        settle(w, p, event->ticks);
    return 0;
}

static int read_place(struct gn_windowed *w, struct gn_source *source, uint32_t location,
                      struct gn_error *err)
{
    struct place *p = &w->places[location];
    const struct gn_event *events;
    int64_t count;
    p->ends = calloc(w->window_count + 1, sizeof *p->ends);
    if (!p->ends)
        return gn_fail(err, -ENOMEM, "no memory for windows of events");
    while ((count = source->pull(source->self, location, &events, err)) > 0)
        for (int64_t i = 0; i < count; i++)
            if (take(w, p, &events[i]) != 0)
                return gn_fail(err, -ENOMEM, "no memory for windows of events");
    if (p->begin < p->count) /* never left */
        settle(w, p, p->events[p->count - 1].ticks);
    while (p->next_window < w->window_count)
        p->ends[p->next_window++] = p->count;
    return (int)count;
}

int gn_windowed_read(struct gn_windowed **windowed, struct gn_source *source,
                     const struct gn_kept_window *windows, size_t count, struct gn_error *err)
{
    const size_t locations = source->definitions->location_count;
    struct gn_windowed *w = calloc(1, sizeof *w);
    *windowed = w;
    if (w)
        *w = (struct gn_windowed){.definitions = source->definitions,
                                  .windows = windows,
                                  .window_count = count,
                                  .location_count = locations,
                                  .places = calloc(locations + 1, sizeof *w->places),
                                  .pulled = calloc(locations + 1, sizeof *w->pulled)};
    int code = w && w->places && w->pulled ? 0 : gn_fail(err, -ENOMEM, "no memory for windows of events");
    for (uint32_t l = 0; l < locations && code == 0; l++)
        code = read_place(w, source, l, err);
    if (code != 0) {
        gn_windowed_free(w);
        *windowed = NULL;
    }
    return code;
}

void gn_windowed_free(struct gn_windowed *w)
{
    if (!w)
        return;
    for (size_t l = 0; w->places && l < w->location_count; l++) {
        free(w->places[l].events);
        free(w->places[l].ends);
    }
    free(w->places);
    free(w->pulled);
    free(w);
}

static size_t begin_of(const struct place *p, size_t window)
{
    return window > 0 ? p->ends[window - 1] : 0;
}

static int64_t pull(void *self, uint32_t location, const struct gn_event **events, struct gn_error *err)
{
    struct gn_windowed *w = self;
    const struct place *p = &w->places[location];
    const size_t begin = begin_of(p, w->window);
    (void)err;
    if (w->pulled[location])
        return 0;
    w->pulled[location] = true;
    *events = p->events + begin;
    return (int64_t)(p->ends[w->window] - begin);
}

static void close_nothing(void *self)
{
    (void)self;
}

void gn_windowed_source(struct gn_windowed *w, size_t window, struct gn_source *source)
{
    w->window = window;
    memset(w->pulled, 0, w->location_count * sizeof *w->pulled);
    *source = (struct gn_source){w, w->definitions, pull, close_nothing};
}

uint64_t gn_windowed_events(const struct gn_windowed *w, size_t window)
{
    uint64_t events = 0;
    for (size_t l = 0; l < w->location_count; l++)
        events += w->places[l].ends[window] - begin_of(&w->places[l], window);
    return events;
}
