#include "agent/running.h"

#include "agent/mark.h"
#include "agent/parts.h"
#include "capture/channel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIPE_BYTES = 1 << 20, ASK_TIMES = 50 };

/* A connection to the agent of a run; -ENOENT: none answers. */
static int connect_to_run(const char *run)
{
    char path[4200], mark[4600];
    struct gn_mark_seen seen;
    int connection = -ENOENT;
    snprintf(path, sizeof path, "%s/parts", run);
    DIR *parts = opendir(path);
    for (struct dirent *entry; parts && connection < 0 && (entry = readdir(parts));) {
        snprintf(mark, sizeof mark, "%s/%s", path, entry->d_name);
        if (gn_part_has_ending(entry->d_name, ".open") && gn_mark_read(mark, &seen) && seen.socket[0])
            connection = gn_channel_connect(seen.socket, GN_CHANNEL_PATIENCE_MS, NULL);
    }
    if (parts)
        closedir(parts);
    return connection >= 0 ? connection : -ENOENT;
}

static bool is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

/* When a run's folder was last added to, where its agent answers; else 0. */
static struct timespec running_since(const char *run)
{
    struct stat info;
    int connection = connect_to_run(run);
    if (connection >= 0)
        close(connection);
    return connection >= 0 && stat(run, &info) == 0 ? info.st_mtim : (struct timespec){0, 0};
}

int gn_running_newest(const char *where, char *path, size_t size, struct gn_error *err)
{
    char run[4200];
    struct timespec best = {0, 0};
    DIR *here = opendir(where);
    for (struct dirent *entry; here && (entry = readdir(here));) {
        struct timespec since = {0, 0};
        snprintf(run, sizeof run, "%s/%s", where, entry->d_name);
        if (strncmp(entry->d_name, "gnomon-", strlen("gnomon-")) == 0)
            since = running_since(run);
        if (is_later(since, best)) {
            best = since;
            snprintf(path, size, "%s", run);
        }
    }
    if (here)
        closedir(here);
    return best.tv_sec
               ? 0
               : gn_fail(err, -ENOENT,
                         "nothing runs here: there is no run folder (gnomon-…) in %s of a program that goes "
                         "on; start one with `mpirun -n 4 gnomon run --trace ./app`, or name its folder",
                         where);
}

/* One question and its answer. */
static int ask(const char *run, int writing_end, struct gn_message *reply)
{
    const struct gn_message request = {
        .magic = GN_PROTOCOL_MAGIC, .version = GN_PROTOCOL_VERSION, .kind = GN_STREAM, .pid = (int)getpid()};
    int descriptor = -1, connection = connect_to_run(run);
    if (connection < 0)
        return connection;
    int code = gn_channel_send(connection, &request, writing_end);
    if (code == 0)
        code = gn_channel_receive(connection, reply, &descriptor);
    close(connection);
    if (descriptor >= 0)
        close(descriptor);
    return code != 0 ? code : reply->status;
}

/* A program that has only just called MPI_Init has no trace yet. */
static int ask_patiently(const char *run, int writing_end, struct gn_message *reply)
{
    int code = -EAGAIN;
    for (int times = 0; times < ASK_TIMES && code == -EAGAIN; times++) {
        if (times > 0)
            usleep(20000);
        code = ask(run, writing_end, reply);
    }
    return code;
}

static int explain(const char *run, int code, const struct gn_message *reply, struct gn_error *err)
{
    if (code == -ENOENT || code == -ECONNRESET)
        return gn_fail(err, -ENOENT,
                       "%s is not the folder of a program that runs on this host; when it has ended, `gnomon "
                       "order %s` orders its trace",
                       run, run);
    return gn_fail(err, code, "cannot watch %s: %s", run, reply->text[0] ? reply->text : strerror(-code));
}

int gn_running_stream(const char *run, struct gn_error *err)
{
    struct gn_message reply = {.text = ""};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return gn_fail(err, -errno, "cannot make a pipe: %s", strerror(errno));
    fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES); /* where it may be as much */
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    int code = ask_patiently(run, ends[1], &reply);
    close(ends[1]);
    if (code == 0)
        return ends[0];
    close(ends[0]);
    return explain(run, code, &reply, err);
}
