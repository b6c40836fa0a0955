/*
 * frames: the sweep and the aggregated view against references that know nothing of sweeping.
 *
 *   - by definition: at each instant the stages that each location may be in, and all choices of them;
 *   - by exhaustion: all true times that ticks and bounds allow, and how long the answer was yes in each;
 *   - by truth: random true times within random bounds, far more of them than could be enumerated.
 *
 * Times are small whole numbers, so that an instant t stands for [t, t + 1).
 */
#include "analyse/frames.h"
#include "base/mix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_LOCATIONS = 8, MOST_STAGES = 40, MOST_EVENTS = MOST_LOCATIONS * MOST_STAGES, SIZES = 10 };

struct world {
    size_t count;
    int64_t length;
    struct gn_stages stages[MOST_LOCATIONS];
    struct gn_stage list[MOST_LOCATIONS][MOST_STAGES];
    int64_t truth[MOST_LOCATIONS][MOST_STAGES];
};

/* How worlds are made. */
struct making {
    uint32_t locations, stages; /* at most */
    int64_t length, width;      /* of bounds, each side, at most */
    uint32_t domains;           /* at most; 0: each location its own */
    int64_t granularity;        /* of clocks */
    uint32_t cut;               /* of a hundred bounds, made narrower one by one */
};

static uint64_t seed;

static uint64_t below(uint64_t n)
{
    return gn_mix_next(&seed) % n;
}

/* ---- worlds ---- */

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void make_truth(struct world *w, const struct making *m, size_t l)
{
    size_t count = below(20) ? 1 + below(m->stages) : 0;
    for (size_t i = 0; i < count; i++)
        w->truth[l][i] = (int64_t)below((uint64_t)m->length);
    qsort(w->truth[l], count, sizeof w->truth[l][0], by_time);
    for (size_t i = 0; i < count; i++) {
        static const uint8_t states[] = {1, 1, 1, 2, 2, 2, 0, 3};
        w->list[l][i] = (struct gn_stage){
            .state = i + 1 == count && below(10) ? GN_STATE_OTHER : states[below(sizeof states)]};
    }
    w->stages[l] =
        (struct gn_stages){w->list[l], count, m->domains ? (uint32_t)below(m->domains) : (uint32_t)l};
}

/* Bounds of a domain's readings: two functions that do not descend, around all moments with that reading. */
static void make_bounds(struct world *w, const struct making *m, uint32_t domain)
{
    int64_t lo[200], hi[200];
    int64_t readings = m->length / m->granularity + 1;
    for (int64_t r = 0; r < readings; r++) {
        lo[r] = r * m->granularity - (int64_t)below((uint64_t)m->width + 1);
        hi[r] = (r + 1) * m->granularity - 1 + (int64_t)below((uint64_t)m->width + 1);
    }
    for (int64_t r = readings - 1; r-- > 0;)
        lo[r] = lo[r] < lo[r + 1] ? lo[r] : lo[r + 1];
    for (int64_t r = 1; r < readings; r++)
        hi[r] = hi[r] > hi[r - 1] ? hi[r] : hi[r - 1];
    for (size_t l = 0; l < w->count; l++)
        for (size_t i = 0; w->stages[l].domain == domain && i < w->stages[l].count; i++) {
            int64_t reading = w->truth[l][i] / m->granularity;
            w->list[l][i].ticks = 1000 + (uint64_t)reading;
            w->list[l][i].at = (struct gn_interval){lo[reading], hi[reading]};
        }
}

/* What else may be known of a moment: its bounds alone become narrower, and those that follow from that. */
static void cut_bounds(struct world *w, const struct making *m, size_t l)
{
    struct gn_stage *list = w->list[l];
    for (size_t i = 0; i < w->stages[l].count; i++) {
        if (below(100) < m->cut)
            list[i].at.lo_ns += (int64_t)below((uint64_t)(w->truth[l][i] - list[i].at.lo_ns) + 1);
        if (below(100) < m->cut)
            list[i].at.hi_ns -= (int64_t)below((uint64_t)(list[i].at.hi_ns - w->truth[l][i]) + 1);
    }
    for (size_t i = 1; i < w->stages[l].count; i++)
        if (list[i].at.lo_ns < list[i - 1].at.lo_ns)
            list[i].at.lo_ns = list[i - 1].at.lo_ns;
    for (size_t i = w->stages[l].count; i-- > 1;)
        if (list[i - 1].at.hi_ns > list[i].at.hi_ns)
            list[i - 1].at.hi_ns = list[i].at.hi_ns;
}

