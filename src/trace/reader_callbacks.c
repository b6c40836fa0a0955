/* From OTF2's records to events. Records of other kinds have no callback: they are what was read and made no
 * event. */
#include "trace/reader_location.h"

#include "base/grow.h"

/* What each callback gets first, and does first: which record of the file this is goes into the event. */
#define COMMON                                                                                               \
    OTF2_LocationRef file_id, OTF2_TimeStamp time, uint64_t position, void *user, OTF2_AttributeList *list
#define AT_RECORD (void)file_id, (void)list, ((struct gn_reader_location *)user)->position = position

/* ---- references ---- */

static uint32_t refer(struct gn_reader_location *l, const struct gn_id_map *ids, uint32_t id)
{
    uint32_t index = gn_id_map_find(ids, id);
    if (index == GN_NONE && id != OTF2_UNDEFINED_UINT32)
        l->shared->report.undefined++;
    return index;
}

static uint32_t region_of(struct gn_reader_location *l, uint32_t id)
{
    return refer(l, &l->shared->maps.regions, id);
}

static uint32_t comm_of(struct gn_reader_location *l, uint32_t id)
{
    const uint32_t comm = gn_id_map_find(&l->shared->maps.comms, id);
    const uint32_t team = comm == GN_NONE ? gn_id_map_find(&l->shared->maps.comms, GN_ID_OF_TEAM(id)) : comm;
    return team == GN_NONE ? refer(l, &l->shared->maps.comms, id) : team;
}

static uint32_t team_of(struct gn_reader_location *l, uint32_t id)
{
    const uint32_t team = gn_id_map_find(&l->shared->maps.comms, GN_ID_OF_TEAM(id));
    return team == GN_NONE ? comm_of(l, id) : team;
}

static uint32_t window_of(struct gn_reader_location *l, uint32_t id)
{
    return refer(l, &l->shared->maps.windows, id);
}

/* A rank: numbers that no rank can have (and that mean something else here) are none. */
static uint32_t rank_of(struct gn_reader_location *l, uint32_t rank)
{
    if (rank <= INT32_MAX)
        return rank;
    l->shared->report.undefined += rank != OTF2_UNDEFINED_UINT32;
    return GN_NONE;
}

static uint32_t root_of(struct gn_reader_location *l, uint32_t root)
{
    if (root == OTF2_COLLECTIVE_ROOT_SELF)
        return GN_ROOT_SELF;
    if (root == OTF2_COLLECTIVE_ROOT_THIS_GROUP)
        return GN_ROOT_NONE;
    return rank_of(l, root);
}

static uint8_t op_of(struct gn_reader_location *l, unsigned op)
{
    if (op < GN_COLLECTIVE_COUNT)
        return (uint8_t)op;
    l->shared->report.undefined++;
    return GN_COLLECTIVE_UNKNOWN;
}

/* ---- the batch ---- */

/* Room was made before reading; a record is at most one event. */
static struct gn_event *add(struct gn_reader_location *l, enum gn_event_kind kind, uint64_t ticks)
{
    struct gn_trace_report *report = &l->shared->report;
    struct gn_event *event = &l->events[l->count++];
    *event = l->bare; /* made once: making one here takes as long as reading the record */
    event->ticks = ticks;
    event->kind = (uint16_t)kind;
    event->record = (uint32_t)l->position;
    report->backward += ticks < l->last_ticks;
    report->beyond_end += ticks > l->end_ticks || l->thread_has_ended;
    l->last_ticks = ticks;
    return event;
}

static void change_request(struct gn_reader_location *l, uint64_t id, int change)
{
    enum gn_request_fault fault = gn_open_requests_change(l->requests, id, change);
    l->shared->report.reused_requests += fault == GN_REQUEST_REUSED;
    l->shared->report.unknown_requests += fault == GN_REQUEST_UNKNOWN;
}

static void give_up(struct gn_reader_location *l, struct gn_reader_pending *pending)
{
    l->shared->report.open_collectives += pending->is_open;
    pending->is_open = false;
}

