#include "analyse/exec_paths.h"

#include "base/grow.h"
#include "base/lookup.h"
#include "base/mix.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 0x80000000u /* in a key: the next so many are a block */

enum { STEPS_MOST = 100000 /* of one pass */, FEWEST = 3, SEVERAL = 8 /* calls of a place in a pass */ };

/* A call with whom it had to do: what of it makes two paths differ. */
struct element {
    uint32_t region, path, first_peer, peer_count;
};

struct finder {
    const struct gn_history *h;
    const struct gn_exec_settings *settings;
    struct gn_exec_paths *out;
    struct gn_givers givers;
    uint32_t *sent_first, *sent_next; /* by call: its messages, by take; GN_NONE: no more */
    struct element *elements;
    size_t element_count, element_capacity, peer_capacity;
    struct gn_lookup element_index, path_index;
    uint32_t *keys; /* of all paths */
    size_t key_count, key_capacity, step_capacity, path_capacity, sender_capacity;
    struct kept {
        uint32_t first, count; /* of its key */
        uint32_t last_process;
    } * kept; /* [path_count] */
    size_t kept_capacity;
    /* of the location at hand */
    uint32_t *calls; /* in order, polls with what ends them */
    size_t call_count, call_capacity;
    uint32_t *ids; /* elements of these */
    size_t id_capacity;
    /* of the pass at hand */
    uint32_t *key;
    uint32_t *step_of; /* of each of its calls */
    size_t step_room, key_room;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return gn_mix_at(hash, 0, value);
}

/* ---- elements ---- */

/* Messages by the call that sent them. */
static int find_sent(struct finder *f)
{
    const struct gn_history *h = f->h;
    f->sent_first = malloc((h->call_count + 1) * sizeof *f->sent_first);
    f->sent_next = malloc((h->take_count + 1) * sizeof *f->sent_next);
    if (!f->sent_first || !f->sent_next)
        return -ENOMEM;
    memset(f->sent_first, 0xff, (h->call_count + 1) * sizeof *f->sent_first);
    for (size_t i = h->take_count; i-- > 0;) {
        const struct gn_take *take = &h->takes[i];
        if (take->kind != GN_TAKE_MESSAGE || take->from >= h->call_count)
            continue;
        f->sent_next[i] = f->sent_first[take->from];
        f->sent_first[take->from] = (uint32_t)i;
    }
    return 0;
}

static uint32_t process_of(const struct gn_history *h, uint32_t call)
{
    return h->definitions->locations[h->calls[call].location].process;
}

/* The shorter way round. */
static int32_t partner(const struct finder *f, uint32_t own, uint32_t other)
{
    const struct gn_definitions *d = f->h->definitions;
    const int64_t a = d->processes[own].rank, b = d->processes[other].rank, count = (int64_t)d->process_count;
    if (f->settings->is_absolute || a < 0 || b < 0)
        return (int32_t)b;
    const int64_t up = ((b - a) % count + count) % count;
    return (int32_t)(up > count / 2 ? up - count : up);
}

static bool add_peer(struct finder *f, int32_t rank, bool takes)
{
    if (!gn_grow(&f->out->peers, &f->peer_capacity, f->out->peer_count, sizeof *f->out->peers))
        return false;
    f->out->peers[f->out->peer_count++] = (struct gn_exec_peer){rank, takes};
    return true;
}

struct wanted {
    const struct finder *f;
    const struct element *e;
};

static bool same_element(const void *context, uint32_t value)
{
    const struct wanted *w = context;
    const struct element *a = w->e, *b = &w->f->elements[value];
    const struct gn_exec_peer *peers = w->f->out->peers;
    bool same = a->region == b->region && a->path == b->path && a->peer_count == b->peer_count;
    for (uint32_t i = 0; i < a->peer_count && same; i++)
        same = peers[a->first_peer + i].rank == peers[b->first_peer + i].rank &&
               peers[a->first_peer + i].takes == peers[b->first_peer + i].takes;
    return same;
}

