#include "check.h"

#include "base/mix.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1024 };

/* Where in a run a moment lies. */
enum place { BEFORE, INSIDE, AFTER, FAR, AT_MESSAGE, AT_BREAKPOINT };

static const char *const place_names[] = {"before", "inside", "after", "far", "message", "breakpoint"};

struct trial {
    const struct world *world;
    const struct gn_clocks *clocks;
    struct tally *tally;
    uint64_t state;                                 /* random numbers */
    bool holds[WORLD_DOMAINS][GN_RATE_UNKNOWN + 1]; /* which assumptions are true of which domain */
};

struct batch {
    uint64_t moment[BATCH]; /* true ticks */
    uint64_t ticks[BATCH];
    enum place place[BATCH];
    struct gn_interval interval[BATCH];
};

static void __attribute__((format(printf, 2, 3))) wrong(struct trial *trial, const char *format, ...)
{
    struct tally *tally = trial->tally;
    tally->wrong++;
    if (tally->first_wrong[0])
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(tally->first_wrong, sizeof tally->first_wrong, format, arguments);
    va_end(arguments);
}

static uint64_t below(struct trial *trial, uint64_t limit)
{
    return gn_mix_next(&trial->state) % limit;
}

/* A true tick from..to, within the lines. */
static uint64_t moment_in(struct trial *trial, uint64_t from, uint64_t to)
{
    uint64_t end = line_end(&trial->world->line[0]) - 1;
    from = from < end ? from : end;
    to = to < end ? to : end;
    return from < to ? from + gn_mix_next(&trial->state) % (to - from) : from;
}

/* The moment of a message at this domain, or a few true ticks beside it. */
static uint64_t moment_of_message(struct trial *trial, uint32_t domain)
{
    const struct world *world = trial->world;
    for (int i = 0; i < 20 && world->message_count; i++) {
        const struct world_message *message = &world->messages[below(trial, world->message_count)];
        if (message->from != domain && message->to != domain)
            continue;
        uint64_t t = message->from == domain ? message->sent : message->received;
        return i % 2 ? t : t + below(trial, 33) - 16;
    }
    return moment_in(trial, world->first, world->last);
}

/* The first or the last moment of the reading at, before or after a breakpoint. */
static uint64_t moment_of_breakpoint(struct trial *trial, uint32_t domain, const struct gn_bounds *bounds)
{
    const struct line *line = &trial->world->line[domain];
    const struct gn_breakpoint *points;
    struct gn_outside outside;
    size_t count = gn_bounds_breakpoints(bounds, &points, &outside);
    uint64_t ticks = points[below(trial, count)].ticks + (below(trial, 5) - 2) * line->grain;
    ticks -= ticks % line->grain;
    uint64_t t = below(trial, 2) ? line_first(line, ticks) : line_first(line, ticks + line->grain) - 1;
    return t < line_end(line) ? t : line_end(line) - 1;
}

static enum place draw_place(struct trial *trial, bool only_inside)
{
    static const enum place places[] = {BEFORE, INSIDE,     INSIDE,     AFTER,
                                        FAR,    AT_MESSAGE, AT_MESSAGE, AT_BREAKPOINT};
    static const enum place inside[] = {INSIDE, INSIDE, AT_MESSAGE, AT_BREAKPOINT};
    return only_inside ? inside[below(trial, 4)] : places[below(trial, 8)];
}

static uint64_t draw_moment(struct trial *trial, uint32_t domain, const struct gn_bounds *bounds,
                            enum place place)
{
    const struct world *world = trial->world;
    uint64_t window = world->last - world->first;
    switch (place) {
    case BEFORE:
        return moment_in(trial, world->first > window / 4 ? world->first - window / 4 : 0, world->first);
    case AFTER:
        return moment_in(trial, world->last, world->last + window / 4);
    case FAR:
        return moment_in(trial, 0, UINT64_MAX);
    case AT_MESSAGE:
        return moment_of_message(trial, domain);
    case AT_BREAKPOINT:
        if (!world->line[domain].goes_back && domain != 0)
            return moment_of_breakpoint(trial, domain, bounds);
        /* fall through */
    default:
        return moment_in(trial, world->first, world->last);
    }
}

/* Whether somebody on the way from this domain to the reference said that the clocks do not do as assumed,
 * while what it falls back to is not true, either. */
static bool excused(const struct trial *trial, uint32_t domain)
{
    for (uint32_t i = domain; i != 0; i = trial->world->parent[i]) {
        const struct gn_clock_state *state = gn_clocks_state(trial->clocks, i);
        if (state->refuted_count > 0 && !trial->holds[i][state->rests_on])
            return true;
    }
    return false;
}

