#include "causality/order_inside.h"

#include <stdlib.h>

/*
 * The n-th send meets the n-th receive because both lists of a channel are in order. Where events say which
 * message they are (GN_UNNUMBERED: they do not), that decides: something may be missing on one side, because
 * nothing was recorded there. Sends come in the order of their numbers. Receives mostly do; a message that a
 * matched probe took may be told late, so the right one need not be at the front. Where threads' calls
 * overlap, neither side comes in the order of its numbers: there messages have positions (positions.h), and
 * who has the same one on the other side may come at any time. Empty channels are swept
 * away before the table grows, unless that was done only a few channels ago and so found few. What is
 * forgotten with them is how threads have used them: of that, their processes keep what is true of all of
 * them together, and a channel that is made later may have been any.
 */

/* Receives whose messages may be told late; where messages come in any order, those that may come later than
 * one with a larger number. */
enum { LATE_MOST = 64, UNORDERED_MOST = 2048 };

static struct gn_key map_key(const struct gn_channel_key *key)
{
    return (struct gn_key){(uint64_t)key->comm << 32 | key->tag, (uint64_t)key->from << 32 | key->to};
}

/* Most messages of a process are on the communicator of the one before. */
static bool is_member(const struct gn_order *order, uint32_t process, uint32_t comm)
{
    struct gn_process_state *state = &order->processes[process];
    if (state->member_of == comm + 1)
        return true;
    if (gn_comm_rank_of(order->definitions, comm, process, NULL) == GN_NONE)
        return false;
    state->member_of = comm + 1;
    return true;
}

bool gn_channel_key_of(const struct gn_order *order, const struct gn_event *event, bool sends,
                       struct gn_channel_key *key)
{
    uint32_t here = order->locations[event->location].process;
    uint32_t there = gn_comm_peer(order->definitions, event->comm, here, event->peer);
    if (here >= order->process_count || there >= order->process_count || !is_member(order, here, event->comm))
        return false;
    *key = (struct gn_channel_key){event->comm, sends ? here : there, sends ? there : here, event->tag};
    return true;
}

static void add_use(struct gn_channel_use *all, const struct gn_channel_use *one)
{
    if (one->until == 0)
        return;
    gn_channel_used(all, one->by, one->until);
    if (one->others_until > all->others_until)
        all->others_until = one->others_until;
}

static void remember(struct gn_order *order, const struct gn_channel *channel)
{
    struct gn_process_state *from = gn_process_of(order, channel->key.from);
    struct gn_process_state *to = gn_process_of(order, channel->key.to);
    add_use(&from->forgotten.sent, &channel->sent);
    add_use(&to->forgotten.received, &channel->received);
    if (channel->receiver == GN_NONE)
        return;
    to->forgotten.has_receivers |= channel->has_receivers || (to->forgotten.receiver != GN_NONE &&
                                                              to->forgotten.receiver != channel->receiver);
    to->forgotten.receiver = channel->receiver;
}

static bool drop_if_empty(void *value, void *with)
{
    struct gn_channel *channel = value;
    struct gn_order *order = with;
    if (channel->first_send || channel->first_receive || channel->sending || channel->passed)
        return false;
    remember(order, channel);
    gn_positions_clear(&channel->sends);
    gn_positions_clear(&channel->receives);
    channel->spare = order->spare_channels;
    order->spare_channels = channel;
    return true;
}

static void sweep_when_full(struct gn_order *order)
{
    const struct gn_map *channels = &order->channels;
    if (order->numbers || channels->size < 1024 || 2 * (channels->count + 1) <= channels->size ||
        order->new_channels < channels->size / 8)
        return;
    order->new_channels = 0;
    order->has_swept = true;
    gn_map_sweep(&order->channels, drop_if_empty, order);
}

struct gn_channel *gn_channel_find(struct gn_order *order, const struct gn_channel_key *key)
{
    struct gn_channel *channel = gn_map_find(&order->channels, map_key(key));
    if (channel)
        return channel;
    sweep_when_full(order);
    if (order->spare_channels) {
        channel = order->spare_channels;
        order->spare_channels = channel->spare;
    } else if (!(channel = malloc(sizeof *channel))) {
        return NULL;
    }
    const struct gn_process_state *from = gn_process_of(order, key->from),
                                  *to = gn_process_of(order, key->to);
    *channel = (struct gn_channel){.key = *key,
                                   .sent = from->forgotten.sent,
                                   .received = to->forgotten.received,
                                   .receiver = to->forgotten.receiver,
                                   .has_receivers = to->forgotten.has_receivers,
                                   .sends.next = order->has_swept ? GN_UNNUMBERED : 0,
                                   .receives.next = order->has_swept ? GN_UNNUMBERED : 0};
    order->new_channels++;
    if (gn_map_add(&order->channels, map_key(key), channel))
        return channel;
    free(channel);
    return NULL;
}

