/*
 * Events of a location, one after the other: outermost MPI calls, the computation between them, what is open.
 *
 * Into the sort go only the enters and leaves of these calls and what they communicate, and instead of times
 * the numbers of calls: the sort does not look at times, and hands on a send's to its receive.
 */
#include "analyse/history_inside.h"
#include "calls.h"

#include <stdlib.h>

static bool is_mpi(const struct gn_history_make *m, uint32_t region)
{
    return region < m->d->region_count && m->d->regions[region].role == GN_ROLE_MPI;
}

static bool is_loose(const struct gn_history_make *m, uint32_t location)
{
    return m->is_loose[m->d->locations[location].process];
}

/* ---- activities ---- */

struct wanted {
    const struct gn_history *h;
    struct gn_computation activity;
};

static bool same_activity(const void *context, uint32_t value)
{
    const struct wanted *w = context;
    const struct gn_computation *a = &w->h->activities[value], *b = &w->activity;
    return a->parent == b->parent && a->region == b->region && a->call == b->call &&
           (a->region != GN_NONE || a->path == b->path);
}

/* GN_NONE: no memory. */
static uint32_t activity_of(struct gn_history_make *m, const struct gn_computation *what)
{
    struct gn_history *h = m->h;
    const struct wanted wanted = {h, *what};
    const struct gn_key key = {(uint64_t)what->parent << 32 | what->region,
                               (uint64_t)what->call << 32 | (what->region == GN_NONE ? what->path : 0)};
    const uint64_t hash = gn_key_hash(key);
    int64_t known = gn_lookup_find(&m->activities, hash, same_activity, &wanted);
    if (known >= 0)
        return (uint32_t)known;
    if (!gn_grow(&h->activities, &m->activity_capacity, h->activity_count, sizeof *h->activities) ||
        !gn_lookup_add(&m->activities, hash, (uint32_t)h->activity_count))
        return GN_NONE;
    h->activities[h->activity_count] = *what;
    return (uint32_t)h->activity_count++;
}

/* ---- computation ---- */

/* What was computed since then belongs to the innermost open region. */
int gn_history_deal(struct gn_history_place *p, uint64_t now_ticks, enum gn_piece_kind kind)
{
    uint64_t ticks = now_ticks > p->since_ticks ? now_ticks - p->since_ticks : 0;
    uint32_t activity = p->depth ? p->stack[p->depth - 1] : GN_NONE;
    p->since_ticks = now_ticks > p->since_ticks ? now_ticks : p->since_ticks;
    if (ticks == 0)
        return 0;
    for (size_t i = p->piece_count; i-- > 0;) /* loops go through the same few regions */
        if (p->pieces[i].activity == activity && p->pieces[i].kind == kind) {
            p->pieces[i].ticks += ticks;
            return 0;
        }
    if (!gn_grow(&p->pieces, &p->piece_capacity, p->piece_count, sizeof *p->pieces))
        return -ENOMEM;
    p->pieces[p->piece_count++] = (struct gn_history_piece){activity, kind, ticks};
    return 0;
}

static int deal(struct gn_history_place *p, uint64_t now_ticks)
{
    p->joins = p->joins || p->barriers;
    return gn_history_deal(p, now_ticks,
                           p->barriers ? GN_PIECE_JOIN
                           : p->teams  ? GN_PIECE_BESIDE
                                       : GN_PIECE_ALONE);
}

static int add_piece(struct gn_history_make *m, uint32_t location, const struct gn_history_piece *from,
                     uint32_t activity)
{
    struct gn_history *h = m->h;
    if (h->piece_count >= UINT32_MAX ||
        !gn_grow(&h->pieces, &m->piece_capacity, h->piece_count, sizeof *h->pieces))
        return -ENOMEM;
    h->pieces[h->piece_count++] =
        (struct gn_piece){activity, (uint8_t)from->kind, gn_history_least_ns(m, location, from->ticks),
                          gn_history_most_ns(m, location, from->ticks)};
    h->beside += from->kind != GN_PIECE_ALONE;
    return 0;
}

