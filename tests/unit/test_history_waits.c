/*
 * Waits that a trace does not show, against the truth: who gave to whom in an alltoallv, and whether a large
 * message waited for its receiver. Small random programs are simulated, their events become a history, and
 * they are simulated again with computation really faster.
 *
 * test_history_waits [-n CASES] [-s SEED]
 */
#include "analyse/names.h"
#include "analyse/whatif.h"
#include "base/mix.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#ifndef CASES
#define CASES 2000
#endif

static int cases = CASES;
static uint64_t seed = 1;

enum {
    MOST_RANKS = 5,
    THREADS = 3,
    MOST_LOCATIONS = MOST_RANKS * THREADS,
    MOST_EVENTS = 1000,
    EAGER_BYTES = 10000,
    OWN_NS = 50,
    UNIT_NS = 1000
};
enum { COMPUTE, ALLTOALLV, IRECV, ISEND, WAITALL, BSEND, RECV, SSEND, BARRIER, JOIN, REGIONS };
static const char *const names[REGIONS] = {"compute",          "MPI_Alltoallv", "MPI_Irecv", "MPI_Isend",
                                           "MPI_Waitall",      "MPI_Bsend",     "MPI_Recv",  "MPI_Ssend",
                                           "implicit barrier", "pthread_join"};

/* The program follows from its seed: whatever is faster, all random numbers are the same. */
struct program {
    uint64_t seed;
    uint32_t ranks, rounds;
    double share; /* of compute that goes at fast_rank */
    uint32_t fast_rank;
    bool meets;    /* synchronous messages only */
    bool forks;    /* ranks have threads beside the one that calls MPI */
    bool crosses;  /* synchronous messages and alltoallv, also one across the other */
    bool collects; /* rank 0 receives from anybody only */
    bool asks; /* rank 0 receives from anybody here and from one there, and does what that one's message says
                */
};

struct world {
    const struct program *program;
    struct gn_definitions *d;
    struct gn_event events[MOST_LOCATIONS][MOST_EVENTS];
    uint32_t count[MOST_LOCATIONS];
    uint32_t pulled[MOST_LOCATIONS];
    double now_ns[MOST_LOCATIONS];
};

static uint64_t some(const struct world *w, uint32_t round, uint32_t what, uint32_t rank)
{
    return gn_mix_at(w->program->seed, (uint64_t)round << 8 | what, rank);
}

static double some_ns(const struct world *w, uint32_t round, uint32_t what, uint32_t rank, uint32_t most)
{
    return (double)(UNIT_NS * (1 + some(w, round, what, rank) % most));
}

static struct gn_event *emit(struct world *w, uint32_t rank, enum gn_event_kind kind)
{
    struct gn_event *e = &w->events[rank][w->count[rank]++];
    *e = gn_event_bare(kind, rank, (uint64_t)w->now_ns[rank]);
    e->comm = 0;
    return e;
}

static void enter(struct world *w, uint32_t rank, uint32_t region)
{
    emit(w, rank, GN_EVENT_ENTER)->region = region;
}

static void leave(struct world *w, uint32_t rank, uint32_t region)
{
    emit(w, rank, GN_EVENT_LEAVE)->region = region;
}

static void compute(struct world *w, uint32_t round, uint32_t what, uint32_t rank)
{
    const bool is_faster =
        w->program->fast_rank == GN_NONE || w->program->fast_rank == rank % w->program->ranks;
    enter(w, rank, COMPUTE);
    w->now_ns[rank] += some_ns(w, round, what, rank, 1000) * (1 - (is_faster ? w->program->share : 0));
    leave(w, rank, COMPUTE);
}

/* ---- alltoallv ---- */

static bool gives_to(const struct world *w, uint32_t round, uint32_t from, uint32_t to)
{
    return from != to && some(w, round, 10 + to, from) % 3 == 0;
}

static double begin_exchange(struct world *w, uint32_t round, uint32_t r)
{
    compute(w, round, 0, r);
    enter(w, r, ALLTOALLV);
    emit(w, r, GN_EVENT_COLLECTIVE_BEGIN)->op = GN_COLLECTIVE_ALLTOALLV;
    return w->now_ns[r];
}