static OTF2_CallbackCode begin(struct gn_reader_location *l, struct gn_reader_pending *pending,
                               enum gn_event_kind kind, uint64_t ticks)
{
    give_up(l, pending);
    struct gn_event *event = add(l, kind, ticks);
    event->bytes_sent = event->bytes_received = GN_BYTES_UNKNOWN; /* until its end is read */
    *pending = (struct gn_reader_pending){(uint32_t)l->count - 1, l->entered.depth, true};
    return OTF2_CALLBACK_SUCCESS;
}

/* What the end says was true at the begin, too. */
static void end(struct gn_reader_location *l, struct gn_reader_pending *pending,
                const struct gn_event *end_event)
{
    if (!pending->is_open)
        return;
    pending->is_open = false;
    struct gn_event *begin_event = &l->events[pending->index];
    begin_event->op = end_event->op;
    begin_event->comm = end_event->comm;
    begin_event->peer = end_event->peer;
    begin_event->bytes_sent = end_event->bytes_sent;
    begin_event->bytes_received = end_event->bytes_received;
}

/* ---- regions ---- */

static struct gn_event *entered(struct gn_reader_location *l, uint64_t time, uint32_t region, uint32_t path)
{
    struct gn_event *event = add(l, GN_EVENT_ENTER, time);
    event->region = region;
    event->path = path;
    gn_path_stack_enter(&l->entered, path);
    return event;
}

static OTF2_CallbackCode left(struct gn_reader_location *l, uint64_t time, uint32_t region, uint32_t path)
{
    struct gn_event *event = add(l, GN_EVENT_LEAVE, time);
    event->region = region;
    event->path = path;
    if (l->mpi.is_open && l->entered.depth < l->mpi.depth)
        give_up(l, &l->mpi);
    if (l->rma.is_open && l->entered.depth < l->rma.depth)
        give_up(l, &l->rma);
    return OTF2_CALLBACK_SUCCESS;
}

/* The call path that gnomon's writer adds to a region, or `otherwise`. */
static uint32_t attached_path(struct gn_reader_location *l, const OTF2_AttributeList *list,
                              uint32_t otherwise)
{
    uint32_t attribute = l->shared->maps.attribute_path;
    uint32_t count = attribute == GN_NONE ? 0 : OTF2_AttributeList_GetNumberOfElements(list);
    for (uint32_t i = 0; i < count; i++) { /* mostly the only one: looking it up by its number takes longer */
        OTF2_AttributeRef found;
        OTF2_Type type;
        OTF2_AttributeValue value;
        if (OTF2_AttributeList_GetAttributeByIndex(list, i, &found, &type, &value) != OTF2_SUCCESS ||
            found != attribute || type != OTF2_TYPE_CALLING_CONTEXT)
            continue;
        uint32_t path = value.callingContextRef;
        return path == OTF2_UNDEFINED_CALLING_CONTEXT ? GN_NONE : refer(l, &l->shared->maps.paths, path);
    }
    return otherwise;
}

static uint64_t attached_count(const OTF2_AttributeList *list, uint32_t attribute)
{
    uint64_t count = 0;
    if (attribute != GN_NONE)
        OTF2_AttributeList_GetUint64(list, attribute, &count);
    return count;
}

/* What every leave does, whatever record it is. */
static uint32_t path_of_enter(struct gn_reader_location *l)
{
    if (l->entered.depth == 0)
        l->shared->report.unbalanced_leaves++;
    return gn_path_stack_leave(&l->entered);
}

/* Of a row of calls that are told as one. */
static void read_polls(const struct gn_reader_location *l, const OTF2_AttributeList *list,
                       struct gn_event *event)
{
    const struct gn_reader_maps *maps = &l->shared->maps;
    if (maps->attribute_polls == GN_NONE || OTF2_AttributeList_GetNumberOfElements(list) < 2)
        return;
    event->request = attached_count(list, maps->attribute_polls);
    event->bytes_sent = event->request ? attached_count(list, maps->attribute_poll_ticks) : 0;
}