/* The stretch is over: this call begins. */
static int settle_pieces(struct gn_history_make *m, struct gn_call *call)
{
    struct gn_history_place *p = &m->places[call->location];
    int code = deal(p, call->enter_ticks);
    call->first_piece = (uint32_t)m->h->piece_count;
    for (size_t i = 0; i < p->piece_count && code == 0; i++) {
        uint32_t activity = p->pieces[i].activity;
        if (activity == GN_NONE)
            activity = activity_of(m, &(struct gn_computation){GN_NONE, GN_NONE, call->region, call->path});
        code = activity == GN_NONE ? -ENOMEM : add_piece(m, call->location, &p->pieces[i], activity);
    }
    call->piece_count = (uint32_t)m->h->piece_count - call->first_piece;
    call->flags |= (p->forks ? GN_CALL_FORKS : 0) | (p->joins ? GN_CALL_JOINS : 0);
    p->piece_count = 0;
    p->forks = p->joins = false;
    return code;
}

/* ---- calls ---- */

static int push(struct gn_history_make *m, const struct gn_event *event, enum gn_event_kind kind)
{
    struct gn_event e = *event;
    e.kind = (uint16_t)kind;
    e.ticks = (uint64_t)m->places[event->location].call << GN_HISTORY_CALL_SHIFT;
    const int code = gn_history_epoch_event(m, &e);
    return code ? code : gn_order_push(m->order, &e);
}

static int open_call(struct gn_history_make *m, const struct gn_event *event, uint32_t flags)
{
    struct gn_history *h = m->h;
    struct gn_history_place *p = &m->places[event->location];
    if (h->call_count >= INT32_MAX || !gn_grow(&h->calls, &m->call_capacity, h->call_count, sizeof *h->calls))
        return -ENOMEM;
    const uint32_t number = (uint32_t)h->call_count++;
    struct gn_call call = {.enter = gn_history_time(m, event->location, event->ticks),
                           .enter_ticks = event->ticks,
                           .leave_ticks = event->ticks,
                           .location = event->location,
                           .before = p->call,
                           .waits_from = number,
                           .region = flags ? GN_NONE : event->region,
                           .path = flags ? GN_NONE : event->path,
                           .flags = flags | (is_loose(m, event->location) ? GN_CALL_UNSURE : 0),
                           .is_tight = true};
    call.leave = call.enter;
    int code = settle_pieces(m, &call);
    h->calls[number] = call;
    p->call = number;
    p->completes = p->tests = false;
    p->row = event->kind == GN_EVENT_ENTER ? event->request : 0;
    p->row_ticks = event->bytes_sent;
    if (h->first_call[event->location] == GN_NONE)
        h->first_call[event->location] = number;
    h->last_call[event->location] = number;
    return code ? code : push(m, event, GN_EVENT_ENTER);
}

/* No more time passes between so many polls than it takes to measure them. */
static bool is_measuring(const struct gn_history_make *m, uint64_t between_ticks, uint64_t polls)
{
    static const double short_s = 250e-9;
    return (double)between_ticks <= short_s * (double)polls * (double)m->d->ticks_per_second;
}

/* Next to nothing is computed between polls that took so long altogether: no longer than they are. */
static bool is_idle(const struct gn_history_make *m, uint64_t between_ticks, uint64_t polls,
                    uint64_t inside_ticks)
{
    return between_ticks <= inside_ticks || is_measuring(m, between_ticks, polls);
}

static void add_idle(const struct gn_history_make *m, struct gn_history_place *p, uint64_t ticks,
                     uint64_t polls)
{
    p->waited_ticks += ticks;
    if (is_measuring(m, ticks, polls))
        return;
    p->idle_ticks += ticks;
    p->idle_rows++;
}

/* Polls wait as one with the call behind them when nothing to speak of is computed in between, but that now
 * and then one loses its core. */
