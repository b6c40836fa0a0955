#include "repair/extract_inside.h"

#include <errno.h>

/*
 * An op is added where its event is, and says what it is when that is known: until then, and where nobody
 * will know, it is a local one (GN_OP_LOCAL). Which message or instance it is, causality/numbering tells.
 */

/* ---- messages ---- */

static int message(void *self, const struct gn_numbered_message *m)
{
    struct gn_extract *x = self;
    struct gn_op *op = m->token;
    if (!op)
        return 0;
    if (m->number >= UINT32_MAX) {
        x->stats.uncounted++;
        return 0;
    }
    op->kind = m->is_send ? GN_OP_SEND : GN_OP_RECEIVE;
    op->number = (uint32_t)m->number;
    op->flags = m->is_guess ? GN_OP_VAGUE : 0;
    x->stats.ambiguous += m->is_guess || m->is_low;
    x->stats.sends += m->is_send;
    x->stats.receives += !m->is_send;
    struct gn_op_channel *channel = &x->store->channels[op->link];
    if (m->is_send && op->number >= channel->sends)
        channel->sends = op->number + 1;
    return 0;
}

/* An op for a message that is between two of the trace's processes, or two locations of one. */
static int add_message(struct gn_extract *x, struct gn_extract_location *l, const struct gn_event *event,
                       bool sends, struct gn_op **op)
{
    const int64_t link = gn_extract_channel(x, event->comm, event->peer, event->tag, sends);
    if (link < 0)
        return link == GN_LINK_NO_MEMORY ? -ENOMEM : 0;
    *op = gn_extract_op(x, l, GN_OP_LOCAL);
    if (!*op)
        return gn_extract_failed();
    (*op)->link = (uint32_t)link;
    return 0;
}

/* ---- what a part of a collective gives and gets ---- */

struct role {
    enum gn_shape shape;
    uint32_t root;
    bool gives, gets;
};

/* Of a root that is none nothing follows. */
static bool is_a_root(const struct gn_comm_def *comm, bool second, uint32_t root)
{
    if (comm->other_count == 0)
        return root < comm->member_count;
    return root == GN_ROOT_SELF || root == GN_ROOT_NONE ||
           root < (second ? comm->member_count : comm->other_count);
}

static struct role role_of(struct gn_extract *x, const struct gn_numbered_part *part,
                           const struct gn_comm_def *comm, bool second)
{
    const bool is_between = comm->other_count > 0;
    const enum gn_shape shape = gn_collective_shape(part->op, is_between);
    const bool is_rooted = gn_shape_is_rooted(shape);
    if (is_rooted && !is_a_root(comm, second, part->root)) {
        x->unfit += part->end != NULL;
        return (struct role){GN_SHAPE_ALL_TO_ALL, GN_NONE, false, false};
    }
    const uint32_t rank = part->rank - (second ? comm->member_count : 0);
    const struct gn_collective_does does =
        gn_collective_does(shape, is_between, rank, comm->member_count, part->root);
    return (struct role){shape, is_rooted ? part->root : GN_NONE,
                         does.gives && gn_collective_has_data(part->op, part->bytes_sent),
                         does.takes && gn_collective_has_data(part->op, part->bytes_received)};
}

/* Whether its members may go on without each other, for all that MPI says, or it may be another one. */
static bool is_vague(const struct gn_numbered_part *part)
{
    return part->is_guess || gn_collective_only_may_hold(part->op, part->is_window) ||
           gn_collective_is_empty(part->op, part->bytes_sent, part->bytes_received);
}

static void write_role(struct gn_op *op, const struct role *role, unsigned flags)
{
    op->shape = (uint8_t)role->shape;
    op->root = role->root;
    op->flags = (uint8_t)flags;
}

