#include "base/grow.h"
#include "causality/order_inside.h"
#include "event/activity.h"

#include <stdlib.h>

/*
 * Threads of a process share its channels and its clock. So which message is the n-th is decided in the
 * process's time, and never by the order in which the threads' events happen to arrive. Whatever is counted
 * has a turn: it is counted when all other threads are known to be past its time. (Without that a receive is
 * joined to a send that comes later, and the send's own receive to one that comes earlier.)
 *
 *   thread 1   isend ─────────────── isend           pushed up to here
 *   thread 2          send ───                       pushed up to here: the second isend has to wait
 *
 * From there on a process's time is counted in moments, which have one or more steps: one for each thing that
 * takes its turn. What has the same time is in one moment, and its order is open.
 *
 * Two calls that overlap in time have no order: MPI leaves it open which one sends first, or posts its
 * receive first. Then sends count in the order of their events, which are those of their calls' begins, and
 * receives in that of their completions, as far as postings do not say otherwise (receives.c): so, a receive
 * is never joined to a send that comes later on the same clock, if it is possible at all. And whoever gets
 * such a message is marked ambiguous, which is known only when the send's call has ended.
 *
 * Which channel a thread will use that is in a call, and has not sent or received all that it can in it,
 * nobody knows. It may be any if the call can send; a receive, which may go on for long, may be for those
 * channels on which several threads have received before.
 *
 * A turn is taken ahead of its time where somebody is silent for too long, or while a live program runs and
 * another thread has not communicated so far, though it may begin to. What is counted then, and what comes
 * late because of it, may have changed places: it is marked, and so is all that a call does whose begin was
 * such a guess, or whose end. A message that both sides have a number of needs no mark. Where events were
 * lost, all that might come behind them is not counted any more (order.c).
 */

enum { IS_MPI = 128 };      /* of a call, beside its bits of enum gn_trait */
enum { SENDS_MOST = 4096 }; /* of one call that are kept until it ends */

/* An event that waits for its turn. */
struct gn_turn {
    struct gn_turn *next;
    struct gn_vertex *vertex;  /* NULL: it has none */
    uint64_t ticks;            /* never before the turn ahead of it at its location */
    uint64_t observed, pushed; /* events before it, at its location and at all */
    struct gn_event event;
};

struct gn_thread {
    struct gn_turn *first, *last;
    uint64_t observed;      /* events */
    uint64_t reached_ticks; /* nothing earlier comes from it */
    bool communicates;      /* as far as has been observed */
    /* as of the process's present step */
    bool is_guess;  /* others may come that were before it */
    bool is_hasty;  /* … though they are waited for */
    bool is_late;   /* it comes itself when others have been counted that were after it */
    bool was_alone; /* it may be in a call that was entered when it was its process's only thread */
    uint32_t depth; /* of MPI calls in each other */
    uint8_t may;    /* of the outermost one */
    bool has_sent, has_received;
    bool call_is_guess; /* the moment in which it was entered is */
    uint64_t entered;   /* moment */
    struct call_send {
        struct gn_vertex *send;
        struct gn_channel *channel;
    } * sends; /* of the call */
    struct gn_post **posts;
    size_t send_count, send_capacity, post_count, post_capacity;
};

static struct gn_thread *thread_of(const struct gn_order *order, uint32_t location)
{
    return order->locations[location].thread;
}

static struct gn_process_state *process_of(struct gn_order *order, uint32_t location)
{
    return gn_process_of(order, order->locations[location].process);
}

bool gn_thread_open(struct gn_order *order, uint32_t location)
{
    struct gn_location_state *state = &order->locations[location];
    if (!state->thread)
        state->thread = calloc(1, sizeof *state->thread);
    return state->thread != NULL;
}

static void free_turns(struct gn_turn *turn)
{
    for (struct gn_turn *next; turn; turn = next) {
        next = turn->next;
        free(turn);
    }
}

