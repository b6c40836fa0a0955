/* How a watched process ended is known even when whoever started it has collected it first. */
#include "agent/watched.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
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
    free(list.items);
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
    free(list.items);
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
    free(list.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_it_is_collected),
        cmocka_unit_test(processor_time_of_a_killed_one),
        cmocka_unit_test(after_it_was_collected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