static void make_world(struct world *w, const struct making *m)
{
    *w = (struct world){.count = 1 + below(m->locations), .length = m->length};
    for (size_t l = 0; l < w->count; l++)
        make_truth(w, m, l);
    for (uint32_t d = 0; d < MOST_LOCATIONS; d++)
        make_bounds(w, m, d);
    for (size_t l = 0; l < w->count; l++)
        cut_bounds(w, m, l);
}

static void print_world(const struct world *w)
{
    for (size_t l = 0; l < w->count; l++) {
        printf("location %zu, domain %u:", l, w->stages[l].domain);
        for (size_t i = 0; i < w->stages[l].count; i++)
            printf("  [%ld, %ld] @%lu %u (true %ld)", (long)w->list[l][i].at.lo_ns,
                   (long)w->list[l][i].at.hi_ns, (unsigned long)w->list[l][i].ticks, w->list[l][i].state,
                   (long)w->truth[l][i]);
        printf("\n");
    }
}

/* ---- what the question means, at one instant ---- */

enum { NOBODY = -1 }; /* as what: all of them */

/* who: NOBODY, whoever is not in A; else that location has to be the one. states: of all, of nobody 0xff. */
static bool answers(const uint8_t *states, size_t count, uint32_t others, int who)
{
    uint32_t out = 0;
    for (size_t l = 0; l < count; l++) {
        if (states[l] == 0xff || states[l] & GN_STATE_A)
            continue;
        if (!(states[l] & GN_STATE_B) || (who != NOBODY && who != (int)l))
            return false;
        out++;
    }
    return out == others && (who == NOBODY || (states[who] != 0xff && !(states[who] & GN_STATE_A)));
}

/* Sets of states as bits 1 << state; whether the answer is yes for some choice and for all. */
struct outcome {
    bool possible, certain;
};
static struct outcome choose(const uint8_t *sets, size_t count, uint32_t others, int who)
{
    uint8_t states[MOST_LOCATIONS];
    struct outcome outcome = {false, true};
    uint64_t choices = (uint64_t)1 << 2 * count;
    for (uint64_t choice = 0; choice < choices; choice++) {
        bool allowed = true;
        for (size_t l = 0; l < count; l++) {
            states[l] = choice >> 2 * l & 3;
            allowed = allowed && sets[l] >> states[l] & 1;
        }
        if (!allowed)
            continue;
        for (size_t l = 0; l < count; l++)
            states[l] = sets[l] & 0x80 ? 0xff : states[l];
        bool yes = answers(states, count, others, who);
        outcome.possible = outcome.possible || yes;
        outcome.certain = outcome.certain && yes;
    }
    return outcome;
}

/* ---- by definition ---- */

static uint8_t possible_at(const struct gn_stages *s, int64_t t)
{
    uint8_t set = 0;
    if (!s->count)
        return 0x81; /* nobody */
    if (t < s->stages[0].at.hi_ns)
        set |= 1; /* does not run yet */
    for (size_t i = 0; i < s->count; i++)
        if (s->stages[i].at.lo_ns <= t && (i + 1 == s->count || t < s->stages[i + 1].at.hi_ns))
            set |= (uint8_t)(1 << s->stages[i].state);
    return set;
}

/* [0] of whoever it is, [1 + l] of location l. After the last bound there is no frame. */
static void by_definition(const struct world *w, uint32_t others, struct gn_frame_time *times)
{
    int64_t last = INT64_MIN;
    for (size_t l = 0; l < w->count; l++)
        for (size_t i = 0; i < w->stages[l].count; i++)
            last = w->list[l][i].at.hi_ns > last ? w->list[l][i].at.hi_ns : last;
    for (size_t l = 0; l <= w->count; l++)
        times[l] = (struct gn_frame_time){0, 0};
    for (int64_t t = -100; t < last; t++) {
        uint8_t sets[MOST_LOCATIONS];
        for (size_t l = 0; l < w->count; l++)
            sets[l] = possible_at(&w->stages[l], t);
        for (size_t l = 0; l <= w->count; l++) {
            struct outcome outcome = choose(sets, w->count, others, (int)l - 1);
            times[l].lo_ns += outcome.certain;
            times[l].hi_ns += outcome.possible;
        }
    }
}

/* ---- the aggregated view ---- */

struct event {
    int64_t lo, hi;
    size_t location, stage, group;
};

