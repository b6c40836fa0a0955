#include "world.h"

#include "base/mix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const world_wander_names[] = {"constant", "0.1ppm", "1ppm", "5ppm", "violated"};
const char *const world_network_names[] = {"quiet", "loaded", "asymmetric"};
const char *const world_hosts_names[] = {"two", "chain", "tree"};

/* Delays of one direction of a link, true ticks. */
struct way {
    double base, jitter, tail, tail_share, lost;
    double smallest;
};

struct link {
    struct way there, back;
};

/* How the hosts of a world talk, drawn from the seed. */
struct schedule {
    unsigned bursts, burst;
    double pause;       /* within a burst, true ticks */
    double application; /* messages between any two hosts, per burst */
};

static uint64_t below(uint64_t *state, uint64_t limit)
{
    return gn_mix_next(state) % limit;
}

static double between(uint64_t *state, double lo, double hi)
{
    return lo + (hi - lo) * gn_mix_unit(gn_mix_next(state));
}

static bool one_in(uint64_t *state, uint64_t count)
{
    return below(state, count) == 0;
}

static const uint32_t parents[WORLD_HOSTS][WORLD_DOMAINS] = {
    {UINT32_MAX, 0, 0, 0}, {UINT32_MAX, 0, 1, 2}, {UINT32_MAX, 0, 0, 1}};

static uint32_t assumed_wander_ppb(const struct world_cell *cell)
{
    static const uint32_t ppb[] = {0, 100, 1000, 5000, 1000};
    return ppb[cell->wander];
}

/* Of those whose assumption will be violated, some are assumed to be constant. */
static bool assumed_constant(const struct world_cell *cell, uint64_t seed)
{
    return cell->wander == WANDER_NONE || (cell->wander == WANDER_VIOLATED && gn_mix_at(seed, 6, 0) % 4 == 0);
}

/* A little less than is assumed, for the rounding of rates to 2^-40. */
static double true_wander_ppb(const struct world_cell *cell, uint64_t seed)
{
    return assumed_constant(cell, seed) ? 0 : assumed_wander_ppb(cell) - 3.0;
}

/* Two clocks wander against each other by what is assumed, as nearly as rates in 2^-40 can say it: half by
 * each, or all by one. */
static double share_of_wander(uint64_t seed, uint32_t domain, uint32_t count)
{
    uint64_t state = gn_mix_at(seed, 1, 0);
    uint64_t alone = below(&state, 2 * count);
    return alone >= count ? 0.4999 : alone == domain ? 0.9998 : 0;
}

static uint64_t start_ticks(uint64_t *state)
{
    static const unsigned bits[] = {20, 45, 52, 62};
    return gn_mix_next(state) >> (64 - bits[below(state, 4)]);
}

static void draw_line(struct line_plan *plan, const struct world_cell *cell, uint64_t seed, uint32_t domain,
                      uint32_t count)
{
    static const uint64_t frequencies[] = {1000000000, 2400000000, 2394374501,
                                           3593128007, 25000000,   999999937};
    static const uint64_t grains[] = {1, 1, 1, 2, 7, 32, 64};
    uint64_t state = gn_mix_at(seed, 2, domain);
    plan->hz = frequencies[below(&state, 6)];
    plan->grain = grains[below(&state, 7)];
    plan->start_ticks = start_ticks(&state);
    if (plan->hz < 100000000) /* its ns have to fit into 63 bits */
        plan->start_ticks >>= 8;
    plan->rate_ppb = between(&state, -70000, 70000);
    plan->wander_ppb = true_wander_ppb(cell, seed) * share_of_wander(seed, domain, count);
    plan->shape = plan->wander_ppb == 0 ? LINE_STEADY : LINE_JUMPS + below(&state, LINE_SHAPES - 1);
    plan->seed = gn_mix_next(&state);
    plan->at = LINE_PIECES;
}

/* The assumption is broken in the middle of the exchanges, by so much that they cannot miss it: another rate
 * (within the nominal limits, or far out of them) or a step. */
