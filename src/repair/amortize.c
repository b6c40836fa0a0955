/*
 * Three steps, all of them forwards and each a little behind the one before:
 *   1. find jumps; their windows, put together where they overlap, wait until no later window can reach them;
 *   2. pull a string through each of them: gates at ops, from the shift that the forward pass has made up to
 *      the limit. The shortest path through the gates is found by the funnel algorithm (Lee & Preparata
 *      1984): the paths from the last fixed point (apex) to the upper and to the lower end of the latest
 *      gate, of which one bends only upwards and the other only downwards;
 *   3. tell the knots.
 *
 * Why no order at the location breaks: where the string falls, its steepest piece starts at a lower end, p,
 * and ends at an upper one, q, so it falls by no more than shift(p) − shift(q), and after the forward pass
 * ticks(q) + shift(q) is above ticks(p) + shift(p). What is left is rounding, and steps that are not spread
 * evenly; a last look backwards mends that, and cannot get below the forward pass.
 */
#include "repair/amortize.h"

#include "base/grow.h"
#include "repair/line.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* So many ops are looked at together, at most twice as many; a longer window begins later. */
enum { MOST_OPS = 1 << 20 };
static const int64_t farthest = (int64_t)1 << 61;

/* Overlapping windows. Only shifts of [first, last) change. */
struct window {
    uint64_t first, last; /* ops; last: a jump */
    int64_t begin_ticks;  /* ≤ those of first */
};

/* The string passes x_ticks between low and high. Once it is known, low is the shift at which it leaves:
 * above `high` where it has to rise between events of one timestamp. */
struct gate {
    int64_t ticks, low, high;
    bool is_low; /* the low end can matter: it is above where the one before falls to */
};

struct point {
    int64_t x, y;
};

enum side { UPPER, LOWER };

/* Gates at which the path from the apex to the latest gate bends, but for the apex. */
struct chain {
    uint32_t *gates;
    size_t begin, end;
};

struct string {
    struct gate *gates;
    size_t count, capacity;
    struct chain chains[2];
    size_t chain_capacity;
    struct point apex;
    size_t apex_gate;
};

struct gn_amortizer {
    struct gn_op_store *store;
    uint32_t location;
    struct gn_amortize_settings settings;
    struct gn_knot_sink sink;
    struct gn_amortize_stats *stats;
    struct gn_error *err;
    struct window *windows; /* [window_begin, window_end): those that wait, ascending and apart */
    size_t window_begin, window_end, window_capacity;
    struct string string;
    uint64_t settled;      /* ops before it are done */
    struct gn_knot before; /* the op before that one, which may be a knot; record 0: none */
    bool is_told;          /* it is one */
    bool tells_still;      /* ops that do not move are told, too */
    struct gn_knot last;   /* that was told */
    uint64_t told;
    uint64_t next, count; /* the op to look at, and how many there are */
    int64_t ticks, shift; /* of the one before, after the forward pass */
    bool is_over;
};

static struct gn_op *op_at(const struct gn_amortizer *a, uint64_t index)
{
    return gn_op_at(a->store, a->location, index);
}

static int no_memory(struct gn_amortizer *a)
{
    return gn_fail(a->err, -ENOMEM, "no memory for the windows before jumps of location %u", a->location);
}

static int64_t fallen(const struct gn_amortizer *a, int64_t shift, int64_t ticks)
{
    int64_t decay = gn_decay(a->settings.gamma_loss, ticks);
    return shift > decay ? shift - decay : 0;
}

/* ---- the string ---- */

/* Above 0 when the direction from `from` to p is steeper than that to q. */
static __int128 steeper(struct point from, struct point p, struct point q)
{
    return (__int128)(p.y - from.y) * (q.x - from.x) - (__int128)(q.y - from.y) * (p.x - from.x);
}

static struct point end_of(const struct string *s, enum side side, size_t gate)
{
    const struct gate *g = &s->gates[gate];
    return (struct point){g->ticks, side == UPPER ? g->high : g->low};
}

