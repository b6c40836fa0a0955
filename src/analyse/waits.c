#include "analyse/waits.h"

#include "analyse/lateness.h"
#include "analyse/ordinals.h"
#include "base/grow.h"
#include "base/lookup.h"
#include "base/mix.h"
#include "calls.h"
#include "event/activity.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* A cause's part in a call's wait. */
struct share {
    uint32_t cause;
    struct gn_span part;
};

/* Of a call's wait; calls in which nobody waited have none. */
struct shares {
    size_t first;
    uint32_t count;
};

/* Of a wait that more may have caused, shares are not passed on: nothing in them is certain. */
enum { PASSED_ON = 32 };

struct finder {
    const struct gn_history *h;
    struct gn_waits *out;
    const struct gn_kept_window *counted; /* NULL: all */
    struct gn_givers givers;
    struct gn_span *waited; /* [call_count] */
    struct shares *of_call; /* [call_count] */
    struct share *shares;
    bool *is_counted; /* [gathering_count] in `times` of its cause */
    struct gn_ordinals ordinals;
    size_t share_count, share_capacity, cause_capacity;
    struct gn_lookup causes;
    double begin_ns, slice_ns;
};

static double within(double value, double lo, double hi)
{
    return fmin(fmax(value, lo), hi);
}

static bool counts(const struct finder *f, uint32_t call)
{
    const uint64_t ticks = f->h->calls[call].leave_ticks;
    /* what took something from outside of the window is left out, and so is its length (analyse/seen.h) */
    return !f->counted || (!(f->h->calls[call].flags & GN_CALL_UNSURE) && ticks >= f->counted->begin_ticks &&
                           ticks <= f->counted->end_ticks);
}

/* ---- causes ---- */

struct asked {
    const struct gn_cause *causes;
    struct gn_cause cause;
};

static bool is_same(const void *context, uint32_t index)
{
    const struct asked *asked = context;
    const struct gn_cause *a = &asked->cause, *b = &asked->causes[index];
    return a->location == b->location && a->activity == b->activity && a->inside_region == b->inside_region &&
           a->inside_path == b->inside_path && a->call_region == b->call_region &&
           a->call_path == b->call_path;
}

/* GN_NONE: no memory. */
static uint32_t cause_of(struct finder *f, uint32_t waiter, uint32_t giver, const struct gn_lateness *late)
{
    const struct gn_call *c = &f->h->calls[waiter];
    const uint32_t location = f->h->calls[giver].location;
    const struct asked asked = {f->out->causes,
                                {.location = location,
                                 .activity = late->activity,
                                 .inside_region = late->inside_region,
                                 .inside_path = late->inside_path,
                                 .call_region = c->region,
                                 .call_path = c->path}};
    const uint64_t hash = gn_mix_at(gn_mix_at(location, c->path, late->activity), late->inside_path,
                                    (uint64_t)late->inside_region << 32 | c->region);
    const int64_t known = gn_lookup_find(&f->causes, hash, is_same, &asked);
    if (known != GN_LOOKUP_NOTHING)
        return (uint32_t)known;
    if (!gn_grow(&f->out->causes, &f->cause_capacity, f->out->cause_count, sizeof *f->out->causes) ||
        !gn_lookup_add(&f->causes, hash, (uint32_t)f->out->cause_count))
        return GN_NONE;
    f->out->causes[f->out->cause_count] = asked.cause;
    return (uint32_t)f->out->cause_count++;
}

/* ---- shares ---- */

/* Shares of the call that is looked at, which come last. */
static int add_share(struct finder *f, uint32_t call, uint32_t cause, struct gn_span part)
{
    struct shares *list = &f->of_call[call];
    if (cause == GN_NONE)
        return -ENOMEM;
    if (part.hi_ns <= 0)
        return 0;
    for (size_t i = list->first; i < list->first + list->count; i++)
        if (f->shares[i].cause == cause) {
            f->shares[i].part.lo_ns += part.lo_ns;
            f->shares[i].part.hi_ns += part.hi_ns;
            return 0;
        }
    if (!gn_grow(&f->shares, &f->share_capacity, f->share_count, sizeof *f->shares))
        return -ENOMEM;
    f->shares[f->share_count++] = (struct share){cause, part};
    list->count++;
    return 0;
}

/* What one of several is of their sum, whatever they are within their bounds. */
static struct gn_span ratio_of(struct gn_span one, struct gn_span all)
{
    const double lo_all = one.lo_ns + fmax(all.hi_ns - one.hi_ns, 0),
                 hi_all = one.hi_ns + fmax(all.lo_ns - one.lo_ns, 0);
    return (struct gn_span){lo_all > 0 ? one.lo_ns / lo_all : 0, hi_all > 0 ? one.hi_ns / hi_all : 0};
}