static void violate(struct world *world, struct line_plan *plan, uint64_t seed, double widest_ticks)
{
    uint64_t state = gn_mix_at(seed, 3, 0);
    double window = (double)(world->last - world->first), side = one_in(&state, 2) ? 1 : -1;
    double visible_ppb = 200 * widest_ticks / window * 1e9;
    plan->at = LINE_PIECES / 2;
    switch (below(&state, 4)) {
    case 0:
    case 1:
        plan->shift_ppb = side * 50000;
        if (visible_ppb > 50000)
            plan->shift_ppb = side * (1000000 + visible_ppb);
        break;
    case 2:
        plan->shift_ppb = side * (1000000 + visible_ppb);
        break;
    default:
        plan->step_ticks =
            (int64_t)(100 * widest_ticks * plan->hz / LINE_TRUE_HZ) + 1000 * (int64_t)plan->grain;
        if (side < 0 && plan->start_ticks > (uint64_t)plan->step_ticks)
            plan->step_ticks = -plan->step_ticks;
    }
}

static void draw_way(struct way *way, const struct world_cell *cell, uint64_t *state, double base)
{
    *way = (struct way){.base = base, .jitter = base * between(state, 0.005, 0.1), .smallest = INFINITY};
    if (base == 0 && one_in(state, 2))
        way->jitter = 100;
    if (cell->network == NETWORK_QUIET)
        return;
    way->lost = one_in(state, 50) ? 1.1 : between(state, 0, 0.3);
    if (cell->network == NETWORK_LOADED) {
        way->jitter = base * between(state, 0.5, 3);
        way->tail = 100 * base;
        way->tail_share = 0.05;
    }
}

static void draw_link(struct link *link, const struct world_cell *cell, uint64_t *state)
{
    double base = 16000 * exp(between(state, 0, log(100))); /* 1 to 100 µs */
    if (one_in(state, 6))
        base = 0; /* in no time at all: what is left are the granularities */
    double factor = cell->network == NETWORK_ASYMMETRIC ? 10 : 1;
    bool way_back = one_in(state, 2);
    draw_way(&link->there, cell, state, way_back ? base : base * factor);
    draw_way(&link->back, cell, state, way_back ? base * factor : base);
}

static double delay(struct way *way, uint64_t *state)
{
    double ticks = way->base + gn_mix_exponential(gn_mix_next(state), way->jitter);
    if (way->tail_share > gn_mix_unit(gn_mix_next(state)))
        ticks += gn_mix_exponential(gn_mix_next(state), way->tail);
    ticks = floor(ticks);
    way->smallest = fmin(way->smallest, ticks);
    return ticks;
}

static void tell(struct world *world, uint32_t from, double sent, uint32_t to, double received)
{
    if (world->message_count == world->message_capacity) {
        world->message_capacity = 2 * world->message_capacity + 64;
        world->messages = realloc(world->messages, world->message_capacity * sizeof *world->messages);
        if (!world->messages)
            abort();
    }
    world->messages[world->message_count++] =
        (struct world_message){from, to, (uint64_t)sent, (uint64_t)received};
}

static double exchange(struct world *world, uint32_t child, struct link *link, double at, uint64_t *state)
{
    uint32_t parent = world->parent[child];
    double heard = at + delay(&link->there, state), answered = heard + (double)below(state, 20000);
    double received = answered + delay(&link->back, state);
    if (link->there.lost > gn_mix_unit(gn_mix_next(state)))
        return at + 100 * link->there.base;
    tell(world, child, at, parent, heard);
    if (link->back.lost <= gn_mix_unit(gn_mix_next(state)))
        tell(world, parent, answered, child, received);
    return received;
}

/* Messages of the application: from anyone to anyone, slower than exchanges, in one direction each. */
static void application(struct world *world, double at, uint64_t *state)
{
    uint32_t from = (uint32_t)below(state, world->count);
    uint32_t to = (uint32_t)((from + 1 + below(state, world->count - 1)) % world->count);
    tell(world, from, at, to, at + gn_mix_exponential(gn_mix_next(state), 1e6));
}

static void draw_schedule(struct schedule *schedule, uint64_t *state, bool violated)
{
    schedule->bursts = (unsigned)exp(between(state, violated ? log(20) : log(2), log(300)));
    schedule->burst = 1 + (unsigned)below(state, 8);
    schedule->pause = between(state, 1e3, 1e6);
    schedule->application = one_in(state, 4) ? between(state, 0, 3) : 0;
    if (!violated && one_in(state, 64))
        *schedule = (struct schedule){.bursts = 6250, .burst = 8, .pause = 1000};
}

