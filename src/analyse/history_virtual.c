/*
 * Virtual time (Li & Zhang, 5.3.1 to 5.3.3): the run as if measuring it had cost nothing. Where their monitor
 * keeps a virtual clock in each process and sends it along with messages, here it is found afterwards, from
 * what calls took.
 *
 * One pass in causal order carries, for each location, by how much earlier it is than it was (r). Our own
 * work before a call goes. A call is left when its own part is done and all that it took has come:
 *
 *   left = max(entered + C, given + L, …)
 *
 * C: what it costs by itself, L: what it takes from giving to leave
 *
 * Of these the one that was last is known exactly, as it made the call end when it did. The others came
 * sooner; they would have been as long as that takes in the mean of the calls at this place that ended by
 * such a one, and no longer than they had. So with no work of ours every time stays as it was. How long the
 * run would have been at least, and at most, whatever these take, is what-if's (analyse/whatif.h).
 *
 * Libraries move messages while they are called: what a nonblocking send has begun is often on its way only
 * when its process calls again. Whoever waits for a message and gets it just after that has waited for that
 * call. So a message is given by the last call that its sender has entered when its receiver is left.
 */
#include "analyse/history_inside.h"
#include "analyse/whatif.h"

#include <math.h>
#include <stdlib.h>

/* What ended a call; or whether a send that may have waited for its receiver has (1 or 0 instead of ns). */
enum reason { BY_ITSELF, BY_TAKING, BY_RECEIVER };

/* How long that took; by place. */
struct sample {
    uint32_t region, path;
    enum reason reason;
    double ns;
};

/* Sorted. */
struct samples {
    struct sample *list;
    size_t count;
};

struct pass {
    const struct gn_history_make *m;
    struct gn_history *h;
    struct samples means, receivers; /* one for each place and reason */
    uint32_t *next;                  /* [call_count] the call behind it at its location; GN_NONE */
    double *now;                     /* [location_count] r */
    double *entered, *left;          /* [call_count] r */
    bool *is_entered;                /* [call_count] */
    double *given; /* [gathering_count] the latest that has been given, as if: −min(r − when) */
};

static double middle(struct gn_interval i)
{
    return (double)i.lo_ns / 2 + (double)i.hi_ns / 2;
}

static double when_entered(const struct gn_history *h, uint32_t call)
{
    return middle(h->calls[call].enter);
}

static double when_left(const struct gn_history *h, uint32_t call)
{
    return middle(h->calls[call].leave);
}

/* ---- who moved a message ---- */

enum { CALLS_ON = 64 };

/* Of a message that was waited for: the call that moved it; of anything else the one that gave it. */
static uint32_t giver_of(const struct pass *p, const struct gn_take *t)
{
    const struct gn_history *h = p->h;
    const double left = when_left(h, t->call);
    uint32_t giver = t->from;
    for (int i = 0; i < CALLS_ON && t->kind == GN_TAKE_MESSAGE; i++) {
        const uint32_t next = p->next[giver];
        if (next == GN_NONE || !(when_entered(h, next) <= left))
            break;
        giver = next;
    }
    return giver;
}

/* ---- samples ---- */

static int by_place(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    if (a->region != b->region)
        return a->region < b->region ? -1 : 1;
    if (a->path != b->path)
        return a->path < b->path ? -1 : 1;
    return (a->reason > b->reason) - (a->reason < b->reason);
}

static int by_place_and_length(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    const int order = by_place(left, right);
    return order ? order : (a->ns > b->ns) - (a->ns < b->ns);
}

/* Of each place and reason one is left, the mean of those that are not slow. */
static void reduce(struct samples *s)
{
    enum { SLOW = 4 /* times the median */ };
    const size_t count = s->count;
    size_t next;
    s->count = 0;
    if (count)
        qsort(s->list, count, sizeof *s->list, by_place_and_length);
    for (size_t i = 0; i < count; i = next) {
        for (next = i; next < count && by_place(&s->list[i], &s->list[next]) == 0;)
            next++;
        const double most_ns = SLOW * s->list[i + (next - i) / 2].ns;
        struct sample mean = s->list[i];
        double sum = 0, used = 0;
        for (size_t k = i; k < next && s->list[k].ns <= most_ns; k++) {
            sum += s->list[k].ns;
            used++;
        }
        mean.ns = used > 0 ? sum / used : 0;
        s->list[s->count++] = mean;
    }
}

