/*
 * capture/collectives — what collectives tell the profile and the trace: who takes part, and how many bytes
 * of this rank go in and come out. event/collective.h says it for all operations; no call is a special case.
 *
 * Bytes are those of this rank's buffers, each counted once: a broadcast's root sends its buffer, everybody
 * else receives one; what the library makes of it on the way is its own affair.
 */
#include "capture/traced.h"

#include "capture/facts.h"
#include "capture/follow.h"
#include "capture/real.h"

/* Which of the ranks. On an intercommunicator the root is no member of the group that does the rest. */
enum who { MEMBER, ROOT, OTHERS /* members that are not the root */ };

static enum who sender_of(struct gn_collective_rule rule)
{
    return rule.shape == GN_SHAPE_ONE_TO_ALL ? ROOT : MEMBER;
}

static enum who receiver_of(struct gn_collective_rule rule)
{
    return rule.shape == GN_SHAPE_ALL_TO_ONE ? ROOT : rule.received == GN_AMOUNT_SAME ? OTHERS : MEMBER;
}

/* One side's buffer. */
struct side {
    int64_t count;
    struct gn_count_array counts;
    gn_handle type;
    const void *types;
};

static uint64_t size_of(const struct gn_capture_call *call, int64_t count, gn_handle type)
{
    return count > 0 ? (uint64_t)count * gn_type_size(call->recorder, type) : 0;
}

static uint64_t part_of(const struct gn_capture_call *call, const struct side *side, int i)
{
    gn_handle type = side->type;
    int64_t count = side->counts.at ? gn_count_array_at(side->counts, i) : side->count;
    if (side->types && count > 0)
        type = gn_type_handle(call->binding, side->types, (uint32_t)i);
    return size_of(call, count, type);
}

static uint64_t parts_of(const struct gn_capture_call *call, const struct side *side, int n)
{
    uint64_t bytes = 0;
    int64_t count = 0;
    for (int i = 0; side->types && i < n; i++)
        bytes += part_of(call, side, i);
    for (int i = 0; !side->types && i < n; i++)
        count += gn_count_array_at(side->counts, i);
    return side->types ? bytes : size_of(call, count, side->type);
}

static uint64_t bytes_of(const struct gn_capture_call *call, unsigned amount, const struct side *side,
                         gn_handle comm)
{
    switch (amount) {
    case GN_AMOUNT_ONE:
    case GN_AMOUNT_SAME:
        return size_of(call, side->count, side->type);
    case GN_AMOUNT_MINE:
        return part_of(call, side, gn_comm_rank(comm));
    case GN_AMOUNT_EACH:
        return size_of(call, side->count * gn_comm_partners(comm), side->type);
    case GN_AMOUNT_COUNTS:
        return parts_of(call, side, gn_comm_partners(comm));
    case GN_AMOUNT_MEMBERS:
        return size_of(call, side->count * gn_comm_size(comm), side->type);
    case GN_AMOUNT_MEMBER_COUNTS:
        return parts_of(call, side, gn_comm_size(comm));
    default:
        return 0;
    }
}

/* ---- what goes out and comes in ---- */

static bool is_in_place(const struct gn_capture_call *call, const void *buffer)
{
    return buffer && buffer == gn_sentinels[call->binding].in_place;
}

static struct side side_in(const struct gn_buffers *b)
{
    return (struct side){b->recvcount, b->recvcounts, b->recvtype, b->recvtypes};
}

/* In place, what a rank sends stands where it receives. */
static struct side side_out(const struct gn_capture_call *call, const struct gn_buffers *b, unsigned *amount)
{
    if (!is_in_place(call, b->sendbuf))
        return (struct side){b->sendcount, b->sendcounts, b->sendtype, b->sendtypes};
    if (*amount == GN_AMOUNT_ONE && b->recvcounts.at)
        *amount = GN_AMOUNT_MINE;
    return side_in(b);
}

/* MPI is not asked for ranks: the root's buffers are told by where they are, and whoever is the root of an
 * intercommunicator, or no part of it, by what it calls the root (both are negative). */
