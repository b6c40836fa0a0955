#include "analyse/whatif_inside.h"

#include <math.h>
#include <stdlib.h>

/* What the parts of an instance that have been given come to. */
struct given {
    double lo;      /* min of (reduction + by how much it was earlier than the last) */
    double hi;      /* max of those that may have been the last */
    double cap;     /* min of (reduction − when it was given, at the earliest) */
    uint32_t parts; /* PREFIX: so many have been counted */
};

struct gn_whatif_pass {
    const struct gn_history *h;
    struct gn_reduction *at;     /* [location_count] now */
    struct gn_reduction *forked; /* [location_count] when threads were forked; NULL: nobody has any */
    bool *is_faster;             /* [process_count] threads beside those that join them may be */
    uint32_t *callers;           /* [process_count] threads that go along with no other */
    double removed;              /* all that goes */
    double most; /* … as is known ahead, where calls wait and nothing tells for whom; else 0 */
    struct gn_reduction *entered; /* [call_count] at its enter */
    struct gn_reduction *gives; /* [call_count] what others take from it: entered, where none is made ahead */
    struct gn_reduction *moved; /* [location_count] by how much the call is ahead of where it was */
    struct given *given;        /* [gathering_count] */
    struct below {              /* of the members of a prefix operation up to this one */
        struct given given;
        double shifted;          /* min of (reduction − when it was given, at the latest) */
        struct gn_interval last; /* when the last of them came */
    } * below;                   /* [part_count]; NULL: there is no such operation */
};

static const struct given NOTHING = {INFINITY, -INFINITY, INFINITY, 0};

static uint32_t process_of(const struct gn_history *h, size_t location)
{
    const uint32_t process = h->definitions->locations[location].process;
    return process < h->definitions->process_count ? process : (uint32_t)h->definitions->process_count;
}

static uint32_t *count_callers(const struct gn_history *h)
{
    uint32_t *callers = calloc(h->definitions->process_count + 1, sizeof *callers);
    for (size_t l = 0; callers && l < h->definitions->location_count; l++)
        callers[process_of(h, l)] += h->first_call[l] != GN_NONE && !h->is_carried[l];
    return callers;
}

struct gn_whatif_pass *gn_whatif_pass_new(const struct gn_history *history)
{
    struct gn_whatif_pass *p = calloc(1, sizeof *p);
    bool prefixes = false;
    if (!p)
        return NULL;
    p->h = history;
    for (size_t g = 0; g < history->gathering_count; g++)
        prefixes |= history->gatherings[g].shape == GN_SHAPE_PREFIX;
    p->at = malloc((history->definitions->location_count + 1) * sizeof *p->at);
    const bool has_threads = history->beside > 0;
    p->forked = has_threads ? calloc(history->definitions->location_count + 1, sizeof *p->forked) : NULL;
    p->is_faster = has_threads ? calloc(history->definitions->process_count + 1, sizeof *p->is_faster) : NULL;
    p->callers = has_threads ? count_callers(history) : NULL;
    p->entered = malloc((history->call_count + 1) * sizeof *p->entered);
    p->given = malloc((history->gathering_count + 1) * sizeof *p->given);
    p->below = prefixes ? malloc((history->part_count + 1) * sizeof *p->below) : NULL;
    if (p->at && (!has_threads || (p->forked && p->is_faster && p->callers)) && p->entered && p->given &&
        (!prefixes || p->below))
        return p;
    gn_whatif_pass_free(p);
    return NULL;
}

/* No call is made ahead. */
static void stay(struct gn_whatif_pass *p)
{
    if (p->gives != p->entered)
        free(p->gives);
    p->gives = p->entered;
}

void gn_whatif_pass_free(struct gn_whatif_pass *pass)
{
    if (!pass)
        return;
    free(pass->at);
    free(pass->forked);
    free(pass->is_faster);
    free(pass->callers);
    stay(pass);
    free(pass->moved);
    free(pass->entered);
    free(pass->given);
    free(pass->below);
    free(pass);
}

static inline double smaller(double a, double b)
{
    return a < b ? a : b;
}

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

/* ---- enters ---- */

static inline void add_part(struct given *given, const struct gn_reduction *r,
                            const struct gn_given_part *part, int64_t enter_lo_ns)
{
    given->lo = smaller(given->lo, r->lo + part->extra_ns);
    if (part->is_tight)
        given->hi = larger(given->hi, r->hi);
    given->cap = smaller(given->cap, r->hi - (double)enter_lo_ns);
}

