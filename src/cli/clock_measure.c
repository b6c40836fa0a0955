#include "cli/clock_measure.h"

#include "cli/find.h"
#include "cli/start.h"
#include "agent/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PIPE_BYTES = 16384, /* what the agent writes: messages, then a zero byte and the run's folder */
    MOST_KEPT = 200000  /* exchanges one by one */
};

void gn_clock_measure_forget(const char *folder)
{
    static const char *const names[] = {"profile.db", "config"};
    char path[4400];
    gn_folder_remove_parts(folder); /* of hosts that did not meet: they say nothing together, either */
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

static bool tell(const char *folder, int descriptor)
{
    size_t bytes = strlen(folder);
    return write(descriptor, "", 1) == 1 && write(descriptor, folder, bytes) == (ssize_t)bytes;
}

void gn_clock_measure_tell(sqlite3 *profile, const char *folder, int descriptor)
{
    (void)profile;
    if (folder && !tell(folder, descriptor)) /* interrupted */
        gn_clock_measure_forget(folder);
}

void gn_clock_measure_tell_kept(sqlite3 *profile, const char *folder, int descriptor)
{
    (void)profile;
    if (folder)
        tell(folder, descriptor);
}

static _Noreturn void become_waiting(const struct gn_job *job, const struct gn_clock_measuring *m, int output,
                                     pid_t parent)
{
    char self[4096], seconds[32], config[1024];
    struct gn_error err;
    if (gn_find_self(self, sizeof self) != 0)
        self[0] = '\0';
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* launchers end the process that they have started */
    if (getppid() != parent)
        _exit(1);
    snprintf(seconds, sizeof seconds, "%.9f", m->seconds);
    snprintf(config, sizeof config, "gnomon %s\ncommand gnomon clock --seconds %g\njob %.500s\n",
             GNOMON_VERSION, m->seconds, job->key);
    struct gn_agent_settings settings = {.command = "gnomon clock",
                                         .program = "clock",
                                         .locations = 8,
                                         .output = output,
                                         .exchange = {.keep = m->exchanges ? MOST_KEPT : 0},
                                         .config = config,
                                         .report = m->keep ? GN_REPORT_FOLDER_KEPT : GN_REPORT_FOLDER};
    dup2(STDERR_FILENO, STDOUT_FILENO); /* the report's, and no MPI library's */
    if (gn_start_measured(job, &settings, NULL, NULL, &err) != 0) {
        fprintf(stderr, "gnomon clock: %s\n", err.text);
        _exit(1);
    }
    char *words[] = {self, "clock-wait", seconds, (char *)m->mpi, NULL};
    execv(self, words);
    fprintf(stderr, "gnomon clock: cannot run %s: %s\n", self, strerror(errno));
    _exit(2);
}

/* All that the agent writes until it is gone. */
static size_t read_all(int input, char *text, size_t size)
{
    size_t used = 0;
    while (used < size) {
        ssize_t bytes = read(input, text + used, size - used);
        if (bytes == 0 || (bytes < 0 && errno != EINTR))
            break;
        used += bytes > 0 ? (size_t)bytes : 0;
    }
    return used;
}

static int end_of(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int gn_clock_measure(const struct gn_job *job, const struct gn_clock_measuring *measuring, char *folder,
                     size_t size, struct gn_error *err)
{
    char text[PIPE_BYTES + 1];
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return gn_fail(err, -errno, "cannot make a pipe: %s", strerror(errno));
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        become_waiting(job, measuring, ends[1], parent);
    close(ends[1]);
    size_t bytes = child > 0 ? read_all(ends[0], text, PIPE_BYTES) : 0;
    close(ends[0]);
    int ended = child > 0 ? end_of(child) : -EAGAIN;
    text[bytes] = '\0';
    if (ended != 0)
        return gn_fail(err, -ECANCELED, "nothing was measured");
    fputs(text, stderr);
    size_t messages = strlen(text);
    if (messages == bytes)
        return 0;
    snprintf(folder, size, "%s", text + messages + 1);
    return 1;
}
