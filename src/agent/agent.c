#include "agent/agent.h"

#include "capture/channel.h"
#include "agent/enlist.h"
#include "agent/finish.h"
#include "agent/launch.h"
#include "agent/guard.h"
#include "agent/keep.h"
#include "agent/resources.h"
#include "agent/watched.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LINGER_MS = 2000,
    HEARTBEAT_MS = 2000,
    WANTED_MS = 300, /* between two looks at what somebody wants */
    FIRST_CHECKPOINT_MS = 500,
    MOST_CHECKPOINT_MS = 60000, /* between two: from the first on it doubles */
    CHECKPOINT_SHARE = 50,      /* but no more than a fiftieth of a core */
    LOOK_MS = 100               /* whether all are alive: an end is known to that */
};

/* Set by SIGTERM, which batch systems send ahead of the kill. */
static volatile sig_atomic_t save_now;

static void on_terminate(int signal_number)
{
    (void)signal_number;
    save_now = 1;
}

/* For so long after an end it is looked whether others are ending, too: a launcher may have taken one down
 * for another that still is. */
static const uint64_t DYING_NS = 2000000000;

struct agent {
    const struct gn_job *job;
    const struct gn_agent_settings *settings;
    int listener;
    int guard;              /* the channel to it, -1: it is gone */
    struct gn_keep_run run; /* as it is kept */
    struct gn_watched_list watched;
    struct gn_finish finish;
    struct gn_host_clock clock;
    struct gn_course course;
    char host[64];
    int enlisted;
    bool have_folder;
    uint64_t idle_since;                              /* ns; when the last watched process ended */
    uint64_t ended_at;                                /* ns; when one of them did; 0: none has */
    uint64_t last_heartbeat, looked, next_checkpoint; /* ns; checkpoints begin with the folder */
    uint64_t checkpoint_ns;                           /* from one to the next */
    struct timespec asked;                            /* when somebody wanted one last */
    uint64_t next_asked;                              /* ns: not answered earlier, whoever asks how often */
    struct gn_resources_pace resources;
};

/* ---- requests ---- */

static void begin_checkpoints(struct agent *a)
{
    a->checkpoint_ns = FIRST_CHECKPOINT_MS * 1000000ull;
    a->next_checkpoint = gn_monotonic_ns() + a->checkpoint_ns;
}

/* Ahead of the report, for what its reader should not learn at the run's end. Never waited for. */
static void tell(const struct agent *a, const char *text)
{
    for (size_t i = 0; i < a->watched.count; i++) {
        struct pollfd output = {.fd = a->watched.items[i].error_output, .events = POLLOUT};
        if (output.fd >= 0 && poll(&output, 1, 0) == 1 && output.revents == POLLOUT) {
            dprintf(output.fd, "gnomon: %s\n", text);
            return;
        }
    }
}

static void open_folder(struct agent *a)
{
    struct gn_folder *folder = &a->run.folder;
    if (a->have_folder)
        return;
    struct gn_error err;
    a->have_folder = true;
    if (a->settings->into) {
        snprintf(folder->path, sizeof folder->path, "%s", a->settings->into);
        folder->shared = a->job->several;
    } else if (gn_folder_open(folder, a->settings->where, a->settings->program, a->job->hash, a->job->several,
                              &err) != 0) {
        folder->path[0] = '\0';
    }
    if (folder->trouble[0])
        tell(a, folder->trouble);
    gn_keep_run(&a->guard, &a->run);
    if (folder->path[0])
        gn_finish_announce(&a->finish, "running");
    begin_checkpoints(a);
}

/* The report needs one standard error, the lowest rank's. A launcher waits for the end of all of them. */
static void close_output(struct agent *a, struct gn_watched *w)
{
    if (w->error_output < 0)
        return;
    gn_keep_no_output(&a->guard, &a->watched, w);
    close(w->error_output);
    w->error_output = -1;
}

static void keep_one_output(struct agent *a)
{
    struct gn_watched_list *list = &a->watched;
    struct gn_watched *lowest = NULL;
    for (size_t i = 0; i < list->count; i++) {
        struct gn_watched *w = &list->items[i], *other = w;
        if (w->error_output < 0)
            continue;
        if (!lowest || w->rank < lowest->rank) {
            other = lowest;
            lowest = w;
        }
        if (other)
            close_output(a, other);
    }
}

