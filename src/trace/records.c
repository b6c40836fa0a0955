#include "trace/records.h"

#include "trace/vocabulary.h"

#define RECORD(function)                                                                                     \
    static OTF2_ErrorCode function(OTF2_EvtWriter *w, OTF2_AttributeList *a, OTF2_TimeStamp t,               \
                                   const struct gn_event *e)

/* ---- regions ---- */

static void add_path(OTF2_AttributeList *a, const struct gn_event *e)
{
    if (e->path != GN_NONE)
        OTF2_AttributeList_AddCallingContextRef(a, GN_ATTRIBUTE_PATH, e->path);
}

RECORD(enter)
{
    add_path(a, e);
    if (e->request) {
        OTF2_AttributeList_AddUint64(a, GN_ATTRIBUTE_POLLS, e->request);
        OTF2_AttributeList_AddUint64(a, GN_ATTRIBUTE_POLL_TICKS, e->bytes_sent);
    }
    return OTF2_EvtWriter_Enter(w, a, t, e->region);
}

RECORD(leave)
{
    if (e->path != GN_PATH_OF_ENTER) /* OTF2's undefined context is GN_NONE */
        OTF2_AttributeList_AddCallingContextRef(a, GN_ATTRIBUTE_PATH, e->path);
    return OTF2_EvtWriter_Leave(w, a, t, e->region);
}

RECORD(measurement)
{
    return OTF2_EvtWriter_MeasurementOnOff(w, a, t, e->request ? OTF2_MEASUREMENT_ON : OTF2_MEASUREMENT_OFF);
}

RECORD(program_begin)
{
    (void)e;
    return OTF2_EvtWriter_ProgramBegin(w, a, t, 0, 0, NULL);
}

RECORD(program_end)
{
    (void)e;
    return OTF2_EvtWriter_ProgramEnd(w, a, t, OTF2_UNDEFINED_INT64);
}

RECORD(lost)
{
    return OTF2_EvtWriter_ParameterUnsignedInt(w, a, t, GN_PARAMETER_LOST_ID, e->request);
}

RECORD(own_work)
{
    OTF2_AttributeList_AddUint64(a, GN_ATTRIBUTE_BEHIND, e->bytes_sent);
    return OTF2_EvtWriter_ParameterUnsignedInt(w, a, t, GN_PARAMETER_OWN_WORK_ID, e->request);
}

/* ---- messages ---- */

/* Of what has none, nothing is written. */
static void add_number(OTF2_AttributeList *a, const struct gn_event *e)
{
    if (e->number == GN_UNNUMBERED)
        return;
    if (e->number == GN_NUMBER_LATER)
        OTF2_AttributeList_AddUint64(a, GN_ATTRIBUTE_LATE, e->request);
    else if (e->number & GN_NUMBER_UNORDERED)
        OTF2_AttributeList_AddUint64(a, GN_ATTRIBUTE_UNORDERED, e->number ^ GN_NUMBER_UNORDERED);
    else
        OTF2_AttributeList_AddUint64(a, GN_ATTRIBUTE_NUMBER, e->number);
}

RECORD(number)
{
    add_number(a, e);
    OTF2_AttributeList_AddUint64(a, GN_ATTRIBUTE_LATE, e->request);
    const uint64_t bare = e->number == GN_UNNUMBERED ? e->number : e->number & ~GN_NUMBER_UNORDERED;
    return OTF2_EvtWriter_ParameterUnsignedInt(w, a, t, GN_PARAMETER_NUMBER_ID, bare);
}

RECORD(mpi_send)
{
    add_number(a, e);
    return OTF2_EvtWriter_MpiSend(w, a, t, e->peer, e->comm, e->tag, e->bytes_sent);
}

RECORD(mpi_isend)
{
    add_number(a, e);
    return OTF2_EvtWriter_MpiIsend(w, a, t, e->peer, e->comm, e->tag, e->bytes_sent, e->request);
}

RECORD(mpi_isend_complete)
{
    return OTF2_EvtWriter_MpiIsendComplete(w, a, t, e->request);
}

