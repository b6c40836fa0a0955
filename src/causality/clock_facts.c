#include "causality/clock_facts.h"

#include "base/grow.h"
#include "base/map.h"
#include "causality/arrival.h"
#include "causality/collective_facts.h"
#include "causality/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Completions that one call can have; more means that its leave is missing. */
enum { PENDING_MOST = 1 << 16 };

/* The outermost MPI call that a location is in. */
struct call {
    uint32_t depth; /* of calls in each other; 0: it is in none */
    uint64_t enter_ticks;
};

struct message {
    uint32_t from; /* domain */
    uint64_t sent_ticks, received_ticks;
};

/*
 * A location, seen twice: as its events go into the sort, where sends get the time of their call, and as they
 * come out. What has ended in a call waits for the leave.
 */
struct place {
    struct call in, out;
    struct gn_fact_part *parts;
    struct message *messages;
    size_t part_count, part_capacity, message_count, message_capacity;
    uint64_t began_ticks; /* the collective that it is in */
};

struct process {
    uint64_t paused_ticks; /* what it does from here on cannot be counted; UINT64_MAX */
};

struct facts {
    const struct gn_definitions *d;
    const uint32_t *domain_of;
    struct gn_clocks *clocks;
    struct gn_clock_facts_stats *stats;
    struct place *places;
    struct process *processes;
    struct gn_map requests; /* open nonblocking collectives: ticks of their begins, + 1 */
    struct gn_collective_facts *collectives;
    struct gn_order *order;
};

/* ---- calls ---- */

static bool is_call(const struct facts *f, const struct gn_event *e)
{
    return (e->kind == GN_EVENT_ENTER || e->kind == GN_EVENT_LEAVE) && e->region < f->d->region_count &&
           f->d->regions[e->region].role == GN_ROLE_MPI;
}

