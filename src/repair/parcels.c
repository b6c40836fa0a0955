#include "repair/replay_inside.h"

#include <errno.h>
#include <stdlib.h>

/* How many messages there are, before the sender's rank has told. */
#define UNKNOWN UINT32_MAX

/* Communicators and processes have fewer than 2^32; so a key is exact. */
static struct gn_key key_of(const struct gn_op_channel *channel)
{
    return (struct gn_key){(uint64_t)channel->comm << 32 | channel->tag,
                           (uint64_t)channel->from << 32 | channel->to};
}

int gn_parcels_open(struct gn_replay *replay)
{
    const struct gn_op_store *store = replay->store;
    const size_t processes = replay->definitions->process_count;
    replay->channels = calloc(store->channel_count + 1, sizeof *replay->channels);
    replay->first_channel = malloc((processes + 1) * sizeof *replay->first_channel);
    if (!replay->channels || !replay->first_channel)
        return -ENOMEM;
    for (size_t i = 0; i < processes; i++)
        replay->first_channel[i] = GN_NONE;
    for (size_t i = 0; i < store->channel_count; i++) {
        const struct gn_op_channel *what = &store->channels[i];
        replay->channels[i] = (struct gn_replay_channel){.to_rank = replay->owner[what->to],
                                                         .from_rank = replay->owner[what->from],
                                                         .waiting = GN_NONE,
                                                         .next = replay->first_channel[what->from]};
        replay->first_channel[what->from] = (uint32_t)i;
        replay->channels[i].sends =
            replay->channels[i].from_rank == replay->transport->rank ? what->sends : UNKNOWN;
        if (replay->transport->size > 1 && replay->channels[i].to_rank == replay->transport->rank &&
            !gn_map_add(&replay->channel_links, key_of(what), (void *)(i + 1)))
            return -ENOMEM;
    }
    return 0;
}

void gn_parcels_shut(struct gn_replay *replay)
{
    for (size_t i = 0; replay->channels && i < replay->store->channel_count; i++)
        free(replay->channels[i].parcels);
    free(replay->channels);
    free(replay->first_channel);
    gn_map_clear(&replay->channel_links);
}

void gn_parcels_reset(struct gn_replay *replay)
{
    for (size_t i = 0; i < replay->store->channel_count; i++) {
        struct gn_replay_channel *channel = &replay->channels[i];
        for (uint32_t p = 0; p < channel->capacity; p++)
            channel->parcels[p].state = 0;
        channel->first = 0;
        channel->waiting = GN_NONE;
    }
}

uint32_t gn_parcels_link(const struct gn_replay *replay, const struct gn_op_channel *channel)
{
    uintptr_t link = (uintptr_t)gn_map_find(&replay->channel_links, key_of(channel));
    return link ? (uint32_t)(link - 1) : GN_NONE;
}

static bool make_room(struct gn_replay_channel *channel, uint32_t number)
{
    uint32_t capacity = channel->capacity ? channel->capacity : 4;
    if (number - channel->first >= UINT32_MAX / 2)
        return true; /* a number that has been there: not believed, see gn_parcels_put */
    while (number - channel->first >= capacity)
        capacity *= 2;
    struct gn_parcel *parcels = capacity ? calloc(capacity, sizeof *parcels) : NULL;
    if (!parcels)
        return false;
    for (uint32_t n = channel->first; n != channel->first + channel->capacity; n++)
        parcels[n & (capacity - 1)] = channel->parcels[n & (channel->capacity - 1)];
    free(channel->parcels);
    channel->parcels = parcels;
    channel->capacity = capacity;
    return true;
}

static void take(struct gn_replay_channel *channel, uint32_t number)
{
    channel->parcels[number & (channel->capacity - 1)].state = 2;
    for (struct gn_parcel *parcel;
         (parcel = &channel->parcels[channel->first & (channel->capacity - 1)])->state == 2; channel->first++)
        parcel->state = 0;
}

