#include "trace/windowed.h"

#include "base/grow.h"
#include "base/map.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct place {
    struct gn_event *events; /* those in windows */
    size_t count, capacity;
    size_t *ends; /* [window_count] of events: one behind the window's last */
    size_t begin; /* of what is read: not told yet whose it is */
    size_t next_window;
    unsigned depth; /* of open calls */
    /* functions and regions around what is read, outermost first */
    struct gn_event *open;
    size_t open_count, open_capacity;
    size_t entered; /* windows that were begun with them */
};

struct gn_windowed {
    const struct gn_definitions *definitions;
    const struct gn_kept_window *windows;
    size_t window_count, location_count;
    struct place *places;
    enum gn_windowed_as as;
    size_t window; /* that is pulled */
    bool *pulled;
};

static bool is_in(const struct gn_kept_window *window, uint64_t ticks)
{
    return ticks >= window->begin_ticks && ticks <= window->end_ticks;
}

/* ---- regions that are open where a window begins or ends ---- */

/* Ahead of what is not told yet. */
static bool insert(struct place *p, const struct gn_event *event)
{
    if (!gn_grow(&p->events, &p->capacity, p->count, sizeof *p->events))
        return false;
    memmove(&p->events[p->begin + 1], &p->events[p->begin], (p->count - p->begin) * sizeof *p->events);
    p->events[p->begin++] = *event;
    p->count++;
    return true;
}

static bool enter_window(struct gn_windowed *w, struct place *p)
{
    bool done = true;
    for (size_t i = 0; i < p->open_count && done && p->entered <= p->next_window; i++) {
        struct gn_event enter = p->open[i];
        enter.ticks = w->windows[p->next_window].begin_ticks;
        done = insert(p, &enter);
    }
    p->entered = p->next_window + 1;
    return done;
}

static bool is_call(const struct gn_windowed *w, const struct gn_event *event)
{
    const struct gn_definitions *d = w->definitions;
    return event->region < d->region_count && d->regions[event->region].role == GN_ROLE_MPI;
}

/* The call that is not told yet lasts over the window's end. */
static bool cut_call(struct gn_windowed *w, struct place *p)
{
    const struct gn_kept_window *window = &w->windows[p->next_window];
    if (w->as != GN_WINDOWED_JOINED || p->begin == p->count)
        return true;
    struct gn_event enter = p->events[p->begin];
    if (enter.kind != GN_EVENT_ENTER || !is_call(w, &enter) || enter.ticks > window->end_ticks)
        return true;
    struct gn_event leave = gn_event_bare(GN_EVENT_LEAVE, enter.location, window->end_ticks);
    leave.region = enter.region;
    return insert(p, &enter) && insert(p, &leave);
}

static bool leave_window(struct gn_windowed *w, struct place *p)
{
    bool done = enter_window(w, p) && cut_call(w, p);
    for (size_t i = p->open_count; i > 0 && done; i--) {
        struct gn_event leave =
            gn_event_bare(GN_EVENT_LEAVE, p->open[i - 1].location, w->windows[p->next_window].end_ticks);
        leave.region = p->open[i - 1].region;
        done = insert(p, &leave);
    }
    p->ends[p->next_window++] = p->begin;
    return done;
}

/* The event is no part of a call. */
static bool note_open(struct place *p, const struct gn_event *event)
{
    if (event->kind == GN_EVENT_LOST)
        p->open_count = 0;
    else if (event->kind == GN_EVENT_LEAVE && p->open_count > 0)
        p->open_count--;
    if (event->kind != GN_EVENT_ENTER)
        return true;
    if (!gn_grow(&p->open, &p->open_capacity, p->open_count, sizeof *p->open))
        return false;
    p->open[p->open_count++] = *event;
    return true;
}

/* What was read since `begin` is over at `ticks`: it stays if that is in a window. False: no memory. */
static bool settle(struct gn_windowed *w, struct place *p, uint64_t ticks)
{
    bool done = true;
    while (p->next_window < w->window_count && w->windows[p->next_window].end_ticks < ticks && done)
        done = leave_window(w, p);
    if (p->next_window == w->window_count || !is_in(&w->windows[p->next_window], ticks))
        p->count = p->begin;
    else
        done = done && enter_window(w, p);
    p->begin = p->count;
    return done;
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
    if (p->depth > 0)
        return 0;
    bool done = settle(w, p, event->ticks);
    if (w->as != GN_WINDOWED_CALLS && !is_call(w, event))
        done = note_open(p, event) && done;
    return done ? 0 : -ENOMEM;
}