void gn_after_collective(struct gn_capture_call *call, enum gn_collective op, gn_handle comm, int root,
                         const struct gn_buffers *b)
{
    const struct gn_collective_rule rule = gn_collective_rule(op);
    const bool is_received = sender_of(rule) == ROOT;
    unsigned amount = is_received ? rule.received : rule.sent;
    const bool is_member = root >= 0 || root == GN_NO_ROOT;
    const bool has_same = rule.received == GN_AMOUNT_SAME && root == gn_flavour.root;
    if (amount == GN_AMOUNT_NOTHING || (!is_member && !has_same) ||
        (is_received && is_in_place(call, b->recvbuf)))
        return;
    const struct side side = is_received ? side_in(b) : side_out(call, b, &amount);
    call->bytes += bytes_of(call, amount, &side, comm);
    call->messages++;
}

/* Bits 1 << enum who. */
static unsigned role_in(const struct gn_capture_call *call, gn_handle comm, int root)
{
    bool inter;
    if (root == GN_NO_ROOT)
        return 1u << MEMBER;
    if (root == gn_flavour.root)
        return 1u << ROOT;
    if (root < 0) /* MPI_PROC_NULL */
        return 0;
    bool is_root = gn_known_rank(call->recorder, comm, &inter) == root && !inter;
    return 1u << MEMBER | 1u << (is_root ? ROOT : OTHERS);
}

static uint32_t root_number(int root)
{
    return root == GN_NO_ROOT             ? GN_NONE
           : root == gn_flavour.root      ? GN_ROOT_SELF
           : root == gn_flavour.proc_null ? GN_ROOT_NONE
                                          : (uint32_t)root;
}

static struct gn_event collective(const struct gn_capture_call *call, enum gn_event_kind kind,
                                  enum gn_collective op, uint32_t comm, int root, uint64_t ticks)
{
    struct gn_event event = gn_event_bare(kind, call->recorder->location_index, ticks);
    event.op = (uint8_t)op;
    event.comm = comm;
    event.peer = root_number(root);
    return event;
}

/* Fills in both numbers of bytes. */
static void measure(const struct gn_capture_call *call, struct gn_event *event, gn_handle comm, int root,
                    const struct gn_buffers *b)
{
    const struct gn_collective_rule rule = gn_collective_rule(event->op);
    const enum who sender = sender_of(rule), receiver = receiver_of(rule);
    unsigned sent = rule.sent;
    if (sent == GN_AMOUNT_NOTHING)
        return;
    const unsigned role = role_in(call, comm, root);
    const struct side in = side_in(b), out = side_out(call, b, &sent);
    const bool in_place = is_in_place(call, b->recvbuf);
    if (role & 1u << sender)
        event->bytes_sent = bytes_of(call, sent, &out, comm);
    if (sent == GN_AMOUNT_ONE && rule.received == GN_AMOUNT_ONE && receiver == MEMBER && sender == MEMBER &&
        in.count == out.count && in.type == out.type && !in_place)
        event->bytes_received = event->bytes_sent;
    else if (role & 1u << receiver && !in_place)
        event->bytes_received = bytes_of(call, rule.received, &in, comm);
}

void gn_traced_begin(struct gn_capture_call *call, enum gn_collective op, gn_handle comm, int root)
{
    call->collective_comm = gn_known_comm(call->recorder, comm);
    const struct gn_tracer_begun begun = {GN_EVENT_COLLECTIVE_BEGIN, (uint8_t)op, call->collective_comm,
                                          root_number(root)};
    gn_tracer_begin(&call->recorder->tracer, call->enter_ticks, begun);
}

void gn_traced_end(struct gn_capture_call *call, enum gn_collective op, gn_handle comm, int root,
                   const struct gn_buffers *buffers)
{
    struct gn_event event =
        collective(call, GN_EVENT_COLLECTIVE_END, op, call->collective_comm, root, call->exit_ticks);
    event.number = call->count;
    if (buffers)
        measure(call, &event, comm, root, buffers);
    struct gn_call_span span = gn_span_of(call);
    gn_tracer_collective(&call->recorder->tracer, &span, &event);
}

