/* capture/counting: the numbers end for good, whatever is under way. */
#include "capture/classes.h"
#include "capture/counting.h"
#include "repeated.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { COMM = 0, PEER = 1, TAG = 5 };
static const int status[16] = {PEER, PEER, PEER, PEER};

static atomic_bool over;
static atomic_int running;

static void *count_on(void *unused)
{
    (void)unused;
    struct gn_capture_call call = {.binding = GN_C};
    running++;
    while (!over) {
        struct gn_request request = {.kind = GN_RECEIVE, .at = {.comm = COMM, .source = PEER, .tag = TAG}};
        gn_counted_receive(&call, COMM, status, 0);
        gn_counted_send(&call, COMM, PEER, TAG);
        gn_counted_collective(&call, COMM, 0);
        gn_counted_post(0, &request);
        gn_counted_complete_as_posted(&request, 0);
    }
    return NULL;
}

/* Again and again, by setting back what it has changed. */
static void given_up_beside_running_threads(void **state)
{
    (void)state;
    pthread_t threads[3];
    struct gn_number_tables *numbers = gn_numbers;
    assert_non_null(numbers);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_on, NULL), 0);
    while (running < 3)
        sched_yield();
    for (int i = 0; i < REPEATED(30000000); i++) {
        gn_counts_give_up();
        gn_numbers = numbers;
    }
    over = true;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static struct gn_request posted(int32_t source)
{
    struct gn_request request = {.kind = GN_RECEIVE, .at = {.comm = COMM + 1, .source = source, .tag = TAG}};
    gn_counted_post(0, &request);
    return request;
}

/* Whoever had counted behind it may have to move up. */
static void cancel_of_an_unfollowed_one_voids_the_others(void **state)
{
    (void)state;
    struct gn_request known = posted(PEER), unfollowed = posted(PEER), behind = posted(PEER);
    struct gn_request wildcard = posted(GN_NUMBER_ANY), waiting = posted(PEER);
    assert_int_equal(gn_counted_complete_as_posted(&known, 0) & ~GN_NUMBER_UNORDERED, 0);
    gn_counted_freed(&unfollowed); /* there was no room */
    gn_handle handle = 0x4711000;
    struct gn_capture_call call = {.binding = GN_C, .enter_ticks = 1};
    gn_before_cancel(&call, &handle);
    assert_true(gn_counted_complete_as_posted(&behind, 0) == GN_UNNUMBERED);
    wildcard.at.source = PEER;
    assert_true(gn_counted_complete(&wildcard, status, 0) == GN_UNNUMBERED);
    assert_true(gn_counted_complete_as_posted(&waiting, 0) == GN_UNNUMBERED);
    assert_true(gn_counted_send(&call, COMM, PEER, TAG) == GN_UNNUMBERED);
}

/* A thread may send before the one that initialized MPI has come back and said what is what. */
static void given_up_before_communicators_are_known(void **state)
{
    (void)state;
    struct gn_number_tables *numbers = gn_numbers;
    struct gn_capture_call call = {.binding = GN_C};
    gn_ring_memory = mmap(NULL, sizeof *gn_ring_memory, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(gn_ring_memory != MAP_FAILED);
    assert_int_equal(gn_counts_comm(&call, 0x44000000), GN_NUMBER_NO_COMM);
    assert_null(gn_numbers);
    gn_numbers = numbers;
    gn_counted_collective(&call, GN_NUMBER_NO_COMM, 0);
    assert_null(gn_numbers);
    gn_numbers = numbers;
    GN_SET(gn_ring_memory->comm_count, 2); /* beyond what there is room for */
    assert_int_equal(gn_counts_comm(&call, 0x44000000), GN_NUMBER_NO_COMM);
    assert_non_null(gn_numbers);
}

static int open_tables(void **state)
{
    (void)state;
    if (gn_requests_open() || gn_counts_open())
        return -1;
    gn_counts_threaded();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(given_up_beside_running_threads),
        cmocka_unit_test(given_up_before_communicators_are_known),
        cmocka_unit_test(cancel_of_an_unfollowed_one_voids_the_others),
    };
    return cmocka_run_group_tests(tests, open_tables, NULL);
}