/* True: the outermost call has just been left. */
static bool follow(const struct facts *f, struct call *call, const struct gn_event *e)
{
    if (e->kind == GN_EVENT_LOST) { /* perhaps the leave, and whatever comes now comes after it */
        call->depth = 0;
        return true;
    }
    if (!is_call(f, e))
        return false;
    if (e->kind == GN_EVENT_ENTER) {
        if (call->depth++ == 0)
            call->enter_ticks = e->ticks;
        return false;
    }
    return call->depth > 0 && --call->depth == 0;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t from_ticks(const struct call *call, const struct gn_event *e)
{
    return call->depth ? earlier(call->enter_ticks, e->ticks) : e->ticks;
}

/* ---- collectives, on their way out of the sort, which knows the instance ---- */

static uint32_t process_of(const struct facts *f, const struct gn_event *e)
{
    return f->d->locations[e->location].process;
}

static struct gn_key request_key(const struct facts *f, const struct gn_event *e)
{
    return (struct gn_key){e->request, process_of(f, e)};
}

static int begin(struct facts *f, const struct gn_event *e)
{
    struct place *p = &f->places[e->location];
    const uint64_t ticks = from_ticks(&p->out, e);
    if (e->kind == GN_EVENT_COLLECTIVE_BEGIN) {
        p->began_ticks = ticks;
        return 0;
    }
    gn_map_remove(&f->requests, request_key(f, e));
    return gn_map_add(&f->requests, request_key(f, e), (void *)(uintptr_t)(ticks + 1)) ? 0 : -ENOMEM;
}

static int wait_for_leave(struct facts *f, struct place *p, const struct gn_fact_part *part)
{
    if (p->out.depth == 0)
        return gn_collective_facts_end(f->collectives, part);
    if (p->part_count >= PENDING_MOST) {
        f->stats->uncertain++;
        return 0;
    }
    if (!gn_grow(&p->parts, &p->part_capacity, p->part_count, sizeof *p->parts))
        return -ENOMEM;
    p->parts[p->part_count++] = *part;
    return 0;
}

static bool is_of_one(const struct facts *f, uint32_t comm)
{
    return comm < f->d->comm_count && f->d->comms[comm].is_self;
}

static int end(struct facts *f, const struct gn_event *e, const struct gn_place *place)
{
    struct place *p = &f->places[e->location];
    struct gn_fact_part part = {.comm = e->comm,
                                .member = place->member,
                                .number = place->instance,
                                .op = e->op,
                                .root = e->peer,
                                .begin_ticks = p->began_ticks,
                                .end_ticks = e->ticks,
                                .bytes_sent = e->bytes_sent,
                                .bytes_received = e->bytes_received};
    if (e->kind == GN_EVENT_NBC_COMPLETE) {
        part.begin_ticks = (uint64_t)(uintptr_t)gn_map_find(&f->requests, request_key(f, e)) - 1;
        gn_map_remove(&f->requests, request_key(f, e));
    }
    if (place->instance == GN_NONE || place->flags & GN_PLACE_AMBIGUOUS ||
        part.begin_ticks >= f->processes[process_of(f, e)].paused_ticks) {
        f->stats->uncertain += !is_of_one(f, e->comm);
        return 0;
    }
    return wait_for_leave(f, p, &part);
}

static int leave(struct facts *f, struct place *p, const struct gn_event *e)
{
    int code = 0;
    for (size_t i = 0; i < p->part_count; i++) {
        p->parts[i].end_ticks = later(p->parts[i].end_ticks, e->ticks);
        int told = gn_collective_facts_end(f->collectives, &p->parts[i]);
        code = code ? code : told;
    }
    p->part_count = 0;
    return code;
}

/* ---- on their way into the sort ---- */

static int no_memory(struct gn_error *err)
{
    return gn_fail(err, -ENOMEM, "no memory for what the trace's messages say of its clocks");
}

static bool is_send(const struct gn_event *e)
{
    return e->kind == GN_EVENT_MPI_SEND || e->kind == GN_EVENT_MPI_ISEND;
}

/* A send goes into the sort with the time from which its message can have been on its way: it is what the
 * receive will be told. The sort itself does not look at times. */
static int push(void *self, const struct gn_event *event, struct gn_error *err)
{
    struct facts *f = self;
    struct place *p = &f->places[event->location];
    struct gn_event e = *event;
    struct process *process = &f->processes[process_of(f, &e)];
    follow(f, &p->in, &e);
    if (e.kind == GN_EVENT_MEASUREMENT)
        process->paused_ticks = earlier(process->paused_ticks, e.ticks);
    if (is_send(&e))
        e.ticks = from_ticks(&p->in, &e);
    return gn_order_push(f->order, &e) == 0 ? 0 : no_memory(err);
}

/* ---- messages, on their way out ---- */

static int tell(struct facts *f, uint32_t location, const struct message *m)
{
    f->stats->messages++;
    return gn_clocks_message(f->clocks, m->from, m->sent_ticks, f->domain_of[location], m->received_ticks);
}

static int receive(struct facts *f, const struct gn_event *e, const struct gn_place *place)
{
    struct place *p = &f->places[e->location];
    const uint32_t from = f->domain_of[place->sender], to = f->domain_of[e->location];
    if (from == to || from == GN_NONE || to == GN_NONE)
        return 0;
    const struct process *sender = &f->processes[f->d->locations[place->sender].process];
    if (place->flags & (GN_PLACE_AMBIGUOUS | GN_PLACE_RELEASED) ||
        place->sent_ticks >= sender->paused_ticks || p->message_count >= PENDING_MOST) {
        f->stats->uncertain++;
        return 0;
    }
    struct message message = {from, place->sent_ticks, e->ticks};
    if (p->out.depth == 0)
        return tell(f, e->location, &message);
    if (!gn_grow(&p->messages, &p->message_capacity, p->message_count, sizeof *p->messages))
        return -ENOMEM;
    p->messages[p->message_count++] = message;
    return 0;
}

static int tell_all(struct facts *f, const struct gn_event *e)
{
    struct place *p = &f->places[e->location];
    int code = 0;
    for (size_t i = 0; i < p->message_count; i++) {
        p->messages[i].received_ticks = later(p->messages[i].received_ticks, e->ticks);
        int told = tell(f, e->location, &p->messages[i]);
        code = code ? code : told;
    }
    p->message_count = 0;
    return code;
}

static int report(void *self, const struct gn_event *e, const struct gn_place *place)
{
    struct facts *f = self;
    struct place *p = &f->places[e->location];
    if (follow(f, &p->out, e)) {
        int code = leave(f, p, e), told = tell_all(f, e);
        return code ? code : told;
    }
    switch (e->kind) {
    case GN_EVENT_MPI_RECV:
    case GN_EVENT_MPI_IRECV:
        return place->flags & GN_PLACE_CORRELATED ? receive(f, e, place) : 0;
    case GN_EVENT_COLLECTIVE_BEGIN:
    case GN_EVENT_NBC_REQUEST:
        return begin(f, e);
    case GN_EVENT_COLLECTIVE_END:
    case GN_EVENT_NBC_COMPLETE:
        return end(f, e, place);
    default:
        return 0;
    }
}

/* ---- all ---- */

static int open_facts(struct facts *f, struct gn_error *err)
{
    const struct gn_order_sink sink = {f, report};
    f->places = calloc(f->d->location_count + 1, sizeof *f->places);
    f->processes = calloc(f->d->process_count + 1, sizeof *f->processes);
    f->collectives = gn_collective_facts_new(f->d, f->domain_of, f->clocks);
    if (!f->places || !f->processes || !f->collectives)
        return no_memory(err);
    for (size_t i = 0; i < f->d->process_count; i++)
        f->processes[i].paused_ticks = UINT64_MAX;
    const struct gn_order_settings settings = {.in_time = true}; /* see gn_arrival_carry */
    return gn_order_open(&f->order, f->d, &settings, &sink, err);
}

static int end_location(void *self, uint32_t location, struct gn_error *err)
{
    struct facts *f = self;
    return gn_order_end(f->order, location) == 0 ? 0 : no_memory(err);
}

static int carry(struct facts *f, struct gn_source *source, struct gn_error *err)
{
    const struct gn_arrival_sink sink = {f, push, end_location};
    const int code = gn_arrival_carry(source, &sink, err);
    return code == 0 && gn_order_finish(f->order) != 0 ? no_memory(err) : code;
}

static void close_facts(struct facts *f)
{
    for (size_t i = 0; f->places && i < f->d->location_count; i++) {
        free(f->places[i].parts);
        free(f->places[i].messages);
    }
    gn_map_clear(&f->requests);
    gn_order_close(f->order);
    free(f->places);
    free(f->processes);
}

int gn_clock_facts(struct gn_source *source, const uint32_t *domain_of, struct gn_clocks *clocks,
                   struct gn_clock_facts_stats *stats, struct gn_error *err)
{
    struct facts f = {.d = source->definitions, .domain_of = domain_of, .clocks = clocks, .stats = stats};
    uint64_t refused = 0;
    *stats = (struct gn_clock_facts_stats){0};
    int code = open_facts(&f, err);
    if (code == 0)
        code = carry(&f, source, err);
    if (f.collectives && gn_collective_facts_finish(f.collectives, &stats->collectives, &refused) != 0 &&
        code == 0)
        code = no_memory(err);
    stats->uncertain += refused;
    close_facts(&f);
    return code;
}
