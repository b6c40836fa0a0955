/*
 * transport_check — the processes of one job talk through cli/job_transport, and check what arrives.
 * transport.sh starts it. What the others were doing is told by files, not by the transport that is checked.
 * Status 0: all is as it should be.
 */
#include "base/mix.h"
#include "cli/job_transport.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct gn_transport all;

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "process %u: line %d: not so: %s\n", all.rank, __LINE__, #condition);            \
            all.give_up(all.self, 9);                                                                        \
            exit(9);                                                                                         \
        }                                                                                                    \
    } while (0)

/* ---- batches whose content follows from who sent which to whom ---- */

enum { MOST = 3 << 20 };

static uint64_t seed_of(uint32_t from, uint32_t to, uint64_t number)
{
    return gn_mix_at(7, (uint64_t)from << 32 | to, number);
}

/* Mostly small, some beyond what MPI libraries copy at once. */
static size_t size_of(uint32_t from, uint32_t to, uint64_t number)
{
    uint64_t bits = seed_of(from, to, number);
    if (bits % 200 == 0)
        return 1 + (bits >> 16) % MOST;
    return 1 + (bits >> 16) % (bits % 10 == 0 ? 100000 : 2000);
}

static void fill(uint8_t *bytes, size_t size, uint64_t seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(seed >> i % 8 * 8) ^ (uint8_t)(i >> 3);
}

static uint8_t *sent_bytes, *expected_bytes;
static uint64_t *sent, *received; /* by peer */
static uint64_t sent_count, received_count;

static void open_buffers(void)
{
    sent_bytes = malloc(MOST + 1), expected_bytes = malloc(MOST + 1);
    sent = calloc(all.size, sizeof *sent), received = calloc(all.size, sizeof *received);
    CHECK(sent_bytes && expected_bytes && sent && received);
}

static void send_next(uint32_t to, size_t size)
{
    fill(sent_bytes, size, seed_of(all.rank, to, sent[to]++));
    CHECK(all.send(all.self, to, sent_bytes, size) == 0);
    memset(sent_bytes, 0xee, size); /* it is a copy that was sent */
    sent_count++;
}

static bool receive_next(int64_t timeout_us, size_t (*size_wanted)(uint32_t, uint32_t, uint64_t))
{
    uint32_t from;
    const void *bytes;
    int64_t size = all.receive(all.self, &from, &bytes, timeout_us);
    if (size == -EAGAIN)
        return false;
    CHECK(size > 0 && from < all.size);
    uint64_t number = received[from]++;
    CHECK((size_t)size == size_wanted(from, all.rank, number));
    fill(expected_bytes, (size_t)size, seed_of(from, all.rank, number));
    CHECK(memcmp(bytes, expected_bytes, (size_t)size) == 0);
    received_count++;
    return true;
}

/* Settles until as much has been received as was sent, by all together. */
static void receive_rest(size_t (*size_wanted)(uint32_t, uint32_t, uint64_t))
{
    for (;;) {
        bool done = false;
        int64_t sums[3];
        while (receive_next(0, size_wanted))
            ;
        CHECK(all.settle_begin(all.self,
                               (int64_t[]){(int64_t)sent_count, (int64_t)received_count, all.rank}) == 0);
        CHECK(all.settle_begin(all.self, (int64_t[3]){0}) == -EBUSY);
        while (!done) {
            receive_next(-1, size_wanted);
            CHECK(all.settle_test(all.self, &done, sums) == 0);
        }
        CHECK(sums[2] == (int64_t)all.size * (all.size - 1) / 2);
        CHECK(sums[0] >= sums[1]);
        if (sums[0] == sums[1])
            return;
    }
}

/* ---- what is checked ---- */

static void traffic(uint64_t each)
{
    uint64_t state = all.rank, left = each * (all.size - 1);
    open_buffers();
    while (left > 0) {
        uint64_t bits = gn_mix_next(&state);
        uint32_t to = (uint32_t)(bits % all.size);
        if (to != all.rank && sent[to] < each) {
            send_next(to, size_of(all.rank, to, sent[to]));
            left--;
        }
        if (bits >> 32 & 1)
            receive_next((int64_t)(bits >> 33 & 31), size_of);
    }
    receive_rest(size_of);
    for (uint32_t i = 0; i < all.size; i++)
        CHECK(received[i] == (i == all.rank ? 0 : each));
}

static size_t flood_size(uint32_t from, uint32_t to, uint64_t number)
{
    return 1 + (from + to + number) % 64;
}

static size_t peak_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (size_t)usage.ru_maxrss * 1024;
}

/* Everybody sends everything before anybody receives anything. Beside the bytes, a batch costs some
 * bookkeeping, here and in the MPI library of the receiver. */
static void flood(uint64_t each)
{
    enum { BYTES_PER_BATCH = 64 + 448, BYTES_ONCE = 64 << 20 };
    open_buffers();
    size_t before = peak_bytes();
    for (uint64_t n = 0; n < each; n++)
        for (uint32_t to = 0; to < all.size; to++)
            if (to != all.rank)
                send_next(to, flood_size(all.rank, to, n));
    receive_rest(flood_size);
    CHECK(received_count == each * (all.size - 1));
    size_t grown = peak_bytes() - before;
    fprintf(stderr, "process %u: %.1f MB more for %.1f MB of batches\n", all.rank, (double)grown / 1e6,
            (double)each * (all.size - 1) * 65 / 1e6);
    CHECK(grown < 2 * each * (all.size - 1) * BYTES_PER_BATCH + BYTES_ONCE);
}

static size_t large_size(uint32_t from, uint32_t to, uint64_t number)
{
    return 300000 + (from + to + number) % 1000;
}

