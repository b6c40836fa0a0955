/* µ from samples of messages between domains whose clocks and transfers are known. */
#include "base/mix.h"
#include "repair/latency.h"
#include "repeated.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST_DOMAINS = 6 };
#define RATE 1e9
static const int64_t slice = 1000000; /* ticks */

static uint64_t below(uint64_t *seed, uint64_t count)
{
    return gn_mix_next(seed) % count;
}

static struct gn_latency_sample *sample_of(uint32_t domains, double apart_ppm)
{
    struct gn_latency_sample *s = gn_latency_sample_new(domains, RATE, apart_ppm);
    assert_non_null(s);
    return s;
}

static void message(struct gn_latency_sample *s, uint32_t from, uint32_t to, int64_t sent, int64_t received)
{
    assert_int_equal(gn_latency_sample_message(s, from, to, sent, received), 0);
}

static struct gn_latency estimate(const struct gn_latency_sample *s, uint32_t domains)
{
    struct gn_latency latency;
    assert_int_equal(gn_latency_open(&latency, domains, NULL), 0);
    assert_int_equal(latency.between_ticks, 0);
    assert_int_equal(gn_latency_estimate(s, &latency), 0);
    return latency;
}

/* Takes the sample. */
static struct gn_latency estimated(struct gn_latency_sample *s, uint32_t domains)
{
    const struct gn_latency latency = estimate(s, domains);
    gn_latency_sample_free(s);
    return latency;
}

/* ---- by hand ---- */

/* 3 there and 5 back on clocks that are 100 apart: a mean of 4; no more than 3 fits on the clocks of a pair
 * that agree. */
static void test_there_and_back(void **state)
{
    (void)state;
    struct gn_latency_sample *s = sample_of(3, 0);
    message(s, 0, 1, 1000, 1103);
    message(s, 1, 0, 1200, 1105);
    struct gn_latency l = estimated(s, 3);
    assert_int_equal(gn_latency_of(&l, 0, 1), 4); /* of 103 */
    assert_int_equal(gn_latency_of(&l, 1, 0), 4); /* of −95 */
    assert_int_equal(gn_latency_of(&l, 2, 1), 4); /* never seen */
    assert_int_equal(gn_latency_of(&l, 2, 2), 0);
    assert_int_equal(l.between_ticks, 4);
    gn_latency_close(&l);
    s = sample_of(2, 0);
    message(s, 0, 1, 1000, 1003);
    message(s, 1, 0, 1200, 1205);
    l = estimated(s, 2);
    assert_int_equal(gn_latency_of(&l, 0, 1), 3);
    assert_int_equal(gn_latency_of(&l, 1, 0), 4);
    assert_int_equal(l.between_ticks, 3);
    gn_latency_close(&l);
}

static void test_circle_in_one_direction(void **state)
{
    (void)state;
    struct gn_latency_sample *s = sample_of(4, 0);
    const int64_t clocks[] = {0, -500, 70, 12000}, takes[] = {7, 9, 6, 11};
    for (uint32_t i = 0; i < 4; i++)
        message(s, i, (i + 1) % 4, 100000 + clocks[i], 100000 + clocks[(i + 1) % 4] + takes[i]);
    struct gn_latency l = estimated(s, 4);
    assert_int_equal(gn_latency_of(&l, 0, 1), 8); /* 33 / 4 */
    assert_int_equal(gn_latency_of(&l, 1, 2), 8); /* the clocks make it 579 */
    assert_int_equal(gn_latency_of(&l, 3, 0), 8);
    assert_int_equal(l.between_ticks, 8);
    gn_latency_close(&l);
}

/* A circle of which the messages are in different slices is none. */
static void test_slices_are_apart(void **state)
{
    (void)state;
    struct gn_latency_sample *s = sample_of(2, 0);
    message(s, 0, 1, 0, 50);
    message(s, 1, 0, 5 * slice, 5 * slice - 20);
    struct gn_latency l = estimated(s, 2);
    assert_int_equal(gn_latency_of(&l, 0, 1), 0);
    assert_int_equal(gn_latency_of(&l, 1, 0), 0);
    gn_latency_close(&l);
}

