#include "repair/condition.h"

#include "causality/arrival.h"
#include "causality/order.h"
#include "repair/condition_collectives.h"
#include "repair/condition_teams.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct place {
    struct gn_presync_map map;
    int64_t ticks; /* of its last event */
    bool any;
};

struct check {
    const struct gn_definitions *d;
    const struct gn_latency *latency;
    struct gn_condition *condition;
    struct gn_condition_collectives *collectives;
    struct gn_condition_teams *teams;
    struct gn_order *order;
    struct place *places; /* by location */
    struct process {
        uint32_t alive;   /* locations that have not ended */
        uint64_t waiting; /* events that are in the sort */
    } * processes;
};

/* ---- messages, as they come out of the sort ---- */

/* A location cannot disagree with itself about the time: there, only the order counts. */
static int64_t latency_between(const struct check *c, uint32_t from, uint32_t to)
{
    const uint32_t a = c->d->locations[from].domain, b = c->d->locations[to].domain;
    const bool known = c->latency && a < c->latency->domains && b < c->latency->domains;
    return known && from != to ? gn_latency_of(c->latency, a, b) : 0;
}

static void count_message(struct check *c, const struct gn_condition_message *m)
{
    struct gn_condition_count *count = &c->condition->messages;
    const int64_t early = m->sent_ticks - m->received_ticks;
    const int64_t missing = early + latency_between(c, m->from, m->to);
    count->messages++;
    if (early > 0) {
        count->reversed++;
        count->error_ticks_sum += (double)early;
        count->error_ticks_max = early > count->error_ticks_max ? early : count->error_ticks_max;
    }
    if (missing <= 0)
        return;
    count->violating++;
    if (missing > gn_condition_worst_ticks(c->condition))
        c->condition->worst = *m;
    count->worst_ticks = missing > count->worst_ticks ? missing : count->worst_ticks;
}

/* What was lost cannot be counted, nor what comes after all has come. */
static int leave_if_over(struct check *c, uint32_t process, bool is_lost)
{
    const bool is_process = process < c->d->process_count;
    const bool is_over = is_process && !c->processes[process].alive && !c->processes[process].waiting;
    return is_over || is_lost ? gn_condition_collectives_leave(c->collectives, process) : 0;
}

static int report_collective(struct check *c, const struct gn_event *e, const struct gn_place *place)
{
    const uint32_t process = c->d->locations[e->location].process;
    if (process < c->d->process_count)
        c->processes[process].waiting--;
    int code = gn_condition_collectives_event(c->collectives, e, place);
    return code ? code : leave_if_over(c, process, e->kind == GN_EVENT_LOST);
}

static int report(void *self, const struct gn_event *e, const struct gn_place *place)
{
    struct check *c = self;
    const int code = report_collective(c, e, place);
    if (code != 0)
        return code;
    if (e->kind != GN_EVENT_MPI_RECV && e->kind != GN_EVENT_MPI_IRECV)
        return 0;
    if (place->flags & GN_PLACE_AMBIGUOUS)
        c->condition->ambiguous++;
    else if (!(place->flags & GN_PLACE_CORRELATED))
        c->condition->unmatched++;
    else
        count_message(c,
                      &(struct gn_condition_message){place->sender, e->location, (int64_t)place->sent_ticks,
                                                     (int64_t)e->ticks, false});
    return 0;
}

/* ---- events, on their way into the sort ---- */

static int too_late(const struct check *c, const struct gn_event *e, struct gn_error *err)
{
    return gn_fail(err, -ERANGE,
                   "an event of location %" PRIu64 " (%s) has the timestamp %" PRIu64
                   ", which is no time: the trace is damaged",
                   c->d->locations[e->location].file_id, gn_string(c->d, c->d->locations[e->location].name),
                   e->ticks);
}

static void see(struct check *c, const struct gn_event *e)
{
    struct place *p = &c->places[e->location];
    const int64_t ticks = (int64_t)e->ticks;
    c->condition->events++;
    c->condition->backward += p->any && ticks < p->ticks;
    p->ticks = ticks;
    p->any = true;
}

/* The sort does not look at times: they go in presynchronised, and come out so with what they are sent with.
 * While its measurement is off, a process does what nobody counts: to the sort, that is lost. */
