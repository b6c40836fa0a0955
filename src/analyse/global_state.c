/*
 * The sweep. As in frames.c, two places go through each lane: the lower bounds of its steps (what is behind
 * them becomes possible) and the upper ones (what was before them ends to be). What lies between is what the
 * lane may be in, and of these stages each term keeps which numbers it has (analyse/window.h).
 *
 * Steps of one group happen in an unknown order. Meanwhile each of its locations may be in any of its states
 * before, in and after: what all of them have in common it must be in, what one of them has it may be.
 *
 * How often. It begins where it certainly did not hold and then certainly does. In a time without certainty
 * between two certain ones it changes with some step that may have happened meanwhile, with each at most
 * once, and all that happens at one known moment changes it once. Beginnings and ends take turns: of k
 * changes, from a before to b behind (0, 1), (k + b − a) / 2 are beginnings. (A step whose bounds end where
 * that time begins, or begin where it ends, changes nothing there: it might as well have happened in the
 * certain time.) And at least as often as there are certain times between which it certainly did not hold.
 *
 * A bound costs the facts of its location, the terms of its lane, and the parts of the formula that are of
 * several lanes.
 */
#include "analyse/global_state_inside.h"
#include "analyse/window.h"
#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>

struct truth {
    bool certain, possible;
};

/* How many of a fact's locations have, and may have, the bits. */
struct holders {
    uint32_t must_one, may_one, must_none, may_none;
};

/* What a summand adds, or the sum of them: at least, at most; what is of no use, certainly, possibly. */
struct tally {
    uint32_t lo, hi, bad, maybe_bad;
};

struct being {
    uint64_t must, may; /* bits */
    size_t next;        /* stage */
};

/* One of the two places in all lanes. */
struct side {
    struct being *beings;    /* [locations] */
    struct holders *holders; /* [facts] */
    struct tally *summands, *parts;
};

struct kept {
    struct gn_window numbers;
    uint64_t bad; /* stages that are of no use, perhaps */
};

/* A SUM of several lanes. */
struct sum {
    uint64_t impossible, unsure; /* parts that have no number, that have no certain one */
    uint64_t least, most;
};

struct sweep {
    const struct gn_plan *plan;
    const struct gn_lanes *lanes;
    const struct gn_stages *stages;
    struct gn_lane_bounds bounds;
    struct side sides[2]; /* lower, upper bounds */
    struct kept *kept;    /* [terms] */
    uint32_t *counts;
    uint64_t *present;
    struct sum *sums; /* [nodes] */
    uint64_t inside;  /* aggregated events */
    int64_t now_ns;
    struct truth was; /* before now_ns */
    uint64_t certain_ns, possible_ns;
    /* how often: steps that may have happened now, of these not before; how often it may have changed since
     * it is uncertain; whether it held before that; something happens exactly now; it did not hold since the
     * last certain time */
    uint64_t open, opened, changes;
    bool held_before, is_exact, is_armed;
    struct gn_held *held;
};

/* ---- what is so in one stage of a lane ---- */

static struct truth holds(const struct side *side, uint32_t fact)
{
    const struct holders *h = &side->holders[fact];
    return (struct truth){h->must_one && !h->may_none, h->may_one && !h->must_none};
}

static struct tally tally_of(const struct side *side, const struct gn_plan_summand *summand)
{
    struct truth in = holds(side, summand->fact);
    if (!summand->counts_out)
        return (struct tally){in.certain, in.possible, 0, 0};
    struct tally tally = {!in.possible, !in.certain, 0, 0};
    if (summand->rest != GN_PLAN_NONE) {
        struct truth rest = holds(side, summand->rest);
        tally.hi = !in.certain && rest.possible;
        tally.bad = !in.possible && !rest.possible;
        tally.maybe_bad = !in.certain && !rest.certain;
    }
    return tally;
}

static void add_tally(struct tally *to, const struct tally *tally, uint32_t sign)
{
    to->lo += sign * tally->lo;
    to->hi += sign * tally->hi;
    to->bad += sign * tally->bad;
    to->maybe_bad += sign * tally->maybe_bad;
}

