#include "baselines/corridor.h"

#include "base/mix.h"

#include <stdlib.h>

enum { STEEPEST_LOG2 = 40 };

struct slope {
    int64_t rise, run; /* run > 0 */
};

static int compare(struct slope a, struct slope b)
{
    __int128 left = (__int128)a.rise * b.run, right = (__int128)b.rise * a.run;
    return (left > right) - (left < right);
}

/* ---- hulls ---- */

static int by_side_and_place(const void *a, const void *b)
{
    const struct gn_corridor_point *p = a, *q = b;
    if (p->above != q->above)
        return p->above - q->above;
    if (p->x != q->x)
        return (p->x > q->x) - (p->x < q->x);
    return (p->y > q->y) - (p->y < q->y);
}

/* Whether the way a, b, c bends to the left, is straight (0) or bends to the right. */
static int bend(const struct gn_corridor_point *a, const struct gn_corridor_point *b,
                const struct gn_corridor_point *c)
{
    __int128 left = (__int128)(b->x - a->x) * (c->y - a->y), right = (__int128)(b->y - a->y) * (c->x - a->x);
    return (left > right) - (left < right);
}

/* Andrew's chain: of points of one side, sorted, the corners that face the corridor. */
static size_t chain(struct gn_corridor_point *points, size_t count)
{
    size_t kept = 0;
    int facing = count && points[0].above ? 1 : -1;
    for (size_t i = 0; i < count; i++) {
        while (kept >= 2 && bend(&points[kept - 2], &points[kept - 1], &points[i]) != facing)
            kept--;
        points[kept++] = points[i];
    }
    return kept;
}

size_t gn_corridor_hulls(struct gn_corridor_point *points, size_t count)
{
    qsort(points, count, sizeof *points, by_side_and_place);
    size_t below = 0;
    while (below < count && !points[below].above)
        below++;
    size_t above = chain(points + below, count - below);
    size_t kept = chain(points, below);
    for (size_t i = 0; i < above; i++)
        points[kept + i] = points[below + i];
    gn_corridor_shuffle(points, kept + above);
    return kept + above;
}

static void swap(struct gn_corridor_point *a, struct gn_corridor_point *b)
{
    struct gn_corridor_point was = *a;
    *a = *b;
    *b = was;
}

/* The first two are one of each side, where there are both: one of them is where a search begins. */
void gn_corridor_shuffle(struct gn_corridor_point *points, size_t count)
{
    uint64_t state = count;
    for (size_t i = count; i > 1; i--)
        swap(&points[i - 1], &points[gn_mix_next(&state) % i]);
    size_t other = 1;
    while (other < count && points[other].above == points[0].above)
        other++;
    if (other < count)
        swap(&points[1], &points[other]);
}

/* ---- Seidel's method ---- */

struct search {
    const struct gn_corridor_point *points;
    enum gn_corridor_extreme extreme;
    int64_t x;
};

/* Of lines through a point at x: whether a steeper one is better. */
static bool steeper_is_better(const struct search *search, int64_t x)
{
    switch (search->extreme) {
    case GN_LOWEST:
        return search->x < x;
    case GN_HIGHEST:
        return search->x > x;
    case GN_FLATTEST:
        return false;
    case GN_STEEPEST:
        return true;
    }
    return false;
}

static bool right_side(const struct gn_corridor_line *line, const struct gn_corridor_point *p)
{
    __int128 point = (__int128)(p->y - line->y) * line->run;
    __int128 there = (__int128)(p->x - line->x) * line->rise;
    return p->above ? there <= point : there >= point;
}

/* Slopes of lines through a pivot that leave p on its right side. False: no such line. */
static bool narrow(const struct gn_corridor_point *pivot, const struct gn_corridor_point *p,
                   struct slope *least, struct slope *most)
{
    int64_t run = p->x - pivot->x, rise = p->y - pivot->y;
    if (run == 0)
        return p->above ? rise >= 0 : rise <= 0;
    struct slope through = run > 0 ? (struct slope){rise, run} : (struct slope){-rise, -run};
    if (p->above == (run > 0)) {
        if (compare(through, *most) < 0)
            *most = through;
    } else if (compare(through, *least) > 0) {
        *least = through;
    }
    return compare(*least, *most) <= 0;
}

static const struct slope level = {0, 1}, steepest = {INT64_C(1) << STEEPEST_LOG2, 1};

/* The best line through a pivot with the first count points, but for the pivot, on their right sides. */
static bool best_through(const struct search *search, size_t pivot, size_t count,
                         struct gn_corridor_line *line)
{
    const struct gn_corridor_point *p = &search->points[pivot];
    struct slope least = level, most = steepest;
    for (size_t k = 0; k < count; k++)
        if (k != pivot && !narrow(p, &search->points[k], &least, &most))
            return false;
    struct slope best = steeper_is_better(search, p->x) ? most : least;
    *line = (struct gn_corridor_line){p->x, p->y, best.rise, best.run};
    return true;
}

bool gn_corridor_find(const struct gn_corridor_point *points, size_t count, enum gn_corridor_extreme extreme,
                      int64_t x, struct gn_corridor_line *line)
{
    struct search search = {points, extreme, x};
    if (count < 2 || points[0].above == points[1].above)
        return false;
    size_t first = points[0].above == (extreme == GN_HIGHEST) ? 0 : 1;
    best_through(&search, first, 0, line); /* bounded from the beginning: on the side that it is drawn to */
    for (size_t i = 0; i < count; i++)
        if (!right_side(line, &points[i]) && !best_through(&search, i, i < 2 ? 2 : i, line))
            return false;
    return true;
}

static __int128 divide(__int128 a, int64_t b, bool up)
{
    __int128 quotient = a / b, rest = a % b;
    return quotient + (up ? rest > 0 : 0) - (up ? 0 : rest < 0);
}

__int128 gn_corridor_line_at(const struct gn_corridor_line *line, int64_t x, bool up)
{
    const __int128 far = (__int128)1 << 80, one = 1 << GN_CORRIDOR_BITS;
    __int128 rise = (__int128)line->rise * (x - line->x);
    __int128 whole = divide(rise, line->run, false);
    if (whole > far || whole < -far) /* beyond what anybody can use, and shifted out otherwise */
        return whole > far ? far * one : -far * one;
    __int128 rest = (rise - whole * line->run) * one;
    return (whole + line->y) * one + divide(rest, line->run, up);
}