/* In the order in which they come and go: that is a part of the path (Sikora 2016, 3.2.1). */
static bool add_peers(struct finder *f, uint32_t c)
{
    const struct gn_history *h = f->h;
    const struct gn_call *call = &h->calls[c];
    const uint32_t own = process_of(h, c);
    bool done = true;
    for (uint32_t i = call->first_take; i < call->first_take + call->take_count && done; i++)
        if (h->takes[i].kind == GN_TAKE_MESSAGE)
            done = add_peer(f, partner(f, own, process_of(h, h->takes[i].from)), true);
    for (uint32_t t = f->sent_first[c]; t != GN_NONE && done; t = f->sent_next[t])
        done = add_peer(f, partner(f, own, process_of(h, h->takes[t].call)), false);
    return done;
}

/* GN_NONE: no memory. */
static uint32_t element_of(struct finder *f, uint32_t c)
{
    const struct gn_call *call = &f->h->calls[c];
    struct element e = {call->region, call->path, (uint32_t)f->out->peer_count, 0};
    if (!add_peers(f, c))
        return GN_NONE;
    e.peer_count = (uint32_t)f->out->peer_count - e.first_peer;
    uint64_t hash = mix(mix(7, e.region), e.path);
    for (uint32_t i = 0; i < e.peer_count; i++)
        hash = mix(hash, (uint64_t)(uint32_t)f->out->peers[e.first_peer + i].rank << 1 |
                             f->out->peers[e.first_peer + i].takes);
    const struct wanted wanted = {f, &e};
    const int64_t known = gn_lookup_find(&f->element_index, hash, same_element, &wanted);
    if (known != GN_LOOKUP_NOTHING) {
        f->out->peer_count = e.first_peer;
        return (uint32_t)known;
    }
    if (!gn_grow(&f->elements, &f->element_capacity, f->element_count, sizeof *f->elements))
        return GN_NONE;
    f->elements[f->element_count] = e;
    return gn_lookup_add(&f->element_index, hash, (uint32_t)f->element_count) ? (uint32_t)f->element_count++
                                                                              : GN_NONE;
}

/* ---- a location ---- */

static int list_calls(struct finder *f, uint32_t location)
{
    const struct gn_call *calls = f->h->calls;
    f->call_count = 0;
    for (uint32_t c = f->h->last_call[location]; c != GN_NONE; c = calls[calls[c].waits_from].before) {
        if (calls[c].flags & (GN_CALL_BEGIN | GN_CALL_END))
            continue;
        if (!gn_grow(&f->calls, &f->call_capacity, f->call_count, sizeof *f->calls))
            return -ENOMEM;
        f->calls[f->call_count++] = c;
    }
    for (size_t i = 0; i < f->call_count / 2; i++) {
        const uint32_t c = f->calls[i];
        f->calls[i] = f->calls[f->call_count - 1 - i];
        f->calls[f->call_count - 1 - i] = c;
    }
    free(f->ids);
    f->ids = calloc(f->call_count + 1, sizeof *f->ids);
    for (size_t i = 0; i < f->call_count && f->ids; i++)
        if ((f->ids[i] = element_of(f, f->calls[i])) == GN_NONE)
            return -ENOMEM;
    return f->ids ? 0 : -ENOMEM;
}

/* Calls on one path, among some of the location. */
struct site {
    uint32_t region, path;
    uint64_t count;
    size_t first, last; /* of calls */
};