void gn_threads_close(struct gn_order *order)
{
    for (size_t l = 0; l < order->location_count; l++) {
        struct gn_thread *thread = order->locations[l].thread;
        if (!thread)
            continue;
        free_turns(thread->first);
        free(thread->sends);
        free(thread->posts);
        free(thread);
    }
    free_turns(order->spare_turns);
    free(order->calls);
}

/* ---- calls ---- */

static uint8_t what_may(const struct gn_region_def *region)
{
    const unsigned all = GN_TRAIT_SENDS | GN_TRAIT_RECEIVES | GN_TRAIT_SEVERAL;
    if (region->role != GN_ROLE_MPI ||
        region->activity == GN_ACTIVITY_NONE) /* not all that is called MPI_… */
        return 0;
    return (uint8_t)(IS_MPI | (gn_activity_def(region->activity)->traits & all));
}

/* What a call may do; 0: it is none. */
static uint8_t call_of(struct gn_order *order, uint32_t region)
{
    const struct gn_definitions *d = order->definitions;
    if (region >= d->region_count)
        return 0;
    if (region >= order->call_count) {
        uint8_t *calls = realloc(order->calls, d->region_count);
        if (!calls) {
            order->stopped = -ENOMEM;
            return 0;
        }
        order->calls = calls;
        for (; order->call_count < d->region_count; order->call_count++)
            calls[order->call_count] = what_may(&d->regions[order->call_count]);
    }
    return order->calls[region];
}

void gn_thread_was_alone(struct gn_order *order, uint32_t location)
{
    struct gn_process_state *process = process_of(order, location);
    process->moment++; /* after all that has been */
    process->passed_ticks = order->locations[location].counted_ticks;
    for (size_t r = 0; r < order->definitions->region_count && order->locations[location].observed > 0; r++)
        thread_of(order, location)->was_alone |= call_of(order, (uint32_t)r) != 0;
}

uint64_t gn_thread_began(const struct gn_order *order, uint32_t location)
{
    const struct gn_thread *thread = thread_of(order, location);
    if (thread->depth > 0)
        return thread->entered;
    return thread->was_alone ? 0 : order->processes[order->locations[location].process].moment;
}

bool gn_thread_guesses(const struct gn_order *order, uint32_t location)
{
    const struct gn_thread *thread = thread_of(order, location);
    return thread->is_guess || thread->is_late || (thread->depth > 0 && thread->call_is_guess);
}

/* Whether a call of another location that used the channel ended when this one had begun. */
static bool was_used_since(const struct gn_channel_use *use, uint32_t location, uint64_t began)
{
    const uint64_t until = use->by == location ? use->others_until : use->until;
    return until > 0 && until >= began;
}

static void enter(struct gn_order *order, const struct gn_event *event)
{
    struct gn_thread *thread = thread_of(order, event->location);
    thread->was_alone = false;
    if (thread->depth++ > 0)
        return;
    thread->call_is_guess = thread->is_guess || thread->is_late;
    thread->entered = process_of(order, event->location)->moment;
    thread->may = call_of(order, event->region);
    thread->has_sent = thread->has_received = false;
}

/* The send's place is as certain as it will ever be. */
static void end_send(struct gn_order *order, struct gn_vertex *send)
{
    struct gn_vertex *receive = send->partner;
    send->in_call = false;
    if (order->numbers) {
        gn_vertex_settled(order, send);
        return;
    }
    if (receive && receive->needs_end) {
        receive->needs_end = false;
        gn_vertex_parted(receive);
        if (send->is_open) /* it has no number, or it would not have waited */
            receive->place.flags |= GN_PLACE_AMBIGUOUS;
        gn_vertex_settled(order, receive);
    }
    gn_vertex_noticed(order, send);
}

static bool uses_earlier(const struct gn_thread *thread, size_t before)
{
    for (size_t i = 0; i < before; i++)
        if (thread->sends[i].channel == thread->sends[before].channel)
            return true;
    return false;
}

