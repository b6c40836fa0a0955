/*
 * The forward pass against its equations, solved one op after the other in an order in which the program
 * could have run; alone, and by several processes together.
 */
#include "threads_transport.h"

#include "base/mix.h"
#include "repair/amortize.h"
#include "repair/repair.h"
#include "repair/replay_inside.h"
#include "repeated.h"

#include <pthread.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 12, DOMAINS = 3, MOST_RANKS = 5 };

static uint64_t first_seed = 1;
static uint32_t most_delay_us; /* of the transport */

/* ---- a program that runs as it likes, in true time, with ops that know what they follow ---- */

struct op_ref {
    uint32_t location;
    uint64_t index;
};

struct made {
    struct op_ref at;
    struct op_ref *after; /* sends and begins that the op is after */
    size_t after_count;
    struct gn_op op;
    bool unmatched;
    int64_t true_ticks;
    int64_t corrected, limit; /* as they should be */
};

struct program {
    uint64_t random;
    uint32_t size; /* processes, each with one location */
    struct gn_definitions *d;
    struct made *made;
    size_t made_count;
    int64_t now[MOST], skew[MOST], last_ticks[MOST];
    uint64_t ops[MOST];
    bool stopped[MOST];
    uint32_t channels, groups;
    struct gn_op_channel channel[512];
    uint32_t sent[512], received[512]; /* by channel */
    struct gn_op_group group[8];
    uint32_t started[8];
    struct pending {
        struct op_ref send;
        uint32_t channel, number;
        int64_t true_time;
        bool taken;
    } * pending;
    size_t pending_count;
};

static uint64_t below(struct program *p, uint64_t n)
{
    return gn_mix_next(&p->random) % n;
}

static struct made *add(struct program *p, uint32_t location, struct gn_op op)
{
    struct made *made = &p->made[p->made_count++];
    int64_t ticks = 1000000 + p->now[location] + p->skew[location];
    if (ticks < p->last_ticks[location])
        ticks = p->last_ticks[location];
    op.ticks = ticks;
    op.records = 1;
    op.steps = ticks > p->last_ticks[location]
                   ? 1 + (uint32_t)below(p, (uint64_t)(ticks - p->last_ticks[location]) < 3
                                                ? (uint64_t)(ticks - p->last_ticks[location])
                                                : 3)
                   : 0;
    if (p->ops[location] == 0)
        op.steps = 0;
    op.limit = op.high = INT64_MAX;
    op.start = INT64_MIN;
    p->last_ticks[location] = ticks;
    *made = (struct made){
        .at = {location, p->ops[location]++}, .op = op, .true_ticks = 1000000 + p->now[location]};
    return made;
}

static void follow(struct made *made, struct op_ref ref)
{
    made->after = realloc(made->after, (made->after_count + 1) * sizeof ref);
    made->after[made->after_count++] = ref;
}

static uint32_t channel_of(struct program *p, uint32_t from, uint32_t to, uint32_t tag)
{
    for (uint32_t i = 0; i < p->channels; i++)
        if (p->channel[i].from == from && p->channel[i].to == to && p->channel[i].tag == tag)
            return i;
    p->channel[p->channels] = (struct gn_op_channel){0, from, to, tag, 0};
    return p->channels++;
}

static void step_send(struct program *p)
{
    const uint32_t from = (uint32_t)below(p, p->size), to = (uint32_t)below(p, p->size);
    if (p->stopped[from] || from == to)
        return;
    const uint32_t channel = channel_of(p, from, to, (uint32_t)below(p, 2));
    p->now[from] += (int64_t)below(p, 40);
    const struct made *made =
        add(p, from, (struct gn_op){.kind = GN_OP_SEND, .link = channel, .number = p->sent[channel]});
    p->pending[p->pending_count++] =
        (struct pending){made->at, channel, p->sent[channel]++, p->now[from], false};
}

static void step_receive(struct program *p)
{
    if (p->pending_count == 0)
        return;
    struct pending *message = &p->pending[below(p, p->pending_count)];
    const uint32_t to = p->channel[message->channel].to;
    if (message->taken || p->stopped[to])
        return;
    message->taken = true;
    p->now[to] += (int64_t)below(p, 40);
    if (p->now[to] < message->true_time + 5)
        p->now[to] = message->true_time + 5 + (int64_t)below(p, 5);
    follow(add(p, to,
               (struct gn_op){.kind = GN_OP_RECEIVE, .link = message->channel, .number = message->number}),
           message->send);
}

/* A receive of something that is never sent; it is only known to be so at the end. */
static void step_unmatched(struct program *p)
{
    const uint32_t from = (uint32_t)below(p, p->size), to = (uint32_t)below(p, p->size);
    if (p->stopped[to] || from == to || below(p, 20) != 0)
        return;
    const uint32_t channel = channel_of(p, from, to, 7);
    add(p, to, (struct gn_op){.kind = GN_OP_RECEIVE, .link = channel, .number = p->received[channel]++})
        ->unmatched = true;
}

static bool depends(const struct gn_comm_def *comm, uint8_t shape, uint32_t root, uint8_t root_side,
                    uint32_t i, uint32_t j) /* the end of member i on the begin of member j */
{
    const uint32_t n = comm->member_count;
    const bool inter = comm->other_count > 0;
    const uint8_t side_i = i >= n, side_j = j >= n;
    if (i == j || (inter && side_i == side_j))
        return false;
    switch (shape) {
    case GN_SHAPE_ONE_TO_ALL:
        return j == root && (!inter || side_i != root_side);
    case GN_SHAPE_ALL_TO_ONE:
        return i == root && (!inter || side_j != root_side);
    case GN_SHAPE_PREFIX:
        return j < i;
    default:
        return true;
    }
}