static void join_polls(struct gn_history_make *m, struct gn_call *call)
{
    static const double little = 0.1;
    struct gn_history_place *p = &m->places[call->location];
    const struct gn_call *before = call->before == GN_NONE ? NULL : &m->h->calls[call->before];
    if (!before || !(before->flags & GN_CALL_POLL) || before->location != call->location || p->polled == 0)
        return;
    const uint64_t between_ticks = call->enter_ticks - before->leave_ticks;
    const bool is_short = is_idle(m, between_ticks, 1, p->polled_ticks / p->polled);
    if (!is_short && (double)(p->between_ticks + between_ticks) > little * (double)p->polled_ticks)
        return;
    p->between_ticks += is_short ? 0 : between_ticks;
    add_idle(m, p, between_ticks, 1);
    call->waits_from = before->waits_from;
}

/* A row of them is told as one call. Where something is computed between them, that is no wait: then the call
 * is as long as they are themselves, and what is left is computed behind it. */
static int close_polls(struct gn_history_make *m, struct gn_call *call, uint32_t number)
{
    struct gn_history_place *p = &m->places[call->location];
    const uint64_t length = call->leave_ticks - call->enter_ticks, polls = p->row > 0 ? p->row : 1,
                   inside = p->row > 0 && p->row_ticks < length ? p->row_ticks : length;
    const bool naps = m->settings->naps && call->path < m->d->path_count && m->settings->naps[call->path];
    if (!naps && !is_idle(m, length - inside, polls, inside)) {
        call->leave_ticks = call->enter_ticks + inside;
        return 0;
    }
    call->flags |= GN_CALL_POLL;
    if (call->waits_from == number)
        p->polled = p->polled_ticks = p->between_ticks = 0;
    p->polled += polls;
    p->polled_ticks += naps ? length : inside;
    p->waited_ticks += inside;
    add_idle(m, p, length - inside, polls);
    if (inside == length || naps) /* asleep, we do no work */
        return 0;
    if (!gn_grow(&m->polled, &m->polled_capacity, m->polled_count, sizeof *m->polled))
        return -ENOMEM;
    const double tick_ns = (m->rate_lo[call->location] + m->rate_hi[call->location]) / 2;
    m->polled[m->polled_count++] = (struct gn_history_polled){number, (double)(length - inside) * tick_ns};
    return 0;
}

/* It asks whether something has come; a probe comes back when something has, and does not take it: the call
 * behind it does. Not every recorder says of a test that it found nothing. */
static bool asks(const struct gn_history_make *m, const struct gn_call *call)
{
    const uint32_t activity = gn_region_activity(m->d, call->region);
    return activity == GN_CALL_PROBE || activity == GN_CALL_MPROBE ||
           gn_activity_def(activity)->traits & GN_TRAIT_POLLS;
}

static int close_call(struct gn_history_make *m, const struct gn_event *event)
{
    struct gn_history_place *p = &m->places[event->location];
    struct gn_call *call = &m->h->calls[p->call];
    call->leave_ticks = event->ticks > call->enter_ticks ? event->ticks : call->enter_ticks;
    if (is_loose(m, event->location))
        call->flags |= GN_CALL_UNSURE;
    join_polls(m, call);
    const bool has_asked = (p->tests || asks(m, call)) && !p->completes;
    const int code = has_asked ? close_polls(m, call, p->call) : 0;
    call->leave = gn_history_time(m, event->location, call->leave_ticks);
    p->since_ticks = call->leave_ticks;
    return code ? code : push(m, event, GN_EVENT_LEAVE);
}

/* What communicates outside of any call is a call of its own. */
static int in_a_call(struct gn_history_make *m, const struct gn_event *event,
                     int (*what)(struct gn_history_make *, const struct gn_event *))
{
    if (m->places[event->location].mpi_depth > 0)
        return what(m, event);
    struct gn_event bare = *event;
    bare.region = bare.path = GN_NONE;
    int code = open_call(m, &bare, 0);
    code = code ? code : what(m, event);
    return code ? code : close_call(m, &bare);
}

