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
#include "analyse/lanes.h"
#include "analyse/tournament.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Of a lane's members at one place: how many are not in A, of these in B, and the sum of their indices. */
struct tally {
    uint32_t not_a, b;
    uint64_t sum;
};

struct side {
    struct tally tally;
    const struct gn_step *next;
};

struct lane {
    struct side lead, trail;
    const struct gn_step *end;
    uint64_t stages, bad; /* that it may be in */
    uint32_t *counts;     /* of stages by members that are not in A */
    uint64_t *present;    /* bits: counts that are not 0 */
    uint32_t words;
    uint64_t alone; /* ns in which all lanes but this one may be in A, and this one may not */
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
    struct gn_tournament leads, trails;
    uint32_t others;
    int64_t now_ns;
    uint64_t free;
    uint64_t frames, all_lo_ns, all_hi_ns;
};

/* ---- what a lane may be in ---- */

static uint32_t least_of(const struct lane *l)
{
    uint32_t word = 0;
    while (word + 1 < l->words && !l->present[word])
        word++;
    return l->present[word] ? 64 * word + (uint32_t)__builtin_ctzll(l->present[word]) : UINT32_MAX;
}

static uint32_t most_of(const struct lane *l)
{
    uint32_t word = l->words - 1;
    while (word > 0 && !l->present[word])
        word--;
    return 64 * word + 63 - (uint32_t)__builtin_clzll(l->present[word]);
}

/* sign: 1, or all ones for -1, as everywhere below. */
static void account(struct sweep *s, const struct lane *l, uint64_t sign)
{
    struct share *all = &s->all;
    uint64_t index = (uint64_t)(l - s->lanes);
    uint32_t least = least_of(l), most = least == UINT32_MAX ? 0 : most_of(l);
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

static void count_stage(struct lane *l, uint32_t number, uint64_t sign)
{
    uint64_t bit = (uint64_t)1 << number % 64;
    l->counts[number] += (uint32_t)sign;
    if (l->counts[number])
        l->present[number / 64] |= bit;
    else
        l->present[number / 64] &= ~bit;
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
    count_stage(l, t->b, sign);
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
    const struct side *at = side ? &l->trail : &l->lead;
    struct mix mix = mix_of(s, begin, end, side, &at->tally);
    l->stages += sign;
    l->bad += sign; /* it is in no certain state */
    count_ones(s, l, begin, end, &mix, sign);
    if (mix.useless || mix.without_a > s->others)
        return;
    count_stage(l, mix.without_a, sign);
    count_stage(l, mix.with_b < s->others ? mix.with_b : s->others, sign);
}

/* ---- going on ---- */

static const struct gn_step *group_end(const struct gn_step *step)
{
    while (step->joined)
        step++;
    return step + 1;
}

static void apply(struct sweep *s, struct side *at, const struct gn_step *step, int side)
{
    struct location *x = &s->locations[step->location];
    uint32_t was_out = x->stand[side] != GN_STAND_A, is_out = step->stand != GN_STAND_A;
    at->tally.not_a += is_out - was_out;
    at->tally.sum += ((uint64_t)is_out - was_out) * step->location;
    at->tally.b += (uint32_t)(step->stand == GN_STAND_B) - (uint32_t)(x->stand[side] == GN_STAND_B);
    x->stand[side] = step->stand;
}

/* The lower bound of a lane's next changes: the stages in and after them become possible. */
static struct gn_contestant lead_on(struct sweep *s, uint32_t index)
{
    struct lane *l = &s->lanes[index];
    const struct gn_step *begin = l->lead.next, *end = group_end(begin);
    account(s, l, -1ull);
    if (s->from->is_blind || end - begin > 1)
        count_mixed(s, l, begin, end, 0, 1);
    for (const struct gn_step *step = begin; step < end; step++)
        apply(s, &l->lead, step, 0);
    count_plain(s, l, &l->lead.tally, 1);
    account(s, l, 1);
    l->lead.next = end;
    return end < l->end ? gn_contestant(index, end->lo_ns, 0) : gn_contestant_ended(index);
}

/* The upper bound: the stages before and in them end to be possible. */
static struct gn_contestant trail_on(struct sweep *s, uint32_t index)
{
    struct lane *l = &s->lanes[index];
    const struct gn_step *begin = l->trail.next, *end = group_end(begin);
    account(s, l, -1ull);
    count_plain(s, l, &l->trail.tally, -1ull);
    if (s->from->is_blind || end - begin > 1)
        count_mixed(s, l, begin, end, 1, -1ull);
    for (const struct gn_step *step = begin; step < end; step++)
        apply(s, &l->trail, step, 1);
    account(s, l, 1);
    l->trail.next = end;
    return end < l->end ? gn_contestant(index, end->hi_ns, 0) : gn_contestant_ended(index);
}

/* The one that is certainly not in A while all others are. */
static void add_certain(struct sweep *s, uint64_t length)
{
    const struct lane *l = &s->lanes[s->all.moving_sum];
    struct location *x = l->lead.tally.not_a == 1 ? &s->locations[l->lead.tally.sum] : NULL;
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

/* At the same time, what begins comes first: a lane is never in no stage. */
static void sweep(struct sweep *s)
{
    s->now_ns = s->leads.tree[0].key;
    while (!s->trails.tree[0].ended) {
        struct gn_contestant lead = s->leads.tree[0], trail = s->trails.tree[0];
        if (!lead.ended && lead.key <= trail.key) {
            advance(s, lead.key);
            gn_tournament_replace(&s->leads, lead_on(s, lead.number));
        } else {
            advance(s, trail.key);
            gn_tournament_replace(&s->trails, trail_on(s, trail.number));
        }
    }
}

/* ---- begin and end ---- */

static uint32_t words_of(uint32_t numbers)
{
    return (numbers + 63) / 64;
}

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
        struct tally *t = &s->lanes[s->from->lane_of[x]].lead.tally;
        t->not_a++;
        t->sum += x;
    }
    for (size_t i = 0; i < s->from->count; i++) {
        struct lane *l = &s->lanes[i];
        uint32_t numbers = numbers_of(s, l->lead.tally.not_a);
        l->lead.next = s->from->steps + s->from->first[i];
        l->end = s->from->steps + s->from->first[i + 1];
        l->trail = l->lead;
        l->counts = counts;
        l->present = present;
        l->words = words_of(numbers);
        counts += numbers;
        present += l->words;
        count_plain(s, l, &l->lead.tally, 1);
        account(s, l, 1);
    }
}