static int by_region_and_path(const void *a, const void *b)
{
    const struct site *x = a, *y = b;
    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    if (x->path != y->path)
        return x->path < y->path ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static size_t gather(struct site *sites, size_t count)
{
    size_t kept = 0;
    qsort(sites, count, sizeof *sites, by_region_and_path);
    for (size_t i = 0; i < count; i++) {
        if (kept && sites[kept - 1].region == sites[i].region && sites[kept - 1].path == sites[i].path) {
            sites[kept - 1].count++;
            sites[kept - 1].last = sites[i].first;
        } else {
            sites[kept++] = sites[i];
        }
    }
    return kept;
}

static double ticks_between(const struct finder *f, size_t from, size_t to)
{
    return (double)(f->h->calls[f->calls[to]].enter_ticks - f->h->calls[f->calls[from]].enter_ticks);
}

/* Of those that come over half of the time the first; where there is none, the one that goes on for longest.
 * NULL: none comes again and again. */
static const struct site *first_of(const struct finder *f, const struct site *sites, size_t count,
                                   double half_ticks)
{
    const struct site *first = NULL, *longest = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct site *s = &sites[i];
        const double ticks = ticks_between(f, s->first, s->last);
        if (s->count < FEWEST)
            continue;
        if (ticks >= half_ticks && (!first || s->first < first->first))
            first = s;
        if (!longest || ticks > ticks_between(f, longest->first, longest->last))
            longest = s;
    }
    return first ? first : longest;
}

/* Some calls of a loop are made several times in each pass: of those that go on for as long, and come nearly
 * as often, the rarest. What comes much more rarely is done in some passes only. */
static const struct site *rarest_of(const struct finder *f, const struct site *sites, size_t count,
                                    double half_ticks, const struct site *first)
{
    const struct site *rarest = first;
    for (size_t i = 0; i < count; i++) {
        const struct site *s = &sites[i];
        if (s->count < FEWEST || s->count * SEVERAL < first->count ||
            ticks_between(f, s->first, s->last) < half_ticks)
            continue;
        if (s->count < rarest->count || (s->count == rarest->count && s->first < rarest->first))
            rarest = s;
    }
    return rarest;
}

/* Among calls from one on, up to another. False: there is none. */
static bool find_point(const struct finder *f, size_t from, size_t end, struct site *point)
{
    struct site *sites = calloc(end - from + 1, sizeof *sites);
    if (!sites || end == from) {
        free(sites);
        return false;
    }
    for (size_t i = from; i < end; i++) {
        const struct gn_call *c = &f->h->calls[f->calls[i]];
        sites[i - from] = (struct site){c->region, c->path, 1, i, i};
    }
    const double half_ticks = ticks_between(f, from, end - 1) / 2;
    const size_t count = gather(sites, end - from);
    const struct site *first = first_of(f, sites, count, half_ticks);
    if (first)
        *point = *rarest_of(f, sites, count, half_ticks, first);
    free(sites);
    return first != NULL;
}

/* ---- a pass ---- */

/* How often the block of `length` at `at` is there, one after the other. */
static size_t repeats(const uint32_t *ids, size_t count, size_t at, size_t length)
{
    size_t times = 1;
    while (at + (times + 1) * length <= count &&
           memcmp(ids + at, ids + at + times * length, length * sizeof *ids) == 0)
        times++;
    return times;
}

/* The key of the pass, and of each of its calls the step that it is. Returns how long the key is. */
static size_t shorten(struct finder *f, const uint32_t *ids, size_t count, size_t *steps)
{
    size_t used = 0;
    *steps = 0;
    for (size_t at = 0; at < count;) {
        size_t length = 1, times = 1;
        for (size_t l = 1; l <= GN_EXEC_BLOCK_MOST && at + 2 * l <= count; l++) {
            const size_t here = repeats(ids, count, at, l);
            if (here > 1 && here * l > times * length) {
                length = l;
                times = here;
            }
        }
        if (times > 1)
            f->key[used++] = BLOCK | (uint32_t)length;
        for (size_t i = 0; i < length; i++)
            f->key[used++] = ids[at + i];
        for (size_t i = 0; i < times * length; i++)
            f->step_of[at + i] = (uint32_t)(*steps + i % length);
        *steps += length;
        at += times * length;
    }
    return used;
}

struct wanted_path {
    const struct finder *f;
    size_t count;
    uint32_t region, path;
};