static void step_collective(struct program *p)
{
    const uint32_t group = (uint32_t)below(p, p->groups);
    const struct gn_comm_def *comm = &p->d->comms[p->group[group].comm];
    const uint32_t all = comm->member_count + comm->other_count;
    const uint8_t shape = (uint8_t)below(p, comm->other_count ? 3 : 4);
    const uint32_t root = (uint32_t)below(p, all);
    const uint8_t root_side = root >= comm->member_count;
    const bool inter = comm->other_count > 0, variable = below(p, 3) == 0;
    const bool vague = below(p, 4) == 0; /* nobody waits, and nobody is moved for it */
    const bool rooted = shape == GN_SHAPE_ONE_TO_ALL || shape == GN_SHAPE_ALL_TO_ONE;
    struct made *begins[MOST] = {0};
    const uint32_t number = p->started[group]++;
    if (rooted && p->stopped[comm->members[root]])
        return;
    bool gives[MOST], gets[MOST];
    struct gn_op ops[MOST];
    for (uint32_t i = 0; i < all; i++) {
        const uint8_t side = i >= comm->member_count;
        gives[i] = gets[i] = false;
        for (uint32_t j = 0; j < all; j++) {
            gets[i] |= depends(comm, shape, root, root_side, i, j);
            gives[i] |= depends(comm, shape, root, root_side, j, i);
        }
        if (variable && !(rooted && i == root)) {
            gives[i] &= below(p, 3) != 0;
            gets[i] &= below(p, 3) != 0;
        }
        uint32_t named = !rooted ? GN_NONE : !inter ? root : side == root_side ? GN_ROOT_NONE : root;
        if (inter && rooted && i == root)
            named = GN_ROOT_SELF;
        else if (inter && rooted && side != root_side)
            named = root_side ? root - comm->member_count : root;
        ops[i] = (struct gn_op){.shape = shape,
                                .link = group,
                                .number = number,
                                .root = named,
                                .flags = (uint8_t)((gives[i] ? GN_OP_GIVES : 0) | (gets[i] ? GN_OP_GETS : 0) |
                                                   (side ? GN_OP_SECOND : 0) | (vague ? GN_OP_VAGUE : 0))};
    }
    for (uint32_t i = 0; i < all; i++) {
        const uint32_t process = comm->members[i];
        if (p->stopped[process])
            continue;
        p->now[process] += (int64_t)below(p, 60);
        ops[i].kind = GN_OP_BEGIN;
        begins[i] = add(p, process, ops[i]);
    }
    for (uint32_t i = 0; i < all; i++) {
        const uint32_t process = comm->members[i];
        if (p->stopped[process])
            continue;
        int64_t earliest = p->now[process];
        for (uint32_t j = 0; j < all; j++)
            if (!vague && begins[j] && gets[i] && gives[j] && depends(comm, shape, root, root_side, i, j) &&
                p->now[comm->members[j]] + 5 > earliest)
                earliest = p->now[comm->members[j]] + 5;
        p->now[process] = earliest + (int64_t)below(p, 4);
        ops[i].kind = GN_OP_END;
        struct made *end = add(p, process, ops[i]);
        for (uint32_t j = 0; j < all; j++)
            if (!vague && begins[j] && gets[i] && gives[j] && depends(comm, shape, root, root_side, i, j))
                follow(end, begins[j]->at);
    }
}

static void define(struct program *p)
{
    p->d = gn_definitions_new();
    p->d->ticks_per_second = 1000000000;
    uint32_t members[MOST];
    for (uint32_t i = 0; i < p->size; i++) {
        members[i] = i;
        gn_define_process(p->d, &(struct gn_process){.main_location = GN_NONE, .rank = (int32_t)i});
        gn_define_location(p->d,
                           &(struct gn_location_def){.process = i, .domain = i % DOMAINS, .file_id = i});
    }
    for (uint32_t i = p->size; i > 1; i--) { /* ranks of a communicator are not processes in order */
        const uint32_t j = (uint32_t)below(p, i), was = members[i - 1];
        members[i - 1] = members[j];
        members[j] = was;
    }
    const uint32_t half = p->size / 2;
    const struct gn_comm_def comms[] = {
        {.parent = GN_NONE, .member_count = p->size, .members = members},
        {.parent = GN_NONE, .member_count = p->size - half, .members = members + half},
        {.parent = GN_NONE, .member_count = half, .other_count = p->size - half, .members = members}};
    for (uint32_t i = 0; i < 3; i++)
        p->group[p->groups++].comm = gn_define_comm(p->d, &comms[i]);
}

static struct program *run_program(uint64_t seed, uint32_t size, uint32_t steps, bool broken)
{
    struct program *p = calloc(1, sizeof *p);
    p->random = seed;
    p->size = size;
    p->made = calloc((size_t)steps * 2 * MOST + 8, sizeof *p->made);
    p->pending = calloc(steps, sizeof *p->pending);
    define(p);
    for (uint32_t i = 0; i < size; i++)
        p->skew[i] = (int64_t)(i % DOMAINS) * 100 + (int64_t)below(p, below(p, 2) ? 200 : 1);
    for (uint32_t s = 0; s < steps; s++) {
        const uint64_t which = below(p, 10);
        if (which < 4)
            step_send(p);
        else if (which < 8)
            step_receive(p);
        else if (which < 9)
            step_collective(p);
        else if (broken)
            step_unmatched(p);
        if (broken && below(p, steps) < 2 && size > 3)
            p->stopped[below(p, size)] = true;
    }
    return p;
}

static void free_program(struct program *p)
{
    for (size_t i = 0; i < p->made_count; i++)
        free(p->made[i].after);
    free(p->made);
    free(p->pending);
    gn_definitions_free(p->d);
    free(p);
}

/* ---- the equations ---- */

static int64_t delay_of(const struct gn_latency *latency, const struct made *of, uint32_t from, uint32_t to)
{
    const int64_t own = gn_latency_of(latency, from, to);
    if (of->op.kind == GN_OP_RECEIVE)
        return own;
    return from != to || own > latency->between_ticks ? latency->between_ticks : own;
}

static struct made *made_at(struct program *p, struct made **index[MOST], struct op_ref ref)
{
    (void)p;
    return index[ref.location][ref.index];
}