/* is_guess: it may go on, and overlap with what others do from here on. */
static void end_call(struct gn_order *order, uint32_t location, bool is_guess)
{
    struct gn_thread *thread = thread_of(order, location);
    const uint64_t now = process_of(order, location)->moment;
    thread->depth = 0;
    thread->was_alone = false;
    for (size_t i = 0; i < thread->send_count; i++) {
        struct gn_channel *channel = thread->sends[i].channel;
        thread->sends[i].send->is_open |= is_guess;
        channel->sending -= !uses_earlier(thread, i);
        gn_channel_used(&channel->sent, location, now);
        end_send(order, thread->sends[i].send);
    }
    for (size_t i = 0; i < thread->post_count; i++)
        gn_post_ended(thread->posts[i], now, is_guess);
    thread->send_count = thread->post_count = 0;
}

static void leave(struct gn_order *order, uint32_t location)
{
    struct gn_thread *thread = thread_of(order, location);
    if (thread->depth <= 1)
        end_call(order, location, gn_thread_guesses(order, location));
    else
        thread->depth--;
}

/* ---- what is next on a channel ---- */

/* Whether another thread of the process is in a call that may still use the channel. */
static bool others_may(const struct gn_order *order, uint32_t location, enum gn_trait what, uint64_t until)
{
    const struct gn_process_state *process = &order->processes[order->locations[location].process];
    for (uint32_t l = process->last_location; l != GN_NONE; l = order->locations[l].next_of_process) {
        const struct gn_thread *other = order->locations[l].thread;
        const bool has = (what == GN_TRAIT_SENDS ? other->has_sent : other->has_received) &&
                         !(other->may & GN_TRAIT_SEVERAL);
        const bool is_in_one = other->depth > 0 && other->may & what && !has && other->entered <= until;
        if (l != location && (is_in_one || other->was_alone))
            return true;
    }
    return false;
}

static bool is_sending(const struct gn_thread *thread, const struct gn_channel *channel)
{
    for (size_t i = 0; i < thread->send_count; i++)
        if (thread->sends[i].channel == channel)
            return true;
    return false;
}

/* Sends of other threads' calls on this channel, which go on. */
static void open_others(struct gn_order *order, uint32_t location, const struct gn_channel *channel)
{
    for (uint32_t l = process_of(order, location)->last_location; l != GN_NONE;
         l = order->locations[l].next_of_process) {
        struct gn_thread *other = order->locations[l].thread;
        for (size_t i = 0; l != location && i < other->send_count; i++)
            if (other->sends[i].channel == channel)
                other->sends[i].send->is_open = true;
    }
}

void gn_channel_has_receiver(struct gn_channel *channel, uint32_t location)
{
    if (channel->receiver == GN_NONE)
        channel->receiver = location;
    channel->has_receivers |= channel->receiver != location;
}

/* Who counted the message while the program ran knows whether its place is certain. */
static bool is_counted(const struct gn_event *event)
{
    return event->number != GN_UNNUMBERED && event->number != GN_NUMBER_LATER;
}

int gn_thread_sends(struct gn_order *order, struct gn_channel *channel, struct gn_vertex *send)
{
    const uint32_t location = send->event.location;
    struct gn_thread *thread = thread_of(order, location);
    const uint64_t now = process_of(order, location)->moment;
    const bool goes_on = is_sending(thread, channel);
    thread->has_sent = true;
    if (thread->is_late)
        gn_channel_doubt(channel, send);
    if (is_counted(&send->event)) {
        send->is_open |= (send->event.number & GN_NUMBER_UNORDERED) != 0;
        gn_channel_used(&channel->sent, location, now);
        return 0;
    }
    if (channel->sending > goes_on) {
        open_others(order, location, channel);
        send->is_open = true;
    }
    send->is_open |= was_used_since(&channel->sent, location, gn_thread_began(order, location)) ||
                     others_may(order, location, GN_TRAIT_SENDS, now);
    if (thread->depth == 0) {
        gn_channel_used(&channel->sent, location, now);
        return 0;
    }
    if (thread->send_count >= SENDS_MOST) {
        end_call(order, location, true); /* its leave is missing, or it is none */
        send->is_open = true;
        gn_channel_used(&channel->sent, location, now);
        return 0;
    }
    if (!gn_grow(&thread->sends, &thread->send_capacity, thread->send_count, sizeof *thread->sends))
        return -ENOMEM;
    thread->sends[thread->send_count++] = (struct call_send){send, channel};
    channel->sending += !goes_on;
    send->in_call = true;
    send->keeps++;
    return 0;
}

