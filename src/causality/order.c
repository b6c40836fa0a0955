#include "causality/order_inside.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

enum { PATIENCE = 1000, SEARCH_LEAST = 65536, HURRY_EVERY = 1024 };

struct gn_early {
    uint64_t sequence;
    struct gn_event event;
};

static void make_ready(struct gn_order *order, uint32_t index)
{
    struct gn_location_state *location = &order->locations[index];
    if (location->is_ready)
        return;
    location->is_ready = true;
    location->next_ready = GN_NONE;
    if (order->first_ready == GN_NONE)
        order->first_ready = index;
    else
        order->locations[order->last_ready].next_ready = index;
    order->last_ready = index;
}

void gn_vertex_settled(struct gn_order *order, struct gn_vertex *vertex)
{
    if (--vertex->waits > 0 || !vertex->queued)
        return;
    if (order->numbers)
        gn_number_known(order, vertex);
    else if (order->locations[vertex->event.location].head == vertex)
        make_ready(order, vertex->event.location);
}

/* ---- reporting ---- */

static int give(struct gn_order *order, struct gn_location_state *location, const struct gn_event *event,
                struct gn_place *place, uint64_t floor_ticks)
{
    place->ticks = event->ticks;
    if (order->settings.adjust) {
        if (floor_ticks > event->ticks && floor_ticks - event->ticks > location->drift_ticks)
            location->drift_ticks = floor_ticks - event->ticks;
        if (__builtin_add_overflow(event->ticks, location->drift_ticks, &place->ticks))
            place->ticks = UINT64_MAX;
        order->stats.adjusted += location->drift_ticks > 0;
    }
    if (place->flags) {
        order->stats.released += (place->flags & GN_PLACE_RELEASED) != 0;
        order->stats.ambiguous += (place->flags & GN_PLACE_AMBIGUOUS) != 0;
        order->stats.unmatched_receives += (place->flags & GN_PLACE_UNMATCHED) != 0;
    }
    order->stats.reported++;
    int code = order->sink.report(order->sink.self, event, place);
    if (code != 0)
        order->stopped = code;
    return code;
}

static int report(struct gn_order *order, struct gn_vertex *vertex)
{
    struct gn_location_state *location = &order->locations[vertex->event.location];
    int code = give(order, location, &vertex->event, &vertex->place, vertex->floor_ticks);
    vertex->reported = true;
    order->unreported--;
    struct gn_vertex *receive = vertex->partner;
    if (receive && receive->needs_report) {
        receive->needs_report = false;
        gn_vertex_parted(receive);
        gn_vertex_after(receive, vertex->place.ticks);
        gn_vertex_settled(order, receive);
    }
    if (vertex->begins)
        gn_collective_reported(order, vertex);
    if (vertex->gates)
        gn_gates_reported(order, vertex);
    if (vertex->keeps == 0)
        gn_vertex_drop(order, vertex);
    return code;
}

static void report_head(struct gn_order *order, struct gn_location_state *location)
{
    while (location->head && location->head->waits == 0 && !order->stopped) {
        struct gn_vertex *vertex = location->head;
        location->head = vertex->next;
        vertex->queued = false;
        report(order, vertex);
    }
}

/* Everything that has become eligible. Reports set further locations free: a list, not a recursion. */
static int settle_all(struct gn_order *order)
{
    while (order->first_ready != GN_NONE && !order->stopped) {
        struct gn_location_state *location = &order->locations[order->first_ready];
        order->first_ready = location->next_ready;
        location->is_ready = false;
        report_head(order, location);
    }
    return order->stopped;
}

/* ---- pushing ---- */

static void count_step(struct gn_order *order)
{
    order->stats.pushed++;
    order->nodes_sum += order->nodes;
    order->unreported_sum += order->unreported;
    if (order->nodes > order->nodes_max)
        order->nodes_max = order->nodes;
    if (order->unreported > order->unreported_max)
        order->unreported_max = order->unreported;
}

/* The event observed last at this location has been followed by another one, or by the end. */
static void followed(struct gn_order *order, struct gn_location_state *location)
{
    if (location->last)
        gn_vertex_noticed(order, location->last);
    else if (location->any)
        order->nodes--;
    location->last = NULL;
    location->any = false;
}

