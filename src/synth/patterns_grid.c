/* synth/patterns_grid — ranks in 1, 2 or 3 dimensions exchange with their neighbours. */
#include "base/mix.h"
#include "synth/patterns.h"

enum {
    BYTES = 4096,
    TAG = 100, /* and the direction that a message goes in */
    TAG_CANCELLED = 150,
    DIRECTIONS = 6,
    MESSAGES = 2,
    LINKS = DIRECTIONS * MESSAGES,
};

struct grid {
    uint32_t directions; /* 2d: down in dimension d; 2d + 1: up; the opposite of x is x ^ 1 */
    uint32_t extent[3];
    uint16_t compute, wait, test, start, free, cancel, speculative;
    uint16_t recv[DIRECTIONS], send[DIRECTIONS];
    uint32_t *neighbours; /* [rank * directions + direction], GN_NONE beyond the edge; behind arrivals */
    double arrivals[];    /* [(rank * directions + direction) * messages + message] */
};

/* A message each way between a rank and a neighbour. */
struct link {
    uint32_t direction, neighbour, message;
    double *arrival;  /* of the one that comes */
    double *outgoing; /* of the one that goes, at the neighbour */
};

/* A rank and its links; link i's requests are first + i (receive) and first + count + i (send). */
struct turn {
    struct gn_sim *sim;
    struct grid *grid;
    uint32_t rank, count;
    uint64_t first;
    struct link links[LINKS];
};

/* ---- the grid ---- */

/* The largest divisor of count whose power is no more than count. */
static uint32_t fair_divisor(uint32_t count, uint32_t power)
{
    uint32_t best = 1;
    for (uint64_t x = 2; (power == 3 ? x * x * x : x * x) <= count; x++)
        if (count % x == 0)
            best = (uint32_t)x;
    return best;
}

