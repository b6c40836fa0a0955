/*
 * trace/patterns — programs as few lines each: what the ranks do in one iteration.
 *
 * A call is simulated when all it waits for is known, so an iteration goes through the ranks in phases
 * (everybody sends; then everybody receives), or in the order in which messages go, or by the time of
 * arrival.
 */
#include "trace/patterns.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 4096, TAG_HALO = 100 };

static uint16_t message_call(struct gn_sim *sim, const char *name, uint32_t line, uint32_t tag)
{
    return gn_sim_call(
        sim,
        &(struct gn_sim_call){
            .name = name, .line = line, .comm = GN_SIM_COMM_WORLD, .tag = tag, .op = GN_COLLECTIVE_UNKNOWN});
}

/* sim->state of `bytes` bytes, and behind it room for a number of doubles (zeros). */
static void *make_state(struct gn_sim *sim, size_t bytes, size_t doubles)
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
    struct ring *ring = make_state(sim, sizeof *ring, sim->count);
    if (!ring)
        return;
    ring->compute = message_call(sim, "compute", 31, 0);
    ring->send = message_call(sim, "MPI_Send", 32, TAG_HALO);
    ring->recv = message_call(sim, "MPI_Recv", 33, TAG_HALO);
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

/* ---- grids: ranks in 1, 2 or 3 dimensions exchange with their neighbours ---- */

enum { MAX_DIRECTIONS = 6, MAX_MESSAGES = 2, MAX_LINKS = MAX_DIRECTIONS * MAX_MESSAGES };

struct grid {
    uint32_t directions; /* 2d: down in dimension d; 2d + 1: up; the opposite of x is x ^ 1 */
    uint32_t extent[3];
    uint16_t compute, wait, start;
    uint16_t recv[MAX_DIRECTIONS], send[MAX_DIRECTIONS];
    uint32_t *neighbours; /* [rank * directions + direction], GN_NONE beyond the edge; behind arrivals */
    double arrivals[];    /* [(rank * directions + direction) * messages + message] */
};

/* Extents as equal as they can be, the largest last. */
static void balance(uint32_t count, uint32_t dimensions, uint32_t extent[3])
{
    extent[0] = extent[1] = extent[2] = 1;
    for (uint32_t d = 0; d + 1 < dimensions; d++) {
        uint32_t best = 1, left = dimensions - d;
        for (uint32_t x = 1; x <= count; x++) {
            uint64_t power = left == 3 ? (uint64_t)x * x * x : (uint64_t)x * x;
            if (power > count)
                break;
            if (count % x == 0)
                best = x;
        }
        extent[d] = best;
        count /= best;
    }
    extent[dimensions - 1] = count;
}

static void find_neighbours(const struct gn_sim *sim, struct grid *grid)
{
    for (uint32_t rank = 0; rank < sim->count; rank++) {
        uint32_t stride = 1, *of = &grid->neighbours[(size_t)rank * grid->directions];
        for (uint32_t d = 0; 2 * d < grid->directions; d++) {
            uint32_t place = rank / stride % grid->extent[d];
            of[2 * d] = place > 0 ? rank - stride : GN_NONE;
            of[2 * d + 1] = place + 1 < grid->extent[d] ? rank + stride : GN_NONE;
            stride *= grid->extent[d];
        }
    }
}

static struct grid *grid_new(struct gn_sim *sim, const char *recv, const char *send)
{
    uint32_t directions = 2 * sim->pattern->dimensions;
    size_t links = (size_t)sim->count * directions, slots = links * sim->pattern->messages;
    struct grid *grid = make_state(sim, sizeof *grid, slots + (links + 1) / 2);
    if (!grid)
        return NULL;
    grid->directions = directions;
    grid->neighbours = (uint32_t *)(void *)(grid->arrivals + slots);
    balance(sim->count, sim->pattern->dimensions, grid->extent);
    find_neighbours(sim, grid);
    grid->compute = message_call(sim, "compute", 31, 0);
    for (uint32_t d = 0; d < directions; d++) { /* a message has the tag of the direction that it goes in */
        grid->recv[d] = message_call(sim, recv, 40 + d, TAG_HALO + (d ^ 1));
        grid->send[d] = message_call(sim, send, 50 + d, TAG_HALO + d);
    }
    return grid;
}

