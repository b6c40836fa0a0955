#include "clock/pair.h"

#include "base/grow.h"
#include "clock/fixed.h"

#include <stdlib.h>
#include <string.h>

/* A constant makes the products cheap. What is implied need not be known to the last bit, and 64 bits hold
 * differences of messages that are a month apart. */
enum { SHIFT = 20 };

void gn_pair_begin(struct gn_pair *pair, double rate, double tolerance, size_t capacity)
{
    double most = 0x1p30; /* two clocks further apart only lose more than they have to */
    *pair = (struct gn_pair){.lo = gn_mantissa_below(fmin(rate * (1 - tolerance), most), SHIFT),
                             .hi = gn_mantissa_above(fmin(rate * (1 + tolerance), 2 * most), SHIFT),
                             .capacity = capacity};
}

void gn_pair_clear(struct gn_pair *pair)
{
    free(pair->kept);
    pair->kept = NULL;
    pair->count = pair->room = 0;
}

/* Whether `later` lies on or below the line of the least rate through `earlier`. */
static inline bool implied_by_earlier(const struct gn_pair *p, const struct gn_pair_kept *earlier,
                                      const struct gn_pair_kept *later)
{
    if (later->sent_ticks <= earlier->sent_ticks)
        return true;
    gn_wide least = gn_product_floor(later->received_ticks - earlier->received_ticks, p->lo, SHIFT);
    return (gn_wide)(later->sent_ticks - earlier->sent_ticks) <= least;
}

/* Whether `earlier` lies on or below the line of the greatest rate that leads to `later`. */
static inline bool implied_by_later(const struct gn_pair *p, const struct gn_pair_kept *earlier,
                                    const struct gn_pair_kept *later)
{
    if (later->sent_ticks <= earlier->sent_ticks)
        return false;
    gn_wide most = gn_product_ceil(later->received_ticks - earlier->received_ticks, p->hi, SHIFT);
    return (gn_wide)(later->sent_ticks - earlier->sent_ticks) >= most;
}

/* ---- room ---- */

/* Whether b lies strictly above the straight line from a to c. */
static bool bulges(const struct gn_pair_kept *a, const struct gn_pair_kept *b, const struct gn_pair_kept *c)
{
    gn_wide ab = (gn_wide)(b->sent_ticks - a->sent_ticks) * (gn_wide)(c->received_ticks - b->received_ticks);
    gn_wide bc = (gn_wide)(c->sent_ticks - b->sent_ticks) * (gn_wide)(b->received_ticks - a->received_ticks);
    return ab > bc;
}

/* Marks the vertices of the upper hull. Returns how many there are. */
static size_t find_hull(const struct gn_pair *p, uint32_t *hull)
{
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++) {
        while (count >= 2 && !bulges(&p->kept[hull[count - 2]], &p->kept[hull[count - 1]], &p->kept[i]))
            count--;
        hull[count++] = (uint32_t)i;
    }
    return count;
}

/* The line from the first to the last. Good enough to tell small delays from large ones. */
static double overall_rate(const struct gn_pair *p)
{
    const struct gn_pair_kept *first = &p->kept[0], *last = &p->kept[p->count - 1];
    return (double)(last->sent_ticks - first->sent_ticks) /
           (double)(last->received_ticks - first->received_ticks);
}

/* How far above that line, in the sender's ticks: the least delay is the highest. */
static double height(const struct gn_pair *p, double rate, size_t i)
{
    const struct gn_pair_kept *first = &p->kept[0], *k = &p->kept[i];
    return (double)(k->sent_ticks - first->sent_ticks) -
           rate * (double)(k->received_ticks - first->received_ticks);
}

/* Leaves at most three quarters of the capacity. */
static bool thin_out(struct gn_pair *p)
{
    uint32_t *hull = malloc(2 * p->count * sizeof *hull), *keep = hull + p->count;
    if (!hull)
        return false;
    size_t hull_count = find_hull(p, hull), next_vertex = 0, kept = 0;
    if (hull_count > p->capacity / 4)
        hull_count = 0;
    const double rate = overall_rate(p);
    uint64_t span = p->kept[p->count - 1].received_ticks - p->kept[0].received_ticks;
    unsigned cell =
        0; /* its length is a power of two, so that the cells of an earlier time lie in one each */
    while ((span >> cell) + 2 > p->capacity / 2)
        cell++;
    for (size_t i = 0; i < p->count;) {
        size_t best = i, end = i;
        double best_height = height(p, rate, i);
        for (; end < p->count && p->kept[end].received_ticks >> cell == p->kept[i].received_ticks >> cell;
             end++) {
            double h = height(p, rate, end);
            if (h > best_height) {
                best = end;
                best_height = h;
            }
        }
        for (size_t k = i; k < end; k++) {
            bool vertex = next_vertex < hull_count && hull[next_vertex] == k;
            next_vertex += vertex;
            if (vertex || k == best)
                keep[kept++] = (uint32_t)k;
        }
        i = end;
    }
    for (size_t i = 0; i < kept; i++)
        p->kept[i] = p->kept[keep[i]];
    p->count = kept;
    free(hull);
    return true;
}