static void talk(struct world *world, struct link *links, const struct schedule *schedule, uint64_t *state)
{
    double window = (double)(world->last - world->first), end = (double)line_end(&world->line[0]);
    for (unsigned b = 0; b < schedule->bursts; b++) {
        double at = (double)world->first + window * b / schedule->bursts;
        for (uint32_t child = 1; child < world->count; child++) {
            double next = at + (double)below(state, 100000);
            for (unsigned i = 0; i < schedule->burst && next + 1e9 < end; i++)
                next = exchange(world, child, &links[child], next, state) + schedule->pause;
        }
        for (double i = gn_mix_unit(gn_mix_next(state)); i < schedule->application; i++)
            application(world, at + between(state, 0, window / schedule->bursts), state);
    }
}

static void swap(struct world *world, size_t i, size_t k)
{
    struct world_message message = world->messages[i];
    world->messages[i] = world->messages[k];
    world->messages[k] = message;
}

/* Told in order, backwards, or in any order; some twice. */
static void disorder(struct world *world, uint64_t *state)
{
    uint64_t how = below(state, 6);
    size_t count = world->message_count;
    if (how == 0)
        for (size_t i = 0; i < count / 2; i++)
            swap(world, i, count - 1 - i);
    if (how == 1)
        for (size_t i = count; i > 1; i--)
            swap(world, i - 1, below(state, i));
    if (how == 2)
        for (size_t i = 0; i < count; i += 3) {
            struct world_message message = world->messages[i];
            tell(world, message.from, (double)message.sent, message.to, (double)message.received);
        }
}

/* Messages connect a domain with the reference when a chain of them leads there, and one back. */
static void measure_floor(struct world *world, const struct link *links)
{
    bool leads[WORLD_DOMAINS][WORLD_DOMAINS] = {{0}};
    for (size_t i = 0; i < world->message_count; i++)
        leads[world->messages[i].from][world->messages[i].to] = true;
    for (uint32_t via = 0; via < world->count; via++)
        for (uint32_t a = 0; a < world->count; a++)
            for (uint32_t b = 0; b < world->count; b++)
                leads[a][b] |= leads[a][via] && leads[via][b];
    for (uint32_t i = 0; i < world->count; i++) {
        world->connected[i] = i == 0 || (leads[i][0] && leads[0][i]);
        if (i > 0)
            world->floor_ns[i] = world->floor_ns[world->parent[i]] +
                                 (links[i].there.smallest + links[i].back.smallest) / (LINE_TRUE_HZ / 1e9);
    }
}

static void draw_lines(struct world *world, const struct world_cell *cell, uint64_t seed, unsigned shift,
                       const struct link *links)
{
    uint64_t state = gn_mix_at(seed, 4, 0);
    uint32_t victim = (uint32_t)below(&state, world->count);
    double widest = 0;
    for (uint32_t i = 1; i < world->count; i++)
        widest +=
            links[i].there.base + links[i].there.jitter + links[i].back.base + links[i].back.jitter + 10000;
    for (uint32_t i = 0; i < world->count; i++) {
        struct line_plan plan = {.shift = shift};
        draw_line(&plan, cell, seed, i, world->count);
        if (cell->wander == WANDER_VIOLATED && i == victim)
            violate(world, &plan, seed, widest);
        line_make(&world->line[i], &plan);
    }
}

/* As a rule what is true and no more; sometimes less is assumed. */
static void draw_assumption(struct world *world, const struct world_cell *cell, uint64_t seed)
{
    uint64_t state = gn_mix_at(seed, 7, 0), other = below(&state, 12);
    world->assumption = (struct gn_assumption){GN_RATE_WANDERS, GN_NOMINAL_PPB, assumed_wander_ppb(cell)};
    if (assumed_constant(cell, seed))
        world->assumption.kind = GN_RATE_CONSTANT;
    if (cell->wander == WANDER_VIOLATED)
        return;
    if (other == 0)
        world->assumption.kind = GN_RATE_WITHIN;
    else if (other == 1)
        world->assumption.kind = GN_RATE_UNKNOWN;
    else if (other == 2)
        world->assumption.kind = GN_RATE_WANDERS;
}