static void end_exchange(struct world *w, uint32_t round, uint32_t r, const double *entered_ns)
{
    uint64_t sent = 0, received = 0;
    w->now_ns[r] += OWN_NS;
    for (uint32_t other = 0; other < w->program->ranks; other++) {
        sent += gives_to(w, round, r, other);
        received += gives_to(w, round, other, r);
        if (gives_to(w, round, other, r))
            w->now_ns[r] = fmax(w->now_ns[r], entered_ns[other] + some_ns(w, round, 20 + r, other, 5));
    }
    struct gn_event *end = emit(w, r, GN_EVENT_COLLECTIVE_END);
    end->op = GN_COLLECTIVE_ALLTOALLV;
    end->bytes_sent = 8 * sent;
    end->bytes_received = 8 * received;
    leave(w, r, ALLTOALLV);
}

static void exchange(struct world *w, uint32_t round)
{
    const uint32_t n = w->program->ranks;
    double entered_ns[MOST_RANKS];
    for (uint32_t r = 0; r < n; r++)
        entered_ns[r] = begin_exchange(w, round, r);
    for (uint32_t r = 0; r < n; r++)
        end_exchange(w, round, r, entered_ns);
}

/* ---- messages to the right: large ones wait for their receiver ---- */

static uint64_t bytes_of(const struct world *w, uint32_t round)
{
    return some(w, round, 3, 0) % 2 ? EAGER_BYTES / 2 : 2 * EAGER_BYTES;
}

static struct gn_event *message(struct world *w, uint32_t round, uint32_t rank, enum gn_event_kind kind,
                                uint32_t peer)
{
    struct gn_event *e = emit(w, rank, kind);
    e->peer = peer;
    e->tag = 0;
    e->request = 2 * round + (kind == GN_EVENT_MPI_ISEND || kind == GN_EVENT_MPI_ISEND_COMPLETE);
    e->bytes_sent = kind == GN_EVENT_MPI_ISEND ? bytes_of(w, round) : 0;
    e->bytes_received = kind == GN_EVENT_MPI_IRECV ? bytes_of(w, round) : 0;
    return e;
}

static double post(struct world *w, uint32_t round, uint32_t r)
{
    const double begun_ns = w->now_ns[r];
    enter(w, r, IRECV);
    message(w, round, r, GN_EVENT_MPI_IRECV_REQUEST, (r + w->program->ranks - 1) % w->program->ranks);
    w->now_ns[r] += OWN_NS;
    leave(w, r, IRECV);
    return begun_ns;
}

static double send_on(struct world *w, uint32_t round, uint32_t r)
{
    const double begun_ns = w->now_ns[r];
    enter(w, r, ISEND);
    message(w, round, r, GN_EVENT_MPI_ISEND, (r + 1) % w->program->ranks);
    w->now_ns[r] += OWN_NS;
    leave(w, r, ISEND);
    return begun_ns;
}

static void pass_on(struct world *w, uint32_t round)
{
    const uint32_t n = w->program->ranks;
    const bool is_large = bytes_of(w, round) > EAGER_BYTES, sends_first = some(w, round, 4, 0) % 2;
    /* messages of a call cost alike: that is assumed of what it perhaps waited for */
    const double delay_ns = some_ns(w, round, 5, 0, 5);
    double posted_ns[MOST_RANKS], sent_ns[MOST_RANKS];
    for (uint32_t r = 0; r < n; r++) {
        compute(w, round, 0, r);
        if (sends_first)
            sent_ns[r] = send_on(w, round, r);
        else
            posted_ns[r] = post(w, round, r);
        compute(w, round, 1, r);
        if (sends_first)
            posted_ns[r] = post(w, round, r);
        else
            sent_ns[r] = send_on(w, round, r);
        compute(w, round, 2, r);
    }
    for (uint32_t r = 0; r < n; r++) {
        const uint32_t left = (r + n - 1) % n, right = (r + 1) % n;
        const double come_ns = (is_large ? fmax(sent_ns[left], posted_ns[r]) : sent_ns[left]) + delay_ns,
                     gone_ns = is_large ? fmax(sent_ns[r], posted_ns[right]) + delay_ns : 0;
        enter(w, r, WAITALL);
        w->now_ns[r] = fmax(w->now_ns[r] + OWN_NS, fmax(come_ns, gone_ns));
        message(w, round, r, GN_EVENT_MPI_ISEND_COMPLETE, GN_NONE);
        message(w, round, r, GN_EVENT_MPI_IRECV, left);
        leave(w, r, WAITALL);
    }
}

