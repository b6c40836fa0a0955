#include "matching_world.h"

#include "base/mix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 6, MAX_THREADS = 4, COMMS = 4, REQUESTS = 256, QUEUE = 4096, NONE = -1 };

struct message {
    uint64_t n; /* the truth */
    int32_t tag;
    uint32_t source, dest; /* ranks of the world */
    uint32_t comm;         /* place in comms[] */
    uint32_t generation;   /* of the communicator at that place */
    bool taken, withdrawn;
};

enum request_state { UNUSED, MADE, POSTED, MATCHED, CANCELLED };

struct request {
    enum request_state state;
    uint32_t comm;
    int32_t source, tag; /* source: rank of the world or GN_NUMBER_ANY */
    uint64_t order;      /* of posting */
    uint64_t message;
    bool orphan;     /* freed: not for the program any more */
    bool cancelling; /* the program has called MPI_Cancel */
    bool blocking;
    struct gn_receive receive;
};

enum call_kind { NO_CALL, SEND, POST, RECEIVE, PROBE, FAILING_SEND, FAILING_RECEIVE };

struct call {
    enum call_kind kind;
    bool effective;
    uint32_t inside, comm, number_of_comm;
    int32_t peer, tag;
    uint64_t message;
    int request;
};

struct comm {
    bool inter;
    uint32_t generation;
    bool freed[MAX_RANKS];
    uint32_t number[MAX_RANKS];
    uint64_t instances[MAX_RANKS];
};

struct rank {
    struct gn_number_tables *numbers;
    uint32_t comms_made;
    struct request requests[REQUESTS];
    struct call calls[MAX_THREADS];
    uint64_t *arrived; /* messages that nobody has taken, in order of arrival */
    uint32_t arrived_count;
};

/* Sends of a channel so far; open addressing. */
struct channel {
    uint64_t key, sent;
    uint32_t dest_tag, void_;
};

struct world {
    const struct world_options *options;
    struct world_result result;
    uint64_t random, posted;
    uint32_t eagerness; /* of 100: to look whether something is complete */
    struct comm comms[COMMS];
    struct rank ranks[MAX_RANKS];
    struct message *messages;
    uint64_t message_count;
    uint64_t *flying[MAX_RANKS][MAX_RANKS]; /* a queue each */
    uint32_t flying_first[MAX_RANKS][MAX_RANKS], flying_last[MAX_RANKS][MAX_RANKS];
    struct channel *channels;
    uint64_t *truth_of_id; /* of receives whose number is still to come, + 1; 0: none */
    uint64_t ids;
};

enum { CHANNELS = 1 << 22 };

static uint32_t below(struct world *w, uint32_t limit)
{
    return (uint32_t)((gn_mix_next(&w->random) >> 32) * limit >> 32);
}

static bool chance(struct world *w, uint32_t of_10000)
{
    return below(w, 10000) < of_10000;
}

/* ---- what is true, and what is said ---- */

static void check(struct world *w, uint64_t number, uint64_t truth)
{
    if (number == GN_UNNUMBERED)
        w->result.unnumbered++;
    else if (number & GN_NUMBER_UNORDERED)
        w->result.unordered++;
    else if (number == truth)
        w->result.right++;
    else if (w->result.wrong++ == 0)
        fprintf(stderr, "wrong: %llu for %llu, after %llu messages\n", (unsigned long long)number,
                (unsigned long long)truth, (unsigned long long)w->message_count);
}

static void late(void *context, uint64_t id, uint64_t number)
{
    struct world *w = context;
    if (id >= w->ids || w->truth_of_id[id] == 0) {
        w->result.wrong++; /* told twice, or never asked for */
        return;
    }
    w->result.late++;
    check(w, number, w->truth_of_id[id] - 1);
    w->truth_of_id[id] = 0;
}

/* Checks now or, when it comes later, then. */
static uint64_t expect(struct world *w, uint64_t truth)
{
    w->truth_of_id[w->ids] = truth + 1;
    return w->ids++;
}

static void came(struct world *w, uint64_t id, uint64_t number)
{
    if (number == GN_NUMBER_LATER)
        return;
    check(w, number, w->truth_of_id[id] - 1);
    w->truth_of_id[id] = 0;
}

