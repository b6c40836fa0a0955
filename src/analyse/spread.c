#include "analyse/spread.h"

#include "analyse/estimate.h"
#include "base/lookup.h"
#include "base/mix.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rounds: without each of the groups, of the earlier half, of the later one, of all. */
enum { GROUPS = 8, EARLIER = 0, LATER, ALL, BESIDES, FEWEST = 4 };

struct found {
    bool is_there;
    double lo, hi;
};

struct named {
    char *name;
    bool is_several;
    struct found in[GROUPS + BESIDES];
};

struct gn_spread {
    struct gn_kept_window middle;
    double run, middle_of_run, seen, middle_seen; /* ticks; of the middle what windows stand for */
    double later_of_run, later_of_seen;           /* shares of the middle, and of what was seen of it */
    size_t *numbers;                              /* [count] of the windows, among those in the middle */
    size_t count, in_middle, groups, round;
    bool has_failed;
    struct named *all;
    size_t all_count, capacity;
    struct gn_lookup index;
};

enum { NOT_IN_MIDDLE = -1 };

static double length_of(const struct gn_kept_window *w)
{
    return w->end_ticks > w->begin_ticks ? (double)(w->end_ticks - w->begin_ticks) : 0;
}

/* What is in the middle of a window. */
static struct gn_kept_window in_middle(const struct gn_spread *s, struct gn_kept_window w)
{
    w.begin_ticks = w.begin_ticks > s->middle.begin_ticks ? w.begin_ticks : s->middle.begin_ticks;
    w.end_ticks = w.end_ticks < s->middle.end_ticks ? w.end_ticks : s->middle.end_ticks;
    return w;
}

static void number(struct gn_spread *s, const struct gn_kept_window *windows)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct gn_kept_window w = in_middle(s, windows[i]);
        s->seen += length_of(&windows[i]);
        s->numbers[i] = length_of(&w) > 0 ? s->in_middle++ : (size_t)NOT_IN_MIDDLE;
    }
    s->groups = s->in_middle < FEWEST ? 0 : s->in_middle < GROUPS ? s->in_middle : GROUPS;
}

static bool is_earlier(const struct gn_spread *s, size_t window)
{
    return s->numbers[window] < s->in_middle / 2;
}

/* Of a stretch of the run, what windows stand for. */
static double wanted(const struct gn_spread_settings *x, struct gn_kept_window stretch)
{
    double length = length_of(&stretch);
    for (size_t i = 0; i < x->off_count; i++) {
        const struct gn_kept_window off = {
            x->off[i].begin_ticks > stretch.begin_ticks ? x->off[i].begin_ticks : stretch.begin_ticks,
            x->off[i].end_ticks < stretch.end_ticks ? x->off[i].end_ticks : stretch.end_ticks};
        length -= length_of(&off);
    }
    return fmax(0, length);
}

static void measure(struct gn_spread *s, const struct gn_spread_settings *x)
{
    double earlier = 0, later = 0;
    struct gn_kept_window behind = {x->middle.end_ticks, x->middle.end_ticks};
    for (size_t i = 0; i < s->count; i++) {
        const struct gn_kept_window w = in_middle(s, x->windows[i]);
        if (s->numbers[i] == (size_t)NOT_IN_MIDDLE)
            continue;
        if (is_earlier(s, i))
            earlier += length_of(&w);
        else if (later == 0)
            behind.begin_ticks = w.begin_ticks;
        later += is_earlier(s, i) ? 0 : length_of(&w);
    }
    s->middle_seen = earlier + later;
    s->middle_of_run = fmax(wanted(x, x->middle), s->middle_seen);
    if (s->groups == 0)
        return;
    s->later_of_run = fmin(1, wanted(x, behind) / s->middle_of_run);
    s->later_of_seen = later / s->middle_seen;
}

struct gn_spread *gn_spread_new(const struct gn_spread_settings *x)
{
    struct gn_spread *s = calloc(1, sizeof *s);
    size_t *numbers = calloc(x->count + 1, sizeof *numbers);
    if (!s || !numbers) {
        free(s);
        free(numbers);
        return NULL;
    }
    *s = (struct gn_spread){.middle = x->middle,
                            .run = length_of(&x->run),
                            .count = x->count,
                            .numbers = numbers,
                            .round = GN_SPREAD_NO_ROUND};
    number(s, x->windows);
    measure(s, x);
    return s;
}

void gn_spread_free(struct gn_spread *s)
{
    for (size_t i = 0; s && i < s->all_count; i++)
        free(s->all[i].name);
    if (s) {
        free(s->all);
        free(s->numbers);
        gn_lookup_clear(&s->index);
    }
    free(s);
}

size_t gn_spread_rounds(const struct gn_spread *s)
{
    return s->groups > 0 ? s->groups + BESIDES : 0;
}

static bool is_left_out(const struct gn_spread *s, size_t round, size_t window)
{
    if (s->numbers[window] == (size_t)NOT_IN_MIDDLE)
        return true;
    if (round < s->groups)
        return s->numbers[window] % s->groups == round;
    return round == s->groups + EARLIER ? !is_earlier(s, window)
                                        : round == s->groups + LATER && is_earlier(s, window);
}

bool gn_spread_cut(const struct gn_spread *s, size_t round, size_t number, struct gn_kept_window *window)
{
    *window = in_middle(s, *window);
    return number < s->count && !is_left_out(s, round, number) && window->end_ticks > window->begin_ticks;
}

void gn_spread_begin(struct gn_spread *s, size_t round)
{
    s->round = round;
}

