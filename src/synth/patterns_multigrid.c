/*
 * synth/patterns_multigrid — V-cycles of a solver as SMG2000's (Brown, Falgout & Jones 2000): ranks in space,
 * each with a block of the problem of the same size.
 *
 * The problem is coarsened in one dimension at a time. On level l of a dimension every 2^l-th rank along it
 * still has a part, and exchanges with the next ones that have: the distance of partners doubles from level
 * to level, and most messages go past somebody. Relaxing on a level of z means solving planes, by a V-cycle
 * in y whose relaxation solves lines in x:
 *
 *   z = 1:  y = 1:  x = 1, 2, 4 …   y = 2:  x = 1, 2, 4 …   …   restrict
 *   z = 2:  the same, of the ranks whose z is even              restrict
 *   …                                                           then back, interpolating
 *
 * An iteration ends with the residual's norm, a reduction over all ranks.
 */
#include "synth/patterns.h"

enum {
    X,
    Y,
    Z,
    DIMENSIONS,
    SIDES = 2,
    BYTES = 2048,
    NORM_BYTES = 8,
    TAG = 300,
    KERNELS = 4,
    DOWN = 0,
    UP = 1
};

struct multigrid {
    uint32_t extent[DIMENSIONS];
    uint16_t pack, unpack, kernel[KERNELS], wait, norm, reduce;
    uint16_t recv[DIMENSIONS * SIDES], send[DIMENSIONS * SIDES];
    double arrivals[]; /* [rank * SIDES + side] of messages that come from that side */
};

/* What happens at once: who has a part (the stride in each dimension), and along which one they exchange. */
struct stage {
    uint32_t stride[DIMENSIONS];
    uint32_t dimension;
    uint16_t kernel;
};

/* ---- calls ---- */

static uint16_t work_call(struct gn_sim *sim, const char *name, uint32_t line, double share)
{
    return gn_sim_call(sim, &(struct gn_sim_call){.name = name,
                                                  .line = line,
                                                  .comm = GN_SIM_COMM_WORLD,
                                                  .share = share,
                                                  .op = GN_COLLECTIVE_UNKNOWN});
}

/* The tag of a message says which way it goes, of all those along a dimension. */
static void define_messages(struct gn_sim *sim, struct multigrid *m)
{
    for (uint32_t i = 0; i < DIMENSIONS * SIDES; i++) {
        m->recv[i] = gn_pattern_call(sim, "MPI_Irecv", 40 + i, TAG + (i ^ 1));
        m->send[i] = gn_pattern_call(sim, "MPI_Isend", 50 + i, TAG + i);
    }
    m->wait = gn_pattern_call(sim, "MPI_Waitall", 60, 0);
    m->reduce = gn_sim_call(sim, &(struct gn_sim_call){.name = "MPI_Allreduce",
                                                       .line = 70,
                                                       .comm = GN_SIM_COMM_WORLD,
                                                       .tag = GN_NONE,
                                                       .op = GN_COLLECTIVE_ALLREDUCE});
}

void gn_multigrid_setup(struct gn_sim *sim)
{
    struct multigrid *m = gn_pattern_state(sim, sizeof *m, (size_t)sim->count * SIDES);
    if (!m)
        return;
    gn_grid_extents(m->extent, sim->count, DIMENSIONS);
    m->kernel[X] = work_call(sim, "cyclic_reduction", 31, 0.25);
    m->kernel[Y] = work_call(sim, "relax", 32, 0.5);
    m->kernel[Z] = work_call(sim, "compute", 33, 1);
    m->kernel[DIMENSIONS] = work_call(sim, "interpolate", 34, 0.5);
    m->norm = work_call(sim, "inner_product", 35, 0.25);
    m->pack = work_call(sim, "pack", 36, 0.0625);
    m->unpack = work_call(sim, "unpack", 37, 0.0625);
    define_messages(sim, m);
}

/* ---- one stage ---- */

static bool has_part(const struct multigrid *m, const struct stage *stage, uint32_t rank)
{
    for (int d = 0; d < DIMENSIONS; d++) {
        if (rank % m->extent[d] % stage->stride[d] != 0)
            return false;
        rank /= m->extent[d];
    }
    return true;
}

/* GN_NONE: beyond the edge. */
static uint32_t partner_of(const struct multigrid *m, const struct stage *stage, uint32_t rank, int side)
{
    uint32_t between = 1, stride = stage->stride[stage->dimension];
    for (uint32_t d = 0; d < stage->dimension; d++)
        between *= m->extent[d];
    uint32_t place = rank / between % m->extent[stage->dimension];
    if (side == DOWN)
        return place >= stride ? rank - stride * between : GN_NONE;
    return stride < m->extent[stage->dimension] - place ? rank + stride * between : GN_NONE;
}

