#include "order_execution.h"

#include "order_check.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_THINGS = 1000, TAGS = 3 };

enum travel { TRAVELS, ARRIVED, TAKEN };

struct message {
    uint32_t comm, source, target, tag; /* source is a rank, target a process */
    uint32_t sender;                    /* process */
    enum travel travel;
    unsigned arrival;
    struct where send;
};

struct posted {
    uint32_t location, process, comm, peer, tag;
    uint64_t request;
    int message; /* -1: none yet */
    bool done;
};

struct open_send {
    uint32_t location;
    uint64_t request;
};

struct instance {
    uint32_t comm;   /* communicator */
    uint32_t window; /* GN_NONE: not a collective of RMA */
    uint32_t root;
    uint8_t op;
    bool nonblocking;
    struct part {
        bool begun, ended, unknown;
        uint64_t request, bytes_sent, bytes_received;
    } parts[MAX_PROCESSES];
};

struct simulation {
    struct execution *x;
    struct gn_definitions *d;
    const struct execution_settings *settings;
    uint64_t dice;
    uint64_t ticks[MAX_LOCATIONS];
    uint64_t requests[MAX_LOCATIONS]; /* next number, of the process: locations use every other one */
    int blocked[MAX_LOCATIONS];       /* in this instance; -1 */
    unsigned next[MAX_LOCATIONS];     /* instance */
    struct message messages[MAX_THINGS];
    struct posted posted[MAX_THINGS];
    struct open_send sends[MAX_THINGS];
    struct instance instances[MAX_THINGS];
    unsigned message_count, posted_count, send_count, instance_count, arrivals, event_count;
    bool ending;
};

uint64_t dice(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint32_t dice_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(dice(state) % n);
}

bool dice_chance(uint64_t *state, double probability)
{
    return (double)(dice(state) >> 11) * 0x1p-53 < probability;
}

static uint32_t below(struct simulation *s, uint32_t n)
{
    return dice_below(&s->dice, n);
}

static bool chance(struct simulation *s, double probability)
{
    return dice_chance(&s->dice, probability);
}

/* ---- who there is ---- */

static void define_comms(struct simulation *s, uint32_t processes)
{
    uint32_t comms = 1 + below(s, MAX_COMMS);
    for (uint32_t c = 0; c < comms; c++) {
        uint32_t members[MAX_PROCESSES], count = c == 0 ? processes : 1 + below(s, processes);
        for (uint32_t i = 0; i < processes; i++)
            members[i] = i;
        for (uint32_t i = 0; c > 0 && i < processes; i++) {
            uint32_t j = i + below(s, processes - i), swapped = members[i];
            members[i] = members[j];
            members[j] = swapped;
        }
        gn_define_comm(s->d, &(struct gn_comm_def){
                                 .parent = c ? 0 : GN_NONE, .member_count = count, .members = members});
        if (chance(s, 0.5))
            gn_define_window(s->d, &(struct gn_window_def){0, c});
    }
}

static void define(struct simulation *s)
{
    uint32_t processes = 2 + below(s, MAX_PROCESSES - 1);
    for (uint32_t p = 0; p < processes; p++) {
        gn_define_process(s->d, &(struct gn_process){0, GN_NONE, GN_NONE, (int32_t)p});
        for (uint32_t threads = 1 + (below(s, 4) == 0); threads > 0; threads--) {
            gn_define_location(s->d, &(struct gn_location_def){0, p, 0, 0, UINT64_MAX, 0});
            s->blocked[s->x->location_count++] = -1;
        }
    }
    define_comms(s, processes);
}

/* Each communicator belongs to one thread of each of its processes. */
static uint32_t location_for(const struct simulation *s, uint32_t comm, uint32_t process)
{
    uint32_t first = s->d->processes[process].main_location;
    bool two = first + 1 < s->x->location_count && s->d->locations[first + 1].process == process;
    return first + (two && comm % 2 == 1);
}

/* ---- events ---- */

static struct gn_event *event(struct simulation *s, uint32_t location, enum gn_event_kind kind)
{
    size_t index = s->x->counts[location];
    if (index >= MAX_EVENTS)
        abort();
    s->x->counts[location]++;
    s->event_count++;
    s->ticks[location] += below(s, 20);
    struct gn_event *event = &s->x->events[location][index];
    *event = gn_event_bare(kind, location, s->ticks[location]);
    event->record = (uint32_t)index;
    s->x->sends[location][index] = (struct where){GN_NONE, 0};
    s->x->instances[location][index] = GN_NONE;
    return event;
}