/* The string is a straight line from the apex to there. */
static void advance(struct string *s, size_t gate, struct point to)
{
    const struct gn_line line = gn_line(s->apex.x, s->apex.y, to.x, to.y);
    for (size_t i = s->apex_gate + 1; i < gate; i++)
        s->gates[i].low = gn_line_at(&line, s->gates[i].ticks);
    s->apex = to;
    s->apex_gate = gate;
}

/* Takes in one end of the next gate. */
static inline void widen(struct string *s, enum side side, size_t gate)
{
    const int sign = side == UPPER ? 1 : -1;
    struct chain *mine = &s->chains[side], *other = &s->chains[!side];
    const struct point new = end_of(s, side, gate);
    for (; mine->end > mine->begin; mine->end--) {
        const struct point last = end_of(s, side, mine->gates[mine->end - 1]);
        const bool is_first = mine->end - 1 == mine->begin;
        const struct point from = is_first ? s->apex : end_of(s, side, mine->gates[mine->end - 2]);
        if (sign * steeper(from, last, new) < 0)
            break;
    }
    while (mine->begin == mine->end && other->begin < other->end) {
        const size_t next = other->gates[other->begin];
        const struct point corner = end_of(s, !side, next);
        if (sign * steeper(s->apex, corner, new) <= 0)
            break;
        other->begin++;
        advance(s, next, corner);
        s->gates[next].low = corner.y;
    }
    mine->gates[mine->end++] = (uint32_t)gate;
}

/* From the low end of one gate to the high end of another. */
static void pull(struct string *s, size_t from, size_t to)
{
    if (from == to)
        return;
    s->apex = end_of(s, LOWER, from);
    s->apex_gate = from;
    s->chains[UPPER].begin = s->chains[UPPER].end = s->chains[LOWER].begin = s->chains[LOWER].end = 0;
    for (size_t i = from + 1; i < to; i++) {
        if (s->gates[i].high != INT64_MAX)
            widen(s, UPPER, i);
        if (s->gates[i].is_low)
            widen(s, LOWER, i);
    }
    widen(s, UPPER, to);
    for (const struct chain *path = &s->chains[UPPER]; path->begin < path->end; s->chains[UPPER].begin++) {
        const size_t next = path->gates[path->begin];
        const struct point corner = end_of(s, UPPER, next);
        advance(s, next, corner);
        if (next < to)
            s->gates[next].low = corner.y;
    }
}

static bool reserve_chains(struct string *s)
{
    if (s->chain_capacity >= s->capacity)
        return true;
    for (int side = 0; side < 2; side++) {
        uint32_t *more = realloc(s->chains[side].gates, s->capacity * sizeof *more);
        if (!more)
            return false;
        s->chains[side].gates = more;
    }
    s->chain_capacity = s->capacity;
    return true;
}

static bool add_gate(struct string *s, int64_t ticks, int64_t low, int64_t high, bool is_low)
{
    if (!gn_grow(&s->gates, &s->capacity, s->count, sizeof *s->gates) || !reserve_chains(s))
        return false;
    s->gates[s->count++] = (struct gate){ticks, low, high, is_low};
    return true;
}

/* ---- windows ---- */

static int64_t latest_of(const struct gn_op *op)
{
    const bool is_limited = op->kind == GN_OP_SEND || op->kind == GN_OP_BEGIN;
    return is_limited && op->limit < op->high ? op->limit : op->high;
}

static int64_t highest(const struct gn_op *op)
{
    const int64_t latest = latest_of(op);
    if (latest == INT64_MAX)
        return INT64_MAX;
    const int64_t most = latest - op->ticks;
    return most > op->shift ? most : op->shift;
}

/* Whether the window begins at the op before its first because that must not change. */
static bool begins_at_op(const struct gn_amortizer *a, const struct window *w)
{
    return w->first > 0 && op_at(a, w->first - 1)->ticks >= w->begin_ticks;
}

