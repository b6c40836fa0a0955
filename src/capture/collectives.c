/*
 * capture/collectives — what collectives tell the trace: who takes part, and how many bytes of this rank go
 * in and come out. One table says it for all operations; no call is a special case.
 *
 * Bytes are those of this rank's buffers, each counted once: a broadcast's root sends its buffer, everybody
 * else receives one; what the library makes of it on the way is its own affair.
 */
#include "capture/traced.h"

#include "capture/facts.h"
#include "capture/real.h"

/* Which of the ranks. On an intercommunicator the root is no member of the group that does the rest. */
enum who { NOBODY, MEMBER, ROOT, OTHERS /* members that are not the root */ };
/* How much of a buffer with a count, or an array of them, for each rank that is talked to: of an
 * intercommunicator those of the other group, but to scatter a reduction the members of the own one. */
enum much {
    NOTHING,
    ONE,
    ONE_EACH,
    ALL_COUNTS,
    ALL_COUNTS_AND_TYPES,
    MY_COUNT,
    ONE_PER_MEMBER,
    MEMBER_COUNTS
};

static const struct rule {
    uint8_t sender, sent, receiver, received;
} rules[GN_COLLECTIVE_COUNT] = {
    [GN_COLLECTIVE_BARRIER] = {NOBODY, NOTHING, NOBODY, NOTHING},
    [GN_COLLECTIVE_BCAST] = {ROOT, ONE, OTHERS, ONE},
    [GN_COLLECTIVE_GATHER] = {MEMBER, ONE, ROOT, ONE_EACH},
    [GN_COLLECTIVE_GATHERV] = {MEMBER, ONE, ROOT, ALL_COUNTS},
    [GN_COLLECTIVE_SCATTER] = {ROOT, ONE_EACH, MEMBER, ONE},
    [GN_COLLECTIVE_SCATTERV] = {ROOT, ALL_COUNTS, MEMBER, ONE},
    [GN_COLLECTIVE_ALLGATHER] = {MEMBER, ONE, MEMBER, ONE_EACH},
    [GN_COLLECTIVE_ALLGATHERV] = {MEMBER, ONE, MEMBER, ALL_COUNTS},
    [GN_COLLECTIVE_ALLTOALL] = {MEMBER, ONE_EACH, MEMBER, ONE_EACH},
    [GN_COLLECTIVE_ALLTOALLV] = {MEMBER, ALL_COUNTS, MEMBER, ALL_COUNTS},
    [GN_COLLECTIVE_ALLTOALLW] = {MEMBER, ALL_COUNTS_AND_TYPES, MEMBER, ALL_COUNTS_AND_TYPES},
    [GN_COLLECTIVE_ALLREDUCE] = {MEMBER, ONE, MEMBER, ONE},
    [GN_COLLECTIVE_REDUCE] = {MEMBER, ONE, ROOT, ONE},
    [GN_COLLECTIVE_REDUCE_SCATTER] = {MEMBER, MEMBER_COUNTS, MEMBER, MY_COUNT},
    [GN_COLLECTIVE_REDUCE_SCATTER_BLOCK] = {MEMBER, ONE_PER_MEMBER, MEMBER, ONE},
    [GN_COLLECTIVE_SCAN] = {MEMBER, ONE, MEMBER, ONE},
    [GN_COLLECTIVE_EXSCAN] = {MEMBER, ONE, MEMBER, ONE},
};

/* One side's buffer. */
struct side {
    int count;
    const int *counts;
    gn_handle type;
    const void *types;
};

static uint64_t size_of(const struct gn_call *call, int64_t count, gn_handle type)
{
    return count > 0 ? (uint64_t)count * gn_type_size(call->recorder, type) : 0;
}

static uint64_t part_of(const struct gn_call *call, const struct side *side, int i)
{
    gn_handle type = side->type;
    int count = side->counts ? side->counts[i] : side->count;
    if (side->types && count > 0)
        type = gn_type_handle(call->binding, side->types, (uint32_t)i);
    return size_of(call, count, type);
}

static uint64_t parts_of(const struct gn_call *call, const struct side *side, int n)
{
    uint64_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += part_of(call, side, i);
    return bytes;
}

static uint64_t bytes_of(const struct gn_call *call, enum much much, const struct side *side, gn_handle comm)
{
    uint64_t bytes = 0;
    switch (much) {
    case NOTHING:
        break;
    case ONE:
        bytes = size_of(call, side->count, side->type);
        break;
    case MY_COUNT:
        bytes = part_of(call, side, gn_comm_rank(comm));
        break;
    case ONE_EACH:
        bytes = size_of(call, (int64_t)side->count * gn_comm_partners(comm), side->type);
        break;
    case ALL_COUNTS:
    case ALL_COUNTS_AND_TYPES:
        bytes = parts_of(call, side, gn_comm_partners(comm));
        break;
    case ONE_PER_MEMBER:
        bytes = size_of(call, (int64_t)side->count * gn_comm_size(comm), side->type);
        break;
    case MEMBER_COUNTS:
        bytes = parts_of(call, side, gn_comm_size(comm));
    }
    return bytes;
}