/* 0 ns is as a rule when the exchanges begin, but may be anywhere. */
static uint64_t draw_epoch(const struct world *world, uint64_t *state)
{
    switch (below(state, 4)) {
    case 0:
        return line_reading(&world->line[0], (world->first + world->last) / 2);
    case 1:
        return 0;
    default:
        return line_reading(&world->line[0], world->first);
    }
}

void world_make(struct world *world, const struct world_cell *cell, uint64_t seed)
{
    uint64_t state = gn_mix_at(seed, 5, 0);
    bool violated = cell->wander == WANDER_VIOLATED;
    struct link links[WORLD_DOMAINS];
    struct schedule schedule;
    world->count = cell->hosts == HOSTS_TWO ? 2 : WORLD_DOMAINS;
    unsigned shift = violated ? 31 : 24 + (unsigned)below(&state, 9); /* 4 s to 18 minutes in all */
    uint64_t half = violated ? 1024 : 32 + below(&state, 1400);
    world->first = ((LINE_PIECES / 2 - half) << shift) + below(&state, 1000);
    world->last = (LINE_PIECES / 2 + half) << shift;
    for (uint32_t i = 0; i < world->count; i++) {
        world->parent[i] = parents[cell->hosts][i];
        draw_link(&links[i], cell, &state);
    }
    draw_schedule(&schedule, &state, violated);
    draw_lines(world, cell, seed, shift, links);
    draw_assumption(world, cell, seed);
    world->capacity = schedule.bursts > 5000 || one_in(&state, 5) ? 16 : 0;
    talk(world, links, &schedule, &state);
    measure_floor(world, links);
    world->thinned = world->capacity && world->message_count > world->capacity;
    disorder(world, &state);
    world->epoch_ticks = draw_epoch(world, &state);
}

void world_clear(struct world *world)
{
    free(world->messages);
    *world = (struct world){.count = 0};
}

struct gn_clocks *world_clocks(const struct world *world)
{
    struct gn_clocks *clocks = gn_clocks_new(world->capacity);
    bool ok = clocks;
    for (uint32_t i = 0; ok && i < world->count; i++) {
        struct gn_clock_def def = {(double)world->line[i].hz, world->line[i].grain};
        ok = gn_clocks_add(clocks, &def) == i;
    }
    for (size_t i = 0; ok && i < world->message_count; i++) {
        const struct world_message *message = &world->messages[i];
        ok =
            gn_clocks_message(clocks, message->from, line_reading(&world->line[message->from], message->sent),
                              message->to, line_reading(&world->line[message->to], message->received)) == 0;
    }
    if (!ok) {
        fprintf(stderr, "soundness: a message was refused\n");
        abort();
    }
    gn_clocks_set_epoch(clocks, world->epoch_ticks);
    return clocks;
}

static bool pair_holds(const struct world *world, enum gn_assumption_kind kind, uint32_t a, uint32_t b)
{
    const struct line *first = &world->line[a], *second = &world->line[b];
    bool steps = false;
    for (int k = 1; k < LINE_PIECES; k++)
        for (int which = 0; which < 2; which++) {
            const struct line *line = which ? first : second;
            __int128 whole = line->piece[k - 1].base + ((__int128)line->piece[k - 1].rate << line->shift);
            steps |= line->piece[k].base != whole;
        }
    struct line_range range = line_relative(first, second), back = line_relative(second, first);
    double nominal = world->assumption.nominal_ppb / 1e9, wander = world->assumption.wander_ppb / 1e9;
    bool within = !steps && range.lo >= 1 - nominal && range.hi <= 1 + nominal && back.lo >= 1 - nominal &&
                  back.hi <= 1 + nominal;
    double spread = (double)fmaxl(range.hi - range.lo, back.hi - back.lo);
    switch (kind) {
    case GN_RATE_UNKNOWN:
        return !first->goes_back && !second->goes_back;
    case GN_RATE_WITHIN:
        return within;
    case GN_RATE_WANDERS:
        return within && spread <= 2 * wander;
    default:
        return within && spread == 0;
    }
}

bool world_holds(const struct world *world, enum gn_assumption_kind kind, uint32_t domain)
{
    bool holds = true;
    for (uint32_t i = 0; i < world->count; i++)
        for (uint32_t k = i + 1; k < world->count; k++)
            holds &= (i != domain && k != domain) || pair_holds(world, kind, i, k);
    return holds;
}