static size_t begin_of(const struct place *p, size_t window)
{
    return window > 0 ? p->ends[window - 1] : 0;
}

/* ---- collectives ---- */

/*
 * Who reads a window counts the collectives of a communicator, or of a one-sided window, from its first one
 * on. A member that has left one before the window begins, when others have not, would be one ahead all the
 * time; a root of a Reduce or those that a Bcast has sent on are many ahead. So all begin with the first one
 * that each has in the window, as their numbers say; those before it are calls that are for nobody.
 */
struct first {
    uint32_t comm; /* as comm_of() says */
    uint64_t number, last;
};

struct firsts {
    struct gn_map index; /* (communicator, process) → first + 1 */
    struct first *items;
    size_t count, capacity;
    uint64_t *begin; /* [comms] the largest of its members' */
    uint64_t *end;   /* [comms] of windows that are joined: one behind the least of their last ones */
    bool is_even;    /* all members begin with the same, and end with it where that matters */
};

static uint32_t comms(const struct gn_definitions *d)
{
    return (uint32_t)(d->comm_count + d->window_count);
}

/* What it is counted on: a communicator, or behind those a one-sided window. GN_NONE: nothing. */
static uint32_t comm_of(const struct gn_windowed *w, const struct gn_event *e)
{
    const struct gn_definitions *d = w->definitions;
    const bool is_of_window = e->kind == GN_EVENT_RMA_COLLECTIVE_END;
    if ((e->kind != GN_EVENT_COLLECTIVE_END && e->kind != GN_EVENT_NBC_REQUEST && !is_of_window) ||
        e->number >= GN_NUMBER_LATER || e->comm >= (is_of_window ? d->window_count : d->comm_count))
        return GN_NONE;
    return is_of_window ? (uint32_t)d->comm_count + e->comm : e->comm;
}

static size_t members_of(const struct gn_definitions *d, uint32_t comm)
{
    const uint32_t of = comm < d->comm_count ? comm : d->windows[comm - d->comm_count].comm;
    return of < d->comm_count ? (size_t)d->comms[of].member_count + d->comms[of].other_count : SIZE_MAX;
}

static bool note_first(struct firsts *f, uint32_t comm, const struct gn_event *e, uint32_t process)
{
    const struct gn_key key = {comm, process};
    const uintptr_t known = (uintptr_t)gn_map_find(&f->index, key);
    if (known) {
        struct first *first = &f->items[known - 1];
        first->number = e->number < first->number ? e->number : first->number;
        first->last = e->number > first->last ? e->number : first->last;
        return true;
    }
    if (!gn_grow(&f->items, &f->capacity, f->count, sizeof *f->items))
        return false;
    f->items[f->count++] = (struct first){comm, e->number, e->number};
    return gn_map_add(&f->index, key, (void *)(uintptr_t)f->count);
}

/* Who goes on with the next window has made as many as the other members have, in this one. False: no memory.
 */
static bool find_ends(const struct gn_windowed *w, struct firsts *f)
{
    const struct gn_definitions *d = w->definitions;
    size_t *members = calloc(comms(d) + 1u, sizeof *members);
    for (uint32_t c = 0; c < comms(d); c++)
        f->end[c] = UINT64_MAX;
    for (size_t i = 0; members && i < f->count; i++) {
        const struct first *first = &f->items[i];
        f->end[first->comm] = first->last + 1 < f->end[first->comm] ? first->last + 1 : f->end[first->comm];
        members[first->comm]++;
    }
    for (uint32_t c = 0; members && c < comms(d); c++)
        if (members[c] < members_of(d, c))
            f->end[c] = 0;
    for (size_t i = 0; i < f->count; i++)
        f->is_even = f->is_even && f->items[i].last + 1 == f->end[f->items[i].comm];
    free(members);
    return members != NULL;
}