static void test_drift_is_taken_off(void **state)
{
    (void)state;
    struct gn_latency_sample *s = sample_of(2, 2); /* 2 ticks in a slice */
    message(s, 0, 1, 1000, 1103);
    message(s, 1, 0, 1200, 1105);
    struct gn_latency l = estimated(s, 2);
    assert_int_equal(l.between_ticks, 2);
    gn_latency_close(&l);
    s = sample_of(2, 100);
    message(s, 0, 1, 1000, 1103);
    message(s, 1, 0, 1200, 1105);
    l = estimated(s, 2);
    assert_int_equal(l.between_ticks, 0);
    gn_latency_close(&l);
}

/* Fast messages (5) close a circle only over several slices; in each one there are but circles of slow ones
 * (500). With a µ of 500 every fast message would push the clock of domain 1 by 500, again and again. */
static void test_fast_messages_are_rare(void **state)
{
    (void)state;
    for (int64_t every = 2; every <= 100; every++) {
        struct gn_latency_sample *s = sample_of(2, 1); /* a tick per slice */
        for (int64_t at = slice / 2; at < 40 * every * slice; at += every * slice) {
            const int64_t back = at + every / 2 * slice;
            message(s, 0, 1, at, at + 5 - 600);
            message(s, 1, 0, at + 600, at + 600 + 500 + 600);
            message(s, 1, 0, back, back + 5 + 600);
            message(s, 0, 1, back + 600, back + 600 + 500 - 600);
        }
        struct gn_latency l = estimated(s, 2);
        assert_in_range(gn_latency_of(&l, 0, 1), 5, 5 + 2 * every);
        assert_int_equal(l.between_ticks, gn_latency_of(&l, 0, 1));
        gn_latency_close(&l);
    }
}

/* Whoever is busy whenever messages come makes all circles slow. The clocks are proven to be wrong by 15. */
static void test_not_above_what_is_wrong(void **state)
{
    (void)state;
    struct gn_latency_sample *s = sample_of(2, 0);
    message(s, 0, 1, 1000, 1300);
    message(s, 1, 0, 1320, 1305);
    struct gn_latency l = estimated(s, 2);
    assert_int_equal(gn_latency_of(&l, 1, 0), 15);
    assert_int_equal(gn_latency_of(&l, 0, 1), 15);
    gn_latency_close(&l);
}

static void test_less_than_nothing_is_0(void **state)
{
    (void)state;
    struct gn_latency_sample *s = sample_of(2, 0);
    message(s, 0, 1, 1000, 1010);
    message(s, 1, 0, 1200, 1180);
    struct gn_latency l = estimated(s, 2);
    assert_int_equal(gn_latency_of(&l, 0, 1), 0);
    assert_int_equal(gn_latency_of(&l, 1, 0), 0);
    gn_latency_close(&l);
}

static void test_within_domains(void **state)
{
    (void)state;
    struct gn_latency_sample *s = sample_of(3, 0);
    message(s, 0, 0, 1000, 1400);
    message(s, 0, 0, 9000, 9300);
    message(s, 1, 1, 1000, 990);
    struct gn_latency l = estimate(s, 3);
    assert_int_equal(gn_latency_of(&l, 0, 0), 300); /* there is nothing between domains to compare with */
    assert_int_equal(gn_latency_of(&l, 1, 1), 0);   /* no common clock */
    assert_int_equal(gn_latency_of(&l, 2, 2), 0);
    assert_int_equal(l.between_ticks, 0);
    gn_latency_close(&l);
    message(s, 0, 1, 1000, 1200);
    l = estimated(s, 3);
    assert_int_equal(gn_latency_of(&l, 0, 1), 200);
    assert_int_equal(gn_latency_of(&l, 0, 0), 200);
    gn_latency_close(&l);
}

static void test_no_circle_but_all_in_order(void **state)
{
    (void)state;
    struct gn_latency_sample *s = sample_of(3, 0);
    message(s, 0, 1, 1000, 1007);
    message(s, 0, 2, 1000, 1003);
    struct gn_latency l = estimate(s, 3);
    assert_int_equal(gn_latency_of(&l, 0, 1), 3);
    assert_int_equal(l.between_ticks, 3);
    gn_latency_close(&l);
    message(s, 1, 2, 1000, 999);
    l = estimated(s, 3);
    assert_int_equal(gn_latency_of(&l, 0, 1), 0);
    assert_int_equal(l.between_ticks, 0);
    gn_latency_close(&l);
}

