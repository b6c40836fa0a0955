/* sample_event: what the kernel writes into its ring is read, wrapped or lost or broken; and one real event.
 */
#include "agent/sample_event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { RING = 4096 };

static uint8_t ring[RING];
static uint64_t head;

static void put(const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ring[(head + i) % RING] = ((const uint8_t *)bytes)[i];
    head += count;
}

static void put_word(uint64_t word)
{
    put(&word, sizeof word);
}

static void put_header(uint32_t type, size_t bytes)
{
    const struct perf_event_header header = {.type = type, .size = (uint16_t)(sizeof header + bytes)};
    put(&header, sizeof header);
}

/* With a stack of `size` bytes, `used` of which say something. */
static void put_sample(uint64_t ip, uint64_t size, uint64_t used)
{
    put_header(PERF_RECORD_SAMPLE, (6 + 4 + 1 + (size ? 1 : 0)) * 8 + size);
    put_word(ip);
    put_word(7 | (uint64_t)8 << 32);
    put_word(1000 + ip);
    put_word(5 * ip);
    put_word(7);
    put_word(7);
    put_word(PERF_SAMPLE_REGS_ABI_64);
    put_word(0x100);
    put_word(0x200);
    put_word(ip);
    put_word(size);
    for (uint64_t i = 0; i < size; i++)
        put(&(uint8_t){(uint8_t)i}, 1);
    if (size)
        put_word(used);
}

struct seen {
    size_t count, mapped, threads;
    size_t before_mapping; /* samples that came ahead of it */
    uint64_t ips[64];
    struct gn_sample last;
    uintptr_t word;
    bool left;
};

static void take(void *self, struct gn_sample *sample, enum gn_sample_news news)
{
    struct seen *s = self;
    if (news == GN_SAMPLE_MAPPED) {
        s->mapped++;
        s->before_mapping = s->count;
    }
    if (news == GN_SAMPLE_THREADS)
        s->threads++;
    if (news != GN_SAMPLE_TAKEN)
        return;
    s->ips[s->count++ % 64] = sample->at.ip;
    s->word = gn_stack_word_in(sample->stack.address + 8, &sample->stack);
    s->left = sample->stack.left;
    s->last = *sample;
}

static void samples_are_read_across_the_end_of_the_ring(void **state)
{
    (void)state;
    for (uint64_t start = 0; start < RING; start += 8) {
        struct seen seen = {0};
        head = start;
        put_sample(11, 64, 64);
        put_sample(12, 0, 0);
        put_sample(13, 16, 8);
        assert_int_equal(gn_sample_ring_take(ring, RING, start, head, take, &seen), 0);
        assert_int_equal(seen.count, 3);
        assert_true(seen.ips[0] == 11 && seen.ips[1] == 12 && seen.ips[2] == 13);
        assert_true(seen.last.pid == 7 && seen.last.tid == 8 && seen.last.time_ns == 1013);
        assert_true(seen.last.at.fp == 0x100 && seen.last.at.sp == 0x200);
        assert_true(seen.last.stack.count == 8 && seen.left); /* the second word is not there */
    }
}

static void a_copy_of_a_stack_says_what_is_in_it_and_no_more(void **state)
{
    (void)state;
    struct seen seen = {0};
    head = 0;
    put_sample(11, 64, 64);
    gn_sample_ring_take(ring, RING, 0, head, take, &seen);
    assert_true(!seen.left && seen.word == 0x0f0e0d0c0b0a0908);
    uint8_t bytes[16] = {0};
    struct gn_stack_copy copy = {bytes, 0x1000, sizeof bytes, false};
    gn_stack_word_in(0x1008, &copy);
    assert_false(copy.left);
    const uintptr_t outside[] = {0, 8, 0xff8, 0xffc, 0x1009, 0x1010, UINTPTR_MAX, UINTPTR_MAX - 7};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        copy.left = false;
        assert_int_equal(gn_stack_word_in(outside[i], &copy), 0);
        assert_true(copy.left);
    }
}

