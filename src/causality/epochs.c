#include "causality/epochs.h"

#include "base/grow.h"
#include "calls.h"

#include <errno.h>
#include <stdlib.h>

/* Where a message to each process of a group may be from. */
struct origin {
    uint32_t location;
    uint64_t ticks;
    void **tokens; /* one a member; NULL: none are wanted, or there is no origin */
};

/* An epoch that a process has started. */
struct epoch {
    uint32_t window, group; /* group: a communicator */
    struct origin started;
};

struct process {
    struct epoch *open;
    size_t count, capacity;
    bool is_lost; /* it cannot be told any more which epoch is which */
};

/* The call that a location is in. */
struct call {
    uint32_t activity, region; /* activity 0: none that matters here */
    uint32_t window, group;    /* of a wait: what its record has said; GN_NONE: nothing yet */
    bool is_alone;             /* of complete: one epoch is open, so it is that one */
    struct origin entered;     /* … then */
};

struct gn_epochs {
    const struct gn_definitions *definitions;
    struct gn_epochs_sink sink;
    struct call *calls; /* by location; NULL: there are no windows */
    struct process *processes;
};

static struct process *process_of(const struct gn_epochs *e, uint32_t location)
{
    return &e->processes[e->definitions->locations[location].process];
}

/* ---- messages ---- */

static void drop(struct origin *origin)
{
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
    *origin = (struct origin){.location = event->location, .ticks = event->ticks};
    if (!e->sink.token)
        return 0;
    origin->tokens = calloc(members ? members : 1, sizeof *origin->tokens);
    if (!origin->tokens)
        return -ENOMEM;
    errno = 0;
    for (uint32_t i = 0; i < members; i++)
        if (!(origin->tokens[i] = e->sink.token(e->sink.self, event))) {
            const int code = failed();
            drop(origin);
            return code;
        }
    return 0;
}

/* With each process of the group. */
static int tell(const struct gn_epochs *e, uint32_t window, uint32_t group, const struct origin *at,
                bool is_send)
{
    const struct gn_definitions *d = e->definitions;
    const struct gn_comm_def *comm = &d->comms[group];
    const uint32_t here = d->locations[at->location].process;
    int code = 0;
    for (uint32_t i = 0; i < comm->member_count && code == 0; i++) {
        const uint32_t other = comm->members[i];
        if (other < d->process_count)
            code = e->sink.half(e->sink.self,
                                &(struct gn_epoch_half){.window = window,
                                                        .from = is_send ? here : other,
                                                        .to = is_send ? other : here,
                                                        .location = at->location,
                                                        .ticks = at->ticks,
                                                        .token = at->tokens ? at->tokens[i] : NULL,
                                                        .is_send = is_send,
                                                        .is_countable = !e->processes[here].is_lost});
    }
    return code;
}

/* ---- epochs ---- */

static struct epoch *find(struct process *p, uint32_t window)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->open[i].window == window)
            return &p->open[i];
    return NULL;
}

static int started(const struct gn_epochs *e, struct process *p, const struct gn_event *event)
{
    p->is_lost |= find(p, event->comm) != NULL; /* it was completed, and nobody has said so */
    if (p->is_lost)
        return 0;
    if (!gn_grow(&p->open, &p->capacity, p->count, sizeof *p->open))
        return -ENOMEM;
    struct epoch *epoch = &p->open[p->count];
    *epoch = (struct epoch){.window = event->comm, .group = event->tag};
    int code = make_origin(e, event, event->tag, &epoch->started);
    p->count += code == 0;
    return code;
}

static int completed(const struct gn_epochs *e, struct process *p, struct call *call,
                     const struct gn_event *event)
{
    struct epoch *epoch = find(p, event->comm);
    p->is_lost |= !epoch || (call->is_alone && call->window != event->comm);
    if (!epoch || p->is_lost)
        return tell(e, event->comm, event->tag, &(struct origin){event->location, event->ticks, NULL}, true);
    int code = tell(e, epoch->window, epoch->group, call->is_alone ? &call->entered : &epoch->started, true);
    drop(&epoch->started);
    *epoch = p->open[--p->count];
    return code;
}

static int synchronised(struct gn_epochs *e, struct call *call, const struct gn_event *event)
{
    const struct gn_definitions *d = e->definitions;
    struct process *p = process_of(e, event->location);
    if (event->comm >= d->window_count || event->tag >= d->comm_count || d->comms[event->tag].is_self)
        return 0;
    if (call->activity == GN_CALL_WIN_START)
        return started(e, p, event);
    if (call->activity == GN_CALL_WIN_COMPLETE)
        return completed(e, p, call, event);
    if (call->activity == GN_CALL_WIN_WAIT) {
        call->window = event->comm;
        call->group = event->tag;
    }
    return 0;
}

/* ---- calls ---- */

static bool is_about_epochs(uint32_t activity)
{
    return activity == GN_CALL_WIN_START || activity == GN_CALL_WIN_COMPLETE || activity == GN_CALL_WIN_WAIT;
}

static int entered(const struct gn_epochs *e, struct call *call, const struct gn_event *event)
{
    const struct gn_definitions *d = e->definitions;
    const struct process *p = process_of(e, event->location);
    const uint32_t activity = event->region < d->region_count ? d->regions[event->region].activity : 0;
    if (!is_about_epochs(activity))
        return 0;
    drop(&call->entered);
    *call = (struct call){.activity = activity, .region = event->region, .window = GN_NONE};
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
    const bool has_waited = call->activity == GN_CALL_WIN_WAIT && call->window != GN_NONE;
    call->activity = 0;
    drop(&call->entered);
    if (!has_waited)
        return 0;
    struct origin now;
    int code = make_origin(e, event, call->group, &now);
    if (code == 0)
        code = tell(e, call->window, call->group, &now, false);
    drop(&now);
    return code;
}

int gn_epochs_event(struct gn_epochs *e, const struct gn_event *event)
{
    if (!e->calls || e->definitions->locations[event->location].process >= e->definitions->process_count)
        return 0;
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
    if (e->calls && process < e->definitions->process_count)
        e->processes[process].is_lost = true;
}

/* ---- all ---- */

struct gn_epochs *gn_epochs_new(const struct gn_definitions *definitions, const struct gn_epochs_sink *sink)
{
    struct gn_epochs *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    *e = (struct gn_epochs){.definitions = definitions, .sink = *sink};
    if (definitions->window_count == 0)
        return e;
    e->calls = calloc(definitions->location_count + 1, sizeof *e->calls);
    e->processes = calloc(definitions->process_count + 1, sizeof *e->processes);
    if (e->calls && e->processes)
        return e;
    gn_epochs_free(e);
    return NULL;
}

void gn_epochs_free(struct gn_epochs *e)
{
    if (!e)
        return;
    for (size_t l = 0; e->calls && l < e->definitions->location_count; l++)
        drop(&e->calls[l].entered);
    for (size_t p = 0; e->processes && p < e->definitions->process_count; p++) {
        for (size_t i = 0; i < e->processes[p].count; i++)
            drop(&e->processes[p].open[i].started);
        free(e->processes[p].open);
    }
    free(e->calls);
    free(e->processes);
    free(e);
}
