#include "repair/replay_inside.h"

/* How long a rank that waits for others does before it asks whether all do. */
enum { PATIENCE_US = 5000 };

/* What a rank says when it has nothing to do: batches sent and received, locations with ops left. When a
 * second sum finds as many received as the first found sent, nobody was at work in between (Mattern's four
 * counters). */
struct still {
    bool asked, has_first;
    int64_t first_received, quiet_since; /* quiet_since: mails_in at the last question */
};

static void receive_some(struct gn_replay *replay, int64_t timeout_us)
{
    const void *bytes;
    uint32_t from;
    int64_t size;
    while (!replay->failed &&
           (size = replay->transport->receive(replay->transport->self, &from, &bytes, timeout_us)) > 0) {
        gn_mail_take(replay, from, bytes, (size_t)size);
        timeout_us = 0;
    }
}

static void ask(struct gn_replay *replay, struct still *still)
{
    const int64_t values[3] = {replay->mails_out, replay->mails_in, (int64_t)replay->locations_open};
    if (!still->asked)
        replay->failed = replay->transport->settle_begin(replay->transport->self, values);
    still->asked = true;
    still->quiet_since = replay->mails_in;
}

/* Whether all ranks are known to have nothing to do; *open: locations with ops left. */
static bool answered(struct gn_replay *replay, struct still *still, int64_t *open)
{
    int64_t sums[3];
    bool done = false;
    if (!still->asked || replay->failed)
        return false;
    replay->failed = replay->transport->settle_test(replay->transport->self, &done, sums);
    if (!done || replay->failed)
        return false;
    still->asked = false;
    const bool is_still = still->has_first && sums[0] == still->first_received;
    still->first_received = sums[1];
    still->has_first = true;
    *open = sums[2];
    return is_still;
}

/* Nothing is left to do or to wait for: as it should be at the end of a pass. */
static bool is_through(const struct gn_replay *replay)
{
    return replay->locations_open == 0 && replay->gatherings_open == 0 && replay->ahead == 0;
}

/* Runs until all ranks have nothing to do; returns how many locations are left. */
static int64_t run_still(struct gn_replay *replay)
{
    struct still still = {0};
    int64_t open = 0;
    while (!replay->failed) {
        gn_replay_run(replay);
        gn_mail_flush(replay);
        receive_some(replay, 0);
        gn_mail_flush(replay); /* what came may have asked for answers */
        if (replay->first_ready != GN_NONE)
            continue;
        if (answered(replay, &still, &open))
            break;
        if (is_through(replay) || (still.has_first && still.quiet_since == replay->mails_in))
            ask(replay, &still);
        const int64_t before = replay->mails_in;
        receive_some(replay, still.asked ? -1 : PATIENCE_US);
        if (replay->mails_in == before)
            ask(replay, &still);
    }
    return open;
}

/* Everybody gets to know who has left. True: somebody can go on because of that. */
static bool tell_left(struct gn_replay *replay)
{
    const struct gn_definitions *d = replay->definitions;
    enum { PART = 4096 };
    int64_t part[PART];
    for (size_t first = 0; first < d->process_count; first += PART) {
        const size_t count = d->process_count - first < PART ? d->process_count - first : PART;
        for (size_t i = 0; i < count; i++)
            part[i] = replay->left[first + i];
        if (!replay->failed)
            replay->failed = replay->transport->agree(replay->transport->self, GN_AGREE_MAX, part, count);
        for (size_t i = 0; i < count && !replay->failed; i++) {
            replay->somebody_left |= part[i] != 0;
            replay->left[first + i] = part[i];
        }
    }
    gn_parcels_reconsider(replay);
    gn_gatherings_reconsider(replay);
    /* mail for others may make somebody there go on: they have to look at it before anything is passed by */
    int64_t active = replay->first_ready != GN_NONE;
    for (uint32_t i = 0; i < replay->transport->size; i++)
        active |= replay->peers[i].out.size > 0;
    if (!replay->failed)
        replay->failed = replay->transport->agree(replay->transport->self, GN_AGREE_MAX, &active, 1);
    return active;
}

/* All wait for each other: the op with the smallest time (then location) of those that do is passed by. */
static void cut(struct gn_replay *replay)
{
    const struct gn_transport *t = replay->transport;
    int64_t earliest = INT64_MAX, which = INT64_MAX;
    for (int round = 0; round < 2 && !replay->failed; round++) {
        for (uint32_t i = 0; i < replay->definitions->location_count; i++) {
            const struct gn_replay_location *at = &replay->locations[i];
            const int64_t ticks = at->blocked ? gn_op_at(replay->store, i, at->next)->ticks : INT64_MAX;
            if (round == 0 && ticks < earliest)
                earliest = ticks;
            if (round == 1 && at->blocked && ticks == earliest && i < which)
                which = i;
        }
        replay->failed = t->agree(t->self, GN_AGREE_MIN, round ? &which : &earliest, 1);
    }
    if (replay->failed || which == INT64_MAX || !replay->locations[which].blocked)
        return;
    replay->stats.cut++;
    replay->locations[which].release = true;
    gn_replay_unwait(replay, (uint32_t)which);
}

static uint64_t run_alone(struct gn_replay *replay)
{
    while (gn_replay_run(replay))
        ;
    return replay->locations_open;
}

void gn_stillness_reach(struct gn_replay *replay)
{
    if (replay->transport->size == 1) {
        while (run_alone(replay) > 0 && !replay->failed)
            if (!tell_left(replay))
                cut(replay);
        return;
    }
    while (run_still(replay) > 0 && !replay->failed)
        if (!tell_left(replay))
            cut(replay);
}

void gn_stillness_after_leaving(struct gn_replay *replay)
{
    while (!replay->failed && tell_left(replay))
        gn_stillness_reach(replay);
}