void gn_parcels_put(struct gn_replay *replay, uint32_t link, uint32_t number, const struct gn_parcel *parcel)
{
    struct gn_replay_channel *channel = &replay->channels[link];
    if (number - channel->first >= channel->capacity && !make_room(channel, number)) {
        replay->failed = -ENOMEM;
        return;
    }
    if (number - channel->first < channel->capacity) {
        struct gn_parcel *slot = &channel->parcels[number & (channel->capacity - 1)];
        const struct gn_parcel awaited = *slot;
        *slot = *parcel;
        if (awaited.state == 3) {
            gn_replay_measure_receive(replay, link, parcel, &awaited);
            replay->ahead--;
            take(channel, number);
        }
    }
    gn_replay_wake(replay, &channel->waiting);
}

void gn_parcels_send(struct gn_replay *replay, const struct gn_op *op, const struct gn_parcel *parcel)
{
    struct gn_replay_channel *channel = &replay->channels[op->link];
    if (channel->to_rank == replay->transport->rank) {
        gn_parcels_put(replay, op->link, op->number, parcel);
        return;
    }
    gn_mail_post(replay, channel->to_rank,
                 &(struct gn_mail){.kind = GN_MAIL_SEND,
                                   .flags = parcel->vague ? GN_OP_VAGUE : 0,
                                   .link = op->link,
                                   .number = op->number,
                                   .a = parcel->location,
                                   .index = parcel->index,
                                   .time = parcel->time},
                 NULL);
}

const struct gn_parcel *gn_parcels_peek(const struct gn_replay *replay, const struct gn_op *op)
{
    const struct gn_replay_channel *channel = &replay->channels[op->link];
    if (op->number - channel->first >= channel->capacity)
        return NULL;
    const struct gn_parcel *parcel = &channel->parcels[op->number & (channel->capacity - 1)];
    return parcel->state == 1 ? parcel : NULL;
}

void gn_parcels_announce(struct gn_replay *replay)
{
    for (size_t i = 0; i < replay->store->channel_count; i++) {
        const struct gn_op_channel *what = &replay->store->channels[i];
        if (replay->owner[what->from] == replay->transport->rank &&
            replay->owner[what->to] != replay->transport->rank)
            gn_mail_post(replay, replay->owner[what->to],
                         &(struct gn_mail){.kind = GN_MAIL_CHANNEL,
                                           .link = (uint32_t)i,
                                           .number = what->sends,
                                           .a = what->comm,
                                           .b = what->from,
                                           .c = what->to,
                                           .d = what->tag},
                         NULL);
    }
}

void gn_parcels_announced(struct gn_replay *replay, uint32_t link, uint32_t sends)
{
    replay->channels[link].sends = sends;
    gn_replay_wake(replay, &replay->channels[link].waiting);
}

bool gn_parcels_will_come(const struct gn_replay *replay, const struct gn_op *op)
{
    return !replay->left[replay->store->channels[op->link].from] &&
           op->number < replay->channels[op->link].sends;
}

static bool waits_in_vain(const struct gn_replay *replay, const struct gn_replay_channel *channel)
{
    for (uint32_t i = channel->waiting; i != GN_NONE; i = replay->locations[i].after)
        if (!gn_parcels_will_come(replay, gn_op_at(replay->store, i, replay->locations[i].next)))
            return true;
    return false;
}

void gn_parcels_reconsider(struct gn_replay *replay)
{
    for (size_t i = 0; i < replay->store->channel_count; i++) {
        struct gn_replay_channel *channel = &replay->channels[i];
        if (channel->sends == UNKNOWN)
            channel->sends = 0;
        if (waits_in_vain(replay, channel))
            gn_replay_wake(replay, &channel->waiting);
    }
}

bool gn_parcels_await(struct gn_replay *replay, uint32_t location, const struct gn_op *op, int64_t time)
{
    enum { MOST_AHEAD = 1 << 22 };
    struct gn_replay_channel *channel = &replay->channels[op->link];
    if (replay->ahead >= MOST_AHEAD || op->number - channel->first >= UINT32_MAX / 2 ||
        (op->number - channel->first >= channel->capacity && !make_room(channel, op->number)))
        return false;
    channel->parcels[op->number & (channel->capacity - 1)] =
        (struct gn_parcel){.time = time, .location = location, .state = 3, .vague = op->flags & GN_OP_VAGUE};
    replay->ahead++;
    return true;
}

void gn_parcels_take(struct gn_replay *replay, const struct gn_op *op)
{
    take(&replay->channels[op->link], op->number);
}
