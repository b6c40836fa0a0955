#include "agent/keep.h"

#include "agent/guard.h"
#include "agent/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const endings[] = {"running", "exit", "signal", "unknown"};
enum { ENDINGS = sizeof endings / sizeof endings[0] };

/* ---- keeping ---- */

static uint32_t number_of(const struct gn_watched_list *list, const struct gn_watched *w)
{
    return (uint32_t)(w - list->items);
}

/* A file of its own each time: what is kept is one version or the other. */
static void keep_bytes(int *guard, enum gn_kept_kind kind, uint32_t number, const void *bytes, size_t count)
{
    int file = *guard >= 0 ? memfd_create("gnomon-kept", MFD_CLOEXEC) : -1;
    if (file >= 0 && write(file, bytes, count) == (ssize_t)count)
        gn_guard_keep(guard, &(struct gn_kept){.kind = kind, .number = number}, file);
    if (file >= 0)
        close(file);
}

void gn_keep_run(int *guard, const struct gn_keep_run *run)
{
    keep_bytes(guard, GN_KEPT_RUN, 0, run, sizeof *run);
}

void gn_keep_process(int *guard, const struct gn_watched_list *list, const struct gn_watched *w)
{
    struct gn_kept item = {.kind = GN_KEPT_PROCESS,
                           .number = number_of(list, w),
                           .process = {.end_ticks = w->end_ticks,
                                       .alive_ticks = w->alive_ticks,
                                       .seen_ticks = w->seen_ticks,
                                       .pid = w->pid,
                                       .rank = w->rank,
                                       .core_group = w->core_group,
                                       .exit_status = w->exit_status,
                                       .spawner = w->spawner,
                                       .enlisted = w->enlisted,
                                       .of = w->of,
                                       .traced = w->traced}};
    while (item.process.how + 1 < ENDINGS && strcmp(endings[item.process.how], w->ended) != 0)
        item.process.how++;
    gn_guard_keep(guard, &item, w->handle);
    if (w->unmeasured[0])
        keep_bytes(guard, GN_KEPT_UNMEASURED, item.number, w->unmeasured, sizeof w->unmeasured);
}

void gn_keep_file(int *guard, enum gn_kept_kind kind, const struct gn_watched_list *list,
                  const struct gn_watched *w, int file)
{
    gn_guard_keep(guard, &(struct gn_kept){.kind = kind, .number = number_of(list, w)}, file);
}

void gn_keep_no_output(int *guard, const struct gn_watched_list *list, const struct gn_watched *w)
{
    gn_guard_keep(guard, &(struct gn_kept){.kind = GN_KEPT_OUTPUT, .number = number_of(list, w), .forget = 1},
                  -1);
}

void gn_keep_mark(int *guard, enum gn_kept_kind kind)
{
    gn_guard_keep(guard, &(struct gn_kept){.kind = kind}, -1);
}

/* ---- going on ---- */

static int take_run(struct gn_kept_state *state, int file)
{
    struct gn_keep_run *run = &state->run;
    if (pread(file, run, sizeof *run, 0) != (ssize_t)sizeof *run)
        return -EPROTO;
    run->folder.path[sizeof run->folder.path - 1] = '\0';
    run->folder.link[sizeof run->folder.link - 1] = '\0';
    state->have_run = true;
    close(file);
    return 0;
}

/* Numbers are those of the list: each process comes ahead of what is its own, and none is ever dropped. */
static int take_process(struct gn_watched_list *list, const struct gn_kept *item)
{
    const struct gn_kept_process *p = &item->process;
    if (item->number != list->count || p->how >= ENDINGS)
        return -EPROTO;
    struct gn_watched *w = gn_watched_again(list, p->pid, item->file);
    if (!w)
        return -ENOMEM;
    w->end_ticks = p->end_ticks;
    w->alive_ticks = p->alive_ticks;
    w->seen_ticks = p->seen_ticks;
    w->rank = p->rank;
    w->core_group = p->core_group;
    w->exit_status = p->exit_status;
    w->spawner = p->spawner;
    gn_launches_of(p->pid, w->launches);
    w->enlisted = p->enlisted;
    w->of = p->of;
    w->traced = p->traced;
    w->ended = endings[p->how];
    if (p->how > 0 && w->handle >= 0) {
        close(w->handle);
        w->handle = -1;
    }
    return 0;
}

/* What its launcher said stands there, too, if it has ended meanwhile. */
static int take_segment(struct gn_watched *w, int file)
{
    int code = gn_watched_map_segment(w, file);
    if (code == 0)
        memcpy(w->launches, w->segment->launches, sizeof w->launches);
    return code;
}

static int take_reason(struct gn_watched *w, int file)
{
    const bool whole = pread(file, w->unmeasured, sizeof w->unmeasured, 0) == (ssize_t)sizeof w->unmeasured;
    w->unmeasured[whole ? sizeof w->unmeasured - 1 : 0] = '\0';
    close(file);
    return whole ? 0 : -EPROTO;
}

static int take_item(struct gn_watched_list *list, struct gn_kept_state *state, const struct gn_kept *item,
                     uint32_t ring_records)
{
    struct gn_watched *w = item->number < list->count ? &list->items[item->number] : NULL;
    switch (item->kind) {
    case GN_KEPT_RUN:
        return take_run(state, item->file);
    case GN_KEPT_PROCESS:
        return take_process(list, item);
    case GN_KEPT_SEGMENT:
        return w ? take_segment(w, item->file) : -EPROTO;
    case GN_KEPT_RINGS:
        return w ? gn_watched_map_rings(w, w->traced ? ring_records : 0, item->file) : -EPROTO;
    case GN_KEPT_OUTPUT:
        if (w)
            w->error_output = item->file;
        return w ? 0 : -EPROTO;
    case GN_KEPT_UNMEASURED:
        return w ? take_reason(w, item->file) : -EPROTO;
    case GN_KEPT_TRACE:
        state->trace_file = item->file;
        return 0;
    case GN_KEPT_SETTLED:
        state->settled = true;
        return 0;
    case GN_KEPT_SAVED:
        state->saved = true;
        return 0;
    default:
        return -EPROTO;
    }
}

int gn_keep_read(int items, uint32_t ring_records, struct gn_watched_list *list, struct gn_kept_state *state)
{
    struct gn_kept item;
    int code = 0;
    *state = (struct gn_kept_state){.trace_file = -1};
    for (off_t at = 0; pread(items, &item, sizeof item, at) == (ssize_t)sizeof item; at += sizeof item) {
        if (item.file >= 0)
            fcntl(item.file, F_SETFD, FD_CLOEXEC);
        int taken = take_item(list, state, &item, ring_records);
        code = code == 0 ? taken : code;
    }
    close(items);
    return code;
}
