/*
 * Causal order of calls, and who took whose message. Sends that may have waited for their receivers: MPI lets
 * a blocking send return before anything is received, up to a size that nobody records. A send that was left
 * before its receive was posted shows that its size, and any smaller one, does not wait.
 */
#include "analyse/history_inside.h"

#include <stdlib.h>
#include <string.h>

static int step(struct gn_history_make *m, uint32_t call, bool leaves)
{
    struct gn_history *h = m->h;
    if (!gn_grow(&h->steps, &m->step_capacity, h->step_count, sizeof *h->steps))
        return -ENOMEM;
    h->steps[h->step_count++] = call << 1 | leaves;
    return 0;
}

int gn_history_take(struct gn_history_make *m, const struct gn_take *take)
{
    struct gn_history *h = m->h;
    if (h->take_count >= UINT32_MAX ||
        !gn_grow(&h->takes, &m->take_capacity, h->take_count, sizeof *h->takes))
        return -ENOMEM;
    h->takes[h->take_count++] = *take;
    return 0;
}

static int receive(struct gn_history_make *m, const struct gn_event *event, const struct gn_place *place)
{
    const uint32_t call = (uint32_t)event->ticks;
    if (!(place->flags & GN_PLACE_CORRELATED) || place->flags & (GN_PLACE_AMBIGUOUS | GN_PLACE_RELEASED)) {
        m->h->calls[call].flags |= GN_CALL_UNSURE;
        return 0;
    }
    if (!gn_grow(&m->matched, &m->matched_capacity, m->matched_count, sizeof *m->matched))
        return -ENOMEM;
    const uint32_t from = (uint32_t)place->sent_ticks;
    m->matched[m->matched_count++] = (struct gn_matched){.from = from,
                                                         .to = call,
                                                         .posted = event->record & ~GN_HISTORY_NAMED,
                                                         .is_named = (event->record & GN_HISTORY_NAMED) != 0,
                                                         .bytes = event->bytes_received};
    return gn_history_take(
        m, &(struct gn_take){.call = call, .from = from, .kind = GN_TAKE_MESSAGE, .is_certain = true});
}

int gn_history_report(void *self, const struct gn_event *event, const struct gn_place *place)
{
    struct gn_history_make *m = self;
    switch (event->kind) {
    case GN_EVENT_ENTER:
        return step(m, (uint32_t)event->ticks, false);
    case GN_EVENT_LEAVE:
        return step(m, (uint32_t)event->ticks, true);
    case GN_EVENT_MPI_SEND:
        m->h->calls[event->ticks].flags |= GN_CALL_SENDS;
        return 0;
    case GN_EVENT_MPI_RECV:
    case GN_EVENT_MPI_IRECV:
        return receive(m, event, place);
    default:
        return 0;
    }
}

/* ---- sends that may wait ---- */

static bool is_synchronous(const struct gn_history_make *m, const struct gn_call *call)
{
    return call->region < m->d->region_count &&
           strncmp(gn_string(m->d, m->d->regions[call->region].name), "MPI_Ssend", 9) == 0;
}

static uint64_t largest_eager(const struct gn_history_make *m)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < m->matched_count; i++) {
        const struct gn_matched *one = &m->matched[i];
        const struct gn_call *from = &m->h->calls[one->from], *posted = &m->h->calls[one->posted];
        if (from->flags & GN_CALL_SENDS && from->leave.hi_ns < posted->enter.lo_ns && one->bytes > bytes)
            bytes = one->bytes;
    }
    return bytes;
}

static int add_receivers(struct gn_history_make *m)
{
    const uint64_t eager_bytes = largest_eager(m);
    for (size_t i = 0; i < m->matched_count; i++) {
        const struct gn_matched *one = &m->matched[i];
        const struct gn_call *from = &m->h->calls[one->from], *posted = &m->h->calls[one->posted];
        if (!(from->flags & GN_CALL_SENDS) || from->leave.hi_ns < posted->enter.lo_ns ||
            (one->bytes <= eager_bytes && !is_synchronous(m, from)) || posted->location == from->location)
            continue;
        if (m->entered[one->posted] > m->left[one->from]) /* events came in another order: it did not wait */
            continue;
        int code = gn_history_take(
            m, &(struct gn_take){.call = one->from, .from = one->posted, .kind = GN_TAKE_RECEIVER});
        if (code)
            return code;
    }
    return 0;
}

int gn_history_number_steps(struct gn_history_make *m)
{
    const struct gn_history *h = m->h;
    m->entered = calloc(h->call_count + 1, sizeof *m->entered);
    m->left = calloc(h->call_count + 1, sizeof *m->left);
    for (size_t s = 0; m->entered && m->left && s < h->step_count; s++)
        (h->steps[s] & 1 ? m->left : m->entered)[h->steps[s] >> 1] = (uint32_t)s;
    return m->entered && m->left ? 0 : -ENOMEM;
}

/* ---- receives that anybody may send to ---- */

/* A trace says of what was received from whom, not whether the program asked for that. A call that got it
 * from several may have taken what came first. */
static int find_any_source(struct gn_history_make *m)
{
    struct gn_history *h = m->h;
    struct gn_map senders = {NULL, 0, 0}; /* (location, call path) → the first sender's location + 1 */
    int code = 0;
    for (size_t i = 0; i < m->matched_count && code == 0; i++) {
        const struct gn_matched *one = &m->matched[i];
        const struct gn_call *to = &h->calls[one->to];
        if (one->is_named)
            continue;
        const struct gn_key key = {(uint64_t)to->location << 32 | to->path, to->region};
        const uintptr_t from = (uintptr_t)h->calls[one->from].location + 1;
        const uintptr_t known = (uintptr_t)gn_map_find(&senders, key);
        h->any_source += known && known != from;
        if (!known && !gn_map_add(&senders, key, (void *)from))
            code = -ENOMEM;
    }
    gn_map_clear(&senders);
    return code;
}

/* ---- takes by call ---- */

static int sort_takes(struct gn_history *h)
{
    struct gn_take *sorted = malloc((h->take_count + 1) * sizeof *sorted);
    if (!sorted)
        return -ENOMEM;
    uint32_t first = 0;
    for (size_t t = 0; t < h->take_count; t++)
        h->calls[h->takes[t].call].take_count++;
    for (size_t c = 0; c < h->call_count; c++) {
        h->calls[c].first_take = first;
        first += h->calls[c].take_count;
        h->calls[c].take_count = 0;
    }
    for (size_t t = 0; t < h->take_count; t++) {
        struct gn_call *call = &h->calls[h->takes[t].call];
        sorted[call->first_take + call->take_count++] = h->takes[t];
    }
    free(h->takes);
    h->takes = sorted;
    return 0;
}

int gn_history_match(struct gn_history_make *m)
{
    int code = add_receivers(m);
    code = code ? code : find_any_source(m);
    return code ? code : sort_takes(m->h);
}
