/*
 * synth/patterns — programs as few lines each: what the ranks do in one iteration.
 *
 * A call is simulated when all it waits for is known, so an iteration goes through the ranks in phases
 * (everybody sends; then everybody receives), or in the order in which messages go, or by the time of
 * arrival.
 */
#include "synth/patterns.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 4096, TAG_RING = 100, TAG_RESULT = 200, TAG_WORK, TAG_STOP };

uint16_t gn_pattern_call(struct gn_sim *sim, const char *name, uint32_t line, uint32_t tag)
{
    return gn_sim_call(
        sim,
        &(struct gn_sim_call){
            .name = name, .line = line, .comm = GN_SIM_COMM_WORLD, .tag = tag, .op = GN_COLLECTIVE_UNKNOWN});
}

void *gn_pattern_state(struct gn_sim *sim, size_t bytes, size_t doubles)
{
    sim->state = calloc(1, bytes + doubles * sizeof(double));
    sim->no_memory |= !sim->state;
    return sim->state;
}

/* ---- ring: everybody computes, sends to the right, receives from the left ---- */

struct ring {
    uint16_t compute, send, recv;
    double arrivals[]; /* at each rank */
};

static void ring_setup(struct gn_sim *sim)
{
    struct ring *ring = gn_pattern_state(sim, sizeof *ring, sim->count);
    if (!ring)
        return;
    ring->compute = gn_pattern_call(sim, "compute", 31, 0);
    ring->send = gn_pattern_call(sim, "MPI_Send", 32, TAG_RING);
    ring->recv = gn_pattern_call(sim, "MPI_Recv", 33, TAG_RING);
}

static void ring_step(struct gn_sim *sim)
{
    struct ring *ring = sim->state;
    for (uint32_t i = 0; i < sim->count; i++) {
        uint32_t right = i + 1 < sim->count ? i + 1 : 0;
        gn_sim_enter(sim, i, sim->step_call);
        gn_sim_compute(sim, i, ring->compute);
        if (right != i)
            ring->arrivals[right] = gn_sim_send(sim, i, ring->send, right, BYTES);
    }
    for (uint32_t i = 0; i < sim->count; i++) {
        uint32_t left = i > 0 ? i - 1 : sim->count - 1;
        if (left != i)
            gn_sim_recv(sim, i, ring->recv, left, BYTES, ring->arrivals[i]);
        gn_sim_leave(sim, i, sim->step_call);
    }
}

/* ---- master: rank 0 hands out work to whoever's result arrives first ---- */

struct master {
    uint16_t compute, check, result, work, stop, recv, irecv, wait, recv_work, recv_stop;
    uint32_t waiting;  /* workers whose result is under way or was not received: a heap by time of arrival */
    uint32_t *heap;    /* [waiting] ranks; behind arrivals */
    double arrivals[]; /* at the master, of each worker's result */
};

static void master_setup(struct gn_sim *sim)
{
    struct master *m = gn_pattern_state(sim, sizeof *m, sim->count + (sim->count + 1) / 2);
    if (!m)
        return;
    m->heap = (uint32_t *)(void *)(m->arrivals + sim->count);
    m->compute = gn_pattern_call(sim, "compute", 31, 0);
    m->check = gn_pattern_call(sim, "check", 32, 0);
    m->result = gn_pattern_call(sim, "MPI_Send", 33, TAG_RESULT);
    m->work = gn_pattern_call(sim, "MPI_Send", 34, TAG_WORK);
    m->stop = gn_pattern_call(sim, "MPI_Send", 35, TAG_STOP);
    m->recv = gn_pattern_call(sim, "MPI_Recv", 36, TAG_RESULT);
    m->irecv = gn_pattern_call(sim, "MPI_Irecv", 37, TAG_RESULT);
    m->wait = gn_pattern_call(sim, "MPI_Wait", 38, 0);
    m->recv_work = gn_pattern_call(sim, "MPI_Recv", 39, TAG_WORK);
    m->recv_stop = gn_pattern_call(sim, "MPI_Recv", 39, TAG_STOP);
}

