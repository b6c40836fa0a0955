#include "agent/sample_threads.h"

#include "base/grow.h"
#include "base/mix.h"
#include "agent/process_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    LOOK_NS = 1000000000, /* at the latest */
    MOST_NEW = 64,        /* threads that are taken at one look */
    MOST_THREADS = 1024,
    A_TENTH = 10,
    ORDER_OF_CALLERS = 5, /* 128 KiB: some 30 samples */
    ORDER_OF_OTHERS = 3
};

static void close_thread(struct gn_sample_threads *t, size_t i)
{
    gn_sample_metrics_close(&t->metrics, t->items[i].of_metrics);
    gn_sample_event_close(&t->items[i].event);
    t->items[i] = t->items[--t->count];
}

/* Threads without a location, each of which does a tenth of what the one does that does most. */
static void count_helpers(struct gn_sample_threads *t)
{
    uint64_t most = 0;
    uint32_t count = 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->items[i].location == GN_SAMPLE_NO_LOCATION && t->items[i].samples > most)
            most = t->items[i].samples;
    for (size_t i = 0; i < t->count && most > 0; i++)
        count += t->items[i].location == GN_SAMPLE_NO_LOCATION && t->items[i].samples > most / A_TENTH;
    t->helpers = count > t->helpers ? count : t->helpers;
}

void gn_sample_threads_close(struct gn_sample_threads *t)
{
    count_helpers(t);
    while (t->count > 0)
        close_thread(t, t->count - 1);
    free(t->items);
    t->items = NULL;
    t->room = 0;
}

void gn_sample_threads_refuse(struct gn_sample_threads *t, const char *what, int code)
{
    t->refused = true;
    snprintf(t->reason, sizeof t->reason, "%s: %s", what, strerror(code));
}

void gn_sample_threads_refuse_event(struct gn_sample_threads *t, int code)
{
    char text[32] = "";
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (!file || !fgets(text, sizeof text, file))
        text[0] = '\0';
    if (file)
        fclose(file);
    text[strcspn(text, "\n")] = '\0';
    t->refused = true;
    snprintf(t->reason, sizeof t->reason, "the kernel refuses perf_event_open: %s%s%s", strerror(-code),
             text[0] ? "; kernel.perf_event_paranoid is " : "", text);
}

static void say_why(struct gn_sample_threads *t, int code)
{
    if (t->reason[0] || code == -ESRCH)
        return;
    if (code == -EACCES || code == -EPERM || code == -ENOSYS || code == -ENOENT || code == -EOPNOTSUPP)
        gn_sample_threads_refuse_event(t, code);
    else
        snprintf(t->reason, sizeof t->reason, "not all threads were sampled: %s",
                 code == -ENOBUFS ? "no more memory may be locked (ulimit -l)" : strerror(-code));
}

/* Each thread has a period of its own, a little off the others': nothing that a program does in step with the
 * clock stays hidden behind it. */
static uint64_t jittered(uint64_t period_ns, int tid)
{
    return (uint64_t)((double)period_ns * (0.9 + 0.2 * gn_mix_unit(gn_mix((uint64_t)tid ^ period_ns << 20))));
}

void gn_sample_threads_pace(struct gn_sample_threads *t, uint64_t period_ns)
{
    for (size_t i = 0; i < t->count; i++)
        gn_sample_event_pace(&t->items[i].event, jittered(period_ns, t->items[i].tid));
}

static void open_thread(struct gn_sample_threads *t, int tid, uint64_t period_ns)
{
    struct gn_sample_thread fresh = {.tid = tid, .location = GN_SAMPLE_NO_LOCATION, .there = true};
    int code = t->count < MOST_THREADS && gn_grow(&t->items, &t->room, t->count, sizeof *t->items) ? -ENOBUFS
                                                                                                   : -ENOMEM;
    for (unsigned order = (tid == t->pid ? ORDER_OF_CALLERS : ORDER_OF_OTHERS) + 1;
         code == -ENOBUFS && order-- > 0;)
        code = gn_sample_event_open(&fresh.event, tid, NULL, t->with_kernel, jittered(period_ns, tid), order);
    gn_sample_metrics_begin(fresh.of_metrics);
    if (code == 0)
        t->items[t->count++] = fresh;
    else
        say_why(t, code);
}

uint64_t gn_sample_threads_total(struct gn_sample_threads *t, uint32_t metric)
{
    uint64_t total = t->metrics.items[metric].total;
    for (size_t i = 0; i < t->count; i++)
        gn_sample_metrics_add(&t->metrics, metric, &t->items[i].of_metrics[metric], &total);
    return total;
}

void gn_sample_threads_count(struct gn_sample_threads *t, uint32_t metrics, uint64_t now_ns)
{
    gn_sample_metrics_change(&t->metrics, metrics);
    for (size_t i = 0; i < t->count; i++)
        gn_sample_metrics_open(&t->metrics, t->items[i].of_metrics, t->items[i].tid, false, now_ns);
}

static struct gn_sample_thread *find(struct gn_sample_threads *t, int tid)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->items[i].tid == tid)
            return &t->items[i];
    return NULL;
}

static void take_list(struct gn_sample_threads *t, DIR *tasks, uint64_t period_ns)
{
    int fresh = 0;
    for (struct dirent *entry; (entry = readdir(tasks)) && !t->refused;) {
        const int tid = atoi(entry->d_name);
        struct gn_sample_thread *known = tid > 0 ? find(t, tid) : NULL;
        if (known)
            known->there = true;
        else if (tid > 0 && fresh++ < MOST_NEW)
            open_thread(t, tid, period_ns);
    }
    if (fresh > MOST_NEW)
        t->links = 0; /* the others next time */
}

void gn_sample_threads_look(struct gn_sample_threads *t, uint64_t now_ns, uint64_t period_ns)
{
    char path[64];
    struct stat info;
    snprintf(path, sizeof path, "/proc/%d/task", t->pid);
    if (t->refused || stat(path, &info) != 0 ||
        ((unsigned long)info.st_nlink == t->links && now_ns - t->looked_ns < LOOK_NS))
        return;
    DIR *tasks = opendir(path);
    if (!tasks)
        return;
    const bool is_first = t->looked_ns == 0;
    t->links = info.st_nlink;
    t->looked_ns = now_ns;
    count_helpers(t);
    for (size_t i = 0; i < t->count; i++)
        t->items[i].there = false;
    take_list(t, tasks, period_ns);
    closedir(tasks);
    for (uint32_t m = 0; m < t->metrics.count;
         m++) /* those of the first look that were left for the next one */
        t->metrics.items[m].is_whole &= !is_first || t->links > 0;
    for (size_t i = 0; i < t->count; i++) { /* memory that may be locked is for samples of time first */
        gn_sample_metrics_open(&t->metrics, t->items[i].of_metrics, t->items[i].tid, is_first, now_ns);
    }
    for (size_t i = t->count; i-- > 0;)
        if (!t->items[i].there)
            close_thread(t, i);
}
