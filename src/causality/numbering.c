#include "causality/numbering.h"

#include "causality/order_inside.h"

#include <stdlib.h>

/* Events of a location that come while an open receive is in the way of one that has completed. */
enum { PATIENCE = 20000 };

struct gn_numbering {
    struct gn_order *order; /* of which only the counting is used: nothing is pushed */
    struct gn_numbering_sink sink;
};

static int report_nothing(void *self, const struct gn_event *event, const struct gn_place *place)
{
    (void)self;
    (void)event;
    (void)place;
    return 0;
}

int gn_numbering_open(struct gn_numbering **result, const struct gn_definitions *definitions,
                      const struct gn_numbering_sink *sink, struct gn_error *err)
{
    struct gn_numbering *numbering = calloc(1, sizeof *numbering);
    if (!numbering)
        return gn_fail(err, -ENOMEM, "no memory to count messages");
    int code = gn_order_open(&numbering->order, definitions,
                             &(struct gn_order_settings){.in_time = true, .patience = PATIENCE},
                             &(struct gn_order_sink){.report = report_nothing}, err);
    if (code != 0) {
        free(numbering);
        return code;
    }
    numbering->sink = *sink;
    numbering->order->numbers = &numbering->sink;
    *result = numbering;
    return 0;
}

void gn_numbering_close(struct gn_numbering *numbering)
{
    if (!numbering)
        return;
    gn_order_close(numbering->order);
    free(numbering);
}

static bool is_about_requests(unsigned kind)
{
    return kind == GN_EVENT_MPI_IRECV_REQUEST || kind == GN_EVENT_MPI_REQUEST_CANCELLED;
}

bool gn_numbering_wants(const struct gn_numbering *numbering, const struct gn_event *event)
{
    const struct gn_order *order = numbering->order;
    if (gn_is_connected(event->kind) || is_about_requests(event->kind))
        return true;
    return (event->kind == GN_EVENT_ENTER || event->kind == GN_EVENT_LEAVE) &&
           event->location < order->location_count && order->locations[event->location].thread;
}

void gn_number_known(struct gn_order *order, struct gn_vertex *vertex)
{
    const struct gn_numbering_sink *sink = order->numbers;
    const unsigned kind = vertex->event.kind;
    const bool is_send = kind == GN_EVENT_MPI_SEND || kind == GN_EVENT_MPI_ISEND;
    int code = 0;
    if (is_send || kind == GN_EVENT_MPI_RECV || kind == GN_EVENT_MPI_IRECV)
        code = sink->message(sink->self, &(struct gn_numbered_message){.token = vertex->token,
                                                                       .is_send = is_send,
                                                                       .is_guess = vertex->is_open,
                                                                       .is_low = vertex->is_low,
                                                                       .number = vertex->number});
    if (code != 0)
        order->stopped = code;
    gn_vertex_drop(order, vertex);
}

static int take_connected(struct gn_order *order, const struct gn_event *event, void *token)
{
    struct gn_vertex *vertex = gn_vertex_make(order, event);
    if (!vertex)
        return -ENOMEM;
    order->nodes++; /* gn_vertex_drop takes it back */
    vertex->token = token;
    int code = order->locations[event->location].thread ? gn_thread_observed(order, event, vertex)
                                                        : gn_vertex_connect(order, vertex);
    vertex->queued = true;
    if (vertex->waits == 0)
        gn_number_known(order, vertex);
    return code;
}

int gn_numbering_take(struct gn_numbering *numbering, const struct gn_event *event, void *token)
{
    struct gn_order *order = numbering->order;
    if (order->stopped)
        return order->stopped;
    if (!gn_order_knows_locations(order))
        return order->stopped = -ENOMEM;
    if (event->location >= order->location_count)
        return -EINVAL;
    struct gn_location_state *location = &order->locations[event->location];
    int code = 0;
    gn_location_hurry(order, location);
    if (gn_is_connected(event->kind))
        code = take_connected(order, event, token);
    else if (location->thread)
        code = gn_thread_observed(order, event, NULL);
    else
        code = gn_receive_heard(order, event);
    if (code != 0)
        order->stopped = code;
    return order->stopped;
}

int gn_numbering_end(struct gn_numbering *numbering, uint32_t process)
{
    struct gn_order *order = numbering->order;
    if (order->stopped)
        return order->stopped;
    if (!gn_order_knows_locations(order) || process >= order->process_count)
        return order->stopped = -ENOMEM;
    if (gn_process_of(order, process)->locations == 0)
        return 0;
    for (uint32_t l = gn_process_of(order, process)->last_location; l != GN_NONE;
         l = order->locations[l].next_of_process)
        gn_location_over(order, l);
    gn_collectives_forget(order, process);
    gn_receives_forget(order);
    gn_channels_clear(order);
    return order->stopped;
}

uint64_t gn_numbering_contradictions(const struct gn_numbering *numbering)
{
    return numbering->order->stats.contradictions;
}