static inline void give(struct gn_whatif_pass *p, const struct gn_call *call, const struct gn_reduction *r)
{
    const struct gn_history *h = p->h;
    for (uint32_t i = 0; i < call->part_count; i++) {
        const struct gn_given_part *part = &h->parts[h->part_order[call->first_part + i]];
        if (part->gives)
            add_part(&p->given[part->gathering], r, part, call->enter.lo_ns);
    }
}

/* What a piece gains; of a wait for threads that are faster perhaps all of it. */
static struct gn_reduction gain_of(const struct gn_piece *piece, double share, bool is_faster)
{
    const bool may_wait = piece->kind == GN_PIECE_JOIN || piece->kind == GN_PIECE_EITHER;
    const double computes = piece->kind == GN_PIECE_JOIN ? 0 : share * piece->hi_ns;
    return (struct gn_reduction){piece->kind == GN_PIECE_ALONE ? share * piece->lo_ns : 0,
                                 may_wait && is_faster ? piece->hi_ns : computes};
}

/* Of a thread with others beside it: when it joins them, it is no later than those were when they were
 * forked, and as much earlier as it and they have become faster, at most. */
static void compute_beside(struct gn_whatif_pass *p, const struct gn_call *call, const struct gn_whatif *what,
                           struct gn_reduction *r)
{
    const struct gn_piece *piece = &p->h->pieces[call->first_piece];
    const bool is_faster = p->is_faster[process_of(p->h, call->location)];
    struct gn_reduction *forked = &p->forked[call->location];
    double waited_ns = 0;
    if (call->flags & GN_CALL_FORKS)
        *forked = *r;
    for (uint32_t i = 0; i < call->piece_count; i++) {
        const double share = gn_whatif_share(what, p->h, call, piece[i].activity);
        const struct gn_reduction gain = gain_of(&piece[i], share, is_faster);
        r->lo += gain.lo;
        r->hi += gain.hi;
        forked->lo += gain.lo;
        forked->hi += gain.hi;
        waited_ns += piece[i].kind == GN_PIECE_JOIN || piece[i].kind == GN_PIECE_EITHER ? piece[i].hi_ns : 0;
        p->removed += gain.hi;
    }
    if (!(call->flags & GN_CALL_JOINS))
        return;
    r->lo = smaller(r->lo, forked->lo);
    r->hi = larger(r->hi, smaller(forked->hi, r->hi + waited_ns));
}

/* A call that is made ahead, behind another one that is, goes ahead of that one's computation, too. */
static void go_ahead(struct gn_whatif_pass *p, uint32_t number, const struct gn_whatif *what)
{
    const struct gn_call *call = &p->h->calls[number];
    struct gn_reduction *moved = &p->moved[call->location];
    p->gives[number] = p->entered[number];
    if (what->sooner_ns) {
        p->gives[number].lo += what->sooner_ns[number];
        p->gives[number].hi += what->sooner_ns[number];
        p->removed += what->sooner_ns[number];
    }
    if (!what->ahead || !what->ahead[number]) {
        *moved = (struct gn_reduction){0, 0};
        return;
    }
    for (uint32_t i = call->first_piece; i < call->first_piece + call->piece_count; i++) {
        const double stays = 1 - gn_whatif_share(what, p->h, call, p->h->pieces[i].activity);
        moved->lo += p->h->pieces[i].kind == GN_PIECE_ALONE ? stays * p->h->pieces[i].lo_ns : 0;
        moved->hi += stays * p->h->pieces[i].hi_ns;
    }
    p->gives[number].lo += moved->lo;
    p->gives[number].hi += moved->hi;
    p->removed += moved->hi;
}

static inline void enter(struct gn_whatif_pass *p, uint32_t number, const struct gn_whatif *what)
{
    const struct gn_call *call = &p->h->calls[number];
    struct gn_reduction *r = &p->at[call->location];
    if (p->forked) {
        compute_beside(p, call, what, r);
    } else if (call->piece_count && (!what->at_location || what->at_location[call->location])) {
        const struct gn_piece *piece = &p->h->pieces[call->first_piece];
        for (uint32_t i = 0; i < call->piece_count; i++) {
            const double share = gn_whatif_share(what, p->h, call, piece[i].activity);
            r->lo += share * piece[i].lo_ns;
            r->hi += share * piece[i].hi_ns;
            p->removed += share * piece[i].hi_ns;
        }
    }
    p->entered[number] = *r;
    if (what->ahead || what->sooner_ns)
        go_ahead(p, number, what);
    if (call->part_count)
        give(p, call, r);
}