/* ---- a buffered message, however large, never waits ---- */

static void hand_over(struct world *w)
{
    compute(w, 0, 0, 0);
    enter(w, 0, BSEND);
    struct gn_event *sent = message(w, 0, 0, GN_EVENT_MPI_SEND, 1);
    sent->bytes_sent = 4 * EAGER_BYTES;
    const double given_ns = w->now_ns[0];
    w->now_ns[0] += OWN_NS;
    leave(w, 0, BSEND);
    w->now_ns[1] += 2000 * UNIT_NS;
    enter(w, 1, RECV);
    w->now_ns[1] = fmax(w->now_ns[1] + OWN_NS, given_ns + UNIT_NS);
    struct gn_event *received = message(w, 0, 1, GN_EVENT_MPI_RECV, 0);
    received->bytes_received = 4 * EAGER_BYTES;
    leave(w, 1, RECV);
}

/* ---- a synchronous message, however small, waits for its receiver ---- */

static void meet(struct world *w, uint32_t round)
{
    const double delay_ns = some_ns(w, round, 5, 0, 5);
    for (uint32_t r = 0; r < w->program->ranks; r++)
        compute(w, round, 0, r);
    for (uint32_t r = 0; r + 1 < w->program->ranks; r += 2) {
        const double begun_ns = fmax(w->now_ns[r], w->now_ns[r + 1]);
        enter(w, r, SSEND);
        message(w, round, r, GN_EVENT_MPI_SEND, r + 1)->bytes_sent = 8;
        w->now_ns[r] = fmax(w->now_ns[r] + OWN_NS, begun_ns + delay_ns);
        leave(w, r, SSEND);
        enter(w, r + 1, RECV);
        w->now_ns[r + 1] = fmax(w->now_ns[r + 1] + OWN_NS, begun_ns + delay_ns);
        message(w, round, r + 1, GN_EVENT_MPI_RECV, r)->bytes_received = 8;
        leave(w, r + 1, RECV);
    }
}

/* One sends synchronously ahead of an alltoallv, the other receives behind it, and gets nothing from it
 * there. */
static void cross(struct world *w, uint32_t round)
{
    const uint32_t n = w->program->ranks, from = (uint32_t)(some(w, round, 7, 0) % n),
                   to = (from + 1 + (uint32_t)(some(w, round, 8, 0) % (n - 1))) % n;
    const double delay_ns = some_ns(w, round, 5, 0, 5);
    double entered_ns[MOST_RANKS];
    if (gives_to(w, round, from, to)) {
        exchange(w, round);
        return;
    }
    for (uint32_t r = 0; r < n; r++)
        if (r != from)
            entered_ns[r] = begin_exchange(w, round, r);
    end_exchange(w, round, to, entered_ns);
    compute(w, round, 1, to);
    compute(w, round, 1, from);
    const double begun_ns = fmax(w->now_ns[from], w->now_ns[to]);
    enter(w, from, SSEND);
    message(w, round, from, GN_EVENT_MPI_SEND, to)->bytes_sent = 8;
    w->now_ns[from] = fmax(w->now_ns[from] + OWN_NS, begun_ns + delay_ns);
    leave(w, from, SSEND);
    enter(w, to, RECV);
    w->now_ns[to] = fmax(w->now_ns[to] + OWN_NS, begun_ns + delay_ns);
    message(w, round, to, GN_EVENT_MPI_RECV, from)->bytes_received = 8;
    leave(w, to, RECV);
    entered_ns[from] = begin_exchange(w, round, from);
    for (uint32_t r = 0; r < n; r++)
        if (r != to)
            end_exchange(w, round, r, entered_ns);
}