static void tell_summand(const struct gn_plan *p, struct side *side, uint32_t index)
{
    const struct gn_plan_summand *summand = &p->summands[index];
    struct tally *part = &side->parts[summand->part];
    add_tally(part, &side->summands[index], -1u);
    side->summands[index] = tally_of(side, summand);
    add_tally(part, &side->summands[index], 1);
}

static void count_holder(struct holders *h, struct gn_being_in in, const struct being *being, uint32_t sign)
{
    h->must_one += being->must & in.one ? sign : 0;
    h->may_one += being->may & in.one ? sign : 0;
    h->must_none += being->must & in.none ? sign : 0;
    h->may_none += being->may & in.none ? sign : 0;
}

/* The location is in all of `must`, and in nothing but `may`. */
static void put(struct sweep *s, struct side *side, uint32_t location, uint64_t must, uint64_t may)
{
    const struct gn_plan *p = s->plan;
    struct being *being = &side->beings[location];
    const struct being now = {must, may, being->next};
    for (size_t i = p->first_fact[location]; i < p->first_fact[location + 1]; i++) {
        const uint32_t fact = p->facts_of[i];
        count_holder(&side->holders[fact], p->facts[fact].in, being, -1u);
        count_holder(&side->holders[fact], p->facts[fact].in, &now, 1);
        if (p->facts[fact].summand != GN_PLAN_NONE)
            tell_summand(p, side, p->facts[fact].summand);
    }
    *being = now;
}

static struct truth in_range(uint64_t lo, uint64_t hi, const struct gn_plan_node *node)
{
    return (struct truth){lo >= node->least && hi <= node->most, lo <= node->most && hi >= node->least};
}

static struct truth both(struct truth a, struct truth b)
{
    return (struct truth){a.certain && b.certain, a.possible && b.possible};
}

static struct truth either(struct truth a, struct truth b)
{
    return (struct truth){a.certain || b.certain, a.possible || b.possible};
}

static struct truth of_number(const struct tally *part, const struct gn_plan_node *node)
{
    struct truth truth = in_range(part->lo, part->hi, node);
    return both(truth, (struct truth){!part->maybe_bad, !part->bad});
}

/* Of a node of one lane, in the stage where that side is. */
static struct truth local_truth(const struct gn_plan *p, const struct side *side, uint32_t index)
{
    const struct gn_plan_node *node = &p->nodes[index];
    if (node->kind == GN_PLAN_FACT)
        return holds(side, node->fact);
    if (node->kind == GN_PLAN_SUM)
        return of_number(&side->parts[node->part], node);
    if (node->kind == GN_PLAN_NOT) {
        struct truth inner = local_truth(p, side, node->child);
        return (struct truth){!inner.possible, !inner.certain};
    }
    const bool is_and = node->kind == GN_PLAN_AND;
    struct truth truth = {is_and, is_and};
    for (uint32_t c = node->child; c != GN_PLAN_NONE; c = p->nodes[c].next)
        truth = is_and ? both(truth, local_truth(p, side, c)) : either(truth, local_truth(p, side, c));
    return truth;
}

/* ---- what a lane may be in ---- */

/* The stage where that side is comes, or goes (sign: all ones for -1). */
static void keep_stage(struct sweep *s, const struct side *side, uint32_t lane, uint64_t sign)
{
    const struct gn_plan *p = s->plan;
    for (size_t t = p->first_term[lane]; t < p->first_term[lane + 1]; t++) {
        struct kept *kept = &s->kept[t];
        struct tally tally = {0};
        if (p->terms[t].part != GN_PLAN_NONE)
            tally = side->parts[p->terms[t].part];
        else {
            struct truth truth = local_truth(p, side, p->terms[t].node);
            tally = (struct tally){truth.certain, truth.possible, 0, 0};
        }
        kept->bad += tally.maybe_bad ? sign : 0;
        if (tally.bad)
            continue;
        gn_window_count(&kept->numbers, tally.lo, sign);
        gn_window_count(&kept->numbers, tally.hi, sign);
    }
}