/* 0: there is none. */
static double mean_of(const struct samples *s, const struct gn_call *call, enum reason reason)
{
    const struct sample wanted = {call->region, call->path, reason, 0};
    const struct sample *found = bsearch(&wanted, s->list, s->count, sizeof *s->list, by_place);
    return found ? found->ns : 0;
}

/* ---- which sends wait for their receivers ---- */

/* Of those from a place that began before their receive was posted: that they ended after it. */
static int find_receivers(struct pass *p)
{
    const struct gn_history *h = p->h;
    p->receivers.list = malloc((h->call_count + 1) * sizeof *p->receivers.list);
    if (!p->receivers.list)
        return -ENOMEM;
    for (uint32_t c = 0; c < h->call_count; c++) {
        const struct gn_call *call = &h->calls[c];
        const struct gn_take *take = &h->takes[call->first_take];
        if (call->take_count != 1 || take->kind != GN_TAKE_RECEIVER ||
            middle(take->given) <= when_entered(h, c))
            continue;
        const bool has_waited = middle(take->given) <= when_left(h, c);
        p->receivers.list[p->receivers.count++] =
            (struct sample){call->region, call->path, BY_RECEIVER, has_waited};
    }
    reduce(&p->receivers);
    return 0;
}

/* ---- how long things take ---- */

/* It is not known to have been waited for, or not of whom. */
static bool does_bind(const struct pass *p, const struct gn_take *t)
{
    static const double nearly_all = 0.9;
    const struct gn_history *h = p->h;
    switch (t->kind) {
    case GN_TAKE_MESSAGE:
        return true;
    case GN_TAKE_GATHERING: /* where MPI does not say that it synchronises, those that had not come were not
                               waited for */
        return !h->gatherings[t->from].is_vague || middle(t->given) <= when_left(h, t->call);
    case GN_TAKE_RECEIVER: /* where these always wait, this one has */
        return t->is_certain || (h->calls[t->call].take_count == 1 &&
                                 mean_of(&p->receivers, &h->calls[t->call], BY_RECEIVER) >= nearly_all);
    case GN_TAKE_BEGUN:
        return t->is_certain;
    }
    return false;
}

/* The latest that it took; GN_NONE: nothing came after it was entered. */
static uint32_t last_take(const struct pass *p, const struct gn_call *call)
{
    const struct gn_history *h = p->h;
    double last_ns = when_entered(h, call->waits_from);
    uint32_t last = GN_NONE;
    for (uint32_t t = call->first_take; t < call->first_take + call->take_count; t++)
        if (does_bind(p, &h->takes[t]) && middle(h->takes[t].given) > last_ns) {
            last = t;
            last_ns = middle(h->takes[t].given);
        }
    return last;
}

static double when_given(const struct pass *p, const struct gn_take *t)
{
    return t->kind == GN_TAKE_GATHERING ? middle(t->given) : when_entered(p->h, giver_of(p, t));
}

static int find_means(struct pass *p)
{
    const struct gn_history *h = p->h;
    p->means.list = malloc((h->call_count + 1) * sizeof *p->means.list);
    if (!p->means.list)
        return -ENOMEM;
    for (uint32_t c = 0; c < h->call_count; c++) {
        const struct gn_call *call = &h->calls[c];
        if (call->take_count == 0)
            continue;
        const uint32_t last = last_take(p, call);
        const double since = last == GN_NONE ? when_entered(h, c) : when_given(p, &h->takes[last]);
        p->means.list[p->means.count++] =
            (struct sample){call->region, call->path, last == GN_NONE ? BY_ITSELF : BY_TAKING,
                            fmax(0, when_left(h, c) - since)};
    }
    reduce(&p->means);
    return 0;
}

/* ---- the pass ---- */

static void enter(struct pass *p, uint32_t number)
{
    const struct gn_history *h = p->h;
    const struct gn_call *call = &h->calls[number];
    p->now[call->location] += (double)p->m->own_work_ns[number];
    p->entered[number] = p->now[call->location];
    p->is_entered[number] = true;
    for (uint32_t i = call->first_part; i < call->first_part + call->part_count; i++) {
        const struct gn_given_part *part = &h->parts[h->part_order[i]];
        if (part->gives && part->gathering != GN_NONE)
            p->given[part->gathering] =
                fmax(p->given[part->gathering], when_entered(h, number) - p->entered[number]);
    }
}