bool gn_thread_receives(struct gn_order *order, struct gn_channel *channel, uint32_t location, bool is_late,
                        uint64_t began, uint64_t ended)
{
    const bool is_open =
        (channel->has_receivers || is_late) && (was_used_since(&channel->received, location, began) ||
                                                others_may(order, location, GN_TRAIT_RECEIVES, ended));
    gn_channel_used(&channel->received, location, ended);
    return is_open;
}

int gn_thread_posts(struct gn_order *order, uint32_t location, struct gn_post *post)
{
    struct gn_thread *thread = thread_of(order, location);
    if (thread->depth == 0) {
        gn_post_ended(post, process_of(order, location)->moment, false);
        return 0;
    }
    if (!gn_grow(&thread->posts, &thread->post_capacity, thread->post_count, sizeof *thread->posts))
        return -ENOMEM;
    thread->posts[thread->post_count++] = post;
    return 0;
}

void gn_thread_unposts(struct gn_order *order, uint32_t location, const struct gn_post *post)
{
    struct gn_thread *thread = thread_of(order, location);
    for (size_t i = 0; thread && i < thread->post_count; i++)
        if (thread->posts[i] == post)
            thread->posts[i--] = thread->posts[--thread->post_count];
}

/* ---- turns ---- */

static bool is_call(struct gn_order *order, const struct gn_event *event)
{
    return (event->kind == GN_EVENT_ENTER || event->kind == GN_EVENT_LEAVE) &&
           call_of(order, event->region) != 0;
}

static bool takes_turn(struct gn_order *order, const struct gn_event *event)
{
    return gn_is_connected(event->kind) || event->kind == GN_EVENT_MPI_IRECV_REQUEST ||
           event->kind == GN_EVENT_MPI_REQUEST_CANCELLED || is_call(order, event) ||
           gn_is_of_team(order, event) || gn_is_of_epoch(order, event);
}

/* What waits for others waits for its turn, too; what others wait for is kept for them. */
static bool waits(unsigned kind)
{
    return kind == GN_EVENT_MPI_RECV || kind == GN_EVENT_MPI_IRECV || kind == GN_EVENT_COLLECTIVE_END ||
           kind == GN_EVENT_NBC_COMPLETE || kind == GN_EVENT_RMA_COLLECTIVE_END ||
           kind == GN_EVENT_THREAD_BEGIN || kind == GN_EVENT_THREAD_JOIN || kind == GN_EVENT_THREAD_WAIT ||
           kind == GN_EVENT_LOCK_ACQUIRE || kind == GN_EVENT_LEAVE;
}

static void hold(struct gn_vertex *vertex)
{
    if (waits(vertex->event.kind))
        vertex->waits++;
    else
        vertex->keeps++;
}

static bool receives(unsigned kind)
{
    return kind == GN_EVENT_MPI_RECV || kind == GN_EVENT_MPI_IRECV;
}

/* Where it was counted may not be its place. */
static void doubt(struct gn_vertex *vertex)
{
    vertex->is_open = true;
    if (waits(vertex->event.kind) && !receives(vertex->event.kind)) /* of a receive, its send decides, too */
        vertex->place.flags |= GN_PLACE_AMBIGUOUS;
}

static int connect(struct gn_order *order, struct gn_vertex *vertex)
{
    struct gn_thread *thread = thread_of(order, vertex->event.location);
    const unsigned kind = vertex->event.kind;
    if (gn_thread_guesses(order, vertex->event.location))
        doubt(vertex);
    vertex->out_of_turn = thread->is_hasty || thread->is_late;
    if (thread->is_late && kind == GN_EVENT_MPI_RECV)
        gn_receives_doubt(order, vertex->event.location);
    int code = gn_is_connected(kind) ? gn_vertex_connect(order, vertex) : gn_gates_take(order, vertex);
    thread->has_received |= kind == GN_EVENT_MPI_RECV;
    if (waits(kind))
        gn_vertex_settled(order, vertex);
    else
        gn_vertex_noticed(order, vertex);
    return code;
}