static size_t list_events(const struct world *w, struct event *events)
{
    size_t count = 0;
    for (size_t l = 0; l < w->count; l++)
        for (size_t i = 0; i < w->stages[l].count; i++, count++)
            events[count] = (struct event){w->list[l][i].at.lo_ns, w->list[l][i].at.hi_ns, l, i, count};
    return count;
}

/* Overlap makes two groups one, until nothing changes any more. */
static void group_events(struct event *events, size_t count)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t a = 0; a < count; a++)
            for (size_t b = 0; b < count; b++)
                if (events[a].group < events[b].group && events[a].lo <= events[b].hi &&
                    events[b].lo <= events[a].hi) {
                    events[b].group = events[a].group;
                    changed = true;
                }
    }
}

/* The group whose span has the instant, or SIZE_MAX. */
static size_t group_at(const struct event *events, size_t count, int64_t t)
{
    for (size_t a = 0; a < count; a++) {
        int64_t lo = INT64_MAX, hi = INT64_MIN;
        for (size_t b = 0; b < count; b++)
            if (events[b].group == events[a].group) {
                lo = events[b].lo < lo ? events[b].lo : lo;
                hi = events[b].hi > hi ? events[b].hi : hi;
            }
        if (lo <= t && t < hi)
            return events[a].group;
    }
    return SIZE_MAX;
}

static void aggregated_at(const struct world *w, const struct event *events, size_t count, int64_t t,
                          uint8_t *sets, bool *inside)
{
    size_t group = group_at(events, count, t);
    uint8_t state[MOST_LOCATIONS] = {0};
    *inside = group != SIZE_MAX;
    memset(sets, 0, MOST_LOCATIONS);
    for (size_t e = 0; e < count; e++) { /* by location, then in its order */
        uint8_t now = w->list[events[e].location][events[e].stage].state;
        if (events[e].group == group)
            sets[events[e].location] |= (uint8_t)(1 << now);
        else if (events[e].hi <= t)
            state[events[e].location] = now;
    }
    for (size_t l = 0; l < w->count; l++)
        sets[l] = w->stages[l].count ? sets[l] | (uint8_t)(1 << state[l]) : 0x81;
}

static void by_aggregation(const struct world *w, uint32_t others, struct gn_frame_time *times,
                           uint64_t *sizes)
{
    static struct event events[MOST_EVENTS];
    size_t count = list_events(w, events);
    int64_t last = INT64_MIN;
    group_events(events, count);
    memset(sizes, 0, SIZES * sizeof *sizes);
    for (size_t g = 0; g < count; g++) {
        size_t members = 0;
        for (size_t e = 0; e < count; e++)
            members += events[e].group == g;
        for (size_t power = 0; power < SIZES && members; power++)
            sizes[power] += members >= (size_t)1 << power && members < (size_t)2 << power;
        last = events[g].hi > last ? events[g].hi : last;
    }
    for (size_t l = 0; l <= w->count; l++)
        times[l] = (struct gn_frame_time){0, 0};
    for (int64_t t = -100; t < last; t++) {
        uint8_t sets[MOST_LOCATIONS];
        bool inside;
        aggregated_at(w, events, count, t, sets, &inside);
        for (size_t l = 0; l <= w->count; l++) {
            struct outcome outcome = choose(sets, w->count, others, (int)l - 1);
            times[l].lo_ns += outcome.certain && !inside;
            times[l].hi_ns += outcome.possible;
        }
    }
}

/* ---- by exhaustion, and by truth ---- */

/* How long it was so with these times: in the frames' time only, so not after the last bound. */
static void measure(const struct world *w, int64_t times[][MOST_STAGES], int64_t last, uint32_t others,
                    int64_t *yes)
{
    memset(yes, 0, (w->count + 1) * sizeof *yes);
    for (int64_t t = -100; t < last; t++) {
        uint8_t states[MOST_LOCATIONS];
        for (size_t l = 0; l < w->count; l++) {
            states[l] = w->stages[l].count ? 0 : 0xff;
            for (size_t i = 0; i < w->stages[l].count; i++)
                if (times[l][i] <= t)
                    states[l] = w->list[l][i].state;
        }
        for (size_t l = 0; l <= w->count; l++)
            yes[l] += answers(states, w->count, others, (int)l - 1);
    }
}

