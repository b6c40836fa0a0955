#include "threads_transport.h"

#include "base/mix.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct batch {
    struct batch *next;
    uint32_t from;
    int64_t due_ns; /* when it arrives */
    size_t size;
    _Alignas(16) char bytes[];
};

struct seat { /* of a rank */
    struct threads_world *world;
    uint32_t rank;
    struct batch *first, *last, *shown;
    uint64_t settlements, collected; /* begun by this rank, and those whose sums it has */
    uint64_t random;                 /* for delays */
    int64_t *due_ns;                 /* [size] of the last batch to each of the others */
};

struct threads_world {
    pthread_mutex_t lock;
    pthread_cond_t news;
    uint32_t size, most_us; /* most_us: longest delay */
    struct seat *seats;
    /* the settlement that is being made, and the last one */
    uint32_t settlers;
    uint64_t settled;
    int64_t sums[3], last[3];
    /* the agreement */
    uint32_t present, leaving;
    int64_t *values;
    const void *shared;
};

struct threads_world *threads_world_new(uint32_t size)
{
    struct threads_world *world = calloc(1, sizeof *world);
    pthread_mutex_init(&world->lock, NULL);
    pthread_cond_init(&world->news, NULL);
    world->size = size;
    world->seats = calloc(size, sizeof *world->seats);
    for (uint32_t i = 0; i < size; i++)
        world->seats[i] = (struct seat){.world = world, .rank = i, .due_ns = calloc(size, sizeof(int64_t))};
    return world;
}

void threads_world_delay(struct threads_world *world, uint32_t most_us, uint64_t seed)
{
    world->most_us = most_us;
    for (uint32_t i = 0; i < world->size; i++)
        world->seats[i].random = gn_mix_at(seed, 1, i);
}

void threads_world_free(struct threads_world *world)
{
    for (uint32_t i = 0; i < world->size; i++) {
        struct seat *seat = &world->seats[i];
        free(seat->shown);
        free(seat->due_ns);
        for (struct batch *next; seat->first; seat->first = next) {
            next = seat->first->next;
            free(seat->first);
        }
    }
    free(world->seats);
    pthread_cond_destroy(&world->news);
    pthread_mutex_destroy(&world->lock);
    free(world);
}

/* ---- delays ---- */

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * (int64_t)1000000000 + now.tv_nsec;
}

static struct timespec time_of(int64_t ns)
{
    return (struct timespec){ns / 1000000000, ns % 1000000000};
}

static int64_t delay_ns(struct seat *seat)
{
    const uint64_t most_ns = (uint64_t)seat->world->most_us * 1000;
    return most_ns ? (int64_t)(gn_mix_next(&seat->random) % most_ns) : 0;
}

static void dawdle(struct seat *seat)
{
    if (seat->world->most_us == 0 || gn_mix_next(&seat->random) % 8 != 0)
        return;
    const struct timespec nap = time_of(delay_ns(seat));
    nanosleep(&nap, NULL);
}

/* Where the pointer to the first batch is that has arrived; *next_ns: when the next one will, if none has. */
static struct batch **arrived(struct seat *seat, int64_t *next_ns)
{
    const int64_t now = seat->world->most_us ? now_ns() : INT64_MAX;
    *next_ns = INT64_MAX;
    for (struct batch **at = &seat->first; *at; at = &(*at)->next) {
        if ((*at)->due_ns <= now)
            return at;
        if ((*at)->due_ns < *next_ns)
            *next_ns = (*at)->due_ns;
    }
    return NULL;
}

/* ---- batches ---- */

static int send_batch(void *self, uint32_t to, const void *bytes, size_t size)
{
    struct seat *seat = self;
    struct seat *there = &seat->world->seats[to];
    struct batch *batch = malloc(sizeof *batch + size);
    const int64_t due_ns = seat->world->most_us ? now_ns() + delay_ns(seat) : 0;
    if (due_ns > seat->due_ns[to])
        seat->due_ns[to] = due_ns;
    *batch = (struct batch){.from = seat->rank, .size = size, .due_ns = seat->due_ns[to]};
    dawdle(seat);
    memcpy(batch->bytes, bytes, size);
    pthread_mutex_lock(&seat->world->lock);
    if (there->first)
        there->last->next = batch;
    else
        there->first = batch;
    there->last = batch;
    pthread_cond_broadcast(&seat->world->news);
    pthread_mutex_unlock(&seat->world->lock);
    return 0;
}

/* Ranks here are threads, whose batches take a hundredth of the time that those between processes take: so do
 * their timeouts. Whoever waits in vain for 5 ms at each circle of a few hundred programs does nothing else.
 */