/* Passes a part of a wait on to the causes of an earlier one. What would come back to the location that waits
 * is added to *own. */
static int pass_on(struct finder *f, uint32_t waiter, const struct shares *from, struct gn_span part,
                   struct gn_span *own)
{
    struct gn_span all = {0, 0};
    int code = 0;
    for (size_t i = from->first; i < from->first + from->count; i++) {
        all.lo_ns += f->shares[i].part.lo_ns;
        all.hi_ns += f->shares[i].part.hi_ns;
    }
    for (size_t i = from->first; i < from->first + from->count && code == 0; i++) {
        const struct share share = f->shares[i];
        const struct gn_span ratio = ratio_of(share.part, all);
        const struct gn_span passed = {part.lo_ns * ratio.lo_ns, part.hi_ns * ratio.hi_ns};
        if (f->out->causes[share.cause].location != f->h->calls[waiter].location) {
            code = add_share(f, waiter, share.cause, passed);
        } else {
            own->lo_ns += passed.lo_ns;
            own->hi_ns += passed.hi_ns;
        }
    }
    return code;
}

static void count_time(struct finder *f, uint32_t cause, uint32_t waiter, uint32_t gathering)
{
    struct gn_cause *c = &f->out->causes[cause];
    const uint64_t ordinal = f->ordinals.of_call[waiter];
    if (gathering != GN_NONE && f->is_counted[gathering])
        return;
    if (gathering != GN_NONE)
        f->is_counted[gathering] = true;
    /* they come in causal order: one that others have been in already is not larger than theirs */
    c->steps += c->times == 0 || ordinal > c->last;
    c->first = c->times == 0 || ordinal < c->first ? ordinal : c->first;
    c->last = c->times == 0 || ordinal > c->last ? ordinal : c->last;
    c->times++;
}

/* One gave last for certain: what of it is its own, and what it waited for. */
static int blame_one(struct finder *f, uint32_t waiter, const struct gn_giver *giver)
{
    const struct gn_span all = f->waited[waiter];
    struct gn_lateness late;
    gn_lateness_of(&late, f->h, f->waited, waiter, giver->call);
    const double net_lo = late.is_cut ? 0 : fmax(late.of_giver.lo_ns - late.of_waiter.hi_ns, 0),
                 net_hi = late.is_cut ? all.hi_ns : fmax(late.of_giver.hi_ns - late.of_waiter.lo_ns, 0);
    const struct gn_span passed = {fmin(net_lo, all.lo_ns), fmin(net_hi, all.hi_ns)};
    struct gn_span own = {within(all.lo_ns - net_hi, 0, all.lo_ns), within(all.hi_ns - net_lo, 0, all.hi_ns)};
    const uint32_t cause = cause_of(f, waiter, giver->call, &late);
    int code = cause == GN_NONE ? -ENOMEM : 0;
    for (size_t i = 0; i < late.wait_count && code == 0; i++) {
        const struct gn_span ratio = ratio_of(late.waits[i].waited, late.of_giver);
        const struct gn_span part = {passed.lo_ns * ratio.lo_ns, passed.hi_ns * ratio.hi_ns};
        code = pass_on(f, waiter, &f->of_call[late.waits[i].call], part, &own);
    }
    if (code < 0)
        return code;
    own.hi_ns = fmin(own.hi_ns, all.hi_ns);
    own.lo_ns = fmin(own.lo_ns, own.hi_ns);
    if (own.lo_ns > 0 && counts(f, waiter))
        count_time(f, cause, waiter, giver->gathering);
    return add_share(f, waiter, cause, own);
}

/* Several may have: for each of them all of the wait is possible, and none of it certain. */
static int blame_each(struct finder *f, uint32_t waiter)
{
    const double most_ns = f->waited[waiter].hi_ns;
    int code = 0;
    for (size_t i = 0; i < f->givers.count && code == 0; i++) {
        const struct gn_giver *giver = &f->givers.list[i];
        struct gn_lateness late;
        if (f->givers.count > PASSED_ON)
            gn_lateness_work(&late, f->h, giver->call);
        else
            gn_lateness_of(&late, f->h, f->waited, waiter, giver->call);
        code = add_share(f, waiter, cause_of(f, waiter, giver->call, &late),
                         (struct gn_span){0, fmin(giver->later.hi_ns, most_ns)});
    }
    return code;
}

/* ---- sums ---- */