static struct channel *channel_of(struct world *w, uint32_t comm, uint32_t source, uint32_t dest, int32_t tag)
{
    uint64_t key = gn_mix((uint64_t)w->comms[comm].generation << 16 | comm << 8 | source << 4 | dest) ^
                   gn_mix((uint64_t)(uint32_t)tag + 1);
    uint64_t place = gn_mix(key) & (CHANNELS - 1);
    while (w->channels[place].key && w->channels[place].key != key)
        place = (place + 1) & (CHANNELS - 1);
    w->channels[place].key = key;
    return &w->channels[place];
}

/* ---- communicators ---- */

static bool on_one_side(const struct world *w, const struct comm *comm, uint32_t a, uint32_t b)
{
    uint32_t half = w->options->ranks / 2;
    return !comm->inter || (a < half) != (b < half);
}

/* A rank of the world, as the program names it on the communicator. */
static int32_t local_name(const struct world *w, const struct comm *comm, int32_t rank)
{
    int32_t half = (int32_t)w->options->ranks / 2;
    return rank == GN_NUMBER_ANY || !comm->inter || rank < half ? rank : rank - half;
}

static void make_comm(struct world *w, struct comm *comm)
{
    comm->generation++;
    comm->inter = below(w, 3) == 0;
    for (uint32_t rank = 0; rank < w->options->ranks; rank++) {
        comm->freed[rank] = false;
        comm->instances[rank] = 0;
        comm->number[rank] = w->ranks[rank].comms_made++;
    }
}

static bool is_idle(const struct world *w, uint32_t place)
{
    for (uint32_t rank = 0; rank < w->options->ranks; rank++) {
        if (!w->comms[place].freed[rank])
            return false;
        for (uint32_t thread = 0; thread < w->options->threads; thread++)
            if (w->ranks[rank].calls[thread].kind && w->ranks[rank].calls[thread].comm == place)
                return false;
        for (int i = 0; i < REQUESTS; i++)
            if (w->ranks[rank].requests[i].state && w->ranks[rank].requests[i].comm == place &&
                !w->ranks[rank].requests[i].orphan)
                return false;
    }
    return true;
}

static bool in_use(const struct rank *rank, const struct world *w, uint32_t place)
{
    for (uint32_t thread = 0; thread < w->options->threads; thread++)
        if (rank->calls[thread].kind && rank->calls[thread].comm == place)
            return true;
    return false;
}

static bool is_ending(const struct world *w, uint32_t place)
{
    for (uint32_t rank = 0; rank < w->options->ranks; rank++)
        if (w->comms[place].freed[rank])
            return true;
    return false;
}

/* What nobody has received goes with its communicator. */
static void forget_arrived(struct world *w, struct rank *rank)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rank->arrived_count; i++) {
        const struct message *m = &w->messages[rank->arrived[i]];
        if (m->generation == w->comms[m->comm].generation)
            rank->arrived[kept++] = rank->arrived[i];
    }
    rank->arrived_count = kept;
}

/* A rank frees one, whatever is pending on it; when all have, and nothing is pending, there is a new one. */
static void change_comm(struct world *w, uint32_t me, uint32_t place)
{
    struct comm *comm = &w->comms[place];
    if (!comm->freed[me] && !in_use(&w->ranks[me], w, place)) {
        gn_number_comm_gone(w->ranks[me].numbers, comm->number[me], w);
        comm->freed[me] = true;
    }
    if (is_idle(w, place)) {
        for (uint32_t rank = 0; rank < w->options->ranks; rank++)
            for (int i = 0; i < REQUESTS; i++)
                if (w->ranks[rank].requests[i].state && w->ranks[rank].requests[i].comm == place)
                    w->ranks[rank].requests[i].state = UNUSED;
        make_comm(w, comm);
        for (uint32_t rank = 0; rank < w->options->ranks; rank++)
            forget_arrived(w, &w->ranks[rank]);
    }
}

/* ---- the library ---- */

static bool suits(const struct world *w, uint32_t comm, int32_t source, int32_t tag,
                  const struct message *message)
{
    return message->comm == comm && message->generation == w->comms[comm].generation &&
           (source == GN_NUMBER_ANY || source == (int32_t)message->source) &&
           (tag == message->tag || (tag == GN_NUMBER_ANY && message->tag >= 0));
}