/* Where the string begins: the shift that the forward pass has there. */
static struct point beginning(const struct gn_amortizer *a, const struct window *w)
{
    const struct gn_op *first = op_at(a, w->first);
    if (w->first == 0)
        return (struct point){w->begin_ticks, 0};
    const struct gn_op *before = op_at(a, w->first - 1);
    if (begins_at_op(a, w))
        return (struct point){before->ticks, before->shift};
    const int64_t shift = fallen(a, before->shift, w->begin_ticks - before->ticks);
    const int64_t most =
        first->shift + (first->ticks - w->begin_ticks); /* a decay may be rounded once more */
    return (struct point){w->begin_ticks, shift < most ? shift : most};
}

/* Pulls the string through the window's gates. Ops with one timestamp share a gate. Where no shift fits all
 * of them, the string reaches the lowest limit, rises, and goes on from the highest shift. */
static bool pull_through(struct gn_amortizer *a, const struct window *w)
{
    struct string *s = &a->string;
    const struct point begin = beginning(a, w);
    s->count = 0;
    if (!add_gate(s, begin.x, begin.y, begin.y, true))
        return false;
    const struct gn_op *before = w->first > 0 ? op_at(a, w->first - 1) : NULL;
    size_t from = 0;
    for (uint64_t i = w->first; i <= w->last; before = op_at(a, i++)) {
        const struct gn_op *op = op_at(a, i);
        const int64_t low = op->shift, high = i == w->last ? low : highest(op);
        const bool is_low = low > (before ? fallen(a, before->shift, op->ticks - before->ticks) : 0);
        struct gate *gate = &s->gates[s->count - 1];
        if (op->ticks == gate->ticks) {
            gate->low = low > gate->low ? low : gate->low;
            gate->high = high < gate->high ? high : gate->high;
            gate->is_low |= is_low;
            continue;
        }
        if (gate->low > gate->high) {
            pull(s, from, s->count - 1);
            from = s->count - 1;
        }
        if (!add_gate(s, op->ticks, low, high, is_low))
            return false;
    }
    pull(s, from, s->count - 1);
    return true;
}

/* Gives the window's ops their shifts. Backwards: an op is not later than the one after it allows. */
static void write_shifts(struct gn_amortizer *a, const struct window *w)
{
    const struct gate *gate = &a->string.gates[a->string.count - 1];
    const struct gn_op *next = op_at(a, w->last);
    for (uint64_t i = w->last; i-- > w->first;) {
        struct gn_op *op = op_at(a, i);
        while (gate->ticks > op->ticks)
            gate--;
        const int64_t high = highest(op);
        int64_t shift = gate->low < high ? gate->low : high;
        const int64_t in_order = next->ticks + next->shift - next->steps - op->ticks;
        shift = shift < in_order ? shift : in_order;
        op->shift = shift > op->shift ? shift : op->shift;
        a->stats->limited += high != INT64_MAX && op->shift == high;
        next = op;
    }
}

/* ---- knots ---- */

static int take(struct gn_amortizer *a, const struct gn_knot *knot)
{
    struct gn_amortize_stats *stats = a->stats;
    if (a->told > 0 && knot->shift > a->last.shift) {
        const int64_t ticks = knot->ticks - a->last.ticks;
        const double rise = (double)(knot->shift - a->last.shift), width = (double)(ticks > 0 ? ticks : 1);
        if (rise > stats->steepest * width)
            stats->steepest = rise / width;
    }
    stats->largest_shift_ticks =
        knot->shift > stats->largest_shift_ticks ? knot->shift : stats->largest_shift_ticks;
    a->last = *knot;
    a->told++;
    int code = a->sink.take(a->sink.self, knot);
    if (code)
        gn_fail(a->err, code, "cannot keep the corrections of location %u: %s", a->location, strerror(-code));
    return code;
}

static int take_between(struct gn_amortizer *a, int64_t ticks, int64_t shift)
{
    return take(a, &(struct gn_knot){.ticks = ticks, .shift = shift});
}

