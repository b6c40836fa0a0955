/* Numbers of messages: never wrong, and rarely missing. -n OPERATIONS -s SEED for more of the random worlds.
 */
#include "matching_world.h"
#include "repeated.h"

#include "base/mix.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

static uint64_t operations = REPEATED(300000), seed = 1;

static struct world_result run(const char *name, struct world_options options)
{
    options.operations = operations;
    options.seed = seed;
    struct world_result r = run_world(&options);
    printf("%-22s seed %llu: %llu right (%llu late), %llu wrong, %llu unordered, %llu unnumbered (comm %llu "
           "room %llu "
           "failed %llu freed %llu), %llu missing\n",
           name, (unsigned long long)seed, (unsigned long long)r.right, (unsigned long long)r.late,
           (unsigned long long)r.wrong, (unsigned long long)r.unordered, (unsigned long long)r.unnumbered,
           (unsigned long long)r.reasons[GN_UNNUMBERED_COMM],
           (unsigned long long)r.reasons[GN_UNNUMBERED_ROOM],
           (unsigned long long)r.reasons[GN_UNNUMBERED_FAILED],
           (unsigned long long)r.reasons[GN_UNNUMBERED_FREED], (unsigned long long)r.missing);
    assert_int_equal(r.wrong, 0);
    assert_int_equal(r.missing, 0);
    assert_true(r.right > operations / 100);
    return r;
}

/* Nothing that the standard leaves open, and room for all. */
static void test_everything_numbered(void **state)
{
    (void)state;
    for (uint32_t tags = 1; tags <= 16; tags *= 4) {
        struct world_result r = run(
            "settled",
            (struct world_options){.ranks = 4, .threads = 1, .tags = tags, .wildcards = 25, .cancels = 50});
        assert_int_equal(r.unnumbered + r.unordered, 0);
        assert_true(r.late > operations / 1000);
    }
}

static void test_exact_receives(void **state)
{
    (void)state;
    struct world_result r =
        run("exact", (struct world_options){.ranks = 3, .threads = 1, .tags = 3, .cancels = 100});
    assert_int_equal(r.unnumbered + r.unordered, 0);
}

static void test_freed_failed_withdrawn(void **state)
{
    (void)state;
    for (uint32_t rare = 1; rare <= 100; rare *= 10)
        run("lost", (struct world_options){.ranks = 4,
                                           .threads = 1,
                                           .tags = 8,
                                           .wildcards = 25,
                                           .cancels = 20,
                                           .frees = rare,
                                           .failures = rare,
                                           .comm_changes = 20,
                                           .send_cancels = rare});
}

static void test_communicators(void **state)
{
    (void)state;
    struct world_result r =
        run("communicators",
            (struct world_options){
                .ranks = 4, .threads = 1, .tags = 4, .wildcards = 10, .cancels = 20, .comm_changes = 100});
    assert_int_equal(
        r.reasons[GN_UNNUMBERED_ROOM] + r.reasons[GN_UNNUMBERED_FAILED] + r.reasons[GN_UNNUMBERED_FREED], 0);
}

static void test_threads(void **state)
{
    (void)state;
    for (uint32_t tags = 2; tags <= 128; tags *= 8)
        run("threads",
            (struct world_options){
                .ranks = 3, .threads = 4, .tags = tags, .wildcards = 10, .cancels = 20, .comm_changes = 5});
    run("threads, lost", (struct world_options){.ranks = 3,
                                                .threads = 3,
                                                .tags = 30,
                                                .wildcards = 10,
                                                .cancels = 20,
                                                .frees = 3,
                                                .failures = 3,
                                                .comm_changes = 10,
                                                .send_cancels = 3});
}

static void test_little_room(void **state)
{
    (void)state;
    for (uint32_t sets = 1; sets <= 64; sets *= 4)
        run("little room", (struct world_options){.ranks = 4,
                                                  .threads = 1,
                                                  .tags = 40,
                                                  .wildcards = 5,
                                                  .cancels = 30,
                                                  .comm_changes = 30,
                                                  .sets = sets,
                                                  .waiting = 64});
    for (uint32_t waiting = 1; waiting <= 16; waiting *= 2)
        run("little room to wait", (struct world_options){.ranks = 4,
                                                          .threads = 1,
                                                          .tags = 5,
                                                          .wildcards = 10,
                                                          .cancels = 60,
                                                          .comm_changes = 100,
                                                          .sets = 4096,
                                                          .waiting = waiting});
}

