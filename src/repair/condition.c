#include "repair/condition.h"

#include "causality/arrival.h"
#include "causality/epochs.h"
#include "causality/order.h"
#include "causality/teams.h"
#include "repair/condition_collectives.h"
#include "repair/condition_epochs.h"
#include "repair/condition_teams.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct place {
    struct gn_presync_map map, out; /* out: of what comes out of the sort, later */
    int64_t ticks;                  /* of its last event */
    bool any;
};

struct check {
    const struct gn_definitions *d;
    const struct gn_latency *latency;
    struct gn_condition *condition;
    struct gn_condition_collectives *collectives;
    struct gn_condition_teams *teams;
    struct gn_condition_epochs *epochs;
    struct gn_order *order;
    struct place *places; /* by location */
    struct process {
        uint32_t alive;   /* locations that have not ended */
        uint64_t waiting; /* events that are in the sort */
    } * processes;
    bool *aside; /* by region: what enters and leaves it needs no sort, and is looked at (push_aside) */
};

/* ---- messages, as they come out of the sort ---- */

/* A location cannot disagree with itself about the time: there, only the order counts. */
static int64_t latency_between(const struct check *c, uint32_t from, uint32_t to)
{
    const uint32_t a = c->d->locations[from].domain, b = c->d->locations[to].domain;
    const bool known = c->latency && a < c->latency->domains && b < c->latency->domains;
    return known && from != to ? gn_latency_of(c->latency, a, b) : 0;
}