/* What the lane contributes to sums. */
static void account(struct sweep *s, uint32_t lane, uint64_t sign)
{
    const struct gn_plan *p = s->plan;
    for (size_t t = p->first_term[lane]; t < p->first_term[lane + 1]; t++) {
        if (p->terms[t].part == GN_PLAN_NONE)
            continue;
        struct sum *sum = &s->sums[p->terms[t].node];
        const uint32_t least = gn_window_least(&s->kept[t].numbers);
        sum->unsure += s->kept[t].bad ? sign : 0;
        if (least == UINT32_MAX) {
            sum->impossible += sign;
            continue;
        }
        sum->least += sign * least;
        sum->most += sign * gn_window_most(&s->kept[t].numbers);
    }
}

/* ---- all lanes together ---- */

static struct truth truth_of(const struct sweep *s, uint32_t index);

static struct truth truth_of_sum(const struct sweep *s, uint32_t index)
{
    const struct gn_plan_node *node = &s->plan->nodes[index];
    const struct sum *sum = &s->sums[index];
    uint64_t least = sum->least, most = sum->most;
    for (uint32_t c = node->child; c != GN_PLAN_NONE; c = s->plan->nodes[c].next) {
        struct truth one = truth_of(s, c);
        least += one.certain;
        most += one.possible;
    }
    return both(in_range(least, most, node),
                (struct truth){!sum->impossible && !sum->unsure, !sum->impossible});
}

static struct truth truth_of(const struct sweep *s, uint32_t index)
{
    const struct gn_plan_node *node = &s->plan->nodes[index];
    if (node->lane != GN_PLAN_NONE) {
        const struct gn_window *numbers = &s->kept[node->term].numbers;
        return (struct truth){gn_window_least(numbers) == 1, gn_window_most(numbers) == 1};
    }
    if (node->kind == GN_PLAN_SUM)
        return truth_of_sum(s, index);
    if (node->kind == GN_PLAN_NOT) {
        struct truth inner = truth_of(s, node->child);
        return (struct truth){!inner.possible, !inner.certain};
    }
    const bool is_and = node->kind == GN_PLAN_AND;
    struct truth truth = {is_and, is_and};
    for (uint32_t c = node->child; c != GN_PLAN_NONE; c = s->plan->nodes[c].next)
        truth = is_and ? both(truth, truth_of(s, c)) : either(truth, truth_of(s, c));
    return truth;
}

/* ---- going on ---- */

/* A step that changes something. */
static void count_step(struct sweep *s, const struct gn_step *step, bool is_upper)
{
    if (step->lo_ns == step->hi_ns) {
        s->is_exact = true;
        return;
    }
    s->open += is_upper ? -1ull : 1;
    s->opened += !is_upper;
}

/* What the location is in behind the step. */
static uint64_t take_stage(struct sweep *s, struct side *side, const struct gn_step *step)
{
    const struct gn_stage *stage = &s->stages[step->location].stages[side->beings[step->location].next++];
    const uint64_t was = stage == s->stages[step->location].stages ? GN_STATE_OTHER : stage[-1].state;
    if (stage->state != was)
        count_step(s, step, side == &s->sides[1]);
    return stage->state;
}

/* The locations of a group may be in anything that they are in before, in and after it. */
static void mix(struct sweep *s, struct side *side, const struct gn_lane_bound *bound)
{
    for (const struct gn_step *step = bound->begin; step < bound->end; step++) {
        const uint64_t state = take_stage(s, side, step);
        const struct being *being = &side->beings[step->location];
        put(s, side, step->location, being->must & state, being->may | state);
    }
}

/* The group that mix() went through has happened. */
static void settle(struct sweep *s, struct side *side, const struct gn_lane_bound *bound)
{
    for (const struct gn_step *step = bound->begin; step < bound->end; step++) {
        const size_t next = side->beings[step->location].next;
        const uint64_t state = s->stages[step->location].stages[next - 1].state;
        put(s, side, step->location, state, state);
    }
}

/* Goes past the group; its stages come, or go (sign: all ones for -1), in which it is happening. */
static void pass(struct sweep *s, struct side *side, const struct gn_lane_bound *bound, uint64_t sign)
{
    if (s->lanes->is_blind || bound->end - bound->begin > 1) {
        mix(s, side, bound);
        keep_stage(s, side, bound->lane, sign);
        settle(s, side, bound);
    } else {
        const uint64_t state = take_stage(s, side, bound->begin);
        put(s, side, bound->begin->location, state, state);
    }
}