static int64_t last_bound(const struct world *w)
{
    int64_t last = -100;
    for (size_t l = 0; l < w->count; l++)
        for (size_t i = 0; i < w->stages[l].count; i++)
            last = w->list[l][i].at.hi_ns > last ? w->list[l][i].at.hi_ns : last;
    return last;
}

struct exhaustion {
    const struct world *w;
    struct event events[MOST_EVENTS];
    size_t count;
    uint32_t others;
    int64_t times[MOST_LOCATIONS][MOST_STAGES];
    int64_t last, least[MOST_LOCATIONS + 1], most[MOST_LOCATIONS + 1];
    uint64_t found;
};

/* Whether the event's time fits those before it in the list. */
static bool fits(const struct exhaustion *x, size_t e, int64_t time)
{
    const struct event *this = &x->events[e];
    uint64_t ticks = x->w->list[this->location][this->stage].ticks;
    for (size_t b = 0; b < e; b++) {
        const struct event *other = &x->events[b];
        int64_t known = x->times[other->location][other->stage];
        uint64_t other_ticks = x->w->list[other->location][other->stage].ticks;
        if (other->location == this->location && known > time)
            return false;
        if (x->w->stages[other->location].domain == x->w->stages[this->location].domain &&
            ((other_ticks < ticks && known > time) || (other_ticks > ticks && known < time)))
            return false;
    }
    return true;
}

static void exhaust(struct exhaustion *x, size_t e)
{
    if (e == x->count) {
        int64_t yes[MOST_LOCATIONS + 1];
        measure(x->w, x->times, x->last, x->others, yes);
        for (size_t l = 0; l <= x->w->count; l++) {
            x->least[l] = !x->found || yes[l] < x->least[l] ? yes[l] : x->least[l];
            x->most[l] = !x->found || yes[l] > x->most[l] ? yes[l] : x->most[l];
        }
        x->found++;
        return;
    }
    for (int64_t t = x->events[e].lo; t <= x->events[e].hi; t++)
        if (fits(x, e, t)) {
            x->times[x->events[e].location][x->events[e].stage] = t;
            exhaust(x, e + 1);
        }
}

/* ---- comparing ---- */

static struct gn_frame_time time_of(const struct gn_frames *f, size_t l)
{
    return l ? f->location[l - 1] : f->all;
}

static void ask(struct gn_frames *frames, const struct world *w, uint32_t others)
{
    struct gn_error err;
    assert_int_equal(gn_frames_ask(frames, w->stages, w->count, &(struct gn_question){others}, &err), 0);
    assert_int_equal(frames->count, others == 1 ? w->count : 0);
}

static void ask_aggregated(struct gn_frames *frames, const struct world *w, uint32_t others, uint64_t *sizes)
{
    struct gn_error err;
    assert_int_equal(
        gn_frames_aggregated(frames, w->stages, w->count, &(struct gn_question){others}, sizes, SIZES, &err),
        0);
}

static void complain(const struct world *w, uint32_t others, size_t l, struct gn_frame_time is, double lo,
                     double hi)
{
    print_world(w);
    fail_msg("others %u, location %ld: [%g, %g], expected [%g, %g]", others, (long)l - 1, is.lo_ns, is.hi_ns,
             lo, hi);
}

static void same(const struct world *w, uint32_t others, const struct gn_frames *f,
                 const struct gn_frame_time *times)
{
    for (size_t l = 0; l <= f->count; l++) {
        struct gn_frame_time is = time_of(f, l);
        if (is.lo_ns != times[l].lo_ns || is.hi_ns != times[l].hi_ns)
            complain(w, others, l, is, times[l].lo_ns, times[l].hi_ns);
    }
}

static void is_what_the_definition_says(void **state)
{
    static struct world w;
    struct gn_frame_time times[MOST_LOCATIONS + 1];
    (void)state;
    seed = 1;
    for (int i = 0; i < CASES; i++) {
        struct making m = {1 + i % 5, 1 + i % 9, 30, i % 4 == 0 ? 0 : 1 + i % 8, 0, 1, i % 3 * 20};
        struct gn_frames frames;
        make_world(&w, &m);
        for (uint32_t others = 0; others < 4; others++) {
            ask(&frames, &w, others);
            by_definition(&w, others, times);
            same(&w, others, &frames, times);
            gn_frames_clear(&frames);
        }
    }
}

