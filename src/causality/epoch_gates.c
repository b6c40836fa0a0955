#include "causality/order_inside.h"

#include <stdlib.h>

/*
 * Epochs on windows in the sort: causality/epochs says which are messages, each process its own half, and the
 * n-th of one process to another one on a window are the same. MPI_Win_wait is left when all whom it waits
 * for have called MPI_Win_complete: a gate for each message.
 */

/* Halves of one side that a pair of processes may have ahead, and all pairs together: with more, one of the
 * two does not say all it does (MPI_Win_test), and nothing of the pair is told any more. */
enum { AHEAD_MOST = 1 << 16, ALL_MOST = 1 << 20 };

struct half {
    struct half *next;
    struct gn_vertex *vertex;   /* that completes; NULL: … */
    struct gn_order_gate *gate; /* … that waits, at this one */
    uint64_t number;
};

/* From one process to another one, on a window. */
struct passage {
    uint32_t from, to;
    struct passage *next_from, *next_to; /* of the same process */
    bool is_over;
    size_t ahead;
    struct half *first, *last; /* that the others have not come for, all of the same side */
};

struct gn_epoch_gates {
    struct gn_epochs *epochs;
    struct gn_map passages;
    struct of_process {
        struct passage *from, *to;
    } * processes;
    size_t process_count, ahead;
};

static bool know_processes(struct gn_epoch_gates *e, size_t count)
{
    if (count <= e->process_count)
        return true;
    struct of_process *all = reallocarray(e->processes, count, sizeof *all);
    if (!all)
        return false;
    for (; e->process_count < count; e->process_count++)
        all[e->process_count] = (struct of_process){NULL, NULL};
    e->processes = all;
    return true;
}

static struct passage *find(struct gn_epoch_gates *e, const struct gn_epoch_half *h)
{
    const struct gn_key key = {h->window, (uint64_t)h->from << 32 | h->to};
    struct passage *p = gn_map_find(&e->passages, key);
    const size_t processes = (h->from > h->to ? h->from : h->to) + (size_t)1;
    if (p || !know_processes(e, processes) || !(p = calloc(1, sizeof *p)))
        return p;
    if (!gn_map_add(&e->passages, key, p)) {
        free(p);
        return NULL;
    }
    struct of_process *from = &e->processes[h->from], *to = &e->processes[h->to];
    *p = (struct passage){.from = h->from, .to = h->to, .next_from = from->from, .next_to = to->to};
    from->from = to->to = p;
    return p;
}

static struct half take_first(struct gn_epoch_gates *e, struct passage *p)
{
    struct half *first = p->first, taken = *first;
    p->first = first->next;
    p->ahead--;
    e->ahead--;
    free(first);
    return taken;
}

static void let_first_go(struct gn_order *order, struct passage *p)
{
    struct half half = take_first(order->epochs, p);
    if (half.vertex)
        gn_vertex_noticed(order, half.vertex);
    else
        gn_gate_complete(order, half.gate);
}

/* Nobody waits at this passage for what will not come. */
static void let_go(struct gn_order *order, struct passage *p)
{
    while (p->first)
        let_first_go(order, p);
}

/* Those of the other side that are ahead of the one with this number: of a part of a run they have no other
 * half. False: nor has that one. */
static bool catch_up(struct gn_order *order, struct passage *p, uint64_t number, bool is_send)
{
    while (p->first && (p->first->vertex == NULL) == is_send && number != GN_UNNUMBERED &&
           p->first->number < number)
        let_first_go(order, p);
    return !p->first || (p->first->vertex == NULL) != is_send || number == GN_UNNUMBERED ||
           p->first->number == number || p->first->number == GN_UNNUMBERED;
}

static int keep(struct gn_order *order, struct passage *p, struct gn_vertex *vertex,
                struct gn_order_gate *gate, uint64_t number)
{
    struct half *half = malloc(sizeof *half);
    if (!half)
        return -ENOMEM;
    *half = (struct half){.vertex = vertex, .gate = gate, .number = number};
    *(p->first ? &p->last->next : &p->first) = half;
    p->last = half;
    p->ahead++;
    if (++order->epochs->ahead > ALL_MOST || p->ahead > AHEAD_MOST) {
        p->is_over = true;
        let_go(order, p);
    }
    return 0;
}

/* Nothing more comes of it that anybody could count. */
static bool is_gone(const struct gn_order *order, uint32_t process)
{
    const struct gn_process_state *state = &order->processes[process];
    return state->ended || state->loose || gn_epochs_lost(order->epochs->epochs, process);
}

