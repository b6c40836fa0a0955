/*
 * Causal order of calls, and who took whose message. Sends that may have waited for their receivers: MPI lets
 * a blocking send return before anything is received, up to a size that nobody records. A send that was left
 * before its receive was posted shows that its size, and any smaller one, does not wait.
 */
#include "analyse/history_inside.h"
#include "calls.h"

#include <stdlib.h>

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

static uint32_t call_of(uint64_t ticks)
{
    return (uint32_t)(ticks >> GN_HISTORY_CALL_SHIFT);
}

static int receive(struct gn_history_make *m, const struct gn_event *event, const struct gn_place *place)
{
    const uint32_t call = call_of(event->ticks);
    if (!(place->flags & GN_PLACE_CORRELATED) || place->flags & (GN_PLACE_AMBIGUOUS | GN_PLACE_RELEASED)) {
        m->h->calls[call].flags |= GN_CALL_UNSURE;
        return 0;
    }
    if (!gn_grow(&m->matched, &m->matched_capacity, m->matched_count, sizeof *m->matched))
        return -ENOMEM;
    const uint32_t from = call_of(place->sent_ticks);
    m->matched[m->matched_count++] = (struct gn_matched){.from = from,
                                                         .to = call,
                                                         .send = (uint32_t)place->sent_ticks,
                                                         .posted = m->asked[event->record].call,
                                                         .asked = event->record,
                                                         .comm = event->comm,
                                                         .tag = event->tag,
                                                         .bytes = event->bytes_received};
    return gn_history_take(
        m, &(struct gn_take){.call = call, .from = from, .kind = GN_TAKE_MESSAGE, .is_certain = true});
}

static void place_part(struct gn_history_make *m, uint32_t part, const struct gn_place *place)
{
    if (part == GN_NONE || place->instance == GN_NONE)
        return;
    m->open_parts[part].instance = place->instance;
    m->open_parts[part].member = place->member;
}

int gn_history_report(void *self, const struct gn_event *event, const struct gn_place *place)
{
    struct gn_history_make *m = self;
    switch (event->kind) {
    case GN_EVENT_ENTER:
        return step(m, call_of(event->ticks), false);
    case GN_EVENT_LEAVE:
        return step(m, call_of(event->ticks), true);
    case GN_EVENT_MPI_SEND:
        m->h->calls[call_of(event->ticks)].flags |= GN_CALL_SENDS;
        return 0;
    case GN_EVENT_MPI_RECV:
    case GN_EVENT_MPI_IRECV:
        return receive(m, event, place);
    case GN_EVENT_COLLECTIVE_BEGIN:
    case GN_EVENT_COLLECTIVE_END:
    case GN_EVENT_NBC_REQUEST:
    case GN_EVENT_NBC_COMPLETE:
    case GN_EVENT_RMA_COLLECTIVE_BEGIN:
    case GN_EVENT_RMA_COLLECTIVE_END:
        place_part(m, event->record, place);
        return 0;
    default:
        return 0;
    }
}

/* ---- sends that may wait ---- */

static uint32_t activity_of(const struct gn_history_make *m, uint32_t call)
{
    return gn_region_activity(m->d, m->h->calls[call].region);
}

static bool is_synchronous(const struct gn_history_make *m, uint32_t call)
{
    return gn_activity_def(activity_of(m, call))->traits & GN_TRAIT_SYNCHRONOUS;
}

/* The call that may have waited until the message was on its way; GN_NONE: none is known. Buffered sends, and
 * requests that are given up, do not wait, and say nothing about others. */
static uint32_t waiter_of(const struct gn_history_make *m, const struct gn_matched *one)
{
    const bool sends = m->h->calls[one->from].flags & GN_CALL_SENDS;
    const uint32_t waiter = one->send ? m->sends[one->send - 1] : sends ? one->from : GN_NONE;
    const bool is_local = gn_activity_def(activity_of(m, one->from))->traits & GN_TRAIT_BUFFERED;
    return is_local || waiter == GN_NONE || activity_of(m, waiter) == GN_CALL_REQUEST_FREE ? GN_NONE : waiter;
}

static bool was_gone(const struct gn_history *h, uint32_t waiter, const struct gn_matched *one)
{
    return h->calls[waiter].leave.hi_ns < h->calls[one->posted].enter.lo_ns;
}

/* At least what fits into a packet with its header no implementation lets wait. */
enum { SMALL_BYTES = 256 };

static uint64_t largest_eager(const struct gn_history_make *m)
{
    uint64_t bytes = SMALL_BYTES;
    for (size_t i = 0; i < m->matched_count; i++) {
        const struct gn_matched *one = &m->matched[i];
        const uint32_t waiter = waiter_of(m, one);
        if (waiter != GN_NONE && one->bytes > bytes && was_gone(m->h, waiter, one))
            bytes = one->bytes;
    }
    return bytes;
}

/* A completion may have waited for what was on its way since it was begun, by this call of its location. */
static int add_begun(struct gn_history_make *m, uint32_t completion, uint32_t begin)
{
    if (completion == begin)
        return 0;
    return gn_history_take(m, &(struct gn_take){.call = completion, .from = begin, .kind = GN_TAKE_BEGUN});
}

/* MPI_Ssend is left no sooner than its receive has begun, and a receiver that is in the receive answers at
 * once. One that had posted it before, and does something else, may answer only when it calls MPI again. */
static bool waits_for_certain(const struct gn_history_make *m, const struct gn_matched *one, uint32_t waiter)
{
    return is_synchronous(m, one->from) && waiter == one->from && one->posted == one->to;
}