/* ---- one fact each ---- */

struct told {
    int count;
    uint64_t id[4], number[4];
};

static void note(void *context, uint64_t id, uint64_t number)
{
    struct told *told = context;
    assert_true(told->count < 4);
    told->id[told->count] = id;
    told->number[told->count++] = number;
}

enum { COMM = 3, PEER = 5, TAG = 7, OTHER = 8, ANY = GN_NUMBER_ANY };

static struct gn_receive posted(struct gn_number_tables *numbers, int32_t source, int32_t tag)
{
    struct gn_receive receive;
    gn_number_post(numbers, 0, &receive, COMM, source, tag);
    return receive;
}

static void test_behind_a_wildcard(void **state)
{
    (void)state;
    struct told told = {0};
    struct gn_number_tables *numbers = gn_numbers_open(note);
    struct gn_receive any = posted(numbers, ANY, TAG), behind = posted(numbers, PEER, TAG),
                      beside = posted(numbers, PEER, OTHER);
    assert_int_equal(gn_number_complete(numbers, &beside, PEER, OTHER, 1, &told), 0);
    assert_int_equal(gn_number_complete(numbers, &behind, PEER, TAG, 2, &told), GN_NUMBER_LATER);
    assert_int_equal(gn_number_receive(numbers, 0, COMM, PEER, TAG, 3, &told), GN_NUMBER_LATER);
    assert_int_equal(gn_number_complete(numbers, &any, PEER, TAG, 4, &told), 0);
    assert_int_equal(told.count, 2);
    assert_int_equal(told.id[0], 2);
    assert_int_equal(told.number[0], 1);
    assert_int_equal(told.number[1], 2);
    gn_numbers_close(numbers);
}

static void test_told_as_soon_as_it_is_known(void **state)
{
    (void)state;
    struct told told = {0};
    struct gn_number_tables *numbers = gn_numbers_open(note);
    struct gn_receive first = posted(numbers, ANY, TAG), behind = posted(numbers, PEER, TAG),
                      second = posted(numbers, ANY, TAG), last = posted(numbers, PEER, TAG);
    assert_int_equal(gn_number_complete(numbers, &behind, PEER, TAG, 1, &told), GN_NUMBER_LATER);
    assert_int_equal(gn_number_complete(numbers, &last, PEER, TAG, 2, &told), GN_NUMBER_LATER);
    gn_number_cancelled(numbers, &first, &told);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.number[0], 0);
    assert_int_equal(gn_number_complete(numbers, &second, PEER + 1, TAG, 3, &told), 0);
    assert_int_equal(told.count, 2);
    assert_int_equal(told.number[1], 1);
    gn_numbers_close(numbers);
}

static void test_no_room_to_wait(void **state)
{
    (void)state;
    struct told told = {0};
    struct gn_number_tables *numbers = gn_numbers_open(note);
    gn_numbers_narrow(numbers, 64, 1);
    struct gn_receive any = posted(numbers, ANY, TAG), waiting[3], beyond;
    for (int i = 0; i < 3; i++)
        waiting[i] = posted(numbers, PEER, TAG);
    beyond = posted(numbers, PEER + 1, TAG);
    assert_int_equal(gn_number_complete(numbers, &any, PEER, TAG, 1, &told), 0);
    assert_int_equal(gn_number_complete(numbers, &beyond, PEER + 1, TAG, 2, &told), GN_UNNUMBERED);
    assert_int_equal(gn_number_receive(numbers, 0, COMM, PEER + 1, TAG, 3, &told), GN_UNNUMBERED);
    assert_int_equal(gn_number_complete(numbers, &waiting[0], PEER, TAG, 4, &told), 1);
    assert_int_equal(gn_number_receive(numbers, 0, COMM, PEER, TAG, 5, &told), 4);
    gn_numbers_close(numbers);
}

static void test_no_room_for_a_wildcard(void **state)
{
    (void)state;
    struct told told = {0};
    struct gn_number_tables *numbers = gn_numbers_open(note);
    gn_numbers_narrow(numbers, 64, 1);
    struct gn_receive any[5];
    for (int i = 0; i < 5; i++)
        any[i] = posted(numbers, ANY, TAG);
    assert_int_equal(gn_number_complete(numbers, &any[0], PEER, TAG, 1, &told), 0);
    assert_int_equal(gn_number_complete(numbers, &any[4], PEER, TAG, 2, &told), GN_UNNUMBERED);
    assert_int_equal(gn_number_complete(numbers, &any[1], PEER, TAG, 3, &told), 1);
    assert_int_equal(gn_number_receive(numbers, 0, COMM, PEER, TAG, 4, &told), GN_UNNUMBERED);
    gn_numbers_close(numbers);
}