/* ---- rank 0 receives from whom comes first, and does the same whoever that is ---- */

static void collect(struct world *w, uint32_t round)
{
    double come_ns[MOST_RANKS];
    for (uint32_t r = 1; r < w->program->ranks; r++) {
        compute(w, round, 0, r);
        enter(w, r, BSEND);
        message(w, round, r, GN_EVENT_MPI_SEND, 0)->bytes_sent = 8;
        come_ns[r] = w->now_ns[r] + UNIT_NS;
        w->now_ns[r] += OWN_NS;
        leave(w, r, BSEND);
    }
    for (uint32_t k = 1; k < w->program->ranks; k++) {
        uint32_t first = 1;
        for (uint32_t r = 2; r < w->program->ranks; r++)
            first = come_ns[r] < come_ns[first] ? r : first;
        enter(w, 0, RECV);
        w->now_ns[0] = fmax(w->now_ns[0] + OWN_NS, come_ns[first]);
        message(w, round, 0, GN_EVENT_MPI_RECV, first)->bytes_received = 8;
        leave(w, 0, RECV);
        come_ns[first] = INFINITY;
        compute(w, round, k, 0);
    }
}

/* ---- rank 0 asks for anybody in some calls, for one sender in others, each call at a place of its own; what
 * it does then depends on whose message it was, and with answers that one goes on only then ---- */

enum { ASKED_TAG = 7 };

struct asking {
    double come_ns[MOST_RANKS][MOST_EVENTS / 8]; /* of each sender's messages */
    uint32_t sent[MOST_RANKS], taken[MOST_RANKS];
};

static void ask_send(struct world *w, struct asking *a, uint32_t r, bool computes)
{
    const uint32_t k = a->sent[r]++;
    if (computes)
        compute(w, k, 30, r);
    enter(w, r, BSEND);
    struct gn_event *sent = emit(w, r, GN_EVENT_MPI_SEND);
    sent->peer = 0;
    sent->tag = ASKED_TAG;
    sent->bytes_sent = 8;
    a->come_ns[r][k] = w->now_ns[r] + UNIT_NS;
    w->now_ns[r] += OWN_NS;
    leave(w, r, BSEND);
}

/* The sender whose message is there first; GN_NONE: none is to come. */
static uint32_t first_come(const struct world *w, const struct asking *a)
{
    uint32_t first = GN_NONE;
    for (uint32_t r = 1; r < w->program->ranks; r++)
        if (a->taken[r] < a->sent[r] &&
            (first == GN_NONE || a->come_ns[r][a->taken[r]] < a->come_ns[first][a->taken[first]]))
            first = r;
    return first;
}

static void ask_receive(struct world *w, struct asking *a, uint32_t k, bool is_open, uint32_t *from)
{
    *from = is_open ? first_come(w, a) : *from;
    emit(w, 0, GN_EVENT_ENTER)->region = RECV;
    w->events[0][w->count[0] - 1].path = k;
    struct gn_event *post = emit(w, 0, GN_EVENT_MPI_IRECV_REQUEST);
    post->peer = is_open ? GN_ANY : *from;
    post->tag = ASKED_TAG;
    post->request = k + 1;
    w->now_ns[0] = fmax(w->now_ns[0] + OWN_NS, a->come_ns[*from][a->taken[*from]++]);
    struct gn_event *received = emit(w, 0, GN_EVENT_MPI_IRECV);
    received->peer = *from;
    received->tag = ASKED_TAG;
    received->bytes_received = 8;
    received->request = k + 1;
    leave(w, 0, RECV);
}