static void enqueue(struct gn_location_state *location, struct gn_vertex *vertex)
{
    vertex->queued = true;
    vertex->next = NULL;
    if (location->head)
        location->tail = location->tail->next = vertex;
    else
        location->head = location->tail = vertex;
}

static int push_vertex(struct gn_order *order, struct gn_location_state *location, struct gn_vertex *vertex)
{
    location->last = vertex;
    order->unreported++;
    enqueue(location, vertex);
    if (location->head == vertex && vertex->waits == 0)
        make_ready(order, vertex->event.location);
    return settle_all(order);
}

static int lose(struct gn_order *order, const struct gn_event *event)
{
    uint32_t location = event->location, process = order->locations[location].process;
    order->stats.lost += event->request;
    if (process >= order->process_count)
        return 0;
    const bool is_thread = order->locations[location].thread;
    int code = is_thread ? gn_threads_lose(order, process) : 0;
    gn_receives_end(order, location);
    int unmet = is_thread ? gn_teams_lose(order->teams, process) : 0;
    code = code ? code : unmet;
    if (!gn_process_of(order, process)->loose) {
        gn_process_of(order, process)->loose = true;
        gn_collectives_lose(order, process);
    }
    gn_channels_abandon(order, process);
    gn_epoch_gates_leave(order, process);
    int failed = is_thread ? gn_threads_flush(order, process) : 0;
    return code ? code : failed;
}

int gn_vertex_connect(struct gn_order *order, struct gn_vertex *vertex)
{
    switch (vertex->event.kind) {
    case GN_EVENT_MPI_SEND:
    case GN_EVENT_MPI_ISEND:
        return gn_channels_send(order, vertex);
    case GN_EVENT_MPI_RECV:
    case GN_EVENT_MPI_IRECV:
        return gn_receive_completed(order, vertex);
    case GN_EVENT_COLLECTIVE_BEGIN:
    case GN_EVENT_NBC_REQUEST:
    case GN_EVENT_RMA_COLLECTIVE_BEGIN:
        return gn_collective_begin(order, vertex);
    default:
        return gn_collective_end(order, vertex);
    }
}

static bool is_plain(unsigned kind)
{
    return kind != GN_EVENT_MPI_IRECV_REQUEST && kind != GN_EVENT_MPI_REQUEST_CANCELLED &&
           kind != GN_EVENT_LOST && !gn_is_connected(kind);
}

static int go_through(struct gn_order *order, struct gn_location_state *location,
                      const struct gn_event *event)
{
    struct gn_place place = {.sender = GN_NONE, .instance = GN_NONE};
    location->any = true;
    return give(order, location, event, &place, 0);
}

/* Events without successors or predecessors elsewhere, though they may say something about those that have.
 */
static int push_local(struct gn_order *order, struct gn_location_state *location,
                      const struct gn_event *event)
{
    int code = 0;
    location->counted_ticks = event->ticks;
    if (event->kind == GN_EVENT_LOST)
        code = lose(order, event);
    else if (location->thread)
        code = gn_thread_observed(order, event, NULL);
    else
        code = gn_receive_heard(order, event);
    if (code != 0)
        return code;
    if (location->head) { /* something ahead of it waits */
        struct gn_vertex *vertex = gn_vertex_make(order, event);
        return vertex ? push_vertex(order, location, vertex) : -ENOMEM;
    }
    code = go_through(order, location, event);
    return order->first_ready == GN_NONE ? code : settle_all(order);
}

static int push_connected(struct gn_order *order, struct gn_location_state *location,
                          const struct gn_event *event)
{
    struct gn_vertex *vertex = gn_vertex_make(order, event);
    location->counted_ticks = event->ticks;
    int code = !vertex                        ? -ENOMEM
               : location->thread             ? gn_thread_observed(order, event, vertex)
               : gn_is_connected(event->kind) ? gn_vertex_connect(order, vertex)
                                              : gn_gates_take(order, vertex);
    int failed = vertex ? push_vertex(order, location, vertex) : 0;
    return code ? code : failed;
}