static void test_failed_calls(void **state)
{
    (void)state;
    struct told told = {0};
    struct gn_number_tables *numbers = gn_numbers_open(note);
    assert_int_equal(gn_number_send(numbers, 0, COMM, PEER, TAG), 0);
    gn_number_failed(numbers, GN_NUMBER_SEND, 0, COMM, PEER, TAG);
    assert_int_equal(gn_number_send(numbers, 0, COMM, PEER, TAG), GN_UNNUMBERED);
    assert_int_equal(gn_number_receive(numbers, 0, COMM, PEER, TAG, 1, &told), 0);
    gn_number_failed(numbers, GN_NUMBER_RECEIVE, 0, COMM, ANY, TAG);
    assert_int_equal(gn_number_receive(numbers, 0, COMM, PEER, TAG, 2, &told), GN_UNNUMBERED);
    assert_int_equal(gn_number_receive(numbers, 0, COMM, PEER, OTHER, 3, &told), 0);
    gn_number_failed(numbers, GN_NUMBER_RECEIVE, 0, COMM, PEER, OTHER);
    assert_int_equal(gn_number_receive(numbers, 0, COMM, PEER, OTHER, 4, &told), GN_UNNUMBERED);
    gn_numbers_close(numbers);
}

static void test_cancel_delays_and_gives_back(void **state)
{
    (void)state;
    struct told told = {0};
    struct gn_number_tables *numbers = gn_numbers_open(note);
    struct gn_receive first = posted(numbers, PEER, TAG), second = posted(numbers, PEER, TAG),
                      third = posted(numbers, PEER, TAG);
    gn_number_cancel(numbers, &first);
    assert_int_equal(gn_number_complete(numbers, &second, PEER, TAG, 1, &told), GN_NUMBER_LATER);
    gn_number_cancelled(numbers, &first, &told);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.number[0], 0);
    assert_int_equal(gn_number_complete(numbers, &third, PEER, TAG, 2, &told), 1);
    assert_int_equal(gn_number_receive(numbers, 0, COMM, PEER, TAG, 3, &told), 2);
    gn_numbers_close(numbers);
}

static void test_freed_wildcard_spoils_what_follows(void **state)
{
    (void)state;
    struct told told = {0};
    struct gn_number_tables *numbers = gn_numbers_open(note);
    struct gn_receive before = posted(numbers, ANY, TAG), any = posted(numbers, PEER, ANY),
                      after = posted(numbers, PEER, TAG);
    assert_int_equal(gn_number_complete(numbers, &after, PEER, TAG, 1, &told), GN_NUMBER_LATER);
    gn_number_freed(numbers, &any, &told);
    assert_int_equal(told.number[0], GN_UNNUMBERED);
    assert_int_equal(gn_number_complete(numbers, &before, PEER, TAG, 2, &told), 0);
    assert_int_equal(gn_number_receive(numbers, 0, COMM, PEER, OTHER, 3, &told), GN_UNNUMBERED);
    assert_int_equal(gn_number_receive(numbers, 0, COMM, PEER + 1, TAG, 4, &told), 0);
    assert_int_equal(gn_number_receive(numbers, 0, COMM + 1, PEER, TAG, 5, &told), 0);
    assert_int_equal(gn_number_receive(numbers, 0, COMM, PEER, -2, 6, &told), 0);
    gn_numbers_close(numbers);
}

static void test_freed_exact_takes_its_message(void **state)
{
    (void)state;
    struct told told = {0};
    struct gn_number_tables *numbers = gn_numbers_open(note);
    struct gn_receive freed = posted(numbers, PEER, TAG);
    gn_number_freed(numbers, &freed, &told);
    assert_int_equal(gn_number_receive(numbers, 0, COMM, PEER, TAG, 1, &told), 1);
    struct gn_receive lost = posted(numbers, PEER, TAG), behind = posted(numbers, PEER, TAG);
    gn_number_cancel(numbers, &lost);
    gn_number_freed(numbers, &lost, &told);
    assert_int_equal(gn_number_complete(numbers, &behind, PEER, TAG, 2, &told), GN_UNNUMBERED);
    assert_int_equal(gn_number_receive(numbers, 0, COMM, PEER, TAG, 3, &told), GN_UNNUMBERED);
    gn_numbers_close(numbers);
}

