#include "agent/running_hosts.h"

#include "agent/mark.h"
#include "agent/parts.h"
#include "base/grow.h"
#include "graph/metrics.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 5000, LOOK_MS = 20 };

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct gn_running_host *)a)->name, ((const struct gn_running_host *)b)->name);
}

static struct gn_live_rate measured_of(const char *text)
{
    static const char never[] = "never ";
    struct gn_live_rate m = {.never = strncmp(text, never, strlen(never)) == 0};
    if (m.never)
        snprintf(m.why, sizeof m.why, "%s", text + strlen(never));
    else
        m.rate = text[0] >= '0' && text[0] <= '9' ? strtod(text, NULL) : 0;
    return m;
}

/* Whether somebody is at work there. */
static bool read_host(struct gn_running_host *host, const char *parts, const char *mark)
{
    struct gn_mark_seen seen;
    char path[4600];
    snprintf(path, sizeof path, "%s/%s", parts, mark);
    if (!gn_mark_is_alive(path) || !gn_mark_read(path, &seen))
        return false;
    snprintf(host->name, sizeof host->name, "%.*s", (int)(strlen(mark) - strlen(".open")), mark);
    host->windows = measured_of(seen.windows);
    host->sample = measured_of(seen.sample);
    host->metrics = measured_of(seen.metric);
    sscanf(seen.metric, "%*u %u", &host->counted);
    return true;
}

int gn_running_hosts_read(struct gn_running_hosts *h, const char *folder, struct gn_error *err)
{
    char parts[4300];
    size_t room = 0;
    int code = 0;
    snprintf(parts, sizeof parts, "%.4100s/parts", folder);
    *h = (struct gn_running_hosts){.items = NULL};
    DIR *marks = opendir(parts);
    for (struct dirent *entry; marks && code == 0 && (entry = readdir(marks));) {
        if (!gn_part_has_ending(entry->d_name, ".open"))
            continue;
        if (gn_grow(&h->items, &room, h->count, sizeof *h->items))
            h->count += read_host(&h->items[h->count], parts, entry->d_name);
        else
            code = gn_fail(err, -ENOMEM, "no memory for the hosts of %s", folder);
    }
    if (marks)
        closedir(marks);
    if (h->count > 0)
        qsort(h->items, h->count, sizeof *h->items, by_name);
    else if (code == 0)
        code =
            gn_fail(err, -ENOENT,
                    "%s is no run that goes on: gnomon live is for those; start one with `mpirun -n 4 gnomon "
                    "run ./app`, or name its folder",
                    folder);
    return code;
}

void gn_running_hosts_clear(struct gn_running_hosts *h)
{
    free(h->items);
    *h = (struct gn_running_hosts){.items = NULL};
}

/* ---- something else ---- */

static bool is_so(const struct gn_live_rate *m, double rate)
{
    return !m->never && m->rate == rate;
}

static bool are_so(const struct gn_running_hosts *h, const struct gn_wanted *w)
{
    bool all = true;
    for (size_t i = 0; i < h->count; i++)
        all &= (!w->has_windows || is_so(&h->items[i].windows, w->windows_rate)) &&
               (!w->has_sample || is_so(&h->items[i].sample, w->sample_hz)) &&
               (!w->has_metrics || is_so(&h->items[i].metrics, w->metrics));
    return all;
}

/* NULL: all can. */
static const char *why_never(const struct gn_running_hosts *h, const struct gn_wanted *w)
{
    for (size_t i = 0; i < h->count; i++) {
        const struct gn_running_host *host = &h->items[i];
        if (w->has_windows && host->windows.never)
            return host->windows.why;
        if ((w->has_sample || w->has_metrics) && host->sample.never)
            return host->sample.why;
        if (w->has_metrics && __builtin_popcount(host->counted | w->metrics) > GN_METRICS_AT_A_TIME)
            return "a run counts no more than four different metrics";
    }
    return NULL;
}

int gn_running_hosts_change(struct gn_running_hosts *h, const char *folder, const struct gn_wanted *w,
                            struct gn_error *err)
{
    const char *why = why_never(h, w);
    if (why)
        return gn_fail(err, -ENOTSUP, "that cannot be had of %s: %s", folder, why);
    int code = gn_wanted_write(folder, w, err);
    for (int ms = 0; code == 0 && ms < PATIENCE_MS && !are_so(h, w); ms += LOOK_MS) {
        usleep(LOOK_MS * 1000);
        gn_running_hosts_clear(h);
        code = gn_running_hosts_read(h, folder, err);
    }
    if (code == 0 && !are_so(h, w))
        code =
            gn_fail(err, -ETIMEDOUT,
                    "not all hosts of %s have answered within %d s; they do it when they come to it: gnomon "
                    "live says what holds",
                    folder, PATIENCE_MS / 1000);
    return code;
}