static uint64_t new_request(struct simulation *s, uint32_t location)
{
    return 2 * s->requests[location]++ + location % 2;
}

static uint32_t process_of(const struct simulation *s, uint32_t location)
{
    return s->d->locations[location].process;
}

/* A random communicator that belongs to this location, or GN_NONE. */
static uint32_t any_comm(struct simulation *s, uint32_t location)
{
    uint32_t comm = below(s, (uint32_t)s->d->comm_count), process = process_of(s, location);
    bool member = gn_comm_rank_of(s->d, comm, process, NULL) != GN_NONE;
    return member && location_for(s, comm, process) == location ? comm : GN_NONE;
}

/* ---- messages ---- */

static bool fits(const struct posted *p, const struct message *m)
{
    return p->process == m->target && p->comm == m->comm && (p->peer == GN_ANY || p->peer == m->source) &&
           (p->tag == GN_ANY || p->tag == m->tag);
}

static void arrive(struct simulation *s, unsigned which)
{
    struct message *m = &s->messages[which];
    m->travel = ARRIVED;
    m->arrival = s->arrivals++;
    for (unsigned i = 0; i < s->posted_count; i++) {
        struct posted *p = &s->posted[i];
        if (p->done || p->message >= 0 || !fits(p, m))
            continue;
        p->message = (int)which;
        m->travel = TAKEN;
        return;
    }
}

/* The message that arrived first among those that fit; -1: none. */
static int find_arrived(const struct simulation *s, const struct posted *p)
{
    int best = -1;
    for (unsigned i = 0; i < s->message_count; i++)
        if (s->messages[i].travel == ARRIVED && fits(p, &s->messages[i]) &&
            (best < 0 || s->messages[i].arrival < s->messages[best].arrival))
            best = (int)i;
    return best;
}

/* One message under way gets there, unless one of the same kind is before it. */
static void travel(struct simulation *s)
{
    if (s->message_count == 0)
        return;
    struct message *m = &s->messages[below(s, s->message_count)];
    if (m->travel != TRAVELS)
        return;
    for (unsigned i = 0; i < s->message_count; i++) {
        struct message *before = &s->messages[i];
        if (before->travel == TRAVELS && before->comm == m->comm && before->source == m->source &&
            before->target == m->target) {
            arrive(s, i);
            return;
        }
    }
}

static void do_send(struct simulation *s, uint32_t location)
{
    uint32_t comm = any_comm(s, location);
    if (comm == GN_NONE || s->ending)
        return;
    bool immediate = chance(s, 0.5);
    const struct gn_comm_def *c = &s->d->comms[comm];
    uint32_t index = (uint32_t)s->x->counts[location];
    struct gn_event *e = event(s, location, immediate ? GN_EVENT_MPI_ISEND : GN_EVENT_MPI_SEND);
    e->comm = comm;
    e->peer = below(s, c->member_count);
    e->tag = below(s, TAGS);
    e->bytes_sent = 8;
    if (immediate) {
        e->request = new_request(s, location);
        s->sends[s->send_count++] = (struct open_send){location, e->request};
    }
    uint32_t sender = process_of(s, location);
    s->messages[s->message_count++] = (struct message){comm,
                                                       gn_comm_rank_of(s->d, comm, sender, NULL),
                                                       c->members[e->peer],
                                                       e->tag,
                                                       sender,
                                                       TRAVELS,
                                                       0,
                                                       {location, index}};
}

static void do_send_complete(struct simulation *s, uint32_t location)
{
    for (unsigned i = 0; i < s->send_count; i++)
        if (s->sends[i].location == location && (s->ending || chance(s, 0.5))) {
            event(s, location, GN_EVENT_MPI_ISEND_COMPLETE)->request = s->sends[i].request;
            s->sends[i] = s->sends[--s->send_count];
            return;
        }
}

static void received(struct simulation *s, struct gn_event *e, const struct message *m)
{
    e->comm = m->comm;
    e->peer = m->source;
    e->tag = m->tag;
    e->bytes_received = 8;
    s->x->sends[e->location][e->record] = m->send;
}