/* It is one more than the launcher said, and what it writes to may end long before the run. */
static void spawned(struct agent *a, struct gn_watched *w, int spawner)
{
    if (!w->enlisted && a->run.expected > 0) {
        a->run.expected++;
        gn_keep_run(&a->guard, &a->run);
    }
    w->spawner = spawner;
    if (w->error_output >= 0)
        close(w->error_output);
    w->error_output = -1;
}

static void hello_run(struct agent *a, const struct gn_message *hello, int pid, int error_output,
                      struct gn_message *reply)
{
    struct gn_watched *w = gn_watched_add(&a->watched, pid);
    if (!w) {
        reply->status = -ESRCH;
        snprintf(reply->text, sizeof reply->text, "process %d cannot be watched", pid);
        if (error_output >= 0)
            close(error_output);
        return;
    }
    if (w->error_output >= 0)
        close(w->error_output);
    w->error_output = error_output;
    if (hello->status > 0)
        spawned(a, w, hello->status);
    a->enlisted += !w->enlisted; /* it asks again where an agent has died before it answered */
    w->enlisted = true;
    w->rank = hello->rank;
    gn_launches_of(pid, w->launches);
    gn_keep_process(&a->guard, &a->watched, w);
    if (w->error_output >= 0)
        gn_keep_file(&a->guard, GN_KEPT_OUTPUT, &a->watched, w, w->error_output);
    keep_one_output(a);
}

static void look_up(struct agent *a, const struct gn_watched *w)
{
    if (!a->finish.look_up)
        a->finish.look_up = gn_look_up_begin();
    gn_look_up_watch(a->finish.look_up, w->segment);
}

/* An agent has died before it could answer. */
static bool asks_again(const struct gn_watched *w)
{
    return w->segment && GN_GET(w->segment->state) == GN_STATE_EMPTY;
}

/* As many threads as the process has addresses for. */
static uint32_t locations_within(const struct agent *a, int32_t mib)
{
    const uint32_t locations = mib > 0 ? gn_tag_locations((size_t)mib << 20) : a->settings->locations;
    return locations == 0 ? 1 : locations < a->settings->locations ? locations : a->settings->locations;
}

static int new_segment(struct agent *a, struct gn_watched *w, int32_t mib)
{
    int code = gn_watched_make_segment(w, locations_within(a, mib));
    if (code != 0)
        return code;
    gn_host_clock_watch(&a->clock, w->pid, &w->core_group);
    look_up(a, w);
    const struct gn_watched *ancestor = gn_watched_ancestor(&a->watched, w->pid);
    if (ancestor) {
        w->of = (int)(ancestor - a->watched.items);
        w->rank = ancestor->rank;
        gn_keep_process(&a->guard, &a->watched, w);
    }
    gn_keep_file(&a->guard, GN_KEPT_SEGMENT, &a->watched, w, w->segment_file);
    return 0;
}

static int hello_rank(struct agent *a, const struct gn_message *hello, int pid, struct gn_message *reply)
{
    struct gn_watched *w = gn_watched_add(&a->watched, pid);
    if (!w || (w->segment && !asks_again(w))) { /* gone already, or asking twice */
        reply->status = -EALREADY;
        return -1;
    }
    gn_launches_of(pid, w->launches); /* a script may have started it through a launcher of its own */
    struct gn_watched *ancestor = gn_watched_ancestor(&a->watched, pid);
    if (ancestor && ancestor != w)
        w->spawner = ancestor->spawner;
    gn_keep_process(&a->guard, &a->watched, w); /* each, in the list's order */
    reply->status = w->segment ? 0 : new_segment(a, w, hello->status);
    if (reply->status != 0) {
        snprintf(reply->text, sizeof reply->text, "%s", strerror(-reply->status));
        return -1;
    }
    open_folder(a);
    if (a->job->several && a->run.folder.path[0]) {
        gn_host_clock_open(&a->clock, &a->settings->exchange);
        reply->rank = 1;
    }
    snprintf(reply->text, sizeof reply->text, "%.500s", a->run.folder.path);
    return w->segment_file;
}