static void one_wrong(struct trial *trial, uint32_t domain, const struct batch *batch, int i,
                      const char *what)
{
    if (excused(trial, domain)) {
        trial->tally->excused++;
        return;
    }
    struct line_ns truth = line_ns(&trial->world->line[0], batch->moment[i], trial->world->epoch_ticks);
    wrong(trial, "%s: domain %u (%s), reading %llu: truth %lld, bounds %lld to %lld", what, domain,
          place_names[batch->place[i]], (unsigned long long)batch->ticks[i], (long long)truth.down,
          (long long)batch->interval[i].lo_ns, (long long)batch->interval[i].hi_ns);
}

/* The bounds as whoever draws straight lines between breakpoints sees them, times the length of the line and
 * rounded outward by less than a nanosecond. */
static bool line_contains(const struct gn_breakpoint *a, const struct gn_breakpoint *b, uint64_t ticks,
                          struct line_ns truth)
{
    __int128 length = b->ticks - a->ticks, along = ticks - a->ticks;
    __int128 lo = (__int128)a->lo_ns * (length - along) + (__int128)b->lo_ns * along;
    __int128 hi = (__int128)a->hi_ns * (length - along) + (__int128)b->hi_ns * along;
    return lo < (truth.down + 1) * length && (truth.up - 1) * length < hi;
}

static bool interpolates(const struct gn_bounds *bounds, uint64_t ticks, struct line_ns truth)
{
    const struct gn_breakpoint *points;
    struct gn_outside outside;
    size_t count = gn_bounds_breakpoints(bounds, &points, &outside), low = 0, high = count;
    if (ticks < points[0].ticks || ticks >= points[count - 1].ticks)
        return true;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (points[middle].ticks <= ticks)
            low = middle;
        else
            high = middle;
    }
    if (points[low + 1].ticks - points[low].ticks >= UINT64_C(1) << 56)
        return true; /* the products would not fit */
    return line_contains(&points[low], &points[low + 1], ticks, truth);
}

/* Many at once may be rounded outward by a little more. */
static bool is_nearly(struct gn_interval single, struct gn_interval many)
{
    return many.lo_ns <= single.lo_ns && many.hi_ns >= single.hi_ns &&
           (uint64_t)single.lo_ns - (uint64_t)many.lo_ns <= 2 &&
           (uint64_t)many.hi_ns - (uint64_t)single.hi_ns <= 2;
}

static void check_batch(struct trial *trial, uint32_t domain, const struct gn_bounds *bounds,
                        struct batch *batch)
{
    const struct world *world = trial->world;
    gn_bounds_convert_all(bounds, batch->ticks, batch->interval, BATCH);
    for (int i = 0; i < BATCH; i++) {
        struct gn_interval interval = batch->interval[i];
        struct line_ns truth = line_ns(&world->line[0], batch->moment[i], world->epoch_ticks);
        if (interval.lo_ns > truth.down || interval.hi_ns < truth.up)
            one_wrong(trial, domain, batch, i, "outside");
        if (i % 8 == 0) {
            struct gn_interval single = gn_bounds_convert(bounds, batch->ticks[i]);
            if (!is_nearly(single, interval))
                one_wrong(trial, domain, batch, i, "all at once and one by one differ");
            if (!interpolates(bounds, batch->ticks[i], truth))
                one_wrong(trial, domain, batch, i, "outside between breakpoints");
        }
    }
    trial->tally->conversions += BATCH;
}

