#include "capture/numbers.h"

#include "capture/overlaps.h"
#include "capture/postings.h"

#include <pthread.h>
#include <sys/mman.h>

enum { COLLECTIVES = -1 }; /* the peer of a communicator's count of collectives */

struct side {
    pthread_mutex_t lock;
    struct gn_overlaps overlaps;
    struct gn_counts counts;
};

struct gn_number_tables {
    bool threaded;
    uint64_t unnumbered[GN_UNNUMBERED_REASONS]; /* sends and collectives */
    struct side sides[2];
    struct gn_postings postings;
};

struct gn_number_tables *gn_numbers_open(gn_number_late *late)
{
    struct gn_number_tables *numbers = mmap(NULL, sizeof *numbers, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (numbers == MAP_FAILED)
        return NULL;
    for (int side = 0; side < 2; side++) {
        pthread_mutex_init(&numbers->sides[side].lock, NULL);
        gn_counts_init(&numbers->sides[side].counts, GN_COUNT_SETS);
    }
    gn_postings_init(&numbers->postings, &numbers->sides[GN_NUMBER_RECEIVE].counts, late);
    return numbers;
}

void gn_numbers_close(struct gn_number_tables *numbers)
{
    munmap(numbers, sizeof *numbers);
}

void gn_numbers_threaded(struct gn_number_tables *numbers)
{
    numbers->threaded = true;
}

void gn_numbers_narrow(struct gn_number_tables *numbers, uint32_t sets, uint32_t waiting)
{
    for (int side = 0; side < 2; side++)
        gn_counts_init(&numbers->sides[side].counts, sets);
    numbers->postings.most_records = 4 * waiting;
    numbers->postings.most_groups = numbers->postings.most_corrections = waiting;
}

uint64_t gn_numbers_unnumbered(const struct gn_number_tables *numbers, enum gn_unnumbered reason)
{
    return numbers->unnumbered[reason] + numbers->postings.unnumbered[reason];
}

/* ---- threads ---- */

static void lock(struct gn_number_tables *numbers, enum gn_number_side side)
{
    if (__builtin_expect(numbers->threaded, 0))
        pthread_mutex_lock(&numbers->sides[side].lock);
}

static void unlock(struct gn_number_tables *numbers, enum gn_number_side side)
{
    if (__builtin_expect(numbers->threaded, 0))
        pthread_mutex_unlock(&numbers->sides[side].lock);
}

uint32_t gn_number_enter(struct gn_number_tables *numbers, enum gn_number_side side, uint32_t comm,
                         int32_t peer, int32_t tag)
{
    lock(numbers, side);
    uint32_t inside = gn_overlap_begin(&numbers->sides[side].overlaps, comm, peer, tag);
    unlock(numbers, side);
    return inside;
}

/* Under the lock: whether the call that ends had company. */
static bool was_accompanied(struct gn_number_tables *numbers, enum gn_number_side side, uint32_t inside)
{
    return __builtin_expect(numbers->threaded, 0) && gn_overlap_end(&numbers->sides[side].overlaps, inside);
}

void gn_number_leave(struct gn_number_tables *numbers, enum gn_number_side side, uint32_t inside)
{
    lock(numbers, side);
    was_accompanied(numbers, side, inside);
    unlock(numbers, side);
}

/* ---- sends and collectives ---- */

static uint64_t next_sent(struct gn_number_tables *numbers, uint32_t comm, int32_t peer, int32_t tag)
{
    struct gn_count *count =
        gn_count_at(&numbers->sides[GN_NUMBER_SEND].counts, gn_count_where(comm, peer), tag);
    if (__builtin_expect(count && count->next != GN_COUNT_SPOILED, 1))
        return count->next++;
    numbers->unnumbered[count ? GN_UNNUMBERED_FAILED : GN_UNNUMBERED_ROOM]++;
    return GN_UNNUMBERED;
}

static uint64_t without_comm(uint64_t *unnumbered)
{
    unnumbered[GN_UNNUMBERED_COMM]++;
    return GN_UNNUMBERED;
}

/* Not inlined, like what follows of its kind: what most calls do would save registers for it. */
static __attribute__((noinline)) uint64_t send_together(struct gn_number_tables *numbers, uint32_t inside,
                                                        uint32_t comm, int32_t dest, int32_t tag)
{
    lock(numbers, GN_NUMBER_SEND);
    bool unordered = was_accompanied(numbers, GN_NUMBER_SEND, inside);
    uint64_t number =
        comm == GN_NUMBER_NO_COMM ? without_comm(numbers->unnumbered) : next_sent(numbers, comm, dest, tag);
    if (unordered && number != GN_UNNUMBERED) {
        number |= GN_NUMBER_UNORDERED;
        numbers->unnumbered[GN_UNNUMBERED_OVERLAP]++;
    }
    unlock(numbers, GN_NUMBER_SEND);
    return number;
}

uint64_t gn_number_send(struct gn_number_tables *numbers, uint32_t inside, uint32_t comm, int32_t dest,
                        int32_t tag)
{
    if (__builtin_expect(numbers->threaded, 0))
        return send_together(numbers, inside, comm, dest, tag);
    return comm == GN_NUMBER_NO_COMM ? without_comm(numbers->unnumbered)
                                     : next_sent(numbers, comm, dest, tag);
}

static __attribute__((noinline)) uint64_t collective_together(struct gn_number_tables *numbers, uint32_t comm)
{
    lock(numbers, GN_NUMBER_SEND);
    uint64_t number = comm == GN_NUMBER_NO_COMM ? without_comm(numbers->unnumbered)
                                                : next_sent(numbers, comm, COLLECTIVES, 0);
    unlock(numbers, GN_NUMBER_SEND);
    return number;
}

uint64_t gn_number_collective(struct gn_number_tables *numbers, uint32_t comm)
{
    if (__builtin_expect(numbers->threaded, 0))
        return collective_together(numbers, comm);
    return comm == GN_NUMBER_NO_COMM ? without_comm(numbers->unnumbered)
                                     : next_sent(numbers, comm, COLLECTIVES, 0);
}

void gn_number_collective_failed(struct gn_number_tables *numbers, uint32_t comm)
{
    gn_number_send_cancelled(numbers, comm, COLLECTIVES, 0);
}

void gn_number_send_cancelled(struct gn_number_tables *numbers, uint32_t comm, int32_t dest, int32_t tag)
{
    if (comm == GN_NUMBER_NO_COMM)
        return;
    lock(numbers, GN_NUMBER_SEND);
    gn_count_spoil(&numbers->sides[GN_NUMBER_SEND].counts, gn_count_where(comm, dest), tag);
    unlock(numbers, GN_NUMBER_SEND);
}

/* ---- receives ---- */

/* Single-threaded and nothing unsettled: the next number of the channel. */
static bool is_plain(const struct gn_number_tables *numbers, uint32_t comm, int32_t source, int32_t tag)
{
    return __builtin_expect(!numbers->threaded && comm != GN_NUMBER_NO_COMM &&
                                gn_posting_is_plain(&numbers->postings, comm, source, tag),
                            1);
}

static uint64_t next_received(struct gn_number_tables *numbers, uint32_t comm, int32_t source, int32_t tag)
{
    struct gn_count *count =
        gn_count_at(&numbers->sides[GN_NUMBER_RECEIVE].counts, gn_count_where(comm, source), tag);
    if (__builtin_expect(count && count->next != GN_COUNT_SPOILED, 1))
        return count->next++;
    numbers->postings.unnumbered[count ? GN_UNNUMBERED_FAILED : GN_UNNUMBERED_ROOM]++;
    return GN_UNNUMBERED;
}

static __attribute__((noinline)) void post_with_care(struct gn_number_tables *numbers, uint32_t inside,
                                                     struct gn_receive *receive, uint32_t comm,
                                                     int32_t source, int32_t tag)
{
    lock(numbers, GN_NUMBER_RECEIVE);
    bool unordered = was_accompanied(numbers, GN_NUMBER_RECEIVE, inside);
    if (comm == GN_NUMBER_NO_COMM)
        *receive = (struct gn_receive){.number = without_comm(numbers->postings.unnumbered),
                                       .epoch = GN_EPOCH_FIRST,
                                       .comm = comm,
                                       .source = source,
                                       .tag = tag};
    else
        gn_posting_add(&numbers->postings, receive, comm, source, tag, unordered);
    unlock(numbers, GN_NUMBER_RECEIVE);
}

void gn_number_post(struct gn_number_tables *numbers, uint32_t inside, struct gn_receive *receive,
                    uint32_t comm, int32_t source, int32_t tag)
{
    if (is_plain(numbers, comm, source, tag))
        *receive = (struct gn_receive){.number = next_received(numbers, comm, source, tag),
                                       .epoch = numbers->postings.epoch,
                                       .comm = comm,
                                       .source = source,
                                       .tag = tag};
    else
        post_with_care(numbers, inside, receive, comm, source, tag);
}

static __attribute__((noinline)) uint64_t complete_with_care(struct gn_number_tables *numbers,
                                                             struct gn_receive *receive, int32_t source,
                                                             int32_t tag, uint64_t id, void *context)
{
    lock(numbers, GN_NUMBER_RECEIVE);
    uint64_t number = gn_posting_complete(&numbers->postings, receive, source, tag, id, context);
    unlock(numbers, GN_NUMBER_RECEIVE);
    return number;
}

uint64_t gn_number_complete(struct gn_number_tables *numbers, struct gn_receive *receive, int32_t source,
                            int32_t tag, uint64_t id, void *context)
{
    if (__builtin_expect(!numbers->threaded && receive->epoch == numbers->postings.settled_epoch, 1) ||
        receive->comm == GN_NUMBER_NO_COMM)
        return receive->number;
    return complete_with_care(numbers, receive, source, tag, id, context);
}

uint64_t gn_number_receive(struct gn_number_tables *numbers, uint32_t inside, uint32_t comm, int32_t source,
                           int32_t tag, uint64_t id, void *context)
{
    if (is_plain(numbers, comm, source, tag) && numbers->postings.settled_epoch != GN_EPOCH_NONE)
        return next_received(numbers, comm, source, tag);
    struct gn_receive receive; /* it has its message: as if it had named the source and the tag */
    post_with_care(numbers, inside, &receive, comm, source, tag);
    return gn_number_complete(numbers, &receive, source, tag, id, context);
}

void gn_number_cancel(struct gn_number_tables *numbers, struct gn_receive *receive)
{
    if (receive->comm == GN_NUMBER_NO_COMM)
        return;
    lock(numbers, GN_NUMBER_RECEIVE);
    gn_posting_cancel(&numbers->postings, receive);
    unlock(numbers, GN_NUMBER_RECEIVE);
}

void gn_number_cancelled(struct gn_number_tables *numbers, struct gn_receive *receive, void *context)
{
    if (receive->comm == GN_NUMBER_NO_COMM)
        return;
    lock(numbers, GN_NUMBER_RECEIVE);
    gn_posting_cancelled(&numbers->postings, receive, context);
    unlock(numbers, GN_NUMBER_RECEIVE);
}

void gn_number_freed(struct gn_number_tables *numbers, struct gn_receive *receive, void *context)
{
    if (receive->comm == GN_NUMBER_NO_COMM)
        return;
    lock(numbers, GN_NUMBER_RECEIVE);
    gn_posting_freed(&numbers->postings, receive, context);
    unlock(numbers, GN_NUMBER_RECEIVE);
}

void gn_number_void(struct gn_number_tables *numbers)
{
    lock(numbers, GN_NUMBER_RECEIVE);
    gn_postings_void(&numbers->postings);
    unlock(numbers, GN_NUMBER_RECEIVE);
}

/* ---- both ---- */

void gn_number_failed(struct gn_number_tables *numbers, enum gn_number_side side, uint32_t inside,
                      uint32_t comm, int32_t peer, int32_t tag)
{
    lock(numbers, side);
    was_accompanied(numbers, side, inside);
    if (comm != GN_NUMBER_NO_COMM && (peer == GN_NUMBER_ANY || tag == GN_NUMBER_ANY))
        gn_posting_lose(&numbers->postings, comm, peer, tag);
    else if (comm != GN_NUMBER_NO_COMM)
        gn_count_spoil(&numbers->sides[side].counts, gn_count_where(comm, peer), tag);
    unlock(numbers, side);
}

void gn_number_comm_gone(struct gn_number_tables *numbers, uint32_t comm, void *context)
{
    if (comm == GN_NUMBER_NO_COMM)
        return;
    for (int side = GN_NUMBER_SEND; side <= GN_NUMBER_RECEIVE; side++) {
        lock(numbers, (enum gn_number_side)side);
        if (side == GN_NUMBER_RECEIVE)
            gn_postings_drop_comm(&numbers->postings, comm, context);
        gn_counts_drop_comm(&numbers->sides[side].counts, comm);
        unlock(numbers, (enum gn_number_side)side);
    }
}