/* The program that was enlisted answers for what it starts. */
static void not_measured(struct agent *a, int pid, const char *why)
{
    struct gn_watched *w = gn_watched_ancestor(&a->watched, pid);
    if (!w)
        return;
    snprintf(w->unmeasured, sizeof w->unmeasured, "%.299s", why);
    gn_keep_process(&a->guard, &a->watched, w);
}

/* Of the job's own world only: not of another one that a rank started. */
static int meet(struct agent *a, const struct gn_message *request, int pid, struct gn_message *reply)
{
    struct gn_watched *w = gn_watched_find(&a->watched, pid);
    int lowest = request->rank;
    for (size_t i = 0; i < a->watched.count; i++)
        if (a->watched.items[i].enlisted && !a->watched.items[i].spawner && a->watched.items[i].rank >= 0 &&
            a->watched.items[i].rank < lowest)
            lowest = a->watched.items[i].rank;
    bool ours =
        w && w->segment && !w->spawner && w->rank == request->rank && request->status == a->job->world;
    int sheet = ours ? gn_host_clock_sheet(&a->clock, a->job->world, a->enlisted, lowest) : -ENOTSUP;
    reply->status = sheet < 0 ? sheet : 0;
    if (sheet >= 0) {
        a->run.asked = true;
        gn_keep_run(&a->guard, &a->run);
    }
    snprintf(reply->text, sizeof reply->text, "%.500s", a->run.folder.path);
    return sheet;
}

static struct gn_trace_place place_of_trace(const struct agent *a)
{
    const bool several = a->run.folder.shared;
    return (struct gn_trace_place){a->run.folder.path, a->host, several, several ? a->clock.exchanges : NULL};
}

/* The first process that asks begins the trace. Why there is none is told in the report. */
static int open_trace(struct agent *a)
{
    struct gn_finish *f = &a->finish;
    const bool in_windows = a->settings->trace.windows_rate > 0;
    if (a->settings->trace.ring_records == 0 ||
        (in_windows && a->run.folder.shared && !a->clock.exchanges)) /* windows of hosts would not meet */
        return -ENOENT;
    if (f->trace || f->no_trace.text[0])
        return f->trace ? 0 : -ENOENT;
    if (!a->run.folder.path[0])
        return gn_fail(&f->no_trace, -ENOENT, "there is no folder to write it in");
    struct gn_trace_settings settings = a->settings->trace;
    if (a->clock.exchanges)
        settings.hz = gn_exchanges_endpoint(a->clock.exchanges)->hz;
    const struct gn_trace_place place = place_of_trace(a);
    int code = gn_trace_part_open(&f->trace, &place, &settings, &f->no_trace);
    if (code == 0)
        gn_guard_keep(&a->guard, &(struct gn_kept){.kind = GN_KEPT_TRACE}, gn_trace_part_state(f->trace));
    return code;
}

/* A trace is of what was started together with the process that began it: other worlds' ranks have the same
 * numbers. */
static bool is_of_trace(const struct agent *a, const struct gn_watched *w)
{
    for (size_t i = 0; i < a->watched.count; i++) {
        const struct gn_watched *first = &a->watched.items[i];
        if (!first->traced)
            continue;
        for (size_t k = 0; k < GN_LAUNCHES; k++)
            if (memcmp(first->launches[k].group, w->launches[k].group, GN_GROUP_BYTES) != 0)
                return false;
        return true;
    }
    return true;
}

static int new_rings(struct agent *a, struct gn_watched *w)
{
    int file = open_trace(a);
    if (file == 0)
        file = is_of_trace(a, w) ? gn_trace_part_add(a->finish.trace, w) : -ENOTSUP;
    w->traced = file >= 0;
    if (file < 0)
        file = gn_watched_make_rings(w);
    if (file >= 0) {
        gn_keep_process(&a->guard, &a->watched, w);
        gn_keep_file(&a->guard, GN_KEPT_RINGS, &a->watched, w, file);
    }
    return file;
}

/* Times of samples say something on the agent's own counter only. */
static void sample(struct agent *a, const struct gn_watched *w, bool again)
{
    const struct gn_recorded recorded = {w->segment, w->rings.segment,
                                         gn_tag_locations(w->segment_bytes) < w->rings.locations
                                             ? gn_tag_locations(w->segment_bytes)
                                             : w->rings.locations,
                                         w->rings.ring_records};
    if (a->settings->sample.hz == 0 || !w->recorded || a->clock.groups.group_count > 1)
        return;
    if (!a->finish.sampler)
        a->finish.sampler = gn_sampler_begin(&a->settings->sample);
    gn_sampler_watch(a->finish.sampler, w->pid, &recorded, again);
}