static void test_overlapping_sends_go_on(void **state)
{
    (void)state;
    struct gn_number_tables *numbers = gn_numbers_open(note);
    gn_numbers_threaded(numbers);
    uint32_t a = gn_number_enter(numbers, GN_NUMBER_SEND, COMM, PEER, TAG),
             b = gn_number_enter(numbers, GN_NUMBER_SEND, COMM, PEER, TAG),
             c = gn_number_enter(numbers, GN_NUMBER_SEND, COMM, PEER, OTHER);
    assert_int_equal(gn_number_send(numbers, b, COMM, PEER, TAG), 0 | GN_NUMBER_UNORDERED);
    assert_int_equal(gn_number_send(numbers, a, COMM, PEER, TAG), 1 | GN_NUMBER_UNORDERED);
    assert_int_equal(gn_number_send(numbers, c, COMM, PEER, OTHER), 0);
    a = gn_number_enter(numbers, GN_NUMBER_SEND, COMM, PEER, TAG);
    assert_int_equal(gn_number_send(numbers, a, COMM, PEER, TAG), 2);
    gn_numbers_close(numbers);
}

static void test_no_communicator(void **state)
{
    (void)state;
    struct told told = {0};
    struct gn_number_tables *numbers = gn_numbers_open(note);
    struct gn_receive receive;
    gn_number_post(numbers, 0, &receive, GN_NUMBER_NO_COMM, ANY, ANY);
    gn_number_cancel(numbers, &receive);
    assert_int_equal(gn_number_complete(numbers, &receive, PEER, TAG, 1, &told), GN_UNNUMBERED);
    assert_int_equal(gn_number_send(numbers, 0, GN_NUMBER_NO_COMM, PEER, TAG), GN_UNNUMBERED);
    assert_int_equal(gn_number_collective(numbers, GN_NUMBER_NO_COMM), GN_UNNUMBERED);
    assert_int_equal(gn_number_collective(numbers, COMM), 0);
    assert_int_equal(gn_number_collective(numbers, COMM), 1);
    gn_numbers_close(numbers);
}

/* ---- threads that really run ---- */

enum { THREADS = 4, SENDS = 20000 };

struct sender {
    struct gn_number_tables *numbers;
    int32_t tag;
    bool wrong;
};

static void *send_together(void *self)
{
    struct sender *s = self;
    for (uint64_t i = 0; i < SENDS; i++) {
        uint32_t inside = gn_number_enter(s->numbers, GN_NUMBER_SEND, COMM, PEER, TAG);
        gn_number_send(s->numbers, inside, COMM, PEER, TAG);
        inside = gn_number_enter(s->numbers, GN_NUMBER_SEND, COMM, PEER, s->tag);
        s->wrong |= gn_number_send(s->numbers, inside, COMM, PEER, s->tag) != i;
        struct gn_receive receive;
        inside = gn_number_enter(s->numbers, GN_NUMBER_RECEIVE, COMM, PEER, s->tag);
        gn_number_post(s->numbers, inside, &receive, COMM, PEER, s->tag);
        s->wrong |= gn_number_complete(s->numbers, &receive, PEER, s->tag, i, NULL) != i;
    }
    return NULL;
}

