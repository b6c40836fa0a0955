#include "capture/counting.h"

#include "capture/callpath.h"
#include "capture/comms.h"
#include "capture/facts.h"
#include "capture/modules.h"
#include "capture/real.h"
#include "event/activity.h"

#include <errno.h>
#include <string.h>

_Atomic(struct gn_number_tables *) gn_numbers;
bool gn_counts_threads;

static struct gn_number_tables *tables; /* gn_numbers, until the end: receives posted before go on */

/* The thread's unrecorded calls under way, from the outermost on. */
enum { MOST_NESTED = 8 };
static __thread struct {
    struct gn_registers at;
    uint32_t activity;
} nested[MOST_NESTED] __attribute__((tls_model("initial-exec")));
static __thread uint32_t depth __attribute__((tls_model("initial-exec")));

/* Told when the call is left: until then its own record may be held back. */
static void late(void *context, uint64_t name, uint64_t number)
{
    struct gn_recorder *r = context;
    if (r && name && r->tracer.ring && r->late_count < GN_MOST_LATE)
        r->late[r->late_count++] = (struct gn_capture_late){name, number};
}

int gn_counts_open(void)
{
    tables = gn_numbers_open(late);
    GN_SET(gn_numbers, tables);
    return tables ? 0 : -1;
}

void gn_counts_threaded(void)
{
    struct gn_number_tables *numbers = GN_GET(gn_numbers);
    if (!numbers)
        return;
    gn_numbers_threaded(numbers);
    gn_counts_threads = true;
}

void gn_counts_give_up(void)
{
    GN_SET(gn_numbers, NULL);
}

void gn_counts_cancel_unfollowed(void)
{
    if (tables)
        gn_number_void(tables);
    gn_counts_give_up();
}

/* ---- calls that are not recorded ---- */

/* Open MPI's parts are modules of their own: its ROMIO calls MPI_Ialltoall. From MPICH's Fortran entry points
 * come the program's calls. */
static bool calls_for_itself(const struct gn_module *module)
{
    const char *slash = strrchr(module->path, '/');
    const bool is_part = slash && strncmp(slash, "/mca_", 5) == 0;
    const bool is_fortran =
        slash && (strncmp(slash, "/libmpichfort", 13) == 0 || strncmp(slash, "/libmpifort", 11) == 0);
    return (gn_module_is_mpi(module) && !is_fortran) || is_part;
}

static bool is_of_library(uintptr_t address)
{
    static __thread struct {
        uintptr_t address;
        uint32_t era;
        bool is;
    } last __attribute__((tls_model("initial-exec")));
    struct gn_ip_facts facts;
    const uint32_t era = GN_GET(gn_unload_era) + 1;
    if (last.address == address && last.era == era)
        return last.is;
    if (!gn_ip_facts_at(gn_segment, address, &facts)) {
        gn_counts_give_up();
        return false;
    }
    last.address = address;
    last.era = era;
    last.is = facts.module && calls_for_itself(&gn_segment->modules[facts.module]);
    return last.is;
}

void gn_counts_notice_jump(struct gn_registers at)
{
    const int code = errno;
    while (depth > 0 &&
           (nested[depth - 1].at.sp <= at.sp || !gn_return_address_stands(nested[depth - 1].at))) {
        depth--;
        gn_counts_give_up();
    }
    errno = code;
}

static bool is_message(uint32_t activity)
{
    return strcmp(gn_activity_def(activity)->group, "p2p") == 0;
}

static uint32_t activity_around(const struct gn_recorder *r)
{
    if (depth > 0)
        return nested[depth - 1].activity;
    return r && r->inside ? GN_GET(r->location->nodes[GN_GET(r->location->now_node)].activity)
                          : GN_CALL_COUNT;
}

bool gn_enter_unrecorded(struct gn_capture_call *call, uint32_t activity, void *caller, void *frame)
{
    if (gn_is_closed() || !GN_GET(gn_numbers))
        return false;
    const struct gn_registers at = gn_registers_of(caller, frame);
    const struct gn_recorder *r = gn_recorder_here();
    gn_counts_notice_jump(at);
    const bool inside = depth > 0 || (r && r->inside);
    if (inside && is_of_library(at.ip))
        return false;
    if (depth == MOST_NESTED || (inside && is_message(activity) && is_message(activity_around(r)))) {
        gn_counts_give_up();
        return false;
    }
    call->recorder = NULL;
    call->depth = depth;
    call->node = call->messages = call->list_count = call->fortran = 0;
    call->bytes = 0;
    call->exact = call->sampled = call->traced = call->idle = false;
    call->enter_ticks = gn_ticks(); /* requests are told apart by it */
    nested[depth].at = at;
    nested[depth++].activity = activity;
    return true;
}