static void add_last(struct gn_channel *channel, struct gn_vertex **first, struct gn_vertex **last,
                     struct gn_vertex *vertex)
{
    vertex->channel = channel;
    vertex->after = NULL;
    if (*first)
        (*last)->after = vertex;
    else
        *first = vertex;
    *last = vertex;
}

/* As the source tells it, whether or not it may have changed places with others that say so, too: behind all
 * certain smaller ones it is in any case. GN_UNNUMBERED: it does not, or will later. */
static uint64_t told_of(const struct gn_vertex *vertex)
{
    const uint64_t number = vertex->event.number;
    return number == GN_UNNUMBERED || number == GN_NUMBER_LATER ? GN_UNNUMBERED
                                                                : number & ~GN_NUMBER_UNORDERED;
}

static bool may_have_changed_places(const struct gn_vertex *vertex)
{
    return told_of(vertex) != GN_UNNUMBERED && vertex->event.number & GN_NUMBER_UNORDERED;
}

static bool is_certain(const struct gn_vertex *vertex)
{
    return told_of(vertex) != GN_UNNUMBERED && !may_have_changed_places(vertex);
}

/* GN_UNNUMBERED: it counts as the next one of those that come. */
static uint64_t number_of(const struct gn_vertex *vertex)
{
    return vertex->has_position ? vertex->number : is_certain(vertex) ? vertex->event.number : GN_UNNUMBERED;
}

static bool is_before(const struct gn_vertex *one, const struct gn_vertex *other)
{
    return number_of(other) != GN_UNNUMBERED && number_of(one) < number_of(other);
}

/* By what the source says, whatever positions they have. */
static bool is_certainly_before(const struct gn_vertex *one, const struct gn_vertex *other)
{
    return is_certain(one) && is_certain(other) && told_of(one) < told_of(other);
}

/* Who has come late is put where it belongs. */
static void add_sorted(struct gn_channel *channel, struct gn_vertex **first, struct gn_vertex **last,
                       struct gn_vertex *vertex)
{
    struct gn_vertex *before = NULL;
    if (!*first || !is_before(vertex, *last)) {
        add_last(channel, first, last, vertex);
        return;
    }
    for (struct gn_vertex *v = *first; !is_before(vertex, v); v = v->after)
        before = v;
    vertex->channel = channel;
    vertex->after = before ? before->after : *first;
    *(before ? &before->after : first) = vertex;
}

static void take_out(struct gn_vertex **first, struct gn_vertex **last, struct gn_vertex *previous)
{
    struct gn_vertex **link = previous ? &previous->after : first;
    struct gn_vertex *vertex = *link;
    *link = vertex->after;
    if (*last == vertex)
        *last = previous;
}

static void take(struct gn_vertex **first, struct gn_vertex **last, struct gn_vertex *previous)
{
    struct gn_vertex *vertex = previous ? previous->after : *first;
    take_out(first, last, previous);
    gn_vertex_unlist(vertex);
}

/* Takes out the one in the list with the same number, else the first one without; NULL: there is neither, or
 * none before one that has a larger number. */
static struct gn_vertex *take_partner(struct gn_vertex **first, struct gn_vertex **last,
                                      const struct gn_vertex *of)
{
    const uint64_t number = number_of(of);
    struct gn_vertex *vertex = *first, *previous = NULL, *before_next = NULL;
    bool is_there = false;
    for (; vertex && !is_before(of, vertex); previous = vertex, vertex = vertex->after) {
        if (is_before(vertex, of))
            continue;
        if (number == GN_UNNUMBERED || number_of(vertex) == number) {
            take(first, last, previous);
            return vertex;
        }
        if (!is_there)
            before_next = previous;
        is_there = true;
    }
    if (!is_there)
        return NULL;
    vertex = before_next ? before_next->after : *first;
    take(first, last, before_next);
    return vertex;
}

static bool are_numbered(const struct gn_vertex *send, const struct gn_vertex *receive)
{
    return is_certain(send) && is_certain(receive);
}

