/* How a watched process ended is known even when whoever started it has collected it first. */
#include "live/watched.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <sys/wait.h>
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
        cmocka_unit_test(after_it_was_collected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
