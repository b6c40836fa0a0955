#include "analyse/ordering.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Pushes of a location's events that have not been reported, oldest first: a ring. */
struct waiting {
    uint64_t *pushes;
    size_t first, count, capacity; /* capacity: 0 or a power of two */
};

struct gn_ordering {
    struct gn_ordering_settings settings;
    struct gn_order *order; /* NULL: unsorted */
    struct gn_predicate *predicate;
    struct gn_origin origin;
    const struct gn_output *output;
    uint64_t reported, matches;
    struct gn_error err; /* of what failed inside of the sort's report */
    /* what is measured */
    struct gn_measured measured;
    struct gn_backward *arrived, *came_out;
    struct waiting *waiting; /* per location */
    size_t waiting_count, waiting_capacity;
    uint64_t pushes;
    uint32_t pushing; /* location of the event that is being pushed and has not been reported; GN_NONE */
};

/* ---- how long events wait ---- */

static int append_waiting(struct gn_ordering *o, uint32_t location, uint64_t push)
{
    while (o->waiting_count <= location) {
        if (!gn_grow(&o->waiting, &o->waiting_capacity, o->waiting_count, sizeof *o->waiting))
            return -ENOMEM;
        o->waiting[o->waiting_count++] = (struct waiting){0};
    }
    struct waiting *w = &o->waiting[location];
    if (w->count == w->capacity) {
        size_t capacity = w->capacity ? 2 * w->capacity : 16;
        uint64_t *larger = malloc(capacity * sizeof *larger);
        if (!larger)
            return -ENOMEM;
        for (size_t i = 0; i < w->count; i++)
            larger[i] = w->pushes[(w->first + i) & (w->capacity - 1)];
        free(w->pushes);
        *w = (struct waiting){larger, 0, w->count, capacity};
    }
    w->pushes[(w->first + w->count++) & (w->capacity - 1)] = push;
    return 0;
}

/* An event of the location is reported: it is the oldest that waits there, or the one that is being pushed.
 */
static void measure_delay(struct gn_ordering *o, uint32_t location)
{
    struct waiting *w = location < o->waiting_count ? &o->waiting[location] : NULL;
    if (!w || w->count == 0) {
        if (location == o->pushing)
            o->pushing = GN_NONE;
        return;
    }
    uint64_t delay = o->pushes - w->pushes[w->first];
    w->first = (w->first + 1) & (w->capacity - 1);
    w->count--;
    o->measured.delayed += delay > 0;
    o->measured.delay_sum += (double)delay;
    if (delay > o->measured.delay_max)
        o->measured.delay_max = delay;
}

/* ---- reports ---- */

static int no_memory(struct gn_error *err)
{
    return gn_fail(err, -ENOMEM, "no memory to measure the sort");
}

static bool is_message(unsigned kind)
{
    const uint64_t kinds = 1ull << GN_EVENT_MPI_SEND | 1ull << GN_EVENT_MPI_ISEND |
                           1ull << GN_EVENT_MPI_RECV | 1ull << GN_EVENT_MPI_IRECV;
    return kind < 64 && kinds >> kind & 1;
}

static int measure_message(struct gn_ordering *o, const struct gn_event *event, const struct gn_place *place)
{
    bool lacks_send = place->flags & (GN_PLACE_UNMATCHED | GN_PLACE_RELEASED);
    bool receive = event->kind == GN_EVENT_MPI_RECV || event->kind == GN_EVENT_MPI_IRECV;
    if (receive && place->flags & GN_PLACE_CORRELATED) {
        o->measured.receives++;
        o->measured.backward_timestamps += event->ticks < place->sent_ticks;
    }
    if (receive && lacks_send && !(place->flags & GN_PLACE_CORRELATED))
        return o->settings.measure ? gn_backward_forgive(o->arrived, event) : 0;
    if (receive && lacks_send) /* it has a send, and came out without waiting for it: that is said */
        return 0;
    int code = gn_backward_see(o->came_out, event);
    return code < 0 ? code : 0;
}

static int report(void *self, const struct gn_event *event, const struct gn_place *place)
{
    struct gn_ordering *o = self;
    uint64_t number = o->reported++;
    int code = 0;
    if (!o->origin.known) {
        const struct gn_definitions *d = o->settings.definitions;
        o->origin = (struct gn_origin){true, d->first_ticks ? d->first_ticks : place->ticks,
                                       d->ticks_per_second ? d->ticks_per_second : 1, o->settings.bounds};
    }
    if (o->settings.measure)
        measure_delay(o, event->location);
    if (is_message(event->kind) && o->order && (o->settings.measure || o->settings.check) &&
        measure_message(o, event, place) != 0)
        return no_memory(&o->err);
    if (o->predicate && !gn_predicate_holds(o->predicate, event, place))
        return 0;
    o->matches++;
    if (o->output)
        code = o->output->put(o->output->self, number, event, place, &o->err);
    return code == 0 && o->matches == o->settings.stop_after ? -ECANCELED : code;
}

/* ---- pushes ---- */

/* What the sort returned: its own errors get words here, those of a report have theirs. */
static int explain(struct gn_ordering *o, const struct gn_event *event, int code, struct gn_error *err)
{
    if (code == 0 || code == -ECANCELED || code == -EEXIST)
        return code;
    if (o->err.text[0])
        return gn_fail(err, code, "%s", o->err.text);
    if (code == -EINVAL && event)
        return gn_fail(err, code, "an event of location %u, which is not defined or has ended",
                       event->location);
    return gn_fail(err, code, "cannot order the events: %s", strerror(-code));
}

