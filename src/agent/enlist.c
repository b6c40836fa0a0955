#include "agent/enlist.h"

#include "capture/channel.h"
#include "clock/ticks.h"
#include "agent/guard.h"
#include "agent/process_files.h"
#include "agent/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- starting the agent ---- */

static bool is_launcher(int pid)
{
    static const char *const launchers[] = {"mpirun", "mpiexec", "orterun", "prterun", "hydra", "srun"};
    char name[64];
    bool is = false;
    gn_process_file(pid, "comm", name, sizeof name);
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        is = is || strncmp(name, launchers[i], strlen(launchers[i])) == 0;
    return is;
}

/* The launcher's own standard error: the place for the report when the ranks' pipes are no longer read. */
static void find_launcher(int *error, int *handle)
{
    int launcher = 0;
    char path[64];
    for (int pid = gn_parent_of((int)getpid()), up = 0; up < 6 && pid > 1; up++, pid = gn_parent_of(pid))
        if (is_launcher(pid))
            launcher = pid;
    *error = *handle = -1;
    if (!launcher)
        return;
    snprintf(path, sizeof path, "/proc/%d/fd/2", launcher);
    /* without O_NONBLOCK, opening a FIFO that nobody reads any more would wait for ever */
    *error = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*error >= 0)
        fcntl(*error, F_SETFL, O_WRONLY | O_APPEND);
    *handle = (int)syscall(SYS_pidfd_open, launcher, 0);
}

/* Nothing of the launcher's or the program's may be held open by us: pipes, the process manager's sockets. */
static void close_others(const int *keep, size_t count)
{
    int highest = 2;
    for (size_t i = 0; i < count; i++)
        highest = keep[i] > highest ? keep[i] : highest;
    for (int fd = 3; fd <= highest; fd++) {
        bool kept = false;
        for (size_t i = 0; i < count; i++)
            kept = kept || keep[i] == fd;
        if (!kept)
            close(fd);
    }
    syscall(SYS_close_range, (unsigned)highest + 1, ~0u, 0);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2 && null >= 0; fd++)
        dup2(null, fd);
}

/* What the agent has to know, in a file of memory that it inherits. */
static int write_order(const struct gn_job *job, const struct gn_agent_settings *settings, int listener,
                       int launcher_error, int launcher_handle)
{
    static struct gn_agent_order order;
    order = (struct gn_agent_order){.magic = GN_AGENT_ORDER_MAGIC,
                                    .job = *job,
                                    .listener = listener,
                                    .launcher_error = launcher_error,
                                    .launcher_handle = launcher_handle,
                                    .report = settings->report,
                                    .quiet = settings->quiet,
                                    .locations = settings->locations,
                                    .trace = settings->trace,
                                    .sample = settings->sample,
                                    .exchange = settings->exchange};
    snprintf(order.command, sizeof order.command, "%s", settings->command);
    snprintf(order.program, sizeof order.program, "%s", settings->program);
    snprintf(order.into, sizeof order.into, "%s", settings->into ? settings->into : "");
    snprintf(order.link, sizeof order.link, "%s", settings->link ? settings->link : "");
    snprintf(order.where, sizeof order.where, "%s", settings->where ? settings->where : "");
    snprintf(order.config, sizeof order.config, "%s", settings->config);
    int file = memfd_create("gnomon-order", MFD_CLOEXEC);
    if (file >= 0 && write(file, &order, sizeof order) != (ssize_t)sizeof order) {
        close(file);
        file = -1;
    }
    return file;
}

/* In a process of its own. A terminal's signals reach its whole session: not us any more. */
static _Noreturn void become_guard(const struct gn_agent_settings *settings, int order, int listener,
                                   int launcher_error, int launcher_handle)
{
    const int kept[] = {order, listener, launcher_error, launcher_handle};
    char number[16];
    setsid();
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGTSTP, SIG_IGN);
    signal(SIGTERM, SIG_IGN); /* until it can save on it */
    close_others(kept, sizeof kept / sizeof kept[0]);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (kept[i] >= 0)
            fcntl(kept[i], F_SETFD, 0);
    unsetenv("LD_PRELOAD"); /* the program's */
    snprintf(number, sizeof number, "%d", order);
    char *words[] = {"gnomon", "guard", (char *)settings->executable, number, NULL};
    if (settings->guard)
        execv(settings->guard, words);
    gn_guard_run(settings->executable, order);
}