static void aggregates_as_published(void **state)
{
    static struct world w;
    struct gn_frame_time times[MOST_LOCATIONS + 1];
    uint64_t sizes[SIZES], expected[SIZES];
    (void)state;
    seed = 2;
    for (int i = 0; i < CASES; i++) {
        struct making m = {1 + i % 5, 1 + i % 9, 60, i % 4, i % 3, 1, i % 3 * 20};
        struct gn_frames frames;
        make_world(&w, &m);
        for (uint32_t others = 0; others < 4; others++) {
            ask_aggregated(&frames, &w, others, sizes);
            by_aggregation(&w, others, times, expected);
            same(&w, others, &frames, times);
            assert_memory_equal(sizes, expected, sizeof sizes);
            gn_frames_clear(&frames);
        }
    }
}

/* Equal readings of two locations: their order is unknown, and what lies between may be a little too wide. */
static bool has_equal_readings(const struct world *w)
{
    for (size_t a = 0; a < w->count; a++)
        for (size_t b = 0; b < a; b++)
            for (size_t i = 0; w->stages[a].domain == w->stages[b].domain && i < w->stages[a].count; i++)
                for (size_t k = 0; k < w->stages[b].count; k++)
                    if (w->list[a][i].ticks == w->list[b][k].ticks)
                        return true;
    return false;
}

static void nothing_narrower_follows(void **state)
{
    static struct world w;
    static struct exhaustion x;
    uint64_t exact = 0, wider = 0;
    (void)state;
    seed = 3;
    for (int i = 0; i < CASES; i++) {
        struct making m = {1 + i % 3, 1 + i % 3, 8, i % 3, i % 4, 1 + i % 2, i % 3 * 20};
        make_world(&w, &m);
        uint32_t others = i % 5 ? 1 : (uint32_t)i % 3;
        struct gn_frames frames;
        x = (struct exhaustion){.w = &w, .others = others, .last = last_bound(&w)};
        x.count = list_events(&w, x.events);
        if (x.count > 6)
            continue;
        exhaust(&x, 0);
        assert_true(x.found > 0);
        ask(&frames, &w, others);
        bool is_loose = has_equal_readings(&w);
        for (size_t l = 0; l <= frames.count; l++) {
            struct gn_frame_time is = time_of(&frames, l);
            double least = (double)x.least[l], most = (double)x.most[l];
            /* whoever it is: possible at each instant, but perhaps not at all of them in one run */
            bool is_exact = is.lo_ns == least && is.hi_ns == most;
            if (is.lo_ns > least || is.hi_ns < most || (!is_exact && !is_loose && l > 0))
                complain(&w, others, l, is, least, most);
            exact += is_exact;
            wider += !is_exact;
        }
        gn_frames_clear(&frames);
    }
    printf("exhausted: %lu intervals exact, %lu wider (equal readings, or whoever it is)\n",
           (unsigned long)exact, (unsigned long)wider);
}

struct ratio {
    double ours, theirs;
};

/* Truth inside, and never looser than the aggregated view. */
static void compare(const struct world *w, uint32_t others, struct ratio *ratio)
{
    struct gn_frames frames, view;
    int64_t yes[MOST_LOCATIONS + 1];
    int64_t truth[MOST_LOCATIONS][MOST_STAGES];
    memcpy(truth, w->truth, sizeof truth);
    measure(w, truth, last_bound(w), others, yes);
    ask(&frames, w, others);
    ask_aggregated(&view, w, others, NULL);
    for (size_t l = 0; l <= frames.count; l++) {
        struct gn_frame_time is = time_of(&frames, l), loose = time_of(&view, l);
        if (is.lo_ns > (double)yes[l] || is.hi_ns < (double)yes[l] || is.lo_ns < 0)
            complain(w, others, l, is, (double)yes[l], (double)yes[l]);
        if (is.lo_ns < loose.lo_ns || is.hi_ns > loose.hi_ns)
            complain(w, others, l, is, loose.lo_ns, loose.hi_ns);
        ratio->ours += is.hi_ns - is.lo_ns;
        ratio->theirs += loose.hi_ns - loose.lo_ns;
    }
    gn_frames_clear(&frames);
    gn_frames_clear(&view);
}

