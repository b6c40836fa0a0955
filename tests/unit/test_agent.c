/* agent/agent — whoever has taken the agent's name gets nothing from another user. */
#include "agent/agent.h"
#include "agent/enlist.h"

#include "capture/channel.h"
#include "clock/ticks.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOBODY = 65534, TWO_SECONDS_AND_A_BUSY_HOST_MS = 20000 };

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
    assert_int_equal(code, -EADDRINUSE);
    assert_non_null(strstr(err.text, "another user"));
    close(ready[0]);
}

/* Nobody can see whose a name is that does not listen. */
static void a_name_that_does_not_answer_is_waited_for_once(void **state)
{
    struct gn_job job = {.key = "test", .rank = -1, .hash = (uint64_t)getpid()};
    struct gn_agent_settings settings = {.command = "gnomon", .program = "test", .config = ""};
    struct gn_error err;
    char name[64];
    (void)state;
    gn_job_socket(&job, name);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path + 1, name, strlen(name));
    int mute = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    assert_int_equal(bind(mute, (struct sockaddr *)&address, bytes), 0);
    uint64_t begin_ns = gn_monotonic_ns();
    assert_int_equal(gn_agent_enlist(&job, &settings, name, &err), -EADDRINUSE);
    assert_non_null(strstr(err.text, "nobody answers"));
    assert_in_range((gn_monotonic_ns() - begin_ns) / 1000000, 1800, TWO_SECONDS_AND_A_BUSY_HOST_MS);
    close(mute);
}

/* An agent that does not get to it on a busy host. */
static _Noreturn void answer_late(const char *name, int ready)
{
    struct gn_message message = {.kind = 0};
    int descriptor = -1, listener = gn_channel_listen(name);
    if (listener < 0 || write(ready, "", 1) != 1)
        _exit(2);
    sleep(3);
    int connection = accept(listener, NULL, NULL);
    if (gn_channel_receive(connection, &message, &descriptor) != 0 || message.kind != GN_HELLO_RUN)
        _exit(3);
    message.status = 0;
    _exit(gn_channel_send(connection, &message, -1) != 0);
}

/* Whose it is, is known: the patience for strangers is not for it. */
static void our_own_agent_is_waited_for(void **state)
{
    struct gn_job job = {.key = "test", .rank = -1, .hash = (uint64_t)getpid()};
    struct gn_agent_settings settings = {.command = "gnomon", .program = "test", .config = ""};
    struct gn_error err;
    char name[64], byte;
    int ready[2], status;
    (void)state;
    gn_job_socket(&job, name);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0)
        answer_late(name, ready[1]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(gn_agent_enlist(&job, &settings, name, &err), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(ready[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(another_users_socket_gets_nothing),
                                       cmocka_unit_test(a_name_that_does_not_answer_is_waited_for_once),
                                       cmocka_unit_test(our_own_agent_is_waited_for)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
