#include "analyse/lanes.h"

#include <errno.h>
#include <stdlib.h>

struct build {
    struct gn_lanes *lanes;
    const struct gn_stages *stages;
    uint32_t *members; /* locations with stages, by domain, then by number */
    size_t *next;      /* [locations] of their stages */
    struct gn_contestant *contestants;
    size_t filled; /* steps */
};

struct gn_step gn_step_of(uint32_t location, const struct gn_stage *stage)
{
    uint8_t stand = stage->state & GN_STATE_A   ? GN_STAND_A
                    : stage->state & GN_STATE_B ? GN_STAND_B
                                                : GN_STAND_OTHER;
    return (struct gn_step){
        .lo_ns = stage->at.lo_ns, .hi_ns = stage->at.hi_ns, .location = location, .stand = stand};
}

size_t gn_steps_overlapping(const struct gn_step *steps, size_t count)
{
    int64_t hi = steps[0].hi_ns;
    size_t end = 1;
    for (; end < count && steps[end].lo_ns <= hi; end++)
        hi = steps[end].hi_ns > hi ? steps[end].hi_ns : hi;
    return end;
}

void gn_steps_join(struct gn_step *steps, size_t count)
{
    int64_t hi = steps[0].hi_ns;
    for (size_t i = 1; i < count; i++)
        hi = steps[i].hi_ns > hi ? steps[i].hi_ns : hi;
    for (size_t i = 0; i < count; i++) {
        steps[i].lo_ns = steps[0].lo_ns;
        steps[i].hi_ns = hi;
        steps[i].joined = i + 1 < count;
    }
}

int gn_lanes_new(struct gn_lanes *lanes, const struct gn_stages *stages, size_t count, struct gn_error *err)
{
    size_t total = 0;
    for (size_t l = 0; l < count; l++)
        total += stages[l].count;
    *lanes = (struct gn_lanes){.steps = calloc(total + 1, sizeof *lanes->steps),
                               .first = calloc(count + 1, sizeof *lanes->first),
                               .lane_of = calloc(count + 1, sizeof *lanes->lane_of)};
    if (!lanes->steps || !lanes->first || !lanes->lane_of) {
        gn_lanes_clear(lanes);
        return gn_fail(err, -ENOMEM, "no memory for the frames of %zu changes", total);
    }
    for (size_t l = 0; l < count; l++)
        lanes->lane_of[l] = UINT32_MAX;
    return 0;
}

void gn_lanes_clear(struct gn_lanes *lanes)
{
    free(lanes->steps);
    free(lanes->first);
    free(lanes->lane_of);
    *lanes = (struct gn_lanes){0};
}

/* ---- one lane ---- */

static void add_step(struct build *b, uint32_t location)
{
    const struct gn_stage *stage = &b->stages[location].stages[b->next[location]++];
    b->lanes->steps[b->filled++] = gn_step_of(location, stage);
}

/* A change is not before the one before it, nor after the one after it. False: that leaves no time for one.
 */
static bool make_consistent(struct gn_step *steps, size_t count)
{
    bool consistent = true;
    for (size_t i = 1; i < count; i++)
        if (steps[i].lo_ns < steps[i - 1].lo_ns)
            steps[i].lo_ns = steps[i - 1].lo_ns;
    for (size_t i = count; i-- > 0;) {
        if (i + 1 < count && steps[i].hi_ns > steps[i + 1].hi_ns)
            steps[i].hi_ns = steps[i + 1].hi_ns;
        consistent = consistent && steps[i].lo_ns <= steps[i].hi_ns;
    }
    return consistent;
}

static void end_lane(struct build *b, const uint32_t *members, size_t count)
{
    for (size_t m = 0; m < count; m++)
        b->lanes->lane_of[members[m]] = (uint32_t)b->lanes->count;
    b->lanes->first[++b->lanes->count] = b->filled;
}

static void add_alone(struct build *b, uint32_t location)
{
    size_t begin = b->filled, count = b->stages[location].count;
    b->next[location] = 0;
    while (b->next[location] < count)
        add_step(b, location);
    struct gn_step *steps = b->lanes->steps + begin;
    make_consistent(steps, count);
    for (size_t i = 0; i < count; i++) /* bounds that exclude each other: the sweep needs an interval */
        steps[i].hi_ns = steps[i].hi_ns < steps[i].lo_ns ? steps[i].lo_ns : steps[i].hi_ns;
    end_lane(b, &location, 1);
}

/* ---- a domain ---- */

/* By ticks; where these are equal, by the lower bound. */
static struct gn_contestant next_reading(const struct build *b, const uint32_t *members, size_t member)
{
    const struct gn_stages *stages = &b->stages[members[member]];
    if (b->next[members[member]] == stages->count)
        return gn_contestant_ended(member);
    const struct gn_stage *next = &stages->stages[b->next[members[member]]];
    return gn_contestant(member, (int64_t)(next->ticks ^ (uint64_t)1 << 63), next->at.lo_ns);
}

