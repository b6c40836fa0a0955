#include "repair/transport_mpi.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef GNOMON_SIMULATED_TIME
enum { MPI_WAITS = 1 };
#else
enum { MPI_WAITS = 0 };
#endif

enum {
    BATCH, /* tags */
    SETTLEMENT,
    IN_FLIGHT = 64,        /* batches that MPI knows of */
    SLOTS = IN_FLIGHT + 8, /* and settlements: they wait for no batch */
    POLITE = 16,           /* questions before others get the core in between */
    SPINS = 256,           /* questions before the first nap: longer than a message takes between hosts */
    LONGEST_NAP_US = 200,
    MOST_BATCH = 1 << 30,
    PIECE = 1 << 30,       /* of what is shared: MPI counts in int */
    PIECE_VALUES = 1 << 26 /* of what is agreed on */
};

struct parcel { /* a batch that was not sent yet, or not completely */
    struct parcel *next;
    uint32_t to;
    size_t size;
    uint8_t bytes[];
};

/* One at a time: nobody begins the next one before the result of this one has come, and a child's sum can
 * only be of the next one when that result went down to it. */
struct settlement {
    bool begun, passed_up, done;
    int awaited;       /* children whose sums have not come */
    int64_t values[3]; /* our own */
    int64_t below[3];  /* of the children that have come */
    int64_t result[3]; /* valid when done */
};

struct peers {
    MPI_Comm comm;
    int rank, size;
    bool ours; /* MPI was initialised here */
    MPI_Request requests[SLOTS];
    struct parcel *flying[SLOTS];
    int flying_count;
    struct parcel *first, *last; /* the queue */
    uint8_t *inbox;
    size_t inbox_size;
    struct settlement settlement;
    MPI_Request posted[2]; /* simulated time: receives by tag */
    int64_t posted_settlement[3];
};

static int failed(int code)
{
    int class = MPI_ERR_OTHER;
    if (code == MPI_SUCCESS)
        return 0;
    MPI_Error_class(code, &class);
    return class == MPI_ERR_NO_MEM ? -ENOMEM : class == MPI_ERR_TRUNCATE ? -EMSGSIZE : -EIO;
}

/* ---- time ---- */

struct waiting {
    struct timespec begin;
    int64_t timeout_us, nap_us;
    int asked;
};

static struct waiting begin_waiting(int64_t timeout_us)
{
    struct waiting waiting = {.timeout_us = timeout_us, .nap_us = 1};
    if (timeout_us > 0)
        clock_gettime(CLOCK_MONOTONIC, &waiting.begin);
    return waiting;
}

static int64_t left_us(const struct waiting *waiting)
{
    struct timespec now;
    if (waiting->timeout_us <= 0)
        return waiting->timeout_us < 0 ? LONGEST_NAP_US : 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return waiting->timeout_us - ((int64_t)(now.tv_sec - waiting->begin.tv_sec) * 1000000 +
                                  (now.tv_nsec - waiting->begin.tv_nsec) / 1000);
}

/* Passes some time; false: none is left. */
static bool wait_a_little(struct waiting *waiting)
{
    int64_t left = left_us(waiting);
    if (left <= 0)
        return false;
    if (++waiting->asked < SPINS) {
        if (waiting->asked > POLITE)
            sched_yield(); /* whom we wait for may need this core */
        return true;
    }
    int64_t nap = waiting->nap_us < left ? waiting->nap_us : left;
    nanosleep(&(struct timespec){.tv_nsec = (long)nap * 1000}, NULL);
    waiting->nap_us = 2 * waiting->nap_us < LONGEST_NAP_US ? 2 * waiting->nap_us : LONGEST_NAP_US;
    return true;
}

/* ---- sending ---- */

#ifdef GNOMON_SIMULATED_TIME

static int send_on(struct peers *peers)
{
    (void)peers; /* nothing is ever left to do */
    return 0;
}

static int send_batch(void *self, uint32_t to, const void *bytes, size_t size)
{
    struct peers *peers = self;
    if (to >= (uint32_t)peers->size || size == 0 || size > GN_TRANSPORT_MOST_SIMULATED)
        return -EINVAL;
    return failed(MPI_Send(bytes, (int)size, MPI_BYTE, (int)to, BATCH, peers->comm));
}