static int64_t receive_batch(void *self, uint32_t *from, const void **bytes, int64_t timeout_us)
{
    struct seat *seat = self;
    struct threads_world *world = seat->world;
    const int64_t until_ns = timeout_us < 0 ? INT64_MAX : now_ns() + timeout_us * 10;
    int64_t next_ns;
    struct batch **at;
    dawdle(seat);
    pthread_mutex_lock(&world->lock);
    while (!(at = arrived(seat, &next_ns)) && timeout_us != 0 && (timeout_us < 0 || now_ns() < until_ns) &&
           !(seat->settlements > seat->collected && seat->settlements == world->settled)) {
        const int64_t wake_ns = next_ns < until_ns ? next_ns : until_ns;
        const struct timespec wake = time_of(wake_ns);
        if (wake_ns == INT64_MAX)
            pthread_cond_wait(&world->news, &world->lock);
        else
            pthread_cond_timedwait(&world->news, &world->lock, &wake);
    }
    struct batch *batch = at ? *at : NULL;
    if (batch) {
        *at = batch->next;
        if (seat->last == batch)
            for (seat->last = seat->first; seat->last && seat->last->next;)
                seat->last = seat->last->next;
    }
    pthread_mutex_unlock(&world->lock);
    if (!batch)
        return -EAGAIN;
    free(seat->shown);
    seat->shown = batch;
    *from = batch->from;
    *bytes = batch->bytes;
    return (int64_t)batch->size;
}

static int settle_begin(void *self, const int64_t values[3])
{
    struct seat *seat = self;
    struct threads_world *world = seat->world;
    dawdle(seat);
    pthread_mutex_lock(&world->lock);
    seat->settlements++;
    for (int i = 0; i < 3; i++)
        world->sums[i] += values[i];
    if (++world->settlers == world->size) {
        memcpy(world->last, world->sums, sizeof world->last);
        memset(world->sums, 0, sizeof world->sums);
        world->settlers = 0;
        world->settled++;
        pthread_cond_broadcast(&world->news);
    }
    pthread_mutex_unlock(&world->lock);
    return 0;
}

static int settle_test(void *self, bool *done, int64_t sums[3])
{
    struct seat *seat = self;
    pthread_mutex_lock(&seat->world->lock);
    *done = seat->settlements == seat->world->settled;
    if (*done)
        seat->collected = seat->settlements;
    memcpy(sums, seat->world->last, sizeof seat->world->last);
    pthread_mutex_unlock(&seat->world->lock);
    return 0;
}

/* Everybody adds its values to the first one's; when all have, everybody takes them. */
static int agree(void *self, enum gn_agreement how, int64_t *values, size_t count)
{
    struct seat *seat = self;
    struct threads_world *world = seat->world;
    dawdle(seat);
    pthread_mutex_lock(&world->lock);
    while (world->leaving > 0)
        pthread_cond_wait(&world->news, &world->lock);
    if (world->present++ == 0) {
        world->values = malloc((count + 1) * sizeof *values);
        memcpy(world->values, values, count * sizeof *values);
    } else {
        for (size_t i = 0; i < count; i++) {
            const int64_t mine = values[i];
            int64_t *all = &world->values[i];
            *all = how == GN_AGREE_SUM ? *all + mine : (how == GN_AGREE_MAX) == (mine > *all) ? mine : *all;
        }
    }
    if (world->present == world->size) {
        world->leaving = world->size;
        pthread_cond_broadcast(&world->news);
    }
    while (world->leaving == 0)
        pthread_cond_wait(&world->news, &world->lock);
    memcpy(values, world->values, count * sizeof *values);
    if (--world->leaving == 0) {
        world->present = 0;
        free(world->values);
        pthread_cond_broadcast(&world->news);
    }
    pthread_mutex_unlock(&world->lock);
    return 0;
}

static int share(void *self, uint32_t from, void *bytes, size_t size)
{
    struct seat *seat = self;
    struct threads_world *world = seat->world;
    int64_t nothing = 0;
    if (seat->rank == from) {
        pthread_mutex_lock(&world->lock);
        world->shared = bytes;
        pthread_mutex_unlock(&world->lock);
    }
    agree(self, GN_AGREE_SUM, &nothing, 1);
    if (seat->rank != from)
        memcpy(bytes, world->shared, size);
    return agree(self, GN_AGREE_SUM, &nothing, 1);
}

static void give_up(void *self, int status)
{
    (void)self, (void)status;
    abort();
}

static void leave(void *self)
{
    (void)self;
}

struct gn_transport threads_transport(struct threads_world *world, uint32_t rank)
{
    return (struct gn_transport){.self = &world->seats[rank],
                                 .rank = rank,
                                 .size = world->size,
                                 .send = send_batch,
                                 .receive = receive_batch,
                                 .settle_begin = settle_begin,
                                 .settle_test = settle_test,
                                 .agree = agree,
                                 .share = share,
                                 .give_up = give_up,
                                 .close = leave};
}