static void solve(struct program *p, const struct gn_latency *latency, uint64_t loss)
{
    struct made **index[MOST];
    int64_t corrected[MOST], jump_ticks[MOST] = {0}, jump_shift[MOST] = {0};
    for (uint32_t i = 0; i < p->size; i++)
        index[i] = calloc(p->ops[i] + 1, sizeof **index);
    for (size_t i = 0; i < p->made_count; i++)
        index[p->made[i].at.location][p->made[i].at.index] = &p->made[i];
    for (size_t i = 0; i < p->made_count; i++) {
        struct made *m = &p->made[i];
        const uint32_t l = m->at.location;
        const struct gn_op *op = &m->op;
        int64_t shift = jump_shift[l] - gn_decay(loss, op->ticks - jump_ticks[l]);
        int64_t time = op->ticks + (jump_shift[l] && shift > 0 ? shift : 0), needed = INT64_MIN;
        if (m->at.index > 0 && corrected[l] + op->steps > time)
            time = corrected[l] + op->steps;
        for (size_t k = 0; k < m->after_count; k++) {
            const struct made *send = made_at(p, index, m->after[k]);
            const int64_t after =
                send->corrected + delay_of(latency, m, send->at.location % DOMAINS, l % DOMAINS);
            if (after > needed)
                needed = after;
        }
        if (needed > time) {
            time = needed;
            jump_ticks[l] = op->ticks;
            jump_shift[l] = time - op->ticks;
        }
        m->corrected = corrected[l] = time;
        m->limit = INT64_MAX;
    }
    for (size_t i = 0; i < p->made_count; i++)
        for (size_t k = 0; k < p->made[i].after_count; k++) {
            const struct made *m = &p->made[i];
            struct made *send = made_at(p, index, m->after[k]);
            const int64_t limit =
                m->corrected - delay_of(latency, m, send->at.location % DOMAINS, m->at.location % DOMAINS);
            if (limit < send->limit)
                send->limit = limit;
        }
    for (uint32_t i = 0; i < p->size; i++)
        free(index[i]);
}

/* ---- the replay, by one or several ---- */

struct job {
    struct program *p;
    struct gn_transport transport;
    uint32_t owner[MOST];
    struct gn_op_store store;
    const struct gn_replay_settings *settings;
    struct gn_replay_stats stats, before;
    bool measured;
};

/* The number of a link in a store that has but those of its ops: *known of them, of which the program's are
 * in `numbers`. */
static uint32_t link_in(uint32_t *numbers, size_t *known, uint32_t link)
{
    for (uint32_t i = 0; i < *known; i++)
        if (numbers[i] == link)
            return i;
    numbers[(*known)++] = link;
    return (uint32_t)(*known - 1);
}

static void fill(struct job *job)
{
    struct gn_op_store *store = &job->store;
    struct gn_error err;
    uint32_t channels[512], groups[8];
    assert_int_equal(gn_op_store_open(store, job->p->size, NULL, &err), 0);
    for (size_t i = 0; i < job->p->made_count; i++) {
        struct made *made = &job->p->made[i];
        if (job->owner[made->at.location] != job->transport.rank)
            continue;
        struct gn_op *op = gn_op_add(store, made->at.location);
        *op = made->op;
        if (op->kind == GN_OP_SEND || op->kind == GN_OP_RECEIVE)
            op->link = link_in(channels, &store->channel_count, op->link);
        else if (op->kind == GN_OP_BEGIN || op->kind == GN_OP_END)
            op->link = link_in(groups, &store->group_count, op->link);
    }
    store->channels = calloc(store->channel_count + 1, sizeof *store->channels);
    for (size_t i = 0; i < store->channel_count; i++) {
        store->channels[i] = job->p->channel[channels[i]];
        store->channels[i].sends =
            job->owner[store->channels[i].from] == job->transport.rank ? job->p->sent[channels[i]] : 0;
    }
    store->groups = calloc(store->group_count + 1, sizeof *store->groups);
    for (size_t i = 0; i < store->group_count; i++)
        store->groups[i] = job->p->group[groups[i]];
}

static void *work(void *argument)
{
    struct job *job = argument;
    struct gn_replay *replay;
    struct gn_error err;
    fill(job);
    assert_int_equal(gn_replay_open(&replay, job->p->d, &job->store, &job->transport, job->owner, &err), 0);
    if (job->measured) {
        const struct gn_replay_settings measure = {.latency = job->settings->latency, .measure = true};
        assert_int_equal(gn_replay_forward(replay, &measure, NULL, &job->before, &err), 0);
    }
    assert_int_equal(gn_replay_forward(replay, job->settings, NULL, &job->stats, &err), 0);
    gn_replay_close(replay);
    return NULL;
}

/* What measuring counts: messages, and ends of collectives with the predecessor that misses most. */
static struct gn_replay_count measured_as(struct program *p, const struct gn_latency *latency, bool messages)
{
    struct gn_replay_count count = {0};
    for (size_t i = 0; i < p->made_count; i++) {
        const struct made *m = &p->made[i];
        int64_t missing = INT64_MIN, latest = INT64_MIN;
        for (size_t k = 0; k < m->after_count; k++) {
            size_t at = 0;
            while (p->made[at].at.location != m->after[k].location ||
                   p->made[at].at.index != m->after[k].index)
                at++;
            const int64_t sent = p->made[at].op.ticks;
            const int64_t needs =
                sent - m->op.ticks +
                delay_of(latency, m, m->after[k].location % DOMAINS, m->at.location % DOMAINS);
            missing = needs > missing ? needs : missing;
            latest = sent > latest ? sent : latest;
        }
        if (m->after_count == 0 || (m->op.kind == GN_OP_RECEIVE) != messages)
            continue;
        count.messages++;
        count.violating += missing > 0;
        count.worst_ticks = missing > count.worst_ticks ? missing : count.worst_ticks;
        count.reversed += latest > m->op.ticks;
        if (latest > m->op.ticks) {
            count.error_ticks_sum += (uint64_t)(latest - m->op.ticks);
            if (latest - m->op.ticks > count.error_ticks_max)
                count.error_ticks_max = latest - m->op.ticks;
        }
    }
    return count;
}

/* The first question about a communicator writes to the definitions: not by several threads at a time. */
static void ask_first(const struct program *p)
{
    for (uint32_t i = 0; i < p->d->comm_count; i++)
        gn_comm_rank_of(p->d, i, GN_NONE, NULL); /* nobody: it looks in both groups */
}

