#include "causality/epochs.h"

#include "base/grow.h"
#include "calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where a message to each process of a group may be from. */
struct origin {
    uint32_t location;
    uint64_t ticks;
    void **tokens; /* [count] one a member, NULL as soon as it is told; NULL: none are wanted, or there is no
                      origin */
    uint32_t count;
};

/* An epoch that a process has started. */
struct epoch {
    uint32_t window, group; /* group: a communicator */
    uint64_t number;
    struct origin started;
};

struct process {
    struct epoch *open;
    size_t count, capacity;
    uint32_t last_location; /* of its own; GN_NONE: none is known */
    bool is_lost;           /* it cannot be told any more which epoch is which */
};

/* The call that a location is in. */
struct call {
    uint32_t activity, region; /* activity 0: none that matters here */
    uint32_t window, group;    /* of a wait: what its record has said; GN_NONE: nothing yet */
    uint64_t number;           /* likewise */
    bool is_alone;             /* of complete: one epoch is open, so it is that one */
    uint32_t next_location;    /* of the same process; GN_NONE: no further one */
    struct origin entered;     /* … then */
};

struct gn_epochs {
    const struct gn_definitions *definitions;
    struct gn_epochs_sink sink;
    struct call *calls; /* by location */
    struct process *processes;
    size_t call_count, process_count;
};

static struct process *process_of(const struct gn_epochs *e, uint32_t location)
{
    return &e->processes[e->definitions->locations[location].process];
}

/* ---- messages ---- */

static void drop(const struct gn_epochs *e, struct origin *origin)
{
    for (uint32_t i = 0; origin->tokens && e->sink.unused && i < origin->count; i++)
        if (origin->tokens[i])
            e->sink.unused(e->sink.self, origin->tokens[i]);
    free(origin->tokens);
    origin->tokens = NULL;
}

static int failed(void)
{
    return errno ? -errno : -ENOMEM;
}

static int make_origin(const struct gn_epochs *e, const struct gn_event *event, uint32_t group,
                       struct origin *origin)
{
    const uint32_t members = e->definitions->comms[group].member_count;
    *origin = (struct origin){.location = event->location, .ticks = event->ticks, .count = members};
    if (!e->sink.token)
        return 0;
    origin->tokens = calloc(members ? members : 1, sizeof *origin->tokens);
    if (!origin->tokens)
        return -ENOMEM;
    errno = 0;
    for (uint32_t i = 0; i < members; i++)
        if (!(origin->tokens[i] = e->sink.token(e->sink.self, event))) {
            const int code = failed();
            drop(e, origin);
            return code;
        }
    return 0;
}

/* With each process of the group. */
static int tell_of(const struct gn_epochs *e, int (*sink)(void *, const struct gn_epoch_half *),
                   uint32_t window, uint32_t group, uint64_t number, struct origin *at, bool is_send)
{
    const struct gn_definitions *d = e->definitions;
    const struct gn_comm_def *comm = &d->comms[group];
    const uint32_t here = d->locations[at->location].process;
    int code = 0;
    for (uint32_t i = 0; i < comm->member_count && code == 0; i++) {
        const uint32_t other = comm->members[i];
        void *token = at->tokens && i < at->count ? at->tokens[i] : NULL;
        if (other >= d->process_count)
            continue;
        if (token)
            at->tokens[i] = NULL;
        code = sink(e->sink.self, &(struct gn_epoch_half){.window = window,
                                                          .from = is_send ? here : other,
                                                          .to = is_send ? other : here,
                                                          .location = at->location,
                                                          .ticks = at->ticks,
                                                          .token = token,
                                                          .number = number,
                                                          .is_send = is_send,
                                                          .is_countable = !e->processes[here].is_lost});
    }
    return code;
}

static int tell(const struct gn_epochs *e, uint32_t window, uint32_t group, uint64_t number,
                struct origin *at, bool is_send)
{
    return tell_of(e, e->sink.half, window, group, number, at, is_send);
}

static int opened(const struct gn_epochs *e, const struct gn_event *event, bool is_send)
{
    struct origin at = {.location = event->location, .ticks = event->ticks};
    return e->sink.opened ? tell_of(e, e->sink.opened, event->comm, event->tag, event->number, &at, is_send)
                          : 0;
}

