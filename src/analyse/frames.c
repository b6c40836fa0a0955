/*
 * The sweep. A lane (analyse/lanes.h) enters its next stage possibly from the lower bound of the change on,
 * and leaves the one before certainly at its upper bound: two places in each lane, `lead` and `trail`, and
 * what lies between them is what the lane may be in. Of these stages it keeps how many there are, by the
 * number of members that are not in A (and are all in B); `bad` ones are no part of any answer.
 *
 * Of all lanes together: sums of the least and of the largest such number, so that the question for any
 * number of others is two comparisons; and for one other how many lanes are not, or may not be, all in A,
 * with the sum of their indices, which is the index when there is one.
 *
 * A location's upper time is not added to in every frame, but when it begins and ends to be possible: as the
 * growth meanwhile of the time in which all lanes may be in A (`free`), or all but its own lane (`alone`).
 *
 * A bound costs O(1), the tournament O(log lanes), and questions for more than 63 others O(others / 64).
 * Times are whole ns modulo 2^64; all of the time line is less than that.
 */
#include "analyse/frames.h"

#include "analyse/lanes.h"
#include "analyse/window.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Of a lane's members at one place: how many are not in A, of these in B, and the sum of their indices. */
struct tally {
    uint32_t not_a, b;
    uint64_t sum;
};

struct lane {
    struct tally lead, trail;
    uint64_t stages, bad;     /* that it may be in */
    struct gn_window numbers; /* of members that are not in A */
    uint64_t alone;           /* ns in which all lanes but this one may be in A, and this one may not */
};

struct location {
    uint8_t stand[2];  /* at the lead, at the trail */
    uint8_t may;       /* within a group: GN_STAND_ bits; 0 outside */
    uint64_t possible; /* stages in which it is the one that is not in A */
    uint64_t lo_ns, hi_ns;
};

/* What lanes contribute to what is known of all. */
struct share {
    uint64_t impossible, unsure; /* have no stage, not only one number, for an answer */
    uint64_t least, most;        /* numbers of members that are not in A */
    uint64_t never, never_sum;   /* may not be all in A */
    uint64_t moving, moving_sum; /* are not certainly all in A */
};

struct sweep {
    const struct gn_lanes *from;
    struct lane *lanes;
    struct location *locations;
    uint32_t *counts; /* of all lanes */
    uint64_t *present;
    struct share all;
    struct gn_lane_bounds bounds;
    uint32_t others;
    int64_t now_ns;
    uint64_t free;
    uint64_t frames, all_lo_ns, all_hi_ns;
};

/* ---- what a lane may be in ---- */

/* sign: 1, or all ones for -1, as everywhere below. */
static void account(struct sweep *s, const struct lane *l, uint64_t sign)
{
    struct share *all = &s->all;
    uint64_t index = (uint64_t)(l - s->lanes);
    uint32_t least = gn_window_least(&l->numbers),
             most = least == UINT32_MAX ? 0 : gn_window_most(&l->numbers);
    if (least == UINT32_MAX)
        all->impossible += sign;
    else {
        all->least += sign * least;
        all->most += sign * most;
    }
    if (l->bad || least != most)
        all->unsure += sign;
    if (least != 0) {
        all->never += sign;
        all->never_sum += sign * index;
    }
    if (l->bad || least != 0 || most != 0) {
        all->moving += sign;
        all->moving_sum += sign * index;
    }
}

/* The location is the one that is not in A, in one stage more or less of its lane. */
static void count_one(struct sweep *s, const struct lane *l, uint64_t location, uint64_t sign)
{
    struct location *x = &s->locations[location];
    bool was = x->possible > 0;
    x->possible += sign;
    if (was != (x->possible > 0))
        x->hi_ns += was ? s->free + l->alone : -(s->free + l->alone);
}

/* A stage in which each member's state is known. */
static void count_plain(struct sweep *s, struct lane *l, const struct tally *t, uint64_t sign)
{
    l->stages += sign;
    if (t->not_a != t->b || t->b > s->others) {
        l->bad += sign;
        return;
    }
    gn_window_count(&l->numbers, t->b, sign);
    if (s->others == 1 && t->b == 1)
        count_one(s, l, t->sum, sign);
}

/* ---- groups: each member of the lane may be in any of its states before, in and after ---- */

/* Of all members: how many cannot be in A (sum of indices), can be in B, can be in neither. */
struct mix {
    uint32_t without_a, with_b, useless;
    uint64_t sum;
};