static int completes(struct gn_order *order, struct passage *p, struct gn_vertex *vertex, uint64_t number)
{
    const bool has_other = catch_up(order, p, number, true);
    const bool is_awaited = p->first && !p->first->vertex;
    if (p->is_over || !has_other || (!is_awaited && is_gone(order, p->to))) {
        gn_vertex_noticed(order, vertex);
        return 0;
    }
    if (!is_awaited)
        return keep(order, p, vertex, NULL, number);
    struct half waiting = take_first(order->epochs, p);
    int code = gn_gate_give(order, waiting.gate, vertex);
    gn_gate_complete(order, waiting.gate);
    gn_vertex_noticed(order, vertex);
    return code;
}

static int waits(struct gn_order *order, struct passage *p, struct gn_vertex *vertex, uint64_t number)
{
    const bool has_other = catch_up(order, p, number, false);
    const bool has_come = p->first && p->first->vertex;
    int code = 0;
    if (p->is_over || !has_other || (!has_come && is_gone(order, p->from))) {
        gn_vertex_noticed(order, vertex);
        return 0;
    }
    struct gn_order_gate *gate = gn_gate_make(order, !has_come);
    if (!gate)
        return -ENOMEM;
    if (has_come) {
        struct half half = take_first(order->epochs, p);
        code = gn_gate_give(order, gate, half.vertex);
        gn_vertex_noticed(order, half.vertex);
    }
    int failed = gn_gate_wait(order, gate, vertex);
    if (has_come)
        gn_gate_complete(order, gate);
    else if (failed == 0)
        failed = keep(order, p, NULL, gate, number);
    gn_vertex_noticed(order, vertex);
    return code ? code : failed;
}

static int half(void *self, const struct gn_epoch_half *h)
{
    struct gn_order *order = self;
    struct gn_vertex *vertex = h->token;
    if (!vertex)
        return 0;
    if (!h->is_countable || h->from >= order->process_count || h->to >= order->process_count) {
        gn_vertex_noticed(order, vertex);
        return 0;
    }
    struct passage *p = find(order->epochs, h);
    if (!p)
        return -ENOMEM;
    return h->is_send ? completes(order, p, vertex, h->number) : waits(order, p, vertex, h->number);
}

static void lost(void *self, uint32_t process)
{
    struct gn_order *order = self;
    if (!order->epochs || process >= order->epochs->process_count)
        return;
    const struct of_process *of = &order->epochs->processes[process];
    for (struct passage *p = of->from; p; p = p->next_from)
        if (p->first && !p->first->vertex)
            let_go(order, p);
    for (struct passage *p = of->to; p; p = p->next_to)
        if (p->first && p->first->vertex)
            let_go(order, p);
}

/* What has been lost before was not told to anybody. */
static bool open(struct gn_order *order)
{
    struct gn_epoch_gates *e = calloc(1, sizeof *e);
    const struct gn_epochs_sink sink = {.self = order,
                                        .token = gn_gate_token,
                                        .unused = gn_gate_unused,
                                        .half = half,
                                        .lost = lost,
                                        .has_parts = true};
    if (!e || !(e->epochs = gn_epochs_new(order->definitions, &sink))) {
        free(e);
        return false;
    }
    order->epochs = e;
    for (uint32_t p = 0; p < order->process_count; p++)
        if (order->processes[p].ended || order->processes[p].loose)
            gn_epochs_lose(e->epochs, p);
    return true;
}

int gn_epoch_gates_take(struct gn_order *order, struct gn_vertex *vertex)
{
    if (!order->epochs && !open(order))
        return -ENOMEM;
    return gn_epochs_event(order->epochs->epochs, &vertex->event);
}

void gn_epoch_gates_leave(struct gn_order *order, uint32_t process)
{
    if (!order->epochs)
        return;
    gn_epochs_lose(order->epochs->epochs, process);
    lost(order, process);
}

static bool drop(void *value, void *with)
{
    struct passage *p = value;
    while (p->first)
        take_first(with, p);
    free(p);
    return true;
}

void gn_epoch_gates_close(struct gn_order *order)
{
    struct gn_epoch_gates *e = order->epochs;
    if (!e)
        return;
    gn_epochs_free(e->epochs);
    if (e->passages.count > 0)
        gn_map_sweep(&e->passages, drop, e);
    gn_map_clear(&e->passages);
    free(e->processes);
    free(e);
}