/* The receive was counted as another one than the send is. */
static bool is_another(const struct gn_vertex *send, const struct gn_vertex *receive)
{
    const uint64_t sent = is_certain(send) ? told_of(send) : number_of(send);
    const uint64_t received = is_certain(receive) ? told_of(receive) : receive->number;
    return sent != GN_UNNUMBERED && received != GN_UNNUMBERED && sent != received;
}

static void match(struct gn_order *order, struct gn_vertex *send, struct gn_vertex *receive)
{
    gn_vertex_correlate(receive, send->event.ticks, send->event.location);
    order->stats.messages++;
    const bool is_open = send->is_open || receive->is_open || receive->is_low ||
                         may_have_changed_places(send) || may_have_changed_places(receive);
    if (is_another(send, receive) || (is_open && !are_numbered(send, receive)))
        receive->place.flags |= GN_PLACE_AMBIGUOUS;
    if (send->in_call) { /* whether its place is certain is known when the call has ended */
        receive->waits++;
        receive->needs_end = true;
        receive->partner = send;
        send->partner = receive;
    }
    if (!send->reported) {
        receive->needs_report = true;
        receive->partner = send;
        send->partner = receive;
        return;
    }
    gn_vertex_after(receive, send->place.ticks);
    gn_vertex_settled(order, receive);
}

static void abandon(struct gn_order *order, struct gn_vertex *receive)
{
    receive->place.flags |= GN_PLACE_RELEASED | GN_PLACE_UNMATCHED;
    gn_vertex_settled(order, receive);
}

/* Whether what has a smaller number on the other side, and is not there, is missing, rather than late. */
static bool are_in_order(const struct gn_order *order, const struct gn_channel *channel)
{
    return !channel->is_unordered || order->settings.is_live;
}

/* The sends of receives before this one are missing; unless they come late, as this one may have come early,
 * or have no number of their own. */
static void abandon_before(struct gn_order *order, struct gn_channel *channel, const struct gn_vertex *send)
{
    while (!send->out_of_turn && are_in_order(order, channel) && channel->first_receive &&
           is_certainly_before(channel->first_receive, send)) {
        struct gn_vertex *receive = channel->first_receive;
        take(&channel->first_receive, &channel->last_receive, NULL);
        abandon(order, receive);
    }
}

/* Calls get their numbers while they go on: of threads that is not always the order in which they began. */
static bool is_of_thread(const struct gn_order *order, const struct gn_vertex *vertex)
{
    return order->locations[vertex->event.location].thread != NULL;
}

/* Nothing else comes: what is left of calls that overlapped belongs together. Live, a number that is not
 * there was not recorded. */
static struct gn_vertex *take_any(const struct gn_order *order, struct gn_channel *channel)
{
    struct gn_vertex *send = are_in_order(order, channel) ? NULL : channel->first_send;
    if (send)
        take(&channel->first_send, &channel->last_send, NULL);
    return send;
}

/* ---- numbers alone ---- */

/* What the message is; is_open: or may be. A number that the source tells counts as far as it is near what
 * was counted here: what is missing between is missing for good. */
static uint64_t next_number(struct gn_positions *count, struct gn_vertex *vertex, bool sends)
{
    const uint64_t told = told_of(vertex);
    if (count->next == GN_UNNUMBERED)
        return GN_UNNUMBERED;
    vertex->is_open |= may_have_changed_places(vertex);
    if (told == GN_UNNUMBERED || (!sends && !is_certain(vertex))) { /* see count */
        vertex->is_open |= count->was_told && vertex->event.number == GN_UNNUMBERED;
        return count->next++;
    }
    count->was_told = true;
    if (told > count->next + LATE_MOST)
        return count->next = GN_UNNUMBERED;
    if (told >= count->next)
        count->next = told + 1;
    return told;
}

static int count_message(struct gn_order *order, struct gn_vertex *vertex, struct gn_channel *channel,
                         bool sends)
{
    if (!gn_process_of(order, sends ? channel->key.from : channel->key.to)->loose)
        vertex->number = next_number(sends ? &channel->sends : &channel->receives, vertex, sends);
    if (vertex->in_call) /* whether its place is certain is known when the call has ended */
        vertex->waits++;
    return 0;
}

/* Which one it is: what it says for certain, else the one behind those before it. GN_UNNUMBERED: nobody
 * knows, since the channel has been forgotten. 0, or -ENOMEM. */
