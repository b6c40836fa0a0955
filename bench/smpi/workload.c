#include "workload.h"

#include "base/grow.h"
#include "base/mix.h"

#include <errno.h>
#include <stdlib.h>

enum {
    SHARE_CLOCK = 8,
    BETWEEN_COLLECTIVES = 10,
    ITERATION_NS = 100000,
    NO_CHANNEL = UINT32_MAX,
    TO_NEXT = 0, /* kinds of channels, and tags of their messages */
    TO_PREVIOUS = 1,
    TO_PARTNER = 2 /* whose number differs in bit kind − 2 */
};

struct program {
    struct gn_op_store *store;
    uint32_t processes, bits;
    uint32_t *links; /* by sender, then kind */
};

/* ---- definitions ---- */

static uint32_t bits_of(uint32_t processes)
{
    uint32_t bits = 0;
    while (processes >> (bits + 1))
        bits++;
    return bits;
}

struct gn_definitions *gn_workload_define(uint32_t processes)
{
    struct gn_definitions *d = gn_definitions_new();
    uint32_t *members = calloc(processes, sizeof *members);
    bool fits = d && members;
    for (uint32_t i = 0; fits && i < processes; i++) {
        members[i] = i;
        fits = gn_define_process(d, &(struct gn_process){.system_node = GN_NONE,
                                                         .main_location = GN_NONE,
                                                         .rank = (int32_t)i}) == i &&
               gn_define_location(
                   d, &(struct gn_location_def){
                          .process = i, .domain = i / SHARE_CLOCK, .file_id = i, .events = UINT64_MAX}) == i;
    }
    fits =
        fits && gn_define_comm(d, &(struct gn_comm_def){
                                      .parent = GN_NONE, .member_count = processes, .members = members}) == 0;
    free(members);
    if (fits) {
        d->ticks_per_second = 1000000000;
        return d;
    }
    gn_definitions_free(d);
    return NULL;
}

int gn_workload_latency(struct gn_latency *latency, uint32_t processes)
{
    const uint32_t domains = (processes + SHARE_CLOCK - 1) / SHARE_CLOCK;
    int code = gn_latency_open(latency, domains, NULL);
    for (uint32_t i = 0; code == 0 && i < domains * domains; i++)
        latency->ticks[i] = i / domains == i % domains ? 300 : 1000;
    latency->between_ticks = 1000;
    return code;
}

/* ---- times ---- */

/* What the clock of the process shows at a true time. */
static int64_t shown(uint32_t process, int64_t true_ns)
{
    const uint32_t domain = process / SHARE_CLOCK;
    const double offset_ns = 40000 * (gn_mix_unit(gn_mix_at(1, domain, 0)) - 0.5);
    const double drift = 0.2e-6 * (gn_mix_unit(gn_mix_at(1, domain, 1)) - 0.5);
    return true_ns + (int64_t)(offset_ns + drift * (double)true_ns);
}

/* When the process gets to a station of an iteration: up to 10 us after the first ones. */
static int64_t reaches(uint32_t process, uint32_t iteration, uint32_t station, int64_t after_ns)
{
    const double late_ns = 10000 * gn_mix_unit(gn_mix_at(2 + station, process, iteration));
    return 1000000 + (int64_t)iteration * ITERATION_NS + after_ns + (int64_t)late_ns;
}

/* ---- ops ---- */

static struct gn_op *add(struct program *program, uint32_t process, enum gn_op_kind kind, int64_t true_ns)
{
    struct gn_op *op = gn_op_add(program->store, process);
    if (!op)
        return NULL;
    op->ticks = shown(process, true_ns);
    op->records = op->steps = GN_WORKLOAD_EVENTS_PER_OP;
    op->kind = (uint8_t)kind;
    op->root = GN_NONE;
    return op;
}

static uint32_t link_of(struct program *program, uint32_t from, uint32_t to, uint32_t kind)
{
    struct gn_op_store *store = program->store;
    uint32_t *link = &program->links[from * (TO_PARTNER + program->bits) + kind];
    if (*link != NO_CHANNEL)
        return *link;
    if (!gn_grow(&store->channels, &store->channel_capacity, store->channel_count, sizeof *store->channels))
        return NO_CHANNEL;
    store->channels[store->channel_count] =
        (struct gn_op_channel){.comm = 0, .from = from, .to = to, .tag = kind};
    return *link = (uint32_t)store->channel_count++;
}