static int tell(struct peers *peers, int to, const int64_t values[3])
{
    return failed(MPI_Send(values, 3 * (int)sizeof *values, MPI_BYTE, to, SETTLEMENT, peers->comm));
}

#else

/* Frees what has been sent. */
static int land(struct peers *peers)
{
    int indices[SLOTS], count = 0, kept = 0;
    MPI_Status statuses[SLOTS]; /* gcc takes MPI_STATUSES_IGNORE for an array that is too short */
    if (peers->flying_count == 0)
        return 0;
    int code = failed(MPI_Testsome(peers->flying_count, peers->requests, &count, indices, statuses));
    if (code != 0 || count <= 0)
        return code;
    for (int i = 0; i < peers->flying_count; i++) {
        if (peers->requests[i] == MPI_REQUEST_NULL) {
            free(peers->flying[i]);
            continue;
        }
        peers->requests[kept] = peers->requests[i];
        peers->flying[kept++] = peers->flying[i];
    }
    peers->flying_count = kept;
    return 0;
}

/* There is a slot. The parcel is freed when it has arrived; not when this fails. */
static int fly(struct peers *peers, struct parcel *parcel, int tag)
{
    int code = failed(MPI_Isend(parcel->bytes, (int)parcel->size, MPI_BYTE, (int)parcel->to, tag, peers->comm,
                                &peers->requests[peers->flying_count]));
    if (code == 0)
        peers->flying[peers->flying_count++] = parcel;
    return code;
}

static struct parcel *pack(uint32_t to, const void *bytes, size_t size)
{
    struct parcel *parcel = malloc(sizeof *parcel + size);
    if (!parcel)
        return NULL;
    *parcel = (struct parcel){.to = to, .size = size};
    memcpy(parcel->bytes, bytes, size);
    return parcel;
}

/* Moves on what has been sent and what waits for its turn. */
static int send_on(struct peers *peers)
{
    int code = land(peers);
    while (code == 0 && peers->first && peers->flying_count < IN_FLIGHT) {
        struct parcel *parcel = peers->first;
        code = fly(peers, parcel, BATCH);
        if (code == 0)
            peers->first = parcel->next;
    }
    return code;
}

static int send_batch(void *self, uint32_t to, const void *bytes, size_t size)
{
    struct peers *peers = self;
    if (to >= (uint32_t)peers->size || size == 0 || size > MOST_BATCH)
        return -EINVAL;
    struct parcel *parcel = pack(to, bytes, size);
    if (!parcel)
        return -ENOMEM;
    if (peers->first)
        peers->last->next = parcel;
    else
        peers->first = parcel;
    peers->last = parcel;
    return send_on(peers);
}

/* A settlement has three of these at most, and there is no next one before they have been received: a slot
 * gets free. */
static int tell(struct peers *peers, int to, const int64_t values[3])
{
    int code = land(peers);
    while (code == 0 && peers->flying_count == SLOTS)
        code = land(peers);
    struct parcel *parcel = code == 0 ? pack((uint32_t)to, values, 3 * sizeof *values) : NULL;
    if (!parcel)
        return code != 0 ? code : -ENOMEM;
    code = fly(peers, parcel, SETTLEMENT);
    if (code != 0)
        free(parcel);
    return code;
}

#endif

/* ---- settling ---- */

static int child_of(const struct peers *peers, int which)
{
    int child = 2 * peers->rank + 1 + which;
    return child < peers->size ? child : -1;
}

static int child_count(const struct peers *peers)
{
    return (child_of(peers, 0) >= 0) + (child_of(peers, 1) >= 0);
}

static int conclude(struct peers *peers, const int64_t result[3])
{
    struct settlement *settlement = &peers->settlement;
    int code = 0;
    memcpy(settlement->result, result, sizeof settlement->result);
    settlement->done = true;
    for (int i = 0; i < 2 && code == 0; i++)
        if (child_of(peers, i) >= 0)
            code = tell(peers, child_of(peers, i), result);
    return code;
}

/* When we and all below us have begun: up, or, at the root, down. */
static int settle_on(struct peers *peers)
{
    struct settlement *settlement = &peers->settlement;
    int64_t sums[3];
    if (!settlement->begun || settlement->passed_up || settlement->awaited > 0)
        return 0;
    for (int i = 0; i < 3; i++) {
        sums[i] = settlement->values[i] + settlement->below[i];
        settlement->below[i] = 0;
    }
    settlement->passed_up = true;
    settlement->awaited = child_count(peers);
    return peers->rank == 0 ? conclude(peers, sums) : tell(peers, (peers->rank - 1) / 2, sums);
}

