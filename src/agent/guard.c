#include "agent/guard.h"

#include "capture/channel.h"
#include "image/kept.h"
#include "agent/order.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* An agent that dies of what it finds in the memory would do so for ever. */
enum { MOST_STARTS = 16 };

struct guard {
    const char *executable;
    int order;
    int held[3]; /* the listener, and of the launcher: standard error and handle; -1 none */
    struct gn_kept *items;
    size_t count, capacity;
    bool over;
};

/* ---- items ---- */

static void close_file(int *file)
{
    if (*file >= 0)
        close(*file);
    *file = -1;
}

static struct gn_kept *find(struct guard *g, const struct gn_kept *wanted)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->items[i].kind == wanted->kind && g->items[i].number == wanted->number)
            return &g->items[i];
    return NULL;
}

static struct gn_kept *add(struct guard *g, const struct gn_kept *item)
{
    if (g->count == g->capacity) {
        size_t capacity = g->capacity ? 2 * g->capacity : 64;
        struct gn_kept *items = realloc(g->items, capacity * sizeof *items);
        if (!items)
            return NULL;
        g->items = items;
        g->capacity = capacity;
    }
    g->items[g->count] = *item;
    g->items[g->count].file = -1;
    return &g->items[g->count++];
}

/* In the order in which they came: what stands later may lean on what stands earlier. */
static void drop(struct guard *g, struct gn_kept *item)
{
    close_file(&item->file);
    memmove(item, item + 1, (size_t)(g->items + --g->count - item) * sizeof *item);
}

static void keep(struct guard *g, const struct gn_kept *item, int file)
{
    struct gn_kept *known = find(g, item);
    if (!known && !item->forget)
        known = add(g, item);
    if (!known || item->forget) {
        close_file(&file);
        if (known)
            drop(g, known);
        return;
    }
    int before = known->file;
    *known = *item;
    known->file = file >= 0 ? file : before;
    if (file >= 0)
        close_file(&before);
}

/* Nobody may wait for the end of what we have open. */
static void let_go(struct guard *g)
{
    while (g->count)
        close_file(&g->items[--g->count].file);
    for (size_t i = 0; i < sizeof g->held / sizeof g->held[0]; i++)
        close_file(&g->held[i]);
    g->over = true;
}

static void take(struct guard *g, const struct gn_kept *item, int file)
{
    if (item->kind == GN_KEPT_SETTLED)
        close_file(&g->held[0]);
    keep(g, item, file);
    if (item->kind == GN_KEPT_OVER)
        let_go(g);
}

/* False: nobody is at the other end. */
static bool receive(struct guard *g, int channel)
{
    struct gn_kept item;
    ssize_t bytes;
    int file;
    do
        bytes = gn_channel_take(channel, &item, sizeof item, &file);
    while (bytes == -EINTR);
    if (bytes != sizeof item) {
        close_file(&file);
        return false;
    }
    take(g, &item, file);
    return true;
}

/* ---- the agent ---- */

static void inherit(int file)
{
    if (file >= 0)
        fcntl(file, F_SETFD, 0);
}

/* -1: there is nothing that another agent has left. */
static int write_items(const struct guard *g)
{
    int file = g->count ? memfd_create("gnomon-kept", MFD_CLOEXEC) : -1;
    size_t bytes = g->count * sizeof *g->items;
    if (file >= 0 && write(file, g->items, bytes) != (ssize_t)bytes)
        close_file(&file);
    return file;
}

static _Noreturn void become_agent(const struct guard *g, int channel)
{
    char order[16], to_guard[16], kept[16];
    int items = write_items(g);
    setsid(); /* what is sent to the one's process group leaves the other alone */
    for (size_t i = 0; i < g->count; i++)
        inherit(g->items[i].file);
    for (size_t i = 0; i < sizeof g->held / sizeof g->held[0]; i++)
        inherit(g->held[i]);
    inherit(g->order);
    inherit(channel);
    inherit(items);
    if (getenv("GNOMON_TEST_PRELOAD"))
        setenv("LD_PRELOAD", getenv("GNOMON_TEST_PRELOAD"), 1);
    snprintf(order, sizeof order, "%d", g->order);
    snprintf(to_guard, sizeof to_guard, "%d", channel);
    snprintf(kept, sizeof kept, "%d", items);
    char *words[] = {"gnomon", "agent", order, to_guard, kept, NULL};
    execv(g->executable, words);
    _exit(0); /* there is nothing to start again */
}

/* Its end of the channel; negative: it cannot be started. */
static int start_agent(const struct guard *g, pid_t *agent)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -errno;
    *agent = fork();
    if (*agent == 0)
        become_agent(g, ends[1]);
    close(ends[1]);
    if (*agent > 0)
        return ends[0];
    close(ends[0]);
    return -EAGAIN;
}

/* Whether the agent has ended by itself. */
static bool watch_agent(struct guard *g)
{
    pid_t agent = -1;
    int status = 0, channel = start_agent(g, &agent);
    if (channel < 0)
        return true;
    while (receive(g, channel))
        ;
    close(channel);
    while (waitpid(agent, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void read_order(struct guard *g)
{
    static struct gn_agent_order order;
    if (pread(g->order, &order, sizeof order, 0) != (ssize_t)sizeof order ||
        order.magic != GN_AGENT_ORDER_MAGIC)
        _exit(0);
    const int held[] = {order.listener, order.launcher_error, order.launcher_handle};
    memcpy(g->held, held, sizeof held);
    fcntl(g->order, F_SETFD, FD_CLOEXEC);
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
        if (held[i] >= 0)
            fcntl(held[i], F_SETFD, FD_CLOEXEC);
}

_Noreturn void gn_guard_run(const char *executable, int order)
{
    struct guard g = {.executable = executable, .order = order};
    struct rlimit files;
    prctl(PR_SET_NAME, "gnomon-guard");
    signal(SIGCHLD, SIG_DFL);                    /* ignored, it would leave nothing to wait for */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) { /* a few descriptors per rank */
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    read_order(&g);
    for (int starts = 0; starts < MOST_STARTS && !g.over; starts++)
        if (watch_agent(&g))
            break;
    _exit(0);
}

/* ---- the agent's side ---- */

void gn_guard_keep(int *channel, const struct gn_kept *item, int file)
{
    if (*channel >= 0 && gn_channel_pass(*channel, item, sizeof *item, file) != 0) {
        close(*channel);
        *channel = -1;
    }
}