static bool begin_tournaments(struct sweep *s)
{
    size_t count = s->from->count;
    struct gn_contestant *first = calloc(count, sizeof *first);
    if (!first)
        return false;
    for (size_t i = 0; i < count; i++)
        first[i] = gn_contestant(i, s->lanes[i].lead.next->lo_ns, 0);
    bool done = gn_tournament_new(&s->leads, first, count);
    for (size_t i = 0; i < count; i++)
        first[i].key = s->lanes[i].lead.next->hi_ns;
    done = done && gn_tournament_new(&s->trails, first, count);
    free(first);
    return done;
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
    return begin_tournaments(s);
}

static void clear(struct sweep *s)
{
    gn_tournament_clear(&s->leads);
    gn_tournament_clear(&s->trails);
    free(s->lanes);
    free(s->locations);
    free(s->counts);
    free(s->present);
}

/* Whole ns as a double that is not more, or not less. */
static struct gn_frame_time time_of(uint64_t lo_ns, uint64_t hi_ns)
{
    struct gn_frame_time time = {(double)lo_ns, (double)hi_ns};
    if ((unsigned __int128)time.lo_ns > lo_ns)
        time.lo_ns = nextafter(time.lo_ns, 0);
    if ((unsigned __int128)time.hi_ns < hi_ns)
        time.hi_ns = nextafter(time.hi_ns, INFINITY);
    return time;
}

static void end(struct sweep *s, struct gn_frames *frames)
{
    frames->frames = s->frames;
    frames->all = time_of(s->all_lo_ns, s->all_hi_ns);
    for (size_t x = 0; x < frames->count; x++) {
        struct location *from = &s->locations[x];
        if (from->possible) /* its last stage was not the end of it */
            from->hi_ns += s->free + s->lanes[s->from->lane_of[x]].alone;
        frames->location[x] = time_of(from->lo_ns, from->hi_ns);
    }
}

int gn_lanes_ask(struct gn_frames *frames, const struct gn_lanes *lanes, size_t count,
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
        code = gn_lanes_ask(frames, &lanes, count, question, err);
        gn_lanes_clear(&lanes);
    }
    return code;
}

void gn_frames_clear(struct gn_frames *frames)
{
    free(frames->location);
    *frames = (struct gn_frames){0};
}
