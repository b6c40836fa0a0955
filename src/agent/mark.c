#include "agent/mark.h"

#include "capture/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BOOT_BYTES = 64, NEXT_SIGN_SECONDS = 5 };

/* Tells this boot of this machine from all others; empty where there is no /proc. */
static void read_boot(char boot[BOOT_BYTES])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    boot[0] = '\0';
    if (file && fgets(boot, BOOT_BYTES, file))
        boot[strcspn(boot, "\n")] = '\0';
    if (file)
        fclose(file);
}

void gn_mark_write(const char *path, const struct gn_agent_mark *mark)
{
    char boot[BOOT_BYTES], made[4600];
    snprintf(made, sizeof made, "%.4590s.new", path); /* who reads it has one or the other */
    FILE *file = fopen(made, "we");
    if (!file)
        return;
    read_boot(boot);
    fprintf(file, "state %s\nagent %d\nsocket %s\n", mark->state, mark->agent, mark->socket);
    if (mark->guard)
        fprintf(file, "guard %d\n", mark->guard);
    if (boot[0])
        fprintf(file, "boot %s\n", boot);
    fprintf(file, "windows %s\nsample %s\nmetric %s\n", mark->windows, mark->sample, mark->metric);
    if (fclose(file) != 0 || rename(made, path) != 0)
        unlink(made);
}

bool gn_mark_read(const char *path, struct gn_mark_seen *seen)
{
    char line[256];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    *seen = (struct gn_mark_seen){.agent = 0};
    while (file && fgets(line, sizeof line, file)) {
        sscanf(line, "agent %d", &seen->agent);
        sscanf(line, "guard %d", &seen->guard);
        sscanf(line, "socket %63s", seen->socket);
        sscanf(line, "boot %63s", seen->boot);
        sscanf(line, "windows %159[^\n]", seen->windows);
        sscanf(line, "sample %159[^\n]", seen->sample);
        sscanf(line, "metric %159[^\n]", seen->metric);
    }
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    return file != NULL;
}

/* One that has ended and that nobody has waited for is none. */
static bool is_process(int pid)
{
    struct pollfd handle = {.fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1, .events = POLLIN};
    bool lives = handle.fd >= 0 && poll(&handle, 1, 0) == 0;
    if (handle.fd >= 0)
        close(handle.fd);
    return lives;
}

/* Seconds; none when the mark is gone. */
static double age_of(const char *path)
{
    struct stat info;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return stat(path, &info) == 0 ? (double)(now.tv_sec - info.st_mtim.tv_sec) +
                                        1e-9 * (double)(now.tv_nsec - info.st_mtim.tv_nsec)
                                  : GN_MARK_STALE_SECONDS;
}

/* In a container of this machine processes and sockets may not be seen: there, signs of life tell. */
bool gn_mark_is_alive(const char *path)
{
    struct gn_mark_seen seen;
    char boot[BOOT_BYTES];
    if (!gn_mark_read(path, &seen))
        return false;
    read_boot(boot);
    if (age_of(path) >= GN_MARK_STALE_SECONDS)
        return false;
    if (seen.socket[0] && gn_channel_is_there(seen.socket))
        return true;
    if (!boot[0] || strcmp(boot, seen.boot) != 0 || is_process(seen.agent) || is_process(seen.guard))
        return true;
    for (int tenths = 0; tenths < 10 * NEXT_SIGN_SECONDS && age_of(path) < NEXT_SIGN_SECONDS; tenths++)
        usleep(100000);
    return age_of(path) < NEXT_SIGN_SECONDS;
}