/* Every process gets a recorder; one that is traced, a larger one which is drained. */
static int hello_trace(struct agent *a, int pid, struct gn_message *reply)
{
    struct gn_watched *w = gn_watched_find(&a->watched, pid);
    if (!w || !w->segment || (w->recorded && !asks_again(w))) {
        reply->status = -EALREADY;
        return -1;
    }
    const bool known = w->recorded;
    int answer = known ? dup(w->rings_file) : new_rings(a, w);
    if (answer >= 0 && !known)
        sample(a, w, false);
    if (!w->traced)
        snprintf(reply->text, sizeof reply->text, "%.500s",
                 a->finish.trace && !is_of_trace(a, w) ? "the trace is of another world than its own"
                                                       : a->finish.no_trace.text);
    reply->status = answer < 0 ? answer : 0;
    return answer;
}

static int attach(struct agent *a, int index, struct gn_message *reply)
{
    for (size_t i = 0; i < a->watched.count; i++)
        if (a->watched.items[i].segment && index-- == 0) {
            /* a second description of the same file, which its reader cannot write through */
            char path[64];
            snprintf(path, sizeof path, "/proc/self/fd/%d", a->watched.items[i].segment_file);
            int file = open(path, O_RDONLY | O_CLOEXEC);
            reply->status = file < 0 ? -errno : 0;
            return file;
        }
    reply->status = -ENOENT;
    return -1;
}

/* True: the descriptor is the trace's now. */
static bool show(struct agent *a, int descriptor, struct gn_message *reply)
{
    const char *refused = NULL;
    if (a->settings->trace.ring_records == 0 || a->settings->trace.windows_rate > 0)
        refused = "the run is not traced: its events are kept with `gnomon run --trace`";
    else if (a->run.folder.shared) /* streams of several hosts do not share their numbers */
        refused = "the run is on several hosts: their events can be ordered when it has ended";
    else if (a->finish.no_trace.text[0])
        refused = a->finish.no_trace.text;
    reply->status = refused ? -ENOTSUP : !a->finish.trace ? -EAGAIN : 0;
    if (reply->status == 0)
        reply->status = gn_trace_part_show(a->finish.trace, descriptor);
    if (reply->status == -EBUSY)
        refused = "the run has as many readers as it can have";
    if (reply->status != 0)
        snprintf(reply->text, sizeof reply->text, "%.500s", refused ? refused : strerror(-reply->status));
    return reply->status == 0;
}

static void serve(struct agent *a, int connection)
{
    struct gn_message request,
        reply = {.magic = GN_PROTOCOL_MAGIC, .version = GN_PROTOCOL_VERSION, .kind = GN_REPLY};
    struct gn_channel_peer peer;
    int descriptor = -1, answer = -1;
    reply.agent_pid = (int)getpid();
    if (gn_channel_peer(connection, &peer) != 0 || gn_channel_receive(connection, &request, &descriptor) != 0)
        return;
    bool own_answer = false;
    if (request.kind == GN_HELLO_RUN) {
        hello_run(a, &request, peer.pid, descriptor, &reply);
        descriptor = -1;
    } else if (request.kind == GN_HELLO_RANK) {
        answer = hello_rank(a, &request, peer.pid, &reply);
    } else if (request.kind == GN_HELLO_TRACE) {
        answer = hello_trace(a, peer.pid, &reply);
        own_answer = true;
    } else if (request.kind == GN_ATTACH) {
        answer = attach(a, request.rank, &reply);
        own_answer = true;
    } else if (request.kind == GN_MEET) {
        answer = meet(a, &request, peer.pid, &reply);
        own_answer = true;
    } else if (request.kind == GN_MET) {
        gn_host_clock_met(&a->clock, request.rank, request.text);
        if (request.status == 1 && a->run.expected == 0) { /* those who have come are all */
            a->run.expected = a->enlisted;
            gn_keep_run(&a->guard, &a->run);
        }
    } else if (request.kind == GN_UNMEASURED) {
        not_measured(a, peer.pid, request.text);
    } else if (request.kind == GN_STREAM) {
        if (show(a, descriptor, &reply))
            descriptor = -1;
    } else {
        reply.status = -EPROTO;
    }
    gn_channel_send(connection, &reply, answer);
    if (descriptor >= 0)
        close(descriptor);
    if (own_answer && answer >= 0)
        close(answer);
}