/* What is known of the collective goes into its ops, but for which it is. */
static void describe(struct gn_extract *x, const struct gn_numbered_part *part)
{
    const struct gn_definitions *d = x->definitions;
    const struct gn_comm_def *comm = &d->comms[part->is_window ? d->windows[part->comm].comm : part->comm];
    const bool second = part->rank >= comm->member_count;
    struct gn_op *begin = part->begin, *end = part->end;
    if (part->op >= GN_COLLECTIVE_UNKNOWN && !end)
        return;
    const struct role role = role_of(x, part, comm, second);
    const unsigned flags = (is_vague(part) ? GN_OP_VAGUE : 0) | (second ? GN_OP_SECOND : 0);
    write_role(begin, &role, flags | (role.gives ? GN_OP_GIVES : 0));
    if (end)
        write_role(end, &role, flags | (role.gets ? GN_OP_GETS : 0));
}

static void identify(struct gn_op *op, enum gn_op_kind kind, int64_t link, uint64_t number)
{
    op->kind = (uint8_t)kind;
    op->link = (uint32_t)link;
    op->number = (uint32_t)number;
}

static int part(void *self, const struct gn_numbered_part *told)
{
    struct gn_extract *x = self;
    if (!told->begin || told->number >= UINT32_MAX)
        return 0;
    const int64_t link = gn_extract_group(x, told->comm, told->is_window);
    if (link < 0)
        return link == GN_LINK_NO_MEMORY ? -ENOMEM : 0;
    struct gn_op *begin = told->begin;
    x->stats.ambiguous += told->is_guess && begin->kind == GN_OP_LOCAL;
    identify(begin, GN_OP_BEGIN, link, told->number);
    if (told->end)
        identify(told->end, GN_OP_END, link, told->number);
    describe(x, told);
    return 0;
}

/* ---- events ---- */

/* Nobody's business: on a communicator of this process alone. */
static bool is_alone(struct gn_extract *x, const struct gn_event *event)
{
    const bool is_window =
        event->kind == GN_EVENT_RMA_COLLECTIVE_BEGIN || event->kind == GN_EVENT_RMA_COLLECTIVE_END;
    return event->comm != GN_NONE && gn_extract_group(x, event->comm, is_window) < 0;
}

static int add_op(struct gn_extract *x, struct gn_extract_location *l, const struct gn_event *event,
                  struct gn_op **op)
{
    switch (event->kind) {
    case GN_EVENT_MPI_SEND:
    case GN_EVENT_MPI_ISEND:
        return add_message(x, l, event, true, op);
    case GN_EVENT_MPI_RECV:
    case GN_EVENT_MPI_IRECV:
        return add_message(x, l, event, false, op);
    default:
        if (is_alone(x, event))
            return 0;
        *op = gn_extract_op(x, l, GN_OP_LOCAL);
        return *op ? 0 : gn_extract_failed();
    }
}

static bool is_counted(unsigned kind)
{
    switch (kind) {
    case GN_EVENT_MPI_SEND:
    case GN_EVENT_MPI_ISEND:
    case GN_EVENT_MPI_RECV:
    case GN_EVENT_MPI_IRECV:
    case GN_EVENT_COLLECTIVE_END:
    case GN_EVENT_NBC_COMPLETE:
    case GN_EVENT_RMA_COLLECTIVE_END:
        return true;
    default:
        return gn_event_begins(kind);
    }
}

int gn_extract_counted(struct gn_extract *x, struct gn_extract_location *l, const struct gn_event *event)
{
    struct gn_op *op = NULL;
    x->stats.collectives += gn_event_begins(event->kind);
    int code = is_counted(event->kind) ? add_op(x, l, event, &op) : 0;
    return code ? code : gn_numbering_take(x->numbering, event, op);
}

int gn_extract_numbers_open(struct gn_extract *x, struct gn_error *err)
{
    return gn_numbering_open(&x->numbering, x->definitions,
                             &(struct gn_numbering_sink){.self = x, .message = message, .part = part}, err);
}
