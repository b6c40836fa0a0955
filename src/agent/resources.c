#include "agent/resources.h"

#include "agent/core_files.h"
#include "agent/process_files.h"
#include "base/grow.h"
#include "clock/ticks.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "Name:   value" in a file of such lines; -1: it is not there. */
static int64_t number_of(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            return (int64_t)strtoll(line + length + 1, NULL, 10);
    return -1;
}

static void keep_number(int64_t *kept, const char *text, const char *name, int64_t unit)
{
    const int64_t number = number_of(text, name);
    if (number >= 0)
        *kept = number * unit;
}

/* "Cpus_allowed_list:\t0-3,8" */
static void read_cores(struct gn_resources *r, const char *status)
{
    static const char name[] = "\nCpus_allowed_list:";
    const char *list = strstr(status, name);
    if (!list)
        return;
    list += strlen(name);
    list += strspn(list, " \t");
    snprintf(r->cores, sizeof r->cores, "%.*s", (int)strcspn(list, "\n"), list);
}

static void read_status(struct gn_resources *r, int pid)
{
    char text[8192];
    if (!gn_process_file(pid, "status", text, sizeof text))
        return;
    read_cores(r, text);
    if (number_of(text, "VmHWM") < 0) /* it has ended: its memory is gone */
        return;
    keep_number(&r->told.peak_bytes, text, "VmHWM", 1024);
    r->read_at_ns = gn_monotonic_ns();
}

static void read_files(struct gn_resources *r, int pid)
{
    char text[1024];
    if (!gn_process_file(pid, "io", text, sizeof text))
        return;
    keep_number(&r->told.read_bytes, text, "rchar", 1);
    keep_number(&r->told.written_bytes, text, "wchar", 1);
    keep_number(&r->told.storage_read_bytes, text, "read_bytes", 1);
    keep_number(&r->told.storage_written_bytes, text, "write_bytes", 1);
}

/* ---- waiting for a core ---- */

static struct gn_thread_wait *wait_of(struct gn_resources *r, int thread)
{
    for (size_t i = 0; i < r->wait_count; i++)
        if (r->waits[i].thread == thread)
            return &r->waits[i];
    if (!gn_grow(&r->waits, &r->wait_capacity, r->wait_count, sizeof *r->waits))
        return NULL;
    r->waits[r->wait_count] = (struct gn_thread_wait){.thread = thread};
    return &r->waits[r->wait_count++];
}

static void read_thread(struct gn_resources *r, int pid, const char *thread)
{
    char name[64], text[128];
    uint64_t ns;
    snprintf(name, sizeof name, "task/%.20s/schedstat", thread);
    if (!gn_process_file(pid, name, text, sizeof text) || sscanf(text, "%*u %" SCNu64, &ns) != 1)
        return;
    struct gn_thread_wait *wait = wait_of(r, atoi(thread));
    if (wait) {
        wait->ns = ns;
        wait->there = true;
    }
}

/* Those that were not found any more have ended. */
static void add_up_waits(struct gn_resources *r)
{
    size_t used = 0;
    uint64_t all = 0;
    for (size_t i = 0; i < r->wait_count; i++) {
        if (!r->waits[i].there) {
            r->gone_ns += r->waits[i].ns;
            continue;
        }
        all += r->waits[i].ns;
        r->waits[used] = r->waits[i];
        r->waits[used++].there = false;
    }
    r->wait_count = used;
    r->told.preempted_ns = (int64_t)(all + r->gone_ns);
}

static void read_waits(struct gn_resources *r, int pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    bool any = false;
    for (struct dirent *entry; threads && (entry = readdir(threads));)
        if (entry->d_name[0] != '.') {
            read_thread(r, pid, entry->d_name);
            any = true;
        }
    if (threads)
        closedir(threads);
    if (any && r->wait_count > 0)
        add_up_waits(r);
}

/* ---- cores that a control group gives ---- */

static double quota_of(const char *group)
{
    char path[4400];
    long long quota, period;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
    FILE *file = fopen(path, "re");
    const bool limited = file && fscanf(file, "%lld %lld", &quota, &period) == 2 && period > 0;
    if (file)
        fclose(file);
    return limited ? (double)quota / (double)period : INFINITY;
}

/* The least of its own group's and those around it. */
static void read_quota(struct gn_resources *r, int pid)
{
    char text[4096], *group = NULL;
    double least = INFINITY;
    gn_process_file(pid, "cgroup", text, sizeof text);
    for (char *line = strtok(text, "\n"); line && !group; line = strtok(NULL, "\n"))
        if (strncmp(line, "0::/", 4) == 0)
            group = line + 3;
    while (group && *group) {
        least = fmin(least, quota_of(strcmp(group, "/") == 0 ? "" : group));
        *strrchr(group, '/') = '\0';
    }
    r->told.cores_quota = isfinite(least) ? fmin(least, quota_of("")) : NAN;
}

