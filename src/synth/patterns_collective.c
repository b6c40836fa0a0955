/*
 * synth/patterns_collective — collectives, blocking and not: everybody begins, then it is known when
 * everybody can end. In bytes, every pair of one who gives and one who gets counts once, one's own part
 * included.
 */
#include "base/mix.h"
#include "synth/patterns.h"

#include <ctype.h>
#include <stdio.h>

enum { BYTES = 64, OUTSTANDING = 3 };

/* All that move data, and the barrier: the first ones of the table. */
enum { OPS = GN_COLLECTIVE_CREATE_HANDLE };

/* One collective of the ranks first, first + stride, …: the members 0, 1, … */
struct instance {
    uint8_t op;
    uint16_t call;
    uint32_t first, stride, count;
    uint32_t root;            /* GN_NONE: has none */
    uint32_t givers, getters; /* members with something to give, to get */
    uint64_t key;             /* of its random numbers */
    double *times;            /* [rank]: when it began there; settled: when it can end there */
};

struct collectives {
    uint16_t compute, test, wait;
    uint16_t calls[2][OPS];     /* on all ranks, on the split communicators */
    struct instance *instances; /* [OUTSTANDING * groups]; behind times */
    uint64_t started;           /* instances so far */
    double times[];             /* [OUTSTANDING * ranks] */
};

/* ---- one instance ---- */

static struct gn_collective_does does(const struct instance *in, uint32_t member)
{
    return gn_collective_does(gn_collective_shape(in->op, false), false, member, in->count, in->root);
}

/* Members with lengths of their own may have nothing to give, or get. */
static bool gives(const struct gn_sim *sim, const struct instance *in, uint32_t member)
{
    const unsigned lengths = gn_collective_rule(in->op).lengths;
    const bool may_give_none = lengths == GN_LENGTHS_GIVEN || lengths == GN_LENGTHS_PAIRS;
    if (gn_collective_shape(in->op, false) == GN_SHAPE_ONE_TO_ALL)
        return does(in, member).gives;
    return !may_give_none || gn_sim_hash(sim, in->key, member) % 4 != 0;
}

static bool gets(const struct gn_sim *sim, const struct instance *in, uint32_t member)
{
    const unsigned lengths = gn_collective_rule(in->op).lengths;
    const bool may_get_none = lengths == GN_LENGTHS_TAKEN || lengths == GN_LENGTHS_PAIRS;
    if (in->op != GN_COLLECTIVE_SCAN && !does(in, member).takes) /* in a scan, all have what is their own */
        return false;
    return !may_get_none || gn_sim_hash(sim, in->key, member) % 5 != 0;
}

static void count_members(const struct gn_sim *sim, struct instance *in)
{
    in->givers = in->getters = 0;
    for (uint32_t i = 0; i < in->count; i++) {
        in->givers += gives(sim, in, i);
        in->getters += gets(sim, in, i);
    }
}

static uint32_t rank_of(const struct instance *in, uint32_t member)
{
    return in->first + member * in->stride;
}

static void record(struct gn_sim *sim, const struct instance *in, uint32_t member, enum gn_event_kind kind,
                   uint64_t request)
{
    uint32_t bytes = gn_collective_rule(in->op).lengths == GN_LENGTHS_NONE ? 0 : BYTES;
    gn_sim_take_part(sim, rank_of(in, member), in->call, kind, in->root, request,
                     gives(sim, in, member) ? bytes * in->getters : 0,
                     gets(sim, in, member) ? bytes * in->givers : 0);
}

static void begin(struct gn_sim *sim, struct instance *in, uint32_t member, enum gn_event_kind kind,
                  uint64_t request)
{
    uint32_t rank = rank_of(in, member);
    gn_sim_enter(sim, rank, in->call);
    in->times[rank] = sim->ranks[rank].now_ns;
    record(sim, in, member, kind, request);
}