static int add_message(struct program *program, uint32_t from, uint32_t to, uint32_t kind, uint32_t number,
                       bool is_send, int64_t true_ns)
{
    const uint32_t link = link_of(program, from, to, kind);
    struct gn_op *op = link == NO_CHANNEL
                           ? NULL
                           : add(program, is_send ? from : to, is_send ? GN_OP_SEND : GN_OP_RECEIVE, true_ns);
    if (!op)
        return -ENOMEM;
    op->link = link;
    op->number = number;
    program->store->channels[link].sends += is_send;
    return 0;
}

static int exchange(struct program *program, uint32_t process, uint32_t i)
{
    const uint32_t n = program->processes, next = (process + 1) % n, previous = (process + n - 1) % n;
    const uint32_t bit = i % program->bits, partner = process ^ (1u << bit), number = i / program->bits;
    const int64_t sends = reaches(process, i, 0, 0), receives = reaches(process, i, 1, 16000);
    if (add_message(program, process, next, TO_NEXT, i, true, sends) ||
        add_message(program, process, previous, TO_PREVIOUS, i, true, sends + 1000) ||
        add_message(program, process, partner, TO_PARTNER + bit, number, true, sends + 2000) ||
        add_message(program, previous, process, TO_NEXT, i, false, receives) ||
        add_message(program, next, process, TO_PREVIOUS, i, false, receives + 1000) ||
        add_message(program, partner, process, TO_PARTNER + bit, number, false, receives + 2000))
        return -ENOMEM;
    return 0;
}

static int reduce(struct program *program, uint32_t process, uint32_t i)
{
    struct gn_op *op = add(program, process, GN_OP_BEGIN, reaches(process, i, 2, 40000));
    if (!op)
        return -ENOMEM;
    op->number = i / BETWEEN_COLLECTIVES;
    op->shape = GN_SHAPE_ALL_TO_ALL;
    op->flags = GN_OP_GIVES;
    op = add(program, process, GN_OP_END, reaches(process, i, 3, 52000));
    if (!op)
        return -ENOMEM;
    op->number = i / BETWEEN_COLLECTIVES;
    op->shape = GN_SHAPE_ALL_TO_ALL;
    op->flags = GN_OP_GETS;
    return 0;
}

static int fill_process(struct program *program, uint32_t process, uint32_t iterations)
{
    int code = 0;
    for (uint32_t i = 0; i < iterations && code == 0; i++) {
        code = exchange(program, process, i);
        if (code == 0 && i % BETWEEN_COLLECTIVES == BETWEEN_COLLECTIVES - 1)
            code = reduce(program, process, i);
    }
    if (code == 0 && !add(program, process, GN_OP_LEFT, reaches(process, iterations, 0, 0)))
        code = -ENOMEM;
    return code;
}

int gn_workload_fill(struct gn_op_store *store, uint32_t processes, uint32_t first, uint32_t count,
                     uint32_t iterations)
{
    struct program program = {.store = store, .processes = processes, .bits = bits_of(processes)};
    const size_t kinds = (size_t)processes * (TO_PARTNER + program.bits);
    int code = 0;
    program.links = malloc(kinds * sizeof *program.links);
    if (!program.links || !gn_grow(&store->groups, &store->group_capacity, 0, sizeof *store->groups)) {
        free(program.links);
        return -ENOMEM;
    }
    for (size_t i = 0; i < kinds; i++)
        program.links[i] = NO_CHANNEL;
    store->groups[0] = (struct gn_op_group){.comm = 0};
    store->group_count = 1;
    for (uint32_t i = 0; i < count && code == 0; i++)
        code = fill_process(&program, first + i, iterations);
    free(program.links);
    return code;
}

/* ---- results ---- */

uint64_t gn_workload_digest(const struct gn_op_store *store, uint32_t first, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t location = first; location < first + count; location++)
        for (uint64_t i = 0; i < store->rows[location].count; i++) {
            const struct gn_op *op = gn_op_at(store, location, i);
            const bool has_limit = op->kind == GN_OP_SEND || op->kind == GN_OP_BEGIN;
            sum += gn_mix_at((uint64_t)op->shift, (uint64_t)location << 32 | i,
                             has_limit ? (uint64_t)op->limit : op->flags);
        }
    return sum;
}