static void what_was_lost_is_counted(void **state)
{
    (void)state;
    struct seen seen = {0};
    head = 0;
    put_sample(11, 0, 0);
    put_header(PERF_RECORD_LOST, 16);
    put_word(99);
    put_word(5);
    put_header(PERF_RECORD_MMAP, 0);
    put_header(PERF_RECORD_THROTTLE, 24);
    for (int i = 0; i < 3; i++)
        put_word(0);
    put_sample(12, 0, 0);
    assert_int_equal(gn_sample_ring_take(ring, RING, 0, head, take, &seen), 5);
    assert_int_equal(seen.count, 2);
    assert_true(seen.mapped == 1 && seen.before_mapping == 1);
}

static uint64_t chance = 1;

static uint64_t random_word(void)
{
    chance = chance * 6364136223846793005ull + 1442695040888963407ull;
    return chance >> 33;
}

/* Nothing is read outside of the ring (AddressSanitizer sees that), and it comes to an end. */
static void broken_records_do_no_harm(void **state)
{
    (void)state;
    for (int tries = 0; tries < 20000; tries++) {
        struct seen seen = {0};
        uint8_t *own = malloc(RING);
        assert_non_null(own);
        head = 0;
        for (int i = 0; i < 8; i++)
            put_sample(i, random_word() % 32 * 8, random_word() % 300);
        for (uint64_t changes = random_word() % 12; changes-- > 0;)
            ring[random_word() % head] = (uint8_t)random_word();
        memcpy(own, ring, RING);
        gn_sample_ring_take(own, RING, random_word() % head, head + random_word() % 64, take, &seen);
        free(own);
    }
}

static void *do_nothing(void *nothing)
{
    return nothing;
}

/* Itself, as its agent would. */
static void a_thread_that_computes_is_sampled(void **state)
{
    (void)state;
    struct gn_sample_event event;
    struct seen seen = {0};
    const int code = gn_sample_event_open(&event, (int)syscall(SYS_gettid), NULL, false, 1000000, 3);
    if (code == -EACCES || code == -EPERM || code == -ENOSYS || code == -ENOENT) {
        printf("the kernel refuses perf_event_open: %s\n", strerror(-code));
        skip();
    }
    assert_int_equal(code, 0);
    volatile uint64_t work = 0;
    const clock_t begin = clock();
    while (clock() - begin < CLOCKS_PER_SEC / 20)
        for (int i = 0; i < 100000; i++)
            work += (uint64_t)i;
    pthread_t made;
    assert_int_equal(pthread_create(&made, NULL, do_nothing, NULL), 0);
    assert_int_equal(pthread_join(made, NULL), 0);
    const uint64_t lost = gn_sample_event_take(&event, take, &seen);
    assert_true(seen.count + lost > 5);
    assert_true(seen.threads >= 1); /* a sanitizer makes some of its own */
    assert_int_equal(seen.last.tid, (int)syscall(SYS_gettid));
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0), sp = seen.last.at.sp;
    assert_true(sp % 8 == 0 && sp < here && here - sp < 65536 && seen.last.stack.count > 64);
    assert_int_equal(event.period, 1000000);
    struct rlimit files, few;
    struct gn_sample_event another;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    few = (struct rlimit){(rlim_t)event.file + 2, files.rlim_max}; /* the agent needs some itself */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(gn_sample_event_open(&another, (int)syscall(SYS_gettid), NULL, false, 1000000, 0),
                     -EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    gn_sample_event_pace(&event, 500000);
    assert_int_equal(event.period, 500000);
    gn_sample_event_close(&event);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_read_across_the_end_of_the_ring),
        cmocka_unit_test(a_copy_of_a_stack_says_what_is_in_it_and_no_more),
        cmocka_unit_test(what_was_lost_is_counted),
        cmocka_unit_test(broken_records_do_no_harm),
        cmocka_unit_test(a_thread_that_computes_is_sampled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