static OTF2_CallbackCode on_enter(COMMON, OTF2_RegionRef region)
{
    AT_RECORD;
    read_polls(user, list, entered(user, time, region_of(user, region), attached_path(user, list, GN_NONE)));
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_leave(COMMON, OTF2_RegionRef region)
{
    AT_RECORD;
    uint32_t path = path_of_enter(user);
    return left(user, time, region_of(user, region), attached_path(user, list, path));
}

static uint32_t region_of_path(const struct gn_reader_location *l, uint32_t path)
{
    return path == GN_NONE ? GN_NONE : l->shared->definitions->paths[path].region;
}

static OTF2_CallbackCode on_context_enter(COMMON, OTF2_CallingContextRef context, uint32_t unwind_distance)
{
    AT_RECORD, (void)unwind_distance;
    struct gn_reader_location *l = user;
    uint32_t path = refer(l, &l->shared->maps.paths, context);
    entered(l, time, region_of_path(l, path), path);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_context_leave(COMMON, OTF2_CallingContextRef context)
{
    AT_RECORD;
    struct gn_reader_location *l = user;
    uint32_t path = refer(l, &l->shared->maps.paths, context);
    path_of_enter(l);
    return left(l, time, region_of_path(l, path), path);
}

/* 0: it has none. */
/* ---- messages ---- */

/* The number that gnomon's writer adds to a message, a collective or an epoch. */
static void read_number(const struct gn_reader_location *l, const OTF2_AttributeList *list,
                        struct gn_event *event)
{
    const struct gn_reader_maps *maps = &l->shared->maps;
    const uint32_t count =
        maps->attribute_number == GN_NONE ? 0 : OTF2_AttributeList_GetNumberOfElements(list);
    for (uint32_t i = 0; i < count; i++) {
        OTF2_AttributeRef found;
        OTF2_Type type;
        OTF2_AttributeValue value;
        if (OTF2_AttributeList_GetAttributeByIndex(list, i, &found, &type, &value) != OTF2_SUCCESS ||
            type != OTF2_TYPE_UINT64)
            continue;
        const bool is_number = value.uint64 < GN_NUMBER_UNORDERED;
        if (found == maps->attribute_number && is_number)
            event->number = value.uint64;
        if (found == maps->attribute_unordered && is_number)
            event->number = value.uint64 | GN_NUMBER_UNORDERED;
        if (found == maps->attribute_late && event->kind != GN_EVENT_NUMBER) {
            event->number = GN_NUMBER_LATER;
            event->request = value.uint64;
        }
    }
}

static struct gn_event *add_message(struct gn_reader_location *l, enum gn_event_kind kind, uint64_t time,
                                    uint32_t peer, uint32_t comm, uint32_t tag)
{
    struct gn_event *event = add(l, kind, time);
    event->peer = rank_of(l, peer);
    event->comm = comm_of(l, comm);
    event->tag = tag;
    return event;
}

static OTF2_CallbackCode on_send(COMMON, uint32_t receiver, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    AT_RECORD;
    struct gn_event *event = add_message(user, GN_EVENT_MPI_SEND, time, receiver, comm, tag);
    event->bytes_sent = bytes;
    read_number(user, list, event);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_isend(COMMON, uint32_t receiver, OTF2_CommRef comm, uint32_t tag, uint64_t bytes,
                                  uint64_t request)
{
    AT_RECORD;
    struct gn_event *event = add_message(user, GN_EVENT_MPI_ISEND, time, receiver, comm, tag);
    event->bytes_sent = bytes;
    read_number(user, list, event);
    event->request = request;
    change_request(user, request, 1);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_recv(COMMON, uint32_t sender, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    AT_RECORD;
    struct gn_event *event = add_message(user, GN_EVENT_MPI_RECV, time, sender, comm, tag);
    event->bytes_received = bytes;
    read_number(user, list, event);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_irecv(COMMON, uint32_t sender, OTF2_CommRef comm, uint32_t tag, uint64_t bytes,
                                  uint64_t request)
{
    AT_RECORD;
    struct gn_event *event = add_message(user, GN_EVENT_MPI_IRECV, time, sender, comm, tag);
    event->bytes_received = bytes;
    read_number(user, list, event);
    event->request = request;
    change_request(user, request, -1);
    return OTF2_CALLBACK_SUCCESS;
}

static struct gn_event *add_request(struct gn_reader_location *l, enum gn_event_kind kind, uint64_t time,
                                    uint64_t request, int change)
{
    struct gn_event *event = add(l, kind, time);
    event->request = request;
    if (change)
        change_request(l, request, change);
    return event;
}

/* Sets *to when the record has the attribute. */
static bool attribute(const OTF2_AttributeList *list, uint32_t id, uint32_t *to)
{
    return id != GN_NONE && OTF2_AttributeList_TestAttributeByID(list, id) &&
           OTF2_AttributeList_GetUint32(list, id, to) == OTF2_SUCCESS;
}

/* What OTF2's record of a start lacks, gnomon's writer says in attributes. Their values are ours (GN_ANY, …).
 */
static void read_posted(struct gn_reader_location *l, const OTF2_AttributeList *list, struct gn_event *event)
{
    const struct gn_reader_maps *maps = &l->shared->maps;
    uint32_t comm = GN_NONE, op = GN_COLLECTIVE_UNKNOWN;
    if (OTF2_AttributeList_GetNumberOfElements(list) == 0)
        return;
    if (maps->attribute_comm != GN_NONE && OTF2_AttributeList_TestAttributeByID(list, maps->attribute_comm) &&
        OTF2_AttributeList_GetCommRef(list, maps->attribute_comm, &comm) == OTF2_SUCCESS)
        event->comm = comm_of(l, comm);
    attribute(list, maps->attribute_peer, &event->peer);
    attribute(list, maps->attribute_tag, &event->tag);
    if (attribute(list, maps->attribute_op, &op) && op != GN_COLLECTIVE_UNKNOWN)
        event->op = op_of(l, op);
}

static OTF2_CallbackCode on_irecv_request(COMMON, uint64_t request)
{
    AT_RECORD;
    read_posted(user, list, add_request(user, GN_EVENT_MPI_IRECV_REQUEST, time, request, 1));
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_nbc_request(COMMON, uint64_t request)
{
    AT_RECORD;
    struct gn_event *event = add_request(user, GN_EVENT_NBC_REQUEST, time, request, 1);
    event->bytes_sent = event->bytes_received = GN_BYTES_UNKNOWN;
    read_posted(user, list, event);
    read_number(user, list, event);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_isend_complete(COMMON, uint64_t request)
{
    AT_RECORD;
    add_request(user, GN_EVENT_MPI_ISEND_COMPLETE, time, request, -1);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_request_test(COMMON, uint64_t request)
{
    AT_RECORD;
    add_request(user, GN_EVENT_MPI_REQUEST_TEST, time, request, 0);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_request_cancelled(COMMON, uint64_t request)
{
    AT_RECORD;
    add_request(user, GN_EVENT_MPI_REQUEST_CANCELLED, time, request, -1);
    return OTF2_CALLBACK_SUCCESS;
}

/* ---- collectives ---- */

static struct gn_event *add_collective(struct gn_reader_location *l, enum gn_event_kind kind, uint64_t time,
                                       unsigned op, uint32_t comm, uint32_t root, uint64_t sent,
                                       uint64_t received)
{
    struct gn_event *event = add(l, kind, time);
    event->op = op_of(l, op);
    event->comm = comm;
    event->peer = root_of(l, root);
    event->bytes_sent = sent;
    event->bytes_received = received;
    return event;
}

static OTF2_CallbackCode on_collective_begin(COMMON)
{
    AT_RECORD;
    struct gn_reader_location *l = user;
    return begin(l, &l->mpi, GN_EVENT_COLLECTIVE_BEGIN, time);
}

static OTF2_CallbackCode on_collective_end(COMMON, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root,
                                           uint64_t sent, uint64_t received)
{
    AT_RECORD;
    struct gn_reader_location *l = user;
    struct gn_event *event =
        add_collective(l, GN_EVENT_COLLECTIVE_END, time, op, comm_of(l, comm), root, sent, received);
    read_number(l, list, event);
    end(l, &l->mpi, event);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_nbc_complete(COMMON, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root,
                                         uint64_t sent, uint64_t received, uint64_t request)
{
    AT_RECORD;
    add_collective(user, GN_EVENT_NBC_COMPLETE, time, op, comm_of(user, comm), root, sent, received)
        ->request = request;
    change_request(user, request, -1);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode add_comm(struct gn_reader_location *l, enum gn_event_kind kind, uint64_t time,
                                  uint32_t comm)
{
    add(l, kind, time)->comm = comm;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_comm_create(COMMON, OTF2_CommRef comm)
{
    AT_RECORD;
    return add_comm(user, GN_EVENT_COMM_CREATE, time, comm_of(user, comm));
}

static OTF2_CallbackCode on_comm_destroy(COMMON, OTF2_CommRef comm)
{
    AT_RECORD;
    return add_comm(user, GN_EVENT_COMM_DESTROY, time, comm_of(user, comm));
}

/* ---- windows ---- */

static OTF2_CallbackCode on_window_create(COMMON, OTF2_RmaWinRef window)
{
    AT_RECORD;
    return add_comm(user, GN_EVENT_RMA_WIN_CREATE, time, window_of(user, window));
}

static OTF2_CallbackCode on_window_destroy(COMMON, OTF2_RmaWinRef window)
{
    AT_RECORD;
    return add_comm(user, GN_EVENT_RMA_WIN_DESTROY, time, window_of(user, window));
}

static OTF2_CallbackCode on_rma_begin(COMMON)
{
    AT_RECORD;
    struct gn_reader_location *l = user;
    return begin(l, &l->rma, GN_EVENT_RMA_COLLECTIVE_BEGIN, time);
}

static OTF2_CallbackCode on_rma_end(COMMON, OTF2_CollectiveOp op, OTF2_RmaSyncLevel level,
                                    OTF2_RmaWinRef window, uint32_t root, uint64_t sent, uint64_t received)
{
    AT_RECORD, (void)level;
    struct gn_reader_location *l = user;
    struct gn_event *event =
        add_collective(l, GN_EVENT_RMA_COLLECTIVE_END, time, op, window_of(l, window), root, sent, received);
    read_number(l, list, event);
    end(l, &l->rma, event);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode add_rma(struct gn_reader_location *l, enum gn_event_kind kind, uint64_t time,
                                 uint32_t window, uint32_t remote, uint64_t sent, uint64_t received,
                                 uint64_t id)
{
    struct gn_event *event = add(l, kind, time);
    event->comm = window_of(l, window);
    event->peer = rank_of(l, remote);
    event->bytes_sent = sent;
    event->bytes_received = received;
    event->request = id;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_put(COMMON, OTF2_RmaWinRef window, uint32_t remote, uint64_t bytes, uint64_t id)
{
    AT_RECORD;
    return add_rma(user, GN_EVENT_RMA_PUT, time, window, remote, bytes, 0, id);
}

static OTF2_CallbackCode on_get(COMMON, OTF2_RmaWinRef window, uint32_t remote, uint64_t bytes, uint64_t id)
{
    AT_RECORD;
    return add_rma(user, GN_EVENT_RMA_GET, time, window, remote, 0, bytes, id);
}

static OTF2_CallbackCode on_atomic(COMMON, OTF2_RmaWinRef window, uint32_t remote, OTF2_RmaAtomicType type,
                                   uint64_t sent, uint64_t received, uint64_t id)
{
    AT_RECORD, (void)type;
    return add_rma(user, GN_EVENT_RMA_ATOMIC, time, window, remote, sent, received, id);
}

/* Blocking, nonblocking and remote completions have the same record. */
static OTF2_CallbackCode on_rma_complete(COMMON, OTF2_RmaWinRef window, uint64_t id)
{
    AT_RECORD;
    return add_rma(user, GN_EVENT_RMA_COMPLETE, time, window, OTF2_UNDEFINED_UINT32, 0, 0, id);
}

static OTF2_CallbackCode add_sync(struct gn_reader_location *l, uint64_t time, uint32_t window,
                                  uint32_t remote)
{
    return add_rma(l, GN_EVENT_RMA_SYNC, time, window, remote, 0, 0, 0);
}

static OTF2_CallbackCode on_group_sync(COMMON, OTF2_RmaSyncLevel level, OTF2_RmaWinRef window,
                                       OTF2_GroupRef group)
{
    AT_RECORD, (void)level;
    struct gn_reader_location *l = user;
    const uint32_t members = refer(l, &l->shared->maps.groups, group);
    add_sync(l, time, window, OTF2_UNDEFINED_UINT32);
    if (members < l->shared->definitions->comm_count)
        l->events[l->count - 1].tag = members;
    read_number(l, list, &l->events[l->count - 1]);
    return OTF2_CALLBACK_SUCCESS;
}

/* Requested, acquired or tried: the same record. */
static OTF2_CallbackCode on_lock(COMMON, OTF2_RmaWinRef window, uint32_t remote, uint64_t lock,
                                 OTF2_LockType type)
{
    AT_RECORD, (void)lock, (void)type;
    return add_sync(user, time, window, remote);
}

static OTF2_CallbackCode on_unlock(COMMON, OTF2_RmaWinRef window, uint32_t remote, uint64_t lock)
{
    AT_RECORD, (void)lock;
    return add_sync(user, time, window, remote);
}

static OTF2_CallbackCode on_sync(COMMON, OTF2_RmaWinRef window, uint32_t remote, OTF2_RmaSyncType type)
{
    AT_RECORD, (void)type;
    return add_sync(user, time, window, remote);
}

static OTF2_CallbackCode on_wait_change(COMMON, OTF2_RmaWinRef window)
{
    AT_RECORD;
    return add_sync(user, time, window, OTF2_UNDEFINED_UINT32);
}

/* ---- files ---- */

static OTF2_CallbackCode on_io_begin(COMMON, OTF2_IoHandleRef handle, OTF2_IoOperationMode mode,
                                     OTF2_IoOperationFlag flags, uint64_t bytes, uint64_t id)
{
    AT_RECORD, (void)handle, (void)flags;
    struct gn_event *event = add_request(user, GN_EVENT_IO_BEGIN, time, id, 0);
    *(mode == OTF2_IO_OPERATION_MODE_READ ? &event->bytes_received : &event->bytes_sent) = bytes;
    return OTF2_CALLBACK_SUCCESS;
}

/* The record does not say which way the bytes went: both fields have them. */
static OTF2_CallbackCode on_io_complete(COMMON, OTF2_IoHandleRef handle, uint64_t bytes, uint64_t id)
{
    AT_RECORD, (void)handle;
    struct gn_event *event = add_request(user, GN_EVENT_IO_COMPLETE, time, id, 0);
    event->bytes_sent = event->bytes_received = bytes;
    return OTF2_CALLBACK_SUCCESS;
}

/* ---- threads ---- */

static OTF2_CallbackCode on_fork(COMMON, OTF2_Paradigm model, uint32_t threads)
{
    AT_RECORD, (void)model, (void)threads;
    add(user, GN_EVENT_THREAD_FORK, time);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_join(COMMON, OTF2_Paradigm model)
{
    AT_RECORD, (void)model;
    add(user, GN_EVENT_THREAD_JOIN, time);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_omp_fork(COMMON, uint32_t threads)
{
    AT_RECORD, (void)threads;
    add(user, GN_EVENT_THREAD_FORK, time);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_omp_join(COMMON)
{
    AT_RECORD;
    add(user, GN_EVENT_THREAD_JOIN, time);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_thread_create(COMMON, OTF2_CommRef contingent, uint64_t sequence)
{
    AT_RECORD, (void)contingent;
    add(user, GN_EVENT_THREAD_CREATE, time)->request = sequence;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_thread_wait(COMMON, OTF2_CommRef contingent, uint64_t sequence)
{
    AT_RECORD, (void)contingent;
    add(user, GN_EVENT_THREAD_WAIT, time)->request = sequence;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_team_begin(COMMON, OTF2_CommRef team)
{
    AT_RECORD;
    add(user, GN_EVENT_THREAD_BEGIN, time)->comm = team_of(user, team);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_team_end(COMMON, OTF2_CommRef team)
{
    AT_RECORD;
    add(user, GN_EVENT_THREAD_END, time)->comm = team_of(user, team);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_thread_begin(COMMON, OTF2_CommRef contingent, uint64_t sequence)
{
    AT_RECORD, (void)contingent;
    struct gn_reader_location *l = user;
    l->thread_has_ended = false; /* locations may be used again */
    add(l, GN_EVENT_THREAD_BEGIN, time)->request = sequence;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_thread_end(COMMON, OTF2_CommRef contingent, uint64_t sequence)
{
    AT_RECORD, (void)contingent;
    struct gn_reader_location *l = user;
    add(l, GN_EVENT_THREAD_END, time)->request = sequence;
    l->thread_has_ended = true;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode add_lock(struct gn_reader_location *l, uint16_t kind, uint64_t time, uint32_t lock,
                                  uint32_t order)
{
    add(l, kind, time)->request = (uint64_t)lock << 32 | order;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_lock_acquire(COMMON, OTF2_Paradigm model, uint32_t lock, uint32_t order)
{
    AT_RECORD, (void)model;
    return add_lock(user, GN_EVENT_LOCK_ACQUIRE, time, lock, order);
}

static OTF2_CallbackCode on_lock_release(COMMON, OTF2_Paradigm model, uint32_t lock, uint32_t order)
{
    AT_RECORD, (void)model;
    return add_lock(user, GN_EVENT_LOCK_RELEASE, time, lock, order);
}

static OTF2_CallbackCode on_omp_lock_acquire(COMMON, uint32_t lock, uint32_t order)
{
    AT_RECORD;
    return add_lock(user, GN_EVENT_LOCK_ACQUIRE, time, lock, order);
}

static OTF2_CallbackCode on_omp_lock_release(COMMON, uint32_t lock, uint32_t order)
{
    AT_RECORD;
    return add_lock(user, GN_EVENT_LOCK_RELEASE, time, lock, order);
}

/* ---- the measurement ---- */

static OTF2_CallbackCode on_measurement(COMMON, OTF2_MeasurementMode mode)
{
    AT_RECORD;
    add(user, GN_EVENT_MEASUREMENT, time)->request = mode != OTF2_MEASUREMENT_OFF;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_program_begin(COMMON, OTF2_StringRef name, uint32_t arguments,
                                          const OTF2_StringRef *values)
{
    AT_RECORD, (void)name, (void)arguments, (void)values;
    add(user, GN_EVENT_PROGRAM_BEGIN, time);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_program_end(COMMON, int64_t exit_status)
{
    AT_RECORD, (void)exit_status;
    add(user, GN_EVENT_PROGRAM_END, time);
    return OTF2_CALLBACK_SUCCESS;
}

/* OTF2 has no record for lost events: gnomon's writer uses a parameter. */
static OTF2_CallbackCode on_parameter(COMMON, OTF2_ParameterRef parameter, uint64_t value)
{
    AT_RECORD;
    struct gn_reader_location *l = user;
    if (parameter == GN_NONE)
        return OTF2_CALLBACK_SUCCESS;
    if (parameter == l->shared->maps.parameter_lost)
        add(l, GN_EVENT_LOST, time)->request = value;
    if (parameter == l->shared->maps.parameter_own_work) {
        struct gn_event *event = add(l, GN_EVENT_OWN_WORK, time);
        event->request = value;
        event->bytes_sent = attached_count(list, l->shared->maps.attribute_behind);
    }
    return OTF2_CALLBACK_SUCCESS;
}

static void set_mpi(OTF2_EvtReaderCallbacks *callbacks)
{
#define SET(Record, callback) OTF2_EvtReaderCallbacks_Set##Record##Callback(callbacks, callback)
    SET(Enter, on_enter);
    SET(Leave, on_leave);
    SET(CallingContextEnter, on_context_enter);
    SET(CallingContextLeave, on_context_leave);
    SET(MpiSend, on_send);
    SET(MpiIsend, on_isend);
    SET(MpiIsendComplete, on_isend_complete);
    SET(MpiIrecvRequest, on_irecv_request);
    SET(MpiRecv, on_recv);
    SET(MpiIrecv, on_irecv);
    SET(MpiRequestTest, on_request_test);
    SET(MpiRequestCancelled, on_request_cancelled);
    SET(MpiCollectiveBegin, on_collective_begin);
    SET(MpiCollectiveEnd, on_collective_end);
    SET(NonBlockingCollectiveRequest, on_nbc_request);
    SET(NonBlockingCollectiveComplete, on_nbc_complete);
    SET(CommCreate, on_comm_create);
    SET(CommDestroy, on_comm_destroy);
}

static void set_rma(OTF2_EvtReaderCallbacks *callbacks)
{
    SET(RmaWinCreate, on_window_create);
    SET(RmaWinDestroy, on_window_destroy);
    SET(RmaCollectiveBegin, on_rma_begin);
    SET(RmaCollectiveEnd, on_rma_end);
    SET(RmaPut, on_put);
    SET(RmaGet, on_get);
    SET(RmaAtomic, on_atomic);
    SET(RmaOpCompleteBlocking, on_rma_complete);
    SET(RmaOpCompleteNonBlocking, on_rma_complete);
    SET(RmaOpCompleteRemote, on_rma_complete);
    SET(RmaGroupSync, on_group_sync);
    SET(RmaRequestLock, on_lock);
    SET(RmaAcquireLock, on_lock);
    SET(RmaTryLock, on_lock);
    SET(RmaReleaseLock, on_unlock);
    SET(RmaSync, on_sync);
    SET(RmaWaitChange, on_wait_change);
}

static void set_others(OTF2_EvtReaderCallbacks *callbacks)
{
    SET(IoOperationBegin, on_io_begin);
    SET(IoOperationComplete, on_io_complete);
    SET(ThreadFork, on_fork);
    SET(ThreadJoin, on_join);
    SET(OmpFork, on_omp_fork);
    SET(OmpJoin, on_omp_join);
    SET(ThreadCreate, on_thread_create);
    SET(ThreadWait, on_thread_wait);
    SET(ThreadAcquireLock, on_lock_acquire);
    SET(ThreadReleaseLock, on_lock_release);
    SET(OmpAcquireLock, on_omp_lock_acquire);
    SET(OmpReleaseLock, on_omp_lock_release);
    SET(ThreadTeamBegin, on_team_begin);
    SET(ThreadTeamEnd, on_team_end);
    SET(ThreadBegin, on_thread_begin);
    SET(ThreadEnd, on_thread_end);
    SET(MeasurementOnOff, on_measurement);
    SET(ProgramBegin, on_program_begin);
    SET(ProgramEnd, on_program_end);
    SET(ParameterUnsignedInt, on_parameter);
#undef SET
}

OTF2_EvtReaderCallbacks *gn_reader_callbacks(void)
{
    OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
    if (callbacks) {
        set_mpi(callbacks);
        set_rma(callbacks);
        set_others(callbacks);
    }
    return callbacks;
}