/* ---- what is communicated ---- */

static struct gn_key request_key(const struct gn_history_make *m, const struct gn_event *event)
{
    return (struct gn_key){event->request, m->d->locations[event->location].process};
}

/* Maps hold numbers + 1 in place of pointers. */
static int remember(struct gn_map *map, struct gn_key key, uint32_t number)
{
    gn_map_remove(map, key);
    return gn_map_add(map, key, (void *)((uintptr_t)number + 1)) ? 0 : -ENOMEM;
}

static uint32_t recall(struct gn_map *map, struct gn_key key)
{
    uintptr_t found = (uintptr_t)gn_map_find(map, key);
    gn_map_remove(map, key);
    return found ? (uint32_t)(found - 1) : GN_NONE; /* no number of a call, nor of a part, is that */
}

static uint32_t add_part(struct gn_history_make *m, const struct gn_event *event)
{
    const struct gn_history_place *p = &m->places[event->location];
    if (m->open_part_count >= INT32_MAX ||
        !gn_grow(&m->open_parts, &m->open_part_capacity, m->open_part_count, sizeof *m->open_parts))
        return GN_NONE;
    m->open_parts[m->open_part_count] =
        (struct gn_open_part){.call = p->call,
                              .process = m->d->locations[event->location].process,
                              .comm = event->comm,
                              .root = event->peer,
                              .end_call = GN_NONE,
                              .op = event->op,
                              .is_window = event->kind == GN_EVENT_RMA_COLLECTIVE_BEGIN,
                              .instance = GN_NONE,
                              .bytes_sent = GN_BYTES_UNKNOWN,
                              .bytes_received = GN_BYTES_UNKNOWN};
    return (uint32_t)m->open_part_count++;
}

/* The sort hands nothing through but an event: its record number says which part it is of. */
static int push_part(struct gn_history_make *m, const struct gn_event *event, uint32_t part)
{
    struct gn_event e = *event;
    e.record = part;
    return push(m, &e, (enum gn_event_kind)event->kind);
}

static int begin_part(struct gn_history_make *m, const struct gn_event *event)
{
    struct gn_history_place *p = &m->places[event->location];
    uint32_t part = add_part(m, event);
    if (part == GN_NONE)
        return -ENOMEM;
    if (event->kind == GN_EVENT_RMA_COLLECTIVE_BEGIN)
        p->window_part = part;
    else if (event->kind == GN_EVENT_COLLECTIVE_BEGIN)
        p->part = part;
    else if (remember(&m->requests, request_key(m, event), part) != 0)
        return -ENOMEM;
    return push_part(m, event, part);
}

static int end_part(struct gn_history_make *m, const struct gn_event *event)
{
    struct gn_history_place *p = &m->places[event->location];
    uint32_t number;
    if (event->kind == GN_EVENT_RMA_COLLECTIVE_END) {
        number = p->window_part;
        p->window_part = GN_NONE;
    } else if (event->kind == GN_EVENT_COLLECTIVE_END) {
        number = p->part;
        p->part = GN_NONE;
    } else {
        number = recall(&m->requests, request_key(m, event));
    }
    p->completes = true;
    if (number != GN_NONE) {
        struct gn_open_part *part = &m->open_parts[number];
        part->comm = event->comm;
        part->root = event->peer;
        part->op = event->op;
        part->end_call = p->call;
        part->bytes_sent = event->bytes_sent;
        part->bytes_received = event->bytes_received;
    }
    return push_part(m, event, number);
}

/* ---- receives ---- */

/* GN_NONE: no memory. */
static uint32_t ask(struct gn_history_make *m, const struct gn_history_post *asked)
{
    if (m->asked_count >= INT32_MAX ||
        !gn_grow(&m->asked, &m->asked_capacity, m->asked_count, sizeof *m->asked))
        return GN_NONE;
    m->asked[m->asked_count] = *asked;
    return (uint32_t)m->asked_count++;
}