static int take_settlement(struct peers *peers, int from, const int64_t values[3])
{
    struct settlement *settlement = &peers->settlement;
    if (peers->rank != 0 && from == (peers->rank - 1) / 2)
        return conclude(peers, values);
    for (int i = 0; i < 3; i++)
        settlement->below[i] += values[i];
    settlement->awaited--;
    return settle_on(peers);
}

static int settle_begin(void *self, const int64_t values[3])
{
    struct peers *peers = self;
    struct settlement *settlement = &peers->settlement;
    if (settlement->begun)
        return -EBUSY;
    settlement->begun = true;
    memcpy(settlement->values, values, sizeof settlement->values);
    return settle_on(peers);
}

/* ---- receiving ---- */

static int inbox_for(struct peers *peers, size_t size)
{
    if (size <= peers->inbox_size)
        return 0;
    uint8_t *inbox = realloc(peers->inbox, size);
    if (!inbox)
        return -ENOMEM;
    peers->inbox = inbox;
    peers->inbox_size = size;
    return 0;
}

#ifdef GNOMON_SIMULATED_TIME

static int post(struct peers *peers)
{
    int code = 0;
    if (peers->posted[BATCH] == MPI_REQUEST_NULL)
        code = inbox_for(peers, GN_TRANSPORT_MOST_SIMULATED);
    if (code == 0 && peers->posted[BATCH] == MPI_REQUEST_NULL)
        code = failed(MPI_Irecv(peers->inbox, GN_TRANSPORT_MOST_SIMULATED, MPI_BYTE, MPI_ANY_SOURCE, BATCH,
                                peers->comm, &peers->posted[BATCH]));
    if (code == 0 && peers->posted[SETTLEMENT] == MPI_REQUEST_NULL)
        code = failed(MPI_Irecv(peers->posted_settlement, sizeof peers->posted_settlement, MPI_BYTE,
                                MPI_ANY_SOURCE, SETTLEMENT, peers->comm, &peers->posted[SETTLEMENT]));
    return code;
}

/* All settlement messages that are here. */
static int take_settlements(struct peers *peers)
{
    for (;;) {
        MPI_Status status;
        int here = 0, code = post(peers);
        if (code == 0)
            code = failed(MPI_Test(&peers->posted[SETTLEMENT], &here, &status));
        if (code != 0 || !here)
            return code;
        code = take_settlement(peers, status.MPI_SOURCE, peers->posted_settlement);
        if (code != 0)
            return code;
    }
}

/* The size of a batch that is here; -EAGAIN: none, or it was a settlement's. */
static int64_t take(struct peers *peers, uint32_t *from, const void **bytes, bool wait)
{
    MPI_Status status;
    int which = BATCH, here = 1, count = 0;
    int code = post(peers);
    if (code == 0)
        code = failed(wait ? MPI_Waitany(2, peers->posted, &which, &status)
                           : MPI_Test(&peers->posted[BATCH], &here, &status));
    if (code != 0)
        return code;
    if (!here || which == MPI_UNDEFINED)
        return -EAGAIN;
    if (which == SETTLEMENT) {
        code = take_settlement(peers, status.MPI_SOURCE, peers->posted_settlement);
        return code != 0 ? code : -EAGAIN;
    }
    *from = (uint32_t)status.MPI_SOURCE;
    *bytes = peers->inbox;
    code = failed(MPI_Get_count(&status, MPI_BYTE, &count));
    return code != 0 ? code : count;
}

#else

static int take_one_settlement(struct peers *peers, int from)
{
    int64_t values[3];
    int code =
        failed(MPI_Recv(values, sizeof values, MPI_BYTE, from, SETTLEMENT, peers->comm, MPI_STATUS_IGNORE));
    return code != 0 ? code : take_settlement(peers, from, values);
}

static int take_settlements(struct peers *peers)
{
    for (;;) {
        MPI_Status status;
        int here = 0;
        int code = failed(MPI_Iprobe(MPI_ANY_SOURCE, SETTLEMENT, peers->comm, &here, &status));
        if (code == 0 && here)
            code = take_one_settlement(peers, status.MPI_SOURCE);
        if (code != 0 || !here)
            return code;
    }
}