/* Where the shift of the op before has shrunk to 0, when that is before `end`. */
static int tell_end_of_decay(struct gn_amortizer *a, int64_t end)
{
    const uint64_t loss = a->settings.gamma_loss;
    if (a->before.shift <= 0 || fallen(a, a->before.shift, end - a->before.ticks) > 0)
        return 0;
    const unsigned __int128 ticks = ((unsigned __int128)(uint64_t)a->before.shift << 64) + loss - 1;
    const int64_t at = a->before.ticks + (int64_t)(ticks / loss);
    return at < end ? take_between(a, at, 0) : 0;
}

/* Between the op before and the next one, outside of windows: it falls. begin: of the window that the next
 * one is in; NULL: of none. */
static int tell_between(struct gn_amortizer *a, const struct gn_op *op, const struct point *begin)
{
    int code = tell_end_of_decay(a, begin ? begin->x : op->ticks);
    if (code || begin)
        return code ? code : take_between(a, begin->x, begin->y);
    const int64_t shift =
        a->before.record ? fallen(a, a->before.shift, op->ticks - a->before.ticks) : a->before.shift;
    return op->flags & GN_OP_JUMP && op->shift > shift ? take_between(a, op->ticks, shift) : 0;
}

/* The next op. is_inside: the string goes straight from the op before to it. */
static int tell(struct gn_amortizer *a, const struct gn_op *op, bool is_inside, const struct point *begin)
{
    const struct gn_knot knot = {a->before.record + op->records, op->ticks, op->shift, op->steps, 0};
    const bool is_moved = a->before.shift || op->shift, is_told = is_moved || a->tells_still;
    int code = 0;
    if (is_moved && !a->is_told && a->before.record)
        code = take(a, &a->before);
    if (is_moved && !code && !is_inside)
        code = tell_between(a, op, begin);
    if (is_told && !code)
        code = take(a, &knot);
    a->before = knot;
    a->is_told = is_told;
    return code;
}

static int tell_last_decay(struct gn_amortizer *a)
{
    const int64_t end = INT64_MAX / 2;
    if (a->before.shift <= 0 || a->before.ticks >= end)
        return 0;
    int code = tell_end_of_decay(a, end);
    const int64_t shift = fallen(a, a->before.shift, end - a->before.ticks);
    return code || a->last.shift == 0 ? code : take_between(a, end, shift);
}

/* ---- from one to the next ---- */

/* Ops up to (not including) `end` are in no window. */
static int pass(struct gn_amortizer *a, uint64_t end)
{
    int code = 0;
    for (; a->settled < end && !code; a->settled++) {
        const struct gn_op *op = op_at(a, a->settled);
        if ((op->shift | a->before.shift) == 0 && !a->tells_still) {
            a->before = (struct gn_knot){a->before.record + op->records, op->ticks, 0, op->steps, 0};
            a->is_told = false;
        } else {
            code = tell(a, op, false, NULL);
        }
    }
    gn_op_rest(a->store, a->location, a->settled);
    return code;
}

static int settle(struct gn_amortizer *a, const struct window *w)
{
    int code = pass(a, w->first);
    if (code)
        return code;
    const bool is_inside = begins_at_op(a, w);
    const struct point begin = beginning(a, w);
    if (!pull_through(a, w))
        return no_memory(a);
    write_shifts(a, w);
    code = tell(a, op_at(a, w->first), is_inside, &begin);
    for (uint64_t i = w->first + 1; i <= w->last && !code; i++)
        code = tell(a, op_at(a, i), true, NULL);
    a->settled = w->last + 1;
    return code;
}

static int settle_oldest(struct gn_amortizer *a)
{
    int code = settle(a, &a->windows[a->window_begin++]);
    if (a->window_begin == a->window_end)
        a->window_begin = a->window_end = 0;
    return code;
}