bool gn_spread_is_in_round(const struct gn_spread *s)
{
    return s && s->round != GN_SPREAD_NO_ROUND;
}

void gn_spread_give_up(struct gn_spread *s)
{
    s->has_failed = true;
}

/* ---- by name ---- */

static uint64_t hash_of(const char *name)
{
    uint64_t hash = 0;
    for (; *name; name++)
        hash = gn_mix(hash ^ (unsigned char)*name);
    return hash;
}

struct sought {
    const struct gn_spread *spread;
    const char *name;
};

static bool is_sought(const void *context, uint32_t value)
{
    const struct sought *x = context;
    return strcmp(x->spread->all[value].name, x->name) == 0;
}

static struct named *find(const struct gn_spread *s, const char *name)
{
    const struct sought sought = {s, name};
    const int64_t at = gn_lookup_find(&s->index, hash_of(name), is_sought, &sought);
    return at == GN_LOOKUP_NOTHING ? NULL : &s->all[at];
}

static struct named *add_name(struct gn_spread *s, const char *name)
{
    if (s->all_count == s->capacity) {
        const size_t capacity = s->capacity ? 2 * s->capacity : 64;
        struct named *all = realloc(s->all, capacity * sizeof *all);
        if (!all)
            return NULL;
        s->all = all;
        s->capacity = capacity;
    }
    char *copy = strdup(name);
    if (!copy || !gn_lookup_add(&s->index, hash_of(name), (uint32_t)s->all_count)) {
        free(copy);
        return NULL;
    }
    s->all[s->all_count] = (struct named){.name = copy};
    return &s->all[s->all_count++];
}

int gn_spread_add(struct gn_spread *s, const char *name, double lo, double hi)
{
    struct named *n = find(s, name);
    if (!n)
        n = add_name(s, name);
    if (!n)
        return -ENOMEM;
    if (s->round >= gn_spread_rounds(s))
        return 0;
    n->is_several = n->is_several || n->in[s->round].is_there;
    n->in[s->round] = (struct found){true, lo, hi};
    return 0;
}

/* ---- of the run ---- */

static double value(const struct named *n, size_t round, bool is_hi)
{
    return is_hi ? n->in[round].hi : n->in[round].lo;
}

/* Of the middle: by so much chance may have moved it. */
static double error_of(const struct gn_spread *s, const struct named *n, bool is_hi)
{
    const double groups = (double)s->groups, left = fmax(0, 1 - s->middle_seen / s->middle_of_run);
    double sum = 0, squares = 0;
    for (size_t g = 0; g < s->groups; g++)
        sum += value(n, g, is_hi);
    for (size_t g = 0; g < s->groups; g++) {
        const double off = value(n, g, is_hi) - sum / groups;
        squares += off * off;
    }
    return fmax(gn_student_t(groups - 1) * sqrt((groups - 1) / groups * squares * left),
                GN_LEAST_ERROR * left * fabs(value(n, s->groups + ALL, is_hi)));
}

/* … by so much more it were with halves that have their part of the run's time. */
static double shift_of(const struct gn_spread *s, const struct named *n, bool is_hi)
{
    const double earlier = value(n, s->groups + EARLIER, is_hi), later = value(n, s->groups + LATER, is_hi);
    return (s->later_of_run - s->later_of_seen) * (later - earlier);
}

/* In ticks of all of the run, of what was seen from lo to hi, and in no other rounds if `n` is NULL. */
static void scale(const struct gn_spread *s, const struct named *n, double lo, double hi, double *run_lo,
                  double *run_hi)
{
    static const struct named nothing;
    n = n ? n : &nothing;
    const double once = s->seen - s->middle_seen, unseen = s->run - s->middle_of_run - once,
                 once_lo = lo * s->seen - value(n, s->groups + ALL, false) * s->middle_seen,
                 once_hi = hi * s->seen - value(n, s->groups + ALL, true) * s->middle_seen,
                 middle_lo = value(n, s->groups + ALL, false) + fmin(0, shift_of(s, n, false)) -
                             error_of(s, n, false),
                 middle_hi =
                     value(n, s->groups + ALL, true) + fmax(0, shift_of(s, n, true)) + error_of(s, n, true);
    *run_lo = fmin(fmax(once_lo, 0), once) + middle_lo * s->middle_of_run;
    *run_hi = fmin(fmax(once_hi, 0), once) + middle_hi * s->middle_of_run + fmax(0, unseen);
}

/* Whether rounds say what it is. */
static bool is_known(const struct gn_spread *s, const struct named *n, bool only_best)
{
    if (s->has_failed || s->groups == 0 || (n && n->is_several) || (!n && only_best))
        return false;
    for (size_t i = 0; only_best && i < gn_spread_rounds(s); i++)
        if (!n->in[i].is_there)
            return false;
    return true;
}

void gn_spread_of_run(const struct gn_spread *s, const char *name, bool only_best, double lo, double hi,
                      double *run_lo, double *run_hi)
{
    const double seen = s->run > 0 ? fmin(1, s->seen / s->run) : 1, least = fmin(lo, lo * seen),
                 most = fmin(1, fmax(hi, hi * seen + 1 - seen));
    const struct named *n = find(s, name);
    *run_lo = least;
    *run_hi = most;
    if (!is_known(s, n, only_best))
        return;
    double lo_ticks, hi_ticks;
    scale(s, n, lo, hi, &lo_ticks, &hi_ticks);
    *run_lo = fmin(fmax(least, lo_ticks / s->run), most);
    *run_hi = fmin(fmax(*run_lo, hi_ticks / s->run), most);
}