static int before_push(struct gn_ordering *o, const struct gn_event *event)
{
    o->pushing = event->location;
    int code = gn_backward_see(o->arrived, event);
    return code < 0 ? code : 0;
}

static int after_push(struct gn_ordering *o)
{
    uint32_t left = o->pushing;
    uint64_t push = o->pushes++;
    o->pushing = GN_NONE;
    return left == GN_NONE ? 0 : append_waiting(o, left, push);
}

static void draw(struct gn_ordering *o)
{
    const struct gn_order_stats *stats = gn_order_stats(o->order);
    gn_plot_add(o->settings.plot, stats->nodes, stats->unreported);
}

static int push_unsorted(struct gn_ordering *o, const struct gn_event *event)
{
    struct gn_place place = {.ticks = event->ticks};
    return report(o, event, &place);
}

static int push(struct gn_ordering *o, const struct gn_event *event, const uint64_t *sequence,
                struct gn_error *err)
{
    if (o->settings.measure && before_push(o, event) != 0)
        return no_memory(err);
    int code = !o->order  ? push_unsorted(o, event)
               : sequence ? gn_order_push_numbered(o->order, event, *sequence)
                          : gn_order_push(o->order, event);
    if (code != 0)
        return explain(o, event, code, err);
    if (o->settings.measure && after_push(o) != 0)
        return no_memory(err);
    if (o->settings.plot && o->order)
        draw(o);
    return 0;
}

int gn_ordering_push(struct gn_ordering *o, const struct gn_event *event, struct gn_error *err)
{
    return push(o, event, NULL, err);
}

int gn_ordering_push_numbered(struct gn_ordering *o, const struct gn_event *event, uint64_t sequence,
                              struct gn_error *err)
{
    return push(o, event, &sequence, err);
}

int gn_ordering_end(struct gn_ordering *o, uint32_t location, struct gn_error *err)
{
    int code = o->order ? explain(o, NULL, gn_order_end(o->order, location), err) : 0;
    if (code == 0 && o->output && o->output->end)
        code = o->output->end(o->output->self, location, err);
    return code;
}

int gn_ordering_finish(struct gn_ordering *o, struct gn_error *err)
{
    return o->order ? explain(o, NULL, gn_order_finish(o->order), err) : 0;
}

/* ---- all ---- */

static int open_sort(struct gn_ordering *o, struct gn_error *err)
{
    struct gn_order_settings settings = {
        .adjust = o->settings.adjust, .in_time = o->settings.in_time, .is_live = o->settings.is_live};
    struct gn_order_sink sink = {o, report};
    return o->settings.unsorted ? 0
                                : gn_order_open(&o->order, o->settings.definitions, &settings, &sink, err);
}

static int open_predicate(struct gn_ordering *o, struct gn_error *err)
{
    struct gn_predicate_error wrong;
    if (!o->settings.when)
        return 0;
    int code =
        gn_predicate_open(&o->predicate, o->settings.when, o->settings.definitions, &o->origin, &wrong);
    if (code != 0) {
        fprintf(stderr, "gnomon order: --when: ");
        gn_predicate_explain(stderr, o->settings.when, &wrong);
        gn_fail(err, code, "%s", "");
    }
    return code;
}

int gn_ordering_open(struct gn_ordering **ordering, const struct gn_ordering_settings *settings,
                     struct gn_error *err)
{
    struct gn_ordering *o = *ordering = calloc(1, sizeof *o);
    if (!o)
        return no_memory(err);
    o->settings = *settings;
    o->pushing = GN_NONE;
    o->origin.bounds = settings->bounds;
    o->arrived = gn_backward_open(settings->definitions);
    o->came_out = gn_backward_open(settings->definitions);
    int code = o->arrived && o->came_out ? open_predicate(o, err) : no_memory(err);
    if (code == 0)
        code = open_sort(o, err);
    if (code != 0) {
        gn_ordering_close(o);
        *ordering = NULL;
    }
    return code;
}

void gn_ordering_close(struct gn_ordering *o)
{
    if (!o)
        return;
    gn_order_close(o->order);
    gn_predicate_close(o->predicate);
    gn_backward_close(o->arrived);
    gn_backward_close(o->came_out);
    for (size_t i = 0; i < o->waiting_count; i++)
        free(o->waiting[i].pushes);
    free(o->waiting);
    free(o);
}

const struct gn_origin *gn_ordering_origin(const struct gn_ordering *o)
{
    return &o->origin;
}

void gn_ordering_send_to(struct gn_ordering *o, const struct gn_output *output)
{
    o->output = output;
}

uint64_t gn_ordering_matches(const struct gn_ordering *o)
{
    return o->matches;
}

struct gn_measured gn_ordering_measured(const struct gn_ordering *o)
{
    struct gn_measured measured = o->measured;
    measured.backward_arrived = gn_backward_count(o->arrived);
    measured.backward_reported = gn_backward_count(o->came_out);
    return measured;
}

const struct gn_order_stats *gn_ordering_stats(const struct gn_ordering *o)
{
    return o->order ? gn_order_stats(o->order) : NULL;
}