static bool send_now(struct world *w, uint32_t me, struct call *call)
{
    uint32_t dest = (uint32_t)call->peer;
    if (w->flying_last[me][dest] - w->flying_first[me][dest] == QUEUE)
        return false;
    struct channel *channel = channel_of(w, call->comm, me, dest, call->tag);
    call->message = w->message_count;
    w->messages[w->message_count] = (struct message){.n = channel->sent++,
                                                     .tag = call->tag,
                                                     .source = me,
                                                     .dest = dest,
                                                     .comm = call->comm,
                                                     .generation = w->comms[call->comm].generation};
    w->flying[me][dest][w->flying_last[me][dest]++ % QUEUE] = w->message_count++;
    return true;
}

static struct request *first_posted(struct world *w, struct rank *rank, const struct message *message)
{
    struct request *first = NULL;
    for (int i = 0; i < REQUESTS; i++) {
        struct request *request = &rank->requests[i];
        if (request->state == POSTED && suits(w, request->comm, request->source, request->tag, message) &&
            (!first || request->order < first->order))
            first = request;
    }
    return first;
}

static void match(struct world *w, struct request *request, uint64_t message)
{
    request->state = request->orphan ? UNUSED : MATCHED;
    request->message = message;
    w->messages[message].taken = true;
}

static void deliver(struct world *w, uint32_t source, uint32_t dest)
{
    struct rank *rank = &w->ranks[dest];
    if (w->flying_first[source][dest] == w->flying_last[source][dest] || rank->arrived_count == QUEUE)
        return;
    uint64_t message = w->flying[source][dest][w->flying_first[source][dest]++ % QUEUE];
    const struct message *m = &w->messages[message];
    if (m->withdrawn || m->generation != w->comms[m->comm].generation)
        return;
    struct request *request = first_posted(w, rank, m);
    if (request)
        match(w, request, message);
    else
        rank->arrived[rank->arrived_count++] = message;
}

/* The first message that has arrived and suits leaves the queue, or NONE. */
static int64_t take_arrived(struct world *w, struct rank *rank, uint32_t comm, int32_t source, int32_t tag)
{
    for (uint32_t i = 0; i < rank->arrived_count; i++) {
        uint64_t message = rank->arrived[i];
        if (!suits(w, comm, source, tag, &w->messages[message]))
            continue;
        memmove(&rank->arrived[i], &rank->arrived[i + 1],
                (--rank->arrived_count - i) * sizeof *rank->arrived);
        return (int64_t)message;
    }
    return NONE;
}

static void post_now(struct world *w, struct rank *rank, struct request *request)
{
    request->order = w->posted++;
    request->state = POSTED;
    int64_t message = take_arrived(w, rank, request->comm, request->source, request->tag);
    if (message != NONE)
        match(w, request, (uint64_t)message);
}

/* ---- calls ---- */

static int new_request(struct rank *rank)
{
    for (int i = 0; i < REQUESTS; i++)
        if (rank->requests[i].state == UNUSED)
            return i;
    return NONE;
}

static uint32_t enter(struct world *w, uint32_t me, const struct call *call)
{
    bool sends = call->kind == SEND || call->kind == FAILING_SEND;
    return w->options->threads == 1
               ? 0
               : gn_number_enter(w->ranks[me].numbers, sends ? GN_NUMBER_SEND : GN_NUMBER_RECEIVE,
                                 call->number_of_comm, local_name(w, &w->comms[call->comm], call->peer),
                                 call->tag);
}

static enum call_kind some_kind(struct world *w)
{
    uint32_t dice = below(w, 100);
    if (chance(w, w->options->failures))
        return dice % 2 ? FAILING_SEND : FAILING_RECEIVE;
    return dice < 50 ? SEND : dice < 80 ? POST : dice < 92 ? RECEIVE : PROBE;
}

/* Most receives are for one of the first messages that have arrived, or they would wait for ever. */
static bool choose_message(struct world *w, uint32_t me, struct call *call)
{
    const struct rank *rank = &w->ranks[me];
    if (rank->arrived_count == 0 || below(w, 4) == 0)
        return call->kind != RECEIVE;
    const struct message *m =
        &w->messages[rank->arrived[below(w, rank->arrived_count < 20 ? rank->arrived_count : 20)]];
    if (m->generation != w->comms[m->comm].generation || w->comms[m->comm].freed[me])
        return call->kind != RECEIVE;
    call->comm = m->comm;
    call->peer = (int32_t)m->source;
    call->tag = m->tag;
    return true;
}

static void widen(struct world *w, struct call *call)
{
    uint32_t which = below(w, 3);
    if (call->tag < 0 || below(w, 100) >= w->options->wildcards)
        return;
    call->peer = which == 0 ? call->peer : GN_NUMBER_ANY;
    call->tag = which == 1 ? call->tag : GN_NUMBER_ANY;
}