static void answer(struct world *w, struct asking *a, uint32_t to)
{
    enter(w, 0, BSEND);
    struct gn_event *sent = emit(w, 0, GN_EVENT_MPI_SEND);
    sent->peer = to;
    sent->tag = ASKED_TAG;
    sent->bytes_sent = 8;
    const double come_ns = w->now_ns[0] + UNIT_NS;
    w->now_ns[0] += OWN_NS;
    leave(w, 0, BSEND);
    enter(w, to, RECV);
    w->now_ns[to] = fmax(w->now_ns[to] + OWN_NS, come_ns);
    struct gn_event *received = emit(w, to, GN_EVENT_MPI_RECV);
    received->peer = 0;
    received->tag = ASKED_TAG;
    received->bytes_received = 8;
    leave(w, to, RECV);
    if (a->sent[to] < 1 + some(w, 0, 35, to) % w->program->rounds)
        ask_send(w, a, to, true);
}

/* All messages are received in the end, in whatever order: it is always the same work. */
static void ask(struct world *w)
{
    struct asking *a = calloc(1, sizeof *a);
    const bool answers = w->program->seed % 3 == 0;
    for (uint32_t r = 1; r < w->program->ranks; r++)
        for (uint32_t k = 0; k < (answers ? 1 : w->program->rounds); k++)
            ask_send(w, a, r, true);
    for (uint32_t k = 0; first_come(w, a) != GN_NONE; k++) {
        uint32_t from = 1 + (uint32_t)(some(w, k, 31, 0) % (w->program->ranks - 1));
        const bool is_left = a->taken[from] < a->sent[from]; /* the program counts what it has had of whom */
        ask_receive(w, a, k, answers || !is_left || some(w, k, 32, 0) % 3 == 0, &from);
        compute(w, a->taken[from], 40 + from, 0);
        if (answers)
            answer(w, a, from);
    }
    free(a);
}

/* ---- threads: rank r has the locations r, ranks + r, 2 ranks + r, of which the first one calls MPI ---- */

static double meet_at_barrier(struct world *w, uint32_t rank)
{
    double last_ns = 0;
    for (uint32_t l = rank; l < THREADS * w->program->ranks; l += w->program->ranks)
        last_ns = fmax(last_ns, w->now_ns[l]);
    return last_ns + OWN_NS;
}

/* Some of what a team does ends in a barrier that the trace has, some in a join alone. */
static void team(struct world *w, uint32_t round, uint32_t rank)
{
    const uint32_t n = w->program->ranks;
    const bool has_barrier = some(w, round, 50, 0) % 3;
    compute(w, round, 51, rank);
    emit(w, rank, GN_EVENT_THREAD_FORK);
    for (uint32_t l = rank; l < THREADS * n; l += n) {
        w->now_ns[l] = fmax(w->now_ns[l], w->now_ns[rank]);
        if (l != rank)
            emit(w, l, GN_EVENT_THREAD_BEGIN);
    }
    for (uint32_t l = rank; l < THREADS * n; l += n)
        compute(w, round, 52 + l / n, l);
    const double over_ns = meet_at_barrier(w, rank);
    for (uint32_t l = rank; l < THREADS * n; l += n) {
        if (has_barrier)
            enter(w, l, BARRIER);
        else if (l == rank && some(w, round, 58, 0) % 2)
            enter(w, l, JOIN);
        w->now_ns[l] = over_ns;
        if (has_barrier)
            leave(w, l, BARRIER);
        if (l != rank)
            emit(w, l, GN_EVENT_THREAD_END);
    }
    emit(w, rank, GN_EVENT_THREAD_JOIN);
    if (!has_barrier && some(w, round, 58, 0) % 2)
        leave(w, rank, JOIN);
    compute(w, round, 56, rank);
}

/* A thread that goes on beside several calls of its rank, until it is joined. */
static void companion(struct world *w, uint32_t round, uint32_t rank, bool begins)
{
    const uint32_t l = w->program->ranks + rank;
    if (begins) {
        emit(w, rank, GN_EVENT_THREAD_FORK);
        w->now_ns[l] = fmax(w->now_ns[l], w->now_ns[rank]);
        emit(w, l, GN_EVENT_THREAD_BEGIN);
        for (uint32_t i = 0; i < 3; i++)
            compute(w, round + i, 57, l);
        emit(w, l, GN_EVENT_THREAD_END);
        return;
    }
    compute(w, round, 56, rank);
    enter(w, rank, JOIN);
    w->now_ns[rank] = fmax(w->now_ns[rank], w->now_ns[l]) + OWN_NS;
    emit(w, rank, GN_EVENT_THREAD_JOIN);
    leave(w, rank, JOIN);
}