/* Requests of a stage are numbered by kind and side: receives from 1, sends from 3. */
static void post(struct gn_sim *sim, const struct stage *stage, uint32_t rank)
{
    struct multigrid *m = sim->state;
    uint64_t first = sim->ranks[rank].requests;
    gn_sim_compute(sim, rank, m->pack);
    for (int side = DOWN; side <= UP; side++) {
        uint32_t partner = partner_of(m, stage, rank, side);
        uint16_t call = m->recv[stage->dimension * SIDES + (uint32_t)side];
        if (partner == GN_NONE)
            continue;
        gn_sim_enter(sim, rank, call);
        gn_sim_mark(sim, rank, call, GN_EVENT_MPI_IRECV_REQUEST, partner, first + 1 + (uint64_t)side);
        gn_sim_leave(sim, rank, call);
    }
    for (int side = DOWN; side <= UP; side++) {
        uint32_t partner = partner_of(m, stage, rank, side);
        uint16_t call = m->send[stage->dimension * SIDES + (uint32_t)side];
        if (partner == GN_NONE)
            continue;
        gn_sim_enter(sim, rank, call);
        m->arrivals[partner * SIDES + (uint32_t)!side] =
            gn_sim_sent(sim, rank, call, partner, BYTES, first + 3 + (uint64_t)side, 0);
        gn_sim_leave(sim, rank, call);
        gn_sim_stray(sim, rank, partner);
    }
}

static void complete(struct gn_sim *sim, const struct stage *stage, uint32_t rank)
{
    struct multigrid *m = sim->state;
    uint64_t first = sim->ranks[rank].requests;
    uint32_t partners[SIDES];
    gn_sim_enter(sim, rank, m->wait);
    for (int side = DOWN; side <= UP; side++) {
        partners[side] = partner_of(m, stage, rank, side);
        if (partners[side] != GN_NONE)
            gn_sim_wait_until(sim, rank, m->arrivals[rank * SIDES + (uint32_t)side]);
    }
    for (int side = DOWN; side <= UP; side++)
        if (partners[side] != GN_NONE)
            gn_sim_received(sim, rank, m->recv[stage->dimension * SIDES + (uint32_t)side], partners[side],
                            BYTES, first + 1 + (uint64_t)side);
    for (int side = DOWN; side <= UP; side++)
        if (partners[side] != GN_NONE)
            gn_sim_mark(sim, rank, m->wait, GN_EVENT_MPI_ISEND_COMPLETE, GN_NONE, first + 3 + (uint64_t)side);
    gn_sim_leave(sim, rank, m->wait);
    sim->ranks[rank].requests += 4;
    gn_sim_compute(sim, rank, m->unpack);
}

/* A message may arrive before the one ahead of it; it is received after it, in the stage that it belongs to.
 */
static void run_stage(struct gn_sim *sim, const struct stage *stage)
{
    const struct multigrid *m = sim->state;
    for (uint32_t rank = 0; rank < sim->count; rank++)
        if (has_part(m, stage, rank))
            post(sim, stage, rank);
    for (uint32_t rank = 0; rank < sim->count; rank++) {
        if (!has_part(m, stage, rank))
            continue;
        complete(sim, stage, rank);
        gn_sim_compute(sim, rank, stage->kernel);
    }
}

/* ---- the cycle ---- */

/* Planes on one level of z: down in y, solving lines in x on each level. */
static void relax_planes(struct gn_sim *sim, uint32_t z)
{
    const struct multigrid *m = sim->state;
    for (uint32_t y = 1; y == 1 || y < m->extent[Y]; y *= 2) {
        for (uint32_t x = 1; x == 1 || x < m->extent[X]; x *= 2)
            run_stage(sim, &(struct stage){{x, y, z}, X, m->kernel[X]});
        run_stage(sim, &(struct stage){{1, y, z}, Y, m->kernel[Y]});
    }
}

static void run_level(struct gn_sim *sim, uint32_t z, uint16_t kernel)
{
    relax_planes(sim, z);
    run_stage(sim, &(struct stage){{1, 1, z}, Z, kernel});
}

static void compute_norm(struct gn_sim *sim)
{
    const struct multigrid *m = sim->state;
    double last_ns = 0;
    uint32_t bytes = NORM_BYTES * sim->count;
    for (uint32_t rank = 0; rank < sim->count; rank++) {
        gn_sim_compute(sim, rank, m->norm);
        gn_sim_enter(sim, rank, m->reduce);
        if (last_ns < sim->ranks[rank].now_ns)
            last_ns = sim->ranks[rank].now_ns;
        gn_sim_take_part(sim, rank, m->reduce, GN_EVENT_COLLECTIVE_BEGIN, GN_NONE, 0, bytes, bytes);
    }
    for (uint32_t rank = 0; rank < sim->count; rank++) {
        gn_sim_wait_until(sim, rank, last_ns + gn_sim_transfer(sim, rank, GN_NONE));
        gn_sim_take_part(sim, rank, m->reduce, GN_EVENT_COLLECTIVE_END, GN_NONE, 0, bytes, bytes);
        gn_sim_leave(sim, rank, m->reduce);
    }
}

void gn_multigrid_step(struct gn_sim *sim)
{
    const struct multigrid *m = sim->state;
    uint32_t z = 1;
    for (uint32_t rank = 0; rank < sim->count; rank++)
        gn_sim_enter(sim, rank, sim->step_call);
    for (; z < m->extent[Z]; z *= 2)
        run_level(sim, z, m->kernel[Z]);
    while (z > 1) {
        z /= 2;
        run_level(sim, z, m->kernel[DIMENSIONS]);
    }
    if (m->extent[Z] == 1)
        run_level(sim, 1, m->kernel[Z]);
    compute_norm(sim);
    for (uint32_t rank = 0; rank < sim->count; rank++)
        gn_sim_leave(sim, rank, sim->step_call);
}