static struct job *run_jobs(struct program *p, const struct gn_replay_settings *settings, uint32_t ranks,
                            bool measured)
{
    struct threads_world *world = threads_world_new(ranks);
    struct job *jobs = calloc(ranks, sizeof *jobs);
    pthread_t threads[MOST_RANKS];
    ask_first(p);
    if (most_delay_us)
        threads_world_delay(world, most_delay_us, p->random ^ ranks);
    for (uint32_t r = 0; r < ranks; r++) {
        jobs[r] = (struct job){
            .p = p, .transport = threads_transport(world, r), .settings = settings, .measured = measured};
        for (uint32_t i = 0; i < p->size; i++)
            jobs[r].owner[i] = (uint32_t)(gn_mix_at(7, ranks, i) % ranks);
    }
    for (uint32_t r = 1; r < ranks; r++)
        pthread_create(&threads[r], NULL, work, &jobs[r]);
    work(&jobs[0]);
    for (uint32_t r = 1; r < ranks; r++)
        pthread_join(threads[r], NULL);
    threads_world_free(world);
    return jobs;
}

static const struct gn_op *op_of(struct job *jobs, const struct made *m)
{
    return gn_op_at(&jobs[jobs[0].owner[m->at.location]].store, m->at.location, m->at.index);
}

static struct gn_replay_stats end_jobs(struct job *jobs, uint32_t ranks)
{
    const struct gn_replay_stats stats = jobs[0].stats;
    for (uint32_t r = 0; r < ranks; r++) {
        assert_memory_equal(&jobs[r].stats, &stats, sizeof stats);
        gn_op_store_close(&jobs[r].store);
    }
    free(jobs);
    return stats;
}

static struct gn_replay_stats check(struct program *p, const struct gn_replay_settings *settings,
                                    uint32_t ranks, bool measured, bool compare)
{
    struct job *jobs = run_jobs(p, settings, ranks, measured);
    for (size_t i = 0; i < p->made_count && compare; i++) {
        const struct made *m = &p->made[i];
        const struct gn_op *op = op_of(jobs, m);
        if (op->ticks + op->shift != m->corrected || op->limit != m->limit)
            print_error("ranks %u: op %zu of location %u, kind %d shape %d group %d: %lld instead of %lld, "
                        "limit %lld "
                        "instead of %lld\n",
                        ranks, (size_t)m->at.index, m->at.location, op->kind, op->shape, op->link,
                        (long long)(op->ticks + op->shift), (long long)m->corrected, (long long)op->limit,
                        (long long)m->limit);
        assert_int_equal(op->ticks + op->shift, m->corrected);
        assert_int_equal(op->limit, m->limit);
    }
    if (measured) {
        const struct gn_replay_count messages = measured_as(p, settings->latency, true);
        const struct gn_replay_count ends = measured_as(p, settings->latency, false);
        assert_memory_equal(&jobs[0].before.messages, &messages, sizeof messages);
        assert_memory_equal(&jobs[0].before.collectives, &ends, sizeof ends);
        assert_int_equal(jobs[0].before.cut, 0);
        assert_int_equal(jobs[0].before.unmatched_receives, jobs[0].stats.unmatched_receives);
    }
    return end_jobs(jobs, ranks);
}

static void with_latency(struct gn_latency *latency, int64_t within, int64_t between)
{
    struct gn_error err;
    assert_int_equal(gn_latency_open(latency, DOMAINS, &err), 0);
    for (uint32_t i = 0; i < DOMAINS * DOMAINS; i++)
        latency->ticks[i] = i / DOMAINS == i % DOMAINS ? within : between + (int64_t)(i % 3);
    latency->between_ticks = between;
}

static struct program *program_of(uint64_t seed, uint32_t steps, bool broken)
{
    return run_program(seed + (broken ? 100000 : 0), 2 + (uint32_t)(seed % (MOST - 1)), steps, broken);
}

static void each_program(bool broken, uint32_t programs)
{
    struct gn_latency latency;
    with_latency(&latency, 1, 3);
    const struct gn_replay_settings settings = {.latency = &latency, .gamma_loss = (uint64_t)(0.03 * 0x1p64)};
    for (uint64_t seed = first_seed; seed < first_seed + programs; seed++) {
        struct program *p = program_of(seed, 300, broken);
        solve(p, &latency, settings.gamma_loss);
        for (uint32_t ranks = 1; ranks <= MOST_RANKS; ranks += 1 + (seed & 1)) {
            const struct gn_replay_stats stats = check(p, &settings, ranks, seed % 3 == 0, true);
            assert_int_equal(stats.cut, 0);
            if (!broken)
                assert_int_equal(stats.unmatched_receives + stats.incomplete_collectives, 0);
        }
        free_program(p);
    }
    gn_latency_close(&latency);
}

static void every_program_is_solved(void **state)
{
    (void)state;
    each_program(false, REPEATED(60));
}

/* Processes that stop in the middle, receives without a send, sends without a receive. */
static void broken_traces_are_solved(void **state)
{
    (void)state;
    each_program(true, REPEATED(60));
}

/* Two that wait for each other before they send: the earlier one is passed by, whoever has them. */
static void circles_are_cut(void **state)
{
    (void)state;
    const struct gn_replay_settings settings = {.gamma_loss = UINT64_MAX / 100};
    struct program *p = run_program(5, 4, 0, false);
    for (uint32_t i = 0; i < 2; i++) {
        p->now[i] += 100 + i;
        add(p, i, (struct gn_op){.kind = GN_OP_RECEIVE, .link = channel_of(p, 1 - i, i, 0)});
        p->now[i] += 10;
        add(p, i, (struct gn_op){.kind = GN_OP_SEND, .link = channel_of(p, i, 1 - i, 0)});
        p->sent[channel_of(p, i, 1 - i, 0)] = 1;
    }
    int64_t largest = 0;
    for (uint32_t ranks = 1; ranks <= 3; ranks++) {
        const struct gn_replay_stats stats = check(p, &settings, ranks, false, false);
        assert_int_equal(stats.cut, 1);
        assert_int_equal(stats.unmatched_receives, 1);
        assert_int_equal(stats.messages.messages, 1);
        assert_true(ranks == 1 || largest == stats.largest_shift_ticks);
        largest = stats.largest_shift_ticks;
    }
    free_program(p);
}

