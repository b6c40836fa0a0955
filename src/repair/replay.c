#include "repair/replay_inside.h"

#include "repair/amortize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    TURN = 2048,           /* ops of a location before the next one has its turn */
    STEP = 256,            /* ops of an average location before those that are behind come first */
    KEEP = 2 * GN_OP_BLOCK /* behind the location, ops that limits may still be written to without a detour */
};

/* ---- who can go on ---- */

void gn_replay_ready(struct gn_replay *replay, uint32_t location)
{
    struct gn_replay_location *at = &replay->locations[location];
    if (at->queued)
        return;
    at->queued = true;
    at->after = GN_NONE;
    if (replay->first_ready == GN_NONE)
        replay->first_ready = location;
    else
        replay->locations[replay->last_ready].after = location;
    replay->last_ready = location;
}

static void put_far(struct gn_replay *replay, uint32_t location)
{
    replay->locations[location].queued = true;
    replay->locations[location].after = replay->first_far;
    replay->first_far = location;
}

void gn_replay_wait(struct gn_replay *replay, uint32_t *waiting, uint32_t location)
{
    replay->locations[location].blocked = true;
    replay->locations[location].after = *waiting;
    *waiting = location;
}

void gn_replay_wake(struct gn_replay *replay, uint32_t *waiting)
{
    uint32_t location = *waiting;
    *waiting = GN_NONE;
    for (uint32_t next; location != GN_NONE; location = next) {
        next = replay->locations[location].after;
        replay->locations[location].blocked = false;
        gn_replay_ready(replay, location);
    }
}

void gn_replay_unwait(struct gn_replay *replay, uint32_t location)
{
    const struct gn_op *op = gn_op_at(replay->store, location, replay->locations[location].next);
    if (op->kind == GN_OP_RECEIVE)
        gn_replay_wake(replay, &replay->channels[op->link].waiting);
    else
        gn_gatherings_wake(replay, location, op);
}

/* ---- the clock ---- */

/* LC' of the op, as far as the location alone is concerned. */
static int64_t local_time(const struct gn_replay *replay, const struct gn_replay_location *at,
                          const struct gn_op *op)
{
    int64_t time = op->start == INT64_MIN ? op->ticks : op->start;
    if (at->has_jumped) {
        const int64_t since = op->ticks - at->jump_ticks;
        const int64_t left =
            op->ticks + at->jump_shift - (since > 0 ? gn_decay(replay->settings->gamma_loss, since) : 0);
        const int64_t most = left < op->high ? left : op->high; /* bounds may close faster than it falls */
        time = most > time ? most : time;
    }
    if (at->any && time < at->corrected + op->steps)
        time = at->corrected + op->steps;
    return time;
}

/* What the op itself says in this pass. */
static int64_t own_time(const struct gn_replay *replay, const struct gn_replay_location *at,
                        const struct gn_op *op)
{
    if (replay->moves)
        return local_time(replay, at, op);
    return replay->settings->ceilings ? op->high : op->ticks;
}

/* What is broken, or given, may ask for more than there is: counted, and no time. */
static int64_t no_later_than_any(struct gn_replay *replay, int64_t time)
{
    const int64_t latest = INT64_MAX / 2;
    if (time <= latest || !replay->moves)
        return time;
    replay->stats.late++;
    return latest;
}

/* The op has its time; jumped: because of a predecessor elsewhere. */
static void settle(struct gn_replay *replay, struct gn_replay_location *at, struct gn_op *op, int64_t time,
                   bool jumped)
{
    time = no_later_than_any(replay, time);
    at->corrected = time;
    at->any = true;
    if (jumped) {
        at->has_jumped = true;
        at->jump_ticks = op->ticks;
        at->jump_shift = time - op->ticks;
    }
    if (!replay->moves)
        return;
    op->shift = time - op->ticks;
    op->flags = (uint8_t)((op->flags & ~GN_OP_JUMP) | (jumped ? GN_OP_JUMP : 0));
    if (op->shift > replay->stats.largest_shift_ticks)
        replay->stats.largest_shift_ticks = op->shift;
}