static void lead_on(struct sweep *s, const struct gn_lane_bound *bound)
{
    struct side *side = &s->sides[0];
    account(s, bound->lane, -1ull);
    pass(s, side, bound, 1);
    keep_stage(s, side, bound->lane, 1);
    account(s, bound->lane, 1);
    s->inside += s->lanes->is_blind;
}

static void trail_on(struct sweep *s, const struct gn_lane_bound *bound)
{
    struct side *side = &s->sides[1];
    account(s, bound->lane, -1ull);
    keep_stage(s, side, bound->lane, -1ull);
    pass(s, side, bound, -1ull);
    account(s, bound->lane, 1);
    s->inside -= s->lanes->is_blind;
}

/* ---- time goes by ---- */

static void count_beginnings(struct sweep *s, bool holds_now)
{
    if (s->changes + holds_now > s->held_before)
        s->held->times_hi += (s->changes + holds_now - s->held_before) / 2;
}

/* What is so now that all that happens at this moment has happened. */
static void count_moment(struct sweep *s, struct truth now)
{
    const bool was_open = s->was.possible && !s->was.certain, is_open = now.possible && !now.certain;
    if (was_open)
        s->changes += s->is_exact + (is_open ? s->opened : 0);
    if (was_open && !is_open)
        count_beginnings(s, now.certain);
    if (!was_open && is_open) {
        s->changes = s->is_exact + s->open;
        s->held_before = s->was.certain;
    }
    s->held->times_hi += !was_open && !s->was.certain && now.certain;
    s->held->times_lo += s->is_armed && now.certain;
    s->is_armed = (s->is_armed || !now.possible) && !now.certain;
    s->is_exact = false;
    s->opened = 0;
}

static int note_period(struct sweep *s, struct truth now, int64_t to_ns)
{
    struct gn_held *h = s->held;
    if (!now.possible)
        return 0;
    if (!s->was.possible) {
        if (!gn_grow(&h->periods, &h->period_capacity, h->period_count, sizeof *h->periods))
            return -ENOMEM;
        h->periods[h->period_count++] = (struct gn_held_period){.from_ns = s->now_ns};
    }
    struct gn_held_period *period = &h->periods[h->period_count - 1];
    period->to_ns = to_ns;
    period->certain_ns += now.certain ? (uint64_t)to_ns - (uint64_t)s->now_ns : 0;
    return 0;
}

static int advance(struct sweep *s, int64_t to_ns)
{
    const uint64_t length = (uint64_t)to_ns - (uint64_t)s->now_ns;
    if (!length)
        return 0;
    struct truth now = truth_of(s, s->plan->root);
    now.certain = now.certain && !s->inside;
    count_moment(s, now);
    int code = note_period(s, now, to_ns);
    s->held->frames++;
    s->certain_ns += now.certain ? length : 0;
    s->possible_ns += now.possible ? length : 0;
    s->was = now;
    s->now_ns = to_ns;
    return code;
}

static int sweep(struct sweep *s)
{
    struct gn_lane_bound bound;
    int code = 0;
    s->now_ns = s->bounds.of[0].tree[0].key;
    s->is_exact = s->is_armed = true; /* the first moment is known */
    while (code == 0 && gn_lane_bounds_next(&s->bounds, &bound)) {
        code = advance(s, bound.at_ns);
        if (bound.is_upper)
            trail_on(s, &bound);
        else
            lead_on(s, &bound);
    }
    if (s->was.possible && !s->was.certain) {
        s->changes++; /* the end of all */
        count_beginnings(s, false);
    }
    return code;
}

/* ---- begin and end ---- */

static bool open_side(struct sweep *s, struct side *side, size_t count)
{
    const struct gn_plan *p = s->plan;
    side->beings = calloc(count + 1, sizeof *side->beings);
    side->holders = calloc(p->fact_count + 1, sizeof *side->holders);
    side->summands = calloc(p->summand_count + 1, sizeof *side->summands);
    side->parts = calloc(p->part_count + 1, sizeof *side->parts);
    if (!side->beings || !side->holders || !side->summands || !side->parts)
        return false;
    for (uint32_t i = 0; i < p->summand_count; i++)
        tell_summand(p, side, i);
    return true;
}