/* A communicator of a broken trace: nobody waits for members that are no process, or that are named again. */
static void members_that_are_none_are_not_waited_for(void **state)
{
    (void)state;
    const struct gn_replay_settings settings = {.gamma_loss = UINT64_MAX / 100};
    for (uint8_t shape = GN_SHAPE_ALL_TO_ALL; shape <= GN_SHAPE_PREFIX; shape++) {
        struct program *p = run_program(5, 4, 0, false);
        uint32_t members[] = {0, GN_NONE, 1, 0, 99, 2};
        p->group[0].comm = gn_define_comm(
            p->d, &(struct gn_comm_def){.parent = GN_NONE, .member_count = 6, .members = members});
        for (uint32_t i = 0; i < 3; i++) {
            const bool gives = shape == GN_SHAPE_ONE_TO_ALL ? i == 0 : shape != GN_SHAPE_ALL_TO_ONE || i > 0;
            const bool gets = shape == GN_SHAPE_ALL_TO_ONE ? i == 0 : shape != GN_SHAPE_ONE_TO_ALL || i > 0;
            struct gn_op op = {.kind = GN_OP_BEGIN, .shape = shape, .flags = gives ? GN_OP_GIVES : 0};
            p->skew[i] = 0;
            p->now[i] = 100 - i * 10;
            add(p, i, op);
            op.kind = GN_OP_END;
            op.flags = gets ? GN_OP_GETS : 0;
            p->now[i]++;
            add(p, i, op);
        }
        for (uint32_t ranks = 1; ranks <= 3; ranks++) {
            const struct gn_replay_stats stats = check(p, &settings, ranks, false, false);
            assert_int_equal(stats.cut, 0);
            assert_int_equal(stats.incomplete_collectives, 0);
            assert_true(stats.collectives.messages > 0);
        }
        free_program(p);
    }
}

/* Ops of a location that came after each other change places, as in a file that was damaged: then there are
 * all kinds of circles. What a channel or a group counts stays in order. */
static void scramble(struct program *p)
{
    struct made *last[MOST] = {NULL};
    for (size_t i = 0; i < p->made_count; i++) {
        struct made *m = &p->made[i], *before = last[m->at.location];
        last[m->at.location] = m;
        if (!before || below(p, 8) != 0 || (before->op.link == m->op.link && before->op.kind == m->op.kind) ||
            (before->op.kind == GN_OP_BEGIN && m->op.kind == GN_OP_END))
            continue;
        const struct gn_op was = m->op;
        m->op = before->op;
        before->op = was;
        before->op.ticks = m->op.ticks;
        before->op.steps = m->op.steps;
        m->op.ticks = was.ticks;
        m->op.steps = was.steps;
    }
}

static void compare_jobs(struct program *p, struct job *one, struct job *more)
{
    for (size_t i = 0; i < p->made_count; i++) {
        const struct gn_op *a = op_of(one, &p->made[i]), *b = op_of(more, &p->made[i]);
        if (a->shift != b->shift || a->limit != b->limit || a->flags != b->flags)
            print_error("op %zu of location %u, kind %d shape %d: shift %lld and %lld, limit %lld and %lld\n",
                        (size_t)p->made[i].at.index, p->made[i].at.location, a->kind, a->shape,
                        (long long)a->shift, (long long)b->shift, (long long)a->limit, (long long)b->limit);
        assert_int_equal(a->shift, b->shift);
        assert_int_equal(a->limit, b->limit);
        assert_int_equal(a->flags, b->flags);
    }
}

/* Clocks whose bounds are known, and hold: presynchronised to their middle. Each location's are as wide as
 * they like, on both sides of the truth. */
static void bound(struct program *p)
{
    int64_t before[MOST], after[MOST], last[MOST] = {0};
    for (uint32_t i = 0; i < p->size; i++) {
        before[i] = (int64_t)below(p, 300);
        after[i] = below(p, 3) ? (int64_t)below(p, 300) : 0;
    }
    for (size_t i = 0; i < p->made_count; i++) {
        struct gn_op *op = &p->made[i].op;
        const uint32_t l = p->made[i].at.location;
        op->start = p->made[i].true_ticks - before[l];
        op->high = p->made[i].true_ticks + after[l];
        op->ticks = op->start + (op->high - op->start) / 2;
        op->steps = p->made[i].at.index > 0 && op->ticks > last[l];
        last[l] = op->ticks;
    }
}

/* Members say of some instances that they were something else than the others say. */
static void disagree(struct program *p, uint64_t seed)
{
    for (size_t i = 0; i < p->made_count; i++) {
        struct gn_op *op = &p->made[i].op;
        if (op->kind != GN_OP_BEGIN && op->kind != GN_OP_END)
            continue; /* links of messages are channels */
        const uint32_t comm = p->group[op->link].comm, member = p->made[i].at.location;
        const uint64_t how = gn_mix_at(seed, op->number * 8 + op->link, member);
        const uint32_t root = (uint32_t)(how / 16 % 2);
        if (how % 4 || p->d->comms[comm].other_count > 0 || root >= p->d->comms[comm].member_count)
            continue;
        const bool is_root = gn_comm_rank_of(p->d, comm, member, NULL) == root;
        op->shape = (uint8_t)(how / 4 % 3);
        op->root = op->shape == GN_SHAPE_ALL_TO_ALL ? GN_NONE : root;
        const bool gives = op->shape == GN_SHAPE_ALL_TO_ALL || is_root == (op->shape == GN_SHAPE_ONE_TO_ALL);
        const bool gets = op->shape == GN_SHAPE_ALL_TO_ALL || is_root == (op->shape == GN_SHAPE_ALL_TO_ONE);
        op->flags = op->kind == GN_OP_BEGIN ? (gives ? GN_OP_GIVES : 0) : (gets ? GN_OP_GETS : 0);
    }
}

static void disagreeing_members_are_treated_alike(void **state)
{
    (void)state;
    struct gn_latency latency;
    with_latency(&latency, 1, 3);
    const struct gn_replay_settings ways[] = {{.latency = &latency, .measure = true},
                                              {.latency = &latency, .gamma_loss = (uint64_t)(0.03 * 0x1p64)},
                                              {.latency = &latency, .ceilings = true}};
    for (uint64_t seed = first_seed; seed < first_seed + REPEATED(60); seed++) {
        struct program *p = program_of(seed, 100, seed % 2);
        disagree(p, seed);
        for (int way = 0; way < 3; way++) {
            if (ways[way].ceilings)
                bound(p);
            struct job *one = run_jobs(p, &ways[way], 1, false);
            for (uint32_t ranks = 2; ranks <= MOST_RANKS; ranks++) {
                struct job *more = run_jobs(p, &ways[way], ranks, false);
                if (way > 0)
                    compare_jobs(p, one, more);
                assert_memory_equal(&one[0].stats, &more[0].stats, sizeof one[0].stats);
                end_jobs(more, ranks);
            }
            end_jobs(one, 1);
        }
        free_program(p);
    }
    gn_latency_close(&latency);
}