void gn_leave_unrecorded(struct gn_capture_call *call, int result)
{
    if (gn_is_closed()) /* a child made inside the call */
        return;
    if (call->list_count)
        gn_settle_requests(call, result);
    depth = call->depth;
    struct gn_recorder *r = gn_recorder_here();
    if (r && r->late_count && !r->tracer.in_call)
        gn_tell_late(r);
}

/* ---- around calls ---- */

/* One without a number is never counted on, as long as it has none. That of a thread that is ahead of the end
 * of MPI_Init will have one. */
static __attribute__((noinline, cold)) void is_unknown(void)
{
    if (gn_ring_memory && GN_GET(gn_ring_memory->comm_count) == 0)
        gn_counts_give_up();
}

uint32_t gn_counts_comm(const struct gn_capture_call *call, gn_handle comm)
{
    uint32_t number = call->recorder ? gn_known_comm(call->recorder, comm) : gn_comm_number(comm);
    if (__builtin_expect(number == GN_NUMBER_NO_COMM, 0))
        is_unknown();
    return number;
}

int32_t gn_counts_source(int source)
{
    return source == gn_flavour.any_source ? GN_NUMBER_ANY : source;
}

int32_t gn_counts_tag(int tag)
{
    return tag == gn_flavour.any_tag ? GN_NUMBER_ANY : tag;
}

/* Only receives may name anything. */
static struct gn_receive channel_of(const struct gn_capture_call *call, enum gn_number_side side, int peer,
                                    int tag, gn_handle comm)
{
    const bool receive = side == GN_NUMBER_RECEIVE;
    return (struct gn_receive){.comm = gn_counts_comm(call, comm),
                               .source = receive ? gn_counts_source(peer) : peer,
                               .tag = receive ? gn_counts_tag(tag) : tag};
}

void gn_counts_begin(struct gn_capture_call *call, enum gn_number_side side, int peer, int tag,
                     gn_handle comm)
{
    struct gn_number_tables *numbers = GN_GET(gn_numbers);
    struct gn_receive at = channel_of(call, side, peer, tag, comm);
    if (numbers && peer != gn_flavour.proc_null)
        call->inside[side] = gn_number_enter(numbers, side, at.comm, at.source, at.tag);
}

void gn_counts_none(struct gn_capture_call *call, enum gn_number_side side)
{
    if (gn_counts_threads && tables && call->inside[side])
        gn_number_leave(tables, side, call->inside[side]);
}

void gn_counts_failed(struct gn_capture_call *call, enum gn_number_side side, int peer, int tag,
                      gn_handle comm)
{
    struct gn_number_tables *numbers = GN_GET(gn_numbers);
    struct gn_receive at = channel_of(call, side, peer, tag, comm);
    if (numbers && peer != gn_flavour.proc_null)
        gn_number_failed(numbers, side, call->inside[side], at.comm, at.source, at.tag);
}

uint64_t gn_counted_receive(struct gn_capture_call *call, uint32_t comm, const void *status, uint64_t name)
{
    struct gn_number_tables *numbers = GN_GET(gn_numbers);
    return numbers
               ? gn_number_receive(numbers, call->inside[GN_NUMBER_RECEIVE], comm, gn_status_source(status),
                                   gn_status_tag(status), name, gn_recorder_here())
               : GN_UNNUMBERED;
}

/* ---- requests ---- */

static bool is_send(const struct gn_request *request)
{
    return request->kind == GN_SEND || request->kind == GN_PERSISTENT_SEND;
}

static uint32_t comm_of(const struct gn_request *request)
{
    return request->orphaned ? GN_NUMBER_NO_COMM : request->at.comm;
}

void gn_counted_post(uint32_t inside, struct gn_request *request)
{
    struct gn_number_tables *numbers = GN_GET(gn_numbers);
    if (!numbers)
        return;
    gn_number_post(numbers, inside, &request->at, comm_of(request), request->at.source, request->at.tag);
    request->counting = GN_POSTED;
}