static void fork_round(struct world *w, uint32_t round)
{
    const bool is_long = some(w, 0, 59, 0) % 2;
    for (uint32_t r = 0; r < w->program->ranks; r++)
        if (!is_long)
            team(w, round, r);
        else
            companion(w, round, r, round % 2);
    if (some(w, round, 6, 0) % 2)
        exchange(w, round);
    else
        meet(w, round);
}

/* ---- the world ---- */

static struct gn_definitions *define_threads(struct gn_definitions *d, uint32_t ranks)
{
    for (uint32_t l = ranks; l < THREADS * ranks; l++)
        gn_define_location(d, &(struct gn_location_def){.process = l % ranks, .events = UINT64_MAX});
    return d;
}

static struct gn_definitions *define(uint32_t ranks)
{
    struct gn_definitions *d = gn_definitions_new();
    uint32_t members[MOST_RANKS];
    d->ticks_per_second = 1000000000;
    for (uint32_t r = 0; r < REGIONS; r++)
        gn_define_region(d, &(struct gn_region_def){.name = gn_define_string(d, names[r]),
                                                    .role = r == COMPUTE || r == JOIN ? GN_ROLE_FUNCTION
                                                            : r == BARRIER            ? GN_ROLE_BARRIER
                                                                                      : GN_ROLE_MPI});
    for (uint32_t r = 0; r < ranks; r++) {
        members[r] = gn_define_process(d, &(struct gn_process){.main_location = GN_NONE, .rank = (int32_t)r});
        gn_define_location(d, &(struct gn_location_def){.process = r, .events = UINT64_MAX});
    }
    gn_define_comm(d, &(struct gn_comm_def){.parent = GN_NONE, .member_count = ranks, .members = members});
    return d;
}

/* How long it took. */
static double simulate(struct world *w, const struct program *program)
{
    double length_ns = 0;
    *w = (struct world){.program = program, .d = define(program->ranks)};
    if (program->asks)
        ask(w);
    if (program->forks)
        define_threads(w->d, program->ranks);
    if (program->seed % 2 && !program->collects && !program->asks && !program->forks)
        hand_over(w);
    for (uint32_t round = 1; round <= program->rounds && !program->asks; round++)
        if (program->forks)
            fork_round(w, round);
        else if (program->collects)
            collect(w, round);
        else if (program->crosses && some(w, round, 9, 0) % 3)
            cross(w, round);
        else if (program->meets || program->crosses || (program->seed % 3 == 0 && some(w, round, 6, 0) % 2))
            meet(w, round);
        else if (some(w, round, 6, 0) % 2)
            exchange(w, round);
        else
            pass_on(w, round);
    if (program->forks && program->rounds % 2)
        fork_round(w, program->rounds + 1);
    for (uint32_t l = 0; l < w->d->location_count; l++) {
        emit(w, l, GN_EVENT_PROGRAM_END);
        length_ns = l < program->ranks ? fmax(length_ns, w->now_ns[l]) : length_ns;
    }
    return length_ns;
}

static int64_t pull(void *self, uint32_t location, const struct gn_event **events, struct gn_error *err)
{
    struct world *w = self;
    (void)err;
    if (w->pulled[location] == w->count[location])
        return 0;
    *events = &w->events[location][w->pulled[location]++]; /* one by one, so that they come in time */
    return 1;
}