/* By its guard: a grandchild, so that neither the program nor its launcher ever meets it in wait(). */
static int start_agent(const struct gn_job *job, const struct gn_agent_settings *settings, int listener)
{
    int launcher_error = -1, launcher_handle = -1, status = 0;
    if (access(settings->executable, X_OK) != 0)
        return -errno;
    if (!settings->output) /* somebody waits at the other end of it, however the ranks end */
        find_launcher(&launcher_error, &launcher_handle);
    int order = write_order(job, settings, listener, launcher_error, launcher_handle);
    pid_t child = order < 0 ? -1 : fork();
    int code = child > 0 ? 0 : -errno;
    if (child == 0) {
        if (fork() == 0)
            become_guard(settings, order, listener, launcher_error, launcher_handle);
        _exit(0);
    }
    if (child > 0)
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
    const int done[] = {order, launcher_error, launcher_handle};
    for (size_t i = 0; i < sizeof done / sizeof done[0]; i++)
        if (done[i] >= 0)
            close(done[i]);
    return code;
}

/* ---- finding it ---- */

enum {
    ANSWER_SECONDS = 60,
    NAP_US = 20000,
    PATIENCE_MS = 2000
}; /* an agent is a program to load, on a host that may be busy */

/* The connection says when the agent has died: whoever waits here waits for one that lives. */
static int wait_for_answer(int connection, struct gn_message *reply)
{
    int descriptor = -1, code;
    uint64_t begin_ns = gn_monotonic_ns();
    do
        code = gn_channel_receive(connection, reply, &descriptor);
    while ((code == -EAGAIN || code == -EINTR) &&
           gn_monotonic_ns() - begin_ns < ANSWER_SECONDS * 1000000000ull);
    if (descriptor >= 0)
        close(descriptor);
    return code == -EAGAIN ? -ETIMEDOUT : code;
}

static int say_hello(int connection, const struct gn_job *job, const struct gn_agent_settings *settings,
                     int spawner)
{
    struct gn_message hello = {.magic = GN_PROTOCOL_MAGIC,
                               .version = GN_PROTOCOL_VERSION,
                               .kind = GN_HELLO_RUN,
                               .status = spawner,
                               .pid = (int)getpid(),
                               .rank = job->rank};
    struct gn_message reply;
    snprintf(hello.text, sizeof hello.text, "%.500s", settings->program);
    int code = gn_channel_send(connection, &hello, settings->output ? settings->output : STDERR_FILENO);
    if (code == -EBADF) /* the standard error is closed */
        code = gn_channel_send(connection, &hello, -1);
    if (code == 0)
        code = wait_for_answer(connection, &reply);
    return code != 0 ? code : reply.status;
}

int gn_agent_enlist(const struct gn_job *job, const struct gn_agent_settings *settings, char socket_name[64],
                    struct gn_error *err)
{
    struct gn_rendezvous rendezvous = {.name = socket_name};
    gn_job_socket(job, socket_name);
    for (;;) {
        int connection, listener;
        int code = gn_rendezvous_come(&rendezvous, &connection, &listener, err);
        if (code != 0)
            return code;
        if (connection >= 0) {
            code = say_hello(connection, job, settings, 0);
            close(connection);
            if (code == 0)
                return 0;
            if (code == -ETIMEDOUT)
                return gn_fail(err, code, "gnomon's agent on this host has not answered for %d s",
                               ANSWER_SECONDS);
            if (rendezvous.waited_ms >= GN_CHANNEL_PATIENCE_MS)
                return gn_fail(err, code, "cannot start or reach gnomon's agent on this host: %s",
                               strerror(-code));
            usleep(NAP_US); /* it ends just now, or could not be started */
            rendezvous.waited_ms += NAP_US / 1000;
        } else {
            code = start_agent(job, settings, listener);
            close(listener);
            if (code != 0)
                return gn_fail(err, code, "cannot start gnomon's agent on this host: %s", strerror(-code));
        }
    }
}

int gn_agent_enlist_spawned(const struct gn_job *job, const struct gn_agent_settings *settings,
                            const char *socket_name, int spawner, struct gn_error *err)
{
    int connection = gn_channel_connect(socket_name, PATIENCE_MS, NULL);
    int code = connection;
    if (connection >= 0) {
        code = say_hello(connection, job, settings, spawner);
        close(connection);
    }
    return code == 0 ? 0
                     : gn_fail(err, code, "the agent of the program that spawned it cannot be reached: %s",
                               strerror(-code));
}