static bool open_terms(struct sweep *s)
{
    const struct gn_plan *p = s->plan;
    size_t numbers = 0, words = 0;
    for (size_t t = 0; t < p->term_count; t++) {
        numbers += p->terms[t].numbers;
        words += gn_window_words(p->terms[t].numbers);
    }
    s->kept = calloc(p->term_count + 1, sizeof *s->kept);
    s->counts = calloc(numbers + 1, sizeof *s->counts);
    s->present = calloc(words + 1, sizeof *s->present);
    s->sums = calloc(p->node_count + 1, sizeof *s->sums);
    if (!s->kept || !s->counts || !s->present || !s->sums)
        return false;
    numbers = words = 0;
    for (size_t t = 0; t < p->term_count; t++) {
        s->kept[t].numbers =
            (struct gn_window){s->counts + numbers, s->present + words, gn_window_words(p->terms[t].numbers)};
        numbers += p->terms[t].numbers;
        words += s->kept[t].numbers.words;
    }
    return true;
}

static bool open_sweep(struct sweep *s, size_t count)
{
    if (!open_side(s, &s->sides[0], count) || !open_side(s, &s->sides[1], count) || !open_terms(s))
        return false;
    for (uint32_t lane = 0; lane < s->lanes->count; lane++) {
        keep_stage(s, &s->sides[0], lane, 1);
        account(s, lane, 1);
    }
    return gn_lane_bounds_open(&s->bounds, s->lanes);
}

static void close_sweep(struct sweep *s)
{
    gn_lane_bounds_close(&s->bounds);
    for (int i = 0; i < 2; i++) {
        free(s->sides[i].beings);
        free(s->sides[i].holders);
        free(s->sides[i].summands);
        free(s->sides[i].parts);
    }
    free(s->kept);
    free(s->counts);
    free(s->present);
    free(s->sums);
}

/* stages: [count], of which nothing but what is asked changes. */
static int ask_lanes(struct gn_held *held, const struct gn_global *global, const struct gn_lanes *lanes,
                     const struct gn_stages *stages, size_t count)
{
    struct gn_plan plan;
    if (!lanes->count)
        return 0;
    if (!gn_plan_make(&plan, global, lanes, count))
        return -ENOMEM;
    struct sweep s = {.plan = &plan, .lanes = lanes, .stages = stages, .held = held};
    int code = open_sweep(&s, count) ? sweep(&s) : -ENOMEM;
    held->time = gn_frame_time_of(s.certain_ns, s.possible_ns);
    held->is_narrowest = held->is_narrowest && plan.is_narrowest;
    close_sweep(&s);
    gn_plan_clear(&plan);
    return code;
}

/* ---- what is asked ---- */

/* Bits that the formula has of each location. */
static void find_asked(const struct gn_global *g, uint64_t *asked)
{
    for (size_t n = 0; n < g->node_count; n++) {
        const struct gn_global_node *node = &g->nodes[n];
        const uint64_t bits = node->in.one | node->in.none | node->rest.one | node->rest.none;
        for (uint32_t w = node->first_who; w < node->first_who + node->who_count; w++)
            for (uint32_t i = g->whos[w].first; i < g->whos[w].first + g->whos[w].count; i++)
                asked[g->locations[i]] |= bits;
    }
}

/* A copy of all stages; then of those alone in which something changes that is asked. */
struct chosen {
    struct gn_stages *of; /* [count] */
    struct gn_stage *stages;
    size_t *next; /* [count] */
    size_t count;
};