/* Of values ≥ 0; what is too large stays the largest. */
static uint64_t sum_of(uint64_t a, uint64_t b)
{
    const uint64_t most = INT64_MAX;
    return a < most && b < most - a ? a + b : most;
}

/* ticks: received − sent; missing: to sent + µ, ≤ 0: nothing. */
static void count(struct gn_replay_count *counts, int64_t ticks, int64_t missing, bool corrected)
{
    counts->messages++;
    counts->corrected += corrected;
    counts->violating += missing > 0;
    if (missing > counts->worst_ticks)
        counts->worst_ticks = missing;
    if (ticks >= 0)
        return;
    counts->reversed++;
    counts->error_ticks_sum = sum_of(counts->error_ticks_sum, (uint64_t)-ticks);
    if (-ticks > counts->error_ticks_max)
        counts->error_ticks_max = -ticks;
}

static void sample(struct gn_replay *replay, uint32_t from, uint32_t to, int64_t sent, int64_t received)
{
    if (replay->sample && gn_latency_sample_message(replay->sample, from, to, sent, received) != 0)
        replay->failed = -ENOMEM;
}

static void tell_limit(struct gn_replay *replay, uint32_t link, const struct gn_parcel *parcel, int64_t limit)
{
    const uint32_t from_rank = replay->channels[link].from_rank;
    if (from_rank == replay->transport->rank)
        gn_op_at(replay->store, parcel->location, parcel->index)->limit = limit;
    else
        gn_mail_post(replay, from_rank,
                     &(struct gn_mail){
                         .kind = GN_MAIL_LIMIT, .a = parcel->location, .index = parcel->index, .time = limit},
                     NULL);
}

void gn_replay_measure_receive(struct gn_replay *replay, uint32_t link, const struct gn_parcel *parcel,
                               const struct gn_parcel *receive)
{
    const uint32_t from = replay->definitions->locations[parcel->location].domain;
    const uint32_t to = replay->locations[receive->location].domain;
    const int64_t delay = gn_replay_delay(replay, from, to), ticks = receive->time;
    const bool is_vague = receive->vague || parcel->vague;
    replay->receives++;
    if (replay->moves)
        return;
    if (replay->settings->ceilings) {
        if (!is_vague)
            tell_limit(replay, link, parcel, ticks == INT64_MAX ? ticks : ticks - delay);
        return;
    }
    count(is_vague ? &replay->stats.uncertain : &replay->stats.messages, ticks - parcel->time,
          parcel->time + delay - ticks, false);
    if (!is_vague)
        sample(replay, from, to, parcel->time, ticks);
}

void gn_replay_measure_end(struct gn_replay *replay, uint32_t domain, bool vague, int64_t ticks,
                           int64_t after, const struct gn_latest_entry which[2])
{
    if (after == INT64_MIN)
        return;
    count(vague ? &replay->stats.uncertain : &replay->stats.collectives, ticks - which[0].time, after - ticks,
          false);
    for (int i = 0; i < 2 && !vague; i++)
        if (which[i].time != INT64_MIN)
            sample(replay, which[i].domain, domain, which[i].time, ticks);
}

/* ---- ops ---- */

static void do_send(struct gn_replay *replay, uint32_t location, struct gn_op *op)
{
    struct gn_replay_location *at = &replay->locations[location];
    settle(replay, at, op, own_time(replay, at, op), false);
    if (replay->limits)
        op->limit = INT64_MAX;
    replay->sends++;
    gn_parcels_send(replay, op,
                    &(struct gn_parcel){at->corrected, at->next, location, 1, op->flags & GN_OP_VAGUE});
}

/* Nobody will answer: the op is an internal event. */
static void pass_by(struct gn_replay *replay, struct gn_replay_location *at, struct gn_op *op)
{
    at->release = false;
    settle(replay, at, op, local_time(replay, at, op), false);
}

/* Measuring, nobody's time depends on another's, and when it is a guess which message it is nobody knows on
 * whose: nobody waits. False: too many messages are awaited. */