static double *slot_of(const struct gn_sim *sim, struct grid *grid, uint32_t rank, uint32_t direction)
{
    return &grid->arrivals[((size_t)rank * grid->directions + direction) * sim->pattern->messages];
}

/* ---- stencils: irecv and isend to all, waitall ---- */

static void stencil_setup(struct gn_sim *sim)
{
    struct grid *grid = grid_new(sim, "MPI_Irecv", "MPI_Isend");
    if (grid)
        grid->wait = message_call(sim, "MPI_Waitall", 60, 0);
}

static void post_receives(struct gn_sim *sim, struct grid *grid, uint32_t rank, const uint32_t *neighbours)
{
    for (uint32_t d = 0; d < grid->directions; d++) {
        if (neighbours[d] == GN_NONE)
            continue;
        gn_sim_enter(sim, rank, grid->recv[d]);
        gn_sim_mark(sim, rank, grid->recv[d], GN_EVENT_MPI_IRECV_REQUEST, neighbours[d],
                    ++sim->ranks[rank].requests);
        gn_sim_leave(sim, rank, grid->recv[d]);
    }
}

static void post_sends(struct gn_sim *sim, struct grid *grid, uint32_t rank, const uint32_t *neighbours)
{
    for (uint32_t d = 0; d < grid->directions; d++) {
        if (neighbours[d] == GN_NONE)
            continue;
        gn_sim_enter(sim, rank, grid->send[d]);
        *slot_of(sim, grid, neighbours[d], d ^ 1) =
            gn_sim_sent(sim, rank, grid->send[d], neighbours[d], BYTES, ++sim->ranks[rank].requests, 0);
        gn_sim_leave(sim, rank, grid->send[d]);
        gn_sim_stray(sim, rank, neighbours[d]);
    }
}

static void wait_for_all(struct gn_sim *sim, struct grid *grid, uint32_t rank, const uint32_t *neighbours)
{
    uint32_t partners = 0;
    gn_sim_enter(sim, rank, grid->wait);
    for (uint32_t d = 0; d < grid->directions; d++)
        if (neighbours[d] != GN_NONE) {
            partners++;
            gn_sim_wait_until(sim, rank, *slot_of(sim, grid, rank, d));
        }
    uint64_t request = sim->ranks[rank].requests - 2 * partners;
    for (uint32_t d = 0; d < grid->directions; d++)
        if (neighbours[d] != GN_NONE)
            gn_sim_received(sim, rank, grid->recv[d], neighbours[d], BYTES, ++request);
    for (; partners > 0; partners--)
        gn_sim_mark(sim, rank, grid->wait, GN_EVENT_MPI_ISEND_COMPLETE, GN_NONE, ++request);
    gn_sim_leave(sim, rank, grid->wait);
}

static void stencil_step(struct gn_sim *sim)
{
    struct grid *grid = sim->state;
    const uint32_t *neighbours = grid->neighbours;
    for (uint32_t i = 0; i < sim->count; i++) {
        gn_sim_enter(sim, i, sim->step_call);
        gn_sim_compute(sim, i, grid->compute);
        post_receives(sim, grid, i, neighbours + (size_t)i * grid->directions);
        post_sends(sim, grid, i, neighbours + (size_t)i * grid->directions);
    }
    for (uint32_t i = 0; i < sim->count; i++) {
        wait_for_all(sim, grid, i, neighbours + (size_t)i * grid->directions);
        gn_sim_leave(sim, i, sim->step_call);
    }
}

/* ---- the table ---- */

static const struct gn_pattern patterns[] = {
    {.shown = {"ring", "compute, send to the right, receive from the left"},
     .setup = ring_setup,
     .step = ring_step},
    {.shown = {"stencil1", "exchange with the neighbours on a line: irecv, isend, waitall"},
     .setup = stencil_setup,
     .step = stencil_step,
     .dimensions = 1,
     .messages = 1},
    {.shown = {"stencil2", "the same on a plane"},
     .setup = stencil_setup,
     .step = stencil_step,
     .dimensions = 2,
     .messages = 1},
    {.shown = {"stencil3", "the same in space"},
     .setup = stencil_setup,
     .step = stencil_step,
     .dimensions = 3,
     .messages = 1},
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