void gn_grid_extents(uint32_t *extent, uint32_t count, uint32_t dimensions)
{
    for (uint32_t d = 0; d + 1 < dimensions; d++) {
        extent[d] = fair_divisor(count, dimensions - d);
        count /= extent[d];
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

static uint16_t link_call(struct gn_sim *sim, const char *name, uint32_t line, uint32_t tag, bool from_main)
{
    return gn_sim_call(sim, &(struct gn_sim_call){.name = name,
                                                  .line = line,
                                                  .comm = GN_SIM_COMM_WORLD,
                                                  .tag = TAG + tag,
                                                  .op = GN_COLLECTIVE_UNKNOWN,
                                                  .from_main = from_main});
}

/* from_main: the calls named recv and send are made before the first step. */
static struct grid *grid_new(struct gn_sim *sim, const char *recv, const char *send, bool from_main)
{
    uint32_t directions = 2 * sim->pattern->dimensions;
    size_t links = (size_t)sim->count * directions, slots = links * sim->pattern->messages;
    struct grid *grid = gn_pattern_state(sim, sizeof *grid, slots + (links + 1) / 2);
    if (!grid)
        return NULL;
    grid->directions = directions;
    grid->neighbours = (uint32_t *)(void *)(grid->arrivals + slots);
    gn_grid_extents(grid->extent, sim->count, sim->pattern->dimensions);
    find_neighbours(sim, grid);
    grid->compute = gn_pattern_call(sim, "compute", 31, 0);
    for (uint32_t d = 0; d < directions; d++) {
        grid->recv[d] = link_call(sim, recv, 40 + d, d ^ 1, from_main);
        grid->send[d] = link_call(sim, send, 50 + d, d, from_main);
    }
    return grid;
}

static double *slot_of(const struct gn_sim *sim, struct grid *grid, uint32_t rank, uint32_t direction)
{
    return &grid->arrivals[((size_t)rank * grid->directions + direction) * sim->pattern->messages];
}

static void find_links(struct turn *turn)
{
    struct gn_sim *sim = turn->sim;
    struct grid *grid = turn->grid;
    const uint32_t *neighbours = &grid->neighbours[(size_t)turn->rank * grid->directions];
    turn->count = 0;
    for (uint32_t d = 0; d < grid->directions; d++)
        for (uint32_t m = 0; m < sim->pattern->messages && neighbours[d] != GN_NONE; m++)
            turn->links[turn->count++] =
                (struct link){.direction = d,
                              .neighbour = neighbours[d],
                              .message = m,
                              .arrival = slot_of(sim, grid, turn->rank, d) + m,
                              .outgoing = slot_of(sim, grid, neighbours[d], d ^ 1) + m};
}

/* The requests are the last ones given out, or will be those given out next. */
static void take_turn(struct turn *turn, struct gn_sim *sim, uint32_t rank, bool new_requests)
{
    turn->sim = sim;
    turn->grid = sim->state;
    turn->rank = rank;
    find_links(turn);
    if (new_requests)
        sim->ranks[rank].requests += 2 * turn->count;
    turn->first = sim->ranks[rank].requests - 2 * turn->count + 1;
}

/* ---- what exchanges consist of ---- */

/* The record of a posted receive. The second of two messages comes from anywhere: its tag tells where from.
 */
static void post_receive(const struct turn *turn, uint32_t i)
{
    const struct link *link = &turn->links[i];
    gn_sim_mark(turn->sim, turn->rank, turn->grid->recv[link->direction], GN_EVENT_MPI_IRECV_REQUEST,
                link->message > 0 ? GN_ANY : link->neighbour, turn->first + i);
}

static void post_send(const struct turn *turn, uint32_t i)
{
    const struct link *link = &turn->links[i];
    double not_before = link->message > 0 ? link->outgoing[-1] : 0;
    *link->outgoing = gn_sim_sent(turn->sim, turn->rank, turn->grid->send[link->direction], link->neighbour,
                                  BYTES, turn->first + turn->count + i, not_before);
}

static void post_all(const struct turn *turn)
{
    struct gn_sim *sim = turn->sim;
    for (uint32_t i = 0; i < turn->count; i++) {
        uint16_t call = turn->grid->recv[turn->links[i].direction];
        gn_sim_enter(sim, turn->rank, call);
        post_receive(turn, i);
        gn_sim_leave(sim, turn->rank, call);
    }
    for (uint32_t i = 0; i < turn->count; i++) {
        uint16_t call = turn->grid->send[turn->links[i].direction];
        gn_sim_enter(sim, turn->rank, call);
        post_send(turn, i);
        gn_sim_leave(sim, turn->rank, call);
        gn_sim_stray(sim, turn->rank, turn->links[i].neighbour);
    }
}

static void received(const struct turn *turn, uint32_t i)
{
    const struct link *link = &turn->links[i];
    gn_sim_received(turn->sim, turn->rank, turn->grid->recv[link->direction], link->neighbour, BYTES,
                    turn->first + i);
}

static void send_completed(const struct turn *turn, uint32_t i)
{
    gn_sim_mark(turn->sim, turn->rank, turn->grid->wait, GN_EVENT_MPI_ISEND_COMPLETE, GN_NONE,
                turn->first + turn->count + i);
}

static void wait_for_all(const struct turn *turn)
{
    gn_sim_enter(turn->sim, turn->rank, turn->grid->wait);
    for (uint32_t i = 0; i < turn->count; i++)
        gn_sim_wait_until(turn->sim, turn->rank, *turn->links[i].arrival);
    for (uint32_t i = 0; i < turn->count; i++)
        received(turn, i);
    for (uint32_t i = 0; i < turn->count; i++)
        send_completed(turn, i);
    gn_sim_leave(turn->sim, turn->rank, turn->grid->wait);
}

static void begin_step(struct gn_sim *sim, uint32_t rank)
{
    const struct grid *grid = sim->state;
    gn_sim_enter(sim, rank, sim->step_call);
    gn_sim_compute(sim, rank, grid->compute);
}

/* The half of an iteration in which everybody has sent. */
static void end_steps(struct gn_sim *sim, void (*wait)(const struct turn *))
{
    struct turn turn;
    for (uint32_t i = 0; i < sim->count; i++) {
        take_turn(&turn, sim, i, false);
        wait(&turn);
        gn_sim_leave(sim, i, sim->step_call);
    }
}

/* ---- stencils: irecv and isend to all, waitall ---- */

void gn_stencil_setup(struct gn_sim *sim)
{
    struct grid *grid = grid_new(sim, "MPI_Irecv", "MPI_Isend", false);
    if (grid)
        grid->wait = gn_pattern_call(sim, "MPI_Waitall", 60, 0);
}

void gn_stencil_step(struct gn_sim *sim)
{
    struct turn turn;
    for (uint32_t i = 0; i < sim->count; i++) {
        begin_step(sim, i);
        take_turn(&turn, sim, i, true);
        post_all(&turn);
    }
    end_steps(sim, wait_for_all);
}

/* ---- nonblocking: two messages each, and whatever requests can do ---- */

void gn_nonblocking_setup(struct gn_sim *sim)
{
    struct grid *grid = grid_new(sim, "MPI_Irecv", "MPI_Isend", false);
    if (!grid)
        return;
    grid->wait = gn_pattern_call(sim, "MPI_Waitany", 60, 0);
    grid->test = gn_pattern_call(sim, "MPI_Test", 61, 0);
    grid->speculative = gn_pattern_call(sim, "MPI_Irecv", 62, TAG_CANCELLED);
    grid->cancel = gn_pattern_call(sim, "MPI_Cancel", 63, 0);
}

/* A receive that nobody sends for. */
static void cancelled_receive(struct gn_sim *sim, struct grid *grid, uint32_t rank)
{
    uint64_t request = ++sim->ranks[rank].requests;
    gn_sim_enter(sim, rank, grid->speculative);
    gn_sim_mark(sim, rank, grid->speculative, GN_EVENT_MPI_IRECV_REQUEST, GN_ANY, request);
    gn_sim_leave(sim, rank, grid->speculative);
    gn_sim_enter(sim, rank, grid->cancel);
    gn_sim_leave(sim, rank, grid->cancel);
    gn_sim_enter(sim, rank, grid->wait);
    gn_sim_mark(sim, rank, grid->wait, GN_EVENT_MPI_REQUEST_CANCELLED, GN_NONE, request);
    gn_sim_leave(sim, rank, grid->wait);
}

/* Requests of a turn that are not complete: i < count are receives, the others sends. */
struct pending {
    uint32_t count, which[2 * LINKS];
};

static double ready_ns(const struct turn *turn, uint32_t which)
{
    return which < turn->count ? *turn->links[which].arrival : 0;
}

static void complete(const struct turn *turn, struct pending *pending, uint32_t place)
{
    uint32_t which = pending->which[place];
    pending->which[place] = pending->which[--pending->count];
    if (which < turn->count)
        received(turn, which);
    else
        send_completed(turn, which - turn->count);
}

/* MPI_Test of the first receive. */
static void test_once(const struct turn *turn, struct pending *pending)
{
    struct gn_sim *sim = turn->sim;
    gn_sim_enter(sim, turn->rank, turn->grid->test);
    if (*turn->links[0].arrival <= sim->ranks[turn->rank].now_ns)
        complete(turn, pending, 0);
    else
        gn_sim_mark(sim, turn->rank, turn->grid->test, GN_EVENT_MPI_REQUEST_TEST, GN_NONE, turn->first);
    gn_sim_leave(sim, turn->rank, turn->grid->test);
}

/* By chance, but not from the rank's sequence of random numbers: a program that computes faster would have
 * others from there on. */
static uint32_t choose(const struct turn *turn, uint32_t pending, uint32_t ready)
{
    const struct gn_sim *sim = turn->sim;
    const uint64_t which = sim->ranks[turn->rank].requests * 2 * LINKS + pending;
    return (uint32_t)(gn_mix_unit(gn_sim_hash(sim, 0x616e79u + turn->rank, which)) * ready);
}

/* MPI_Waitany may choose among the requests that are ready. */
static void wait_for_any(const struct turn *turn, struct pending *pending)
{
    struct gn_sim *sim = turn->sim;
    uint32_t ready = 0, places[2 * LINKS];
    double first_ns = ready_ns(turn, pending->which[0]);
    for (uint32_t i = 1; i < pending->count; i++)
        if (ready_ns(turn, pending->which[i]) < first_ns)
            first_ns = ready_ns(turn, pending->which[i]);
    gn_sim_enter(sim, turn->rank, turn->grid->wait);
    gn_sim_wait_until(sim, turn->rank, first_ns);
    for (uint32_t i = 0; i < pending->count; i++)
        if (ready_ns(turn, pending->which[i]) <= sim->ranks[turn->rank].now_ns)
            places[ready++] = i;
    complete(turn, pending, places[choose(turn, pending->count, ready)]);
    gn_sim_leave(sim, turn->rank, turn->grid->wait);
}

static void wait_in_any_order(const struct turn *turn)
{
    struct pending pending = {.count = 2 * turn->count};
    for (uint32_t i = 0; i < pending.count; i++)
        pending.which[i] = i;
    if (turn->count > 0)
        test_once(turn, &pending);
    while (pending.count > 0)
        wait_for_any(turn, &pending);
}

void gn_nonblocking_step(struct gn_sim *sim)
{
    enum { CANCEL_EVERY = 16 };
    struct turn turn;
    for (uint32_t i = 0; i < sim->count; i++) {
        begin_step(sim, i);
        if (sim->iteration % CANCEL_EVERY == 0)
            cancelled_receive(sim, sim->state, i);
        take_turn(&turn, sim, i, true);
        post_all(&turn);
    }
    end_steps(sim, wait_in_any_order);
}

/* ---- persistent: requests made once, started in each iteration ---- */

void gn_persistent_setup(struct gn_sim *sim)
{
    struct grid *grid = grid_new(sim, "MPI_Recv_init", "MPI_Send_init", true);
    if (!grid)
        return;
    grid->start = gn_pattern_call(sim, "MPI_Startall", 59, 0);
    grid->wait = gn_pattern_call(sim, "MPI_Waitall", 60, 0);
    grid->free = link_call(sim, "MPI_Request_free", 64, 0, true);
}

static void empty_call(const struct turn *turn, uint16_t call)
{
    gn_sim_enter(turn->sim, turn->rank, call);
    gn_sim_leave(turn->sim, turn->rank, call);
}

void gn_persistent_begin(struct gn_sim *sim)
{
    struct turn turn;
    for (uint32_t rank = 0; rank < sim->count; rank++) {
        take_turn(&turn, sim, rank, true);
        for (uint32_t i = 0; i < turn.count; i++) {
            empty_call(&turn, turn.grid->recv[turn.links[i].direction]);
            empty_call(&turn, turn.grid->send[turn.links[i].direction]);
        }
    }
}

static void start_all(const struct turn *turn)
{
    gn_sim_enter(turn->sim, turn->rank, turn->grid->start);
    for (uint32_t i = 0; i < turn->count; i++)
        post_receive(turn, i);
    for (uint32_t i = 0; i < turn->count; i++)
        post_send(turn, i);
    gn_sim_leave(turn->sim, turn->rank, turn->grid->start);
    for (uint32_t i = 0; i < turn->count; i++)
        gn_sim_stray(turn->sim, turn->rank, turn->links[i].neighbour);
}

void gn_persistent_step(struct gn_sim *sim)
{
    struct turn turn;
    for (uint32_t i = 0; i < sim->count; i++) {
        begin_step(sim, i);
        take_turn(&turn, sim, i, false);
        start_all(&turn);
    }
    end_steps(sim, wait_for_all);
}

void gn_persistent_finish(struct gn_sim *sim)
{
    struct turn turn;
    for (uint32_t rank = 0; rank < sim->count; rank++) {
        take_turn(&turn, sim, rank, false);
        for (uint32_t i = 0; i < 2 * turn.count; i++)
            empty_call(&turn, turn.grid->free);
    }
}

/* ---- wavefront: from the first rank to the last and, in the next iteration, back ---- */

void gn_wavefront_setup(struct gn_sim *sim)
{
    grid_new(sim, "MPI_Recv", "MPI_Send", false);
}

/* Everything that comes from one side of the rank, or goes to it. */
static void sweep_rank(const struct turn *turn, bool back)
{
    struct gn_sim *sim = turn->sim;
    const struct grid *grid = turn->grid;
    gn_sim_enter(sim, turn->rank, sim->step_call);
    for (uint32_t i = 0; i < turn->count; i++) {
        const struct link *link = &turn->links[i];
        if (link->direction % 2 == back)
            gn_sim_recv(sim, turn->rank, grid->recv[link->direction], link->neighbour, BYTES, *link->arrival);
    }
    gn_sim_compute(sim, turn->rank, grid->compute);
    for (uint32_t i = 0; i < turn->count; i++) {
        const struct link *link = &turn->links[i];
        if (link->direction % 2 != back)
            *link->outgoing =
                gn_sim_send(sim, turn->rank, grid->send[link->direction], link->neighbour, BYTES);
    }
    gn_sim_leave(sim, turn->rank, sim->step_call);
}

void gn_wavefront_step(struct gn_sim *sim)
{
    struct turn turn;
    bool back = sim->iteration % 2 != 0;
    for (uint32_t i = 0; i < sim->count; i++) {
        take_turn(&turn, sim, back ? sim->count - 1 - i : i, false);
        sweep_rank(&turn, back);
    }
}
