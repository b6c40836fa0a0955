#include "order/inside.h"

#include <stdlib.h>

/*
 * One channel per (communicator, sending process, receiving process, tag): sends that no receive has taken,
 * or receives that no send has come for; never both. The n-th send meets the n-th receive because both lists
 * are in order. A channel with nothing in it says nothing, so empty ones are swept away before the table
 * grows, unless that was done only a few channels ago and so found few.
 */
struct gn_channel {
    struct gn_channel_key key;
    struct gn_vertex *first_send, *last_send;
    struct gn_vertex *first_receive, *last_receive;
    struct gn_channel *spare;
};

static struct gn_key map_key(const struct gn_channel_key *key)
{
    return (struct gn_key){(uint64_t)key->comm << 32 | key->tag, (uint64_t)key->from << 32 | key->to};
}

bool gn_channel_key_of(const struct gn_order *order, const struct gn_event *event, bool sends,
                       struct gn_channel_key *key)
{
    uint32_t here = order->locations[event->location].process;
    uint32_t there = gn_comm_peer(order->definitions, event->comm, here, event->peer);
    if (here >= order->process_count || there >= order->process_count ||
        gn_comm_rank_of(order->definitions, event->comm, here, NULL) == GN_NONE)
        return false;
    *key = (struct gn_channel_key){event->comm, sends ? here : there, sends ? there : here, event->tag};
    return true;
}

static bool drop_if_empty(void *value, void *with)
{
    struct gn_channel *channel = value;
    struct gn_order *order = with;
    if (channel->first_send || channel->first_receive)
        return false;
    channel->spare = order->spare_channels;
    order->spare_channels = channel;
    return true;
}

static void sweep_when_full(struct gn_order *order)
{
    const struct gn_map *channels = &order->channels;
    if (channels->size < 1024 || 2 * (channels->count + 1) <= channels->size ||
        order->new_channels < channels->size / 8)
        return;
    order->new_channels = 0;
    gn_map_sweep(&order->channels, drop_if_empty, order);
}

static struct gn_channel *find_channel(struct gn_order *order, const struct gn_channel_key *key)
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
    *channel = (struct gn_channel){.key = *key};
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

static struct gn_vertex *take_first(struct gn_vertex **first)
{
    struct gn_vertex *vertex = *first;
    *first = vertex->after;
    return vertex;
}

static void match(struct gn_order *order, struct gn_vertex *send, struct gn_vertex *receive)
{
    gn_vertex_correlate(receive, send->event.ticks, send->event.location);
    order->stats.messages++;
    if (!send->reported) {
        send->receiver = receive;
        receive->sender = send;
        return;
    }
    gn_vertex_after(receive, send->place.ticks);
    gn_vertex_settled(order, receive);
}

int gn_channels_send(struct gn_order *order, struct gn_vertex *send)
{
    struct gn_channel_key key;
    if (!gn_channel_key_of(order, &send->event, true, &key)) {
        order->stats.contradictions++;
        return 0;
    }
    struct gn_channel *channel = find_channel(order, &key);
    if (!channel)
        return -ENOMEM;
    if (channel->first_receive) {
        struct gn_vertex *receive = take_first(&channel->first_receive);
        gn_vertex_unlist(receive);
        match(order, send, receive);
        return 0;
    }
    if (gn_process_of(order, key.to)->ended) {
        order->stats.unmatched_sends++;
        return 0;
    }
    send->keeps++;
    add_last(channel, &channel->first_send, &channel->last_send, send);
    gn_vertex_list(&gn_process_of(order, key.to)->unclaimed, send);
    return 0;
}

/* Where events were lost, the n-th send need not be the n-th receive's any more: nothing waits on that
 * ground. */
static void receive_loosely(struct gn_order *order, struct gn_channel *channel, struct gn_vertex *receive)
{
    receive->place.flags |= GN_PLACE_AMBIGUOUS;
    if (channel->first_send && channel->first_send->reported) {
        struct gn_vertex *send = take_first(&channel->first_send);
        gn_vertex_unlist(send);
        gn_vertex_noticed(order, send);
        return;
    }
    receive->place.flags |= GN_PLACE_RELEASED;
}

/* `receive` is the next one of the channel in posting order. */
int gn_channels_receive(struct gn_order *order, struct gn_vertex *receive, const struct gn_channel_key *key)
{
    struct gn_process_state *from = gn_process_of(order, key->from);
    struct gn_channel *channel = find_channel(order, key);
    if (!channel)
        return -ENOMEM;
    if (from->loose || gn_process_of(order, key->to)->loose) {
        receive_loosely(order, channel, receive);
        return 0;
    }
    if (channel->first_send) {
        struct gn_vertex *send = take_first(&channel->first_send);
        gn_vertex_unlist(send);
        receive->waits++;
        match(order, send, receive);
        gn_vertex_noticed(order, send);
        return 0;
    }
    if (from->ended) {
        receive->place.flags |= GN_PLACE_RELEASED | GN_PLACE_UNMATCHED;
        return 0;
    }
    receive->waits++;
    add_last(channel, &channel->first_receive, &channel->last_receive, receive);
    gn_vertex_list(&from->expected, receive);
    return 0;
}

/* Every receive that waits in a channel from this process is on the process's list, so those channels are
 * left without receives. */
void gn_channels_abandon(struct gn_order *order, uint32_t process)
{
    struct gn_process_state *state = gn_process_of(order, process);
    while (state->expected) {
        struct gn_vertex *receive = state->expected;
        receive->channel->first_receive = NULL;
        gn_vertex_unlist(receive);
        receive->place.flags |= GN_PLACE_RELEASED | GN_PLACE_UNMATCHED;
        gn_vertex_settled(order, receive);
    }
}

void gn_channels_unclaim(struct gn_order *order, uint32_t process)
{
    struct gn_process_state *state = gn_process_of(order, process);
    while (state->unclaimed) {
        struct gn_vertex *send = state->unclaimed;
        send->channel->first_send = NULL;
        gn_vertex_unlist(send);
        order->stats.unmatched_sends++;
        gn_vertex_noticed(order, send);
    }
}

void gn_channels_close(struct gn_order *order)
{
    for (size_t i = 0; i < order->channels.size; i++)
        free(order->channels.slots[i].value);
    gn_map_clear(&order->channels);
    while (order->spare_channels) {
        struct gn_channel *next = order->spare_channels->spare;
        free(order->spare_channels);
        order->spare_channels = next;
    }
}