/* Settles what no window of a jump at op `now` or later can reach. */
static int settle_behind(struct gn_amortizer *a, uint64_t now)
{
    const int64_t reach = op_at(a, now)->ticks - a->settings.longest_ticks;
    int code = 0;
    while (!code && a->window_begin < a->window_end) {
        const uint64_t last = a->windows[a->window_begin].last;
        if (op_at(a, last)->ticks >= reach && last + MOST_OPS >= now)
            return 0;
        code = settle_oldest(a);
    }
    for (uint64_t end; !code && (end = a->settled + GN_OP_BLOCK) <= now;) {
        if (op_at(a, end - 1)->ticks >= reach && end + MOST_OPS > now)
            return 0;
        code = pass(a, end);
    }
    return code;
}

static int add_window(struct gn_amortizer *a, const struct window *w)
{
    if (a->window_begin > a->window_end / 2) { /* so that what is in front is used again, at little cost */
        a->window_end -= a->window_begin;
        memmove(a->windows, a->windows + a->window_begin, a->window_end * sizeof *a->windows);
        a->window_begin = 0;
    }
    if (!gn_grow(&a->windows, &a->window_capacity, a->window_end, sizeof *a->windows))
        return no_memory(a);
    a->windows[a->window_end++] = *w;
    return 0;
}

/* Puts the window together with those that it overlaps; with one that is too long already, nothing is: all
 * that wait are settled, and this one begins there. */
static int join(struct gn_amortizer *a, struct window *w)
{
    while (a->window_begin < a->window_end) {
        const struct window *other = &a->windows[a->window_end - 1];
        if (op_at(a, other->last)->ticks < w->begin_ticks)
            return 0;
        if (w->last - other->first >= MOST_OPS) {
            int code = 0;
            while (!code && a->window_begin < a->window_end)
                code = settle_oldest(a);
            return code;
        }
        w->first = other->first;
        w->begin_ticks = other->begin_ticks < w->begin_ticks ? other->begin_ticks : w->begin_ticks;
        a->window_end--;
    }
    return 0;
}

static int open_window(struct gn_amortizer *a, uint64_t jump, int64_t reach)
{
    struct window w = {jump, jump, op_at(a, jump)->ticks - reach};
    int code = settle_behind(a, jump);
    if (!code)
        code = join(a, &w);
    if (code)
        return code;
    while (w.first > a->settled && w.first + MOST_OPS > jump && op_at(a, w.first - 1)->ticks >= w.begin_ticks)
        w.first--;
    if (begins_at_op(a, &w))
        w.begin_ticks = op_at(a, w.first - 1)->ticks;
    return add_window(a, &w);
}

static int64_t reach_of(const struct gn_amortize_settings *settings, int64_t jump)
{
    const double ticks = ceil((double)jump / settings->slope);
    return ticks < (double)settings->longest_ticks ? (int64_t)ticks : settings->longest_ticks;
}

/* expected: the shift if there were no jump. */
static int at_jump(struct gn_amortizer *a, uint64_t index, int64_t expected)
{
    const int64_t risen = op_at(a, index)->shift - expected;
    const int64_t jump = risen > 1 ? risen : 1;
    a->stats->jumps++;
    if (jump > a->stats->largest_jump_ticks)
        a->stats->largest_jump_ticks = jump;
    if (!(a->settings.slope > 0) || a->settings.longest_ticks <= 0)
        return 0;
    return open_window(a, index, reach_of(&a->settings, jump));
}

/* Timestamps that go back are those of the op before from here on, with a shift that is as much smaller. */
static void straighten(struct gn_op *op, int64_t ticks)
{
    const int64_t back = ticks - op->ticks;
    op->shift = op->shift > back ? op->shift - back : 0;
    op->ticks = ticks;
}

/* A record has one time: the ops from `first` on that are of one record keep to the earliest of their limits.
 */
static void share_limits(struct gn_amortizer *a, uint64_t first, uint64_t count)
{
    int64_t latest = INT64_MAX;
    uint64_t end = first;
    do {
        const struct gn_op *op = op_at(a, end++);
        const int64_t limit = latest_of(op);
        latest = limit < latest ? limit : latest;
    } while (end < count && op_at(a, end)->records == 0);
    for (uint64_t i = first; i < end && end - first > 1; i++)
        op_at(a, i)->high = latest;
}