static int post(struct gn_history_make *m, const struct gn_event *event)
{
    const bool is_known = event->comm != GN_NONE && event->peer != GN_NONE;
    const uint32_t asked =
        ask(m, &(struct gn_history_post){.call = m->places[event->location].call,
                                         .comm = event->comm,
                                         .tag = is_known ? event->tag : GN_NONE,
                                         .from = !is_known               ? GN_ASKED_UNKNOWN
                                                 : event->peer == GN_ANY ? GN_ASKED_ANYBODY
                                                                         : GN_ASKED_NAMED});
    if (asked == GN_NONE)
        return -ENOMEM;
    int code = remember(&m->posts, request_key(m, event), asked);
    return code ? code : push(m, event, GN_EVENT_MPI_IRECV_REQUEST);
}

static bool is_probe(const struct gn_history_make *m, uint32_t call)
{
    const uint32_t activity = gn_region_activity(m->d, m->h->calls[call].region);
    return activity == GN_CALL_PROBE || activity == GN_CALL_IPROBE;
}

/* Of a receive that was posted where it ends no archive says what it was posted for; but gnomon's own, which
 * have numbers, have a post of each that did not name its sender. One behind a probe names whom that found.
 */
static uint32_t ask_at_once(struct gn_history_make *m, const struct gn_event *event)
{
    const uint32_t call = m->places[event->location].call, before = m->h->calls[call].before;
    const bool is_counted = event->kind == GN_EVENT_MPI_RECV && event->number != GN_UNNUMBERED,
               is_named = (is_counted && !is_loose(m, event->location) && before != GN_NONE &&
                           !is_probe(m, before)) ||
                          (event->tag != GN_NONE && event->tag >= GN_TAG_PARTITIONED);
    return ask(m, &(struct gn_history_post){.call = call,
                                            .comm = event->comm,
                                            .tag = is_named ? event->tag : GN_NONE,
                                            .from = is_named ? GN_ASKED_NAMED : GN_ASKED_UNKNOWN});
}

/* The sort hands nothing through but an event: its record number says what was asked for. */
static int received(struct gn_history_make *m, const struct gn_event *event)
{
    struct gn_history_place *p = &m->places[event->location];
    struct gn_event e = *event;
    e.record = event->kind == GN_EVENT_MPI_IRECV ? recall(&m->posts, request_key(m, event)) : GN_NONE;
    if (e.record == GN_NONE)
        e.record = ask_at_once(m, event);
    if (e.record == GN_NONE)
        return -ENOMEM;
    p->completes = true;
    return push(m, &e, (enum gn_event_kind)event->kind);
}

static int pass_on(struct gn_history_make *m, const struct gn_event *event)
{
    return push(m, event, (enum gn_event_kind)event->kind);
}

/* What it is completed in may wait for it, or for its receiver. */
static int start_send(struct gn_history_make *m, const struct gn_event *event)
{
    struct gn_event e = *event;
    if (m->send_count >= INT32_MAX || !gn_grow(&m->sends, &m->send_capacity, m->send_count, sizeof *m->sends))
        return -ENOMEM;
    m->sends[m->send_count] = GN_NONE;
    if (remember(&m->sending, request_key(m, event), (uint32_t)m->send_count++) != 0)
        return -ENOMEM;
    e.ticks = (uint64_t)m->places[event->location].call << GN_HISTORY_CALL_SHIFT | m->send_count;
    return gn_order_push(m->order, &e);
}

static int end_send(struct gn_history_make *m, const struct gn_event *event)
{
    struct gn_history_place *p = &m->places[event->location];
    const uint32_t send = recall(&m->sending, request_key(m, event));
    p->completes = true;
    if (send != GN_NONE && p->mpi_depth > 0)
        m->sends[send] = p->call;
    return 0;
}