static bool same_path(const void *context, uint32_t value)
{
    const struct wanted_path *w = context;
    const struct kept *k = &w->f->kept[value];
    const struct gn_exec_path *p = &w->f->out->paths[value];
    return k->count == w->count && p->begin_region == w->region && p->begin_path == w->path &&
           memcmp(w->f->keys + k->first, w->f->key, w->count * sizeof *w->f->key) == 0;
}

static int add_steps(struct finder *f, size_t count)
{
    uint32_t block = 0;
    for (size_t i = 0; i < count; i++) {
        if (f->key[i] & BLOCK) {
            block = f->key[i] & ~BLOCK;
            continue;
        }
        if (!gn_grow(&f->out->steps, &f->step_capacity, f->out->step_count, sizeof *f->out->steps))
            return -ENOMEM;
        const struct element *e = &f->elements[f->key[i]];
        f->out->steps[f->out->step_count++] = (struct gn_exec_step){.region = e->region,
                                                                    .path = e->path,
                                                                    .first_peer = e->first_peer,
                                                                    .peer_count = e->peer_count,
                                                                    .block = block};
        block = 0;
    }
    return 0;
}

/* A path that has not been gone yet. */
static int64_t new_path(struct finder *f, uint64_t hash, size_t length, size_t steps,
                        const struct gn_call *point)
{
    struct gn_exec_paths *out = f->out;
    const struct kept kept = {(uint32_t)f->key_count, (uint32_t)length, GN_NONE};
    if (!gn_grow(&out->paths, &f->path_capacity, out->path_count, sizeof *out->paths) ||
        !gn_grow(&f->kept, &f->kept_capacity, out->path_count, sizeof *f->kept))
        return -ENOMEM;
    for (size_t i = 0; i < length; i++) {
        if (!gn_grow(&f->keys, &f->key_capacity, f->key_count, sizeof *f->keys))
            return -ENOMEM;
        f->keys[f->key_count++] = f->key[i];
    }
    out->paths[out->path_count] = (struct gn_exec_path){.begin_region = point->region,
                                                        .begin_path = point->path,
                                                        .first_step = (uint32_t)out->step_count,
                                                        .step_count = (uint32_t)steps,
                                                        .least_ns = INFINITY};
    f->kept[out->path_count] = kept;
    if (add_steps(f, length) != 0 || !gn_lookup_add(&f->path_index, hash, (uint32_t)out->path_count))
        return -ENOMEM;
    return (int64_t)out->path_count++;
}

static bool is_cut(const struct gn_history *h, uint64_t from_ticks, uint64_t to_ticks)
{
    size_t from = 0, to = h->cut_count;
    while (from < to) {
        const size_t middle = (from + to) / 2;
        if (h->cuts[middle] <= from_ticks)
            from = middle + 1;
        else
            to = middle;
    }
    return from < h->cut_count && h->cuts[from] < to_ticks;
}

static double between_ns(const struct gn_history *h, uint32_t location, uint64_t from, uint64_t to)
{
    return (double)(to - from) * (h->rate_lo[location] + h->rate_hi[location]) / 2;
}

static int add_times(struct finder *f, const struct gn_exec_path *path, size_t first, size_t count)
{
    const struct gn_history *h = f->h;
    for (size_t i = 0; i < count; i++) {
        const uint32_t c = f->calls[first + i];
        const struct gn_call *call = &h->calls[c], *from = &h->calls[call->waits_from];
        struct gn_exec_step *step = &f->out->steps[path->first_step + f->step_of[i]];
        struct gn_span waited;
        if (gn_givers_of(&f->givers, c, &waited) != 0)
            return -ENOMEM;
        step->times++;
        step->computed_ns += i > 0 ? gn_computed_before(h, from) : 0;
        step->call_ns += between_ns(h, call->location, from->enter_ticks, call->leave_ticks);
        step->waited_ns += (waited.lo_ns + waited.hi_ns) / 2;
    }
    return 0;
}