static bool pass_receive(struct gn_replay *replay, uint32_t location, const struct gn_op *op)
{
    const struct gn_parcel *parcel = gn_parcels_peek(replay, op);
    const int64_t time = own_time(replay, &replay->locations[location], op);
    if (parcel) {
        gn_replay_measure_receive(
            replay, op->link, parcel,
            &(struct gn_parcel){.time = time, .location = location, .vague = op->flags & GN_OP_VAGUE});
        gn_parcels_take(replay, op);
        return true;
    }
    if (gn_parcels_will_come(replay, op))
        return gn_parcels_await(replay, location, op, time);
    replay->stats.unmatched_receives++;
    return true;
}

static bool do_receive(struct gn_replay *replay, uint32_t location, struct gn_op *op)
{
    struct gn_replay_location *at = &replay->locations[location];
    struct gn_replay_channel *channel = &replay->channels[op->link];
    if ((!replay->moves || op->flags & GN_OP_VAGUE) && pass_receive(replay, location, op)) {
        settle(replay, at, op, own_time(replay, at, op), false);
        return true;
    }
    const struct gn_parcel *parcel = gn_parcels_peek(replay, op);
    if (!parcel && (at->release || !gn_parcels_will_come(replay, op))) {
        replay->stats.unmatched_receives++;
        pass_by(replay, at, op);
        return true;
    }
    if (!parcel) {
        gn_replay_wait(replay, &channel->waiting, location);
        return false;
    }
    at->release = false;
    if (parcel->vague) { /* the same: which one was sent first is a guess */
        settle(replay, at, op, local_time(replay, at, op), false);
        replay->receives++;
        gn_parcels_take(replay, op);
        return true;
    }
    const uint32_t from = replay->definitions->locations[parcel->location].domain;
    const int64_t arrival = parcel->time + gn_replay_delay(replay, from, at->domain);
    const int64_t own = local_time(replay, at, op), time = arrival > own ? arrival : own;
    settle(replay, at, op, time, arrival > own);
    count(&replay->stats.messages, time - parcel->time, arrival - own, arrival > own);
    tell_limit(replay, op->link, parcel, time - (arrival - parcel->time));
    replay->receives++;
    gn_parcels_take(replay, op);
    return true;
}

static void do_begin(struct gn_replay *replay, uint32_t location, struct gn_op *op)
{
    struct gn_replay_location *at = &replay->locations[location];
    settle(replay, at, op, own_time(replay, at, op), false);
    if (replay->limits)
        op->limit = INT64_MAX;
    gn_gatherings_begin(replay, location, op, at->corrected);
}

static bool do_end(struct gn_replay *replay, uint32_t location, struct gn_op *op)
{
    struct gn_replay_location *at = &replay->locations[location];
    struct gn_latest_entry which[2];
    int64_t after = INT64_MIN;
    const bool released = at->release;
    if (!replay->moves) {
        settle(replay, at, op, own_time(replay, at, op), false);
        gn_gatherings_measure(replay, location, op);
        return true;
    }
    if (op->flags & GN_OP_VAGUE) { /* MPI does not say that it waited: it stays, and limits nobody */
        settle(replay, at, op, local_time(replay, at, op), false);
        gn_gatherings_end(replay, location, op, at->corrected, false);
        return true;
    }
    if (!gn_gatherings_ready(replay, location, op, released, &after, which))
        return false;
    if (released) {
        replay->stats.incomplete_collectives++;
        pass_by(replay, at, op);
        gn_gatherings_end(replay, location, op, at->corrected, false);
        return true;
    }
    const int64_t own = local_time(replay, at, op);
    const bool jumps = after > own;
    if (after != INT64_MIN)
        count(&replay->stats.collectives, own - which[0].time, after - own, jumps);
    settle(replay, at, op, jumps ? after : own, jumps);
    gn_gatherings_end(replay, location, op, at->corrected, op->flags & GN_OP_GETS);
    return true;
}