static int push(struct check *c, const struct gn_event *event, struct gn_error *err)
{
    struct gn_event e = *event;
    if (e.ticks > INT64_MAX / 2)
        return too_late(c, event, err);
    e.ticks = (uint64_t)gn_presync_ticks(&c->places[e.location].map, event->ticks);
    see(c, &e);
    if (e.kind == GN_EVENT_MEASUREMENT)
        e = gn_event_bare(GN_EVENT_LOST, e.location, e.ticks);
    const uint32_t process = c->d->locations[e.location].process;
    if (e.kind == GN_EVENT_LOST)
        gn_condition_teams_leave(c->teams, process);
    if (process < c->d->process_count)
        c->processes[process].waiting++;
    int code = gn_condition_teams_event(c->teams, &e);
    if (code == 0)
        code = gn_order_push(c->order, &e);
    return code == 0 ? 0 : gn_fail(err, code, "cannot match the messages of the trace: %s", strerror(-code));
}

static int end(struct check *c, uint32_t location, struct gn_error *err)
{
    const uint32_t process = c->d->locations[location].process;
    if (process < c->d->process_count)
        c->processes[process].alive--;
    int code = gn_order_end(c->order, location);
    if (code == 0)
        code = leave_if_over(c, process, false);
    return code == 0 ? 0 : gn_fail(err, code, "cannot match the messages of the trace: %s", strerror(-code));
}

/* ---- all ---- */

static int no_memory(struct gn_error *err)
{
    return gn_fail(err, -ENOMEM, "no memory to check the messages of the trace");
}

static int open_check(struct check *c, const struct gn_presync *presync, struct gn_error *err)
{
    const struct gn_order_sink sink = {c, report};
    c->places = calloc(c->d->location_count + 1, sizeof *c->places);
    c->processes = calloc(c->d->process_count + 1, sizeof *c->processes);
    c->collectives = gn_condition_collectives_new(c->d, c->latency, c->condition);
    c->teams = gn_condition_teams_new(c->d, c->latency, c->condition);
    if (!c->places || !c->processes || !c->collectives || !c->teams)
        return no_memory(err);
    for (uint32_t l = 0; l < c->d->location_count; l++) {
        c->places[l].map = gn_presync_map(presync, l);
        if (c->d->locations[l].process < c->d->process_count)
            c->processes[c->d->locations[l].process].alive++;
    }
    const struct gn_order_settings settings = {.in_time = true}; /* see carry */
    return gn_order_open(&c->order, c->d, &settings, &sink, err);
}

static void close_check(struct check *c)
{
    gn_order_close(c->order);
    gn_condition_collectives_free(c->collectives);
    gn_condition_teams_free(c->teams);
    free(c->places);
    free(c->processes);
}

/* By time since each clock's first event, whatever the clocks say: what belongs together comes about
 * together, and little is open at a time. */
static int carry(struct check *c, struct gn_source *source, struct gn_error *err)
{
    static const struct gn_arrival_settings aligned = {.kind = GN_ARRIVAL_ALIGNED};
    struct gn_arrival *arrival;
    struct gn_arrived arrived;
    int code = gn_arrival_open(&arrival, source, &aligned, err);
    while (code == 0 && (code = gn_arrival_next(arrival, &arrived, err)) == 1) {
        code = arrived.count ? 0 : end(c, arrived.location, err);
        for (uint32_t i = 0; i < arrived.count && code == 0; i++)
            code = push(c, &arrived.events[i], err);
    }
    gn_arrival_close(arrival);
    return code;
}

static int finish(struct check *c, struct gn_error *err)
{
    if (gn_order_finish(c->order) != 0 || !gn_condition_collectives_all_counted(c->collectives) ||
        gn_condition_teams_finish(c->teams) != 0)
        return no_memory(err);
    c->condition->unmatched += gn_order_stats(c->order)->unmatched_sends;
    return 0;
}

int gn_condition_check(struct gn_source *source, const struct gn_presync *presync,
                       const struct gn_latency *latency, struct gn_condition *condition, struct gn_error *err)
{
    struct check c = {.d = source->definitions, .latency = latency, .condition = condition};
    *condition = (struct gn_condition){.worst = {.from = GN_NONE, .to = GN_NONE}};
    int code = open_check(&c, presync, err);
    if (code == 0)
        code = carry(&c, source, err);
    if (code == 0)
        code = finish(&c, err);
    close_check(&c);
    return code;
}