static bool are_of_one(const struct gn_step *steps, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (steps[i].location != steps[0].location)
            return false;
    return true;
}

/* Equal ticks are moments within the clock's granularity, those of several locations in an unknown order
 * unless their bounds, which may be narrower than those of the reading, tell. */
static void join(struct gn_step *steps, size_t count)
{
    for (size_t begin = 0, size; begin < count; begin += size) {
        size = gn_steps_overlapping(steps + begin, count - begin);
        if (!are_of_one(steps + begin, size))
            gn_steps_join(steps + begin, size);
    }
}

/* All steps of the members in the order of their clock. False: no memory. */
static bool add_in_order(struct build *b, const uint32_t *members, size_t count)
{
    struct gn_tournament t;
    size_t group = b->filled;
    int64_t ticks = 0;
    for (size_t m = 0; m < count; m++) {
        b->next[members[m]] = 0;
        b->contestants[m] = next_reading(b, members, m);
    }
    if (!gn_tournament_new(&t, b->contestants, count))
        return false;
    while (!t.tree[0].ended) {
        if (t.tree[0].key != ticks) {
            join(b->lanes->steps + group, b->filled - group);
            group = b->filled;
            ticks = t.tree[0].key;
        }
        add_step(b, members[t.tree[0].number]);
        gn_tournament_replace(&t, next_reading(b, members, t.tree[0].number));
    }
    join(b->lanes->steps + group, b->filled - group);
    gn_tournament_clear(&t);
    return true;
}

static bool add_domain(struct build *b, const uint32_t *members, size_t count)
{
    size_t begin = b->filled;
    if (count > 1) {
        if (!add_in_order(b, members, count))
            return false;
        if (make_consistent(b->lanes->steps + begin, b->filled - begin)) {
            end_lane(b, members, count);
            return true;
        }
        b->filled = begin;
    }
    for (size_t m = 0; m < count; m++)
        add_alone(b, members[m]);
    return true;
}

/* ---- all of them ---- */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The locations to be asked, by domain. How many. */
static size_t find_members(const struct gn_stages *stages, size_t count, uint64_t *keys)
{
    size_t found = 0;
    for (size_t l = 0; l < count; l++)
        if (stages[l].count)
            keys[found++] = (uint64_t)stages[l].domain << 32 | l;
    qsort(keys, found, sizeof *keys, by_value);
    return found;
}

static bool add_all(struct build *b, const uint64_t *keys, size_t found)
{
    for (size_t i = 0; i < found; i++)
        b->members[i] = (uint32_t)keys[i];
    for (size_t begin = 0, end; begin < found; begin = end) {
        for (end = begin + 1; end < found && keys[end] >> 32 == keys[begin] >> 32;)
            end++;
        if (!add_domain(b, b->members + begin, end - begin))
            return false;
    }
    return true;
}

int gn_lanes_by_clock(struct gn_lanes *lanes, const struct gn_stages *stages, size_t count,
                      struct gn_error *err)
{
    int code = gn_lanes_new(lanes, stages, count, err);
    if (code)
        return code;
    struct build b = {.lanes = lanes,
                      .stages = stages,
                      .members = calloc(count + 1, sizeof *b.members),
                      .next = calloc(count + 1, sizeof *b.next),
                      .contestants = calloc(count + 1, sizeof *b.contestants)};
    uint64_t *keys = calloc(count + 1, sizeof *keys);
    bool done =
        b.members && b.next && b.contestants && keys && add_all(&b, keys, find_members(stages, count, keys));
    free(b.members);
    free(b.next);
    free(b.contestants);
    free(keys);
    if (done)
        return 0;
    gn_lanes_clear(lanes);
    return gn_fail(err, -ENOMEM, "no memory for the frames of %zu locations", count);
}

/* ---- their bounds in the order of time ---- */

static bool open_side(struct gn_lane_bounds *b, struct gn_contestant *first, int side)
{
    const size_t count = b->lanes->count;
    b->next[side] = malloc(count * sizeof *b->next[side]);
    for (size_t i = 0; b->next[side] && i < count; i++) {
        const struct gn_step *step = b->lanes->steps + b->lanes->first[i];
        b->next[side][i] = step;
        first[i] = gn_contestant(i, side ? step->hi_ns : step->lo_ns, 0);
    }
    return b->next[side] && gn_tournament_new(&b->of[side], first, count);
}

bool gn_lane_bounds_open(struct gn_lane_bounds *bounds, const struct gn_lanes *lanes)
{
    struct gn_contestant *first = calloc(lanes->count, sizeof *first);
    *bounds = (struct gn_lane_bounds){.lanes = lanes};
    const bool done = first && open_side(bounds, first, 0) && open_side(bounds, first, 1);
    free(first);
    return done;
}

void gn_lane_bounds_close(struct gn_lane_bounds *bounds)
{
    for (int side = 0; side < 2; side++) {
        free(bounds->next[side]);
        gn_tournament_clear(&bounds->of[side]);
    }
}