/* False: the location waits for something. */
static bool do_op(struct gn_replay *replay, uint32_t location, struct gn_op *op)
{
    struct gn_replay_location *at = &replay->locations[location];
    const bool is_bystander = (op->kind == GN_OP_BEGIN || op->kind == GN_OP_END) && op->root == GN_ROOT_NONE;
    switch (is_bystander ? GN_OP_LOCAL : (enum gn_op_kind)op->kind) {
    case GN_OP_SEND:
        do_send(replay, location, op);
        return true;
    case GN_OP_RECEIVE:
        return do_receive(replay, location, op);
    case GN_OP_BEGIN:
        do_begin(replay, location, op);
        return true;
    case GN_OP_END:
        return do_end(replay, location, op);
    case GN_OP_LOCAL:
    case GN_OP_LEFT:
        break;
    }
    settle(replay, at, op, own_time(replay, at, op), false);
    return true;
}

/* ---- locations ---- */

void gn_replay_leave(struct gn_replay *replay, uint32_t process)
{
    replay->left[process] = true;
    gn_gatherings_leave(replay, process);
}

/* Whoever waits for a message of the process waits for nothing. */
static void wake_receivers(struct gn_replay *replay, uint32_t process)
{
    for (uint32_t i = replay->first_channel[process]; i != GN_NONE; i = replay->channels[i].next)
        gn_replay_wake(replay, &replay->channels[i].waiting);
}

static void location_done(struct gn_replay *replay, uint32_t location)
{
    const uint32_t process = replay->locations[location].process;
    replay->locations_open--;
    if (--replay->rows_open[process] > 0)
        return;
    gn_replay_leave(replay, process);
    wake_receivers(replay, process);
}

/* ---- about as far as the others ----
 *
 * Senders wait for nobody, and when only measuring nobody does: what they have sent would pile up, all of the
 * trace in the worst case. So locations go on together, as far in time from where each of them begins. */

static bool is_far(const struct gn_replay *replay, uint32_t location)
{
    const struct gn_replay_location *at = &replay->locations[location];
    return gn_op_at(replay->store, location, at->next)->ticks - at->begin_ticks > replay->until_ticks;
}

/* Nobody can go on but those that are far ahead: they may, a step. */
static void raise_until(struct gn_replay *replay)
{
    int64_t least = INT64_MAX;
    uint32_t location = replay->first_far;
    for (uint32_t i = location; i != GN_NONE; i = replay->locations[i].after) {
        const struct gn_replay_location *at = &replay->locations[i];
        const int64_t ticks = gn_op_at(replay->store, i, at->next)->ticks - at->begin_ticks;
        least = ticks < least ? ticks : least;
    }
    replay->until_ticks = least + replay->step_ticks;
    replay->first_far = GN_NONE;
    for (uint32_t next; location != GN_NONE; location = next) {
        next = replay->locations[location].after;
        replay->locations[location].queued = false;
        if (is_far(replay, location))
            put_far(replay, location);
        else
            gn_replay_ready(replay, location);
    }
}

static void begin_together(struct gn_replay *replay)
{
    const struct gn_op_store *store = replay->store;
    double ops = 0, rows = 0, longest = 0;
    for (uint32_t i = 0; i < store->row_count; i++) {
        const uint64_t count = store->rows[i].count;
        if (count == 0)
            continue;
        const int64_t begin = gn_op_at(store, i, 0)->ticks, end = gn_op_at(store, i, count - 1)->ticks;
        replay->locations[i].begin_ticks = begin;
        longest = (double)(end - begin) > longest ? (double)(end - begin) : longest;
        ops += (double)count;
        rows++;
    }
    const double step = ops > 0 ? longest * STEP * rows / ops : 0;
    replay->step_ticks = step < 0x1p60 ? (int64_t)step : INT64_C(1) << 60;
    replay->until_ticks = replay->step_ticks;
    replay->first_far = GN_NONE;
}

/* ---- turns ---- */