static void count_message(struct check *c, struct gn_condition_count *count,
                          const struct gn_condition_message *m)
{
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
static inline bool is_over(const struct check *c, uint32_t process, bool is_lost)
{
    if (process >= c->d->process_count)
        return is_lost;
    return is_lost || (c->processes[process].waiting == 0 && c->processes[process].alive == 0);
}

static void count_epoch(void *self, const struct gn_condition_message *m)
{
    struct check *c = self;
    count_message(c, &c->condition->epochs, m);
}

static int64_t time_of(const struct check *c, uint32_t location, uint64_t ticks)
{
    return gn_presync_ticks(&c->places[location].out, ticks);
}

static bool is_of_collective(const struct gn_event *e)
{
    return gn_event_begins(e->kind) || e->kind == GN_EVENT_COLLECTIVE_END ||
           e->kind == GN_EVENT_NBC_COMPLETE || e->kind == GN_EVENT_RMA_COLLECTIVE_END;
}

static int report_collective(struct check *c, const struct gn_event *e, const struct gn_place *place)
{
    const uint32_t process = c->d->locations[e->location].process;
    int code = 0;
    if (process < c->d->process_count)
        c->processes[process].waiting--;
    if (is_of_collective(e)) /* of most events the time is not asked for */
        code = gn_condition_collectives_event(c->collectives, e, time_of(c, e->location, e->ticks), place);
    if (code == 0 && is_over(c, process, e->kind == GN_EVENT_LOST))
        code = gn_condition_collectives_leave(c->collectives, process);
    return code;
}

static bool is_receive(const struct gn_event *e)
{
    return e->kind == GN_EVENT_MPI_RECV || e->kind == GN_EVENT_MPI_IRECV;
}

static int report(void *self, const struct gn_event *e, const struct gn_place *place)
{
    struct check *c = self;
    const int code = report_collective(c, e, place);
    if (code != 0)
        return code;
    if (!is_receive(e))
        return 0;
    if (place->flags & GN_PLACE_AMBIGUOUS) {
        c->condition->ambiguous++;
    } else if (!(place->flags & GN_PLACE_CORRELATED)) {
        c->condition->unmatched++;
    } else {
        const int64_t sent = time_of(c, place->sender, place->sent_ticks);
        const int64_t received = time_of(c, e->location, e->ticks);
        c->condition->coverage[GN_CONDITION_MESSAGES].checked++;
        count_message(c, &c->condition->messages,
                      &(struct gn_condition_message){place->sender, e->location, sent, received, false});
    }
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

static bool is_send(const struct gn_event *e)
{
    return e->kind == GN_EVENT_MPI_SEND || e->kind == GN_EVENT_MPI_ISEND;
}

static void see(struct check *c, const struct gn_event *e, int64_t ticks)
{
    struct place *p = &c->places[e->location];
    c->condition->events++;
    c->condition->backward += p->any && ticks < p->ticks;
    c->condition->coverage[GN_CONDITION_MESSAGES].all += is_send(e) || is_receive(e);
    p->ticks = ticks;
    p->any = true;
}

/* Most events are not: an event is a cache line, which is not copied for nothing. */
static bool is_aside(const struct check *c, const struct gn_event *e)
{
    if (e->kind == GN_EVENT_ENTER || e->kind == GN_EVENT_LEAVE)
        return e->region < c->d->region_count && c->aside[e->region];
    return e->kind == GN_EVENT_LOST || gn_teams_are_about(e) || e->kind == GN_EVENT_RMA_SYNC;
}

/* What needs no sort: it is of one process, or counted on both sides. It is looked at at its presynchronised
 * time. */
static int push_aside(struct check *c, const struct gn_event *e, int64_t ticks)
{
    const uint32_t process = c->d->locations[e->location].process;
    struct gn_event moved = *e, *presynced = &moved;
    moved.ticks = (uint64_t)ticks;
    int code = 0;
    if (presynced->kind == GN_EVENT_LOST) {
        c->condition->lost += presynced->request;
        code = gn_condition_teams_leave(c->teams, process);
        gn_condition_epochs_leave(c->epochs, process);
    }
    if (code == 0)
        code = gn_condition_teams_event(c->teams, presynced);
    return code ? code : gn_condition_epochs_event(c->epochs, presynced);
}

/* The sort gets times as clocks showed them: of a process's threads, which share one, it looks at them. While
 * its measurement is off, a process does what nobody counts: to the sort, that is lost. */
static int push(void *self, const struct gn_event *event, struct gn_error *err)
{
    struct check *c = self;
    struct gn_event off;
    const struct gn_event *e = event;
    if (e->ticks > INT64_MAX / 2)
        return too_late(c, event, err);
    const int64_t ticks = gn_presync_ticks(&c->places[e->location].map, event->ticks);
    see(c, e, ticks);
    if (e->kind == GN_EVENT_MEASUREMENT) {
        off = gn_event_bare(GN_EVENT_LOST, e->location, e->ticks);
        e = &off;
    }
    const uint32_t process = c->d->locations[e->location].process;
    if (process < c->d->process_count)
        c->processes[process].waiting++;
    int code = is_aside(c, e) ? push_aside(c, e, ticks) : 0;
    if (code == 0)
        code = gn_order_push(c->order, e);
    return code == 0 ? 0 : gn_fail(err, code, "cannot match the messages of the trace: %s", strerror(-code));
}

static int end(void *self, uint32_t location, struct gn_error *err)
{
    struct check *c = self;
    const uint32_t process = c->d->locations[location].process;
    if (process < c->d->process_count)
        c->processes[process].alive--;
    int code = gn_order_end(c->order, location);
    if (code == 0 && is_over(c, process, false))
        code = gn_condition_collectives_leave(c->collectives, process);
    return code == 0 ? 0 : gn_fail(err, code, "cannot match the messages of the trace: %s", strerror(-code));
}

/* ---- all ---- */

static int no_memory(struct gn_error *err)
{
    return gn_fail(err, -ENOMEM, "no memory to check the messages of the trace");
}

static int open_check(struct check *c, const struct gn_condition_terms *terms, struct gn_error *err)
{
    const struct gn_order_sink sink = {c, report};
    c->places = calloc(c->d->location_count + 1, sizeof *c->places);
    c->processes = calloc(c->d->process_count + 1, sizeof *c->processes);
    c->collectives = gn_condition_collectives_new(c->d, terms, c->condition);
    c->teams = gn_condition_teams_new(c->d, c->latency, c->condition);
    c->epochs = gn_condition_epochs_new(c->d, &(struct gn_condition_epochs_sink){c, count_epoch},
                                        &c->condition->coverage[GN_CONDITION_EPOCHS]);
    c->aside = calloc(c->d->region_count + 1, sizeof *c->aside);
    if (!c->places || !c->processes || !c->collectives || !c->teams || !c->epochs || !c->aside)
        return no_memory(err);
    for (uint32_t r = 0; r < c->d->region_count; r++)
        c->aside[r] = gn_teams_region(c->d, r) || gn_epochs_region(c->d, r);
    for (uint32_t l = 0; l < c->d->location_count; l++) {
        c->places[l].map = c->places[l].out = gn_presync_map(terms->presync, l);
        if (c->d->locations[l].process < c->d->process_count)
            c->processes[c->d->locations[l].process].alive++;
    }
    const struct gn_order_settings settings = {.in_time = true}; /* as gn_arrival_carry carries them */
    return gn_order_open(&c->order, c->d, &settings, &sink, err);
}

static void close_check(struct check *c)
{
    gn_order_close(c->order);
    gn_condition_collectives_free(c->collectives);
    gn_condition_teams_free(c->teams);
    gn_condition_epochs_free(c->epochs);
    free(c->places);
    free(c->processes);
    free(c->aside);
}

static int finish(struct check *c, struct gn_error *err)
{
    if (gn_order_finish(c->order) != 0 || !gn_condition_collectives_all_counted(c->collectives) ||
        gn_condition_teams_finish(c->teams) != 0)
        return no_memory(err);
    struct gn_condition_coverage *messages = &c->condition->coverage[GN_CONDITION_MESSAGES];
    messages->all -= messages->checked; /* of these, both ends have been seen */
    c->condition->unmatched += gn_order_stats(c->order)->unmatched_sends;
    return 0;
}

int gn_condition_check(struct gn_source *source, const struct gn_condition_terms *terms,
                       struct gn_condition *condition, struct gn_error *err)
{
    struct check c = {.d = source->definitions, .latency = terms->latency, .condition = condition};
    *condition = (struct gn_condition){.worst = {.from = GN_NONE, .to = GN_NONE}};
    int code = open_check(&c, terms, err);
    if (code == 0)
        code = gn_arrival_carry(source, &(struct gn_arrival_sink){&c, push, end}, err);
    if (code == 0)
        code = finish(&c, err);
    close_check(&c);
    return code;
}