/* How many were cut. */
static uint64_t every_circle_is_cut_alike(uint32_t programs)
{
    struct gn_latency latency;
    uint64_t cuts = 0;
    with_latency(&latency, 1, 3);
    const struct gn_replay_settings settings = {.latency = &latency, .gamma_loss = (uint64_t)(0.03 * 0x1p64)};
    for (uint64_t seed = first_seed; seed < first_seed + programs; seed++) {
        struct program *p = program_of(seed, 200, seed % 2);
        scramble(p);
        struct job *one = run_jobs(p, &settings, 1, false);
        for (uint32_t ranks = 2; ranks <= MOST_RANKS; ranks++) {
            struct job *more = run_jobs(p, &settings, ranks, seed % 3 == 0);
            compare_jobs(p, one, more);
            assert_memory_equal(&one[0].stats, &more[0].stats, sizeof one[0].stats);
            end_jobs(more, ranks);
        }
        cuts += end_jobs(one, 1).cut;
        free_program(p);
    }
    gn_latency_close(&latency);
    return cuts;
}

static void circles_are_cut_by_all_alike(void **state)
{
    (void)state;
    assert_true(every_circle_is_cut_alike(60) > 0);
}

static void late_batches_change_nothing(void **state)
{
    (void)state;
    most_delay_us = 400;
    each_program(false, 4);
    each_program(true, 8);
    every_circle_is_cut_alike(4);
    most_delay_us = 0;
}

/* ---- inside bounds ---- */

static void *repair_bounded(void *argument)
{
    struct job *job = argument;
    struct gn_latency latency;
    with_latency(&latency, 1, 0);
    const struct gn_repair_settings settings = {
        .gamma = 0.99, .slope = 0.01, .longest_ticks = 100000, .latency = &latency, .bounded = true};
    struct gn_repair_result result;
    struct gn_repair *repair;
    struct gn_error err;
    fill(job);
    assert_int_equal(
        gn_repair(&repair, job->p->d, &job->store, &job->transport, job->owner, &settings, &result, &err), 0);
    for (uint32_t i = 0; i < job->p->size; i++) {
        struct gn_knots *knots;
        struct gn_knot_row row = {0};
        assert_int_equal(gn_repair_knots(repair, i, &knots, &err), 0);
        const struct gn_knot_source source = knots ? gn_knots_source(knots) : (struct gn_knot_source){0};
        while (knots && source.more(source.self, row.count, &row) > 0)
            ;
        assert_int_equal(gn_repair_knots_close(repair, knots, &err), 0);
    }
    gn_repair_close(repair);
    gn_latency_close(&result.latency);
    gn_latency_close(&latency);
    return NULL;
}

static int64_t time_in(const struct job *jobs, struct op_ref ref)
{
    const struct gn_op *op = gn_op_at(&jobs[jobs[0].owner[ref.location]].store, ref.location, ref.index);
    return op->ticks + op->shift;
}

static void check_bounded(struct program *p, uint32_t ranks)
{
    struct threads_world *world = threads_world_new(ranks);
    struct job jobs[MOST_RANKS] = {0};
    pthread_t threads[MOST_RANKS];
    ask_first(p);
    for (uint32_t r = 0; r < ranks; r++) {
        jobs[r] = (struct job){.p = p, .transport = threads_transport(world, r)};
        for (uint32_t i = 0; i < p->size; i++)
            jobs[r].owner[i] = i % ranks;
    }
    for (uint32_t r = 1; r < ranks; r++)
        pthread_create(&threads[r], NULL, repair_bounded, &jobs[r]);
    repair_bounded(&jobs[0]);
    for (uint32_t r = 1; r < ranks; r++)
        pthread_join(threads[r], NULL);
    for (size_t i = 0; i < p->made_count; i++) {
        const struct made *m = &p->made[i];
        const int64_t time = time_in(jobs, m->at);
        assert_in_range(time, m->op.start, m->op.high);
        for (size_t k = 0; k < m->after_count; k++)
            assert_true(time_in(jobs, m->after[k]) <= time);
    }
    for (uint32_t r = 0; r < ranks; r++)
        gn_op_store_close(&jobs[r].store);
    threads_world_free(world);
}

/* The truth is inside all bounds and satisfies the clock condition: so there is a way, and it is found. */
static void corrected_times_stay_inside_bounds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= REPEATED(60); seed++) {
        struct program *p = run_program(seed, DOMAINS + (uint32_t)(seed % (MOST - DOMAINS + 1)), 300, false);
        bound(p);
        check_bounded(p, 1 + (uint32_t)(seed % MOST_RANKS));
        free_program(p);
    }
}

/* ---- at the end of time ---- */

struct late_job {
    struct job job;
    const struct gn_repair_settings *settings;
    int code;
    struct gn_error err;
};

static void *repair_late(void *argument)
{
    struct late_job *late = argument;
    struct job *job = &late->job;
    struct gn_repair_result result;
    struct gn_repair *repair;
    fill(job);
    late->code = gn_repair(&repair, job->p->d, &job->store, &job->transport, job->owner, late->settings,
                           &result, &late->err);
    if (late->code == 0) {
        gn_repair_close(repair);
        gn_latency_close(&result.latency);
    }
    return NULL;
}

/* Later by so much that the last one is at the end. */
static void make_late(struct program *p)
{
    int64_t last = 0;
    for (size_t i = 0; i < p->made_count; i++)
        last = p->made[i].op.ticks > last ? p->made[i].op.ticks : last;
    for (size_t i = 0; i < p->made_count; i++)
        p->made[i].op.ticks += INT64_MAX / 2 - last;
}

