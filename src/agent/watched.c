#include "agent/watched.h"

#include "base/grow.h"
#include "agent/resources.h"
#include "clock/core_groups.h"
#include "clock/ticks.h"
#include "agent/process_files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct gn_watched *gn_watched_find(struct gn_watched_list *list, int pid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].pid == pid && list->items[i].handle >= 0)
            return &list->items[i];
    return NULL;
}

struct gn_watched *gn_watched_add(struct gn_watched_list *list, int pid)
{
    struct gn_watched *known = gn_watched_find(list, pid);
    if (known)
        return known;
    int handle = (int)syscall(SYS_pidfd_open, pid, 0);
    struct gn_watched *fresh = handle >= 0 ? gn_watched_again(list, pid, handle) : NULL;
    if (!fresh && handle >= 0)
        close(handle);
    return fresh;
}

struct gn_watched *gn_watched_again(struct gn_watched_list *list, int pid, int handle)
{
    if (!gn_grow(&list->items, &list->capacity, list->count, sizeof *list->items))
        return NULL;
    struct gn_watched *fresh = &list->items[list->count++];
    *fresh = (struct gn_watched){.pid = pid,
                                 .handle = handle,
                                 .resources = calloc(1, sizeof(struct gn_resources)),
                                 .core_group = GN_CORE_NOT_OURS,
                                 .of = -1,
                                 .rank = -1,
                                 .error_output = -1,
                                 .segment_file = -1,
                                 .rings_file = -1,
                                 .ended = "running",
                                 .exit_status = -1};
    return fresh;
}

void gn_watched_clear(struct gn_watched_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].resources)
            free(list->items[i].resources->waits);
        free(list->items[i].resources);
    }
    free(list->items);
    *list = (struct gn_watched_list){.items = NULL};
}

struct gn_watched *gn_watched_ancestor(struct gn_watched_list *list, int pid)
{
    for (int up = 0; up < 64 && pid > 1; up++, pid = gn_parent_of(pid)) {
        struct gn_watched *watched = gn_watched_find(list, pid);
        if (watched && watched->enlisted)
            return watched;
    }
    return NULL;
}

bool gn_watched_is_measured(const struct gn_watched *watched)
{
    return watched->segment && GN_GET(watched->segment->state) != GN_STATE_EMPTY;
}

bool gn_watched_is_covered(const struct gn_watched_list *list, const struct gn_watched *enlisted)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].of == (int)(enlisted - list->items) && gn_watched_is_measured(&list->items[i]))
            return true;
    return gn_watched_is_measured(enlisted);
}

int gn_watched_map_segment(struct gn_watched *watched, int file)
{
    struct stat info;
    if (fstat(file, &info) != 0 ||
        gn_tag_bytes(gn_tag_locations((size_t)info.st_size)) != (size_t)info.st_size)
        return -EPROTO;
    const size_t bytes = (size_t)info.st_size;
    void *segment = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (segment == MAP_FAILED)
        return -errno;
    watched->segment = segment;
    watched->segment_bytes = bytes;
    watched->segment_file = file;
    return 0;
}