/* OTF2's requests do not say on which communicator they are; what is known is added. */
static void add_posted(OTF2_AttributeList *a, const struct gn_event *e, enum gn_attribute what,
                       uint32_t value)
{
    if (e->comm == GN_NONE)
        return;
    OTF2_AttributeList_AddCommRef(a, GN_ATTRIBUTE_COMM, e->comm);
    OTF2_AttributeList_AddUint32(a, GN_ATTRIBUTE_PEER, e->peer);
    OTF2_AttributeList_AddUint32(a, what, value);
}

RECORD(mpi_irecv_request)
{
    add_posted(a, e, GN_ATTRIBUTE_TAG, e->tag);
    return OTF2_EvtWriter_MpiIrecvRequest(w, a, t, e->request);
}

RECORD(mpi_recv)
{
    add_number(a, e);
    return OTF2_EvtWriter_MpiRecv(w, a, t, e->peer, e->comm, e->tag, e->bytes_received);
}

RECORD(mpi_irecv)
{
    add_number(a, e);
    return OTF2_EvtWriter_MpiIrecv(w, a, t, e->peer, e->comm, e->tag, e->bytes_received, e->request);
}

RECORD(mpi_request_test)
{
    return OTF2_EvtWriter_MpiRequestTest(w, a, t, e->request);
}

RECORD(mpi_request_cancelled)
{
    return OTF2_EvtWriter_MpiRequestCancelled(w, a, t, e->request);
}

/* ---- collectives ---- */

static uint32_t root_of(const struct gn_event *e)
{
    switch (e->peer) {
    case GN_NONE:
        return OTF2_COLLECTIVE_ROOT_NONE;
    case GN_ROOT_SELF:
        return OTF2_COLLECTIVE_ROOT_SELF;
    case GN_ROOT_NONE:
        return OTF2_COLLECTIVE_ROOT_THIS_GROUP;
    default:
        return e->peer;
    }
}

RECORD(collective_begin)
{
    (void)e;
    return OTF2_EvtWriter_MpiCollectiveBegin(w, a, t);
}

RECORD(collective_end)
{
    add_number(a, e);
    return OTF2_EvtWriter_MpiCollectiveEnd(w, a, t, e->op, e->comm, root_of(e), e->bytes_sent,
                                           e->bytes_received);
}

RECORD(nbc_request)
{
    add_number(a, e);
    add_posted(a, e, GN_ATTRIBUTE_OP, e->op);
    return OTF2_EvtWriter_NonBlockingCollectiveRequest(w, a, t, e->request);
}

RECORD(nbc_complete)
{
    return OTF2_EvtWriter_NonBlockingCollectiveComplete(w, a, t, e->op, e->comm, root_of(e), e->bytes_sent,
                                                        e->bytes_received, e->request);
}

RECORD(comm_create)
{
    return OTF2_EvtWriter_CommCreate(w, a, t, e->comm);
}

RECORD(comm_destroy)
{
    return OTF2_EvtWriter_CommDestroy(w, a, t, e->comm);
}

/* ---- remote memory ---- */

RECORD(rma_win_create)
{
    return OTF2_EvtWriter_RmaWinCreate(w, a, t, e->comm);
}

RECORD(rma_win_destroy)
{
    return OTF2_EvtWriter_RmaWinDestroy(w, a, t, e->comm);
}

RECORD(rma_collective_begin)
{
    (void)e;
    return OTF2_EvtWriter_RmaCollectiveBegin(w, a, t);
}

RECORD(rma_collective_end)
{
    const OTF2_RmaSyncLevel level = OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY;
    add_number(a, e);
    return OTF2_EvtWriter_RmaCollectiveEnd(w, a, t, e->op, level, e->comm, root_of(e), e->bytes_sent,
                                           e->bytes_received);
}

RECORD(rma_put)
{
    return OTF2_EvtWriter_RmaPut(w, a, t, e->comm, e->peer, e->bytes_sent, e->request);
}

RECORD(rma_get)
{
    return OTF2_EvtWriter_RmaGet(w, a, t, e->comm, e->peer, e->bytes_received, e->request);
}

RECORD(rma_atomic)
{
    return OTF2_EvtWriter_RmaAtomic(w, a, t, e->comm, e->peer, OTF2_RMA_ATOMIC_TYPE_ACCUMULATE, e->bytes_sent,
                                    e->bytes_received, e->request);
}