static int count(struct gn_channel *channel, struct gn_positions *side, struct gn_vertex *vertex)
{
    vertex->has_position = channel->is_unordered;
    if (channel->is_unordered || is_certain(vertex)) {
        int code = gn_position_take(side, told_of(vertex), is_certain(vertex), &vertex->number);
        vertex->number = channel->is_unordered ? vertex->number : told_of(vertex);
        return code;
    }
    vertex->number = side->next;
    side->next += side->next != GN_UNNUMBERED;
    return 0;
}

/* ---- */

/* The send in the list that has this one's position for no better reason than that it came first; NULL: there
 * is none. previous: the one before it, or NULL. */
static struct gn_vertex *holder_of(const struct gn_channel *channel, const struct gn_vertex *send,
                                   struct gn_vertex **previous)
{
    *previous = NULL;
    if (!channel->is_unordered || !is_certain(send) || told_of(send) >= channel->sends.next)
        return NULL;
    struct gn_vertex *v = channel->first_send;
    for (; v && v->has_position && v->number < told_of(send); v = v->after)
        *previous = v;
    return v && v->has_position && v->number == told_of(send) && !is_certain(v) ? v : NULL;
}

static int count_send(struct gn_order *order, struct gn_channel *channel, struct gn_vertex *send)
{
    struct gn_vertex *previous, *holder = holder_of(channel, send, &previous);
    if (!holder)
        return count(channel, &channel->sends, send);
    send->has_position = true;
    send->number = told_of(send);
    take_out(&channel->first_send, &channel->last_send, previous);
    holder->number = gn_position_give_back(&channel->sends, send->number, told_of(holder));
    struct gn_vertex *receive = take_partner(&channel->first_receive, &channel->last_receive, holder);
    if (!receive) {
        add_sorted(channel, &channel->first_send, &channel->last_send, holder);
        return 0;
    }
    gn_vertex_unlist(holder);
    match(order, holder, receive);
    gn_vertex_noticed(order, holder);
    return 0;
}

static void unclaim(struct gn_order *order, struct gn_vertex *send)
{
    order->stats.unmatched_sends++;
    gn_vertex_noticed(order, send);
}

/* How many sends come before the receive's own, and will not be received any more. */
static size_t too_many_before(const struct gn_channel *channel, const struct gn_vertex *receive)
{
    size_t count = 0;
    for (const struct gn_vertex *v = channel->first_send; v && is_before(v, receive); v = v->after)
        if (channel->is_unordered || number_of(v) + LATE_MOST < number_of(receive))
            count++;
        else
            break;
    return !channel->is_unordered ? count : count > UNORDERED_MOST ? count - UNORDERED_MOST : 0;
}

/* Receives that were not recorded have taken sends before this receive's: they are not looked at for ever. */
static void unclaim_before(struct gn_order *order, struct gn_channel *channel,
                           const struct gn_vertex *receive)
{
    size_t count = is_certain(receive) ? too_many_before(channel, receive) : 0;
    for (; count > 0; count--) {
        struct gn_vertex *send = channel->first_send;
        take(&channel->first_send, &channel->last_send, NULL);
        unclaim(order, send);
    }
}

int gn_channels_send(struct gn_order *order, struct gn_vertex *send)
{
    struct gn_channel_key key;
    if (!gn_channel_key_of(order, &send->event, true, &key)) {
        order->stats.contradictions++;
        return 0;
    }
    struct gn_channel *channel = gn_channel_find(order, &key);
    if (!channel)
        return -ENOMEM;
    if (order->locations[send->event.location].thread && gn_thread_sends(order, channel, send) != 0)
        return -ENOMEM;
    if (order->numbers)
        return count_message(order, send, channel, true);
    channel->is_unordered |= may_have_changed_places(send) || is_of_thread(order, send);
    if (count_send(order, channel, send) != 0)
        return -ENOMEM;
    abandon_before(order, channel, send);
    struct gn_vertex *receive = take_partner(&channel->first_receive, &channel->last_receive, send);
    if (receive) {
        match(order, send, receive);
        return 0;
    }
    if (gn_process_of(order, key.to)->ended) {
        order->stats.unmatched_sends++;
        return 0;
    }
    send->keeps++;
    add_sorted(channel, &channel->first_send, &channel->last_send, send);
    gn_vertex_list(&gn_process_of(order, key.to)->unclaimed, send);
    return 0;
}

void gn_channel_doubt(struct gn_channel *channel, const struct gn_vertex *late)
{
    for (struct gn_vertex *send = channel->first_send; send; send = send->after)
        if (send->event.location != late->event.location && send->event.ticks >= late->event.ticks)
            send->is_open = true;
}