static int take(struct gn_order *order, const struct gn_event *event, struct gn_vertex *vertex)
{
    struct gn_process_state *process = process_of(order, event->location);
    const struct gn_thread *thread = thread_of(order, event->location);
    process->step++;
    process->moment += event->ticks != process->now_ticks;
    process->now_ticks = event->ticks;
    if (is_call(order, event) && event->kind == GN_EVENT_ENTER)
        enter(order, event);
    else if (is_call(order, event))
        leave(order, event->location);
    if (vertex)
        return connect(order, vertex);
    switch (event->kind) {
    case GN_EVENT_ENTER:
    case GN_EVENT_LEAVE:
        return 0;
    case GN_EVENT_MPI_IRECV_REQUEST:
        if (thread->is_late)
            gn_receives_doubt(order, event->location);
        return gn_receive_posted(order, event);
    default:
        gn_receive_cancelled(order, event);
        return 0;
    }
}

/* Whose turn it is in a process. */
struct next {
    uint32_t location; /* GN_NONE: nobody waits */
    bool has_come;     /* all that are waited for are past its time */
    bool is_certain;   /* … and so are all others */
};

static bool is_waited_for(const struct gn_order *order, const struct gn_thread *thread)
{
    return !order->settings.is_live || thread->communicates;
}

static struct next next_turn(const struct gn_order *order, const struct gn_process_state *process)
{
    struct next next = {GN_NONE, true, true};
    uint64_t ticks = 0;
    for (uint32_t l = process->last_location; l != GN_NONE; l = order->locations[l].next_of_process) {
        const struct gn_turn *turn = order->locations[l].thread->first;
        if (turn && (next.location == GN_NONE || turn->ticks <= ticks)) {
            next.location = l; /* of those at the same time the first location: the last one looked at */
            ticks = turn->ticks;
        }
    }
    for (uint32_t l = process->last_location; l != GN_NONE; l = order->locations[l].next_of_process) {
        const struct gn_thread *thread = order->locations[l].thread;
        if (thread->first || order->locations[l].ended || thread->reached_ticks > ticks)
            continue;
        next.is_certain = false;
        next.has_come = !is_waited_for(order, thread);
        if (!next.has_come)
            break;
    }
    return next;
}

static int take_first(struct gn_order *order, struct gn_process_state *process, struct next next)
{
    struct gn_thread *thread = thread_of(order, next.location);
    struct gn_turn *turn = thread->first;
    thread->first = turn->next;
    order->turns--;
    process->turns--;
    process->piled -= (thread->first ? thread->first->observed : thread->observed) - turn->observed;
    thread->is_guess = !next.is_certain;
    thread->is_hasty = !next.has_come;
    thread->is_late = turn->ticks < process->passed_ticks;
    process->passed_ticks = turn->ticks > process->passed_ticks ? turn->ticks : process->passed_ticks;
    int code = take(order, &turn->event, turn->vertex);
    if (!thread->first && order->locations[next.location].ended)
        gn_location_over(order, next.location);
    turn->next = order->spare_turns;
    order->spare_turns = turn;
    return code;
}

static int take_turns(struct gn_order *order, uint32_t index, bool hurries)
{
    int code = 0;
    struct gn_process_state *process = gn_process_of(order, index);
    while (process->turns > 0) {
        const struct next next = next_turn(order, process);
        if (!hurries && !next.has_come)
            break;
        int failed = take_first(order, process, next);
        code = code ? code : failed;
    }
    return code;
}

int gn_threads_lose(struct gn_order *order, uint32_t process)
{
    int code = take_turns(order, process, false);
    for (uint32_t l = gn_process_of(order, process)->last_location; l != GN_NONE;
         l = order->locations[l].next_of_process)
        end_call(order, l, true);
    return code;
}