static bool copy_stages(struct chosen *chosen, const struct gn_global *global, const struct gn_stages *stages,
                        size_t count)
{
    size_t total = 0, filled = 0;
    uint64_t *asked = calloc(count + 1, sizeof *asked);
    for (size_t l = 0; l < count; l++)
        total += stages[l].count;
    *chosen =
        (struct chosen){calloc(count + 1, sizeof *chosen->of), malloc((total + 1) * sizeof *chosen->stages),
                        calloc(count + 1, sizeof *chosen->next), count};
    const bool done = asked && chosen->of && chosen->stages && chosen->next;
    if (done)
        find_asked(global, asked);
    for (size_t l = 0; done && l < count; l++) {
        chosen->of[l] = (struct gn_stages){chosen->stages + filled, stages[l].count, stages[l].domain};
        for (size_t i = 0; i < stages[l].count; i++, filled++) {
            chosen->stages[filled] = stages[l].stages[i];
            chosen->stages[filled].state &= asked[l];
        }
    }
    free(asked);
    return done;
}

/* Its first and its last one tell when there is anything to ask. */
static bool is_asked(const struct gn_stages *of, size_t stage)
{
    return stage == 0 || stage + 1 == of->count || of->stages[stage].state != of->stages[stage - 1].state;
}

/* Lanes know from all readings of a clock when each of them was; now those go in which nothing changes. True:
 * there are groups, whose order is not known. */
static bool thin_lanes(struct gn_lanes *lanes, struct chosen *chosen)
{
    size_t filled = 0;
    bool has_groups = lanes->is_blind;
    const struct gn_step *step = lanes->steps;
    for (size_t lane = 0; lane < lanes->count; lane++) {
        const struct gn_step *lane_end = lanes->steps + lanes->first[lane + 1];
        lanes->first[lane] = filled;
        for (const struct gn_step *end; step < lane_end; step = end) {
            const size_t group = filled;
            end = gn_group_end(step);
            has_groups = has_groups || end - step > 1;
            for (const struct gn_step *one = step; one < end; one++)
                if (is_asked(&chosen->of[one->location], chosen->next[one->location]++)) {
                    lanes->steps[filled] = *one;
                    lanes->steps[filled++].joined = true;
                }
            if (filled > group)
                lanes->steps[filled - 1].joined = false;
        }
    }
    lanes->first[lanes->count] = filled;
    return has_groups;
}

static void thin_stages(struct chosen *chosen)
{
    for (size_t l = 0; l < chosen->count; l++) {
        struct gn_stages *of = &chosen->of[l];
        struct gn_stage *to = chosen->stages + (of->stages - chosen->stages);
        size_t filled = 0;
        for (size_t i = 0; i < of->count; i++) {
            const struct gn_stage stage = of->stages[i];
            if (i == 0 || i + 1 == of->count || stage.state != to[filled - 1].state)
                to[filled++] = stage;
        }
        of->count = filled;
    }
}

static int ask(struct gn_held *held, const struct gn_global *global, const struct gn_stages *stages,
               size_t count, bool is_aggregated, uint64_t *sizes, size_t sizes_count, struct gn_error *err)
{
    struct chosen chosen;
    struct gn_lanes lanes = {0};
    *held = (struct gn_held){0};
    int code = copy_stages(&chosen, global, stages, count) ? 0 : -ENOMEM;
    if (code == 0)
        code = is_aggregated ? gn_lanes_aggregated(&lanes, chosen.of, count, sizes, sizes_count, err)
                             : gn_lanes_by_clock(&lanes, chosen.of, count, err);
    if (code == 0) {
        held->is_narrowest = !thin_lanes(&lanes, &chosen);
        thin_stages(&chosen);
        code = ask_lanes(held, global, &lanes, chosen.of, count);
    }
    gn_lanes_clear(&lanes);
    free(chosen.of);
    free(chosen.stages);
    free(chosen.next);
    if (code == 0)
        return 0;
    gn_held_clear(held);
    return gn_fail(err, code, "no memory for the frames of %zu locations", count);
}

int gn_global_ask(struct gn_held *held, const struct gn_global *global, const struct gn_stages *stages,
                  size_t count, struct gn_error *err)
{
    return ask(held, global, stages, count, false, NULL, 0, err);
}

int gn_global_ask_aggregated(struct gn_held *held, const struct gn_global *global,
                             const struct gn_stages *stages, size_t count, uint64_t *sizes,
                             size_t sizes_count, struct gn_error *err)
{
    return ask(held, global, stages, count, true, sizes, sizes_count, err);
}

void gn_held_clear(struct gn_held *held)
{
    free(held->periods);
    *held = (struct gn_held){0};
}