void gn_counts_begin_start(struct gn_request *request)
{
    const enum gn_number_side side = is_send(request) ? GN_NUMBER_SEND : GN_NUMBER_RECEIVE;
    struct gn_number_tables *numbers = GN_GET(gn_numbers);
    request->inside = 0;
    if (numbers)
        request->inside =
            gn_number_enter(numbers, side, comm_of(request), request->at.source, request->at.tag);
}

uint64_t gn_counted_start(struct gn_request *request)
{
    struct gn_number_tables *numbers = GN_GET(gn_numbers);
    return numbers ? gn_number_send(numbers, request->inside, comm_of(request), request->at.source,
                                    request->at.tag)
                   : GN_UNNUMBERED;
}

static void send_cancelled(const struct gn_request *request)
{
    gn_number_send_cancelled(tables, comm_of(request), request->at.source, request->at.tag);
}

uint64_t gn_counted_complete(struct gn_request *request, const void *status, uint64_t name)
{
    const uint8_t counting = request->counting;
    if (counting == GN_MATCHED)
        return request->at.number;
    if (__builtin_expect(request->cancelling, 0) && is_send(request) && gn_status_cancelled(status))
        send_cancelled(request);
    request->cancelling = 0;
    if (counting != GN_POSTED)
        return GN_UNNUMBERED;
    request->counting = GN_NOT_COUNTED;
    if (!gn_status_cancelled(status))
        return gn_number_complete(tables, &request->at, gn_status_source(status), gn_status_tag(status), name,
                                  gn_recorder_here());
    gn_number_cancelled(tables, &request->at, gn_recorder_here());
    return GN_UNNUMBERED;
}

uint64_t gn_counted_complete_as_posted(struct gn_request *request, uint64_t name)
{
    if (request->counting != GN_POSTED)
        return GN_UNNUMBERED;
    request->counting = GN_NOT_COUNTED;
    return gn_number_complete(tables, &request->at, request->at.source, request->at.tag, name,
                              gn_recorder_here());
}

uint64_t gn_counted_persistent(const struct gn_request *request)
{
    struct gn_number_tables *numbers = GN_GET(gn_numbers);
    return numbers ? gn_number_collective(numbers, comm_of(request)) : GN_UNNUMBERED;
}

void gn_counted_freed(struct gn_request *request)
{
    if (request->counting == GN_POSTED)
        gn_number_freed(tables, &request->at, gn_recorder_here());
    else if (request->cancelling && is_send(request)) /* nobody will ask how that ended */
        send_cancelled(request);
    request->counting = GN_NOT_COUNTED;
    request->cancelling = 0;
}

void gn_counted_lost(struct gn_request *request)
{
    if (request->counting == GN_POSTED)
        gn_number_cancel(tables, &request->at);
    gn_counted_freed(request);
}

void gn_counted_cancel(struct gn_request *request)
{
    if (request->counting == GN_POSTED)
        gn_number_cancel(tables, &request->at);
    request->cancelling = request->counting == GN_POSTED || is_send(request);
}

void gn_counts_unfollowed(const struct gn_request *request)
{
    const enum gn_number_side side = is_send(request) ? GN_NUMBER_SEND : GN_NUMBER_RECEIVE;
    struct gn_number_tables *numbers = GN_GET(gn_numbers);
    if (numbers && !request->to_null)
        gn_number_failed(numbers, side, request->inside, comm_of(request), request->at.source,
                         request->at.tag);
}

/* ---- collectives, communicators ---- */

void gn_counted_collective(struct gn_capture_call *call, uint32_t comm, int result)
{
    struct gn_number_tables *numbers = GN_GET(gn_numbers);
    call->count = GN_UNNUMBERED;
    if (__builtin_expect(comm == GN_NUMBER_NO_COMM, 0))
        is_unknown();
    if (!numbers)
        return;
    if (__builtin_expect(result != 0, 0))
        gn_number_collective_failed(numbers, comm);
    else
        call->count = gn_number_collective(numbers, comm);
}

void gn_counted_comm_gone(uint32_t comm)
{
    if (tables)
        gn_number_comm_gone(tables, comm, gn_recorder_here());
}