static bool know_processes(struct gn_order *order)
{
    const size_t known = order->process_count, count = order->definitions->process_count;
    struct gn_process_state *all = reallocarray(order->processes, count, sizeof *all);
    if (!all)
        return false;
    memset(all + known, 0, (count - known) * sizeof *all);
    for (size_t i = known; i < count; i++)
        all[i].forgotten.receiver = GN_NONE;
    for (size_t i = 0; i < known; i++) { /* lists begin in what has moved */
        if (all[i].expected)
            all[i].expected->reference = &all[i].expected;
        if (all[i].unclaimed)
            all[i].unclaimed->reference = &all[i].unclaimed;
    }
    order->processes = all;
    order->process_count = count;
    return true;
}

static bool know_location(struct gn_order *order, uint32_t index)
{
    struct gn_location_state *location = &order->locations[index];
    location->process = order->definitions->locations[index].process;
    location->next_of_process = GN_NONE;
    if (location->process >= order->process_count)
        return true;
    struct gn_process_state *process = gn_process_of(order, location->process);
    if (process->locations == 1) {
        if (!gn_receives_share(order, process->last_location) ||
            !gn_thread_open(order, process->last_location))
            return false;
        gn_thread_was_alone(order, process->last_location);
    }
    if (process->locations > 0 && !gn_thread_open(order, index))
        return false;
    if (process->locations++ > 0)
        location->next_of_process = process->last_location;
    else
        process->first_location = index;
    process->last_location = index;
    process->alive++;
    return true;
}

bool gn_order_learn_locations(struct gn_order *order)
{
    const struct gn_definitions *d = order->definitions;
    if (d->process_count > order->process_count && !know_processes(order))
        return false;
    if (d->location_count <= order->location_count)
        return true;
    struct gn_location_state *all =
        aligned_alloc(_Alignof(struct gn_location_state), d->location_count * sizeof *all);
    if (!all)
        return false;
    memset(all, 0, d->location_count * sizeof *all);
    if (order->location_count)
        memcpy(all, order->locations, order->location_count * sizeof *all);
    free(order->locations);
    order->locations = all;
    for (; order->location_count < d->location_count; order->location_count++)
        if (!know_location(order, (uint32_t)order->location_count))
            return false;
    return true;
}

/* Each time twice as many events wait as the last time: the search costs nothing in proportion. */
static int break_cycles(struct gn_order *order, int code)
{
    order->search_at = 2 * order->unreported;
    gn_break_cycles(order);
    int failed = settle_all(order);
    if (2 * order->unreported < order->search_at) /* there were some; there may be more */
        order->search_at = order->unreported < SEARCH_LEAST ? SEARCH_LEAST : 2 * order->unreported;
    return code ? code : failed;
}

static void hurry(struct gn_order *order, struct gn_location_state *location)
{
    if (location->deferred_receives)
        gn_receives_hurry(order, location);
    if (location->first_start)
        gn_collectives_hurry(order, location);
}

/* Another thread has opened what this one waits for, and may itself be silent: its patience ends here, too.
 */
static void hurry_others(struct gn_order *order, struct gn_location_state *location)
{
    location->waits_elsewhere = false;
    for (uint32_t l = gn_process_of(order, location->process)->last_location; l != GN_NONE;
         l = order->locations[l].next_of_process) {
        struct gn_location_state *other = &order->locations[l];
        if (other == location || (!other->deferred_receives && !other->first_start))
            continue;
        location->waits_elsewhere = true;
        other->observed++;
        hurry(order, other);
    }
}

void gn_location_hurry_now(struct gn_order *order, struct gn_location_state *location)
{
    hurry(order, location);
    if (__builtin_expect(location->waits_elsewhere, 0))
        hurry_others(order, location);
}

static int hurry_threads(struct gn_order *order)
{
    int code = gn_threads_hurry(order), failed = settle_all(order);
    return code ? code : failed;
}