static void contains_the_truth(void **state)
{
    static const char *const names[] = {"a clock each", "some clocks", "one clock", "one coarse clock"};
    static struct world w;
    (void)state;
    seed = 4;
    for (uint32_t kind = 0; kind < 4; kind++) {
        struct ratio ratio = {0, 0};
        for (int i = 0; i < CASES; i++) {
            struct making m = {MOST_LOCATIONS, MOST_STAGES, 190, i % 12, 0, 1, i % 5 * 10};
            m.domains = kind == 0 ? 0 : kind == 1 ? 3 : 1;
            m.granularity = kind == 3 ? 1 + i % 6 : 1;
            m.stages = 1 + (uint32_t)i % MOST_STAGES;
            make_world(&w, &m);
            compare(&w, i % 4 ? 1 : (uint32_t)i / 4 % 5, &ratio);
        }
        printf("%s: intervals %.3f as wide as of the aggregated view\n", names[kind],
               ratio.ours / ratio.theirs);
        assert_true(ratio.ours < ratio.theirs);
    }
}

/* ---- edges ---- */

static struct gn_frames asked(const struct gn_stages *stages, size_t count, uint32_t others)
{
    struct gn_frames frames;
    struct gn_error err;
    assert_int_equal(gn_frames_ask(&frames, stages, count, &(struct gn_question){others}, &err), 0);
    return frames;
}

#define STAGES(list, domain)                                                                                 \
    {                                                                                                        \
        list, sizeof(list) / sizeof *(list), domain                                                          \
    }
#define assert_time(time, lo, hi)                                                                            \
    do {                                                                                                     \
        assert_true((time).lo_ns == (lo));                                                                   \
        assert_true((time).hi_ns == (hi));                                                                   \
    } while (0)

enum { A = GN_STATE_A, B = GN_STATE_B, END = GN_STATE_OTHER };

static void points_are_exact(void **state)
{
    static const struct gn_stage x[] = {{{0, 0}, B, 0}, {{10, 10}, A, 10}, {{100, 100}, END, 100}};
    static const struct gn_stage y[] = {{{5, 5}, A, 5}, {{60, 60}, B, 60}, {{70, 70}, END, 70}};
    const struct gn_stages stages[] = {STAGES(x, 0), STAGES(y, 1)};
    (void)state;
    struct gn_frames f = asked(stages, 2, 1);
    assert_time(f.location[0], 5, 5);
    assert_time(f.location[1], 10, 10);
    assert_time(f.all, 15, 15);
    assert_int_equal(f.frames, 5); /* 0 5 10 60 70 100 */
    gn_frames_clear(&f);
    f = asked(stages, 2, 0);
    assert_time(f.all, 50, 50);
    assert_int_equal(f.count, 0);
    gn_frames_clear(&f);
}

/* From a change's lower bound to its upper one both states are possible. */
static void bounds_are_possible_time(void **state)
{
    static const struct gn_stage x[] = {{{0, 2}, B, 0}, {{10, 14}, A, 10}, {{20, 20}, END, 20}};
    static const struct gn_stage y[] = {{{1, 4}, A, 1}, {{50, 50}, END, 50}};
    const struct gn_stages stages[] = {STAGES(x, 0), STAGES(y, 1)};
    (void)state;
    struct gn_frames f = asked(stages, 2, 1);
    assert_time(f.location[0], 6, 13); /* both run for sure from 4 on, at the earliest from 1 on */
    assert_time(f.location[1], 0, 0);
    gn_frames_clear(&f);
}

static void stages_may_be_empty(void **state)
{
    static const struct gn_stage x[] = {{{0, 0}, A, 0}, {{4, 4}, B, 4}, {{4, 4}, A, 4},
                                        {{6, 9}, B, 6}, {{6, 9}, A, 7}, {{20, 20}, END, 20}};
    static const struct gn_stage y[] = {{{0, 0}, A, 0}, {{20, 20}, END, 20}};
    const struct gn_stages stages[] = {STAGES(x, 0), STAGES(y, 1)};
    (void)state;
    struct gn_frames f = asked(stages, 2, 1);
    assert_time(f.location[0], 0, 3);
    gn_frames_clear(&f);
}

/* One hands over to the other within a microsecond of doubt: on one clock it is certain that one of them was
 * it. */