static void accept_all(struct agent *a)
{
    for (;;) {
        int connection = accept4(a->listener, NULL, NULL, SOCK_CLOEXEC);
        if (connection < 0)
            return;
        struct timeval patience = {.tv_sec = 1};
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        serve(a, connection);
        close(connection);
    }
}

/* ---- watching ---- */

static size_t running(const struct agent *a)
{
    size_t count = 0;
    for (size_t i = 0; i < a->watched.count; i++)
        count += a->watched.items[i].handle >= 0;
    return count;
}

/* All have ended, and none can still be on its way: as many came as the launcher said, or none for a while.
 */
static bool is_over(struct agent *a)
{
    if (a->enlisted == 0 || running(a) > 0) {
        a->idle_since = 0;
        return false;
    }
    if (a->run.expected > 0 && a->enlisted >= a->run.expected)
        return true;
    if (a->idle_since == 0)
        a->idle_since = gn_monotonic_ns();
    return gn_monotonic_ns() - a->idle_since > LINGER_MS * 1000000ull;
}

/* After a bad end the launcher takes the other ranks down, and the order in which it sees them end can decide
 * the job's exit status: it must see the ends of their outputs when it would without us. The report then goes
 * to the launcher's own standard error. */
static void ended(struct agent *a, struct gn_watched *w)
{
    bool well = w->segment ? GN_GET(w->segment->finalized_ticks) != 0 : true;
    gn_watched_ended(w);
    gn_sampler_ended(a->finish.sampler, w->pid);
    if (w->core_group > 0)
        w->end_ticks = gn_host_clock_now(&a->clock, w->core_group);
    gn_keep_process(&a->guard, &a->watched, w);
    if (w->traced && a->finish.trace)
        gn_trace_part_ended(a->finish.trace, w->pid);
    if (well || a->finish.launcher_error < 0)
        return;
    for (size_t i = 0; i < a->watched.count; i++)
        close_output(a, &a->watched.items[i]);
}