int gn_watched_make_segment(struct gn_watched *watched, uint32_t locations)
{
    size_t bytes = gn_tag_bytes(locations);
    int file = memfd_create("gnomon", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return -errno;
    /* sealed: nobody can cut the file short under a mapping of ours */
    int code = ftruncate(file, (off_t)bytes) == 0 &&
                       fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0
                   ? gn_watched_map_segment(watched, file)
                   : -errno;
    if (code != 0) {
        close(file);
        return code;
    }
    struct gn_tag *segment = watched->segment;
    segment->version = GN_TAG_VERSION;
    segment->header_bytes = (uint32_t)sizeof *segment;
    segment->segment_bytes = bytes;
    segment->location_capacity = locations;
    segment->counter = gn_tick_source();
    segment->rank = -1;
    memcpy(segment->launches, watched->launches, sizeof segment->launches);
    segment->spawner = watched->spawner;
    segment->magic = GN_TAG_MAGIC;
    return 0;
}

enum { RECORDS = 2048 }; /* 64 KiB of each thread, where nobody drains them */

int gn_watched_make_rings(struct gn_watched *watched)
{
    int file;
    int code =
        gn_rings_make(&watched->rings, gn_tag_locations(watched->segment_bytes), RECORDS, false, &file);
    watched->recorded = code == 0;
    return code == 0 ? file : code;
}

int gn_watched_map_rings(struct gn_watched *watched, uint32_t ring_records, int file)
{
    int code = watched->segment ? gn_rings_map(&watched->rings, gn_tag_locations(watched->segment_bytes),
                                               ring_records ? ring_records : RECORDS, file)
                                : -EPROTO;
    watched->recorded = code == 0;
    watched->rings_file = file;
    return code;
}

/* What Linux 6.15 and later tell of a process by its handle; the headers of older systems lack it. */
struct pidfd_info_of_615 {
    uint64_t mask, cgroup;
    uint32_t pids_and_owners[11];
    int32_t exit_code; /* a wait status */
};
#define PIDFD_GET_INFO_OF_615 _IOWR(0xFF, 11, struct pidfd_info_of_615)
#define PIDFD_INFO_EXIT_OF_615 (UINT64_C(1) << 3)

static bool status_by_handle(int handle, int *status)
{
    struct pidfd_info_of_615 info = {.mask = PIDFD_INFO_EXIT_OF_615};
    if (ioctl(handle, PIDFD_GET_INFO_OF_615, &info) != 0 || !(info.mask & PIDFD_INFO_EXIT_OF_615))
        return false;
    *status = info.exit_code;
    return true;
}

static bool status_by_proc(int pid, int *status)
{
    struct gn_process_stat stat;
    if (!gn_process_stat(pid, &stat) || (stat.state != 'Z' && stat.state != 'X'))
        return false;
    *status = stat.wait_status;
    return true;
}

bool gn_watched_is_dying(const struct gn_watched *watched)
{
    enum { EXITING = 0x4, KILLED = 0x400 }; /* PF_EXITING, PF_SIGNALED of the kernel */
    struct gn_process_stat stat;
    return gn_process_stat(watched->pid, &stat) && (stat.flags & (EXITING | KILLED));
}

void gn_watched_read_cpu(struct gn_watched *watched)
{
    struct gn_process_stat stat;
    if (!watched->segment || GN_GET(watched->segment->state) == GN_STATE_EXITED ||
        !gn_process_stat(watched->pid, &stat))
        return;
    const uint64_t ns =
        (stat.user_ticks + stat.system_ticks) * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
    if (ns > GN_GET(watched->segment->cpu_ns)) /* which is finer, if it has been read at MPI_Finalize */
        GN_SET(watched->segment->cpu_ns, ns);
}

/* The wait status of a process that is not our child: /proc has it until its parent collects it, the handle
 * from then on. */
static void read_status(struct gn_watched *watched)
{
    int status = 0;
    watched->ended = "unknown";
    if (!status_by_proc(watched->pid, &status) && !status_by_handle(watched->handle, &status))
        return;
    watched->ended = WIFSIGNALED(status) ? "signal" : "exit";
    watched->exit_status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

void gn_watched_read_resources(struct gn_watched_list *list, struct gn_resources_pace *pace)
{
    const uint64_t now_ns = gn_monotonic_ns();
    if (now_ns < pace->next_ns)
        return;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].handle >= 0 && list->items[i].segment)
            gn_resources_read(list->items[i].resources, list->items[i].pid);
    gn_resources_next(pace, now_ns, gn_monotonic_ns());
}

void gn_watched_ended(struct gn_watched *watched)
{
    watched->end_ticks = gn_ticks();
    watched->end_ns = gn_monotonic_ns();
    gn_resources_read(watched->resources, watched->pid); /* its memory is gone, but not what it did */
    gn_watched_read_cpu(watched);                        /* before its parent has collected it */
    read_status(watched);
    /* an orderly end is known from the inside even when the status is gone */
    if (strcmp(watched->ended, "unknown") == 0 && watched->segment &&
        GN_GET(watched->segment->state) == GN_STATE_EXITED)
        watched->ended = "exit";
    close(watched->handle);
    watched->handle = -1;
}