static struct mix mix_of(struct sweep *s, const struct gn_step *begin, const struct gn_step *end, int side,
                         const struct tally *before)
{
    struct mix mix = {before->not_a, before->b, before->not_a - before->b, before->sum};
    for (const struct gn_step *step = begin; step < end; step++) {
        struct location *x = &s->locations[step->location];
        uint8_t may = (x->may ? x->may : x->stand[side]) | step->stand;
        uint8_t had = x->may ? x->may : x->stand[side];
        x->may = may;
        if (!(had & GN_STAND_A) && may & GN_STAND_A) {
            mix.without_a--;
            mix.sum -= step->location;
        }
        mix.with_b += !(had & GN_STAND_B) && may & GN_STAND_B;
        mix.useless -= had == GN_STAND_OTHER && may != GN_STAND_OTHER;
    }
    return mix;
}

/* For one other: who may be that in the group. Ends with what the group's locations may be in. */
static void count_ones(struct sweep *s, const struct lane *l, const struct gn_step *begin,
                       const struct gn_step *end, const struct mix *mix, uint64_t sign)
{
    bool possible = s->others == 1 && !mix->useless;
    if (possible && mix->without_a == 1)
        count_one(s, l, mix->sum, sign);
    for (const struct gn_step *step = begin; step < end; step++) {
        struct location *x = &s->locations[step->location];
        if (possible && mix->without_a == 0 && x->may & GN_STAND_B)
            count_one(s, l, step->location, sign);
        x->may = 0; /* once for each location */
    }
}

static void count_mixed(struct sweep *s, struct lane *l, const struct gn_step *begin,
                        const struct gn_step *end, int side, uint64_t sign)
{
    struct mix mix = mix_of(s, begin, end, side, side ? &l->trail : &l->lead);
    l->stages += sign;
    l->bad += sign; /* it is in no certain state */
    count_ones(s, l, begin, end, &mix, sign);
    if (mix.useless || mix.without_a > s->others)
        return;
    gn_window_count(&l->numbers, mix.without_a, sign);
    gn_window_count(&l->numbers, mix.with_b < s->others ? mix.with_b : s->others, sign);
}

/* ---- going on ---- */

static void apply(struct sweep *s, struct tally *at, const struct gn_step *step, int side)
{
    struct location *x = &s->locations[step->location];
    uint32_t was_out = x->stand[side] != GN_STAND_A, is_out = step->stand != GN_STAND_A;
    at->not_a += is_out - was_out;
    at->sum += ((uint64_t)is_out - was_out) * step->location;
    at->b += (uint32_t)(step->stand == GN_STAND_B) - (uint32_t)(x->stand[side] == GN_STAND_B);
    x->stand[side] = step->stand;
}

/* The lower bound of a lane's next changes: the stages in and after them become possible. */
static void lead_on(struct sweep *s, const struct gn_lane_bound *bound)
{
    struct lane *l = &s->lanes[bound->lane];
    account(s, l, -1ull);
    if (s->from->is_blind || bound->end - bound->begin > 1)
        count_mixed(s, l, bound->begin, bound->end, 0, 1);
    for (const struct gn_step *step = bound->begin; step < bound->end; step++)
        apply(s, &l->lead, step, 0);
    count_plain(s, l, &l->lead, 1);
    account(s, l, 1);
}

/* The upper bound: the stages before and in them end to be possible. */
static void trail_on(struct sweep *s, const struct gn_lane_bound *bound)
{
    struct lane *l = &s->lanes[bound->lane];
    account(s, l, -1ull);
    count_plain(s, l, &l->trail, -1ull);
    if (s->from->is_blind || bound->end - bound->begin > 1)
        count_mixed(s, l, bound->begin, bound->end, 1, -1ull);
    for (const struct gn_step *step = bound->begin; step < bound->end; step++)
        apply(s, &l->trail, step, 1);
    account(s, l, 1);
}

/* The one that is certainly not in A while all others are. */
static void add_certain(struct sweep *s, uint64_t length)
{
    const struct lane *l = &s->lanes[s->all.moving_sum];
    struct location *x = l->lead.not_a == 1 ? &s->locations[l->lead.sum] : NULL;
    if (x && x->possible == l->stages && !l->bad)
        x->lo_ns += length;
}

static void advance(struct sweep *s, int64_t to_ns)
{
    const struct share *all = &s->all;
    uint64_t length = (uint64_t)to_ns - (uint64_t)s->now_ns;
    s->now_ns = to_ns;
    if (!length)
        return;
    s->frames++;
    if (!all->impossible && all->least <= s->others && all->most >= s->others)
        s->all_hi_ns += length;
    if (!all->impossible && !all->unsure && all->least == s->others)
        s->all_lo_ns += length;
    if (all->never == 0)
        s->free += length;
    else if (all->never == 1)
        s->lanes[all->never_sum].alone += length;
    if (s->others == 1 && all->moving == 1)
        add_certain(s, length);
}