static bool arrives_before(const struct master *m, uint32_t a, uint32_t b)
{
    return m->arrivals[a] != m->arrivals[b] ? m->arrivals[a] < m->arrivals[b] : a < b;
}

static void heap_push(struct master *m, uint32_t rank)
{
    uint32_t place = m->waiting++;
    for (; place > 0 && arrives_before(m, rank, m->heap[(place - 1) / 2]); place = (place - 1) / 2)
        m->heap[place] = m->heap[(place - 1) / 2];
    m->heap[place] = rank;
}

static uint32_t heap_pop(struct master *m)
{
    uint32_t first = m->heap[0], last = m->heap[--m->waiting], place = 0;
    for (uint32_t child; (child = 2 * place + 1) < m->waiting; place = child) {
        if (child + 1 < m->waiting && arrives_before(m, m->heap[child + 1], m->heap[child]))
            child++;
        if (!arrives_before(m, m->heap[child], last))
            break;
        m->heap[place] = m->heap[child];
    }
    m->heap[place] = last;
    return first;
}

static void work(struct gn_sim *sim, struct master *m, uint32_t worker)
{
    gn_sim_compute(sim, worker, m->compute);
    m->arrivals[worker] = gn_sim_send(sim, worker, m->result, 0, BYTES);
    heap_push(m, worker);
}

static void master_begin(struct gn_sim *sim)
{
    for (uint32_t worker = 1; worker < sim->count; worker++) {
        gn_sim_enter(sim, worker, sim->step_call);
        work(sim, sim->state, worker);
        gn_sim_leave(sim, worker, sim->step_call);
    }
}

/* Every other receive is posted first and waited for then: both ways say MPI_ANY_SOURCE. */
static uint32_t receive_any(struct gn_sim *sim, struct master *m)
{
    uint32_t worker = heap_pop(m);
    if (sim->ranks[0].requests++ % 2 == 0) {
        gn_sim_recv(sim, 0, m->recv, worker, BYTES, m->arrivals[worker]);
        return worker;
    }
    uint64_t request = sim->ranks[0].requests;
    gn_sim_enter(sim, 0, m->irecv);
    gn_sim_mark(sim, 0, m->irecv, GN_EVENT_MPI_IRECV_REQUEST, GN_ANY, request);
    gn_sim_leave(sim, 0, m->irecv);
    gn_sim_enter(sim, 0, m->wait);
    gn_sim_wait_until(sim, 0, m->arrivals[worker]);
    gn_sim_received(sim, 0, m->irecv, worker, BYTES, request);
    gn_sim_leave(sim, 0, m->wait);
    return worker;
}

static void serve(struct gn_sim *sim, struct master *m, uint16_t send, uint16_t recv)
{
    uint32_t worker = receive_any(sim, m);
    double arrival = gn_sim_send(sim, 0, send, worker, BYTES);
    gn_sim_enter(sim, worker, sim->step_call);
    gn_sim_recv(sim, worker, recv, 0, BYTES, arrival);
    if (send == m->work)
        work(sim, m, worker);
    gn_sim_leave(sim, worker, sim->step_call);
}

/* One iteration is the master's: as many results as there are workers, but few enough for short queues. */
static void master_step(struct gn_sim *sim)
{
    enum { MOST = 256 };
    struct master *m = sim->state;
    gn_sim_enter(sim, 0, sim->step_call);
    gn_sim_compute(sim, 0, m->check);
    for (uint32_t i = 0; i < MOST && i + 1 < sim->count; i++)
        serve(sim, m, m->work, m->recv_work);
    gn_sim_leave(sim, 0, sim->step_call);
}