int gn_threads_flush(struct gn_order *order, uint32_t process)
{
    return take_turns(order, process, true);
}

static int wait_for_turn(struct gn_order *order, const struct gn_event *event, struct gn_vertex *vertex)
{
    struct gn_thread *thread = thread_of(order, event->location);
    struct gn_turn *turn = order->spare_turns;
    if (turn)
        order->spare_turns = turn->next;
    else if (!(turn = malloc(sizeof *turn)))
        return -ENOMEM;
    *turn = (struct gn_turn){.vertex = vertex,
                             .ticks = thread->reached_ticks,
                             .observed = thread->observed,
                             .pushed = order->stats.pushed,
                             .event = *event};
    if (thread->first)
        thread->last->next = turn;
    else
        thread->first = turn;
    thread->last = turn;
    process_of(order, event->location)->turns++;
    order->turns++;
    return 0;
}

/* Events of a process that may pile up because one of its threads is silent. */
static uint64_t patience_of(const struct gn_order *order)
{
    return (order->settings.is_live ? 1ull : 100ull) * order->settings.patience;
}

/* Somebody is silent: the oldest turns are taken without them. */
static int hurry(struct gn_order *order, uint32_t index)
{
    struct gn_process_state *process = gn_process_of(order, index);
    const uint64_t patience = patience_of(order);
    int code = 0;
    while (code == 0 && (process->turns > patience || process->piled > patience))
        code = take_first(order, process, next_turn(order, process));
    return code;
}

/* Whoever waits for what a silent thread holds back may be in another process, and all of these have patience
 * for that. */
int gn_threads_hurry(struct gn_order *order)
{
    const uint64_t patience = patience_of(order) * order->location_count;
    int code = 0;
    for (uint32_t l = 0; l < order->location_count && order->unreported > patience; l++) {
        struct gn_thread *thread = order->locations[l].thread;
        while (thread && thread->first && order->stats.pushed - thread->first->pushed > patience &&
               code == 0) {
            struct gn_process_state *process = process_of(order, l);
            code = take_first(order, process, next_turn(order, process));
        }
    }
    return code;
}

/* Whether it shows that its thread has messages of its own. */
static bool communicates(struct gn_order *order, const struct gn_event *event)
{
    if (event->kind == GN_EVENT_ENTER)
        return call_of(order, event->region) & (GN_TRAIT_SENDS | GN_TRAIT_RECEIVES);
    return event->kind != GN_EVENT_LEAVE && !gn_is_of_team(order, event) && !gn_is_of_epoch(order, event);
}

int gn_thread_observed(struct gn_order *order, const struct gn_event *event, struct gn_vertex *vertex)
{
    struct gn_thread *thread = thread_of(order, event->location);
    const uint32_t process = order->locations[event->location].process;
    const bool has_turn = takes_turn(order, event);
    int code = 0;
    thread->observed++;
    gn_process_of(order, process)->piled += thread->first != NULL;
    if (event->ticks > thread->reached_ticks)
        thread->reached_ticks = event->ticks;
    if (has_turn && vertex)
        hold(vertex);
    thread->communicates = thread->communicates || (has_turn && communicates(order, event));
    if (has_turn && (order->settings.in_time || gn_process_of(order, process)->loose)) {
        thread->is_late = thread->reached_ticks < gn_process_of(order, process)->passed_ticks;
        return take(order, event, vertex);
    }
    if (has_turn)
        code = wait_for_turn(order, event, vertex);
    if (code == 0 && gn_process_of(order, process)->turns > 0)
        code = take_turns(order, process, false);
    return code ? code : hurry(order, process);
}

bool gn_thread_waits(const struct gn_order *order, uint32_t location)
{
    return thread_of(order, location) && thread_of(order, location)->first;
}

int gn_thread_ended(struct gn_order *order, uint32_t location)
{
    return thread_of(order, location) ? take_turns(order, order->locations[location].process, false) : 0;
}

void gn_thread_over(struct gn_order *order, uint32_t location)
{
    if (thread_of(order, location))
        end_call(order, location, false);
}