/* From one pass of the point to the next. What is computed before the point is of the pass that it ends. */
static int add_pass(struct finder *f, size_t first, size_t end)
{
    const struct gn_history *h = f->h;
    const struct gn_call *point = &h->calls[h->calls[f->calls[first]].waits_from],
                         *next = &h->calls[h->calls[f->calls[end]].waits_from];
    struct gn_exec_paths *out = f->out;
    size_t steps;
    if (is_cut(h, point->enter_ticks, next->enter_ticks) || end - first > STEPS_MOST) {
        out->cut++;
        return 0;
    }
    const double ns = between_ns(h, point->location, point->enter_ticks, next->enter_ticks);
    const size_t length = shorten(f, f->ids + first, end - first, &steps);
    uint64_t hash = mix(mix(11, point->region), point->path);
    for (size_t i = 0; i < length; i++)
        hash = mix(hash, f->key[i]);
    const struct wanted_path wanted = {f, length, point->region, point->path};
    out->passes++;
    out->total_ns += ns;
    int64_t at = gn_lookup_find(&f->path_index, hash, same_path, &wanted);
    if (at == GN_LOOKUP_NOTHING && out->path_count == GN_EXEC_PATHS_MOST) {
        out->rest++;
        out->rest_ns += ns;
        return 0;
    }
    if (at == GN_LOOKUP_NOTHING)
        at = new_path(f, hash, length, steps, point);
    if (at < 0)
        return -ENOMEM;
    struct gn_exec_path *path = &out->paths[at];
    const uint32_t process = process_of(h, f->calls[first]);
    path->first_process = path->count == 0 ? process : path->first_process;
    path->processes += f->kept[at].last_process != process;
    f->kept[at].last_process = process;
    path->count++;
    path->total_ns += ns;
    path->least_ns = fmin(path->least_ns, ns);
    path->most_ns = fmax(path->most_ns, ns);
    path->behind_ns += gn_computed_before(h, next);
    return add_times(f, path, first, end - first);
}

static bool make_room(struct finder *f)
{
    free(f->key);
    free(f->step_of);
    f->key = calloc(2 * f->call_count + 1, sizeof *f->key);
    f->step_of = calloc(f->call_count + 1, sizeof *f->step_of);
    return f->key && f->step_of;
}

static bool is_point(const struct finder *f, const struct site *found, const struct gn_call *call)
{
    return !found ? gn_is_named(f->settings->point, f->h->definitions, call->region, call->path)
                  : call->region == found->region && call->path == found->path;
}

/* found: NULL: what is asked for. How many passes, or -ENOMEM. */
static int add_passes(struct finder *f, size_t from, size_t end, const struct site *found)
{
    size_t before = SIZE_MAX;
    int code = 0, passes = 0;
    for (size_t i = from; i < end && code == 0; i++) {
        if (!is_point(f, found, &f->h->calls[f->calls[i]]))
            continue;
        if (before != SIZE_MAX) {
            code = add_pass(f, before, i);
            passes = 1;
        }
        before = i;
    }
    return code < 0 ? code : passes;
}

/* Loops one after the other: what is ahead of one, and behind it, if it is a part of the run to speak of. */
static int add_loops(struct finder *f)
{
    enum { LOOPS_MOST = 32 };
    static const double little = 0.05;
    struct range {
        size_t from, end;
    } open[2 * LOOPS_MOST] = {{0, f->call_count}};
    size_t count = 1;
    const double least = little * ticks_between(f, 0, f->call_count - 1);
    int code = 0, passes = 0;
    for (int loops = 0; count > 0 && loops < LOOPS_MOST && code >= 0; loops++) {
        const struct range r = open[--count];
        struct site found;
        if (r.end <= r.from || (loops > 0 && ticks_between(f, r.from, r.end - 1) < least) ||
            !find_point(f, r.from, r.end, &found))
            continue;
        code = add_passes(f, r.from, r.end, &found);
        passes |= code > 0;
        open[count++] = (struct range){found.last + 1, r.end};
        open[count++] = (struct range){r.from, found.first};
    }
    return code < 0 ? code : passes;
}