static int look_at(struct gn_amortizer *a, uint64_t i)
{
    struct gn_op *op = op_at(a, i);
    if ((op->records > 0 || i == 0) && i + 1 < a->count && op_at(a, i + 1)->records == 0)
        share_limits(a, i, a->count);
    if (op->ticks < a->ticks)
        straighten(op, a->ticks);
    const int64_t after = op->shift, expected = i > 0 ? fallen(a, a->shift, op->ticks - a->ticks) : 0;
    a->ticks = op->ticks;
    a->shift = after;
    if (op->flags & GN_OP_JUMP)
        return at_jump(a, i, expected);
    return i % GN_OP_BLOCK == 0 ? settle_behind(a, i) : 0;
}

static int go_on(struct gn_amortizer *a)
{
    if (a->next < a->count)
        return look_at(a, a->next++);
    if (a->window_begin < a->window_end)
        return settle_oldest(a);
    if (a->settled < a->count)
        return pass(a, a->count - a->settled < GN_OP_BLOCK ? a->count : a->settled + GN_OP_BLOCK);
    a->is_over = true;
    return tell_last_decay(a);
}

static bool nothing_moves(struct gn_op_store *store, uint32_t location)
{
    const struct gn_op_row *row = &store->rows[location];
    int64_t any = 0;
    for (uint64_t first = 0; first < row->count && !any; first += GN_OP_BLOCK) {
        const struct gn_op *ops = row->blocks[first / GN_OP_BLOCK];
        const uint64_t count = row->count - first < GN_OP_BLOCK ? row->count - first : GN_OP_BLOCK;
        for (uint64_t i = 0; i < count; i++)
            any |= ops[i].shift | (ops[i].flags & GN_OP_JUMP);
        gn_op_rest(store, location, first);
    }
    return any == 0;
}

int gn_amortizer_open(struct gn_amortizer **amortizer, struct gn_op_store *store, uint32_t location,
                      const struct gn_amortize_settings *settings, const struct gn_knot_sink *sink,
                      struct gn_amortize_stats *stats, struct gn_error *err)
{
    struct gn_amortizer *a = calloc(1, sizeof *a);
    if (!a)
        return gn_fail(err, -ENOMEM, "no memory for the windows before jumps of location %u", location);
    *a = (struct gn_amortizer){.store = store,
                               .location = location,
                               .settings = *settings,
                               .sink = *sink,
                               .stats = stats,
                               .count = store->rows[location].count,
                               .ticks = INT64_MIN,
                               .tells_still = store->rows[location].has_gaps};
    if (a->settings.longest_ticks > farthest)
        a->settings.longest_ticks = farthest;
    gn_op_rest(store, location, 0);
    a->is_over = !a->tells_still && nothing_moves(store, location);
    gn_op_rest(store, location, 0);
    *amortizer = a;
    return 0;
}

int gn_amortizer_go_on(struct gn_amortizer *amortizer, struct gn_error *err)
{
    const uint64_t told = amortizer->told;
    int code = 0;
    amortizer->err = err;
    while (!code && !amortizer->is_over && amortizer->told == told)
        code = go_on(amortizer);
    return code ? code : !amortizer->is_over;
}

void gn_amortizer_close(struct gn_amortizer *amortizer)
{
    free(amortizer->windows);
    free(amortizer->string.gates);
    free(amortizer->string.chains[UPPER].gates);
    free(amortizer->string.chains[LOWER].gates);
    free(amortizer);
}

int gn_amortize(struct gn_op_store *store, uint32_t location, const struct gn_amortize_settings *settings,
                const struct gn_knot_sink *sink, struct gn_amortize_stats *stats, struct gn_error *err)
{
    struct gn_amortizer *a;
    int code = gn_amortizer_open(&a, store, location, settings, sink, stats, err);
    if (code < 0)
        return code;
    while ((code = gn_amortizer_go_on(a, err)) > 0)
        ;
    gn_amortizer_close(a);
    return code;
}