/* ---- how fast its core runs, and where its memory is ---- */

static const char sys[] = "/sys";
/* Of more, walking through its page tables takes too long. */
#define MOST_BYTES (INT64_C(8) << 30)

static void add_mhz(double mhz, double *sum, int *count, double *mean)
{
    if (!isfinite(mhz))
        return;
    *sum += mhz;
    *mean = *sum / ++*count;
}

/* The kernel walks the process' page tables for it, and the process cannot map memory meanwhile: at growing
 * intervals, and for no more than a thousandth of the time. */
static void read_memory_nodes(struct gn_resources *r, int pid, int core)
{
    static const uint64_t first_ns = 1000000000;
    const uint64_t now_ns = gn_monotonic_ns();
    r->memory_next_ns = r->memory_next_ns ? r->memory_next_ns : now_ns + first_ns;
    const int node = now_ns < r->memory_next_ns ? -1 : gn_core_node(sys, core);
    if (node < 0)
        return;
    size_t bytes;
    char *maps = gn_memory_nodes(sys) > 1 ? gn_process_file_whole(pid, "numa_maps", &bytes) : NULL;
    if (maps && bytes > 0)
        gn_memory_apart(maps, node, &r->told.resident_bytes, &r->told.remote_bytes);
    free(maps);
    const uint64_t least_ns = (gn_monotonic_ns() - now_ns) * 1000;
    r->memory_between_ns = r->memory_between_ns ? r->memory_between_ns * 2 : first_ns;
    r->memory_next_ns = now_ns + (r->memory_between_ns > least_ns ? r->memory_between_ns : least_ns);
}

/* Of a core whose process waits nothing is learnt: it may be at rest. */
static void read_core(struct gn_resources *r, int pid)
{
    struct gn_process_stat stat;
    const uint64_t now_ns = gn_monotonic_ns();
    if (now_ns < r->core_next_ns || !gn_process_stat(pid, &stat) || stat.state != 'R' || stat.core < 0)
        return;
    /* some kernels ask the core, and wait for it */
    add_mhz(gn_core_mhz(sys, stat.core), &r->mhz_sum, &r->mhz_count, &r->told.core_mhz);
    r->core_next_ns = now_ns + (gn_monotonic_ns() - now_ns) * 1000;
    add_mhz(gn_core_most_mhz(sys, stat.core), &r->most_mhz_sum, &r->most_mhz_count, &r->told.core_most_mhz);
    if (r->told.peak_bytes < MOST_BYTES)
        read_memory_nodes(r, pid, stat.core);
}

/* ---- all of it ---- */

void gn_resources_read(struct gn_resources *r, int pid)
{
    if (!r)
        return;
    if (!r->told.cores) {
        r->told = (struct gn_graph_resource){.cores = r->cores,
                                             .peak_bytes = GN_GRAPH_UNKNOWN,
                                             .peak_age_ns = GN_GRAPH_UNKNOWN,
                                             .read_bytes = GN_GRAPH_UNKNOWN,
                                             .written_bytes = GN_GRAPH_UNKNOWN,
                                             .storage_read_bytes = GN_GRAPH_UNKNOWN,
                                             .storage_written_bytes = GN_GRAPH_UNKNOWN,
                                             .preempted_ns = GN_GRAPH_UNKNOWN,
                                             .core_mhz = NAN,
                                             .core_most_mhz = NAN,
                                             .resident_bytes = GN_GRAPH_UNKNOWN,
                                             .remote_bytes = GN_GRAPH_UNKNOWN};
        read_quota(r, pid);
    }
    read_status(r, pid);
    read_files(r, pid);
    read_waits(r, pid);
    read_core(r, pid);
}

const struct gn_graph_resource *gn_resources_told(struct gn_resources *r, uint64_t end_ns)
{
    if (!r || !r->told.cores)
        return NULL;
    if (r->read_at_ns)
        r->told.peak_age_ns = end_ns > r->read_at_ns ? (int64_t)(end_ns - r->read_at_ns) : 0;
    return &r->told;
}

void gn_resources_next(struct gn_resources_pace *pace, uint64_t started_ns, uint64_t now_ns)
{
    static const uint64_t first_ns = 20000000, most_ns = 1000000000;
    const uint64_t least_ns = (now_ns - started_ns) * 1000;
    pace->between_ns = pace->between_ns ? pace->between_ns * 2 : first_ns;
    pace->between_ns = pace->between_ns < most_ns ? pace->between_ns : most_ns;
    pace->next_ns = now_ns + (pace->between_ns > least_ns ? pace->between_ns : least_ns);
}