/* ---- messages ---- */

/* Takes away neighbours that the fresh one at `at` implies, and puts it there. */
static void insert(struct gn_pair *p, size_t at, const struct gn_pair_kept *fresh)
{
    size_t from = at, to = at;
    while (from > 0 && implied_by_later(p, &p->kept[from - 1], fresh))
        from--;
    while (to < p->count && implied_by_earlier(p, fresh, &p->kept[to]))
        to++;
    if (to < p->count && from + 1 != to)
        memmove(&p->kept[from + 1], &p->kept[to], (p->count - to) * sizeof *p->kept);
    p->count = p->count + 1 - (to - from);
    p->kept[from] = *fresh;
}

/* The first that was received later: as a rule none. */
static size_t place_of(const struct gn_pair *p, uint64_t received_ticks)
{
    size_t low = 0, high = p->count;
    if (high == 0 || p->kept[high - 1].received_ticks <= received_ticks)
        return high;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (p->kept[middle].received_ticks <= received_ticks)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_implied(const struct gn_pair *p, size_t at, const struct gn_pair_kept *fresh)
{
    return (at > 0 && implied_by_earlier(p, &p->kept[at - 1], fresh)) ||
           (at < p->count && implied_by_later(p, fresh, &p->kept[at]));
}

/* Rare: apart, so that the way of most messages saves no registers for it. */
static __attribute__((noinline)) bool add_anywhere(struct gn_pair *p, uint64_t sent_ticks,
                                                   uint64_t received_ticks)
{
    const struct gn_pair_kept fresh = {received_ticks, sent_ticks};
    size_t at = place_of(p, received_ticks);
    if (is_implied(p, at, &fresh))
        return true;
    if (p->count == p->capacity) {
        if (!thin_out(p))
            return false;
        at = place_of(p, received_ticks);
    }
    if (!gn_grow(&p->kept, &p->room, p->count, sizeof *p->kept))
        return false;
    insert(p, at, &fresh);
    return true;
}

/* How far a message lies above a line of this rate through the origin, in 2^-20 ticks, of which 64 bits are
 * kept: only differences count. A later message is implied by an earlier one when it is not higher above the
 * line of the least rate, and implies it when it is not lower above that of the greatest. */
static inline uint64_t above_line(uint64_t rate, uint64_t sent_ticks, uint64_t received_ticks)
{
    return (sent_ticks << SHIFT) - received_ticks * rate;
}

static bool add_apart(struct gn_pair *p, uint64_t sent_ticks, uint64_t received_ticks)
{
    bool added = add_anywhere(p, sent_ticks, received_ticks);
    if (p->count > 0) {
        const struct gn_pair_kept *last = &p->kept[p->count - 1];
        p->last_above_lo = above_line(p->lo, last->sent_ticks, last->received_ticks);
        p->last_above_hi = above_line(p->hi, last->sent_ticks, last->received_ticks);
    }
    return added;
}

/*
 * Within a burst of messages each either is implied by the one before or implies it, and which of the two is
 * as random as the network; and nobody can tell when the next burst begins. No branch depends on either, and
 * no multiplication on the message before. That a fresh one also implies some before the last is rare, and
 * left to those who use the points.
 */
bool gn_pair_add(struct gn_pair *pair, uint64_t sent_ticks, uint64_t received_ticks)
{
    pair->messages++;
    if (pair->count == 0)
        return add_apart(pair, sent_ticks, received_ticks);
    struct gn_pair_kept *last = &pair->kept[pair->count - 1];
    if (pair->count == pair->room || pair->count == pair->capacity || received_ticks < last->received_ticks)
        return add_apart(pair, sent_ticks, received_ticks);
    uint64_t above_lo = above_line(pair->lo, sent_ticks, received_ticks);
    uint64_t above_hi = above_line(pair->hi, sent_ticks, received_ticks);
    bool implied = (int64_t)(above_lo - pair->last_above_lo) <= 0;
    bool implies = (int64_t)(above_hi - pair->last_above_hi) >= 0;
    uint64_t keep = -(uint64_t)implied;
    bool fresh = !(implied | implies);
    last[fresh] = (struct gn_pair_kept){(last->received_ticks & keep) | (received_ticks & ~keep),
                                        (last->sent_ticks & keep) | (sent_ticks & ~keep)};
    pair->last_above_lo = implied ? pair->last_above_lo : above_lo;
    pair->last_above_hi = implied ? pair->last_above_hi : above_hi;
    pair->count += fresh;
    return true;
}