/* Bits 1 << enum who. */
static unsigned role_in(const struct gn_call *call, gn_handle comm, int root)
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

static struct gn_event collective(const struct gn_call *call, enum gn_event_kind kind, enum gn_collective op,
                                  uint32_t comm, int root, uint64_t ticks)
{
    struct gn_event event = gn_event_bare(kind, call->recorder->location_index, ticks);
    event.op = (uint8_t)op;
    event.comm = comm;
    event.peer = root_number(root);
    return event;
}

/* Fills in both numbers of bytes. In place, what a rank sends stands where it receives. */
static void measure(const struct gn_call *call, struct gn_event *event, gn_handle comm, int root,
                    const struct gn_buffers *b)
{
    const struct rule *rule = &rules[event->op];
    const void *in_place = gn_sentinels[call->binding].in_place;
    struct side in = {b->recvcount, b->recvcounts, b->recvtype, b->recvtypes}, out = in;
    enum much sent = rule->sent;
    unsigned role = role_in(call, comm, root);
    if (!b->sendbuf || b->sendbuf != in_place)
        out = (struct side){b->sendcount, b->sendcounts, b->sendtype, b->sendtypes};
    else if (sent == ONE && b->recvcounts)
        sent = MY_COUNT;
    if (role & 1u << rule->sender)
        event->bytes_sent = bytes_of(call, sent, &out, comm);
    if (sent == ONE && rule->received == ONE && rule->receiver == MEMBER && rule->sender == MEMBER &&
        in.count == out.count && in.type == out.type && !(b->recvbuf && b->recvbuf == in_place))
        event->bytes_received = event->bytes_sent;
    else if (role & 1u << rule->receiver && !(b->recvbuf && b->recvbuf == in_place))
        event->bytes_received = bytes_of(call, rule->received, &in, comm);
}

void gn_traced_begin(struct gn_call *call, enum gn_collective op, gn_handle comm, int root)
{
    call->collective_comm = gn_known_comm(call->recorder, comm);
    const struct gn_tracer_begun begun = {GN_EVENT_COLLECTIVE_BEGIN, (uint8_t)op, call->collective_comm,
                                          root_number(root)};
    gn_tracer_begin(&call->recorder->tracer, call->enter_ticks, begun);
}

void gn_traced_end(struct gn_call *call, enum gn_collective op, gn_handle comm, int root,
                   const struct gn_buffers *buffers)
{
    struct gn_event event =
        collective(call, GN_EVENT_COLLECTIVE_END, op, call->collective_comm, root, call->exit_ticks);
    if (buffers)
        measure(call, &event, comm, root, buffers);
    struct gn_call_span span = gn_span_of(call);
    gn_tracer_collective(&call->recorder->tracer, &span, &event);
}

void gn_traced_start(struct gn_call *call, enum gn_collective op, gn_handle comm, int root,
                     const struct gn_buffers *buffers, const void *request)
{
    struct gn_event event = collective(call, GN_EVENT_NBC_REQUEST, op, gn_known_comm(call->recorder, comm),
                                       root, call->enter_ticks);
    event.bytes_sent = event.bytes_received = 0;
    measure(call, &event, comm, root, buffers);
    gn_traced_request(call, gn_new_request(call, request), GN_COLLECTIVE, &event,
                      (struct gn_request_trace){.comm = event.comm,
                                                .op = event.op,
                                                .root = event.peer,
                                                .bytes_sent = event.bytes_sent,
                                                .bytes_received = event.bytes_received});
}

/* ---- neighbourhoods ---- */

/* In the order in which the receivers take them where two ranks are neighbours more than once. */
static void trace_out(struct gn_call *call, uint32_t comm, const struct side *side,
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

static uint32_t parts_in(struct gn_call *call, const struct side *side, const struct gn_neighbours *n,
                         struct gn_part *parts)
{
    uint32_t count = 0;
    for (int i = 0; i < n->in_count; i++) {
        uint64_t bytes = n->in[i] == gn_flavour.proc_null ? 0 : part_of(call, side, i);
        if (bytes > 0)
            parts[count++] = (struct gn_part){(uint32_t)n->in[i], bytes};
    }
    return count;
}

void gn_traced_neighbours(struct gn_call *call, gn_handle comm, const struct gn_buffers *b,
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