/* What a receive of this location asks for; comm GN_NONE: nothing. Biased towards messages there are. */
static struct posted wish(struct simulation *s, uint32_t location)
{
    struct posted p = {.location = location, .process = process_of(s, location), .message = -1};
    p.comm = any_comm(s, location);
    if (p.comm == GN_NONE)
        return p;
    p.peer = below(s, s->d->comms[p.comm].member_count);
    p.tag = below(s, TAGS);
    for (unsigned i = 0; i < s->message_count; i++) {
        const struct message *m = &s->messages[i];
        if (m->travel != TAKEN && m->target == p.process && m->comm == p.comm && chance(s, 0.5)) {
            p.peer = m->source;
            p.tag = m->tag;
        }
    }
    if (chance(s, s->settings->wildcards))
        p.peer = GN_ANY;
    if (chance(s, s->settings->wildcards))
        p.tag = GN_ANY;
    return p;
}

static void do_receive(struct simulation *s, uint32_t location)
{
    struct posted p = wish(s, location);
    int found = p.comm == GN_NONE ? -1 : find_arrived(s, &p);
    if (found < 0)
        return;
    s->messages[found].travel = TAKEN;
    received(s, event(s, location, GN_EVENT_MPI_RECV), &s->messages[found]);
}

static void do_post(struct simulation *s, uint32_t location)
{
    struct posted p = wish(s, location);
    if (p.comm == GN_NONE || s->ending)
        return;
    p.request = new_request(s, location);
    p.message = find_arrived(s, &p);
    if (p.message >= 0)
        s->messages[p.message].travel = TAKEN;
    struct gn_event *e = event(s, location, GN_EVENT_MPI_IRECV_REQUEST);
    e->request = p.request;
    if (!chance(s, s->settings->unknown)) {
        e->comm = p.comm;
        e->peer = p.peer;
        e->tag = p.tag;
    }
    s->posted[s->posted_count++] = p;
}

static void complete(struct simulation *s, struct posted *p)
{
    if (p->message >= 0) {
        struct gn_event *e = event(s, p->location, GN_EVENT_MPI_IRECV);
        e->request = p->request;
        received(s, e, &s->messages[p->message]);
        p->done = true;
    } else if (s->ending || chance(s, s->settings->cancelled)) {
        event(s, p->location, GN_EVENT_MPI_REQUEST_CANCELLED)->request = p->request;
        p->done = true;
    } else if (chance(s, 0.2)) {
        event(s, p->location, GN_EVENT_MPI_REQUEST_TEST)->request = p->request;
    }
}

static void do_complete(struct simulation *s, uint32_t location)
{
    if (s->posted_count == 0)
        return;
    unsigned first = below(s, s->posted_count);
    for (unsigned i = 0; i < s->posted_count; i++) {
        struct posted *p = &s->posted[(first + i) % s->posted_count];
        if (p->location == location && !p->done) {
            complete(s, p);
            return;
        }
    }
}

/* ---- collectives ---- */

static bool rooted(unsigned op)
{
    return order_check_depends(op, 0, 1, 0) != order_check_depends(op, 2, 1, 0) ||
           order_check_depends(op, 0, 0, 1) != order_check_depends(op, 2, 0, 1);
}

/* Nobody receives what nobody sends; everybody receives from a root, or from all, what it sends. */
static void balance(struct instance *in, uint32_t members)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < members; i++)
        all += in->parts[i].bytes_sent;
    if (in->op == GN_COLLECTIVE_SCATTERV)
        all = in->parts[in->root].bytes_sent;
    for (uint32_t i = 0; i < members && order_check_partial(in->op); i++)
        if (all == 0 || in->op == GN_COLLECTIVE_GATHERV || in->op == GN_COLLECTIVE_ALLGATHERV)
            in->parts[i].bytes_received = all ? 8 : 0;
}

static void new_instance(struct simulation *s)
{
    struct instance *in = &s->instances[s->instance_count++];
    *in = (struct instance){.comm = below(s, (uint32_t)s->d->comm_count), .window = GN_NONE, .root = GN_NONE};
    in->op = (uint8_t)below(s, GN_COLLECTIVE_COUNT);
    in->nonblocking = chance(s, 0.5);
    if (s->settings->windows && s->d->window_count > 0 && chance(s, 0.2)) {
        in->window = below(s, (uint32_t)s->d->window_count);
        in->comm = s->d->windows[in->window].comm;
        in->op = chance(s, 0.5) ? GN_COLLECTIVE_BARRIER : GN_COLLECTIVE_CREATE_HANDLE;
        in->nonblocking = false;
    }
    if (rooted(in->op))
        in->root = below(s, s->d->comms[in->comm].member_count);
    for (unsigned i = 0; i < MAX_PROCESSES; i++) {
        struct part *part = &in->parts[i];
        double zero = order_check_partial(in->op) ? 0.3 : in->op == GN_COLLECTIVE_BARRIER ? 1 : 0.05;
        part->unknown = chance(s, s->settings->unknown);
        /* what an unknown begin sends is not known in time to matter */
        part->bytes_sent = !part->unknown && chance(s, zero) ? 0 : 8;
        part->bytes_received = chance(s, zero) ? 0 : 8;
    }
    balance(in, s->d->comms[in->comm].member_count);
}