static void take_turn(struct gn_replay *replay, uint32_t location)
{
    struct gn_replay_location *at = &replay->locations[location];
    const uint64_t count = replay->store->rows[location].count;
    const uint64_t end = count - at->next < TURN ? count : at->next + TURN;
    const uint64_t before = at->next;
    for (struct gn_op *op; at->next < end; at->next++) {
        op = gn_op_at(replay->store, location, at->next);
        if (op->ticks - at->begin_ticks > replay->until_ticks || !do_op(replay, location, op))
            break;
    }
    replay->ops_done += at->next - before;
    if (at->next > KEEP)
        gn_op_rest(replay->store, location, at->next - KEEP);
    if (at->next == count)
        location_done(replay, location);
    else if (!at->blocked && is_far(replay, location))
        put_far(replay, location);
    else if (!at->blocked)
        gn_replay_ready(replay, location);
}

bool gn_replay_run(struct gn_replay *replay)
{
    while (replay->first_ready != GN_NONE && !replay->failed) {
        const uint32_t location = replay->first_ready;
        replay->first_ready = replay->locations[location].after;
        replay->locations[location].queued = false;
        take_turn(replay, location);
    }
    if (replay->failed || replay->first_far == GN_NONE)
        return false;
    raise_until(replay);
    return true;
}

/* ---- a pass ---- */

static bool is_ours(const struct gn_replay *replay, uint32_t process)
{
    return replay->owner[process] == replay->transport->rank;
}

static void begin_pass(struct gn_replay *replay)
{
    const struct gn_definitions *d = replay->definitions;
    replay->stats = (struct gn_replay_stats){0};
    replay->sends = replay->receives = replay->ops_done = replay->ahead = 0;
    replay->first_ready = replay->last_ready = GN_NONE;
    replay->somebody_left = false;
    memset(replay->left, 0, d->process_count * sizeof *replay->left);
    memset(replay->rows_open, 0, d->process_count * sizeof *replay->rows_open);
    gn_parcels_reset(replay);
    gn_gatherings_reset(replay);
    replay->locations_open = 0;
    for (uint32_t i = 0; i < d->location_count; i++) {
        const struct gn_location_def *def = &d->locations[i];
        replay->locations[i] = (struct gn_replay_location){.process = def->process, .domain = def->domain};
        if (!is_ours(replay, def->process) || replay->store->rows[i].count == 0)
            continue;
        gn_op_rest(replay->store, i, 0);
        replay->rows_open[def->process]++;
        replay->locations_open++;
        gn_replay_ready(replay, i);
    }
    begin_together(replay);
    for (uint32_t p = 0; p < d->process_count; p++)
        if (is_ours(replay, p) && replay->rows_open[p] == 0)
            gn_replay_leave(replay, p);
}

static uint64_t halves(int64_t high, int64_t low)
{
    return high > INT32_MAX ? INT64_MAX : sum_of((uint64_t)high << 32, (uint64_t)low);
}