/* ---- epochs ---- */

static struct epoch *find(struct process *p, uint32_t window)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->open[i].window == window)
            return &p->open[i];
    return NULL;
}

/* What is open is of no message: nobody could tell of which. */
static void lose(const struct gn_epochs *e, uint32_t process)
{
    struct process *p = &e->processes[process];
    if (p->is_lost)
        return;
    p->is_lost = true;
    while (p->count > 0)
        drop(e, &p->open[--p->count].started);
    for (uint32_t l = p->last_location; l != GN_NONE; l = e->calls[l].next_location)
        drop(e, &e->calls[l].entered);
    if (e->sink.lost)
        e->sink.lost(e->sink.self, process);
}

static int started(const struct gn_epochs *e, struct process *p, const struct gn_event *event)
{
    struct epoch *before = find(p, event->comm); /* it was completed, and nobody has said so */
    if (before && !(e->sink.has_parts && event->number != GN_UNNUMBERED))
        lose(e, (uint32_t)(p - e->processes));
    if (p->is_lost)
        return 0;
    if (before) {
        drop(e, &before->started);
        *before = p->open[--p->count];
    }
    if (!gn_grow(&p->open, &p->capacity, p->count, sizeof *p->open))
        return -ENOMEM;
    struct epoch *epoch = &p->open[p->count];
    *epoch = (struct epoch){.window = event->comm, .group = event->tag, .number = event->number};
    int code = make_origin(e, event, event->tag, &epoch->started);
    p->count += code == 0;
    return code;
}

static int completed(const struct gn_epochs *e, struct process *p, struct call *call,
                     const struct gn_event *event)
{
    struct epoch *epoch = find(p, event->comm);
    if (!epoch && e->sink.has_parts && event->number != GN_UNNUMBERED) /* it began ahead of what is told */
        return 0;
    if (!epoch || (call->is_alone && call->window != event->comm))
        lose(e, (uint32_t)(p - e->processes));
    if (p->is_lost)
        return tell(e, event->comm, event->tag, event->number,
                    &(struct origin){.location = event->location, .ticks = event->ticks}, true);
    int code = tell(e, epoch->window, epoch->group, epoch->number,
                    call->is_alone ? &call->entered : &epoch->started, true);
    drop(e, &epoch->started);
    *epoch = p->open[--p->count];
    return code;
}

static int synchronised(struct gn_epochs *e, struct call *call, const struct gn_event *event)
{
    const struct gn_definitions *d = e->definitions;
    struct process *p = process_of(e, event->location);
    if (event->comm >= d->window_count || event->tag >= d->comm_count || d->comms[event->tag].is_self)
        return 0;
    if (call->activity == GN_CALL_WIN_POST)
        return opened(e, event, true);
    if (call->activity == GN_CALL_WIN_START) {
        const int code = started(e, p, event);
        return code ? code : opened(e, event, false);
    }
    if (call->activity == GN_CALL_WIN_COMPLETE)
        return completed(e, p, call, event);
    if (call->activity == GN_CALL_WIN_WAIT ||
        (call->activity == GN_CALL_WIN_TEST && event->number != GN_UNNUMBERED)) {
        call->window = event->comm;
        call->number = event->number;
        call->group = event->tag;
    }
    return 0;
}

/* ---- calls ---- */

static bool is_about_epochs(uint32_t activity)
{
    return activity == GN_CALL_WIN_POST || activity == GN_CALL_WIN_START ||
           activity == GN_CALL_WIN_COMPLETE || activity == GN_CALL_WIN_WAIT || activity == GN_CALL_WIN_TEST;
}

static int entered(const struct gn_epochs *e, struct call *call, const struct gn_event *event)
{
    const struct gn_definitions *d = e->definitions;
    const struct process *p = process_of(e, event->location);
    const uint32_t activity = event->region < d->region_count ? d->regions[event->region].activity : 0;
    if (!is_about_epochs(activity))
        return 0;
    drop(e, &call->entered);
    *call = (struct call){.activity = activity,
                          .region = event->region,
                          .window = GN_NONE,
                          .next_location = call->next_location};
    if (activity != GN_CALL_WIN_COMPLETE || p->count != 1 || p->is_lost)
        return 0;
    call->is_alone = true;
    call->window = p->open[0].window;
    return make_origin(e, event, p->open[0].group, &call->entered);
}