/* ---- leaves ---- */

/* Which of them came last differs from member to member. Of those that came before one that is certainly the
 * last, none was what a member above waited for. */
static void add_below(struct below *b, const struct gn_reduction *r, struct gn_interval enter)
{
    struct given *g = &b->given;
    if (enter.lo_ns > b->last.hi_ns)
        g->hi = r->hi;
    else if (enter.hi_ns >= b->last.lo_ns)
        g->hi = larger(g->hi, r->hi);
    g->lo = smaller(g->lo, r->lo);
    g->cap = smaller(g->cap, r->hi - (double)enter.lo_ns);
    b->shifted = smaller(b->shifted, r->lo - (double)enter.hi_ns);
    b->last.lo_ns = enter.lo_ns > b->last.lo_ns ? enter.lo_ns : b->last.lo_ns;
    b->last.hi_ns = enter.hi_ns > b->last.hi_ns ? enter.hi_ns : b->last.hi_ns;
}

/* All lower members have given: they are counted once, in their order. */
static struct given below(struct gn_whatif_pass *p, const struct gn_history_gathering *g, uint32_t instance,
                          uint32_t own)
{
    static const struct below none = {{INFINITY, -INFINITY, INFINITY, 0}, INFINITY, {INT64_MIN, INT64_MIN}};
    struct given *counted = &p->given[instance];
    for (uint32_t i = g->first_part + counted->parts; i < own; i++) {
        const struct gn_given_part *part = &p->h->parts[i];
        p->below[i] = i > g->first_part ? p->below[i - 1] : none;
        if (part->gives)
            add_below(&p->below[i], &p->entered[part->call], p->h->calls[part->call].enter);
        counted->parts = i + 1 - g->first_part;
    }
    if (own == g->first_part)
        return NOTHING;
    struct given given = p->below[own - 1].given;
    if (p->below[own - 1].last.lo_ns > INT64_MIN) /* the others came at least so much before the last */
        given.lo = larger(given.lo, p->below[own - 1].shifted + (double)p->below[own - 1].last.lo_ns);
    return given;
}

struct meeting {
    double lo, hi, cap;
};

static inline void take(struct gn_whatif_pass *p, const struct gn_call *call, const struct gn_take *t,
                        struct meeting *m)
{
    struct given given;
    if (t->kind == GN_TAKE_GATHERING) {
        const struct gn_history_gathering *g = &p->h->gatherings[t->from];
        given = g->shape == GN_SHAPE_PREFIX ? below(p, g, t->from, t->member) : p->given[t->from];
        given.cap += (double)call->leave.hi_ns;
    } else {
        const struct gn_reduction *r = &p->gives[t->from];
        given = (struct given){r->lo, r->hi, r->hi + t->room_ns, 0};
    }
    m->lo = smaller(m->lo, given.lo + t->extra_ns);
    if (t->is_tight)
        m->hi = larger(m->hi, given.hi);
    if (t->is_certain)
        m->cap = smaller(m->cap, given.cap);
}

/* From where its waiting began to its leave, at most: both are readings of one clock. */
static inline double longest_stay(const struct gn_history *h, const struct gn_call *call)
{
    const uint64_t ticks = call->leave_ticks - h->calls[call->waits_from].enter_ticks;
    return ((double)ticks + 1) * h->rate_hi[call->location];
}

/* All that it waited for is known: a synchronous send that met its receiver. */
static inline bool has_synchronous(const struct gn_history *h, const struct gn_call *call)
{
    const struct gn_take *t = &h->takes[call->first_take];
    return call->take_count == 1 && t->kind == GN_TAKE_RECEIVER && t->is_certain;
}

/* It waited for somebody, or for nobody: it is left as much earlier as it is entered, or, where what it
 * waited for comes no earlier, not at all; or as much earlier as it was long. */
static void leave_untold(struct gn_whatif_pass *p, const struct gn_call *call)
{
    struct gn_reduction *own = &p->at[call->location];
    *own = (struct gn_reduction){smaller(own->lo, 0),
                                 larger(own->hi, smaller(own->hi + longest_stay(p->h, call), p->most))};
}