/* Spreads certain ns over the slices of the run in which the waiting was. */
static void add_slices(struct finder *f, uint32_t location, uint32_t waiter, double ns)
{
    const struct gn_interval enter = f->h->calls[waiter].enter;
    const double from_ns = (double)enter.lo_ns / 2 + (double)enter.hi_ns / 2 - f->begin_ns,
                 length_ns = f->waited[waiter].lo_ns;
    double *slices = &f->out->slices[(size_t)location * GN_WAITS_SLICES];
    if (f->slice_ns <= 0 || length_ns <= 0)
        return;
    const double first = within(floor(from_ns / f->slice_ns), 0, GN_WAITS_SLICES - 1),
                 last = within(floor((from_ns + length_ns) / f->slice_ns), first, GN_WAITS_SLICES - 1);
    for (int i = (int)first; i <= (int)last; i++) {
        const double lo = i == (int)first ? from_ns : i * f->slice_ns,
                     hi = i == (int)last ? from_ns + length_ns : (i + 1) * f->slice_ns;
        slices[i] += ns * within((hi - lo) / length_ns, 0, 1);
    }
}

static void add_up(struct finder *f, uint32_t waiter)
{
    const struct shares *list = &f->of_call[waiter];
    struct gn_waits *out = f->out;
    const uint32_t gathering = f->givers.count > 0 ? f->givers.list[0].gathering : GN_NONE;
    const double waiters =
        gathering == GN_NONE ? 1 : fmax(1, (double)f->h->gatherings[gathering].part_count - 1);
    out->waited[f->h->calls[waiter].location].lo_ns += f->waited[waiter].lo_ns;
    out->waited[f->h->calls[waiter].location].hi_ns += f->waited[waiter].hi_ns;
    for (size_t i = list->first; i < list->first + list->count; i++) {
        struct gn_cause *cause = &out->causes[f->shares[i].cause];
        const struct gn_span part = f->shares[i].part;
        cause->caused.lo_ns += part.lo_ns;
        cause->caused.hi_ns += part.hi_ns;
        /* all that wait in an instance of a collective do so at once: as many as there are besides the last
         */
        cause->squares += (part.lo_ns + part.hi_ns) * (part.lo_ns + part.hi_ns) / 4 * waiters;
        out->caused[cause->location].lo_ns += part.lo_ns;
        out->caused[cause->location].hi_ns += part.hi_ns;
        if (part.lo_ns > 0)
            add_slices(f, cause->location, waiter, part.lo_ns);
    }
}

/* ---- all ---- */

static int look_at(struct finder *f, uint32_t call)
{
    f->of_call[call].first = f->share_count;
    int code = gn_givers_of(&f->givers, call, &f->waited[call]);
    if (code < 0 || f->waited[call].hi_ns <= 0)
        return code;
    const bool is_certain = f->givers.count == 1 && f->givers.list[0].is_sure;
    if (counts(f, call)) {
        *(is_certain && f->waited[call].lo_ns > 0 ? &f->out->last_certain : &f->out->last_possible) += 1;
        if (f->givers.count > 0 && gn_wait_edges_add(&f->out->edges, &f->givers, call, f->waited[call]) != 0)
            return -ENOMEM;
    }
    code = is_certain ? blame_one(f, call, &f->givers.list[0]) : blame_each(f, call);
    if (code < 0)
        return code;
    if (counts(f, call))
        add_up(f, call);
    if (f->of_call[call].count > PASSED_ON) {
        f->share_count = f->of_call[call].first;
        f->of_call[call].count = 0;
    }
    return 0;
}

static int compare_causes(const void *left, const void *right)
{
    const struct gn_cause *a = left, *b = right;
    if (a->caused.lo_ns != b->caused.lo_ns)
        return a->caused.lo_ns < b->caused.lo_ns ? 1 : -1;
    if (a->caused.hi_ns != b->caused.hi_ns)
        return a->caused.hi_ns < b->caused.hi_ns ? 1 : -1;
    if (a->location != b->location)
        return a->location < b->location ? -1 : 1;
    if (a->call_path != b->call_path)
        return a->call_path < b->call_path ? -1 : 1;
    if (a->call_region != b->call_region)
        return a->call_region < b->call_region ? -1 : 1;
    if (a->activity != b->activity)
        return a->activity < b->activity ? -1 : 1;
    if (a->inside_path != b->inside_path)
        return a->inside_path < b->inside_path ? -1 : 1;
    return a->inside_region < b->inside_region ? -1 : a->inside_region > b->inside_region;
}

