/* agent/process_files — what /proc tells is read whole, whatever a process is called, and is nothing where
 * there is none. */
#include "agent/process_files.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void stop(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* Its name looks like the rest of a line. */
static void a_name_with_brackets(void **state)
{
    struct gn_process_stat stat;
    char name[64], ready;
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "a) Z 1 (b) 2");
        ready = write(ends[1], "", 1) == 1;
        for (;;)
            pause();
    }
    assert_int_equal(read(ends[0], &ready, 1), 1);
    assert_true(gn_process_file(child, "comm", name, sizeof name) > 0);
    assert_string_equal(name, "a) Z 1 (b) 2\n");
    assert_true(gn_process_stat(child, &stat));
    assert_true(strchr("RS", stat.state) != NULL);
    assert_int_equal(stat.parent, getpid());
    assert_int_equal(gn_parent_of(child), getpid());
    assert_true(stat.start_ticks > 0);
    assert_in_range(stat.core, 0, sysconf(_SC_NPROCESSORS_CONF) - 1);
    stop(child);
    close(ends[0]);
    close(ends[1]);
}

static void how_it_ended(void **state)
{
    struct gn_process_stat stat;
    siginfo_t info;
    (void)state;
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
    assert_true(gn_process_stat(child, &stat));
    assert_int_equal(stat.state, 'Z');
    assert_true(WIFEXITED(stat.wait_status));
    assert_int_equal(WEXITSTATUS(stat.wait_status), 7);
    waitpid(child, NULL, 0);
}

static void one_that_is_gone(void **state)
{
    struct gn_process_stat stat;
    char text[8] = "before";
    size_t bytes = 1;
    (void)state;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    assert_int_equal(gn_process_file(child, "comm", text, sizeof text), 0);
    assert_string_equal(text, "");
    assert_null(gn_process_file_whole(child, "environ", &bytes));
    assert_int_equal(bytes, 0);
    assert_false(gn_process_stat(child, &stat));
    assert_int_equal(gn_parent_of(child), 0);
}

/* The pipe's end closes when it is another program. */
static void a_large_environment(void **state)
{
    enum { LONG = 100000 };
    char *setting = malloc(LONG + 1), nothing;
    size_t bytes;
    int ends[2];
    (void)state;
    memset(setting, 'x', LONG);
    memcpy(setting, "A=", 2);
    setting[LONG] = '\0';
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execle("/bin/sleep", "sleep", "600", NULL, (char *[]){setting, "B=end", NULL});
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &nothing, 1), 0);
    char *text = gn_process_file_whole(child, "environ", &bytes);
    assert_non_null(text);
    assert_int_equal(bytes, LONG + 1 + sizeof "B=end");
    assert_string_equal(text, setting);
    assert_string_equal(text + LONG + 1, "B=end");
    free(text);
    free(setting);
    stop(child);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_with_brackets),
        cmocka_unit_test(how_it_ended),
        cmocka_unit_test(one_that_is_gone),
        cmocka_unit_test(a_large_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