/* Where events were lost, nothing waits for a send that may be among them; and without numbers the n-th send
 * need not be the n-th receive's any more. */
static void receive_loosely(struct gn_order *order, struct gn_channel *channel, struct gn_vertex *receive)
{
    struct gn_vertex *send = NULL;
    receive->number = GN_UNNUMBERED;
    if (is_certain(receive) || (channel->first_send && channel->first_send->reported))
        send = take_partner(&channel->first_send, &channel->last_send, receive);
    if (send && are_numbered(send, receive)) {
        receive->waits++;
        match(order, send, receive);
    } else {
        receive->place.flags |= send ? GN_PLACE_AMBIGUOUS : GN_PLACE_AMBIGUOUS | GN_PLACE_RELEASED;
    }
    if (send)
        gn_vertex_noticed(order, send);
}

static bool is_missing(const struct gn_order *order, const struct gn_channel *channel,
                       const struct gn_vertex *receive)
{
    return are_in_order(order, channel) && channel->first_send &&
           is_certainly_before(receive, channel->last_send) && !channel->last_send->out_of_turn;
}

/* `receive` is the next one of the channel in posting order. */
int gn_channels_receive(struct gn_order *order, struct gn_vertex *receive, const struct gn_channel_key *key)
{
    struct gn_process_state *from = gn_process_of(order, key->from);
    struct gn_channel *channel = gn_channel_find(order, key);
    if (!channel)
        return -ENOMEM;
    const struct gn_process_state *to = gn_process_of(order, key->to);
    receive->is_low |= channel->passed > 0 || to->passed_receives > 0 || to->forgets_receives;
    if (order->numbers)
        return count_message(order, receive, channel, false);
    channel->is_unordered |= may_have_changed_places(receive) || is_of_thread(order, receive);
    if (from->loose || gn_process_of(order, key->to)->loose) {
        unclaim_before(order, channel, receive);
        receive_loosely(order, channel, receive);
        return 0;
    }
    if (count(channel, &channel->receives, receive) != 0)
        return -ENOMEM;
    unclaim_before(order, channel, receive);
    struct gn_vertex *send = take_partner(&channel->first_send, &channel->last_send, receive);
    if (!send && from->ended)
        send = take_any(order, channel);
    if (send) {
        receive->waits++;
        match(order, send, receive);
        gn_vertex_noticed(order, send);
        return 0;
    }
    if (from->ended || is_missing(order, channel, receive)) {
        receive->place.flags |= GN_PLACE_RELEASED | GN_PLACE_UNMATCHED;
        return 0;
    }
    receive->waits++;
    add_sorted(channel, &channel->first_receive, &channel->last_receive, receive);
    gn_vertex_list(&from->expected, receive);
    return 0;
}

/* Every receive that waits in a channel from this process is on the process's list, so those channels are
 * left without receives. Those that come first in their channel take what is left there. */
void gn_channels_abandon(struct gn_order *order, uint32_t process)
{
    struct gn_process_state *state = gn_process_of(order, process);
    while (state->expected) {
        struct gn_channel *channel = state->expected->channel;
        struct gn_vertex *receive = channel->first_receive;
        struct gn_vertex *send = state->loose ? NULL : take_any(order, channel);
        take(&channel->first_receive, &channel->last_receive, NULL);
        if (send) {
            match(order, send, receive);
            gn_vertex_noticed(order, send);
        } else {
            abandon(order, receive);
        }
    }
}

void gn_channels_unclaim(struct gn_order *order, uint32_t process)
{
    struct gn_process_state *state = gn_process_of(order, process);
    while (state->unclaimed) {
        struct gn_vertex *send = state->unclaimed;
        send->channel->first_send = NULL;
        gn_vertex_unlist(send);
        unclaim(order, send);
    }
}

void gn_channels_clear(struct gn_order *order)
{
    for (size_t i = 0; i < order->channels.size; i++) {
        struct gn_channel *channel = order->channels.slots[i].value;
        if (!channel)
            continue;
        gn_positions_clear(&channel->sends);
        gn_positions_clear(&channel->receives);
        free(channel);
    }
    gn_map_clear(&order->channels);
}

void gn_channels_close(struct gn_order *order)
{
    gn_channels_clear(order);
    while (order->spare_channels) {
        struct gn_channel *next = order->spare_channels->spare;
        free(order->spare_channels);
        order->spare_channels = next;
    }
}