static inline void leave(struct gn_whatif_pass *p, uint32_t number)
{
    const struct gn_call *call = &p->h->calls[number];
    if (call->take_count == 0) {
        if (call->flags & GN_CALL_UNTOLD)
            leave_untold(p, call);
        return;
    }
    const struct gn_reduction *own = &p->entered[call->waits_from];
    struct meeting m = {own->lo + call->extra_ns, call->is_tight ? own->hi : -INFINITY, INFINITY};
    for (uint32_t t = 0; t < call->take_count; t++)
        take(p, call, &p->h->takes[call->first_take + t], &m);
    if (has_synchronous(p->h, call))
        m.cap = smaller(m.cap, own->hi + longest_stay(p->h, call));
    m.hi = smaller(m.hi, m.cap);
    p->at[call->location] = (struct gn_reduction){m.lo, larger(m.lo, m.hi)};
    if (call->flags & GN_CALL_UNTOLD)
        leave_untold(p, call);
}

/* ---- the end ---- */

/* All locations' ends meet in the run's end. */
static struct gn_reduction meet_at_end(const struct gn_whatif_pass *p)
{
    const struct gn_history *h = p->h;
    struct meeting m = {INFINITY, -INFINITY, INFINITY};
    for (uint32_t l = 0; l < h->definitions->location_count; l++) {
        if (h->first_call[l] == GN_NONE || h->is_carried[l])
            continue;
        const struct gn_interval end = h->calls[h->last_call[l]].leave;
        const double earlier_ns = (double)h->last.lo_ns - (double)end.hi_ns;
        m.lo = smaller(m.lo, p->at[l].lo + larger(earlier_ns, 0));
        if (earlier_ns <= 0)
            m.hi = larger(m.hi, p->at[l].hi);
        m.cap = smaller(m.cap, p->at[l].hi + (double)h->last.hi_ns - (double)end.lo_ns);
    }
    return isinf(m.lo) ? (struct gn_reduction){0, 0}
                       : (struct gn_reduction){m.lo, larger(m.lo, smaller(m.hi, m.cap))};
}

/* Sums of that many roundings. */
static double rounding(const struct gn_history *h, double ns)
{
    return ns * 0x1p-52 * (double)(h->step_count + h->piece_count + 1);
}

static void set_speedup(struct gn_whatif_result *result, double old_lo, double old_hi)
{
    const double lo = result->reduction_lo_ns, hi = result->reduction_hi_ns;
    result->speedup_lo = old_hi > 0 ? smaller(lo / (lo < 0 ? larger(old_lo, 1) : old_hi), 1) : 0;
    result->speedup_hi = old_lo > 0 ? smaller(hi / old_lo, 1) : hi > 0;
}

static struct gn_whatif_result result_of(const struct gn_history *h, struct gn_reduction r)
{
    r.lo = larger(r.lo - rounding(h, r.lo), 0);
    r.hi += rounding(h, r.hi);
    const double old_lo = (double)h->length.lo_ns, old_hi = (double)h->length.hi_ns;
    struct gn_whatif_result result = {.reduction_lo_ns = r.lo, .reduction_hi_ns = r.hi};
    result.length.lo_ns = r.hi >= old_lo ? 0 : h->length.lo_ns - (int64_t)ceil(r.hi);
    result.length.hi_ns = r.lo >= old_hi ? 0 : h->length.hi_ns - (int64_t)floor(r.lo);
    set_speedup(&result, old_lo, old_hi);
    return result;
}

/* It may also be as long as it is in any order, and where what follows is the same whichever it is, it is no
 * shorter than in any. */
static void reorder(struct gn_whatif_result *result, const struct gn_history *h, const struct gn_whatif *what,
                    enum gn_whatif_order order)
{
    const struct gn_interval length = gn_whatif_any_order(h, what);
    const double lo = rounding(h, (double)length.lo_ns), hi = rounding(h, (double)length.hi_ns);
    const double least = larger(floor((double)length.lo_ns - lo), 0);
    if (order == GN_ORDER_CHANGES) {
        result->length.lo_ns = (int64_t)least;
        result->length.hi_ns = (int64_t)larger((double)result->length.hi_ns, ceil((double)length.hi_ns + hi));
        result->reduction_lo_ns =
            smaller(result->reduction_lo_ns, (double)(h->length.lo_ns - result->length.hi_ns));
    } else {
        result->length.lo_ns =
            (int64_t)larger((double)result->length.lo_ns, smaller(least, (double)h->length.lo_ns));
    }
    result->reduction_hi_ns =
        larger((double)(h->length.hi_ns - result->length.lo_ns), result->reduction_lo_ns);
    set_speedup(result, (double)h->length.lo_ns, (double)h->length.hi_ns);
}