static void describe(struct gn_event *e, const struct instance *in)
{
    e->comm = in->window != GN_NONE ? in->window : in->comm;
    e->op = in->op;
    e->peer = in->root;
}

static uint32_t rank_in(const struct simulation *s, const struct instance *in, uint32_t location)
{
    uint32_t process = process_of(s, location);
    return location_for(s, in->comm, process) == location ? gn_comm_rank_of(s->d, in->comm, process, NULL)
                                                          : GN_NONE;
}

static void begin(struct simulation *s, uint32_t location, int which)
{
    struct instance *in = &s->instances[which];
    struct part *part = &in->parts[rank_in(s, in, location)];
    enum gn_event_kind kind = in->window != GN_NONE ? GN_EVENT_RMA_COLLECTIVE_BEGIN
                              : in->nonblocking     ? GN_EVENT_NBC_REQUEST
                                                    : GN_EVENT_COLLECTIVE_BEGIN;
    struct gn_event *e = event(s, location, kind);
    s->x->instances[location][e->record] = (uint32_t)which;
    e->bytes_sent = e->bytes_received = GN_BYTES_UNKNOWN;
    if (!part->unknown)
        describe(e, in);
    if (!part->unknown && chance(s, 0.7))
        e->bytes_sent = part->bytes_sent;
    if (in->nonblocking)
        e->request = part->request = new_request(s, location);
    else
        s->blocked[location] = which;
    part->begun = true;
}

/* The end of an instance here, if it may end. */
static void end(struct simulation *s, uint32_t location, int which)
{
    struct instance *in = &s->instances[which];
    uint32_t rank = rank_in(s, in, location);
    for (uint32_t i = 0; i < s->d->comms[in->comm].member_count; i++)
        if (!in->parts[i].begun && order_check_depends(in->op, in->root, rank, i))
            return;
    enum gn_event_kind kind = in->window != GN_NONE ? GN_EVENT_RMA_COLLECTIVE_END
                              : in->nonblocking     ? GN_EVENT_NBC_COMPLETE
                                                    : GN_EVENT_COLLECTIVE_END;
    struct gn_event *e = event(s, location, kind);
    s->x->instances[location][e->record] = (uint32_t)which;
    describe(e, in);
    e->request = in->parts[rank].request;
    e->bytes_sent = in->parts[rank].bytes_sent;
    e->bytes_received = in->parts[rank].bytes_received;
    in->parts[rank].ended = true;
    if (s->blocked[location] == which)
        s->blocked[location] = -1;
}

static void do_begin(struct simulation *s, uint32_t location)
{
    while (s->next[location] < s->instance_count) {
        unsigned which = s->next[location]++;
        if (rank_in(s, &s->instances[which], location) == GN_NONE)
            continue;
        begin(s, location, (int)which);
        return;
    }
    if (s->settings->collectives && !s->ending && chance(s, 0.5))
        new_instance(s);
}

static void do_end(struct simulation *s, uint32_t location)
{
    unsigned first = s->instance_count ? below(s, s->instance_count) : 0;
    for (unsigned i = 0; i < s->instance_count; i++) {
        unsigned which = (first + i) % s->instance_count;
        uint32_t rank = rank_in(s, &s->instances[which], location);
        if (rank == GN_NONE || !s->instances[which].parts[rank].begun ||
            s->instances[which].parts[rank].ended)
            continue;
        end(s, location, (int)which);
        return;
    }
}

/* ---- the run ---- */

static void step(struct simulation *s)
{
    uint32_t location = below(s, s->x->location_count);
    travel(s);
    if (s->blocked[location] >= 0) {
        end(s, location, s->blocked[location]);
        return;
    }
    switch (below(s, 10)) {
    case 0:
        if (!s->ending)
            event(s, location, chance(s, 0.5) ? GN_EVENT_ENTER : GN_EVENT_LEAVE);
        break;
    case 1:
    case 2:
        do_send(s, location);
        break;
    case 3:
        do_send_complete(s, location);
        break;
    case 4:
        do_receive(s, location);
        break;
    case 5:
        do_post(s, location);
        break;
    case 6:
    case 7:
        do_complete(s, location);
        break;
    case 8:
        do_begin(s, location);
        break;
    case 9:
        do_end(s, location);
        break;
    }
}

