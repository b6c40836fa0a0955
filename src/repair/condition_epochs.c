#include "repair/condition_epochs.h"

#include "base/grow.h"
#include "base/map.h"
#include "calls.h"

#include <errno.h>
#include <stdlib.h>

/* Ends without the other that a pair of processes may have: with more, one of the two does not say all it
 * does. */
enum { OPEN_MOST = 1 << 16 };

struct moment {
    int64_t ticks;
    uint32_t location;
};

/* Of a window, from one process to another: completions that nobody has waited for, or the other way round.
 */
struct channel {
    struct moment *open;
    size_t first, count, capacity; /* open[first … first + count) */
    bool are_sends, is_over;       /* is_over: nothing is matched any more */
};

/* An epoch that a process has started. */
struct epoch {
    uint32_t window;
    struct moment started;
};

struct process {
    struct epoch *open;
    size_t count, capacity;
    bool left; /* it cannot be told any more which epoch is which */
};

/* The call that a location is in. */
struct call {
    uint32_t activity, region; /* activity 0: none that matters here */
    int64_t enter_ticks;
    uint32_t window, group; /* of a wait: what its record has said; GN_NONE: nothing yet */
};

struct gn_condition_epochs {
    const struct gn_definitions *d;
    struct gn_condition_epochs_sink sink;
    struct gn_condition_coverage *coverage;
    struct call *calls;        /* by location; NULL: there are no windows */
    struct process *processes; /* the same */
    struct gn_map channels;
};

/* ---- channels ---- */

static struct channel *find_channel(struct gn_condition_epochs *e, uint32_t window, uint32_t from,
                                    uint32_t to)
{
    const struct gn_key key = {window, (uint64_t)from << 32 | to};
    struct channel *c = gn_map_find(&e->channels, key);
    if (c || !(c = calloc(1, sizeof *c)))
        return c;
    if (gn_map_add(&e->channels, key, c))
        return c;
    free(c);
    return NULL;
}

static void stop(struct channel *c)
{
    free(c->open);
    *c = (struct channel){.is_over = true};
}

static int keep(struct channel *c, const struct moment *m)
{
    if (c->count >= OPEN_MOST) {
        stop(c);
        return 0;
    }
    if (c->first > c->count) { /* so that room is made now and then */
        for (size_t i = 0; i < c->count; i++)
            c->open[i] = c->open[c->first + i];
        c->first = 0;
    }
    if (!gn_grow(&c->open, &c->capacity, c->first + c->count, sizeof *c->open))
        return -ENOMEM;
    c->open[c->first + c->count++] = *m;
    return 0;
}

static void tell(struct gn_condition_epochs *e, const struct moment *sent, const struct moment *received)
{
    e->coverage->all--; /* both ends of it were counted */
    e->coverage->checked++;
    e->sink.message(e->sink.self, &(struct gn_condition_message){sent->location, received->location,
                                                                 sent->ticks, received->ticks, false});
}

static int meet(struct gn_condition_epochs *e, struct channel *c, const struct moment *m, bool sends)
{
    if (c->is_over)
        return 0;
    if (c->count == 0 || c->are_sends == sends) {
        c->are_sends = sends;
        return keep(c, m);
    }
    const struct moment other = c->open[c->first++];
    c->count--;
    if (sends)
        tell(e, m, &other);
    else
        tell(e, &other, m);
    return 0;
}

/* With each process of the group. */
static int meet_all(struct gn_condition_epochs *e, uint32_t window, uint32_t group, const struct moment *m,
                    bool sends)
{
    const struct gn_comm_def *comm = &e->d->comms[group];
    const uint32_t here = e->d->locations[m->location].process;
    for (uint32_t i = 0; i < comm->member_count; i++) {
        const uint32_t other = comm->members[i];
        e->coverage->all++;
        if (e->processes[here].left || other >= e->d->process_count)
            continue;
        struct channel *c = find_channel(e, window, sends ? here : other, sends ? other : here);
        if (!c)
            return -ENOMEM;
        int code = meet(e, c, m, sends);
        if (code != 0)
            return code;
    }
    return 0;
}

/* ---- epochs ---- */

static struct epoch *find_epoch(struct process *p, uint32_t window)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->open[i].window == window)
            return &p->open[i];
    return NULL;
}