RECORD(rma_complete)
{
    return OTF2_EvtWriter_RmaOpCompleteBlocking(w, a, t, e->comm, e->request);
}

RECORD(rma_sync)
{
    const OTF2_RmaSyncLevel level = OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY;
    add_number(a, e);
    if (e->tag != GN_NONE)
        return OTF2_EvtWriter_RmaGroupSync(w, a, t, level, e->comm, gn_otf2_group(e->tag));
    return OTF2_EvtWriter_RmaSync(w, a, t, e->comm, e->peer, OTF2_RMA_SYNC_TYPE_MEMORY);
}

/* ---- files and threads ---- */

/* What is written to a file is sent, what is read is received. */
static uint64_t io_bytes(const struct gn_event *e)
{
    return e->bytes_sent ? e->bytes_sent : e->bytes_received;
}

RECORD(io_begin)
{
    OTF2_IoOperationMode mode = e->bytes_sent ? OTF2_IO_OPERATION_MODE_WRITE : OTF2_IO_OPERATION_MODE_READ;
    return OTF2_EvtWriter_IoOperationBegin(w, a, t, GN_IO_HANDLE_ID, mode, OTF2_IO_OPERATION_FLAG_NONE,
                                           io_bytes(e), e->request);
}

RECORD(io_complete)
{
    return OTF2_EvtWriter_IoOperationComplete(w, a, t, GN_IO_HANDLE_ID, io_bytes(e), e->request);
}

RECORD(thread_fork)
{
    (void)e;
    return OTF2_EvtWriter_ThreadFork(w, a, t, OTF2_PARADIGM_OPENMP, 0);
}

RECORD(thread_join)
{
    (void)e;
    return OTF2_EvtWriter_ThreadJoin(w, a, t, OTF2_PARADIGM_OPENMP);
}

RECORD(thread_create)
{
    return OTF2_EvtWriter_ThreadCreate(w, a, t, OTF2_UNDEFINED_COMM, e->request);
}

RECORD(thread_wait)
{
    return OTF2_EvtWriter_ThreadWait(w, a, t, OTF2_UNDEFINED_COMM, e->request);
}

RECORD(lock_acquire)
{
    return OTF2_EvtWriter_ThreadAcquireLock(w, a, t, OTF2_PARADIGM_OPENMP, (uint32_t)(e->request >> 32),
                                            (uint32_t)e->request);
}

RECORD(lock_release)
{
    return OTF2_EvtWriter_ThreadReleaseLock(w, a, t, OTF2_PARADIGM_OPENMP, (uint32_t)(e->request >> 32),
                                            (uint32_t)e->request);
}

RECORD(thread_begin)
{
    if (e->comm != GN_NONE)
        return OTF2_EvtWriter_ThreadTeamBegin(w, a, t, e->comm);
    return OTF2_EvtWriter_ThreadBegin(w, a, t, OTF2_UNDEFINED_COMM, e->request);
}

RECORD(thread_end)
{
    if (e->comm != GN_NONE)
        return OTF2_EvtWriter_ThreadTeamEnd(w, a, t, e->comm);
    return OTF2_EvtWriter_ThreadEnd(w, a, t, OTF2_UNDEFINED_COMM, e->request);
}

OTF2_ErrorCode gn_record_write(OTF2_EvtWriter *writer, OTF2_AttributeList *attributes, OTF2_TimeStamp ticks,
                               const struct gn_event *event)
{
    /* A user's region is entered and left like any other; its definition says that it is the user's. */
#define region_begin enter
#define region_end leave
    static OTF2_ErrorCode (*const records[])(OTF2_EvtWriter *, OTF2_AttributeList *, OTF2_TimeStamp,
                                             const struct gn_event *) = {
#define X(KIND, name) [GN_EVENT_##KIND] = name,
        GN_EVENT_KINDS(X)
#undef X
    };
    if (event->kind >= GN_EVENT_KIND_COUNT)
        return OTF2_ERROR_INVALID_ARGUMENT;
    OTF2_ErrorCode status = records[event->kind](writer, attributes, ticks, event);
    if (status != OTF2_SUCCESS)
        OTF2_AttributeList_RemoveAllAttributes(attributes);
    return status;
}
