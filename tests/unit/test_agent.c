/* live/agent — whoever has taken the agent's name gets nothing from another user. */
#include "live/agent.h"

#include "capture/channel.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOBODY = 65534 };

/* 0: somebody came and said nothing. */
static _Noreturn void squat(const char *name, int ready)
{
    struct gn_message message;
    int descriptor = -1, listener = setuid(NOBODY) == 0 ? gn_channel_listen(name) : -1;
    if (listener < 0 || write(ready, "", 1) != 1)
        _exit(2);
    struct pollfd waiting = {.fd = listener, .events = POLLIN};
    poll(&waiting, 1, -1);
    int connection = accept(listener, NULL, NULL);
    _exit(connection < 0 ? 3 : gn_channel_receive(connection, &message, &descriptor) == 0);
}

static void another_users_socket_gets_nothing(void **state)
{
    struct gn_job job = {.key = "test", .rank = -1, .hash = (uint64_t)getpid()};
    struct gn_agent_settings settings = {.command = "gnomon", .program = "test", .config = ""};
    struct gn_error err;
    char name[64], byte;
    int ready[2], status;
    (void)state;
    if (getuid() != 0)
        skip();
    gn_job_socket(&job, name);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0)
        squat(name, ready[1]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    int code = gn_agent_enlist(&job, &settings, name, &err);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(code, -EPERM);
    assert_non_null(strstr(err.text, "another user"));
    close(ready[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(another_users_socket_gets_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