static void test_what_is_no_sample(void **state)
{
    (void)state;
    struct gn_latency_sample *s = sample_of(2, 0), *other = sample_of(3, 0);
    assert_int_equal(gn_latency_sample_message(s, 0, 2, 0, 0), -EINVAL);
    assert_int_equal(gn_latency_sample_message(s, 2, 0, 0, 0), -EINVAL);
    message(s, 0, 1, INT64_MAX, INT64_MIN);
    message(s, 1, 0, INT64_MIN, INT64_MAX);
    void *bytes;
    size_t size;
    assert_int_equal(gn_latency_sample_pack(s, &bytes, &size), 0);
    assert_int_equal(gn_latency_sample_unpack(other, bytes, size), -EINVAL);
    for (size_t less = 0; less < size; less++)
        assert_int_equal(gn_latency_sample_unpack(s, bytes, less), -EINVAL);
    assert_int_equal(gn_latency_sample_unpack(s, bytes, size), 0);
    free(bytes);
    struct gn_latency l = estimated(s, 2);
    assert_int_equal(l.between_ticks, 0);
    gn_latency_close(&l);
    gn_latency_sample_free(other);
    gn_latency_sample_free(NULL);
    l = estimated(sample_of(0, 0), 0);
    gn_latency_close(&l);
}

/* ---- against the truth ---- */

struct network {
    uint32_t domains;
    int64_t clocks[MOST_DOMAINS];
    int64_t takes[MOST_DOMAINS][MOST_DOMAINS]; /* the smallest transfer; −1: no messages */
};

static struct network network_of(uint64_t seed, bool perfect)
{
    struct network n = {.domains = 2 + (uint32_t)below(&seed, MOST_DOMAINS - 1)};
    const uint64_t share = 1 + below(&seed, 10), largest = 1 + below(&seed, 10000);
    for (uint32_t i = 0; i < n.domains; i++) {
        n.clocks[i] = perfect ? 0 : (int64_t)below(&seed, 2000000) - 1000000;
        for (uint32_t k = 0; k < n.domains; k++)
            n.takes[i][k] = below(&seed, 10) < share ? (int64_t)below(&seed, largest) : -1;
    }
    return n;
}

struct mean {
    int64_t sum, count; /* count 0: of nothing */
};

/* All circles that begin at their smallest domain. */
static void go(const struct network *n, uint32_t first, uint32_t at, uint32_t visited, struct mean sum,
               struct mean *least)
{
    for (uint32_t to = first; to < n->domains; to++) {
        if (to == at || n->takes[at][to] < 0)
            continue;
        const struct mean next = {sum.sum + n->takes[at][to], sum.count + 1};
        if (to != first && !(visited >> to & 1))
            go(n, first, to, visited | 1u << to, next, least);
        if (to == first && (least->count == 0 || next.sum * least->count < least->sum * next.count))
            *least = next;
    }
}

static struct mean least_circle(const struct network *n)
{
    struct mean least = {0, 0};
    for (uint32_t i = 0; i < n->domains; i++)
        go(n, i, i, 1u << i, (struct mean){0, 0}, &least);
    return least;
}

static void check_network(const struct network *n, const struct gn_latency *l)
{
    const struct mean least = least_circle(n);
    int64_t smallest = INT64_MAX, between = INT64_MAX;
    for (uint32_t i = 0; i < n->domains; i++)
        for (uint32_t k = 0; k < n->domains; k++) {
            const int64_t difference = n->takes[i][k] + n->clocks[k] - n->clocks[i];
            if (i != k && n->takes[i][k] >= 0 && difference < smallest)
                smallest = difference;
        }
    int64_t u = least.count ? least.sum / least.count : smallest >= 0 ? smallest : 0;
    if (smallest < 0 && u > -smallest) /* clocks are not known to be wrong by more */
        u = -smallest;
    for (uint32_t i = 0; i < n->domains; i++)
        for (uint32_t k = 0; k < n->domains; k++) {
            const int64_t difference = n->takes[i][k] + n->clocks[k] - n->clocks[i];
            if (i == k || n->takes[i][k] < 0)
                continue;
            const int64_t mu = difference >= 0 && difference < u ? difference : u;
            assert_int_equal(gn_latency_of(l, i, k), mu);
            between = mu < between ? mu : between;
        }
    if (between == INT64_MAX)
        between = 0;
    assert_int_equal(l->between_ticks, between);
    for (uint32_t i = 0; i < n->domains; i++)
        for (uint32_t k = 0; k < n->domains; k++)
            if (i != k && n->takes[i][k] < 0)
                assert_int_equal(gn_latency_of(l, i, k), between);
}