int gn_order_push(struct gn_order *order, const struct gn_event *event)
{
    if (order->stopped)
        return order->stopped;
    if (!gn_order_knows_locations(order))
        return order->stopped = -ENOMEM;
    if (event->location >= order->location_count || order->locations[event->location].ended)
        return -EINVAL;
    struct gn_location_state *location = &order->locations[event->location];
    int code;
    __builtin_prefetch(event + 6); /* events mostly come from arrays */
    followed(order, location);
    order->nodes++;
    gn_location_hurry(order, location);
    const bool is_of_epoch = gn_is_of_epoch(order, event);
    if (is_plain(event->kind) && !location->head && !location->thread && !is_of_epoch &&
        order->first_ready == GN_NONE)
        code = go_through(order, location, event); /* most events: see order.h */
    else if (gn_is_connected(event->kind) || is_of_epoch || (location->thread && gn_is_of_team(order, event)))
        code = push_connected(order, location, event);
    else
        code = push_local(order, location, event);
    if (__builtin_expect(order->turns > 0 && order->stats.pushed % HURRY_EVERY == 0, 0) && code == 0)
        code = hurry_threads(order);
    if (__builtin_expect(order->unreported > order->search_at, 0))
        code = break_cycles(order, code);
    count_step(order);
    if (__builtin_expect(code != 0, 0))
        order->stopped = code;
    return code;
}

/* ---- delivery that is not FIFO: a heap of the early ones ---- */

static void sift_up(struct gn_early *heap, size_t at)
{
    for (size_t parent; at > 0 && heap[parent = (at - 1) / 2].sequence > heap[at].sequence; at = parent) {
        struct gn_early swap = heap[at];
        heap[at] = heap[parent];
        heap[parent] = swap;
    }
}

static struct gn_key early_key(uint32_t location, uint64_t sequence)
{
    return (struct gn_key){sequence, location};
}

static struct gn_early take_earliest(struct gn_order *order, struct gn_location_state *location)
{
    struct gn_early *heap = location->early, first = heap[0], last = heap[--location->early_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < location->early_count; at = child) {
        if (child + 1 < location->early_count && heap[child + 1].sequence < heap[child].sequence)
            child++;
        if (heap[child].sequence >= last.sequence)
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    gn_map_remove(&order->early, early_key(first.event.location, first.sequence));
    return first;
}

static int keep_early(struct gn_order *order, const struct gn_event *event, uint64_t sequence)
{
    struct gn_location_state *location = &order->locations[event->location];
    struct gn_key key = early_key(event->location, sequence);
    if (gn_map_find(&order->early, key))
        return -EEXIST;
    if (!gn_grow(&location->early, &location->early_capacity, location->early_count,
                 sizeof *location->early) ||
        !gn_map_add(&order->early, key, order))
        return -ENOMEM;
    location->early[location->early_count] = (struct gn_early){sequence, *event};
    sift_up(location->early, location->early_count++);
    return 0;
}

static int push_due(struct gn_order *order, uint32_t index)
{
    int code = 0;
    struct gn_location_state *location = &order->locations[index];
    while (code == 0 && location->early_count > 0 && location->early[0].sequence == location->expected) {
        struct gn_early due = take_earliest(order, location);
        location->expected++;
        code = gn_order_push(order, &due.event);
        location = &order->locations[index];
    }
    return code;
}

int gn_order_push_numbered(struct gn_order *order, const struct gn_event *event, uint64_t sequence)
{
    if (order->stopped)
        return order->stopped;
    if (!gn_order_knows_locations(order))
        return order->stopped = -ENOMEM;
    if (event->location >= order->location_count || order->locations[event->location].ended)
        return -EINVAL;
    struct gn_location_state *location = &order->locations[event->location];
    if (sequence < location->expected)
        return -EEXIST;
    if (sequence == location->expected) {
        location->expected++;
        int code = gn_order_push(order, event);
        return code ? code : push_due(order, event->location);
    }
    return keep_early(order, event, sequence);
}

/* Numbers that never came are lost events. */
static int push_early(struct gn_order *order, uint32_t index)
{
    int code = 0;
    while (code == 0 && order->locations[index].early_count > 0) {
        struct gn_location_state *location = &order->locations[index];
        struct gn_event lost = gn_event_bare(GN_EVENT_LOST, index, location->early[0].event.ticks);
        lost.request = location->early[0].sequence - location->expected;
        location->expected = location->early[0].sequence;
        code = gn_order_push(order, &lost);
        if (code == 0)
            code = push_due(order, index);
    }
    return code;
}

/* ---- ends ---- */

void gn_location_over(struct gn_order *order, uint32_t location)
{
    gn_thread_over(order, location);
    gn_receives_end(order, location);
    gn_collectives_end(order, location);
}

int gn_order_end(struct gn_order *order, uint32_t index)
{
    if (!gn_order_knows_locations(order))
        return order->stopped = -ENOMEM;
    if (index >= order->location_count || order->locations[index].ended)
        return -EINVAL;
    int code = order->stopped ? order->stopped : push_early(order, index);
    struct gn_location_state *location = &order->locations[index];
    location->ended = true;
    followed(order, location);
    int taken = gn_thread_ended(order, index);
    code = code ? code : taken;
    if (!gn_thread_waits(order, index))
        gn_location_over(order, index);
    struct gn_process_state *process =
        location->process < order->process_count ? gn_process_of(order, location->process) : NULL;
    if (process && --process->alive == 0) {
        process->ended = true;
        int unmet = gn_teams_end(order->teams, location->process);
        code = code ? code : unmet;
        if (!process->loose)
            gn_collectives_leave(order, location->process);
        gn_channels_abandon(order, location->process);
        gn_channels_unclaim(order, location->process);
        gn_epoch_gates_leave(order, location->process);
    }
    int failed = settle_all(order);
    return code ? code : failed;
}

/* Only a trace that contradicts itself can still hold something back: events that wait for each other. */
static int release_rest(struct gn_order *order)
{
    for (uint32_t i = 0; i < order->location_count && order->unreported > 0; i++)
        while (order->locations[i].head && !order->stopped) {
            gn_vertex_release(order, order->locations[i].head);
            settle_all(order);
        }
    return order->stopped;
}

int gn_order_finish(struct gn_order *order)
{
    int code = gn_order_knows_locations(order) ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < order->location_count; i++)
        if (!order->locations[i].ended) {
            int failed = gn_order_end(order, i);
            code = code ? code : failed;
        }
    int failed = release_rest(order);
    return code ? code : failed;
}