/* Several blocking receives for the same message would leave all threads but one behind. */
static bool is_blocked(const struct world *w, const struct rank *rank)
{
    for (uint32_t thread = 1; thread < w->options->threads; thread++)
        if (rank->calls[thread].kind == RECEIVE)
            return true;
    return false;
}

static bool make_request(struct rank *rank, struct call *call)
{
    call->request = new_request(rank);
    if (call->request == NONE)
        return false;
    rank->requests[call->request] = (struct request){.state = MADE,
                                                     .comm = call->comm,
                                                     .source = call->peer,
                                                     .tag = call->tag,
                                                     .blocking = call->kind == RECEIVE};
    return true;
}

static void begin_call(struct world *w, uint32_t me, struct call *call)
{
    struct rank *rank = &w->ranks[me];
    uint32_t place = below(w, COMMS), peer = below(w, w->options->ranks);
    struct call next = {.kind = some_kind(w),
                        .comm = place,
                        .peer = (int32_t)peer,
                        .tag = below(w, 50) == 0 ? -7 : (int32_t)below(w, w->options->tags),
                        .request = NONE};
    bool receives = next.kind != SEND && next.kind != FAILING_SEND;
    if (w->comms[place].freed[me] || !on_one_side(w, &w->comms[place], me, peer))
        return;
    if (next.kind == RECEIVE &&
        (w->options->threads > 1 ? call == rank->calls || is_blocked(w, rank) : rank->arrived_count == 0))
        next.kind = POST;
    if (receives && !choose_message(w, me, &next))
        return;
    if (receives)
        widen(w, &next);
    if ((next.kind == POST || next.kind == RECEIVE) && !make_request(rank, &next))
        return;
    next.number_of_comm = w->comms[next.comm].number[me];
    next.inside = enter(w, me, &next);
    *call = next;
}

static void have_effect(struct world *w, uint32_t me, struct call *call)
{
    struct rank *rank = &w->ranks[me];
    call->effective = true;
    call->message = UINT64_MAX;
    switch (call->kind) {
    case SEND:
        call->effective = send_now(w, me, call);
        break;
    case FAILING_SEND:
        if (below(w, 2))
            send_now(w, me, call);
        break;
    case POST:
    case RECEIVE:
        post_now(w, rank, &rank->requests[call->request]);
        break;
    case PROBE:
    case FAILING_RECEIVE: {
        int64_t message = call->kind == FAILING_RECEIVE && below(w, 2)
                              ? NONE
                              : take_arrived(w, rank, call->comm, call->peer, call->tag);
        call->message = (uint64_t)message;
        break;
    }
    default:
        break;
    }
}

static void took(struct world *w, uint32_t me, const struct call *call, uint64_t message)
{
    const struct message *m = &w->messages[message];
    uint64_t id = expect(w, m->n);
    came(w, id,
         gn_number_receive(w->ranks[me].numbers, call->inside, call->number_of_comm,
                           local_name(w, &w->comms[call->comm], (int32_t)m->source), m->tag, id, w));
}

/* False: it is not over yet. */
static bool end_receive(struct world *w, uint32_t me, struct call *call)
{
    struct request *request = &w->ranks[me].requests[call->request];
    if (request->state != MATCHED && below(w, 50))
        return false;
    if (request->state != MATCHED) { /* another thread has what it came for: interrupted, without effect */
        request->state = UNUSED;
        gn_number_leave(w->ranks[me].numbers, GN_NUMBER_RECEIVE, call->inside);
        return true;
    }
    request->state = UNUSED;
    took(w, me, call, request->message);
    return true;
}

static void end_send(struct world *w, uint32_t me, const struct call *call)
{
    const struct comm *comm = &w->comms[call->comm];
    uint64_t number = gn_number_send(w->ranks[me].numbers, call->inside, call->number_of_comm,
                                     local_name(w, comm, call->peer), call->tag);
    const struct channel *channel = channel_of(w, call->comm, me, (uint32_t)call->peer, call->tag);
    if (channel->void_ && number != GN_UNNUMBERED)
        w->result.wrong++;
    check(w, number, w->messages[call->message].n);
}