/* Nobody records that MPI_Finalize is a collective. Whether it waited, its times say. */
static int begin_finalize(struct gn_history_make *m, const struct gn_event *event)
{
    if (gn_region_activity(m->d, event->region) != GN_CALL_FINALIZE)
        return 0;
    uint32_t part = add_part(m, event);
    if (part == GN_NONE)
        return -ENOMEM;
    m->open_parts[part].is_finalize = true;
    m->open_parts[part].instance = is_loose(m, event->location) ? GN_NONE : 0;
    m->open_parts[part].member = m->open_parts[part].process;
    m->open_parts[part].end_call = m->places[event->location].call;
    return 0;
}

/* ---- regions ---- */

static int add_change(struct gn_history_make *m, const struct gn_event *event, bool is_enter)
{
    if (!m->h->tracks)
        return 0;
    struct gn_track *t = &m->h->tracks[event->location];
    if (!gn_grow(&t->changes, &t->capacity, t->count, sizeof *t->changes))
        return -ENOMEM;
    t->changes[t->count++] = (struct gn_change){gn_history_time(m, event->location, event->ticks),
                                                event->ticks, event->region, event->path, is_enter};
    return 0;
}

static int enter(struct gn_history_make *m, const struct gn_event *event)
{
    struct gn_history_place *p = &m->places[event->location];
    int code = add_change(m, event, true);
    if (is_mpi(m, event->region)) {
        if (code == 0 && p->mpi_depth == 0)
            code = open_call(m, event, 0);
        return p->mpi_depth++ == 0 && code == 0 ? begin_finalize(m, event) : code;
    }
    if (code || p->mpi_depth > 0 || (code = deal(p, event->ticks)) != 0)
        return code;
    uint32_t parent = p->depth ? p->stack[p->depth - 1] : GN_NONE;
    uint32_t activity = activity_of(m, &(struct gn_computation){parent, event->region, GN_NONE, event->path});
    if (activity == GN_NONE || !gn_grow(&p->stack, &p->stack_capacity, p->depth, sizeof *p->stack))
        return -ENOMEM;
    p->stack[p->depth++] = activity;
    gn_history_enter_region(m, p, event->region);
    return 0;
}

static int leave(struct gn_history_make *m, const struct gn_event *event)
{
    struct gn_history_place *p = &m->places[event->location];
    int code = add_change(m, event, false);
    if (code)
        return code;
    if (is_mpi(m, event->region))
        return p->mpi_depth > 0 && --p->mpi_depth == 0 ? close_call(m, event) : 0;
    if (p->mpi_depth > 0)
        return 0;
    code = deal(p, event->ticks);
    for (size_t i = p->depth; i-- > 0;) /* one that was not entered closes nothing */
        if (m->h->activities[p->stack[i]].region == event->region) {
            gn_history_leave_regions(m, p, i);
            break;
        }
    return code;
}

/* Whatever was open may have been left. */
static int lose(struct gn_history_make *m, const struct gn_event *event)
{
    struct gn_history_place *p = &m->places[event->location];
    int code = p->mpi_depth > 0 ? close_call(m, event) : deal(p, event->ticks);
    m->is_loose[m->d->locations[event->location].process] = true;
    gn_history_epochs_lose(m, m->d->locations[event->location].process);
    p->mpi_depth = 0;
    gn_history_leave_regions(m, p, 0);
    p->part = p->window_part = GN_NONE;
    return code ? code : pass_on(m, event);
}

/* ---- all ---- */