static void one_clock_tells_the_order(void **state)
{
    static const struct gn_stage x[] = {{{0, 0}, B, 0}, {{10, 1010}, A, 500}, {{5000, 5000}, END, 5000}};
    static const struct gn_stage y[] = {{{0, 0}, A, 0}, {{10, 1010}, B, 501}, {{5000, 5000}, END, 5000}};
    const struct gn_stages one[] = {STAGES(x, 7), STAGES(y, 7)}, two[] = {STAGES(x, 7), STAGES(y, 8)};
    (void)state;
    struct gn_frames f = asked(one, 2, 1);
    assert_time(f.location[0], 10, 1010);
    assert_time(f.location[1], 3990, 4990);
    gn_frames_clear(&f);
    f = asked(two, 2, 0); /* both in A meanwhile? */
    assert_time(f.all, 0, 1000);
    gn_frames_clear(&f);
    static const struct gn_stage later[] = {{{0, 0}, A, 0}, {{10, 1010}, B, 499}, {{5000, 5000}, END, 5000}};
    const struct gn_stages never[] = {STAGES(x, 7), STAGES(later, 7)};
    f = asked(never, 2, 0); /* x is in B until after the other is */
    assert_time(f.all, 0, 0);
    gn_frames_clear(&f);
}

static void nothing_known_is_from_nothing_to_all(void **state)
{
    static const struct gn_stage x[] = {{{INT64_MIN, INT64_MAX}, B, 0}, {{INT64_MIN, INT64_MAX}, END, 1}};
    static const struct gn_stage y[] = {{{INT64_MIN, INT64_MIN}, A, 0}, {{INT64_MAX, INT64_MAX}, END, 1}};
    const struct gn_stages stages[] = {STAGES(x, 0), STAGES(y, 1)};
    (void)state;
    struct gn_frames f = asked(stages, 2, 1);
    assert_time(f.location[0], 0, 0x1p64); /* 2^64 - 1, rounded up */
    assert_time(f.location[1], 0, 0);
    assert_time(f.all, 0, 0x1p64);
    gn_frames_clear(&f);
    f = asked(stages, 2, 0);
    assert_time(f.all, 0, 0);
    gn_frames_clear(&f);
}

static void whole_numbers_are_rounded_outward(void **state)
{
    static const struct gn_stage x[] = {{{0, 0}, A, 0}, {{(1ll << 53) + 1, (1ll << 53) + 1}, END, 1}};
    static const struct gn_stage y[] = {{{0, 0}, A, 0}, {{(1ll << 54) - 1, (1ll << 54) - 1}, END, 1}};
    const struct gn_stages stages[] = {STAGES(x, 0)}, both[] = {STAGES(x, 0), STAGES(y, 0)};
    (void)state;
    struct gn_frames f = asked(stages, 1, 0);
    assert_time(f.all, 0x1p53, 0x1p53 + 2);
    gn_frames_clear(&f);
    f = asked(both, 2, 0);
    assert_time(f.all, 0x1p53, 0x1p53 + 2);
    gn_frames_clear(&f);
}

static void who_has_no_stages_is_nobody(void **state)
{
    static const struct gn_stage x[] = {{{3, 3}, B, 0}, {{9, 9}, END, 1}};
    const struct gn_stages stages[] = {{NULL, 0, 0}, STAGES(x, 0), {NULL, 0, 1}};
    (void)state;
    struct gn_frames f = asked(stages, 3, 1);
    assert_time(f.location[0], 0, 0);
    assert_time(f.location[1], 6, 6);
    gn_frames_clear(&f);
    f = asked(stages, 1, 1);
    assert_time(f.all, 0, 0);
    gn_frames_clear(&f);
    f = asked(NULL, 0, 0);
    assert_time(f.all, 0, 0);
    gn_frames_clear(&f);
}

static void nobody_is_asked_before_and_after(void **state)
{
    static const struct gn_stage x[] = {{{0, 0}, B, 0}, {{90, 90}, END, 90}};
    static const struct gn_stage y[] = {{{20, 30}, A, 20}, {{50, 60}, END, 50}};
    static const struct gn_stage open[] = {{{20, 30}, A, 20}}; /* not ended: until the last bound there is */
    const struct gn_stages stages[] = {STAGES(x, 0), STAGES(y, 1)}, more[] = {STAGES(x, 0), STAGES(open, 1)};
    (void)state;
    struct gn_frames f = asked(stages, 2, 1);
    assert_time(f.location[0], 20, 40);
    gn_frames_clear(&f);
    f = asked(more, 2, 1);
    assert_time(f.location[0], 60, 70);
    gn_frames_clear(&f);
    static const struct gn_stage last[] = {{{20, 30}, B, 20}};
    const struct gn_stages third[] = {STAGES(last, 0),
                                      {(const struct gn_stage[]){{{0, 0}, A, 0}, {{80, 80}, A, 0}}, 2, 1}};
    f = asked(third, 2, 1);
    assert_time(f.location[0], 50, 60);
    gn_frames_clear(&f);
}