/* Nobody else receives here, so what was seen is what is received next from there. */
static int64_t take_batch(struct peers *peers, const MPI_Status *status, uint32_t *from, const void **bytes)
{
    int size = 0;
    int code = failed(MPI_Get_count(status, MPI_BYTE, &size));
    if (code == 0)
        code = inbox_for(peers, (size_t)size);
    if (code == 0)
        code = failed(MPI_Recv(peers->inbox, size, MPI_BYTE, status->MPI_SOURCE, BATCH, peers->comm,
                               MPI_STATUS_IGNORE));
    *from = (uint32_t)status->MPI_SOURCE;
    *bytes = peers->inbox;
    return code != 0 ? code : size;
}

/* The size of a batch that is here; -EAGAIN: none, or it was a settlement's. */
static int64_t take(struct peers *peers, uint32_t *from, const void **bytes, bool wait)
{
    (void)wait;
    MPI_Status status;
    int here = 0;
    int code = failed(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, peers->comm, &here, &status));
    if (code == 0 && here && status.MPI_TAG == BATCH)
        return take_batch(peers, &status, from, bytes);
    if (code == 0 && here)
        code = take_one_settlement(peers, status.MPI_SOURCE);
    return code != 0 ? code : -EAGAIN;
}

#endif

static int64_t receive(void *self, uint32_t *from, const void **bytes, int64_t timeout_us)
{
    struct peers *peers = self;
    struct waiting waiting = begin_waiting(timeout_us);
    do {
        const bool settled = peers->settlement.done;
        int64_t size = take(peers, from, bytes, MPI_WAITS && timeout_us != 0 && !settled);
        if (size != -EAGAIN)
            return size;
        int code = send_on(peers);
        if (code != 0 || peers->settlement.done)
            return code != 0 ? code : -EAGAIN;
    } while (MPI_WAITS ? timeout_us != 0 : wait_a_little(&waiting));
    return -EAGAIN;
}

static int settle_test(void *self, bool *done, int64_t sums[3])
{
    struct peers *peers = self;
    struct settlement *settlement = &peers->settlement;
    int code = settlement->begun && !settlement->done ? take_settlements(peers) : 0;
    if (code == 0)
        code = send_on(peers);
    *done = code == 0 && settlement->done;
    if (!*done)
        return code;
    memcpy(sums, settlement->result, sizeof settlement->result);
    settlement->begun = settlement->passed_up = settlement->done = false;
    return 0;
}

/* ---- agreeing ---- */

#ifdef GNOMON_SIMULATED_TIME

static int agree_piece(struct peers *peers, MPI_Op how, int64_t *values, int count)
{
    return failed(MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, how, peers->comm));
}

static int share_piece(struct peers *peers, int from, void *bytes, int size)
{
    return failed(MPI_Bcast(bytes, size, MPI_BYTE, from, peers->comm));
}

#else

/* Waits in our own way, while what was sent before moves on. */
static int wait_for(struct peers *peers, MPI_Request *request)
{
    struct waiting waiting = begin_waiting(-1);
    for (;;) {
        int done = 0;
        int code = failed(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (code == 0)
            code = send_on(peers);
        if (code != 0 || done)
            return code;
        wait_a_little(&waiting);
    }
}

static int agree_piece(struct peers *peers, MPI_Op how, int64_t *values, int count)
{
    MPI_Request request;
    int code = failed(MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, how, peers->comm, &request));
    return code != 0 ? code : wait_for(peers, &request);
}

static int share_piece(struct peers *peers, int from, void *bytes, int size)
{
    MPI_Request request;
    int code = failed(MPI_Ibcast(bytes, size, MPI_BYTE, from, peers->comm, &request));
    return code != 0 ? code : wait_for(peers, &request);
}

#endif

static int agree(void *self, enum gn_agreement how, int64_t *values, size_t count)
{
    const MPI_Op op = how == GN_AGREE_SUM ? MPI_SUM : how == GN_AGREE_MAX ? MPI_MAX : MPI_MIN;
    int code = 0;
    for (size_t at = 0; at < count && code == 0; at += PIECE_VALUES)
        code =
            agree_piece(self, op, values + at, (int)(count - at < PIECE_VALUES ? count - at : PIECE_VALUES));
    return code;
}

