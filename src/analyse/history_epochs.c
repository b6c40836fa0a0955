/*
 * Epochs of windows between groups (MPI_Win_post … wait, MPI_Win_start … complete): which calls are about the
 * same one (causality/epochs.h), and who may have waited for whom.
 *
 *   origin   start ····· complete ──┐
 *              ▲            ▲       │
 *   target   post ··········┘       └─► wait
 *
 * MPI says of wait alone that it returns after something: all completes. What accesses the window may wait
 * for the post: start, complete, or what lies between (of which nothing is told here).
 */
#include "analyse/history_inside.h"

#include <stdlib.h>

/* Of a process towards another one. Calls; GN_NONE: not seen. */
struct gn_history_epoch {
    uint32_t post, start, complete, wait;
};

struct gn_history_epochs {
    struct gn_epochs *calls;
    struct gn_map index;  /* (window and number, processes) → epoch + 1 */
    struct gn_map counts; /* (window and what, processes) → so many */
    struct gn_history_epoch *items;
    size_t count, capacity;
};

enum { NUMBER_BITS = 40 }; /* as records have them (image/record.h) */
enum what { POST, START, COMPLETE, WAIT };

/* Where a record has no number, it is the next one: they end where a process names another group. */
static uint64_t number_of(struct gn_history_epochs *e, const struct gn_epoch_half *h, enum what what,
                          bool *fine)
{
    const struct gn_key key = {(uint64_t)h->window << 2 | what, (uint64_t)h->from << 32 | h->to};
    const uintptr_t number = h->number != GN_UNNUMBERED ? h->number : (uintptr_t)gn_map_find(&e->counts, key);
    gn_map_remove(&e->counts, key);
    *fine = gn_map_add(&e->counts, key, (void *)(number + 1));
    return number;
}

/* origin, target: processes. */
static int note(struct gn_history_epochs *e, const struct gn_epoch_half *h, uint32_t origin, uint32_t target,
                enum what what)
{
    bool fine = true;
    if (!h->is_countable || (h->number != GN_UNNUMBERED && h->number >> NUMBER_BITS) ||
        h->window >> (64 - NUMBER_BITS))
        return 0;
    const uint64_t number = number_of(e, h, what, &fine);
    const struct gn_key key = {(uint64_t)h->window << NUMBER_BITS | number, (uint64_t)origin << 32 | target};
    uintptr_t known = (uintptr_t)gn_map_find(&e->index, key);
    if (fine && !known) {
        fine = gn_grow(&e->items, &e->capacity, e->count, sizeof *e->items) &&
               gn_map_add(&e->index, key, (void *)(known = e->count + 1));
        if (fine)
            e->items[e->count++] = (struct gn_history_epoch){GN_NONE, GN_NONE, GN_NONE, GN_NONE};
    }
    if (!fine)
        return -ENOMEM;
    struct gn_history_epoch *epoch = &e->items[known - 1];
    uint32_t *calls[] = {&epoch->post, &epoch->start, &epoch->complete, &epoch->wait};
    *calls[what] = (uint32_t)(h->ticks >> GN_HISTORY_CALL_SHIFT);
    return 0;
}

static int half(void *self, const struct gn_epoch_half *h)
{
    return note(self, h, h->from, h->to, h->is_send ? COMPLETE : WAIT);
}

static int opened(void *self, const struct gn_epoch_half *h)
{
    return note(self, h, h->to, h->from, h->is_send ? POST : START);
}

int gn_history_epoch_event(struct gn_history_make *m, const struct gn_event *event)
{
    if (!gn_epochs_wants(m->d, event))
        return 0;
    if (!m->epochs && !(m->epochs = calloc(1, sizeof *m->epochs)))
        return -ENOMEM;
    const struct gn_epochs_sink sink = {.self = m->epochs, .half = half, .opened = opened, .has_parts = true};
    if (!m->epochs->calls && !(m->epochs->calls = gn_epochs_new(m->d, &sink)))
        return -ENOMEM;
    return gn_epochs_event(m->epochs->calls, event);
}

void gn_history_epochs_lose(struct gn_history_make *m, uint32_t process)
{
    if (m->epochs)
        gn_epochs_lose(m->epochs->calls, process);
}

/* Whether the call may have waited for the post. */
static bool may_have(const struct gn_history_make *m, uint32_t waiter, uint32_t post)
{
    const struct gn_call *calls = m->h->calls;
    return waiter != GN_NONE && post != GN_NONE && calls[waiter].location != calls[post].location &&
           calls[waiter].leave.hi_ns >= calls[post].enter.lo_ns;
}

int gn_history_epochs_perhaps(struct gn_history_make *m,
                              int (*each)(void *with, uint32_t waiter, uint32_t post), void *with)
{
    int code = 0;
    for (size_t i = 0; m->epochs && i < m->epochs->count && code == 0; i++) {
        const struct gn_history_epoch *e = &m->epochs->items[i];
        if (may_have(m, e->start, e->post))
            code = each(with, e->start, e->post);
        if (may_have(m, e->complete, e->post) && code == 0)
            code = each(with, e->complete, e->post);
    }
    return code;
}

/* Events came in an order that no program has; or the library does not keep what MPI promises. */
static bool is_later(const struct gn_history_make *m, uint32_t complete, uint32_t wait)
{
    const struct gn_call *a = &m->h->calls[complete], *b = &m->h->calls[wait];
    return m->clock[a->location] == m->clock[b->location] ? a->enter_ticks > b->leave_ticks
                                                          : a->enter.lo_ns > b->leave.hi_ns;
}

int gn_history_epochs_take(struct gn_history_make *m)
{
    int code = 0;
    for (size_t i = 0; m->epochs && i < m->epochs->count && code == 0; i++) {
        const struct gn_history_epoch *e = &m->epochs->items[i];
        if (e->complete == GN_NONE || e->wait == GN_NONE)
            continue;
        if (m->entered[e->complete] > m->left[e->wait] || is_later(m, e->complete, e->wait))
            m->h->calls[e->wait].flags |= GN_CALL_UNSURE;
        else
            code = gn_history_take(
                m, &(struct gn_take){
                       .call = e->wait, .from = e->complete, .kind = GN_TAKE_MESSAGE, .is_certain = true});
    }
    return code;
}

static int take_perhaps(void *self, uint32_t waiter, uint32_t post)
{
    struct gn_history_make *m = self;
    if (m->entered[post] > m->left[waiter]) /* they cannot all have waited, in a circle */
        return 0;
    return gn_history_take(
        m, &(struct gn_take){.call = waiter, .from = post, .member = waiter, .kind = GN_TAKE_RECEIVER});
}

int gn_history_epochs_take_perhaps(struct gn_history_make *m)
{
    return gn_history_epochs_perhaps(m, take_perhaps, m);
}

void gn_history_epochs_free(struct gn_history_make *m)
{
    if (!m->epochs)
        return;
    gn_epochs_free(m->epochs->calls);
    gn_map_clear(&m->epochs->index);
    gn_map_clear(&m->epochs->counts);
    free(m->epochs->items);
    free(m->epochs);
}