static int add_location(struct finder *f, uint32_t location)
{
    int code = list_calls(f, location);
    if (code != 0 || f->call_count == 0)
        return code;
    if (!make_room(f))
        return -ENOMEM;
    code = f->settings->point ? add_passes(f, 0, f->call_count, NULL) : add_loops(f);
    f->out->without += code == 0;
    return code < 0 ? code : 0;
}

/* ---- wildcards ---- */

static int by_place(const void *a, const void *b)
{
    const struct gn_exec_sender *x = a, *y = b;
    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    if (x->path != y->path)
        return x->path < y->path ? -1 : 1;
    return x->process < y->process ? -1 : x->process > y->process;
}

static int by_count(const void *a, const void *b)
{
    const struct gn_exec_sender *x = a, *y = b;
    if (x->region != y->region || x->path != y->path)
        return by_place(a, b);
    return x->count > y->count ? -1 : x->count < y->count ? 1 : by_place(a, b);
}

static int find_senders(struct finder *f)
{
    const struct gn_history *h = f->h;
    struct gn_exec_paths *out = f->out;
    size_t kept = 0;
    for (size_t i = 0; i < h->contest_count; i++)
        for (uint32_t r = h->contests[i].first; r < h->contests[i].first + h->contests[i].count; r++) {
            const struct gn_rival *rival = &h->rivals[r];
            if (!rival->is_open || rival->to >= h->call_count || rival->from >= h->call_count)
                continue;
            if (!gn_grow(&out->senders, &f->sender_capacity, out->sender_count, sizeof *out->senders))
                return -ENOMEM;
            out->senders[out->sender_count++] = (struct gn_exec_sender){
                h->calls[rival->to].region, h->calls[rival->to].path, process_of(h, rival->from), 1};
        }
    if (out->sender_count)
        qsort(out->senders, out->sender_count, sizeof *out->senders, by_place);
    for (size_t i = 0; i < out->sender_count; i++)
        if (kept && by_place(&out->senders[kept - 1], &out->senders[i]) == 0)
            out->senders[kept - 1].count++;
        else
            out->senders[kept++] = out->senders[i];
    out->sender_count = kept;
    if (kept)
        qsort(out->senders, kept, sizeof *out->senders, by_count);
    return 0;
}

/* ---- all ---- */

static int by_time(const void *a, const void *b)
{
    const struct gn_exec_path *x = a, *y = b;
    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns ? -1 : 1;
    return x->first_step < y->first_step ? -1 : x->first_step > y->first_step;
}

static void clear(struct finder *f)
{
    gn_givers_close(&f->givers);
    gn_lookup_clear(&f->element_index);
    gn_lookup_clear(&f->path_index);
    free(f->sent_first);
    free(f->sent_next);
    free(f->elements);
    free(f->keys);
    free(f->kept);
    free(f->calls);
    free(f->ids);
    free(f->key);
    free(f->step_of);
}

int gn_exec_paths_find(struct gn_exec_paths *found, const struct gn_history *h,
                       const struct gn_exec_settings *settings, struct gn_error *err)
{
    struct finder f = {.h = h, .settings = settings, .out = found};
    *found = (struct gn_exec_paths){.paths = NULL};
    int code = gn_givers_open(&f.givers, h);
    if (code == 0)
        code = find_sent(&f);
    for (uint32_t l = 0; l < h->definitions->location_count && code == 0; l++)
        if (!h->is_carried[l])
            code = add_location(&f, l);
    if (code == 0)
        code = find_senders(&f);
    clear(&f);
    if (code != 0) {
        gn_exec_paths_clear(found);
        return gn_fail(err, code, "no memory for the paths of the run");
    }
    if (found->path_count)
        qsort(found->paths, found->path_count, sizeof *found->paths, by_time);
    return 0;
}

void gn_exec_paths_clear(struct gn_exec_paths *found)
{
    free(found->paths);
    free(found->steps);
    free(found->peers);
    free(found->senders);
    *found = (struct gn_exec_paths){.paths = NULL};
}