static void end_call(struct world *w, uint32_t me, struct call *call)
{
    struct gn_number_tables *numbers = w->ranks[me].numbers;
    int32_t peer = local_name(w, &w->comms[call->comm], call->peer);
    switch (call->kind) {
    case SEND:
        end_send(w, me, call);
        break;
    case FAILING_SEND:
    case FAILING_RECEIVE:
        gn_number_failed(numbers, call->kind == FAILING_SEND ? GN_NUMBER_SEND : GN_NUMBER_RECEIVE,
                         call->inside, call->number_of_comm, peer, call->tag);
        break;
    case POST:
        gn_number_post(numbers, call->inside, &w->ranks[me].requests[call->request].receive,
                       call->number_of_comm, peer, call->tag);
        break;
    case RECEIVE:
        if (!end_receive(w, me, call))
            return;
        break;
    case PROBE:
        if (call->message != (uint64_t)NONE)
            took(w, me, call, call->message);
        else if (w->options->threads > 1)
            gn_number_leave(numbers, GN_NUMBER_RECEIVE, call->inside);
        break;
    default:
        break;
    }
    call->kind = NO_CALL;
}

static void step(struct world *w, uint32_t me, struct call *call)
{
    if (call->kind == NO_CALL)
        begin_call(w, me, call);
    else if (!call->effective)
        have_effect(w, me, call);
    else
        end_call(w, me, call);
}

/* ---- requests ---- */

static bool is_programs(const struct rank *rank, const struct world *w, int i)
{
    const struct request *request = &rank->requests[i];
    if (request->state < POSTED || request->orphan || request->blocking)
        return false;
    for (uint32_t thread = 0; thread < w->options->threads; thread++)
        if (rank->calls[thread].kind == POST && rank->calls[thread].request == i)
            return false; /* the program does not have it yet */
    return true;
}

/* The program finds it complete. */
static void complete(struct world *w, struct rank *rank, struct request *request)
{
    if (request->state == CANCELLED) {
        gn_number_cancelled(rank->numbers, &request->receive, w);
    } else {
        const struct message *m = &w->messages[request->message];
        uint64_t id = expect(w, m->n);
        came(w, id,
             gn_number_complete(rank->numbers, &request->receive,
                                local_name(w, &w->comms[request->comm], (int32_t)m->source), m->tag, id, w));
    }
    request->state = UNUSED;
}

static void cancel(struct world *w, struct rank *rank, struct request *request)
{
    (void)w;
    gn_number_cancel(rank->numbers, &request->receive);
    request->cancelling = true;
    if (request->state == POSTED)
        request->state = CANCELLED;
}

static void free_request(struct world *w, struct rank *rank, struct request *request)
{
    gn_number_freed(rank->numbers, &request->receive, w);
    request->orphan = true;
    if (request->state != POSTED)
        request->state = UNUSED;
}

static void touch_request(struct world *w, struct rank *rank)
{
    int i = (int)below(w, REQUESTS);
    for (int tries = 0; tries < REQUESTS && rank->requests[i].state == UNUSED; tries++)
        i = (i + 1) % REQUESTS;
    struct request *request = &rank->requests[i];
    if (!is_programs(rank, w, i))
        return;
    if (chance(w, w->options->frees))
        free_request(w, rank, request);
    else if (!request->cancelling &&
             below(w, 1000) < (w->comms[request->comm].freed[rank - w->ranks] ? 300 : w->options->cancels))
        cancel(w, rank, request);
    else if (request->state != POSTED && below(w, 100) < w->eagerness)
        complete(w, rank, request);
}

static void cancel_send(struct world *w, uint32_t me)
{
    uint32_t dest = below(w, w->options->ranks);
    if (w->flying_first[me][dest] == w->flying_last[me][dest])
        return;
    uint32_t first = w->flying_first[me][dest];
    struct message *gone = &w->messages[w->flying[me][dest][first % QUEUE]];
    if (gone->withdrawn || gone->generation != w->comms[gone->comm].generation)
        return;
    for (uint32_t thread = 0; thread < w->options->threads; thread++)
        if (w->ranks[me].calls[thread].kind == SEND)
            return;
    gone->withdrawn = true;
    for (uint32_t i = first; i != w->flying_last[me][dest]; i++) {
        struct message *m = &w->messages[w->flying[me][dest][i % QUEUE]];
        if (m != gone && m->comm == gone->comm && m->generation == gone->generation && m->tag == gone->tag)
            m->n--;
    }
    struct channel *channel = channel_of(w, gone->comm, me, dest, gone->tag);
    channel->sent--;
    channel->void_ = 1;
    const struct comm *comm = &w->comms[gone->comm];
    gn_number_send_cancelled(w->ranks[me].numbers, comm->number[me], local_name(w, comm, (int32_t)dest),
                             gone->tag);
}