static bool over(const struct simulation *s)
{
    for (unsigned i = 0; i < s->posted_count; i++)
        if (!s->posted[i].done)
            return false;
    for (unsigned i = 0; i < s->instance_count; i++)
        for (uint32_t rank = 0; rank < s->d->comms[s->instances[i].comm].member_count; rank++)
            if (!s->instances[i].parts[rank].ended)
                return false;
    return s->send_count == 0;
}

/* ---- stopping too early ---- */

static bool completes(const struct gn_event *later, const struct gn_event *request)
{
    return later->request == request->request &&
           (later->kind == GN_EVENT_MPI_IRECV || later->kind == GN_EVENT_MPI_REQUEST_CANCELLED ||
            later->kind == GN_EVENT_NBC_COMPLETE);
}

static bool stays_open(const struct execution *x, const struct gn_event *request)
{
    const struct gn_event *events = x->events[request->location];
    for (size_t i = request->record + 1; i < x->counts[request->location]; i++) {
        if (request->kind == GN_EVENT_COLLECTIVE_BEGIN || request->kind == GN_EVENT_RMA_COLLECTIVE_BEGIN)
            return events[i].kind != GN_EVENT_COLLECTIVE_END && events[i].kind != GN_EVENT_RMA_COLLECTIVE_END;
        if (completes(&events[i], request))
            return false;
    }
    return true;
}

static bool confuses(const struct gn_event *open, const struct gn_event *later)
{
    bool receives = later->kind == GN_EVENT_MPI_RECV || later->kind == GN_EVENT_MPI_IRECV;
    if (open->kind == GN_EVENT_MPI_IRECV_REQUEST)
        return receives && (open->comm == GN_NONE || (open->comm == later->comm &&
                                                      (open->peer == GN_ANY || open->peer == later->peer) &&
                                                      (open->tag == GN_ANY || open->tag == later->tag)));
    if (open->kind == GN_EVENT_RMA_COLLECTIVE_BEGIN)
        return open->comm == GN_NONE && later->kind == GN_EVENT_RMA_COLLECTIVE_BEGIN;
    return open->comm == GN_NONE &&
           (later->kind == GN_EVENT_COLLECTIVE_BEGIN || later->kind == GN_EVENT_NBC_REQUEST);
}

/* Cuts a location so that nothing that is left depends on a request that never says what it was for. */
static void cut(struct execution *x, uint32_t location, size_t count)
{
    struct gn_event *events = x->events[location];
    x->counts[location] = count;
    for (size_t i = 0; i < x->counts[location]; i++) {
        bool request =
            events[i].kind == GN_EVENT_MPI_IRECV_REQUEST || events[i].kind == GN_EVENT_NBC_REQUEST ||
            events[i].kind == GN_EVENT_COLLECTIVE_BEGIN || events[i].kind == GN_EVENT_RMA_COLLECTIVE_BEGIN;
        if (!request || !stays_open(x, &events[i]))
            continue;
        for (size_t j = i + 1; j < x->counts[location]; j++)
            if (confuses(&events[i], &events[j])) {
                cut(x, location, j);
                return;
            }
    }
}

static void forget_cut_sends(struct execution *x)
{
    for (uint32_t l = 0; l < x->location_count; l++)
        for (size_t i = 0; i < x->counts[l]; i++) {
            struct where *send = &x->sends[l][i];
            if (send->location != GN_NONE && send->index >= x->counts[send->location])
                send->location = GN_NONE;
        }
}

struct execution *execution_new(const struct execution_settings *settings)
{
    struct simulation *s = calloc(1, sizeof *s);
    struct execution *x = calloc(1, sizeof *x);
    if (!s || !x || !(x->definitions = gn_definitions_new())) {
        free(s);
        free(x);
        return NULL;
    }
    s->x = x;
    s->d = x->definitions;
    s->settings = settings;
    s->dice = settings->seed;
    define(s);
    for (unsigned i = 0; s->event_count < settings->steps && i < 100 * settings->steps; i++)
        step(s);
    s->ending = true;
    while (!over(s))
        step(s);
    for (uint32_t l = 0; l < x->location_count; l++)
        if (chance(s, settings->cut) && x->counts[l] > 0)
            cut(x, l, below(s, (uint32_t)x->counts[l]));
    forget_cut_sends(x);
    free(s);
    return x;
}

void execution_free(struct execution *x)
{
    if (x)
        gn_definitions_free(x->definitions);
    free(x);
}