/* The same numbers everywhere: of all ranks. */
static int agree_on(struct gn_replay *replay, struct gn_replay_stats *all)
{
    const struct gn_transport *t = replay->transport;
    struct gn_replay_count *counts[] = {&all->messages, &all->collectives, &all->uncertain};
    *all = replay->stats;
    int64_t sums[3 * 6 + 6], largest[3 * 2 + 1];
    size_t s = 0, m = 0;
    for (int i = 0; i < 3; i++) {
        const struct gn_replay_count *c = counts[i];
        const uint64_t add[] = {c->messages, c->reversed, c->violating, c->corrected,
                                /* by halves: sums of them fit */
                                c->error_ticks_sum >> 32, c->error_ticks_sum & UINT32_MAX};
        for (size_t k = 0; k < 6; k++)
            sums[s++] = (int64_t)add[k];
        largest[m++] = c->worst_ticks;
        largest[m++] = c->error_ticks_max;
    }
    largest[m++] = all->largest_shift_ticks;
    sums[s++] = (int64_t)replay->sends;
    sums[s++] = (int64_t)replay->receives;
    sums[s++] = (int64_t)all->unmatched_receives;
    sums[s++] = (int64_t)all->incomplete_collectives;
    sums[s++] = (int64_t)all->cut;
    sums[s++] = (int64_t)all->late;
    int code = t->agree(t->self, GN_AGREE_SUM, sums, s);
    if (code == 0)
        code = t->agree(t->self, GN_AGREE_MAX, largest, m);
    s = m = 0;
    for (int i = 0; i < 3; i++) {
        *counts[i] = (struct gn_replay_count){.messages = (uint64_t)sums[s],
                                              .reversed = (uint64_t)sums[s + 1],
                                              .violating = (uint64_t)sums[s + 2],
                                              .corrected = (uint64_t)sums[s + 3],
                                              .error_ticks_sum = halves(sums[s + 4], sums[s + 5]),
                                              .worst_ticks = largest[m],
                                              .error_ticks_max = largest[m + 1]};
        s += 6;
        m += 2;
    }
    all->largest_shift_ticks = largest[m];
    all->unmatched_sends = (uint64_t)(sums[s] - sums[s + 1]);
    all->unmatched_receives = (uint64_t)sums[s + 2];
    all->incomplete_collectives = (uint64_t)sums[s + 3];
    all->cut = (uint64_t)sums[s + 4];
    all->late = (uint64_t)sums[s + 5];
    return code;
}

/* Whether some rank has instances or messages that did not come to an end: nearly never. */
static bool is_anything_open(struct gn_replay *replay)
{
    int64_t open = replay->gatherings_open > 0 || replay->ahead > 0;
    if (!replay->failed)
        replay->failed = replay->transport->agree(replay->transport->self, GN_AGREE_MAX, &open, 1);
    return open && !replay->failed;
}

int gn_replay_forward(struct gn_replay *replay, const struct gn_replay_settings *settings,
                      struct gn_latency_sample *sample, struct gn_replay_stats *stats, struct gn_error *err)
{
    replay->settings = settings;
    replay->sample = sample;
    replay->moves = !settings->measure && !settings->ceilings;
    replay->limits = !settings->measure;
    begin_pass(replay);
    if (!replay->has_announced)
        gn_parcels_announce(replay);
    replay->has_announced = true;
    gn_stillness_reach(replay);
    if (is_anything_open(replay)) {
        if (!replay->moves)
            gn_stillness_after_leaving(replay);
        if (!replay->failed && replay->limits) {
            gn_gatherings_flush(replay);
            gn_stillness_reach(replay);
        }
    }
    replay->stats.unmatched_receives += replay->ahead;
    if (!replay->failed)
        replay->failed = agree_on(replay, stats);
    if (replay->failed)
        return gn_fail(err, replay->failed, "replaying the communication failed: %s",
                       strerror(-replay->failed));
    return 0;
}

int gn_replay_open(struct gn_replay **replay, const struct gn_definitions *definitions,
                   struct gn_op_store *store, const struct gn_transport *transport, const uint32_t *owner,
                   struct gn_error *err)
{
    struct gn_replay *r = calloc(1, sizeof *r);
    if (!r)
        return gn_fail(err, -ENOMEM, "no memory");
    r->definitions = definitions;
    r->store = store;
    r->transport = transport;
    r->owner = owner;
    r->locations = calloc(definitions->location_count + 1, sizeof *r->locations);
    r->left = calloc(definitions->process_count + 1, sizeof *r->left);
    r->rows_open = calloc(definitions->process_count + 1, sizeof *r->rows_open);
    if (!r->locations || !r->left || !r->rows_open || gn_parcels_open(r) || gn_gatherings_open(r) ||
        gn_mail_open(r)) {
        gn_replay_close(r);
        return gn_fail(err, -ENOMEM, "no memory for %zu locations", definitions->location_count);
    }
    *replay = r;
    return 0;
}

void gn_replay_close(struct gn_replay *replay)
{
    if (!replay)
        return;
    gn_mail_shut(replay);
    gn_gatherings_shut(replay);
    gn_parcels_shut(replay);
    free(replay->locations);
    free(replay->left);
    free(replay->rows_open);
    free(replay);
}
