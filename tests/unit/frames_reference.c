#include "frames_reference.h"

#include "base/mix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

void begin_with(uint64_t number)
{
    state = number;
}

uint64_t below(uint64_t n)
{
    return gn_mix_next(&state) % n;
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

void make_world(struct world *w, const struct making *m)
{
    *w = (struct world){.count = 1 + below(m->locations), .length = m->length};
    for (size_t l = 0; l < w->count; l++)
        make_truth(w, m, l);
    for (uint32_t d = 0; d < MOST_LOCATIONS; d++)
        make_bounds(w, m, d);
    for (size_t l = 0; l < w->count; l++)
        cut_bounds(w, m, l);
}

void print_world(const struct world *w)
{
    for (size_t l = 0; l < w->count; l++) {
        printf("location %zu, domain %u:", l, w->stages[l].domain);
        for (size_t i = 0; i < w->stages[l].count; i++)
            printf("  [%ld, %ld] @%lu %lu (true %ld)", (long)w->list[l][i].at.lo_ns,
                   (long)w->list[l][i].at.hi_ns, (unsigned long)w->list[l][i].ticks,
                   (unsigned long)w->list[l][i].state, (long)w->truth[l][i]);
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
void by_definition(const struct world *w, uint32_t others, struct gn_frame_time *times)
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

size_t list_events(const struct world *w, struct event *events)
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
    uint8_t before[MOST_LOCATIONS] = {0};
    *inside = group != SIZE_MAX;
    memset(sets, 0, MOST_LOCATIONS);
    for (size_t e = 0; e < count; e++) { /* by location, then in its order */
        uint8_t now = w->list[events[e].location][events[e].stage].state;
        if (events[e].group == group)
            sets[events[e].location] |= (uint8_t)(1 << now);
        else if (events[e].hi <= t)
            before[events[e].location] = now;
    }
    for (size_t l = 0; l < w->count; l++)
        sets[l] = w->stages[l].count ? sets[l] | (uint8_t)(1 << before[l]) : 0x81;
}

void by_aggregation(const struct world *w, uint32_t others, struct gn_frame_time *times, uint64_t *sizes)
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
void measure(const struct world *w, const int64_t times[][MOST_STAGES], int64_t last, uint32_t others,
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

int64_t last_bound(const struct world *w)
{
    int64_t last = -100;
    for (size_t l = 0; l < w->count; l++)
        for (size_t i = 0; i < w->stages[l].count; i++)
            last = w->list[l][i].at.hi_ns > last ? w->list[l][i].at.hi_ns : last;
    return last;
}

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

void exhaust(struct exhaustion *x, size_t e)
{
    if (e == x->count && x->visit) {
        x->visit(x);
        x->found++;
        return;
    }
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