/* Messages of many slices take longer than they have to; in one slice there is one of each pair that does
 * not. */
static void send_around(const struct network *n, struct gn_latency_sample *s, uint64_t seed)
{
    for (int i = 0; i < 2000; i++) {
        const uint32_t from = (uint32_t)below(&seed, n->domains), to = (uint32_t)below(&seed, n->domains);
        const int64_t at = (int64_t)below(&seed, 100 * (uint64_t)slice), more = (int64_t)below(&seed, 5000);
        if (from != to && n->takes[from][to] >= 0)
            message(s, from, to, at - n->takes[from][to] - more - n->clocks[to] + n->clocks[from], at);
    }
    for (uint32_t i = 0; i < n->domains; i++)
        for (uint32_t k = 0; k < n->domains; k++)
            if (i != k && n->takes[i][k] >= 0)
                message(s, i, k, 50 * slice + 77 - n->takes[i][k] - n->clocks[k] + n->clocks[i],
                        50 * slice + 77);
}

static void test_random_networks(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= REPEATED(1500); seed++) {
        const struct network n = network_of(seed, seed % 5 == 0);
        struct gn_latency_sample *s = sample_of(n.domains, 0);
        send_around(&n, s, seed);
        struct gn_latency l = estimated(s, n.domains);
        check_network(&n, &l);
        gn_latency_close(&l);
    }
}

/* Clocks drift from each other by 10 ppm for a minute: nothing is above the smallest transfer of a circle,
 * though the differences of all messages together would say that it is far below 0. */
static void test_clocks_that_drift(void **state)
{
    (void)state;
    uint64_t seed = 4;
    const double rates[] = {0, 4e-6, -5e-6, 3e-6};
    struct gn_latency_sample *s = sample_of(4, 10);
    for (int i = 0; i < 1000000; i++) {
        const uint32_t from = (uint32_t)below(&seed, 4), to = (from + 1 + (uint32_t)below(&seed, 3)) % 4;
        const double sent = (double)below(&seed, 60000000000),
                     received = sent + 2000 + (double)below(&seed, 3000);
        message(s, from, to, (int64_t)(sent * (1 + rates[from])), (int64_t)(received * (1 + rates[to])));
    }
    struct gn_latency l = estimated(s, 4);
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t k = 0; k < 4; k++)
            assert_true(i == k || (gn_latency_of(&l, i, k) <= 2000 && gn_latency_of(&l, i, k) > 1000));
    gn_latency_close(&l);
}

/* ---- order and parts ---- */

struct sent {
    uint32_t from, to;
    int64_t sent, received;
};

static void same_latency(const struct gn_latency *a, const struct gn_latency *b)
{
    assert_int_equal(a->between_ticks, b->between_ticks);
    assert_memory_equal(a->ticks, b->ticks, (size_t)a->domains * a->domains * sizeof *a->ticks);
}

static void unite(struct gn_latency_sample *into, struct gn_latency_sample *from)
{
    void *bytes;
    size_t size;
    assert_int_equal(gn_latency_sample_pack(from, &bytes, &size), 0);
    assert_int_equal(gn_latency_sample_unpack(into, bytes, size), 0);
    free(bytes);
    gn_latency_sample_free(from);
}

static size_t packed_size(const struct gn_latency_sample *s)
{
    void *bytes;
    size_t size;
    assert_int_equal(gn_latency_sample_pack(s, &bytes, &size), 0);
    free(bytes);
    return size;
}

static void shuffle(struct sent *messages, size_t count, uint64_t *seed)
{
    for (size_t i = count; i > 1; i--) {
        const size_t k = below(seed, i);
        const struct sent swapped = messages[i - 1];
        messages[i - 1] = messages[k];
        messages[k] = swapped;
    }
}