/* What all of them said, the same. */
static int repair_by(struct program *p, const struct gn_repair_settings *settings, uint32_t ranks)
{
    struct threads_world *world = threads_world_new(ranks);
    struct late_job jobs[MOST_RANKS] = {0};
    pthread_t threads[MOST_RANKS];
    for (uint32_t r = 0; r < ranks; r++) {
        jobs[r] = (struct late_job){.job = {.p = p, .transport = threads_transport(world, r)},
                                    .settings = settings};
        for (uint32_t i = 0; i < p->size; i++)
            jobs[r].job.owner[i] = i % ranks;
        assert_int_equal(pthread_create(&threads[r], NULL, repair_late, &jobs[r]), 0);
    }
    for (uint32_t r = 0; r < ranks; r++)
        pthread_join(threads[r], NULL);
    for (uint32_t r = 0; r < ranks; r++) {
        assert_int_equal(jobs[r].code, jobs[0].code);
        assert_true(jobs[r].code == 0 || strstr(jobs[r].err.text, "4611686018427387903"));
    }
    for (size_t i = 0; i < p->made_count && jobs[0].code == 0; i++) {
        const struct op_ref at = p->made[i].at;
        const struct gn_op *op = gn_op_at(&jobs[at.location % ranks].job.store, at.location, at.index);
        assert_true(op->ticks + op->shift <= INT64_MAX / 2);
    }
    for (uint32_t r = 0; r < ranks; r++)
        gn_op_store_close(&jobs[r].job.store);
    threads_world_free(world);
    return jobs[0].code;
}

/* µ of a microsecond, and of decades: in neither case does a sum of times go round. */
static void no_time_is_beyond_the_end(void **state)
{
    (void)state;
    uint32_t refused[2] = {0};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const bool is_long = seed % 2;
        struct gn_latency latency;
        with_latency(&latency, is_long ? INT64_C(1) << 60 : 3, is_long ? INT64_C(1) << 60 : 1000);
        const struct gn_repair_settings settings = {
            .gamma = 0.99, .slope = 0.01, .longest_ticks = 100000, .latency = &latency};
        struct program *p =
            run_program(seed, DOMAINS + (uint32_t)(seed % (MOST - DOMAINS + 1)), 60, seed % 4 > 1);
        if (!is_long || seed % 3)
            make_late(p);
        const int code = repair_by(p, &settings, 1);
        assert_true(code == 0 || code == -ERANGE);
        refused[is_long] += code == -ERANGE;
        assert_int_equal(repair_by(p, &settings, 2 + (uint32_t)(seed % (MOST_RANKS - 1))), code);
        gn_latency_close(&latency);
        free_program(p);
    }
    assert_true(refused[0] > 0 && refused[1] > 0);
}

/* ---- how many passes ---- */

static void add_op(struct gn_op_store *store, uint32_t location, enum gn_op_kind kind, uint32_t link,
                   uint32_t number, int64_t ticks)
{
    struct gn_op *op = gn_op_add(store, location);
    assert_non_null(op);
    op->kind = (uint8_t)kind;
    op->link = link;
    op->number = number;
    op->ticks = ticks;
    op->records = op->steps = 1;
}

/* Messages go along a chain of clocks, each 20 us behind the one before: the last one has to be put forward
 * by what is missing to all of them. Further passes do not help, which is no failure. */
static void a_chain_of_clocks_converges(void **state)
{
    (void)state;
    enum { CLOCKS = 16, ROUNDS = 50, HOP = 30000, TAKES = 2000, BEHIND = 20000 };
    struct gn_definitions *d = gn_definitions_new();
    struct gn_op_store store;
    uint32_t owner[CLOCKS] = {0};
    assert_non_null(d);
    assert_int_equal(gn_op_store_open(&store, CLOCKS, NULL, NULL), 0);
    store.channels = calloc(CLOCKS, sizeof *store.channels);
    store.channel_count = CLOCKS - 1;
    for (uint32_t i = 0; i < CLOCKS; i++) {
        gn_define_process(d, &(struct gn_process){0, GN_NONE, GN_NONE, (int32_t)i});
        gn_define_location(d, &(struct gn_location_def){.process = i, .domain = i + 1, .file_id = i});
        if (i + 1 < CLOCKS)
            store.channels[i] = (struct gn_op_channel){.from = i, .to = i + 1, .sends = ROUNDS};
        for (uint32_t round = 0; round < ROUNDS; round++) {
            const int64_t at = 1000000 * (round + 1) + (HOP - BEHIND) * (int64_t)i;
            if (i > 0)
                add_op(&store, i, GN_OP_RECEIVE, i - 1, round, at);
            if (i + 1 < CLOCKS)
                add_op(&store, i, GN_OP_SEND, i, round, at + HOP - TAKES);
        }
    }
    struct threads_world *world = threads_world_new(1);
    const struct gn_transport transport = threads_transport(world, 0);
    const struct gn_repair_settings settings = {.gamma = 0.999999, .slope = 0.01, .longest_ticks = 100000};
    struct gn_repair_result result;
    struct gn_repair *repair;
    struct gn_error err;
    assert_int_equal(gn_repair(&repair, d, &store, &transport, owner, &settings, &result, &err), 0);
    assert_int_equal(result.before.messages.worst_ticks, BEHIND - TAKES);
    assert_true(result.converged);
    assert_int_equal(result.pass_count, 3);
    assert_in_range(result.after.largest_shift_ticks, 200000, (CLOCKS - 1) * (BEHIND - TAKES));
    gn_repair_close(repair);
    gn_latency_close(&result.latency);
    gn_op_store_close(&store);
    threads_world_free(world);
    gn_definitions_free(d);
}

static void add_broadcast(struct gn_op_store *store, uint32_t location, uint32_t number, bool is_empty)
{
    for (int end = 0; end <= 1; end++) {
        const uint32_t tick = 10 * number + 2 * location + (uint32_t)end;
        add_op(store, location, end ? GN_OP_END : GN_OP_BEGIN, 0, number, tick);
        struct gn_op *op = gn_op_at(store, location, store->rows[location].count - 1);
        op->shape = GN_SHAPE_ONE_TO_ALL;
        if (!is_empty && location == 0 && !end)
            op->flags = GN_OP_GIVES;
        if (!is_empty && location > 0 && end)
            op->flags = GN_OP_GETS;
    }
}