static void test_running_threads(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    struct sender senders[THREADS];
    struct gn_number_tables *numbers = gn_numbers_open(NULL);
    gn_numbers_threaded(numbers);
    for (int i = 0; i < THREADS; i++) {
        senders[i] = (struct sender){.numbers = numbers, .tag = 100 + i};
        assert_int_equal(pthread_create(&threads[i], NULL, send_together, &senders[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_false(senders[i].wrong);
    }
    uint32_t inside = gn_number_enter(numbers, GN_NUMBER_SEND, COMM, PEER, TAG);
    assert_int_equal(gn_number_send(numbers, inside, COMM, PEER, TAG), THREADS * SENDS);
    gn_numbers_close(numbers);
}

/* Each tag a few times, in any order. */
static void test_many_tags(void **state)
{
    enum { TAGS = 100000 };
    (void)state;
    static uint64_t sent[TAGS], received[TAGS];
    struct gn_number_tables *numbers = gn_numbers_open(NULL);
    uint64_t random = seed;
    for (int i = 0; i < 10 * TAGS; i++) {
        uint32_t tag = (uint32_t)(gn_mix_next(&random) % TAGS);
        assert_int_equal(gn_number_send(numbers, 0, 0, 1, (int32_t)tag), sent[tag]++);
        assert_int_equal(gn_number_receive(numbers, 0, 0, 1, (int32_t)tag, 0, NULL), received[tag]++);
    }
    gn_numbers_close(numbers);
}

/* Far more channels than there is room for: what is numbered is right. */
static void test_endless_tags(void **state)
{
    enum { TAGS = 1000000 };
    (void)state;
    uint64_t *sent = calloc(TAGS, sizeof *sent), random = seed, right = 0, unnumbered = 0;
    struct gn_number_tables *numbers = gn_numbers_open(NULL);
    for (int i = 0; i < 3 * TAGS; i++) {
        uint32_t tag = i < 2 * TAGS ? (uint32_t)i / 2 : (uint32_t)(gn_mix_next(&random) % TAGS);
        uint64_t number = gn_number_send(numbers, 0, 0, 1, (int32_t)tag), truth = sent[tag]++;
        assert_true(number == truth || number == GN_UNNUMBERED);
        *(number == truth ? &right : &unnumbered) += 1;
    }
    printf("endless tags: %llu right, %llu unnumbered\n", (unsigned long long)right,
           (unsigned long long)unnumbered);
    assert_true(right >
                1800000); /* most of the first two million, and of the third those that are still there */
    assert_int_equal(unnumbered, gn_numbers_unnumbered(numbers, GN_UNNUMBERED_ROOM));
    gn_numbers_close(numbers);
    free(sent);
}

static double cpu_of_wildcards(struct gn_number_tables *numbers)
{
    enum { MESSAGES = 10000 };
    struct gn_receive receive;
    const clock_t begin = clock();
    for (int i = 0; i < MESSAGES; i++) {
        gn_number_post(numbers, 0, &receive, COMM, PEER, GN_NUMBER_ANY);
        gn_number_complete(numbers, &receive, PEER, TAG, 0, NULL);
    }
    return (double)(clock() - begin) + 1;
}

/* What a message costs does not depend on how many wait for something else: each of 15000 would be a hundred
 * times as much. */
static void test_waiting_for_something_else(void **state)
{
    enum { WAITING = 15000, LISTENED = 9 };
    (void)state;
    static struct gn_receive listener, waiting[WAITING];
    struct gn_number_tables *numbers = gn_numbers_open(NULL);
    gn_number_post(numbers, 0, &listener, COMM, GN_NUMBER_ANY, LISTENED);
    const double alone = cpu_of_wildcards(numbers);
    for (int i = 0; i < WAITING; i++)
        gn_number_post(numbers, 0, &waiting[i], COMM, PEER + 1, LISTENED);
    assert_true(gn_number_complete(numbers, &waiting[0], PEER + 1, LISTENED, 0, NULL) == GN_NUMBER_LATER);
    assert_true(cpu_of_wildcards(numbers) < 20 * (alone + 0.002 * CLOCKS_PER_SEC));
    gn_numbers_close(numbers);
}

int main(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2)
        *(strcmp(argv[i], "-n") == 0 ? &operations : &seed) = strtoull(argv[i + 1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_numbered),
        cmocka_unit_test(test_exact_receives),
        cmocka_unit_test(test_freed_failed_withdrawn),
        cmocka_unit_test(test_communicators),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_little_room),
        cmocka_unit_test(test_many_tags),
        cmocka_unit_test(test_behind_a_wildcard),
        cmocka_unit_test(test_told_as_soon_as_it_is_known),
        cmocka_unit_test(test_no_room_to_wait),
        cmocka_unit_test(test_no_room_for_a_wildcard),
        cmocka_unit_test(test_failed_calls),
        cmocka_unit_test(test_cancel_delays_and_gives_back),
        cmocka_unit_test(test_freed_wildcard_spoils_what_follows),
        cmocka_unit_test(test_freed_exact_takes_its_message),
        cmocka_unit_test(test_overlapping_sends_go_on),
        cmocka_unit_test(test_no_communicator),
        cmocka_unit_test(test_running_threads),
        cmocka_unit_test(test_endless_tags),
        cmocka_unit_test(test_waiting_for_something_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
