/*
 * synth/patterns_coupled — a model of two components: the second half of the ranks has steps of its own,
 * one to four for each one of the first half; after these each rank hands over to its partner in the other
 * half.
 */
#include "synth/patterns.h"

enum { BYTES = 4096, TAG_FIRST = 100, TAG_SECOND, TAG_OVER, MOST_STEPS = 4 };

/* The ranks first, first + 1, …, which send to the next one. */
struct component {
    uint16_t compute, send, recv;
    uint32_t first, count, steps;
};

struct coupled {
    struct component halves[2];
    uint16_t send, recv; /* to the partner, from it */
    double arrivals[];   /* at each rank */
};

static struct component component_of(struct gn_sim *sim, uint32_t first, uint32_t count, uint32_t line,
                                     uint32_t tag)
{
    return (struct component){.compute = gn_pattern_call(sim, "compute", line, 0),
                              .send = gn_pattern_call(sim, "MPI_Send", line + 1, tag),
                              .recv = gn_pattern_call(sim, "MPI_Recv", line + 2, tag),
                              .first = first,
                              .count = count,
                              .steps = 1};
}

void gn_coupled_setup(struct gn_sim *sim)
{
    struct coupled *c = gn_pattern_state(sim, sizeof *c, sim->count);
    const uint32_t half = sim->count / 2;
    if (!c)
        return;
    c->halves[0] = component_of(sim, 0, half, 31, TAG_FIRST);
    c->halves[1] = component_of(sim, half, sim->count - half, 51, TAG_SECOND);
    c->halves[1].steps += (uint32_t)(gn_sim_hash(sim, TAG_SECOND, 0) % MOST_STEPS);
    c->send = gn_pattern_call(sim, "MPI_Send", 71, TAG_OVER);
    c->recv = gn_pattern_call(sim, "MPI_Recv", 72, TAG_OVER);
}

static void step_of(struct gn_sim *sim, struct coupled *c, const struct component *half)
{
    for (uint32_t i = 0; i < half->count; i++) {
        const uint32_t next = half->first + (i + 1) % half->count, rank = half->first + i;
        gn_sim_compute(sim, rank, half->compute);
        if (next != rank)
            c->arrivals[next] = gn_sim_send(sim, rank, half->send, next, BYTES);
    }
    for (uint32_t i = 0; i < half->count && half->count > 1; i++)
        gn_sim_recv(sim, half->first + i, half->recv, half->first + (i + half->count - 1) % half->count,
                    BYTES, c->arrivals[half->first + i]);
}

/* Of an odd number of ranks the last one has no partner. */
static void hand_over(struct gn_sim *sim, struct coupled *c)
{
    const uint32_t half = sim->count / 2;
    for (uint32_t rank = 0; rank < 2 * half; rank++) {
        const uint32_t partner = rank < half ? rank + half : rank - half;
        c->arrivals[partner] = gn_sim_send(sim, rank, c->send, partner, BYTES);
    }
    for (uint32_t rank = 0; rank < 2 * half; rank++)
        gn_sim_recv(sim, rank, c->recv, rank < half ? rank + half : rank - half, BYTES, c->arrivals[rank]);
}

void gn_coupled_step(struct gn_sim *sim)
{
    struct coupled *c = sim->state;
    for (uint32_t rank = 0; rank < sim->count; rank++)
        gn_sim_enter(sim, rank, sim->step_call);
    for (int i = 0; i < 2; i++)
        for (uint32_t k = 0; k < c->halves[i].steps; k++)
            step_of(sim, c, &c->halves[i]);
    hand_over(sim, c);
    for (uint32_t rank = 0; rank < sim->count; rank++)
        gn_sim_leave(sim, rank, sim->step_call);
}
