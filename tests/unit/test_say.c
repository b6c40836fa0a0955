/* capture/say — a line of ours neither waits for who reads it nor kills the program that it is printed in. */
#include "capture/say.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char line[] = "gnomon: a line\n";

/* The standard error becomes the writing end of a pipe; the reading end, and how to come back. */
static int redirect(int *before)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    *before = dup(STDERR_FILENO);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[1]);
    return ends[0];
}

static void come_back(int before)
{
    assert_int_equal(dup2(before, STDERR_FILENO), STDERR_FILENO);
    close(before);
}

static void it_is_said(void **state)
{
    char text[64] = "";
    int before, pipe_end = redirect(&before);
    (void)state;
    gn_say(line, strlen(line));
    come_back(before);
    assert_int_equal(read(pipe_end, text, sizeof text), strlen(line));
    assert_memory_equal(text, line, strlen(line));
    close(pipe_end);
}

static void nobody_reads_it(void **state)
{
    sigset_t pending;
    int before, pipe_end = redirect(&before);
    (void)state;
    close(pipe_end);
    signal(SIGPIPE, SIG_DFL); /* it would end this process */
    gn_say(line, strlen(line));
    come_back(before);
    assert_int_equal(sigpending(&pending), 0);
    assert_int_equal(sigismember(&pending, SIGPIPE), 0);
}

static void there_is_no_room(void **state)
{
    char full[4096] = "";
    int before, pipe_end = redirect(&before);
    (void)state;
    fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
    while (write(STDERR_FILENO, full, sizeof full) > 0)
        ;
    fcntl(STDERR_FILENO, F_SETFL, 0);
    gn_say(line, strlen(line)); /* or waits for ever */
    come_back(before);
    close(pipe_end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_said),
        cmocka_unit_test(nobody_reads_it),
        cmocka_unit_test(there_is_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