/* Whether nothing has happened all that time. */
static bool wait_for_events(struct agent *a, int timeout_ms)
{
    size_t count = a->watched.count + 1, used = 1;
    struct pollfd *events = calloc(count, sizeof *events);
    size_t *owner = calloc(count, sizeof *owner);
    if (!events || !owner) {
        free(events);
        free(owner);
        usleep(10000);
        return false;
    }
    events[0] = (struct pollfd){.fd = a->listener, .events = POLLIN};
    for (size_t i = 0; i < a->watched.count; i++)
        if (a->watched.items[i].handle >= 0) {
            events[used] = (struct pollfd){.fd = a->watched.items[i].handle, .events = POLLIN};
            owner[used++] = i;
        }
    /* First a look without waiting: who is not among those that it finds was alive when it began. So one that
     * ended in an earlier round than another surely ended earlier. */
    const uint64_t before = gn_ticks();
    const bool others_ended = a->ended_at && gn_monotonic_ns() - a->ended_at < DYING_NS;
    int ready = poll(events, used, 0);
    for (size_t i = 1; ready >= 0 && i < used; i++)
        if (!events[i].revents && !(others_ended && gn_watched_is_dying(&a->watched.items[owner[i]])))
            a->watched.items[owner[i]].alive_ticks = before;
    if (ready == 0)
        ready = poll(events, used, timeout_ms);
    const uint64_t seen = gn_ticks();
    for (size_t i = 1; ready > 0 && i < used; i++)
        if (events[i].revents) {
            a->watched.items[owner[i]].seen_ticks = seen;
            a->ended_at = gn_monotonic_ns();
            ended(a, &a->watched.items[owner[i]]);
        }
    if (ready > 0 && events[0].revents)
        accept_all(a);
    free(events);
    free(owner);
    return ready == 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Soon at first, when all may be lost with a short run; the next one after as long as the run has lasted. */
static void schedule_checkpoint(struct agent *a, uint64_t took_ns, uint64_t cpu_ns)
{
    const uint64_t most = MOST_CHECKPOINT_MS * 1000000ull;
    a->checkpoint_ns = a->checkpoint_ns * 2 < most ? a->checkpoint_ns * 2 : most;
    a->next_asked = gn_monotonic_ns() + larger(took_ns, cpu_ns * CHECKPOINT_SHARE);
    a->next_checkpoint = larger(gn_monotonic_ns() + a->checkpoint_ns, a->next_asked);
}

/* Whether somebody wants to know (agent/peek.h): once for each time that the file was touched. */
static bool is_asked(struct agent *a, uint64_t now_ns)
{
    char path[4200];
    struct stat info;
    if (now_ns < a->next_asked)
        return false;
    snprintf(path, sizeof path, "%s/parts/asked", a->run.folder.path);
    if (stat(path, &info) != 0 ||
        (info.st_mtim.tv_sec == a->asked.tv_sec && info.st_mtim.tv_nsec == a->asked.tv_nsec))
        return false;
    a->asked = info.st_mtim;
    return true;
}

/* Signs of life, and what is measured so far. */
static void keep_folder(struct agent *a, uint64_t now_ns)
{
    if (!a->run.folder.path[0])
        return;
    if (now_ns - a->last_heartbeat > HEARTBEAT_MS * 1000000ull) {
        gn_finish_heartbeat(&a->finish);
        for (size_t i = 0; i < a->watched.count; i++)
            if (a->watched.items[i].handle >= 0 && a->watched.items[i].segment)
                gn_host_clock_watch(&a->clock, a->watched.items[i].pid, &a->watched.items[i].core_group);
        a->last_heartbeat = now_ns;
    }
    if (now_ns - a->looked > WANTED_MS * 1000000ull) {
        gn_finish_look_for_changes(&a->finish);
        a->looked = now_ns;
    }
    if (save_now || now_ns >= a->next_checkpoint || is_asked(a, now_ns)) {
        const uint64_t cpu_ns = gn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        save_now = 0;
        gn_finish_checkpoint(&a->finish);
        schedule_checkpoint(a, gn_monotonic_ns() - now_ns, gn_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns);
    }
}

static void watch(struct agent *a)
{
    uint64_t started = gn_monotonic_ns();
    a->last_heartbeat = started;
    while (!is_over(a)) {
        const int next_ms = (int)(gn_course_wait_ns(&a->course, gn_monotonic_ns()) / 1000000),
                  longest_ms = a->idle_since ? 50 : LOOK_MS;
        const bool was_quiet = wait_for_events(a, a->enlisted && next_ms < longest_ms ? next_ms : longest_ms);
        if (was_quiet && a->run.expected > 0 && a->enlisted >= a->run.expected)
            gn_host_clock_measure(&a->clock); /* it takes a core, which ranks need less while they start */
        if (a->enlisted && gn_course_wait_ns(&a->course, gn_monotonic_ns()) < 1000000)
            gn_course_look(&a->course, &a->watched, &a->clock, a->finish.sampler);
        gn_watched_read_resources(&a->watched, &a->resources);
        keep_folder(a, gn_monotonic_ns());
        if (a->enlisted == 0 && gn_monotonic_ns() - started > 10000000000ull)
            return; /* whoever started us never came */
    }
}

/* ---- becoming the agent ---- */

static void name_host(const struct gn_job *job, char *host, size_t size)
{
    if (job->host[0]) {
        snprintf(host, size, "%s", job->host);
        return;
    }
    struct utsname system; /* gethostname fails when all 64 bytes of a name do not fit */
    snprintf(host, size, "%.63s", uname(&system) == 0 ? system.nodename : "unknown");
    for (char *c = host; *c; c++)
        if (*c == '/')
            *c = '_';
}

/* Where another agent has died. */
static void go_on(struct agent *a, int kept, struct gn_kept_state *state)
{
    gn_keep_read(kept, a->settings->trace.ring_records, &a->watched, state);
    if (state->have_run)
        a->run = state->run;
    a->have_folder = state->have_run;
    for (size_t i = 0; i < a->watched.count; i++) {
        const struct gn_watched *w = &a->watched.items[i];
        a->enlisted += w->enlisted;
        if (w->segment)
            look_up(a, w);
        if (w->segment && w->handle >= 0)
            sample(a, w, true);
    }
    if (a->run.asked)
        gn_fail(&a->clock.problem, 0,
                "its agent was ended and another one went on, which the other hosts do not know");
    else if (a->job->several && a->run.folder.path[0])
        gn_host_clock_open(&a->clock, &a->settings->exchange);
    if (state->saved) /* all that is left is to tell of it: nothing may be begun again over what is whole */
        return;
    const struct gn_trace_place place = place_of_trace(a);
    if (state->trace_file >= 0)
        gn_trace_part_go_on(&a->finish.trace, state->trace_file, &place, &a->settings->trace, &a->watched,
                            &a->finish.no_trace);
    if (a->run.folder.path[0])
        gn_finish_announce(&a->finish, state->settled ? "finishing" : "running");
    begin_checkpoints(a);
}

/* What start_agent in enlist.c left: the parts of the environment that a new program gets afresh. */
static _Noreturn void be_agent(const struct gn_agent_order *order, const struct gn_agent_settings *settings,
                               int guard, int kept, gn_agent_report *report)
{
    static struct agent a;
    umask(077); /* what is measured is nobody else's; and files can be read by us whatever the user's says */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, on_terminate);
    signal(SIGXFSZ, SIG_IGN); /* a trace that grows beyond `ulimit -f` gets an error */
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) { /* a few descriptors per rank */
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    a.job = &order->job;
    a.settings = settings;
    a.listener = order->listener;
    a.guard = guard;
    if (guard >= 0) /* one that is stopped must not stop us */
        setsockopt(guard, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){.tv_sec = 1}, sizeof(struct timeval));
    name_host(a.job, a.host, sizeof a.host);
    a.clock = (struct gn_host_clock){.host = a.host};
    if (a.job->several || (settings->trace.ring_records && settings->trace.windows_rate <= 0))
        gn_host_clock_begin(&a.clock);
    a.run = (struct gn_keep_run){
        .first_moment = gn_moment_now(), .started = time(NULL), .expected = order->job.local_count};
    a.finish = (struct gn_finish){.settings = settings,
                                  .report = report,
                                  .job = a.job,
                                  .watched = &a.watched,
                                  .folder = &a.run.folder,
                                  .clock = &a.clock,
                                  .guard = &a.guard,
                                  .course = &a.course,
                                  .guard_pid = guard >= 0 ? (int)getppid() : 0,
                                  .host = a.host,
                                  .launcher_error = order->launcher_error,
                                  .launcher_handle = order->launcher_handle};
    struct gn_kept_state state = {.trace_file = -1};
    if (kept >= 0)
        go_on(&a, kept, &state);
    a.clock.first_ticks = a.run.first_moment.ticks;
    a.finish.first_moment = a.run.first_moment;
    a.finish.started = a.run.started;
    if (!state.settled)
        watch(&a);
    if (settings->link)
        unlink(settings->link);
    gn_job_remove_activities(&order->job);
    gn_keep_mark(&a.guard, GN_KEPT_SETTLED);
    if (!state.settled)
        close(a.listener); /* a new job with the same name gets a new agent */
    if (state.saved)
        gn_finish_tell(&a.finish);
    else
        gn_finish(&a.finish);
    gn_finish_readers(&a.finish);
    _exit(0);
}

int gn_agent_run(int file, int guard, int kept, gn_agent_report *const reports[GN_AGENT_REPORTS])
{
    static struct gn_agent_order order;
    static struct gn_agent_settings settings;
    ssize_t bytes = pread(file, &order, sizeof order, 0);
    if (bytes != sizeof order || order.magic != GN_AGENT_ORDER_MAGIC || order.report >= GN_AGENT_REPORTS)
        return -EPROTO;
    close(file);
    settings = (struct gn_agent_settings){.command = order.command,
                                          .program = order.program,
                                          .into = order.into[0] ? order.into : NULL,
                                          .link = order.link[0] ? order.link : NULL,
                                          .where = order.where,
                                          .quiet = order.quiet,
                                          .locations = order.locations,
                                          .trace = order.trace,
                                          .sample = order.sample,
                                          .exchange = order.exchange,
                                          .config = order.config};
    const int given[] = {order.listener, order.launcher_error, order.launcher_handle, guard, kept};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        if (given[i] >= 0)
            fcntl(given[i], F_SETFD, FD_CLOEXEC);
    be_agent(&order, &settings, guard, kept, reports[order.report]);
}