static bool find_firsts(const struct gn_windowed *w, size_t window, struct firsts *f)
{
    bool done = true;
    for (size_t l = 0; l < w->location_count && done; l++)
        for (size_t i = begin_of(&w->places[l], window); i < w->places[l].ends[window] && done; i++)
            if (comm_of(w, &w->places[l].events[i]) != GN_NONE)
                done = note_first(f, comm_of(w, &w->places[l].events[i]), &w->places[l].events[i],
                                  w->definitions->locations[l].process);
    for (size_t i = 0; i < f->count && done; i++)
        if (f->items[i].number > f->begin[f->items[i].comm])
            f->begin[f->items[i].comm] = f->items[i].number;
    f->is_even = true;
    for (size_t i = 0; i < f->count; i++)
        f->is_even = f->is_even && f->items[i].number == f->begin[f->items[i].comm];
    return done && (w->as != GN_WINDOWED_JOINED || find_ends(w, f));
}

/* Takes out of a place's part of a window, whose events move to `to`, what is ahead of the first ones.
 * Returns how many events are left. */
static size_t take_out(const struct gn_windowed *w, const struct firsts *f, struct gn_event *from,
                       size_t count, struct gn_event *to)
{
    size_t used = 0, begun = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct gn_event e = from[i];
        const uint32_t comm = comm_of(w, &e);
        if (comm != GN_NONE && (e.number < f->begin[comm] || (f->end && e.number >= f->end[comm]))) {
            if (e.kind != GN_EVENT_NBC_REQUEST && begun != SIZE_MAX) {
                memmove(&to[begun], &to[begun + 1], (used - begun - 1) * sizeof *to);
                used--;
            }
            begun = SIZE_MAX;
            continue;
        }
        begun = e.kind == GN_EVENT_COLLECTIVE_BEGIN || e.kind == GN_EVENT_RMA_COLLECTIVE_BEGIN ? used
                : e.kind == GN_EVENT_COLLECTIVE_END || e.kind == GN_EVENT_RMA_COLLECTIVE_END   ? SIZE_MAX
                                                                                               : begun;
        to[used++] = e;
    }
    return used;
}

static void clear_firsts(struct firsts *f)
{
    gn_map_clear(&f->index);
    free(f->items);
    free(f->begin);
    free(f->end);
}

/* False: no memory. */
static bool align(struct gn_windowed *w)
{
    struct firsts *all = calloc(w->window_count + 1, sizeof *all);
    bool done = all != NULL;
    for (size_t i = 0; i < w->window_count && done; i++) {
        all[i].begin = calloc(comms(w->definitions) + 1u, sizeof *all[i].begin);
        if (w->as == GN_WINDOWED_JOINED)
            all[i].end = calloc(comms(w->definitions) + 1u, sizeof *all[i].end);
        done = all[i].begin && (all[i].end || w->as != GN_WINDOWED_JOINED) && find_firsts(w, i, &all[i]);
    }
    for (size_t l = 0; l < w->location_count && done; l++) {
        struct place *p = &w->places[l];
        size_t used = 0, begin = 0;
        for (size_t i = 0; i < w->window_count; i++) {
            const size_t count = p->ends[i] - begin;
            if (all[i].is_even)
                memmove(&p->events[used], &p->events[begin], count * sizeof *p->events);
            used += all[i].is_even ? count : take_out(w, &all[i], &p->events[begin], count, &p->events[used]);
            begin = p->ends[i];
            p->ends[i] = used;
        }
    }
    for (size_t i = 0; all && i < w->window_count; i++)
        clear_firsts(&all[i]);
    free(all);
    return done;
}

/* ---- windows as one ---- */

/* Of epochs without numbers nobody knows which ones belong together: then no process has any on that window.
 */
static bool forget_epochs(struct gn_windowed *w)
{
    bool *has_bare = calloc(w->definitions->window_count + 1, sizeof *has_bare);
    for (int again = 0; has_bare && again <= 1; again++)
        for (size_t l = 0; l < w->location_count; l++)
            for (size_t i = 0; w->window_count > 0 && i < w->places[l].ends[w->window_count - 1]; i++) {
                struct gn_event *e = &w->places[l].events[i];
                if (e->kind != GN_EVENT_RMA_SYNC || e->tag == GN_NONE ||
                    e->comm >= w->definitions->window_count)
                    continue;
                has_bare[e->comm] |= e->number >= GN_NUMBER_LATER;
                e->tag = again && has_bare[e->comm] ? GN_NONE : e->tag;
            }
    free(has_bare);
    return has_bare != NULL;
}