static int share(void *self, uint32_t from, void *bytes, size_t size)
{
    struct peers *peers = self;
    int code = from < (uint32_t)peers->size ? 0 : -EINVAL;
    for (size_t at = 0; at < size && code == 0; at += PIECE)
        code = share_piece(peers, (int)from, (uint8_t *)bytes + at,
                           (int)(size - at < PIECE ? size - at : PIECE));
    return code;
}

/* ---- leaving ---- */

static void give_up(void *self, int status)
{
    struct peers *peers = self;
    MPI_Abort(peers->comm, status);
}

static void free_peers(struct peers *peers)
{
    for (int i = 0; i < peers->flying_count; i++)
        free(peers->flying[i]);
    while (peers->first) {
        struct parcel *parcel = peers->first;
        peers->first = parcel->next;
        free(parcel);
    }
    free(peers->inbox);
    free(peers);
}

#ifdef GNOMON_SIMULATED_TIME

static void say_farewell(struct peers *peers)
{
    MPI_Barrier(peers->comm);
    for (int i = 0; i < 2; i++)
        if (peers->posted[i] != MPI_REQUEST_NULL) {
            MPI_Cancel(&peers->posted[i]);
            MPI_Request_free(&peers->posted[i]);
        }
}

#else

/* Somebody may still send what nobody wants any more (after an error, say): it is taken in until all have
 * sent everything, so that no send waits for ever. */
static void say_farewell(struct peers *peers)
{
    struct waiting waiting = begin_waiting(-1);
    MPI_Request barrier = MPI_REQUEST_NULL;
    int done = 0;
    for (bool begun = false; !done;) {
        uint32_t from;
        const void *bytes;
        int64_t size = take(peers, &from, &bytes, false);
        int code = send_on(peers);
        if (code == 0 && !begun && peers->flying_count == 0) {
            code = failed(MPI_Ibarrier(peers->comm, &barrier));
            begun = true;
        }
        if (code == 0 && begun)
            code = failed(MPI_Test(&barrier, &done, MPI_STATUS_IGNORE));
        if (code != 0 || (size < 0 && size != -EAGAIN))
            return;
        if (size < 0)
            wait_a_little(&waiting);
    }
}

#endif

static void leave(void *self)
{
    struct peers *peers = self;
    const bool ours = peers->ours;
    say_farewell(peers);
    MPI_Comm_free(&peers->comm);
    free_peers(peers);
    if (ours)
        MPI_Finalize();
}

/* ---- joining ---- */

static int join(struct peers *peers)
{
    int code = failed(MPI_Comm_dup(MPI_COMM_WORLD, &peers->comm));
    if (code == 0)
        code = failed(MPI_Comm_set_errhandler(peers->comm, MPI_ERRORS_RETURN));
    if (code == 0)
        code = failed(MPI_Comm_rank(peers->comm, &peers->rank));
    if (code == 0)
        code = failed(MPI_Comm_size(peers->comm, &peers->size));
    peers->settlement.awaited = code == 0 ? child_count(peers) : 0;
    return code;
}

int gn_transport_mpi_open(struct gn_transport *transport, struct gn_error *err)
{
    int initialized = 0, provided;
    struct peers *peers = calloc(1, sizeof *peers);
    if (!peers)
        return gn_fail(err, -ENOMEM, "no memory for joining the MPI job");
    peers->posted[BATCH] = peers->posted[SETTLEMENT] = MPI_REQUEST_NULL;
    int code = failed(MPI_Initialized(&initialized));
    if (code == 0 && !initialized)
        code = failed(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided));
    peers->ours = !initialized;
    if (code == 0)
        code = join(peers);
    if (code != 0) {
        free(peers);
        return gn_fail(err, code, "cannot join the MPI job: %s", strerror(-code));
    }
    *transport = (struct gn_transport){.self = peers,
                                       .rank = (uint32_t)peers->rank,
                                       .size = (uint32_t)peers->size,
                                       .send = send_batch,
                                       .receive = receive,
                                       .settle_begin = settle_begin,
                                       .settle_test = settle_test,
                                       .agree = agree,
                                       .share = share,
                                       .give_up = give_up,
                                       .close = leave};
    return 0;
}