static int look(struct gn_history_make *m, const struct gn_event *event)
{
    struct gn_history_place *p = &m->places[event->location];
    switch (event->kind) {
    case GN_EVENT_ENTER:
    case GN_EVENT_REGION_BEGIN:
        return enter(m, event);
    case GN_EVENT_LEAVE:
    case GN_EVENT_REGION_END:
        return leave(m, event);
    case GN_EVENT_MPI_SEND:
        return in_a_call(m, event, pass_on);
    case GN_EVENT_MPI_ISEND:
        return in_a_call(m, event, start_send);
    case GN_EVENT_MPI_RECV:
    case GN_EVENT_MPI_IRECV:
        return in_a_call(m, event, received);
    case GN_EVENT_MPI_IRECV_REQUEST:
        return in_a_call(m, event, post);
    case GN_EVENT_COLLECTIVE_BEGIN:
    case GN_EVENT_NBC_REQUEST:
    case GN_EVENT_RMA_COLLECTIVE_BEGIN:
        return in_a_call(m, event, begin_part);
    case GN_EVENT_COLLECTIVE_END:
    case GN_EVENT_NBC_COMPLETE:
    case GN_EVENT_RMA_COLLECTIVE_END:
        return in_a_call(m, event, end_part);
    case GN_EVENT_MPI_REQUEST_CANCELLED:
    case GN_EVENT_RMA_SYNC:
        return in_a_call(m, event, pass_on);
    case GN_EVENT_MPI_ISEND_COMPLETE:
        return end_send(m, event);
    case GN_EVENT_MPI_REQUEST_TEST:
        p->tests = true;
        return 0;
    case GN_EVENT_THREAD_FORK:
        return p->mpi_depth > 0 ? 0 : gn_history_fork(p, event->ticks);
    case GN_EVENT_THREAD_JOIN:
        return p->mpi_depth > 0 ? 0 : gn_history_join(p, event->ticks);
    case GN_EVENT_THREAD_BEGIN:
        return p->mpi_depth > 0 ? 0 : gn_history_team_begins(p, event->ticks);
    case GN_EVENT_THREAD_END:
        return p->mpi_depth > 0 ? 0 : gn_history_team_ends(p, event->ticks);
    case GN_EVENT_THREAD_WAIT:
    case GN_EVENT_LOCK_ACQUIRE:
        return p->mpi_depth > 0 ? 0 : gn_history_hand_over(m, p, event->ticks);
    case GN_EVENT_LOST:
        return lose(m, event);
    case GN_EVENT_OWN_WORK:
        return gn_history_own_work(m, event);
    default:
        return 0;
    }
}

int gn_history_event(struct gn_history_make *m, const struct gn_event *event)
{
    struct gn_history_place *p = &m->places[event->location];
    struct gn_event e = *event;
    int code = 0;
    m->h->events++;
    if (e.ticks < p->now_ticks) /* a clock that goes back: nothing lasted less than no time */
        e.ticks = p->now_ticks;
    if (m->h->first_call[e.location] == GN_NONE) {
        p->since_ticks = e.ticks;
        code = open_call(m, &e, GN_CALL_BEGIN);
        code = code ? code : close_call(m, &e);
    }
    p->now_ticks = e.ticks;
    code = code ? code : look(m, &e);
    p->last_kind = e.kind;
    return code;
}

int gn_history_location_ends(struct gn_history_make *m, uint32_t location)
{
    static const double noted = 0.01; /* less than that changes nothing that anybody would tell */
    struct gn_history_place *p = &m->places[location];
    if ((double)p->idle_ticks > noted * (double)p->waited_ticks)
        m->h->idle_rows += p->idle_rows;
    if (m->h->first_call[location] != GN_NONE) {
        struct gn_event last = gn_event_bare(GN_EVENT_PROGRAM_END, location, p->now_ticks);
        int code = p->mpi_depth > 0 ? close_call(m, &last) : 0;
        code = code ? code : open_call(m, &last, GN_CALL_END);
        code = code ? code : close_call(m, &last);
        if (code)
            return code;
    }
    return gn_order_end(m->order, location);
}

void gn_history_places_free(struct gn_history_make *m)
{
    for (size_t l = 0; m->places && l < m->d->location_count; l++) {
        free(m->places[l].stack);
        free(m->places[l].pieces);
    }
    free(m->places);
}
