#include "order_check.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define NEVER UINT64_MAX

/* A request or a blocking collective that is open at a location. */
struct open {
    uint64_t request;
    uint64_t posting; /* receives: its number among the location's */
    size_t begin;     /* collectives: index in begins */
    uint16_t kind;
};

struct stream {
    uint64_t *hashes;    /* of the events pushed */
    uint64_t *positions; /* in the reported sequence; NEVER */
    bool *excused;
    size_t count, hash_capacity, position_capacity, excused_capacity;
    size_t reported;
    struct open *open;
    size_t open_count, open_capacity;
    uint64_t postings;
    bool lost;
};

/* One end of a message. */
struct message {
    uint32_t comm, source, target, tag; /* the channel; source and target are processes */
    uint32_t location;
    uint64_t order; /* of sends: index, of receives: posting */
    size_t index;
};

struct begin {
    uint32_t space, comm, rank; /* space: 0 communicators, 1 windows */
    uint32_t root, location;
    uint64_t instance; /* how many came before it on comm at this location */
    size_t index, end; /* in the location's stream; end SIZE_MAX: none */
    uint8_t op;
    bool sends, receives;
    bool between, second; /* on an intercommunicator; of its second group */
};

struct order_check {
    const struct gn_definitions *definitions;
    struct stream *streams;
    size_t stream_count, stream_capacity;
    struct message *sends, *receives;
    size_t send_count, send_capacity, receive_count, receive_capacity;
    struct begin *begins;
    size_t begin_count, begin_capacity;
    uint64_t reported;
    struct order_verdict verdict;
};

static void *last(void *items, size_t *capacity, size_t *count, size_t each)
{
    if (!gn_grow(items, capacity, *count, each))
        abort();
    char **array = items;
    return memset(*array + (*count)++ * each, 0, each);
}

#define ADD(items, capacity, count) last(&(items), &(capacity), &(count), sizeof *(items))

struct order_check *order_check_new(const struct gn_definitions *definitions)
{
    struct order_check *check = calloc(1, sizeof *check);
    if (check)
        check->definitions = definitions;
    return check;
}

void order_check_free(struct order_check *check)
{
    if (!check)
        return;
    for (size_t i = 0; i < check->stream_count; i++) {
        free(check->streams[i].hashes);
        free(check->streams[i].positions);
        free(check->streams[i].excused);
        free(check->streams[i].open);
    }
    free(check->streams);
    free(check->sends);
    free(check->receives);
    free(check->begins);
    free(check);
}

/* ---- what an operation means ---- */

bool order_check_depends(unsigned op, uint32_t root, uint32_t end_rank, uint32_t begin_rank)
{
    if (end_rank == begin_rank)
        return false;
    switch (op) {
    case GN_COLLECTIVE_BCAST:
    case GN_COLLECTIVE_SCATTER:
    case GN_COLLECTIVE_SCATTERV:
        return begin_rank == root;
    case GN_COLLECTIVE_GATHER:
    case GN_COLLECTIVE_GATHERV:
    case GN_COLLECTIVE_REDUCE:
        return end_rank == root;
    case GN_COLLECTIVE_SCAN:
    case GN_COLLECTIVE_EXSCAN:
        return begin_rank < end_rank;
    default:
        return op < GN_COLLECTIVE_COUNT;
    }
}

bool order_check_partial(unsigned op)
{
    return op == GN_COLLECTIVE_GATHERV || op == GN_COLLECTIVE_SCATTERV || op == GN_COLLECTIVE_ALLGATHERV ||
           op == GN_COLLECTIVE_ALLTOALLV || op == GN_COLLECTIVE_ALLTOALLW ||
           op == GN_COLLECTIVE_REDUCE_SCATTER;
}

/* ---- taking events ---- */

static struct stream *stream_of(struct order_check *check, uint32_t location)
{
    while (check->stream_count <= location)
        ADD(check->streams, check->stream_capacity, check->stream_count);
    return &check->streams[location];
}

