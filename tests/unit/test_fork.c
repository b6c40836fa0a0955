/* A child of a recording process has no segment (MADV_DONTFORK) and a closed gate (MADV_WIPEONFORK): it
 * records nothing, and touching the segment would crash it. */
#include "capture.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static __attribute__((noipa)) uint32_t call_here(void)
{
    uint32_t node = test_call(1, 1);
    __asm__ volatile("" ::: "memory");
    return node;
}

static int status_of(pid_t child)
{
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

static void child_records_nothing(void **state)
{
    (void)state;
    call_here();
    pid_t child = fork();
    if (child == 0) {
        int recorded = call_here() != UINT32_MAX;
        test_region("child", true);
        test_region("child", false);
        test_switch(false);
        gn_record_end(gn_ticks());
        gn_recorder_close();
        _exit(recorded);
    }
    assert_int_equal(status_of(child), 0);
}

static void parent_goes_on(void **state)
{
    (void)state;
    uint64_t events = GN_GET(test_location()->events);
    assert_int_not_equal(call_here(), UINT32_MAX);
    assert_int_equal(GN_GET(test_location()->events), events + 1);
}

static void grandchild_records_nothing(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0)
            _exit(call_here() != UINT32_MAX);
        _exit(status_of(grandchild) != 0);
    }
    assert_int_equal(status_of(child), 0);
}

static void fork_here(void *child)
{
    *(pid_t *)child = fork();
    if (*(pid_t *)child == 0)
        signal(SIGSEGV, SIG_DFL); /* not the handler of cmocka */
}

/* A callback inside of an MPI call may fork; the child leaves the call, too. */
static void child_made_within_a_call_survives(void **state)
{
    (void)state;
    pid_t child = -1;
    test_call_around(2, fork_here, &child);
    if (child == 0)
        _exit(0);
    assert_int_equal(status_of(child), 0);
}

static void *fork_in_thread(void *child)
{
    call_here();
    fork_here(child);
    return NULL; /* of the child: the only thread it has */
}

static void thread_of_a_child_may_end(void **state)
{
    (void)state;
    pthread_t thread;
    pid_t child = -1;
    assert_int_equal(pthread_create(&thread, NULL, fork_in_thread, &child), 0);
    pthread_join(thread, NULL);
    assert_false(WIFSIGNALED(status_of(child))); /* its exit status may be a leak checker's */
}

static int open_recorder(void **state)
{
    (void)state;
    struct gn_tag *segment = test_segment(2);
    if (!segment || madvise(segment, gn_tag_bytes(2), MADV_DONTFORK) != 0)
        return -1;
    return gn_recorder_open(segment, gn_ticks());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(child_records_nothing),      cmocka_unit_test(parent_goes_on),
        cmocka_unit_test(grandchild_records_nothing), cmocka_unit_test(child_made_within_a_call_survives),
        cmocka_unit_test(thread_of_a_child_may_end),
    };
    return cmocka_run_group_tests(tests, open_recorder, NULL);
}
