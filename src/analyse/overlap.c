#include "analyse/overlap.h"

#include "analyse/givers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { LONGEST_WALK = 64 /* calls of a partner that are looked at */ };
static const double short_ns = 20e3; /* a call that takes less moves no large message */

struct look {
    struct gn_overlap *found;
    const struct gn_history *h;
    struct gn_givers givers;
    struct gn_walk walk;
    size_t part;
};

/* How long the partner computes after the call's enter, before it calls MPI again; {0, 0}: it does not. It
 * may still be in the end of a call then. */
static struct gn_span silence(const struct look *l, uint32_t c, uint32_t from)
{
    static const struct gn_span none = {0, 0};
    static const double small_part = 0.1;
    uint32_t at = from, after = l->walk.next[from];
    for (int i = 0; i < LONGEST_WALK && after != GN_NONE && gn_enter_to_enter(l->h, c, after).hi_ns <= 0;
         i++) {
        at = after;
        after = l->walk.next[at];
    }
    if (after == GN_NONE || gn_enter_to_enter(l->h, c, at).lo_ns > 0) /* it begins its side later */
        return none;
    const struct gn_span later = gn_enter_to_enter(l->h, c, after);
    const double silent_ns = gn_computed_before(l->h, &l->h->calls[after]);
    if (later.lo_ns - silent_ns > fmax(short_ns, small_part * silent_ns))
        return none; /* there is time for it to move */
    return (struct gn_span){fmax(0, fmin(later.lo_ns, silent_ns)), fmin(later.hi_ns, silent_ns)};
}

/* Its partner in what it takes was silent for most of it, and it was left soon after that. *partner: process.
 */
static struct gn_span stall_of(const struct look *l, uint32_t c, double length_ns, uint32_t *partner)
{
    const struct gn_call *call = &l->h->calls[c];
    struct gn_span stall = {0, 0};
    for (uint32_t i = call->first_take; i < call->first_take + call->take_count; i++) {
        const struct gn_take *t = &l->h->takes[i];
        if ((t->kind != GN_TAKE_MESSAGE && t->kind != GN_TAKE_RECEIVER) ||
            l->h->calls[t->from].location == call->location)
            continue;
        const struct gn_span silent = silence(l, c, t->from);
        if (silent.lo_ns > stall.lo_ns && silent.lo_ns <= length_ns && silent.lo_ns >= length_ns / 2) {
            stall = (struct gn_span){silent.lo_ns, fmin(length_ns, silent.hi_ns)};
            *partner = l->h->definitions->locations[l->h->calls[t->from].location].process;
        }
    }
    return stall;
}

/* The call that began what is completed with the take, where that is another one; GN_NONE. */
static uint32_t beginner_of(const struct gn_history *h, const struct gn_take *t)
{
    if (t->kind == GN_TAKE_BEGUN)
        return t->from;
    if (t->kind == GN_TAKE_GATHERING && t->member != GN_NONE && h->parts[t->member].call != t->call)
        return h->parts[t->member].call; /* a nonblocking collective */
    return GN_NONE;
}

/* By which its location began what it completes, the first of them; GN_NONE: in itself. */
static uint32_t begun_by(const struct gn_history *h, const struct gn_call *call)
{
    uint32_t first = GN_NONE;
    for (uint32_t i = call->first_take; i < call->first_take + call->take_count; i++)
        if (beginner_of(h, &h->takes[i]) < first)
            first = beginner_of(h, &h->takes[i]);
    return first;
}

static bool takes_large(const struct gn_history *h, const struct gn_call *call)
{
    for (uint32_t i = call->first_take; i < call->first_take + call->take_count; i++)
        if (beginner_of(h, &h->takes[i]) != GN_NONE || h->takes[i].kind == GN_TAKE_RECEIVER)
            return true;
    return false;
}

static int look_at(struct look *l, uint32_t c)
{
    const struct gn_call *call = &l->h->calls[c];
    const double length_ns = gn_call_length(l->h, c).lo_ns;
    uint32_t partner = GN_NONE;
    struct gn_span waited;
    if (!takes_large(l->h, call) || (call->flags & (GN_CALL_POLL | GN_CALL_UNSURE)) || length_ns < short_ns)
        return 0;
    const struct gn_span stall = stall_of(l, c, length_ns, &partner);
    const uint32_t begun = begun_by(l->h, call);
    if (partner != GN_NONE) {
        gn_site_tally_add(&l->found->stalled, l->part, call, partner, stall);
        return 0;
    }
    if (begun == GN_NONE)
        return 0;
    const int code = gn_givers_of(&l->givers, c, &waited);
    const double moved_ns =
        code < 0 ? 0 : fmin(fmax(0, length_ns - waited.lo_ns), gn_walk_computed(&l->walk, begun, c));
    gn_site_tally_add(&l->found->moved, l->part, call, GN_NONE, (struct gn_span){0, moved_ns});
    return code;
}

static int look_at_part(struct look *l)
{
    int code = gn_walk_open(&l->walk, l->h);
    code = code == 0 ? gn_givers_open(&l->givers, l->h) : code;
    for (uint32_t c = 0; c < l->h->call_count && code == 0; c++)
        code = look_at(l, c);
    gn_walk_close(&l->walk);
    gn_givers_close(&l->givers);
    return code;
}

int gn_overlap_find(struct gn_overlap *overlap, const struct gn_seen *seen, struct gn_error *err)
{
    struct look l = {.found = overlap};
    *overlap = (struct gn_overlap){.stalled = {.seen = NULL}};
    int code = gn_site_tally_open(&overlap->stalled, seen);
    code = code == 0 ? gn_site_tally_open(&overlap->moved, seen) : code;
    for (l.part = 0; l.part < seen->count && code == 0; l.part++) {
        l.h = &seen->parts[l.part].history;
        l.givers = (struct gn_givers){.history = l.h};
        code = look_at_part(&l);
    }
    if (code == 0)
        return 0;
    gn_overlap_clear(overlap);
    return gn_fail(err, -ENOMEM, "no memory for what messages could have overlapped");
}

void gn_overlap_clear(struct gn_overlap *overlap)
{
    gn_site_tally_clear(&overlap->stalled);
    gn_site_tally_clear(&overlap->moved);
}