/* A member can end when the last begin that it depends on is known to it. */
static void can_end(struct gn_sim *sim, struct instance *in, uint32_t member, double begun_ns)
{
    uint32_t rank = rank_of(in, member);
    double known_ns = begun_ns + gn_sim_transfer(sim, rank, GN_NONE);
    if (gets(sim, in, member) && begun_ns > 0 && in->times[rank] < known_ns)
        in->times[rank] = known_ns;
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

static void settle_prefix(struct gn_sim *sim, struct instance *in)
{
    double lower_ns = 0;
    for (uint32_t i = 0; i < in->count; i++) {
        double own_ns = in->times[rank_of(in, i)];
        can_end(sim, in, i, lower_ns);
        lower_ns = later(lower_ns, own_ns);
    }
}

/* After all have begun. */
static void settle(struct gn_sim *sim, struct instance *in)
{
    double last_ns = 0;
    if (gn_collective_shape(in->op, false) == GN_SHAPE_PREFIX) {
        settle_prefix(sim, in);
        return;
    }
    for (uint32_t i = 0; i < in->count; i++)
        if (gives(sim, in, i))
            last_ns = later(last_ns, in->times[rank_of(in, i)]);
    for (uint32_t i = 0; i < in->count; i++)
        can_end(sim, in, i, last_ns);
}

/* ---- instances of a program ---- */

static void open_instance(struct gn_sim *sim, struct instance *in, uint8_t op)
{
    struct collectives *c = sim->state;
    bool rooted = gn_shape_is_rooted(gn_collective_shape(op, false));
    in->op = op;
    in->key = 0x636f6c6cu + c->started++;
    in->count = (sim->count - in->first + in->stride - 1) / in->stride;
    in->root = rooted ? (uint32_t)(gn_sim_hash(sim, in->key, GN_NONE) % in->count) : GN_NONE;
    count_members(sim, in);
}

/* The instances number `slot` with one op, on all ranks (one of them) or on each of the groups. */
static struct instance *open_instances(struct gn_sim *sim, uint32_t slot, uint8_t op, uint16_t call,
                                       uint32_t groups)
{
    struct collectives *c = sim->state;
    struct instance *instances = &c->instances[(size_t)slot * sim->split];
    for (uint32_t i = 0; i < groups; i++) {
        instances[i].first = i;
        instances[i].stride = groups;
        instances[i].call = call;
        instances[i].times = c->times + (size_t)slot * sim->count;
        open_instance(sim, &instances[i], op);
    }
    return instances;
}

static void settle_all(struct gn_sim *sim, struct instance *instances, uint32_t groups)
{
    for (uint32_t i = 0; i < groups; i++)
        settle(sim, &instances[i]);
}

/* A whole blocking collective of all ranks; `also` happens to a rank before it leaves, if it is a kind. */
static void run(struct gn_sim *sim, uint8_t op, uint16_t call, uint32_t groups, enum gn_event_kind also)
{
    struct instance *instances = open_instances(sim, 0, op, call, groups);
    for (uint32_t rank = 0; rank < sim->count; rank++)
        begin(sim, &instances[rank % groups], rank / groups, GN_EVENT_COLLECTIVE_BEGIN, 0);
    settle_all(sim, instances, groups);
    for (uint32_t rank = 0; rank < sim->count; rank++) {
        struct instance *in = &instances[rank % groups];
        gn_sim_wait_until(sim, rank, in->times[rank]);
        record(sim, in, rank / groups, GN_EVENT_COLLECTIVE_END, 0);
        if (also != GN_EVENT_KIND_COUNT)
            gn_sim_mark(sim, rank, call, also, GN_NONE, 0);
        gn_sim_leave(sim, rank, call);
    }
}

void gn_collectives_begin(struct gn_sim *sim)
{
    run(sim, GN_COLLECTIVE_CREATE_HANDLE, sim->split_call, 1, GN_EVENT_COMM_CREATE);
}

void gn_collectives_finish(struct gn_sim *sim)
{
    run(sim, GN_COLLECTIVE_DESTROY_HANDLE, sim->free_call, sim->split, GN_EVENT_COMM_DESTROY);
}

/* ---- calls ---- */

/* "MPI_Allreduce", or "MPI_Iallreduce". */
static uint16_t collective_call(struct gn_sim *sim, const char *prefix, uint8_t op, uint32_t line,
                                uint32_t comm)
{
    char name[64];
    int letters = snprintf(name, sizeof name, "%s", prefix);
    snprintf(name + letters, sizeof name - (size_t)letters, "%s", gn_collective_name(op));
    name[4] = (char)toupper(name[4]);
    return gn_sim_call(
        sim, &(struct gn_sim_call){.name = name, .line = line, .comm = comm, .tag = GN_NONE, .op = op});
}

static struct collectives *setup(struct gn_sim *sim, const char *prefix)
{
    size_t times = (size_t)OUTSTANDING * sim->count;
    size_t instances = (size_t)OUTSTANDING * sim->split * sizeof(struct instance) / sizeof(double);
    struct collectives *c = gn_pattern_state(sim, sizeof *c, times + instances);
    if (!c)
        return NULL;
    c->instances = (struct instance *)(void *)(c->times + times);
    c->compute = gn_pattern_call(sim, "compute", 31, 0);
    for (uint8_t i = 0; i < OPS; i++) {
        c->calls[0][i] = collective_call(sim, prefix, i, 40 + i, GN_SIM_COMM_WORLD);
        c->calls[1][i] = collective_call(sim, prefix, i, 60 + i, GN_SIM_COMM_OWN);
    }
    return c;
}

void gn_collectives_setup(struct gn_sim *sim)
{
    setup(sim, "MPI_");
}

static void compute_all(struct gn_sim *sim)
{
    const struct collectives *c = sim->state;
    for (uint32_t rank = 0; rank < sim->count; rank++)
        gn_sim_compute(sim, rank, c->compute);
}

static void all(struct gn_sim *sim, void (*what)(struct gn_sim *, uint32_t, uint16_t), uint16_t call)
{
    for (uint32_t rank = 0; rank < sim->count; rank++)
        what(sim, rank, call);
}

void gn_collectives_step(struct gn_sim *sim)
{
    struct collectives *c = sim->state;
    uint32_t one = sim->iteration % OPS, other = (sim->iteration * 5 + 3) % OPS;
    all(sim, gn_sim_enter, sim->step_call);
    compute_all(sim);
    run(sim, (uint8_t)one, c->calls[0][one], 1, GN_EVENT_KIND_COUNT);
    compute_all(sim);
    run(sim, (uint8_t)other, c->calls[1][other], sim->split, GN_EVENT_KIND_COUNT);
    all(sim, gn_sim_leave, sim->step_call);
}

/* ---- nonblocking: two on all ranks and one on the rank's group, each with computation behind it ---- */

void gn_nbc_setup(struct gn_sim *sim)
{
    struct collectives *c = setup(sim, "MPI_I");
    if (!c)
        return;
    c->test = gn_pattern_call(sim, "MPI_Test", 80, 0);
    c->wait = gn_pattern_call(sim, "MPI_Wait", 81, 0);
}

/* What a rank has under way: instance `slot` has the request first + slot. */
static struct instance *instance_at(struct gn_sim *sim, uint32_t rank, uint32_t slot, uint32_t groups)
{
    struct collectives *c = sim->state;
    return &c->instances[(size_t)slot * sim->split + rank % groups];
}

static void start(struct gn_sim *sim, uint32_t slot, uint8_t op, uint32_t groups)
{
    struct collectives *c = sim->state;
    uint16_t call = c->calls[groups > 1][op];
    open_instances(sim, slot, op, call, groups);
    for (uint32_t rank = 0; rank < sim->count; rank++) {
        begin(sim, instance_at(sim, rank, slot, groups), rank / groups, GN_EVENT_NBC_REQUEST,
              ++sim->ranks[rank].requests);
        gn_sim_leave(sim, rank, call);
        gn_sim_compute(sim, rank, c->compute);
    }
    settle_all(sim, &c->instances[(size_t)slot * sim->split], groups);
}

static void wait_for(struct gn_sim *sim, uint32_t rank, uint32_t slot, uint32_t groups)
{
    struct collectives *c = sim->state;
    struct instance *in = instance_at(sim, rank, slot, groups);
    uint64_t request = sim->ranks[rank].requests - OUTSTANDING + 1 + slot;
    if (in->times[rank] > sim->ranks[rank].now_ns + 1000) {
        gn_sim_enter(sim, rank, c->test);
        gn_sim_mark(sim, rank, c->test, GN_EVENT_MPI_REQUEST_TEST, GN_NONE, request);
        gn_sim_leave(sim, rank, c->test);
    }
    gn_sim_enter(sim, rank, c->wait);
    gn_sim_wait_until(sim, rank, in->times[rank]);
    record(sim, in, rank / groups, GN_EVENT_NBC_COMPLETE, request);
    gn_sim_leave(sim, rank, c->wait);
}

void gn_nbc_step(struct gn_sim *sim)
{
    static const uint8_t orders[][OUTSTANDING] = {{0, 1, 2}, {2, 0, 1}, {1, 2, 0}, {2, 1, 0}};
    const uint32_t groups[OUTSTANDING] = {1, sim->split, 1};
    all(sim, gn_sim_enter, sim->step_call);
    for (uint32_t slot = 0; slot < OUTSTANDING; slot++)
        start(sim, slot, (uint8_t)((sim->iteration + slot * (slot + 3)) % OPS), groups[slot]);
    for (uint32_t rank = 0; rank < sim->count; rank++) {
        const uint8_t *order = orders[(uint32_t)(4 * gn_sim_uniform(sim, rank))];
        for (uint32_t i = 0; i < OUTSTANDING; i++)
            wait_for(sim, rank, order[i], groups[order[i]]);
    }
    all(sim, gn_sim_leave, sim->step_call);
}