/* Bounds against the clock's own order: each location for itself is all that can be believed. */
static void a_refuted_clock_keeps_its_locations_apart(void **state)
{
    static const struct gn_stage x[] = {{{0, 0}, B, 0}, {{100, 110}, A, 10}, {{200, 200}, END, 99}};
    static const struct gn_stage y[] = {{{0, 0}, A, 0}, {{40, 50}, B, 20}, {{200, 200}, END, 99}};
    const struct gn_stages stages[] = {STAGES(x, 0), STAGES(y, 0)};
    (void)state;
    struct gn_frames f = asked(stages, 2, 1);
    assert_time(f.location[0], 40, 50);
    assert_time(f.location[1], 90, 100);
    gn_frames_clear(&f);
}

/* ---- many locations ---- */

enum { MANY = 200, SPAN = 1000 };

static void many_locations_are_counted(void **state)
{
    static const uint32_t others[] = {0, 1, 2, 63, 64, 65, 100, 127, 128, 200, 201, UINT32_MAX};
    static struct gn_stage list[MANY][4];
    struct gn_stages stages[MANY];
    uint32_t in_b[SPAN] = {0};
    (void)state;
    seed = 5;
    for (uint32_t l = 0; l < MANY; l++) {
        int64_t from = (int64_t)below(SPAN), to = (int64_t)below(SPAN);
        if (from > to) {
            int64_t other = from;
            from = to;
            to = other;
        }
        int64_t at[] = {0, from, to, SPAN};
        static const uint8_t states[] = {A, B, A, END};
        for (int i = 0; i < 4; i++)
            list[l][i] = (struct gn_stage){{at[i], at[i]}, states[i], (uint64_t)at[i]};
        for (int64_t t = from; t < to; t++)
            in_b[t]++;
    }
    for (uint32_t domains = 1; domains <= MANY; domains = domains * 5 + 2)
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            double expected = 0;
            for (uint32_t l = 0; l < MANY; l++)
                stages[l] = (struct gn_stages){list[l], 4, l % domains};
            for (int t = 0; t < SPAN; t++)
                expected += in_b[t] == others[i];
            struct gn_frames f = asked(stages, MANY, others[i]);
            assert_time(f.all, expected, expected);
            gn_frames_clear(&f);
        }
}

/* Figure 9: B, C and D overlap, and become one event from 7 to 20. */
static void overlapping_events_are_one(void **state)
{
    static const struct gn_stage x[] = {{{1, 3}, A, 1}, {{7, 12}, B, 7}, {{15, 20}, A, 15}};
    static const struct gn_stage y[] = {{{4, 5}, A, 4}, {{11, 16}, A, 11}, {{25, 30}, END, 25}};
    const struct gn_stages stages[] = {STAGES(x, 0), STAGES(y, 0)};
    uint64_t sizes[2];
    struct gn_frames f;
    struct gn_error err;
    (void)state;
    assert_int_equal(gn_frames_aggregated(&f, stages, 2, &(struct gn_question){1}, sizes, 2, &err), 0);
    assert_int_equal(sizes[0], 3);
    assert_int_equal(sizes[1], 1);
    assert_time(f.location[0], 0, 13); /* not between 12 and 15 either */
    gn_frames_clear(&f);
    assert_int_equal(gn_frames_aggregated(&f, stages, 2, &(struct gn_question){0}, sizes, 1, &err), 0);
    assert_int_equal(sizes[0], 4); /* the last one: all that are larger */
    assert_time(f.all, 2 + 5, 1 + 2 + 13 + 5 + 5);
    gn_frames_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_what_the_definition_says),
        cmocka_unit_test(aggregates_as_published),
        cmocka_unit_test(nothing_narrower_follows),
        cmocka_unit_test(contains_the_truth),
        cmocka_unit_test(points_are_exact),
        cmocka_unit_test(bounds_are_possible_time),
        cmocka_unit_test(stages_may_be_empty),
        cmocka_unit_test(one_clock_tells_the_order),
        cmocka_unit_test(nothing_known_is_from_nothing_to_all),
        cmocka_unit_test(whole_numbers_are_rounded_outward),
        cmocka_unit_test(who_has_no_stages_is_nobody),
        cmocka_unit_test(nobody_is_asked_before_and_after),
        cmocka_unit_test(a_refuted_clock_keeps_its_locations_apart),
        cmocka_unit_test(many_locations_are_counted),
        cmocka_unit_test(overlapping_events_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