static int started(struct process *p, uint32_t window, const struct gn_event *event)
{
    p->left |= find_epoch(p, window) != NULL; /* it was completed, and nobody has said so */
    if (p->left)
        return 0;
    if (!gn_grow(&p->open, &p->capacity, p->count, sizeof *p->open))
        return -ENOMEM;
    p->open[p->count++] = (struct epoch){window, {(int64_t)event->ticks, event->location}};
    return 0;
}

static int completed(struct gn_condition_epochs *e, struct process *p, const struct gn_event *event)
{
    const struct call *call = &e->calls[event->location];
    struct epoch *epoch = find_epoch(p, event->comm);
    p->left |= !epoch;
    const struct moment alone = {call->enter_ticks, event->location};
    const struct moment from = p->left || p->count == 1 ? alone : epoch->started;
    if (epoch)
        *epoch = p->open[--p->count];
    return meet_all(e, event->comm, event->tag, &from, true);
}

static int synchronised(struct gn_condition_epochs *e, const struct gn_event *event)
{
    struct call *call = &e->calls[event->location];
    struct process *p = &e->processes[e->d->locations[event->location].process];
    if (event->comm >= e->d->window_count || event->tag >= e->d->comm_count ||
        e->d->comms[event->tag].is_self)
        return 0;
    if (call->activity == GN_CALL_WIN_START)
        return started(p, event->comm, event);
    if (call->activity == GN_CALL_WIN_COMPLETE)
        return completed(e, p, event);
    if (call->activity == GN_CALL_WIN_WAIT) {
        call->window = event->comm;
        call->group = event->tag;
    }
    return 0;
}

/* ---- calls ---- */

static void entered(const struct gn_condition_epochs *e, struct call *call, const struct gn_event *event)
{
    const uint32_t activity = event->region < e->d->region_count ? e->d->regions[event->region].activity : 0;
    if (activity == GN_CALL_WIN_START || activity == GN_CALL_WIN_COMPLETE || activity == GN_CALL_WIN_WAIT)
        *call = (struct call){activity, event->region, (int64_t)event->ticks, GN_NONE, GN_NONE};
}

static int left(struct gn_condition_epochs *e, struct call *call, const struct gn_event *event)
{
    if (!call->activity || event->region != call->region)
        return 0;
    call->activity = 0;
    const struct moment now = {(int64_t)event->ticks, event->location};
    return call->window == GN_NONE ? 0 : meet_all(e, call->window, call->group, &now, false);
}

int gn_condition_epochs_event(struct gn_condition_epochs *e, const struct gn_event *event)
{
    if (!e->calls || e->d->locations[event->location].process >= e->d->process_count)
        return 0;
    switch (event->kind) {
    case GN_EVENT_ENTER:
        entered(e, &e->calls[event->location], event);
        return 0;
    case GN_EVENT_LEAVE:
        return left(e, &e->calls[event->location], event);
    case GN_EVENT_RMA_SYNC:
        return synchronised(e, event);
    default:
        return 0;
    }
}

void gn_condition_epochs_leave(struct gn_condition_epochs *e, uint32_t process)
{
    if (e->calls && process < e->d->process_count)
        e->processes[process].left = true;
}

/* ---- all ---- */

struct gn_condition_epochs *gn_condition_epochs_new(const struct gn_definitions *definitions,
                                                    const struct gn_condition_epochs_sink *sink,
                                                    struct gn_condition_coverage *coverage)
{
    struct gn_condition_epochs *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    *e = (struct gn_condition_epochs){.d = definitions, .sink = *sink, .coverage = coverage};
    if (definitions->window_count == 0)
        return e;
    e->calls = calloc(definitions->location_count + 1, sizeof *e->calls);
    e->processes = calloc(definitions->process_count + 1, sizeof *e->processes);
    if (e->calls && e->processes)
        return e;
    gn_condition_epochs_free(e);
    return NULL;
}

static bool drop(void *value, void *with)
{
    (void)with;
    free(((struct channel *)value)->open);
    free(value);
    return true;
}

void gn_condition_epochs_free(struct gn_condition_epochs *e)
{
    if (!e)
        return;
    for (size_t i = 0; e->processes && i < e->d->process_count; i++)
        free(e->processes[i].open);
    if (e->channels.count > 0)
        gn_map_sweep(&e->channels, drop, NULL);
    gn_map_clear(&e->channels);
    free(e->processes);
    free(e->calls);
    free(e);
}