/* An instance whose root has nothing to give is over like others: it does not hold those after it. */
static void empty_broadcasts_end(void **state)
{
    (void)state;
    enum { INSTANCES = REPEATED(100000), EMPTY = 1000, MOST_RING = 8192 };
    struct program *p = run_program(5, 2, 0, false);
    struct gn_op_store store;
    struct gn_replay *replay;
    struct gn_error err;
    uint32_t owner[2] = {0}, members[] = {0, 1};
    const uint32_t comm =
        gn_define_comm(p->d, &(struct gn_comm_def){.parent = GN_NONE, .member_count = 2, .members = members});
    assert_int_equal(gn_op_store_open(&store, p->d->location_count, NULL, NULL), 0);
    store.groups = calloc(1, sizeof *store.groups);
    store.groups[0] = (struct gn_op_group){.comm = comm};
    store.group_count = 1;
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t number = 0; number < INSTANCES; number++)
            add_broadcast(&store, i, number, number % EMPTY == 0);
    const struct gn_transport transport = gn_transport_alone();
    assert_int_equal(gn_replay_open(&replay, p->d, &store, &transport, owner, &err), 0);
    for (int measure = 0; measure <= 1; measure++) {
        const struct gn_replay_settings settings = {.measure = measure};
        struct gn_replay_stats stats;
        assert_int_equal(gn_replay_forward(replay, &settings, NULL, &stats, &err), 0);
        assert_int_equal(stats.collectives.messages, INSTANCES - INSTANCES / EMPTY);
        assert_int_equal(stats.incomplete_collectives, 0);
        assert_in_range(replay->groups[0].capacity, 1, MOST_RING);
    }
    gn_replay_close(replay);
    transport.close(transport.self);
    gn_op_store_close(&store);
    free_program(p);
}

/* Clock 1 is 500 us ahead: a message to location 0 is reversed by 490 us. Then location 0 has left a
 * collective 400 us before location 1 has entered it, in truth, and 890 us by their clocks. How far the end
 * at location 0 is moved; flags: of the collective, besides GIVES and GETS. */
static int64_t shift_of_early_end(uint8_t flags, struct gn_repair_result *result)
{
    enum { CLOCKS = 2, AHEAD = 500000 };
    static const int64_t ticks[CLOCKS][2] = {{2000000, 2010000}, {2400000 + AHEAD, 2410000 + AHEAD}};
    const uint32_t owner[CLOCKS] = {0};
    uint32_t members[CLOCKS] = {0, 1};
    struct gn_definitions *d = gn_definitions_new();
    struct gn_op_store store;
    struct gn_repair *repair;
    struct gn_error err;
    assert_int_equal(gn_op_store_open(&store, CLOCKS, NULL, NULL), 0);
    for (uint32_t i = 0; i < CLOCKS; i++) {
        gn_define_process(d, &(struct gn_process){0, GN_NONE, GN_NONE, (int32_t)i});
        gn_define_location(d, &(struct gn_location_def){.process = i, .domain = i + 1, .file_id = i});
    }
    gn_define_comm(d, &(struct gn_comm_def){.parent = GN_NONE, .member_count = CLOCKS, .members = members});
    store.channels = calloc(1, sizeof *store.channels);
    store.channels[0] = (struct gn_op_channel){.from = 1, .to = 0, .sends = 1};
    store.groups = calloc(1, sizeof *store.groups);
    store.channel_count = store.group_count = 1;
    add_op(&store, 0, GN_OP_RECEIVE, 0, 0, 1010000);
    add_op(&store, 1, GN_OP_SEND, 0, 0, 1000000 + AHEAD);
    for (uint32_t i = 0; i < CLOCKS; i++)
        for (int end = 0; end <= 1; end++) {
            add_op(&store, i, end ? GN_OP_END : GN_OP_BEGIN, 0, 0, ticks[i][end]);
            gn_op_at(&store, i, 1 + (uint64_t)end)->flags =
                (uint8_t)(flags | (end ? GN_OP_GETS : GN_OP_GIVES));
        }
    const struct gn_transport transport = gn_transport_alone();
    const struct gn_repair_settings settings = {.gamma = 0.999999, .slope = 0.01, .longest_ticks = 100000};
    assert_int_equal(gn_repair(&repair, d, &store, &transport, owner, &settings, result, &err), 0);
    const int64_t shift = gn_op_at(&store, 0, 2)->shift;
    gn_repair_close(repair);
    gn_latency_close(&result->latency);
    gn_op_store_close(&store);
    transport.close(transport.self);
    gn_definitions_free(d);
    return shift;
}

/* 490 us is as near the truth as the message tells. */
static void nothing_is_moved_for_what_only_may_hold(void **state)
{
    (void)state;
    struct gn_repair_result result;
    assert_in_range(shift_of_early_end(GN_OP_VAGUE, &result), 489000, 491000);
    assert_int_equal(result.before.uncertain.reversed, 1);
    assert_int_equal(result.before.uncertain.error_ticks_max, 890000);
    assert_int_equal(result.after.uncertain.corrected, 0);
    assert_int_equal(result.after.collectives.messages, 0);
    /* of what is certain, the clocks are wrong by so much */
    assert_in_range(shift_of_early_end(0, &result), 889000, 891000);
    assert_int_equal(result.after.collectives.corrected, 1);
}

/* test_replay SEED PROGRAMS DELAY_US: as many more as one likes, from a seed on. */
static int stress(char **arguments)
{
    const uint32_t programs = (uint32_t)strtoul(arguments[2], NULL, 10);
    most_delay_us = (uint32_t)strtoul(arguments[3], NULL, 10);
    for (uint64_t seed = strtoull(arguments[1], NULL, 10), end = seed + programs; seed < end; seed++) {
        first_seed = seed;
        printf("seed %llu\n", (unsigned long long)seed);
        fflush(stdout);
        each_program(false, 1);
        each_program(true, 1);
        every_circle_is_cut_alike(4);
    }
    return 0;
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_time_is_beyond_the_end),
        cmocka_unit_test(a_chain_of_clocks_converges),
        cmocka_unit_test(empty_broadcasts_end),
        cmocka_unit_test(nothing_is_moved_for_what_only_may_hold),
        cmocka_unit_test(every_program_is_solved),
        cmocka_unit_test(broken_traces_are_solved),
        cmocka_unit_test(members_that_are_none_are_not_waited_for),
        cmocka_unit_test(circles_are_cut),
        cmocka_unit_test(circles_are_cut_by_all_alike),
        cmocka_unit_test(disagreeing_members_are_treated_alike),
        cmocka_unit_test(late_batches_change_nothing),
        cmocka_unit_test(corrected_times_stay_inside_bounds),
    };
    return count == 4 ? stress(arguments) : cmocka_run_group_tests(tests, NULL, NULL);
}