/* Threads that go along with others, and compute something that is faster; and those that call MPI
 * themselves, which anything may make faster. */
static bool is_asked(const struct gn_whatif *what, const struct gn_call *call)
{
    return !what->at_location || what->at_location[call->location];
}

static bool makes_faster(const struct gn_history *h, const struct gn_whatif *what, const struct gn_call *call)
{
    bool any = false;
    for (uint32_t i = call->first_piece; i < call->first_piece + call->piece_count; i++)
        any |= gn_whatif_share(what, h, call, h->pieces[i].activity) > 0;
    return any;
}

static void find_faster(struct gn_whatif_pass *p, const struct gn_whatif *what)
{
    const struct gn_history *h = p->h;
    bool any = false;
    for (size_t l = 0; l < h->definitions->location_count; l++)
        p->is_faster[process_of(h, l)] = false;
    for (size_t c = 0; c < h->call_count; c++) {
        const struct gn_call *call = &h->calls[c];
        if (!is_asked(what, call) || !makes_faster(h, what, call))
            continue;
        any = true; /* anywhere: it may shorten what several threads of a process wait for */
        p->is_faster[process_of(h, call->location)] |= h->is_carried[call->location];
    }
    for (size_t l = 0; any && l < h->definitions->location_count; l++)
        p->is_faster[process_of(h, l)] |= p->callers[process_of(h, l)] > 1;
}

static bool make_room(struct gn_whatif_pass *p)
{
    const size_t locations = p->h->definitions->location_count;
    p->moved = p->moved ? p->moved : malloc((locations + 1) * sizeof *p->moved);
    struct gn_reduction *gives = malloc((p->h->call_count + 1) * sizeof *gives);
    p->gives = gives ? gives : p->gives;
    for (size_t l = 0; p->moved && l < locations; l++)
        p->moved[l] = (struct gn_reduction){0, 0};
    return gives && p->moved;
}

/* All steps, in their order. */
static void go_through(struct gn_whatif_pass *pass, const struct gn_whatif *what)
{
    const struct gn_history *h = pass->h;
    for (size_t l = 0; l < h->definitions->location_count; l++)
        pass->at[l] = (struct gn_reduction){0, 0};
    for (size_t l = 0; pass->forked && l < h->definitions->location_count; l++)
        pass->forked[l] = (struct gn_reduction){0, 0};
    pass->removed = 0;
    for (size_t g = 0; g < h->gathering_count; g++)
        pass->given[g] = NOTHING;
    for (size_t s = 0; s < h->step_count; s++) {
        const uint32_t number = h->steps[s] >> 1;
        if (h->steps[s] & 1)
            leave(pass, number);
        else
            enter(pass, number, what);
    }
}

struct gn_whatif_result gn_whatif(struct gn_whatif_pass *pass, const struct gn_whatif *what)
{
    const struct gn_history *h = pass->h;
    if (pass->forked)
        find_faster(pass, what);
    stay(pass);
    if ((what->ahead || what->sooner_ns) && !make_room(pass))
        return result_of(h, (struct gn_reduction){0, INFINITY});
    pass->most = 0;
    go_through(pass, what);
    if (h->untold > 0 && pass->removed > 0) {
        pass->most = pass->removed;
        go_through(pass, what);
    }
    /* who comes first has a lock first */
    const enum gn_whatif_order order =
        h->locks > 0 && pass->removed > 0 ? GN_ORDER_CHANGES : gn_whatif_order(h, pass->gives);
    struct gn_reduction end = meet_at_end(pass);
    if (order != GN_ORDER_STAYS)
        end.hi = larger(end.hi, pass->removed);
    struct gn_whatif_result result = result_of(h, end);
    if (order != GN_ORDER_STAYS)
        reorder(&result, h, what, order);
    result.may_reorder = order != GN_ORDER_STAYS;
    return result;
}