static void master_finish(struct gn_sim *sim)
{
    struct master *m = sim->state;
    gn_sim_enter(sim, 0, sim->step_call);
    while (m->waiting > 0)
        serve(sim, m, m->stop, m->recv_stop);
    gn_sim_leave(sim, 0, sim->step_call);
}

/* ---- the table ---- */

static const struct gn_pattern patterns[] = {
    {.shown = {"ring", "compute, send to the right, receive from the left"},
     .setup = ring_setup,
     .step = ring_step},
    {.shown = {"stencil1", "exchange with the neighbours on a line: irecv, isend, waitall"},
     .setup = gn_stencil_setup,
     .step = gn_stencil_step,
     .dimensions = 1,
     .messages = 1},
    {.shown = {"stencil2", "the same on a plane"},
     .setup = gn_stencil_setup,
     .step = gn_stencil_step,
     .dimensions = 2,
     .messages = 1},
    {.shown = {"stencil3", "the same in space"},
     .setup = gn_stencil_setup,
     .step = gn_stencil_step,
     .dimensions = 3,
     .messages = 1},
    {.shown = {"multigrid",
               "V-cycles of a semicoarsening multigrid solver in space: messages over 1, 2, 4 … ranks"},
     .setup = gn_multigrid_setup,
     .step = gn_multigrid_step,
     .dimensions = 3,
     .computes = "relax"},
    {.shown = {"wavefront", "a plane swept from one corner and back: receive, compute, send on"},
     .setup = gn_wavefront_setup,
     .step = gn_wavefront_step,
     .dimensions = 2,
     .messages = 1},
    {.shown = {"master", "workers, and a master that receives from MPI_ANY_SOURCE"},
     .setup = master_setup,
     .begin = master_begin,
     .step = master_step,
     .finish = master_finish,
     .computes = "check"},
    {.shown = {"coupled",
               "two halves with steps and a ring of their own; then each rank with its partner in the other"},
     .setup = gn_coupled_setup,
     .step = gn_coupled_step},
    {.shown = {"collectives", "every blocking collective, on all ranks and on split communicators"},
     .setup = gn_collectives_setup,
     .begin = gn_collectives_begin,
     .step = gn_collectives_step,
     .finish = gn_collectives_finish,
     .split = true},
    {.shown = {"nbc", "nonblocking collectives, three at a time, complete in any order"},
     .setup = gn_nbc_setup,
     .begin = gn_collectives_begin,
     .step = gn_nbc_step,
     .finish = gn_collectives_finish,
     .split = true},
    {.shown = {"nonblocking",
               "two messages to each neighbour; waitany, tests, wildcards, cancelled receives"},
     .setup = gn_nonblocking_setup,
     .step = gn_nonblocking_step,
     .dimensions = 2,
     .messages = 2},
    {.shown = {"persistent", "stencil2 with persistent requests"},
     .setup = gn_persistent_setup,
     .begin = gn_persistent_begin,
     .step = gn_persistent_step,
     .finish = gn_persistent_finish,
     .dimensions = 2,
     .messages = 1},
    {.shown = {"unmatched", "ring; one send in ten is never received"},
     .setup = ring_setup,
     .step = ring_step,
     .unmatched = 0.1},
    {.shown = {"lost", "stencil2; one event in a hundred is lost"},
     .setup = gn_stencil_setup,
     .step = gn_stencil_step,
     .dimensions = 2,
     .messages = 1,
     .lost = 0.01},
};

enum { PATTERNS = sizeof patterns / sizeof *patterns };

const struct gn_pattern *gn_pattern_find(const char *name)
{
    for (size_t i = 0; name && i < PATTERNS; i++)
        if (strcmp(patterns[i].shown.name, name) == 0)
            return &patterns[i];
    return NULL;
}

const struct gn_synth_pattern *gn_synth_patterns(void)
{
    static struct gn_synth_pattern list[PATTERNS + 1];
    for (size_t i = 0; i < PATTERNS; i++)
        list[i] = patterns[i].shown;
    return list;
}