static void collective(struct world *w, uint32_t me)
{
    struct comm *comm = &w->comms[below(w, COMMS)];
    if (!comm->freed[me])
        check(w, gn_number_collective(w->ranks[me].numbers, comm->number[me]), comm->instances[me]++);
}

static void operate(struct world *w)
{
    uint32_t me = below(w, w->options->ranks), dice = below(w, 100);
    if (chance(w, 20))
        w->eagerness = below(w, 11) * below(w, 11);
    uint32_t place = below(w, COMMS);
    if (chance(w, is_ending(w, place) ? 500 : w->options->comm_changes))
        change_comm(w, me, place);
    if (chance(w, w->options->send_cancels))
        cancel_send(w, me);
    if (dice < 40)
        step(w, me, &w->ranks[me].calls[below(w, w->options->threads)]);
    else if (dice < 60)
        deliver(w, me, below(w, w->options->ranks));
    else if (dice < 99)
        touch_request(w, &w->ranks[me]);
    else
        collective(w, me);
}

/* ---- the whole ---- */

/* All calls end, everything that can complete does, the rest is cancelled. */
static void drain(struct world *w)
{
    for (uint32_t round = 0; round < 3 * QUEUE; round++)
        for (uint32_t a = 0; a < w->options->ranks; a++)
            for (uint32_t b = 0; b < w->options->ranks; b++)
                deliver(w, a, b);
    for (uint32_t me = 0; me < w->options->ranks; me++) {
        struct rank *rank = &w->ranks[me];
        for (uint32_t thread = 0; thread < w->options->threads; thread++)
            for (int i = 0; i < 3 && rank->calls[thread].kind; i++)
                step(w, me, &rank->calls[thread]);
        for (int i = 0; i < REQUESTS; i++) {
            if (!is_programs(rank, w, i))
                continue;
            if (rank->requests[i].state == POSTED)
                cancel(w, rank, &rank->requests[i]);
            complete(w, rank, &rank->requests[i]);
        }
    }
}

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        abort();
    return memory;
}

static void open_world(struct world *w, const struct world_options *options)
{
    w->options = options;
    w->random = options->seed;
    w->messages = zeroed(options->operations + 1, sizeof *w->messages);
    w->truth_of_id = zeroed(2 * options->operations + 1, sizeof *w->truth_of_id);
    w->channels = zeroed(CHANNELS, sizeof *w->channels);
    for (uint32_t a = 0; a < options->ranks; a++) {
        struct rank *rank = &w->ranks[a];
        rank->arrived = zeroed(QUEUE, sizeof *rank->arrived);
        rank->numbers = gn_numbers_open(late);
        if (options->threads > 1)
            gn_numbers_threaded(rank->numbers);
        if (options->sets)
            gn_numbers_narrow(rank->numbers, options->sets, options->waiting);
        for (uint32_t b = 0; b < options->ranks; b++)
            w->flying[a][b] = zeroed(QUEUE, sizeof *w->flying[a][b]);
    }
    for (int i = 0; i < COMMS; i++)
        make_comm(w, &w->comms[i]);
}

static void close_world(struct world *w)
{
    for (uint32_t a = 0; a < w->options->ranks; a++) {
        for (int reason = 0; reason < GN_UNNUMBERED_REASONS; reason++)
            w->result.reasons[reason] +=
                gn_numbers_unnumbered(w->ranks[a].numbers, (enum gn_unnumbered)reason);
        gn_numbers_close(w->ranks[a].numbers);
        free(w->ranks[a].arrived);
        for (uint32_t b = 0; b < w->options->ranks; b++)
            free(w->flying[a][b]);
    }
    free(w->messages);
    free(w->channels);
    free(w->truth_of_id);
}

struct world_result run_world(const struct world_options *options)
{
    struct world *w = zeroed(1, sizeof *w);
    open_world(w, options);
    for (uint64_t i = 0; i < options->operations; i++)
        operate(w);
    drain(w);
    for (uint64_t id = 0; id < w->ids; id++)
        w->result.missing += w->truth_of_id[id] != 0;
    close_world(w);
    struct world_result result = w->result;
    free(w);
    return result;
}
