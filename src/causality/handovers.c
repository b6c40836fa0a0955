#include "causality/handovers.h"

#include "base/grow.h"
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* More of them in a process are of threads and locks that nothing else is recorded of: the oldest are told.
 */
enum { OPEN_MOST = 65536 };

struct handover {
    struct gn_key key;
    struct handover *next, *previous; /* of its process, the oldest first */
    struct gn_team_sync what;
    size_t capacity;
    struct gn_team_part *parts;
    bool is_passed; /* whoever has acquired the lock has released it again */
};

struct gn_handovers {
    const struct gn_teams_sink *sink;
    struct gn_map open;
    struct of_process {
        struct handover *first, *last;
        size_t count;
    } * processes;
    size_t process_count;
};

static struct of_process *know_process(struct gn_handovers *h, uint32_t process)
{
    const size_t count = process + (size_t)1;
    if (count > h->process_count) {
        struct of_process *all = reallocarray(h->processes, count, sizeof *all);
        if (!all)
            return NULL;
        memset(all + h->process_count, 0, (count - h->process_count) * sizeof *all);
        h->processes = all;
        h->process_count = count;
    }
    return &h->processes[process];
}

/* What of it has `name` in the process. */
static struct gn_key key_of(enum gn_team_sync_kind kind, uint64_t name, uint32_t process)
{
    return (struct gn_key){name, (uint64_t)kind << 32 | process};
}

static struct handover *find(struct gn_handovers *h, struct gn_key key, uint32_t *next)
{
    struct handover *one = gn_map_find(&h->open, key);
    struct of_process *of = one ? NULL : know_process(h, (uint32_t)key.b);
    if (!of || !(one = calloc(1, sizeof *one)))
        return one;
    const enum gn_team_sync_kind kind = (enum gn_team_sync_kind)(key.b >> 32);
    if (!gn_map_add(&h->open, key, one)) {
        free(one);
        return NULL;
    }
    one->key = key;
    one->what = (struct gn_team_sync){.kind = kind, .process = (uint32_t)key.b, .number = next[kind]++};
    one->previous = of->last;
    *(of->last ? &of->last->next : &of->first) = one;
    of->last = one;
    of->count++;
    return one;
}

static void drop(struct gn_handovers *h, struct handover *one)
{
    struct of_process *of = &h->processes[one->what.process];
    *(one->previous ? &one->previous->next : &of->first) = one->next;
    *(one->next ? &one->next->previous : &of->last) = one->previous;
    of->count--;
    gn_map_remove(&h->open, one->key);
    free(one->parts);
    free(one);
}

static int tell(struct gn_handovers *h, struct handover *one)
{
    int code = h->sink->synced(h->sink->self, &one->what);
    drop(h, one);
    return code;
}

/* By clocks that differ, what was before may come later. */
static int pass(struct gn_handovers *h, struct gn_key key)
{
    struct handover *one = gn_map_find(&h->open, key);
    if (!one)
        return 0;
    one->is_passed = true;
    return one->what.givers > 0 ? tell(h, one) : 0;
}

static int add(struct gn_handovers *h, struct gn_key key, const struct gn_event *event, bool gives,
               uint32_t *next)
{
    struct handover *one = find(h, key, next);
    if (!one || !gn_grow(&one->parts, &one->capacity, one->what.count, sizeof *one->parts))
        return -ENOMEM;
    errno = 0;
    void *token = h->sink->token ? h->sink->token(h->sink->self, event) : NULL;
    if (!token && h->sink->token)
        return errno ? -errno : -ENOMEM;
    one->parts[one->what.count++] = (struct gn_team_part){token, event->ticks, event->location, gives};
    one->what.parts = one->parts;
    one->what.givers += gives;
    int code = h->sink->added ? h->sink->added(h->sink->self, &one->what) : 0;
    const bool is_over =
        one->what.kind == GN_TEAM_LOCK ? one->is_passed && one->what.givers > 0 : one->what.count == 2;
    const struct of_process *of = &h->processes[one->what.process];
    if (code == 0 && is_over)
        code = tell(h, one);
    return code == 0 && of->count > OPEN_MOST ? tell(h, of->first) : code;
}

bool gn_handovers_wants(const struct gn_event *event)
{
    switch (event->kind) {
    case GN_EVENT_THREAD_CREATE:
    case GN_EVENT_THREAD_WAIT:
    case GN_EVENT_LOCK_ACQUIRE:
    case GN_EVENT_LOCK_RELEASE:
        return true;
    case GN_EVENT_THREAD_BEGIN:
    case GN_EVENT_THREAD_END:
        return event->comm == GN_NONE && event->request != 0;
    default:
        return false;
    }
}

int gn_handovers_event(struct gn_handovers *h, const struct gn_event *event, uint32_t process,
                       uint32_t next[GN_TEAM_SYNC_KINDS])
{
    const uint64_t name = event->request;
    const bool is_first = (uint32_t)name == 0; /* acquisition of a lock, which may be numbered from 0 */
    switch (event->kind) {
    case GN_EVENT_THREAD_CREATE:
    case GN_EVENT_THREAD_BEGIN:
        return add(h, key_of(GN_TEAM_CREATE, name, process), event, event->kind == GN_EVENT_THREAD_CREATE,
                   next);
    case GN_EVENT_THREAD_END:
    case GN_EVENT_THREAD_WAIT:
        return add(h, key_of(GN_TEAM_WAIT, name, process), event, event->kind == GN_EVENT_THREAD_END, next);
    case GN_EVENT_LOCK_ACQUIRE:
        return is_first ? 0 : add(h, key_of(GN_TEAM_LOCK, name - 1, process), event, false, next);
    case GN_EVENT_LOCK_RELEASE: {
        int code = is_first ? 0 : pass(h, key_of(GN_TEAM_LOCK, name - 1, process));
        return code ? code : add(h, key_of(GN_TEAM_LOCK, name, process), event, true, next);
    }
    default:
        return 0;
    }
}

int gn_handovers_close(struct gn_handovers *h, uint32_t process)
{
    int code = 0;
    while (process < h->process_count && h->processes[process].first) {
        int failed = tell(h, h->processes[process].first);
        code = code ? code : failed;
    }
    return code;
}

struct gn_handovers *gn_handovers_new(const struct gn_teams_sink *sink)
{
    struct gn_handovers *h = calloc(1, sizeof *h);
    if (h)
        h->sink = sink;
    return h;
}

void gn_handovers_free(struct gn_handovers *h)
{
    if (!h)
        return;
    for (size_t p = 0; p < h->process_count; p++)
        while (h->processes[p].first)
            drop(h, h->processes[p].first);
    free(h->processes);
    gn_map_clear(&h->open);
    free(h);
}