/* ---- the sort ---- */

int gn_order_open(struct gn_order **result, const struct gn_definitions *definitions,
                  const struct gn_order_settings *settings, const struct gn_order_sink *sink,
                  struct gn_error *err)
{
    struct gn_order *order = calloc(1, sizeof *order);
    if (!order)
        return gn_fail(err, -ENOMEM, "no memory to sort events");
    order->definitions = definitions;
    order->sink = *sink;
    if (settings)
        order->settings = *settings;
    if (order->settings.patience == 0)
        order->settings.patience = PATIENCE;
    order->search_at = SEARCH_LEAST;
    order->first_ready = order->last_ready = GN_NONE;
    if (!gn_order_knows_locations(order) || !gn_gates_open(order)) {
        gn_order_close(order);
        return gn_fail(err, -ENOMEM, "no memory to sort the events of %zu locations",
                       definitions->location_count);
    }
    *result = order;
    return 0;
}

void gn_order_close(struct gn_order *order)
{
    if (!order)
        return;
    gn_collectives_close(order);
    gn_receives_close(order);
    gn_channels_close(order);
    gn_threads_close(order);
    gn_gates_close(order);
    for (size_t i = 0; i < order->location_count; i++)
        free(order->locations[i].early);
    gn_map_clear(&order->early);
    gn_vertices_close(order);
    free(order->locations);
    free(order->processes);
    free(order);
}

const struct gn_order_stats *gn_order_stats(struct gn_order *order)
{
    order->stats.nodes = order->nodes;
    order->stats.nodes_max = order->nodes_max;
    order->stats.nodes_sum = (double)order->nodes_sum;
    order->stats.unreported = order->unreported;
    order->stats.unreported_max = order->unreported_max;
    order->stats.unreported_sum = (double)order->unreported_sum;
    return &order->stats;
}