void gn_traced_start(struct gn_capture_call *call, enum gn_collective op, gn_handle comm, int root,
                     const struct gn_buffers *buffers, const void *request)
{
    struct gn_event event = collective(call, GN_EVENT_NBC_REQUEST, op, gn_known_comm(call->recorder, comm),
                                       root, call->enter_ticks);
    event.bytes_sent = event.bytes_received = 0;
    event.number = call->count;
    measure(call, &event, comm, root, buffers);
    gn_traced_request(call, gn_new_request(call, request), GN_COLLECTIVE, &event,
                      (struct gn_request_trace){.comm = event.comm,
                                                .op = event.op,
                                                .root = event.peer,
                                                .bytes_sent = event.bytes_sent,
                                                .bytes_received = event.bytes_received});
}

/* ---- persistent ---- */

void gn_made_persistent(gn_handle comm)
{
    if (!gn_is_closed() && gn_ring_memory)
        gn_comm_define_again(comm);
}

/* The operation is unknown: a neighbourhood's, whose messages are not told. */
void gn_after_collective_init(struct gn_capture_call *call, enum gn_collective op, gn_handle comm, int root,
                              const struct gn_buffers *buffers, const void *request)
{
    struct gn_request persistent = {.kind = GN_PERSISTENT_COLLECTIVE,
                                    .bytes = call->bytes,
                                    .contributes = call->messages > 0,
                                    .at = {.comm = gn_ring_memory ? gn_comm_define_again(comm) : GN_NONE}};
    struct gn_request_trace trace = {
        .comm = persistent.at.comm, .op = (uint8_t)op, .root = root_number(root)};
    const bool told = call->traced && op != GN_COLLECTIVE_UNKNOWN;
    call->bytes = call->messages = 0;
    if (told) {
        struct gn_event event =
            collective(call, GN_EVENT_NBC_REQUEST, op, trace.comm, root, call->enter_ticks);
        event.bytes_sent = event.bytes_received = 0;
        measure(call, &event, comm, root, buffers);
        trace.bytes_sent = event.bytes_sent;
        trace.bytes_received = event.bytes_received;
    } else if (call->traced) {
        gn_traced_lost(call, 1);
    }
    gn_follow(call, gn_new_request(call, request), persistent, told ? &trace : NULL, NULL);
}

/* ---- neighbourhoods ---- */

/* In the order in which the receivers take them where two ranks are neighbours more than once. */
static void trace_out(struct gn_capture_call *call, uint32_t comm, const struct side *side,
                      const struct gn_neighbours *n)
{
    for (int k = 0; k < n->out_count; k++) {
        int i = n->pairs ? k ^ 1 : k;
        uint64_t bytes = n->out[i] == gn_flavour.proc_null ? 0 : part_of(call, side, i);
        if (bytes == 0)
            continue;
        struct gn_event event =
            gn_event_bare(GN_EVENT_MPI_SEND, call->recorder->location_index, call->enter_ticks);
        event.comm = comm;
        event.peer = (uint32_t)n->out[i];
        event.tag = GN_TAG_NEIGHBOUR;
        event.bytes_sent = bytes;
        gn_record_event(call, &event);
    }
}

static uint32_t parts_in(struct gn_capture_call *call, const struct side *side, const struct gn_neighbours *n,
                         struct gn_capture_part *parts)
{
    uint32_t count = 0;
    for (int i = 0; i < n->in_count; i++) {
        uint64_t bytes = n->in[i] == gn_flavour.proc_null ? 0 : part_of(call, side, i);
        if (bytes > 0)
            parts[count++] = (struct gn_capture_part){(uint32_t)n->in[i], bytes};
    }
    return count;
}

void gn_traced_neighbours(struct gn_capture_call *call, gn_handle comm, const struct gn_buffers *b,
                          const void *request)
{
    struct gn_recorder *r = call->recorder;
    struct side out = {b->sendcount, b->sendcounts, b->sendtype, b->sendtypes};
    struct side in = {b->recvcount, b->recvcounts, b->recvtype, b->recvtypes};
    uint32_t number = gn_known_comm(call->recorder, comm);
    if (!gn_neighbours_of(comm, &r->neighbours)) {
        gn_traced_lost(call, 1);
        return;
    }
    trace_out(call, number, &out, &r->neighbours);
    uint32_t parts = parts_in(call, &in, &r->neighbours, r->parts);
    if (request)
        gn_traced_parts_later(call, gn_new_request(call, request), number, r->parts, parts);
    else
        gn_traced_parts(call, number, r->parts, parts, 0);
}