/* … that have no numbers. */
static bool has_fences(const struct gn_windowed *w)
{
    for (size_t l = 0; l < w->location_count; l++)
        for (size_t i = 0; w->window_count > 1 && i < w->places[l].ends[w->window_count - 1]; i++)
            if (w->places[l].events[i].kind == GN_EVENT_RMA_COLLECTIVE_END &&
                w->places[l].events[i].number >= GN_NUMBER_LATER)
                return true;
    return false;
}

static void join_place(struct gn_windowed *w, struct place *p)
{
    uint64_t cut = 0, before = w->window_count > 0 ? w->windows[0].begin_ticks : 0;
    for (size_t i = 0; i < w->window_count; i++) {
        const uint64_t begin = w->windows[i].begin_ticks;
        cut += begin - before;
        before = w->windows[i].end_ticks;
        for (size_t k = begin_of(p, i); k < p->ends[i]; k++)
            p->events[k].ticks = (p->events[k].ticks > begin ? p->events[k].ticks : begin) - cut;
    }
    p->ends[0] = w->window_count > 0 ? p->ends[w->window_count - 1] : 0;
}

static void join(struct gn_windowed *w)
{
    for (size_t l = 0; l < w->location_count; l++)
        join_place(w, &w->places[l]);
    w->window_count = 1;
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
    bool done = p->begin == p->count || settle(w, p, p->events[p->count - 1].ticks); /* never left */
    while (p->next_window < w->window_count && done)
        done = leave_window(w, p);
    return done ? (int)count : gn_fail(err, -ENOMEM, "no memory for windows of events");
}

int gn_windowed_read(struct gn_windowed **windowed, struct gn_source *source,
                     const struct gn_kept_window *windows, size_t count, enum gn_windowed_as as,
                     struct gn_error *err)
{
    const size_t locations = source->definitions->location_count;
    struct gn_windowed *w = calloc(1, sizeof *w);
    *windowed = w;
    if (w)
        *w = (struct gn_windowed){.definitions = source->definitions,
                                  .windows = windows,
                                  .window_count = count,
                                  .as = as,
                                  .location_count = locations,
                                  .places = calloc(locations + 1, sizeof *w->places),
                                  .pulled = calloc(locations + 1, sizeof *w->pulled)};
    int code = w && w->places && w->pulled ? 0 : gn_fail(err, -ENOMEM, "no memory for windows of events");
    for (uint32_t l = 0; l < locations && code == 0; l++)
        code = read_place(w, source, l, err);
    if (code == 0 && !forget_epochs(w))
        code = gn_fail(err, -ENOMEM, "no memory for windows of events");
    if (code == 0 && as == GN_WINDOWED_JOINED && has_fences(w))
        code = gn_fail(err, -ENOTSUP,
                       "its windows have fences, and which ones match is not known: it takes a trace "
                       "(gnomon run --trace)");
    if (code == 0 && !align(w))
        code = gn_fail(err, -ENOMEM, "no memory for windows of events");
    if (code == 0 && as == GN_WINDOWED_JOINED)
        join(w);
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
        free(w->places[l].open);
    }
    free(w->places);
    free(w->pulled);
    free(w);
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

bool gn_windowed_is_numbered(const struct gn_windowed *w)
{
    bool with = false, without = false;
    for (size_t l = 0; l < w->location_count; l++)
        for (size_t i = 0; w->window_count > 0 && i < w->places[l].ends[w->window_count - 1]; i++) {
            const struct gn_event *e = &w->places[l].events[i];
            if (e->kind == GN_EVENT_RMA_SYNC ||
                e->kind == GN_EVENT_RMA_COLLECTIVE_END) /* these may have none */
                continue;
            with |= gn_event_has_number(e->kind) && e->number != GN_UNNUMBERED;
            without |= gn_event_has_number(e->kind) && e->number == GN_UNNUMBERED;
        }
    return with || !without;
}