static int left(const struct gn_epochs *e, struct call *call, const struct gn_event *event)
{
    if (!call->activity || event->region != call->region)
        return 0;
    const bool has_waited =
        (call->activity == GN_CALL_WIN_WAIT || call->activity == GN_CALL_WIN_TEST) && call->window != GN_NONE;
    call->activity = 0;
    drop(e, &call->entered);
    if (!has_waited)
        return 0;
    struct origin now;
    int code = make_origin(e, event, call->group, &now);
    if (code == 0)
        code = tell(e, call->window, call->group, call->number, &now, false);
    drop(e, &now);
    return code;
}

bool gn_epochs_wants(const struct gn_definitions *d, const struct gn_event *event)
{
    if (event->kind == GN_EVENT_RMA_SYNC)
        return d->window_count > 0;
    return d->window_count > 0 && (event->kind == GN_EVENT_ENTER || event->kind == GN_EVENT_LEAVE) &&
           gn_epochs_region(d, event->region);
}

bool gn_epochs_region(const struct gn_definitions *d, uint32_t region)
{
    return d->window_count > 0 && region < d->region_count && is_about_epochs(d->regions[region].activity);
}

/* Definitions may grow while events come. False: no memory. */
static bool know_all(struct gn_epochs *e)
{
    const size_t locations = e->definitions->location_count, processes = e->definitions->process_count;
    if (processes > e->process_count) {
        struct process *all = reallocarray(e->processes, processes, sizeof *all);
        if (!all)
            return false;
        for (; e->process_count < processes; e->process_count++)
            all[e->process_count] = (struct process){.last_location = GN_NONE};
        e->processes = all;
    }
    if (locations > e->call_count) {
        struct call *all = reallocarray(e->calls, locations, sizeof *all);
        if (!all)
            return false;
        memset(all + e->call_count, 0, (locations - e->call_count) * sizeof *all);
        e->calls = all;
    }
    for (; e->call_count < locations; e->call_count++) {
        const uint32_t l = (uint32_t)e->call_count, process = e->definitions->locations[l].process;
        e->calls[l].next_location = process < processes ? e->processes[process].last_location : GN_NONE;
        if (process < processes)
            e->processes[process].last_location = l;
    }
    return true;
}

int gn_epochs_event(struct gn_epochs *e, const struct gn_event *event)
{
    const struct gn_definitions *d = e->definitions;
    if (!gn_epochs_wants(d, event) || event->location >= d->location_count ||
        d->locations[event->location].process >= d->process_count)
        return 0;
    if (!know_all(e))
        return -ENOMEM;
    struct call *call = &e->calls[event->location];
    switch (event->kind) {
    case GN_EVENT_ENTER:
        return entered(e, call, event);
    case GN_EVENT_LEAVE:
        return left(e, call, event);
    case GN_EVENT_RMA_SYNC:
        return synchronised(e, call, event);
    default:
        return 0;
    }
}

void gn_epochs_lose(struct gn_epochs *e, uint32_t process)
{
    const struct gn_definitions *d = e->definitions;
    if (d->window_count == 0 || process >= d->process_count || !know_all(e))
        return;
    lose(e, process);
}

bool gn_epochs_lost(const struct gn_epochs *e, uint32_t process)
{
    return process < e->process_count && e->processes[process].is_lost;
}

/* ---- all ---- */

struct gn_epochs *gn_epochs_new(const struct gn_definitions *definitions, const struct gn_epochs_sink *sink)
{
    struct gn_epochs *e = calloc(1, sizeof *e);
    if (e)
        *e = (struct gn_epochs){.definitions = definitions, .sink = *sink};
    return e;
}

void gn_epochs_free(struct gn_epochs *e)
{
    if (!e)
        return;
    e->sink.unused = NULL; /* whoever has the tokens closes, too */
    for (size_t l = 0; l < e->call_count; l++)
        drop(e, &e->calls[l].entered);
    for (size_t p = 0; p < e->process_count; p++) {
        for (size_t i = 0; i < e->processes[p].count; i++)
            drop(e, &e->processes[p].open[i].started);
        free(e->processes[p].open);
    }
    free(e->calls);
    free(e->processes);
    free(e);
}