static struct gn_whatif_result foretell(const struct gn_history *h, const struct program *faster)
{
    bool chosen[64] = {false}, at[MOST_LOCATIONS];
    float share[64] = {0};
    assert_true(h->activity_count < 64 && gn_activities_named(h, "compute", chosen) > 0);
    for (size_t a = 0; a < h->activity_count; a++)
        share[a] = chosen[a] ? (float)faster->share : 0;
    for (uint32_t l = 0; l < h->definitions->location_count; l++)
        at[l] = faster->fast_rank == GN_NONE || faster->fast_rank == l % faster->ranks;
    struct gn_whatif_pass *pass = gn_whatif_pass_new(h);
    const struct gn_whatif_result result =
        gn_whatif(pass, &(struct gn_whatif){.share = share, .at_location = at});
    gn_whatif_pass_free(pass);
    return result;
}

static struct gn_whatif_result told_of(const struct program *program, struct world *w)
{
    struct gn_error err = {""};
    struct gn_bounds *bounds = gn_bounds_reference(1e9, 1, 0, &err);
    const struct gn_bounds *of[MOST_LOCATIONS];
    for (size_t l = 0; l < MOST_LOCATIONS; l++)
        of[l] = bounds;
    struct gn_history h;
    struct program original = *program;
    original.share = 0;
    simulate(w, &original);
    struct gn_source source = {.self = w, .definitions = w->d, .pull = pull};
    /* no message that is there when it is asked for has been under way for longer */
    const struct gn_history_settings how = {.bounds = of, .longest_ns = 5 * UNIT_NS + OWN_NS};
    if (gn_history_read(&h, &source, &how, &err) != 0)
        fail_msg("%s", err.text);
    assert_false(h.refuted);
    const struct gn_whatif_result told = foretell(&h, program);
    gn_history_clear(&h);
    gn_definitions_free(w->d);
    gn_bounds_free(bounds);
    return told;
}

static bool is_right(const struct program *program, struct world *w)
{
    const struct gn_whatif_result told = told_of(program, w);
    const double truth_ns = simulate(w, program), rounding_ns = 4 * program->rounds + 4;
    gn_definitions_free(w->d);
    if (truth_ns >= (double)told.length.lo_ns - rounding_ns &&
        truth_ns <= (double)told.length.hi_ns + rounding_ns)
        return true;
    fprintf(stderr, "seed %lu, %u ranks, %u rounds, %g of rank %d: %.0f ns, not %ld … %ld\n",
            (unsigned long)program->seed, program->ranks, program->rounds, program->share,
            (int)program->fast_rank, truth_ns, (long)told.length.lo_ns, (long)told.length.hi_ns);
    return false;
}

static void what_is_not_shown_stays_open(void **state)
{
    (void)state;
    struct world *w = malloc(sizeof *w);
    uint64_t random = seed;
    int wrong = 0;
    for (int i = 0; i < cases; i++) {
        struct program p = {.seed = gn_mix_next(&random) % 1000000,
                            .ranks = 2 + (uint32_t)(gn_mix_next(&random) % (MOST_RANKS - 1)),
                            .rounds = 1 + (uint32_t)(gn_mix_next(&random) % 12)};
        p.share = (double)(1 + gn_mix_next(&random) % 4) / 4;
        p.fast_rank = gn_mix_next(&random) % 2 ? GN_NONE : (uint32_t)(gn_mix_next(&random) % p.ranks);
        wrong += !is_right(&p, w);
    }
    free(w);
    assert_int_equal(wrong, 0);
}

/* The sort keeps the members of an alltoallv together, MPI does not. */
static void a_synchronous_send_waits_across_an_alltoallv(void **state)
{
    (void)state;
    struct world *w = malloc(sizeof *w);
    uint64_t random = seed;
    int wrong = 0;
    for (int i = 0; i < cases; i++) {
        struct program p = {.seed = gn_mix_next(&random) % 1000000,
                            .ranks = 2 + (uint32_t)(gn_mix_next(&random) % (MOST_RANKS - 1)),
                            .rounds = 1 + (uint32_t)(gn_mix_next(&random) % 8),
                            .crosses = true};
        p.share = (double)(1 + gn_mix_next(&random) % 4) / 4;
        p.fast_rank = gn_mix_next(&random) % 2 ? GN_NONE : (uint32_t)(gn_mix_next(&random) % p.ranks);
        wrong += !is_right(&p, w);
    }
    free(w);
    assert_int_equal(wrong, 0);
}