/* Widths of a rate that is known, from more than a few messages: others say nothing about the models. */
static void add_widths(struct trial *trial, uint32_t domain, const struct batch *batch)
{
    const struct gn_clock_state *state = gn_clocks_state(trial->clocks, domain);
    struct tally *tally = trial->tally;
    if ((state->rests_on != GN_RATE_CONSTANT && state->rests_on != GN_RATE_WANDERS) ||
        state->used_there < 10 || state->used_back < 10)
        return;
    double floor_ns = trial->world->floor_ns[domain];
    for (int i = 0; i < BATCH; i++) {
        double width = (double)batch->interval[i].hi_ns - (double)batch->interval[i].lo_ns;
        if (domain == 0 || width > 1e15)
            continue;
        if (batch->place[i] == INSIDE) {
            tally->width_ns += width;
            tally->widths++;
        }
        if (batch->place[i] == AT_MESSAGE && floor_ns > 1000) {
            tally->over_floor += width / floor_ns;
            tally->over_floors++;
        }
    }
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void try_batch(struct trial *trial, uint32_t domain, bool in_order)
{
    static struct batch batch;
    const struct gn_bounds *bounds = gn_clocks_state(trial->clocks, domain)->bounds;
    bool violated = !trial->holds[domain][trial->world->assumption.kind];
    for (int i = 0; i < BATCH; i++) {
        batch.place[i] = in_order ? INSIDE : draw_place(trial, violated);
        batch.moment[i] = draw_moment(trial, domain, bounds, batch.place[i]);
    }
    if (in_order)
        qsort(batch.moment, BATCH, sizeof batch.moment[0], ascending);
    for (int i = 0; i < BATCH; i++)
        batch.ticks[i] = line_reading(&trial->world->line[domain], batch.moment[i]);
    check_batch(trial, domain, bounds, &batch);
    add_widths(trial, domain, &batch);
}

static struct gn_interval convert(const struct trial *trial, uint32_t domain, uint64_t moment)
{
    return gn_bounds_convert(gn_clocks_state(trial->clocks, domain)->bounds,
                             line_reading(&trial->world->line[domain], moment));
}

static void check_verdict(struct trial *trial, uint32_t a, uint64_t first, uint32_t b, uint64_t second)
{
    enum gn_verdict verdict = gn_verdict_of(convert(trial, a, first), convert(trial, b, second));
    trial->tally->verdicts++;
    if ((verdict == GN_BEFORE && first >= second) || (verdict == GN_AFTER && first <= second)) {
        if (excused(trial, a) || excused(trial, b))
            return;
        trial->tally->wrong_verdicts++;
        wrong(trial, "verdict %d of domain %u at %llu and domain %u at %llu", verdict, a,
              (unsigned long long)first, b, (unsigned long long)second);
    }
}

/* Two events as far apart as twice the wider one's width. */
static void check_apart(struct trial *trial, uint32_t a, uint64_t first, uint32_t b)
{
    struct gn_interval x = convert(trial, a, first), y = convert(trial, b, first);
    double width = fmax((double)x.hi_ns - (double)x.lo_ns, (double)y.hi_ns - (double)y.lo_ns);
    double apart = (2 * width + 1) * (LINE_TRUE_HZ / 1e9) * 1.0001;
    if (!((double)first + apart < (double)trial->world->last))
        return;
    trial->tally->apart++;
    uint64_t second = first + (uint64_t)apart;
    trial->tally->decided += gn_verdict_of(convert(trial, a, first), convert(trial, b, second)) == GN_BEFORE;
}

static void try_verdicts(struct trial *trial, uint32_t a, int count)
{
    const struct world *world = trial->world;
    for (int i = 0; i < count && !world->line[0].goes_back; i++) { /* else its time has no order */
        uint32_t b = (uint32_t)((a + 1 + below(trial, world->count - 1)) % world->count);
        if (!gn_clocks_state(trial->clocks, b)->reached)
            continue;
        uint64_t first = moment_in(trial, world->first, world->last);
        uint64_t apart = gn_mix_next(&trial->state) >> (30 + below(trial, 34));
        check_verdict(trial, a, first, b, moment_in(trial, first + apart, first + apart + 1));
        check_verdict(trial, a, first, b, first);
        check_apart(trial, a, first, b);
    }
}

/* Clocks that are only known not to go back say nothing before the first message and after the last: those of
 * a domain behind them may then have nothing to hold on to. */
static bool may_be_lost(const struct trial *trial)
{
    bool refuted = false;
    for (uint32_t i = 1; i < trial->world->count; i++)
        refuted |= gn_clocks_state(trial->clocks, i)->refuted_count > 0;
    return refuted || trial->world->assumption.kind == GN_RATE_UNKNOWN;
}

static void check_state(struct trial *trial, uint32_t domain)
{
    const struct gn_clock_state *state = gn_clocks_state(trial->clocks, domain);
    trial->tally->refuted += state->refuted_count > 0;
    trial->tally->unreached += !state->reached;
    if (state->reached != trial->world->connected[domain] && (state->reached || !may_be_lost(trial)))
        wrong(trial, "domain %u is called %s", domain, state->reached ? "reached" : "not reached");
    if (state->reached && !state->bounds)
        wrong(trial, "domain %u has no bounds", domain);
    for (int i = 0; i < state->refuted_count; i++)
        if (trial->holds[domain][state->refuted[i].kind])
            wrong(trial, "domain %u: assumption %d is refuted though it is true", domain,
                  state->refuted[i].kind);
}

static bool same_bounds(const struct gn_bounds *a, const struct gn_bounds *b)
{
    const struct gn_breakpoint *first, *second;
    struct gn_outside before, after;
    size_t count = gn_bounds_breakpoints(a, &first, &before);
    return count == gn_bounds_breakpoints(b, &second, &after) &&
           !memcmp(first, second, count * sizeof *first) && before.rate_lo == after.rate_lo &&
           before.rate_hi == after.rate_hi;
}

struct retelling {
    struct gn_clocks *clocks;
    uint32_t from, to;
};

static void retell(void *context, uint64_t sent_ticks, uint64_t received_ticks)
{
    struct retelling *retelling = context;
    gn_clocks_message(retelling->clocks, retelling->from, sent_ticks, retelling->to, received_ticks);
}

static bool all_hold(const struct trial *trial)
{
    bool all = trial->world->assumption.kind != GN_RATE_UNKNOWN;
    for (uint32_t i = 0; i < trial->world->count; i++)
        all &= trial->holds[i][trial->world->assumption.kind];
    return all;
}

/* Only the kept messages, in other clocks. What is kept suffices for rates within wide limits; without any, a
 * few more messages would say more, and whether they are still there depends on when the last one came. */
static void check_kept(struct trial *trial)
{
    struct world bare = *trial->world;
    bare.message_count = 0;
    struct gn_clocks *again = world_clocks(&bare);
    for (uint32_t a = 0; a < bare.count; a++)
        for (uint32_t b = 0; b < bare.count; b++)
            if (a != b)
                gn_clocks_each_kept(trial->clocks, a, b, retell, &(struct retelling){again, a, b});
    gn_clocks_solve(again, &bare.assumption, NULL);
    for (uint32_t i = 1; i < bare.count; i++) {
        const struct gn_clock_state *was = gn_clocks_state(trial->clocks, i), *is = gn_clocks_state(again, i);
        if (was->reached != is->reached || (is->reached && !same_bounds(was->bounds, is->bounds)))
            wrong(trial, "domain %u: the kept messages give other bounds", i);
    }
    gn_clocks_free(again);
}

static void check_copy(struct trial *trial, uint32_t domain)
{
    const struct gn_bounds *bounds = gn_clocks_state(trial->clocks, domain)->bounds;
    const struct gn_breakpoint *points;
    struct gn_outside outside;
    struct gn_error err = {""};
    size_t count = gn_bounds_breakpoints(bounds, &points, &outside);
    struct gn_bounds *copy = gn_bounds_new(points, count, &outside, &err);
    for (int i = 0; copy && i < 64; i++) {
        uint64_t ticks = points[below(trial, count)].ticks + (gn_mix_next(&trial->state) >> below(trial, 64));
        struct gn_interval was = gn_bounds_convert(bounds, ticks), is = gn_bounds_convert(copy, ticks);
        if (was.lo_ns != is.lo_ns || was.hi_ns != is.hi_ns)
            wrong(trial, "domain %u: the breakpoints give other bounds at %llu", domain,
                  (unsigned long long)ticks);
    }
    if (!copy)
        wrong(trial, "domain %u: its breakpoints are refused: %s", domain, err.text);
    gn_bounds_free(copy);
}

static void try_domains(struct trial *trial, uint64_t conversions)
{
    uint64_t rounds = conversions / BATCH / trial->world->count;
    for (uint32_t i = 0; i < trial->world->count; i++) {
        if (!gn_clocks_state(trial->clocks, i)->bounds)
            continue;
        for (uint64_t round = 0; round <= rounds; round++)
            try_batch(trial, i, round % 4 == 3);
        try_verdicts(trial, i, 64);
        if (i > 0)
            check_copy(trial, i);
    }
}

void check_world(const struct world *world, uint64_t seed, uint64_t conversions, struct tally *tally)
{
    struct gn_error err = {""};
    struct gn_clocks *clocks = world_clocks(world);
    struct trial trial = {.world = world, .clocks = clocks, .tally = tally, .state = gn_mix_at(seed, 9, 0)};
    for (uint32_t i = 0; i < world->count; i++)
        for (int kind = 0; kind <= GN_RATE_UNKNOWN; kind++)
            trial.holds[i][kind] = world_holds(world, kind, i);
    tally->worlds++;
    if (gn_clocks_solve(clocks, &world->assumption, &err) < 0)
        wrong(&trial, "cannot be solved: %s", err.text);
    for (uint32_t i = 1; i < world->count; i++)
        check_state(&trial, i);
    try_domains(&trial, conversions);
    if (seed % 4 == 0 && all_hold(&trial))
        check_kept(&trial);
    gn_clocks_free(clocks);
}

void tally_add(struct tally *sum, const struct tally *more)
{
    sum->worlds += more->worlds;
    sum->conversions += more->conversions;
    sum->wrong += more->wrong;
    sum->refuted += more->refuted;
    sum->unreached += more->unreached;
    sum->excused += more->excused;
    sum->verdicts += more->verdicts;
    sum->wrong_verdicts += more->wrong_verdicts;
    sum->apart += more->apart;
    sum->decided += more->decided;
    sum->width_ns += more->width_ns;
    sum->over_floor += more->over_floor;
    sum->widths += more->widths;
    sum->over_floors += more->over_floors;
}
