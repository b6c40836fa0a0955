/* How a watched process ended is known even when whoever started it has collected it first. */
#include "agent/process_files.h"
#include "agent/watched.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static bool kernel_keeps_the_status(void)
{
    struct utsname system;
    int major = 0, minor = 0;
    return uname(&system) == 0 && sscanf(system.release, "%d.%d", &major, &minor) == 2 &&
           (major > 6 || (major == 6 && minor >= 15));
}

static struct gn_watched watched_child(struct gn_watched_list *list)
{
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    assert_non_null(gn_watched_add(list, child));
    kill(child, SIGKILL);
    return list->items[0];
}

static void before_it_is_collected(void **state)
{
    (void)state;
    struct gn_watched_list list = {0};
    struct gn_watched child = watched_child(&list);
    siginfo_t info;
    waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT);
    gn_watched_ended(&child);
    assert_string_equal(child.ended, "signal");
    assert_int_equal(child.exit_status, SIGKILL);
    waitpid(child.pid, NULL, 0);
    gn_watched_clear(&list);
}

/* It burns 0.2 s, and is killed before it can say so itself. */
static void processor_time_of_a_killed_one(void **state)
{
    (void)state;
    struct gn_watched_list list = {0};
    int pipe_ends[2];
    char ready;
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        while (clock() < CLOCKS_PER_SEC / 5) {
        }
        ready = write(pipe_ends[1], "", 1) == 1;
        pause();
        _exit(!ready);
    }
    struct gn_watched *child = gn_watched_add(&list, pid);
    assert_non_null(child);
    assert_int_equal(gn_watched_make_segment(child, 1), 0);
    assert_int_equal(read(pipe_ends[0], &ready, 1), 1);
    gn_watched_read_cpu(child);
    assert_in_range(GN_GET(child->segment->cpu_ns), 150000000, 10000000000);
    GN_SET(child->segment->cpu_ns, 0);
    kill(pid, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    gn_watched_ended(child);
    assert_in_range(GN_GET(child->segment->cpu_ns), 150000000, 10000000000);
    waitpid(pid, NULL, 0);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    gn_watched_clear(&list);
}

static void after_it_was_collected(void **state)
{
    (void)state;
    if (!kernel_keeps_the_status())
        skip();
    struct gn_watched_list list = {0};
    struct gn_watched child = watched_child(&list);
    waitpid(child.pid, NULL, 0);
    gn_watched_ended(&child);
    assert_string_equal(child.ended, "signal");
    assert_int_equal(child.exit_status, SIGKILL);
    gn_watched_clear(&list);
}

/* A child that a test which fails does not leave behind. */
static pid_t mortal_child(void)
{
    pid_t child = fork();
    if (child == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

static pid_t sleeping_child(void)
{
    pid_t child = mortal_child();
    if (child == 0)
        for (;;)
            pause();
    return child;
}

static void who_sleeps_is_not_dying(void **state)
{
    (void)state;
    const struct gn_watched child = {.pid = sleeping_child()};
    assert_false(gn_watched_is_dying(&child));
    kill(child.pid, SIGKILL);
    waitpid(child.pid, NULL, 0);
}

static void who_is_killed_is_dying(void **state)
{
    (void)state;
    siginfo_t info;
    const struct gn_watched child = {.pid = sleeping_child()};
    kill(child.pid, SIGKILL);
    waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT);
    assert_true(gn_watched_is_dying(&child));
    waitpid(child.pid, NULL, 0);
    assert_false(gn_watched_is_dying(&child));
}

static void *sleep_on(void *ready)
{
    if (write(*(const int *)ready, "", 1) != 1)
        _exit(1);
    for (;;)
        pause();
    return NULL;
}

/* Its first thread has gone through the whole of its end: what the kernel says of a process is of that one.
 * No wait can tell that of a process which goes on. */
static void whose_first_thread_has_ended_is_dying(void **state)
{
    (void)state;
    int pipe_ends[2];
    char ready;
    pthread_t thread;
    struct gn_process_stat stat;
    assert_int_equal(pipe(pipe_ends), 0);
    const struct gn_watched child = {.pid = mortal_child()};
    if (child.pid == 0) {
        if (pthread_create(&thread, NULL, sleep_on, &pipe_ends[1]) != 0)
            _exit(1);
        syscall(SYS_exit, 0);
    }
    assert_int_equal(read(pipe_ends[0], &ready, 1), 1);
    while (gn_process_stat(child.pid, &stat) && stat.state != 'Z')
        usleep(1000);
    assert_true(gn_watched_is_dying(&child));
    assert_int_equal(waitpid(child.pid, NULL, WNOHANG), 0); /* and yet it runs */
    kill(child.pid, SIGKILL);
    waitpid(child.pid, NULL, 0);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

/* A script that starts a program which is measured, and one whose MPI_Init gets memory and cannot use it. */
static void a_helper_that_is_not_measured(void **state)
{
    (void)state;
    struct gn_watched_list list = {0};
    for (int i = 0; i < 3; i++)
        assert_non_null(gn_watched_again(&list, 100 + i, -1));
    struct gn_watched *script = &list.items[0], *program = &list.items[1], *helper = &list.items[2];
    script->enlisted = true;
    program->of = helper->of = 0;
    assert_false(gn_watched_is_covered(&list, script));
    assert_int_equal(gn_watched_make_segment(helper, 1), 0);
    assert_false(gn_watched_is_covered(&list, script));
    assert_int_equal(gn_watched_make_segment(program, 1), 0);
    GN_SET(program->segment->state, GN_STATE_RUNNING);
    snprintf(script->unmeasured, sizeof script->unmeasured, "its address space is limited");
    assert_true(gn_watched_is_covered(&list, script));
    assert_false(gn_watched_is_covered(&list, helper));
    for (int i = 1; i < 3; i++) {
        munmap(list.items[i].segment, list.items[i].segment_bytes);
        close(list.items[i].segment_file);
    }
    gn_watched_clear(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_it_is_collected),
        cmocka_unit_test(processor_time_of_a_killed_one),
        cmocka_unit_test(after_it_was_collected),
        cmocka_unit_test(a_helper_that_is_not_measured),
        cmocka_unit_test(who_sleeps_is_not_dying),
        cmocka_unit_test(who_is_killed_is_dying),
        cmocka_unit_test(whose_first_thread_has_ended_is_dying),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
