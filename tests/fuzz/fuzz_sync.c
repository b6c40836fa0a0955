/*
 * Broken archives repaired (packed_main.c), by one process and by three: no input may crash that, or make it
 * run for ever or take much memory. An error has a text, and leaves nothing; what was written is the same
 * bytes by any number of processes; its times do not go back, and it satisfies the clock condition as far as
 * the verifier can tell.
 */
#include "cli/asked_bounds.h"
#include "packed_archive.h"
#include "repair/sync.h"
#include "threads_transport.h"
#include "trace/copy_file.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANKS = 3, LONGEST_S = 60 };

static void must(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "\n%s\n", what);
    abort();
}

/* ---- the same bytes ---- */

static const char *compared_with;
static size_t compared_from;

static size_t contents(const char *path, uint8_t **bytes)
{
    FILE *file = fopen(path, "rb");
    struct stat is;
    must(file && fstat(fileno(file), &is) == 0, "a file that the other archive has is missing");
    *bytes = malloc((size_t)is.st_size + 1);
    must(*bytes && fread(*bytes, 1, (size_t)is.st_size, file) == (size_t)is.st_size, "a file is unreadable");
    fclose(file);
    return (size_t)is.st_size;
}

static int compare(const char *path, const struct stat *is, int kind, struct FTW *where)
{
    (void)is, (void)where;
    char other[PATH_MAX];
    uint8_t *ours, *theirs;
    if (kind != FTW_F)
        return 0;
    snprintf(other, sizeof other, "%s%s", compared_with, path + compared_from);
    const size_t size = contents(path, &ours);
    must(contents(other, &theirs) == size && memcmp(ours, theirs, size) == 0,
         "several processes write other bytes than one");
    free(ours);
    free(theirs);
    return 0;
}

/* ---- repairs ---- */

struct task {
    struct gn_sync_settings settings;
    struct gn_transport transport;
    struct gn_sync_report report;
    struct gn_error err;
    struct gn_asked_bounds asked;
    int code;
};

static void *work(void *argument)
{
    struct task *task = argument;
    task->settings.transport = &task->transport;
    task->settings.bounds = gn_asked_bounds(&task->asked, task->settings.trace);
    task->code = gn_sync(&task->settings, &task->report, &task->err);
    return NULL;
}

static void by_several(const struct gn_sync_settings *settings, const char *out)
{
    struct threads_world *world = threads_world_new(RANKS);
    struct task tasks[RANKS];
    pthread_t threads[RANKS];
    for (uint32_t i = 0; i < RANKS; i++) {
        tasks[i] = (struct task){.settings = *settings, .transport = threads_transport(world, i)};
        tasks[i].settings.out = out;
        must(pthread_create(&threads[i], NULL, work, &tasks[i]) == 0, "no thread");
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        pthread_join(threads[i], NULL);
        must(tasks[i].code == 0, "one process can, and several cannot");
        gn_sync_report_clear(&tasks[i].report);
        gn_asked_bounds_clear(&tasks[i].asked);
    }
    threads_world_free(world);
}

static void check_result(const struct gn_sync_report *report)
{
    const struct gn_condition *found = &report->condition;
    must(report->written >= report->events.events, "events were lost");
    must(report->is_unchanged || found->backward == 0, "a location goes back in time");
    must(report->is_unchanged || report->repair.after.cut > 0 ||
             (found->messages.violating == 0 && found->collectives.violating == 0),
         "the clock condition is violated");
}

static void check(const char *folder, const struct gn_sync_settings *settings)
{
    char out[64], again[64], unfinished[80];
    snprintf(out, sizeof out, "%s.out", folder);
    snprintf(again, sizeof again, "%s.again", folder);
    snprintf(unfinished, sizeof unfinished, "%s.unfinished", out);
    struct task task = {.settings = *settings, .transport = gn_transport_alone()};
    task.settings.out = out;
    work(&task);
    must(task.code == 0 || task.err.text[0], "an error without a text");
    must((task.code == 0) == (access(out, F_OK) == 0), "an archive after an error, or none without");
    must(access(unfinished, F_OK) != 0, "something unfinished is left");
    if (task.code == 0) {
        check_result(&task.report);
        by_several(&task.settings, again);
        compared_with = again;
        compared_from = strlen(out);
        nftw(out, compare, 8, FTW_PHYS);
        compared_with = out;
        compared_from = strlen(again);
        nftw(again, compare, 8, FTW_PHYS);
        gn_sync_report_clear(&task.report);
    }
    gn_asked_bounds_clear(&task.asked);
    task.transport.close(task.transport.self);
    gn_remove_tree(out, NULL);
    gn_remove_tree(again, NULL);
}

void packed_target(const char *folder)
{
    static const struct {
        enum gn_sync_presync presync;
        double slope;
        struct gn_latency_spec latency;
    } ways[] = {{GN_SYNC_NONE, 0.01, {.kind = GN_LATENCY_AUTO}},
                {GN_SYNC_AUTO, 0, {.kind = GN_LATENCY_TIME, .time_ns = 1500}},
                {GN_SYNC_LINEAR, 0.005, {.kind = GN_LATENCY_AUTO}},
                {GN_SYNC_BOUNDS, 0.005, {.kind = GN_LATENCY_AUTO}}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const struct gn_sync_settings settings = {.trace = folder,
                                                  .presync = ways[i].presync,
                                                  .gamma = i ? 0 : 0.99,
                                                  .slope = ways[i].slope,
                                                  .longest_ns = 100e6,
                                                  .latency = ways[i].latency,
                                                  .verify = true,
                                                  .keeps_going = true};
        alarm(LONGEST_S); /* whatever takes longer hangs */
        check(folder, &settings);
        alarm(0);
    }
}