static void sweep(struct sweep *s)
{
    struct gn_lane_bound bound;
    s->now_ns = s->bounds.of[0].tree[0].key;
    while (gn_lane_bounds_next(&s->bounds, &bound)) {
        advance(s, bound.at_ns);
        if (bound.is_upper)
            trail_on(s, &bound);
        else
            lead_on(s, &bound);
    }
}

/* ---- begin and end ---- */

/* How many numbers of others a lane of so many members has. */
static uint32_t numbers_of(const struct sweep *s, uint32_t members)
{
    return (members < s->others ? members : s->others) + 1;
}

/* Before their first stages all locations are in none: a lane's first stage. */
static void begin_lanes(struct sweep *s, size_t count)
{
    uint32_t *counts = s->counts;
    uint64_t *present = s->present;
    for (size_t x = 0; x < count; x++) {
        s->locations[x].stand[0] = s->locations[x].stand[1] = GN_STAND_OTHER;
        if (s->from->lane_of[x] == UINT32_MAX)
            continue;
        struct tally *t = &s->lanes[s->from->lane_of[x]].lead;
        t->not_a++;
        t->sum += x;
    }
    for (size_t i = 0; i < s->from->count; i++) {
        struct lane *l = &s->lanes[i];
        uint32_t numbers = numbers_of(s, l->lead.not_a);
        l->trail = l->lead;
        l->numbers = (struct gn_window){counts, present, gn_window_words(numbers)};
        counts += numbers;
        present += l->numbers.words;
        count_plain(s, l, &l->lead, 1);
        account(s, l, 1);
    }
}

static bool begin(struct sweep *s, size_t count)
{
    size_t lanes = s->from->count;
    s->lanes = calloc(lanes, sizeof *s->lanes);
    s->locations = calloc(count, sizeof *s->locations);
    s->counts = calloc(count + lanes, sizeof *s->counts);
    s->present = calloc(count / 64 + 2 * lanes, sizeof *s->present);
    if (!s->lanes || !s->locations || !s->counts || !s->present)
        return false;
    begin_lanes(s, count);
    return gn_lane_bounds_open(&s->bounds, s->from);
}

static void clear(struct sweep *s)
{
    gn_lane_bounds_close(&s->bounds);
    free(s->lanes);
    free(s->locations);
    free(s->counts);
    free(s->present);
}

static void end(struct sweep *s, struct gn_frames *frames)
{
    frames->frames = s->frames;
    frames->all = gn_frame_time_of(s->all_lo_ns, s->all_hi_ns);
    for (size_t x = 0; x < frames->count; x++) {
        struct location *from = &s->locations[x];
        if (from->possible) /* its last stage was not the end of it */
            from->hi_ns += s->free + s->lanes[s->from->lane_of[x]].alone;
        frames->location[x] = gn_frame_time_of(from->lo_ns, from->hi_ns);
    }
}

int gn_frames_of_lanes(struct gn_frames *frames, const struct gn_lanes *lanes, size_t count,
                       const struct gn_question *question, struct gn_error *err)
{
    struct sweep s = {.from = lanes, .others = question->others};
    *frames = (struct gn_frames){.count = question->others == 1 ? count : 0};
    if (frames->count)
        frames->location = calloc(frames->count, sizeof *frames->location);
    bool done = !frames->count || frames->location;
    if (done && lanes->count) {
        done = begin(&s, count);
        if (done) {
            sweep(&s);
            end(&s, frames);
        }
        clear(&s);
    }
    if (done)
        return 0;
    gn_frames_clear(frames);
    return gn_fail(err, -ENOMEM, "no memory for the frames of %zu locations", count);
}

int gn_frames_ask(struct gn_frames *frames, const struct gn_stages *stages, size_t count,
                  const struct gn_question *question, struct gn_error *err)
{
    struct gn_lanes lanes;
    int code = gn_lanes_by_clock(&lanes, stages, count, err);
    if (code == 0) {
        code = gn_frames_of_lanes(frames, &lanes, count, question, err);
        gn_lanes_clear(&lanes);
    }
    return code;
}

struct gn_frame_time gn_frame_time_of(uint64_t lo_ns, uint64_t hi_ns)
{
    struct gn_frame_time time = {(double)lo_ns, (double)hi_ns};
    if ((unsigned __int128)time.lo_ns > lo_ns)
        time.lo_ns = nextafter(time.lo_ns, 0);
    if ((unsigned __int128)time.hi_ns < hi_ns)
        time.hi_ns = nextafter(time.hi_ns, INFINITY);
    return time;
}

void gn_frames_clear(struct gn_frames *frames)
{
    free(frames->location);
    *frames = (struct gn_frames){0};
}