/* A blocking send of a size that others did not let wait was in its call until its receive was posted, and
 * not for long after that: it may have waited all the same, as libraries run out of room for such messages.
 */
static bool seems_to_wait(const struct gn_history_make *m, const struct gn_matched *one)
{
    static const double long_ns = 20e3;
    const struct gn_call *send = &m->h->calls[one->from], *posted = &m->h->calls[one->posted];
    const double until_ns = (double)posted->enter.lo_ns - (double)send->enter.hi_ns,
                 after_ns = (double)send->leave.hi_ns - (double)posted->enter.lo_ns;
    return one->send == 0 && one->bytes > SMALL_BYTES && until_ns > long_ns && after_ns >= 0 &&
           after_ns < until_ns;
}

static bool is_eager(const struct gn_history_make *m, const struct gn_matched *one)
{
    return one->bytes <= m->h->eager_bytes && !is_synchronous(m, one->from) && !seems_to_wait(m, one);
}

uint32_t gn_history_waiter(const struct gn_history_make *m, const struct gn_matched *one)
{
    const struct gn_call *calls = m->h->calls;
    if (is_eager(m, one) || calls[one->posted].location == calls[one->from].location)
        return GN_NONE;
    const uint32_t waiter = waiter_of(m, one);
    return waiter == GN_NONE || was_gone(m->h, waiter, one) ? GN_NONE : waiter;
}

static int add_sender(struct gn_history_make *m, const struct gn_matched *one)
{
    const uint32_t waiter = gn_history_waiter(m, one);
    if (waiter == GN_NONE)
        return 0;
    if (m->entered[one->posted] > m->left[waiter]) /* they cannot all have waited, in a circle */
        return 0;
    int code = gn_history_take(m, &(struct gn_take){.call = waiter,
                                                    .from = one->posted,
                                                    .member = one->from,
                                                    .kind = GN_TAKE_RECEIVER,
                                                    .is_certain = waits_for_certain(m, one, waiter)});
    return code ? code : add_begun(m, waiter, one->from);
}

static int add_receivers(struct gn_history_make *m)
{
    const struct gn_call *calls = m->h->calls;
    int code = 0;
    for (size_t i = 0; i < m->matched_count && code == 0; i++) {
        const struct gn_matched *one = &m->matched[i];
        if (is_eager(m, one) || calls[one->posted].location == calls[one->from].location)
            continue;
        code = add_sender(m, one);
        if (code == 0 && calls[one->posted].location == calls[one->to].location)
            code = add_begun(m, one->to, one->posted);
    }
    return code;
}

/* ---- steps ---- */

void gn_history_renumber_steps(struct gn_history_make *m)
{
    const struct gn_history *h = m->h;
    for (size_t s = 0; s < h->step_count; s++)
        (h->steps[s] & 1 ? m->left : m->entered)[h->steps[s] >> 1] = (uint32_t)s;
}

int gn_history_number_steps(struct gn_history_make *m)
{
    const struct gn_history *h = m->h;
    m->entered = calloc(h->call_count + 1, sizeof *m->entered);
    m->left = calloc(h->call_count + 1, sizeof *m->left);
    if (!m->entered || !m->left)
        return -ENOMEM;
    gn_history_renumber_steps(m);
    return 0;
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

/* Who is waited for in MPI_Win_wait is known. */
static bool is_told(const struct gn_history *h, const struct gn_call *call)
{
    for (uint32_t t = call->first_take; t < call->first_take + call->take_count; t++)
        if (h->takes[t].is_certain)
            return true;
    return false;
}

static void find_untold(struct gn_history_make *m)
{
    struct gn_history *h = m->h;
    for (uint32_t c = 0; c < h->call_count; c++) {
        struct gn_call *call = &h->calls[c];
        if (!gn_activity_is_untold(activity_of(m, c)) || is_told(h, call))
            continue;
        call->flags |= GN_CALL_UNTOLD;
        h->untold++;
        h->locks += activity_of(m, c) == GN_CALL_WIN_LOCK || activity_of(m, c) == GN_CALL_WIN_UNLOCK;
        h->untold_ns += gn_history_least_ns(m, call->location, call->leave_ticks - call->enter_ticks);
    }
}

/* What is assumed of the library, and of how many messages. */
static void count_assumed(struct gn_history_make *m)
{
    struct gn_history *h = m->h;
    for (size_t i = 0; i < m->matched_count; i++) {
        const struct gn_matched *one = &m->matched[i];
        const uint32_t waiter = waiter_of(m, one);
        if (h->calls[one->posted].location == h->calls[one->from].location)
            continue;
        h->eager_sends += is_eager(m, one) && waiter != GN_NONE && !was_gone(h, waiter, one) &&
                          h->calls[one->posted].enter.hi_ns > h->calls[one->from].enter.lo_ns;
        h->moved += one->posted != one->to || (waiter != GN_NONE && waiter != one->from);
    }
}

int gn_history_match(struct gn_history_make *m)
{
    m->h->eager_bytes = largest_eager(m);
    count_assumed(m);
    int code = gn_history_epochs_take(m);
    code = code ? code : gn_history_reorder(m);
    code = code ? code : add_receivers(m);
    code = code ? code : gn_history_epochs_take_perhaps(m);
    code = code ? code : gn_history_rivals(m);
    code = code ? code : sort_takes(m->h);
    if (code == 0)
        find_untold(m);
    return code;
}