static int find(struct finder *f)
{
    const struct gn_history *h = f->h;
    int code = 0;
    for (size_t i = 0; i < h->step_count && code == 0; i++) {
        const uint32_t call = h->steps[i] >> 1;
        if (h->steps[i] & 1 && (h->calls[call].take_count || h->calls[call].flags & GN_CALL_UNTOLD))
            code = look_at(f, call);
    }
    for (size_t i = 0; i < f->out->cause_count; i++)
        f->out->causes[i].of =
            gn_ordinals_most(&f->ordinals, f->out->causes[i].call_region, f->out->causes[i].call_path);
    gn_wait_edges_sort(&f->out->edges);
    if (code == 0 && f->out->cause_count)
        qsort(f->out->causes, f->out->cause_count, sizeof *f->out->causes, compare_causes);
    return code;
}

static bool starts_or_ends_mpi(const struct gn_history *h, uint32_t call)
{
    return gn_activity_starts_or_ends(gn_region_activity(h->definitions, h->calls[call].region));
}

/* What is left of a location's time. */
static void find_busy(struct finder *f)
{
    const struct gn_history *h = f->h;
    for (uint32_t l = 0; l < h->definitions->location_count; l++) {
        if (h->first_call[l] == GN_NONE)
            continue;
        const struct gn_span stay = gn_enter_to_enter(h, h->first_call[l], h->last_call[l]);
        f->out->busy[l] = (struct gn_blame){stay.lo_ns, stay.hi_ns};
    }
    for (uint32_t c = 0; c < h->call_count; c++) {
        struct gn_blame *busy = &f->out->busy[h->calls[c].location];
        const struct gn_span gone = starts_or_ends_mpi(h, c) ? gn_call_length(h, c) : f->waited[c];
        busy->lo_ns = fmax(busy->lo_ns - gone.hi_ns, 0);
        busy->hi_ns = fmax(busy->hi_ns - gone.lo_ns, 0);
        for (uint32_t p = h->calls[c].first_piece; p < h->calls[c].first_piece + h->calls[c].piece_count; p++)
            if (h->pieces[p].kind == GN_PIECE_JOIN)
                f->out->joined[h->calls[c].location] += (h->pieces[p].lo_ns + h->pieces[p].hi_ns) / 2;
    }
}

static int open_finder(struct finder *f)
{
    const struct gn_history *h = f->h;
    const size_t locations = h->definitions->location_count + 1;
    f->waited = calloc(h->call_count + 1, sizeof *f->waited);
    f->of_call = calloc(h->call_count + 1, sizeof *f->of_call);
    f->is_counted = calloc(h->gathering_count + 1, sizeof *f->is_counted);
    f->out->caused = calloc(locations, sizeof *f->out->caused);
    f->out->waited = calloc(locations, sizeof *f->out->waited);
    f->out->busy = calloc(locations, sizeof *f->out->busy);
    f->out->joined = calloc(locations, sizeof *f->out->joined);
    f->out->slices = calloc(locations * GN_WAITS_SLICES, sizeof *f->out->slices);
    f->begin_ns = (double)h->first.lo_ns;
    f->slice_ns = ((double)h->last.hi_ns - f->begin_ns) / GN_WAITS_SLICES;
    if (!f->waited || !f->of_call || !f->is_counted || !f->out->caused || !f->out->waited || !f->out->busy ||
        !f->out->joined || !f->out->slices || gn_ordinals_find(&f->ordinals, h) != 0)
        return -ENOMEM;
    return gn_givers_open(&f->givers, h);
}

static void close_finder(struct finder *f)
{
    gn_givers_close(&f->givers);
    gn_lookup_clear(&f->causes);
    gn_ordinals_clear(&f->ordinals);
    free(f->waited);
    free(f->of_call);
    free(f->is_counted);
    free(f->shares);
}

int gn_waits_find(struct gn_waits *waits, const struct gn_history *history,
                  const struct gn_kept_window *counted, struct gn_error *err)
{
    *waits = (struct gn_waits){.caused = NULL};
    struct finder f = {.h = history, .out = waits, .counted = counted};
    int code = open_finder(&f);
    if (code == 0)
        code = find(&f);
    if (code == 0)
        find_busy(&f);
    close_finder(&f);
    if (code == 0)
        return 0;
    gn_waits_clear(waits);
    return gn_fail(err, code, "no memory for what %zu calls waited for", history->call_count);
}

void gn_waits_drop_slices(struct gn_waits *waits)
{
    free(waits->slices);
    waits->slices = NULL;
}

void gn_waits_clear(struct gn_waits *waits)
{
    free(waits->caused);
    free(waits->waited);
    free(waits->busy);
    free(waits->joined);
    free(waits->causes);
    gn_wait_edges_clear(&waits->edges);
    free(waits->slices);
    *waits = (struct gn_waits){.caused = NULL};
}