/* All send batches that MPI does not copy, and the next thing that they do is to agree: nobody receives yet.
 */
static void large_before_agreement(void)
{
    int64_t one = 1;
    open_buffers();
    for (int n = 0; n < 200; n++)
        for (uint32_t to = 0; to < all.size; to++)
            if (to != all.rank)
                send_next(to, large_size(all.rank, to, sent[to]));
    CHECK(all.agree(all.self, GN_AGREE_SUM, &one, 1) == 0);
    CHECK(one == all.size);
    receive_rest(large_size);
    CHECK(received_count == 200 * (all.size - 1));
}

/* A settlement is not over before the last one has begun it: who that is, is told by a file. */
static void settlements(void)
{
    char path[64];
    for (uint32_t round = 0; round < 4 * all.size; round++) {
        const uint32_t last = round % all.size;
        bool done = false;
        int64_t sums[3];
        snprintf(path, sizeof path, "begun.%u", round);
        if (all.rank == last) {
            usleep(20000);
            CHECK(fclose(fopen(path, "we")) == 0);
        }
        CHECK(all.settle_test(all.self, &done, sums) == 0 && !done);
        CHECK(all.settle_begin(all.self, (int64_t[]){round, all.rank + 1, -(int64_t)INT32_MAX * 4}) == 0);
        while (!done) {
            uint32_t from;
            const void *bytes;
            if (round % 3 != 0)
                CHECK(all.receive(all.self, &from, &bytes, round % 3 == 1 ? -1 : 300) == -EAGAIN);
            CHECK(all.settle_test(all.self, &done, sums) == 0);
            CHECK(!done || access(path, F_OK) == 0);
        }
        CHECK(sums[0] == (int64_t)round * all.size);
        CHECK(sums[1] == (int64_t)all.size * (all.size + 1) / 2);
        CHECK(sums[2] == -(int64_t)INT32_MAX * 4 * all.size);
    }
}

static void agreements(void)
{
    enum { COUNT = 100000 };
    int64_t *values = malloc(COUNT * sizeof *values);
    CHECK(values);
    for (int how = GN_AGREE_SUM; how <= GN_AGREE_MIN; how++) {
        for (int64_t i = 0; i < COUNT; i++)
            values[i] = (i % 2 ? -1 : 1) * (int64_t)(all.rank + 1) * (i << 20);
        CHECK(all.agree(all.self, (enum gn_agreement)how, values, COUNT) == 0);
        for (int64_t i = 0; i < COUNT; i++) {
            const int64_t n = all.size, first = (i % 2 ? -1 : 1) * (i << 20), last = n * first;
            CHECK(values[i] == (how == GN_AGREE_SUM                     ? n * (n + 1) / 2 * first
                                : (how == GN_AGREE_MAX) == (i % 2 == 0) ? last
                                                                        : first));
        }
    }
    CHECK(all.agree(all.self, GN_AGREE_MAX, NULL, 0) == 0);
    free(values);
}

static void shared(size_t size)
{
    uint8_t *bytes = malloc(size), *expected = malloc(size);
    CHECK(bytes && expected);
    for (uint32_t from = 0; from < all.size; from++) {
        fill(expected, size, from + 1);
        memset(bytes, 0, size);
        if (from == all.rank)
            memcpy(bytes, expected, size);
        CHECK(all.share(all.self, from, bytes, size) == 0);
        CHECK(memcmp(bytes, expected, size) == 0);
    }
    CHECK(all.share(all.self, all.size, bytes, size) == -EINVAL);
    CHECK(all.share(all.self, 0, NULL, 0) == 0);
    free(bytes);
    free(expected);
}

/* One leaves without having received: the others' sends do not wait for it. */
static void left_over(void)
{
    open_buffers();
    for (int n = 0; n < 100; n++)
        for (uint32_t to = 0; to < all.size; to++)
            if (to != all.rank && to % 2 == 0)
                send_next(to, large_size(all.rank, to, sent[to]));
}

static void refused(void)
{
    CHECK(all.send(all.self, all.size, "x", 1) == -EINVAL);
    CHECK(all.send(all.self, 0, "x", 0) == -EINVAL);
    CHECK(all.send(all.self, 0, "x", ((size_t)1 << 30) + 1) == -EINVAL);
}

/* Waits for what never comes: something else has to end it. */
static void wait_for_ever(void)
{
    uint32_t from;
    const void *bytes;
    CHECK(all.receive(all.self, &from, &bytes, all.size > 1 ? -1 : 0) == -EAGAIN);
}

static void one_ends(const char *how)
{
    if (all.rank == all.size - 1 && strcmp(how, "killed") == 0)
        raise(SIGKILL);
    if (all.rank == all.size - 1 && strcmp(how, "gives-up") == 0)
        all.give_up(all.self, 3);
    wait_for_ever();
}

int main(int argc, char **argv)
{
    struct gn_error err;
    const char *what = argc > 1 ? argv[1] : "";
    const uint64_t each = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    if (gn_job_transport_open(&all, NULL, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        return 4;
    }
    CHECK(all.rank < all.size);
    if (argc > 3)
        CHECK(all.size == strtoul(argv[3], NULL, 10));
    if (strcmp(what, "traffic") == 0)
        traffic(each);
    else if (strcmp(what, "flood") == 0)
        flood(each);
    else if (strcmp(what, "large") == 0)
        large_before_agreement();
    else if (strcmp(what, "settle") == 0)
        settlements();
    else if (strcmp(what, "agree") == 0)
        agreements(), shared(1), shared(5000001), refused();
    else if (strcmp(what, "left-over") == 0)
        left_over();
    else
        one_ends(what);
    all.close(all.self);
    return 0;
}