/* Of a prefix operation a member takes from those below it. */
static double given_below(const struct pass *p, const struct gn_take *t)
{
    const struct gn_history *h = p->h;
    double given = -INFINITY;
    for (uint32_t i = h->gatherings[t->from].first_part; i < t->member; i++)
        if (h->parts[i].gives)
            given = fmax(given, when_entered(h, h->parts[i].call) - p->entered[h->parts[i].call]);
    return given;
}

/* When it would have been given. */
static double given_at(const struct pass *p, const struct gn_take *t, uint32_t giver)
{
    const struct gn_history *h = p->h;
    if (t->kind != GN_TAKE_GATHERING)
        return when_entered(h, giver) - p->entered[giver];
    return h->gatherings[t->from].shape == GN_SHAPE_PREFIX ? given_below(p, t) : p->given[t->from];
}

/* When it would have come. is_last: the call was left for it. */
static double taken_at(const struct pass *p, const struct gn_call *call, uint32_t t, bool is_last)
{
    const struct gn_history *h = p->h;
    const struct gn_take *take = &h->takes[t];
    const double at = when_left(h, take->call);
    uint32_t giver = is_last ? giver_of(p, take) : take->from;
    while (take->kind != GN_TAKE_GATHERING && giver != take->from && !p->is_entered[giver])
        giver = h->calls[giver].before; /* it comes later in causal order */
    const double given = take->kind == GN_TAKE_GATHERING ? middle(take->given) : when_entered(h, giver);
    const bool is_known =
        is_last || (take->kind == GN_TAKE_GATHERING && given >= when_entered(h, call->waits_from));
    return given_at(p, take, giver) +
           (is_known ? at - given : fmin(mean_of(&p->means, call, BY_TAKING), at - given));
}

static void leave(struct pass *p, uint32_t number)
{
    const struct gn_history *h = p->h;
    const struct gn_call *call = &h->calls[number];
    const double at = when_left(h, number), since = when_entered(h, call->waits_from);
    const uint32_t last = last_take(p, call);
    double r = p->now[call->location];
    if (call->take_count > 0) {
        const double own_ns =
            last == GN_NONE ? at - since : fmin(mean_of(&p->means, call, BY_ITSELF), at - since);
        double left = since - p->entered[call->waits_from] + own_ns;
        for (uint32_t t = call->first_take; t < call->first_take + call->take_count; t++)
            if (does_bind(p, &h->takes[t]))
                left = fmax(left, taken_at(p, call, t, t == last));
        r = fmax(at - left, 0);
    }
    /* calls that found nothing have not been made for longer than until then; of a row of them its end says
     * so */
    const uint32_t next = p->next[number];
    const bool goes_on = next != GN_NONE && h->calls[next].waits_from == call->waits_from;
    for (uint32_t c = number; c != call->waits_from && !goes_on;) {
        c = h->calls[c].before;
        p->left[c] = fmax(p->left[c], when_left(h, c) - (at - r));
        if (c != call->waits_from)
            p->entered[c] = fmax(p->entered[c], when_entered(h, c) - (at - r));
    }
    if (number != call->waits_from && !goes_on)
        p->entered[number] = fmax(p->entered[number], when_entered(h, number) - (at - r));
    p->left[number] = p->now[call->location] = r;
}

/* ---- the new times ---- */

static struct gn_interval earlier(struct gn_interval at, double ns)
{
    const int64_t whole = llround(ns);
    return (struct gn_interval){at.lo_ns - whole, at.hi_ns - whole};
}

static uint64_t earlier_ticks(const struct pass *p, uint32_t location, uint64_t ticks, double ns)
{
    const double rate = (p->m->rate_lo[location] + p->m->rate_hi[location]) / 2;
    const uint64_t less = (uint64_t)llround(fmax(ns, 0) / rate);
    return ticks > less ? ticks - less : 0;
}

static void shrink_pieces(struct gn_history *h, const struct gn_call *call, double gone_ns)
{
    double all_ns = 0;
    for (uint32_t i = call->first_piece; i < call->first_piece + call->piece_count; i++)
        all_ns += (h->pieces[i].lo_ns + h->pieces[i].hi_ns) / 2;
    const double stays = all_ns > 0 ? fmax(0, 1 - gone_ns / all_ns) : 0;
    for (uint32_t i = call->first_piece; i < call->first_piece + call->piece_count; i++) {
        h->pieces[i].lo_ns *= stays;
        h->pieces[i].hi_ns *= stays;
    }
}