static void test_parts_and_order_do_not_matter(void **state)
{
    (void)state;
    enum { COUNT = 600000, PARTIES = 40 };
    struct sent *messages = malloc(COUNT * sizeof *messages);
    assert_non_null(messages);
    uint64_t seed = 11;
    for (size_t i = 0; i < COUNT; i++) {
        const int64_t at = (int64_t)below(&seed, 3000 * (uint64_t)slice);
        messages[i] = (struct sent){(uint32_t)below(&seed, PARTIES), (uint32_t)below(&seed, PARTIES), at,
                                    at + 500 + (int64_t)below(&seed, 100000)};
    }
    struct gn_latency first = {0};
    size_t first_size = 0;
    for (uint32_t round = 0; round < 4; round++) {
        const uint32_t parts = 1 + 2 * round;
        struct gn_latency_sample *samples[7];
        for (uint32_t i = 0; i < parts; i++)
            samples[i] = sample_of(PARTIES, 0.01);
        for (size_t i = 0; i < COUNT; i++) /* unevenly */
            message(samples[below(&seed, parts) * below(&seed, 2)], messages[i].from, messages[i].to,
                    messages[i].sent, messages[i].received);
        for (uint32_t i = parts; i-- > 1;)
            unite(samples[below(&seed, i)], samples[i]);
        const size_t size = packed_size(samples[0]);
        struct gn_latency l = estimated(samples[0], PARTIES);
        shuffle(messages, COUNT, &seed);
        if (round == 0) {
            first = l;
            first_size = size;
            assert_true(size < (size_t)24 * ((1 << 18) + 100)); /* there were more */
            assert_true(l.between_ticks > 0);
            continue;
        }
        assert_int_equal(size, first_size);
        same_latency(&l, &first);
        gn_latency_close(&l);
    }
    gn_latency_close(&first);
    free(messages);
}

/* ---- many ---- */

static void test_all_to_all_of_many_domains(void **state)
{
    (void)state;
    const uint32_t domains = DOMAINS;
    uint64_t seed = 3;
    int64_t *clocks = malloc(domains * sizeof *clocks);
    assert_non_null(clocks);
    for (uint32_t i = 0; i < domains; i++)
        clocks[i] = (int64_t)below(&seed, (uint64_t)slice / 2);
    clocks[2] = 0; /* so that messages from 5 to 2 are always too early */
    clocks[5] = slice / 2;
    struct gn_latency_sample *s = sample_of(domains, 0);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < domains; i++)
            for (uint32_t k = 0; k < domains; k++)
                if (i != k)
                    message(s, i, k, 5000000 + round * 3 * slice + clocks[i],
                            5000000 + round * 3 * slice + clocks[k] + 1000 + (int64_t)below(&seed, 5000));
    message(s, 7, 9, 5000000 + clocks[7], 5000000 + clocks[9] + 900);
    message(s, 9, 7, 5000000 + clocks[9], 5000000 + clocks[7] + 801);
    struct gn_latency l = estimated(s, domains);
    assert_int_equal(gn_latency_of(&l, 5, 2), 850);
    assert_int_equal(gn_latency_of(&l, 2, 5), 850);
    gn_latency_close(&l);
    free(clocks);
}

static void test_long_ring(void **state)
{
    (void)state;
    const uint32_t domains = DOMAINS;
    struct gn_latency_sample *s = sample_of(domains, 0);
    for (int64_t at = 0; at < 100; at++)
        for (uint32_t i = 0; i < domains; i++)
            message(s, i, (i + 1) % domains, at * slice + 10, at * slice + 10 + 777 + (i + 1 == domains));
    struct gn_latency l = estimated(s, domains);
    assert_int_equal(l.between_ticks, 777);
    gn_latency_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_circle_in_one_direction),
        cmocka_unit_test(test_slices_are_apart),
        cmocka_unit_test(test_drift_is_taken_off),
        cmocka_unit_test(test_fast_messages_are_rare),
        cmocka_unit_test(test_not_above_what_is_wrong),
        cmocka_unit_test(test_less_than_nothing_is_0),
        cmocka_unit_test(test_within_domains),
        cmocka_unit_test(test_no_circle_but_all_in_order),
        cmocka_unit_test(test_what_is_no_sample),
        cmocka_unit_test(test_random_networks),
        cmocka_unit_test(test_clocks_that_drift),
        cmocka_unit_test(test_parts_and_order_do_not_matter),
        cmocka_unit_test(test_all_to_all_of_many_domains),
        cmocka_unit_test(test_long_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
