#include "causality/backward.h"

#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

/* So many channels before those that are even are forgotten; then twice as many as are left. */
enum { SWEEP_LEAST = 1024 };

/* The balance of each channel (sends − receives) stands in the place of the map's pointer: twice it and one.
 */
struct gn_backward {
    const struct gn_definitions *definitions;
    struct gn_map balances;
    size_t sweep_at;
    uint64_t receives, backward;
};

struct gn_backward *gn_backward_open(const struct gn_definitions *definitions)
{
    struct gn_backward *b = calloc(1, sizeof *b);
    if (b)
        *b = (struct gn_backward){.definitions = definitions, .sweep_at = SWEEP_LEAST};
    return b;
}

void gn_backward_close(struct gn_backward *b)
{
    if (!b)
        return;
    gn_map_clear(&b->balances);
    free(b);
}

static void *entry_of(intptr_t balance)
{
    return (void *)(2 * balance + 1);
}

static bool is_even(void *value, void *with)
{
    (void)with;
    return value == entry_of(0);
}

static int move(struct gn_backward *b, struct gn_key channel, int by, intptr_t *balance)
{
    void **entry = gn_map_at(&b->balances, channel);
    *balance = (entry ? ((intptr_t)*entry - 1) / 2 : 0) + by;
    if (entry) {
        *entry = entry_of(*balance);
        return 0;
    }
    if (b->balances.count >= b->sweep_at) {
        gn_map_sweep(&b->balances, is_even, NULL);
        b->sweep_at = 2 * b->balances.count + SWEEP_LEAST;
    }
    return gn_map_add(&b->balances, channel, entry_of(*balance)) ? 0 : -ENOMEM;
}

/* The channel of a send or of a receive; false: it names no partner. */
static bool channel_of(const struct gn_backward *b, const struct gn_event *e, bool is_send,
                       struct gn_key *channel)
{
    const struct gn_definitions *d = b->definitions;
    uint32_t self = e->location < d->location_count ? d->locations[e->location].process : GN_NONE;
    uint32_t other = gn_comm_peer(d, e->comm, self, e->peer);
    *channel = (struct gn_key){(uint64_t)e->comm << 32 | e->tag,
                               is_send ? (uint64_t)self << 32 | other : (uint64_t)other << 32 | self};
    return self != GN_NONE && other != GN_NONE;
}

static bool is_send(unsigned kind)
{
    return kind == GN_EVENT_MPI_SEND || kind == GN_EVENT_MPI_ISEND;
}

static bool is_receive(unsigned kind)
{
    return kind == GN_EVENT_MPI_RECV || kind == GN_EVENT_MPI_IRECV;
}

int gn_backward_see(struct gn_backward *b, const struct gn_event *e)
{
    struct gn_key channel;
    intptr_t balance;
    if (!is_send(e->kind) && !is_receive(e->kind))
        return 0;
    if (!channel_of(b, e, is_send(e->kind), &channel))
        return 0;
    int code = move(b, channel, is_send(e->kind) ? 1 : -1, &balance);
    if (code != 0 || is_send(e->kind))
        return code;
    b->receives++;
    b->backward += balance < 0;
    return balance < 0;
}

int gn_backward_forgive(struct gn_backward *b, const struct gn_event *e)
{
    struct gn_key channel;
    intptr_t balance;
    if (!is_receive(e->kind) || !channel_of(b, e, false, &channel))
        return 0;
    int code = move(b, channel, 1, &balance);
    if (code != 0)
        return code;
    b->receives -= b->receives > 0;
    b->backward -= balance <= 0 && b->backward > 0;
    return 0;
}

uint64_t gn_backward_receives(const struct gn_backward *b)
{
    return b->receives;
}

uint64_t gn_backward_count(const struct gn_backward *b)
{
    return b->backward;
}