static uint64_t hash_of(const struct gn_event *event)
{
    const unsigned char *bytes = (const unsigned char *)event;
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < sizeof *event; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

static struct open *open_new(struct stream *stream, const struct gn_event *event)
{
    struct open *open = ADD(stream->open, stream->open_capacity, stream->open_count);
    open->request = event->request;
    open->kind = event->kind;
    return open;
}

/* Takes the oldest open thing of this kind and request out; false: there is none. */
static bool open_take(struct stream *stream, uint16_t kind, uint64_t request, struct open *taken)
{
    for (size_t i = 0; i < stream->open_count; i++) {
        if (stream->open[i].kind != kind || stream->open[i].request != request)
            continue;
        *taken = stream->open[i];
        stream->open_count--;
        memmove(&stream->open[i], &stream->open[i + 1], (stream->open_count - i) * sizeof *taken);
        return true;
    }
    return false;
}

static uint32_t process_of(const struct order_check *check, uint32_t location)
{
    return check->definitions->locations[location].process;
}

static void add_send(struct order_check *check, const struct gn_event *event, size_t index)
{
    uint32_t source = process_of(check, event->location);
    uint32_t target = gn_comm_peer(check->definitions, event->comm, source, event->peer);
    if (target == GN_NONE)
        return;
    struct message *message = ADD(check->sends, check->send_capacity, check->send_count);
    *message = (struct message){event->comm, source, target, event->tag, event->location, index, index};
}

static void add_receive(struct order_check *check, const struct gn_event *event, size_t index,
                        uint64_t posting)
{
    uint32_t target = process_of(check, event->location);
    uint32_t source = gn_comm_peer(check->definitions, event->comm, target, event->peer);
    if (source == GN_NONE)
        return;
    struct message *message = ADD(check->receives, check->receive_capacity, check->receive_count);
    *message = (struct message){event->comm, source, target, event->tag, event->location, posting, index};
}

static void add_begin(struct order_check *check, const struct gn_event *event, size_t index, uint32_t space)
{
    struct open *open = open_new(stream_of(check, event->location), event);
    open->begin = check->begin_count;
    struct begin *begin = ADD(check->begins, check->begin_capacity, check->begin_count);
    *begin = (struct begin){.space = space,
                            .comm = event->comm,
                            .root = event->peer,
                            .location = event->location,
                            .index = index,
                            .end = SIZE_MAX,
                            .op = event->op,
                            .sends = event->bytes_sent > 0,
                            .receives = true};
}

static void add_end(struct order_check *check, const struct gn_event *event, size_t index,
                    uint16_t begin_kind)
{
    struct open open;
    if (!open_take(stream_of(check, event->location), begin_kind, event->request, &open))
        return;
    struct begin *begin = &check->begins[open.begin];
    begin->comm = event->comm;
    begin->op = event->op;
    begin->root = event->peer;
    begin->end = index;
    begin->receives = event->bytes_received > 0;
}

static void add(struct order_check *check, struct stream *stream, const struct gn_event *event, size_t index)
{
    struct open open;
    switch (event->kind) {
    case GN_EVENT_MPI_SEND:
    case GN_EVENT_MPI_ISEND:
        add_send(check, event, index);
        break;
    case GN_EVENT_MPI_IRECV_REQUEST:
        open_new(stream, event)->posting = stream->postings++;
        break;
    case GN_EVENT_MPI_REQUEST_CANCELLED:
        open_take(stream, GN_EVENT_MPI_IRECV_REQUEST, event->request, &open);
        break;
    case GN_EVENT_MPI_RECV:
        add_receive(check, event, index, stream->postings++);
        break;
    case GN_EVENT_MPI_IRECV:
        add_receive(check, event, index,
                    open_take(stream, GN_EVENT_MPI_IRECV_REQUEST, event->request, &open)
                        ? open.posting
                        : stream->postings++);
        break;
    case GN_EVENT_COLLECTIVE_BEGIN:
    case GN_EVENT_NBC_REQUEST:
        add_begin(check, event, index, 0);
        break;
    case GN_EVENT_RMA_COLLECTIVE_BEGIN:
        add_begin(check, event, index, 1);
        break;
    case GN_EVENT_COLLECTIVE_END:
        add_end(check, event, index, GN_EVENT_COLLECTIVE_BEGIN);
        break;
    case GN_EVENT_NBC_COMPLETE:
        add_end(check, event, index, GN_EVENT_NBC_REQUEST);
        break;
    case GN_EVENT_RMA_COLLECTIVE_END:
        add_end(check, event, index, GN_EVENT_RMA_COLLECTIVE_BEGIN);
        break;
    case GN_EVENT_LOST:
        stream->lost = true;
        break;
    }
}

void order_check_pushed(struct order_check *check, const struct gn_event *event)
{
    struct stream *stream = stream_of(check, event->location);
    size_t index = stream->count, positions = index, excuses = index;
    *(uint64_t *)ADD(stream->hashes, stream->hash_capacity, stream->count) = hash_of(event);
    *(uint64_t *)ADD(stream->positions, stream->position_capacity, positions) = NEVER;
    ADD(stream->excused, stream->excused_capacity, excuses);
    check->verdict.pushed++;
    add(check, stream, event, index);
}

void order_check_reported(struct order_check *check, const struct gn_event *event, bool excused)
{
    struct stream *stream = stream_of(check, event->location);
    check->verdict.reported++;
    if (stream->reported >= stream->count || stream->hashes[stream->reported] != hash_of(event)) {
        if (check->verdict.foreign++ == 0)
            check->verdict.first_foreign = *event;
        return;
    }
    stream->positions[stream->reported] = check->reported++;
    stream->excused[stream->reported++] = excused;
}

/* ---- the verdict ---- */

static uint64_t position(const struct order_check *check, uint32_t location, size_t index)
{
    return check->streams[location].positions[index];
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_channel(const void *a, const void *b)
{
    const struct message *x = a, *y = b;
    int by = compare(x->comm, y->comm);
    by = by ? by : compare(x->source, y->source);
    by = by ? by : compare(x->target, y->target);
    return by ? by : compare(x->tag, y->tag);
}

static int by_order(const void *a, const void *b)
{
    const struct message *x = a, *y = b;
    int by = by_channel(x, y);
    by = by ? by : compare(x->location, y->location);
    return by ? by : compare(x->order, y->order);
}

static size_t channel_length(const struct message *messages, size_t count)
{
    size_t n = 1;
    while (n < count && by_channel(&messages[0], &messages[n]) == 0)
        n++;
    return n;
}

/* All by one location, which lost nothing. */
static bool certain(const struct order_check *check, const struct message *messages, size_t count)
{
    return messages[0].location == messages[count - 1].location && !check->streams[messages[0].location].lost;
}

static void judge_channel(struct order_check *check, const struct message *sends, size_t send_count,
                          const struct message *receives, size_t receive_count)
{
    bool sure = certain(check, sends, send_count) && certain(check, receives, receive_count);
    for (size_t i = 0; i < receive_count && i < send_count; i++) {
        const struct message *receive = &receives[i];
        if (!sure || check->streams[receive->location].excused[receive->index]) {
            check->verdict.excused++;
            continue;
        }
        check->verdict.messages++;
        check->verdict.receives_before_send += position(check, sends[i].location, sends[i].index) >=
                                               position(check, receive->location, receive->index);
    }
}

static void judge_messages(struct order_check *check)
{
    if (check->send_count == 0 || check->receive_count == 0)
        return;
    qsort(check->sends, check->send_count, sizeof *check->sends, by_order);
    qsort(check->receives, check->receive_count, sizeof *check->receives, by_order);
    for (size_t s = 0, r = 0; s < check->send_count && r < check->receive_count;) {
        const struct message *send = &check->sends[s], *receive = &check->receives[r];
        int by = by_channel(send, receive);
        size_t sends = channel_length(send, check->send_count - s);
        size_t receives = channel_length(receive, check->receive_count - r);
        if (by == 0)
            judge_channel(check, send, sends, receive, receives);
        s += by <= 0 ? sends : 0;
        r += by >= 0 ? receives : 0;
    }
}

static int by_start(const void *a, const void *b)
{
    const struct begin *x = a, *y = b;
    int by = compare(x->space, y->space);
    by = by ? by : compare(x->comm, y->comm);
    by = by ? by : compare(x->location, y->location);
    return by ? by : compare(x->index, y->index);
}

static int by_instance(const void *a, const void *b)
{
    const struct begin *x = a, *y = b;
    int by = compare(x->space, y->space);
    by = by ? by : compare(x->comm, y->comm);
    by = by ? by : compare(x->instance, y->instance);
    return by ? by : compare(x->rank, y->rank);
}

/* Says of each begin which one of its location's on that communicator it is, and by which rank. */
static void number_begins(struct order_check *check)
{
    const struct gn_definitions *d = check->definitions;
    for (size_t i = 0; i < check->begin_count; i++) {
        struct begin *begin = &check->begins[i], *before = begin - 1;
        bool same = i > 0 && before->space == begin->space && before->comm == begin->comm &&
                    before->location == begin->location;
        begin->instance = same ? before->instance + 1 : 0;
        uint32_t comm = begin->comm;
        if (begin->space == 1)
            comm = comm < d->window_count ? d->windows[comm].comm : GN_NONE;
        begin->rank = gn_comm_rank_of(d, comm, process_of(check, begin->location), &begin->second);
        begin->between = comm < d->comm_count && d->comms[comm].other_count > 0;
    }
}

/* Between groups, what one group's ends depend on are begins of the other group; the root says that it is it.
 */
static bool depends_between(const struct begin *one, const struct begin *other)
{
    bool to_root = order_check_depends(one->op, 0, 0, 1) && !order_check_depends(one->op, 0, 1, 2);
    bool from_root = order_check_depends(one->op, 0, 1, 0) && !order_check_depends(one->op, 0, 1, 2);
    return one->second != other->second && (!to_root || one->root == GN_ROOT_SELF) &&
           (!from_root || other->root == GN_ROOT_SELF);
}

/* Whether the end of one begin came out before another begin that it depends on. */
static bool violates(const struct order_check *check, const struct begin *one, const struct begin *other)
{
    if (!(one->between ? depends_between(one, other)
                       : order_check_depends(one->op, one->root, one->rank, other->rank)) ||
        (order_check_partial(one->op) && (!one->receives || !other->sends)))
        return false;
    return position(check, other->location, other->index) >= position(check, one->location, one->end);
}

static void judge_instance(struct order_check *check, const struct begin *begins, size_t count)
{
    bool lost = false;
    for (size_t i = 0; i < count; i++)
        lost = lost || check->streams[begins[i].location].lost;
    for (size_t i = 0; i < count; i++) {
        const struct begin *one = &begins[i];
        if (one->rank == GN_NONE || one->end == SIZE_MAX)
            continue;
        if (lost || check->streams[one->location].excused[one->end]) {
            check->verdict.excused++;
            continue;
        }
        bool violated = false;
        for (size_t j = 0; j < count && !violated; j++)
            violated = begins[j].rank != GN_NONE && violates(check, one, &begins[j]);
        check->verdict.collective_ends++;
        check->verdict.ends_before_begin += violated;
    }
}

static void judge_collectives(struct order_check *check)
{
    if (check->begin_count == 0)
        return;
    qsort(check->begins, check->begin_count, sizeof *check->begins, by_start);
    number_begins(check);
    qsort(check->begins, check->begin_count, sizeof *check->begins, by_instance);
    for (size_t i = 0, n; i < check->begin_count; i += n) {
        const struct begin *first = &check->begins[i];
        for (n = 1; i + n < check->begin_count; n++)
            if (first[n].space != first->space || first[n].comm != first->comm ||
                first[n].instance != first->instance)
                break;
        judge_instance(check, first, n);
    }
}

bool order_check_finish(struct order_check *check, struct order_verdict *verdict)
{
    for (size_t i = 0; i < check->stream_count; i++)
        check->verdict.missing += check->streams[i].count - check->streams[i].reported;
    judge_messages(check);
    judge_collectives(check);
    *verdict = check->verdict;
    return verdict->missing + verdict->foreign + verdict->receives_before_send + verdict->ends_before_begin ==
           0;
}