/* In the order of each location: none is entered before the one before it has been left. */
static void move(struct pass *p)
{
    struct gn_history *h = p->h;
    for (uint32_t c = 0; c < h->call_count; c++) {
        struct gn_call *call = &h->calls[c];
        const struct gn_call *before = call->before == GN_NONE ? NULL : &h->calls[call->before];
        const double was_left = before ? p->left[call->before] : 0;
        shrink_pieces(h, call, p->entered[c] - was_left);
        h->gone_ns[c] = (float)(p->left[c] - p->entered[c]);
        call->enter = earlier(call->enter, p->entered[c]);
        call->leave = earlier(call->leave, p->left[c]);
        call->enter_ticks = earlier_ticks(p, call->location, call->enter_ticks, p->entered[c]);
        call->leave_ticks = earlier_ticks(p, call->location, call->leave_ticks, p->left[c]);
        if (before && call->enter_ticks < before->leave_ticks)
            call->enter_ticks = before->leave_ticks;
        if (call->leave_ticks < call->enter_ticks)
            call->leave_ticks = call->enter_ticks;
        if (before && call->enter.lo_ns < before->leave.lo_ns)
            call->enter = before->leave;
        if (call->leave.lo_ns < call->enter.lo_ns)
            call->leave = call->enter;
    }
}

static bool open_pass(struct pass *p)
{
    struct gn_history *h = p->h;
    p->now = calloc(h->definitions->location_count + 1, sizeof *p->now);
    p->entered = calloc(h->call_count + 1, sizeof *p->entered);
    p->left = calloc(h->call_count + 1, sizeof *p->left);
    p->is_entered = calloc(h->call_count + 1, sizeof *p->is_entered);
    p->next = malloc((h->call_count + 1) * sizeof *p->next);
    p->given = malloc((h->gathering_count + 1) * sizeof *p->given);
    h->gone_ns = calloc(h->call_count + 1, sizeof *h->gone_ns);
    for (size_t g = 0; p->given && g < h->gathering_count; g++)
        p->given[g] = -INFINITY;
    for (size_t c = 0; p->next && c < h->call_count; c++)
        p->next[c] = GN_NONE;
    for (uint32_t c = 0; p->next && c < h->call_count; c++)
        if (h->calls[c].before != GN_NONE)
            p->next[h->calls[c].before] = c;
    return p->now && p->is_entered && p->next && p->entered && p->left && p->given && h->gone_ns;
}

/* Their length, at least and at most. */
static int bound_length(struct gn_history_make *m)
{
    struct gn_history *h = m->h;
    float *share = malloc((h->call_count + 1) * sizeof *share);
    struct gn_whatif_pass *pass = gn_whatif_pass_new(h);
    const bool has_memory = share && pass;
    for (uint32_t c = 0; c < h->call_count && has_memory; c++) {
        const double all_ns = gn_computed_before(h, &h->calls[c]);
        share[c] = all_ns > 0 ? (float)fmin(1, (double)m->own_work_ns[c] / all_ns) : 0;
    }
    if (has_memory)
        h->unmeasured = gn_whatif(pass, &(struct gn_whatif){.before = share}).length;
    gn_whatif_pass_free(pass);
    free(share);
    return has_memory ? 0 : -ENOMEM;
}

int gn_history_virtual(struct gn_history_make *m)
{
    struct pass p = {.m = m, .h = m->h};
    int code = bound_length(m);
    if (code == 0)
        code = open_pass(&p) ? find_receivers(&p) : -ENOMEM;
    code = code ? code : find_means(&p);
    for (size_t i = 0; i < m->h->step_count && code == 0; i++) {
        const uint32_t number = m->h->steps[i] >> 1;
        if (m->h->steps[i] & 1)
            leave(&p, number);
        else
            enter(&p, number);
    }
    if (code == 0)
        move(&p);
    for (size_t i = 0; i < m->polled_count && code == 0; i++)
        m->h->gone_ns[m->polled[i].call] -= (float)m->polled[i].between_ns;
    m->h->earlier_ns = p.now;
    free(p.means.list);
    free(p.receivers.list);
    free(p.entered);
    free(p.left);
    free(p.given);
    free(p.is_entered);
    free(p.next);
    return code;
}