/* With other times another message may come first. */
static void who_comes_first_stays_open(void **state)
{
    (void)state;
    struct world *w = malloc(sizeof *w);
    int wrong = 0;
    for (uint64_t i = 0; i < 400; i++) {
        const struct program p = {.seed = seed + i,
                                  .ranks = 3 + (uint32_t)(i % 3),
                                  .rounds = 1 + (uint32_t)(i % 4),
                                  .share = (double)(1 + i % 4) / 4,
                                  .fast_rank = i % 2 ? GN_NONE : (uint32_t)(i % 3),
                                  .collects = true};
        wrong += !is_right(&p, w);
    }
    free(w);
    assert_int_equal(wrong, 0);
}

/* Whatever each call has seen: most see one sender only. */
static void a_receive_from_anybody_may_take_what_another_call_took(void **state)
{
    (void)state;
    struct world *w = malloc(sizeof *w);
    uint64_t random = seed;
    int wrong = 0;
    for (int i = 0; i < cases; i++) {
        struct program p = {.seed = gn_mix_next(&random) % 1000000,
                            .ranks = 3 + (uint32_t)(gn_mix_next(&random) % (MOST_RANKS - 2)),
                            .rounds = 1 + (uint32_t)(gn_mix_next(&random) % 6),
                            .asks = true};
        p.share = (double)(1 + gn_mix_next(&random) % 4) / 4;
        p.fast_rank = gn_mix_next(&random) % 2 ? GN_NONE : (uint32_t)(gn_mix_next(&random) % p.ranks);
        wrong += !is_right(&p, w);
    }
    free(w);
    assert_int_equal(wrong, 0);
}

/* The thread that joins others is done no sooner than they are. */
static void threads_are_waited_for(void **state)
{
    (void)state;
    struct world *w = malloc(sizeof *w);
    uint64_t random = seed;
    int wrong = 0;
    for (int i = 0; i < cases; i++) {
        struct program p = {.seed = gn_mix_next(&random) % 1000000,
                            .ranks = 2 + (uint32_t)(gn_mix_next(&random) % (MOST_RANKS - 1)),
                            .rounds = 1 + (uint32_t)(gn_mix_next(&random) % 8),
                            .forks = true};
        p.share = (double)(1 + gn_mix_next(&random) % 4) / 4;
        p.fast_rank = gn_mix_next(&random) % 2 ? GN_NONE : (uint32_t)(gn_mix_next(&random) % p.ranks);
        wrong += !is_right(&p, w);
    }
    free(w);
    assert_int_equal(wrong, 0);
}

/* Who waits for whom in MPI_Ssend follows from MPI: one number, where clocks and the longest delay leave some
 * microseconds open. */
static void a_synchronous_send_waits_for_certain(void **state)
{
    (void)state;
    struct world *w = malloc(sizeof *w);
    int wide = 0;
    for (uint64_t i = 0; i < 50; i++) {
        const struct program p = {
            .seed = 2 * i, .ranks = 2, .rounds = 5, .share = 0.5, .fast_rank = 1, .meets = true};
        const struct gn_whatif_result told = told_of(&p, w);
        wide += told.reduction_hi_ns - told.reduction_lo_ns > p.rounds * 10 * UNIT_NS;
    }
    free(w);
    assert_int_equal(wide, 0);
}

int main(int argc, char **argv)
{
    int option;
    while ((option = getopt(argc, argv, "n:s:")) != -1) {
        if (option == 'n')
            cases = atoi(optarg);
        else if (option == 's')
            seed = strtoull(optarg, NULL, 10);
        else
            return 2;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_shown_stays_open),
        cmocka_unit_test(a_synchronous_send_waits_across_an_alltoallv),
        cmocka_unit_test(who_comes_first_stays_open),
        cmocka_unit_test(a_receive_from_anybody_may_take_what_another_call_took),
        cmocka_unit_test(threads_are_waited_for),
        cmocka_unit_test(a_synchronous_send_waits_for_certain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
