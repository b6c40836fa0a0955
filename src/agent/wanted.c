#include "agent/wanted.h"

#include "agent/order.h"
#include "graph/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4300 };

static int write_lines(const char *path, const struct gn_wanted *w)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    if (w->has_windows)
        dprintf(fd, "windows %.0f\n", w->windows_rate);
    if (w->has_sample)
        dprintf(fd, "sample %u\n", w->sample_hz);
    if (w->has_metrics)
        dprintf(fd, "metric %u\n", w->metrics);
    return close(fd) == 0 ? 0 : -errno;
}

int gn_wanted_write(const char *folder, const struct gn_wanted *wanted, struct gn_error *err)
{
    char path[PATH_BYTES], made[PATH_BYTES];
    struct gn_wanted_seen none = {.file = 0};
    struct gn_wanted all;
    gn_wanted_read(folder, &none, &all);
    if (wanted->has_windows) {
        all.has_windows = true;
        all.windows_rate = wanted->windows_rate;
    }
    if (wanted->has_sample) {
        all.has_sample = true;
        all.sample_hz = wanted->sample_hz;
    }
    if (wanted->has_metrics) {
        all.has_metrics = true;
        all.metrics = wanted->metrics;
    }
    snprintf(path, sizeof path, "%.4100s/parts/wanted", folder);
    snprintf(made, sizeof made, "%.4100s/parts/wanted.%d", folder, (int)getpid());
    int code = write_lines(made, &all);
    if (code == 0 && rename(made, path) != 0)
        code = -errno;
    if (code != 0)
        unlink(made);
    return code == 0 ? 0 : gn_fail(err, code, "cannot write %s: %s", path, strerror(-code));
}

static void read_line(const char *line, struct gn_wanted *w)
{
    double rate;
    unsigned hz, metrics;
    if (sscanf(line, "windows %lf", &rate) == 1 && rate >= 0 && rate <= GN_WINDOWS_MOST_RATE) {
        w->has_windows = true;
        w->windows_rate = rate;
    } else if (sscanf(line, "sample %u", &hz) == 1 && hz <= GN_SAMPLE_MOST_HZ) {
        w->has_sample = true;
        w->sample_hz = hz;
    } else if (sscanf(line, "metric %u", &metrics) == 1 &&
               __builtin_popcount(metrics) <= GN_METRICS_AT_A_TIME) {
        w->has_metrics = true;
        w->metrics = metrics;
    }
}

bool gn_wanted_read(const char *folder, struct gn_wanted_seen *seen, struct gn_wanted *wanted)
{
    char path[PATH_BYTES], line[128];
    struct stat info;
    snprintf(path, sizeof path, "%.4100s/parts/wanted", folder);
    *wanted = (struct gn_wanted){.has_windows = false};
    if (stat(path, &info) != 0 || (info.st_mtim.tv_sec == seen->time.tv_sec &&
                                   info.st_mtim.tv_nsec == seen->time.tv_nsec && info.st_ino == seen->file))
        return false;
    *seen = (struct gn_wanted_seen){info.st_mtim, info.st_ino};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    while (file && fgets(line, sizeof line, file))
        read_line(line, wanted);
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    return wanted->has_windows || wanted->has_sample || wanted->has_metrics;
}
