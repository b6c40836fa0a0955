#include "analyse/tight.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { DONE = 4 }; /* mark: its edges have been followed */

struct search {
    struct gn_tight *tight;
    uint32_t *next_scans; /* [gathering_count] of scans: hubs from this part upward are done */
    size_t frontier;      /* vertices that are marked and not done */
};

/* ---- edges ---- */

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

static double between_lo(struct gn_interval from, struct gn_interval to)
{
    return most(0, (double)(to.lo_ns - from.hi_ns));
}

static double between_hi(struct gn_interval from, struct gn_interval to)
{
    return most(0, (double)(to.hi_ns - from.lo_ns));
}

static bool is_scan(const struct gn_history_gathering *g)
{
    return g->shape == GN_SHAPE_PREFIX;
}

static struct gn_edge *add(struct gn_tight *t, size_t *count, uint32_t to)
{
    struct gn_edge *edge = &t->edges[(*count)++];
    *edge = (struct gn_edge){.to = to};
    return edge;
}

/* From its own enter, or that of the poll with which the waiting began: both were read from one clock, so
 * that their distance is known better than they are. */
static void add_own(struct gn_tight *t, size_t *count, const struct gn_call *c, uint32_t from)
{
    const struct gn_history *h = t->history;
    const struct gn_call *begin = &h->calls[from];
    struct gn_edge *edge = add(t, count, from << 1);
    const double ticks = (double)(c->leave_ticks - begin->enter_ticks);
    edge->hi_ns = least((ticks + 1) * h->rate_hi[c->location], between_hi(begin->enter, c->leave));
    edge->lo_ns = most((ticks - 1) * h->rate_lo[c->location], between_lo(begin->enter, c->leave));
    edge->lo_ns = least(edge->lo_ns, edge->hi_ns);
}

static struct gn_edge *add_taken(struct gn_tight *t, size_t *count, const struct gn_call *c,
                                 const struct gn_take *take, uint32_t to)
{
    struct gn_edge *edge = add(t, count, to);
    edge->hi_ns = least(take->room_ns, between_hi(take->given, c->leave));
    edge->lo_ns = least(between_lo(take->given, c->leave), edge->hi_ns);
    return edge;
}

static void add_given(struct gn_tight *t, size_t *count, const struct gn_call *c, const struct gn_take *take)
{
    struct gn_edge *edge = add_taken(t, count, c, take, take->from << 1);
    if (t->history->calls[take->from].location == c->location)
        return;
    edge->crosses_lo_ns = edge->lo_ns;
    edge->crosses_hi_ns = edge->hi_ns;
}

static void add_gathered(struct gn_tight *t, size_t *count, const struct gn_call *c,
                         const struct gn_take *take)
{
    const struct gn_history_gathering *g = &t->history->gatherings[take->from];
    const struct gn_given_part *part = &t->history->parts[take->member];
    const uint32_t hub = is_scan(g) ? take->member : g->first_part;
    struct gn_edge *edge = add_taken(t, count, c, take, t->first_hub + hub);
    const bool may_be_own = !is_scan(g) && part->gives && part->is_tight;
    edge->crosses_lo_ns = may_be_own ? 0 : edge->lo_ns;
    edge->crosses_hi_ns = may_be_own && t->lasts[hub].tight == 1 ? 0 : edge->hi_ns;
}

/* Whether the call's own enter is among what the hub stands for. */
static bool is_in_hub(const struct gn_history *h, uint32_t call, const struct gn_take *take)
{
    const struct gn_history_gathering *g = &h->gatherings[take->from];
    const struct gn_given_part *part = &h->parts[take->member];
    return !is_scan(g) && part->call == call && h->calls[call].waits_from == call && part->gives &&
           part->is_tight;
}

static bool has_givers(const struct gn_tight *t, const struct gn_take *take)
{
    const struct gn_history_gathering *g = &t->history->gatherings[take->from];
    return t->lasts[is_scan(g) ? take->member : g->first_part].lo_ns != INT64_MIN;
}

static size_t leave_edges(struct gn_tight *t, uint32_t call)
{
    const struct gn_history *h = t->history;
    const struct gn_call *c = &h->calls[call];
    size_t count = 0;
    bool is_own = c->is_tight;
    for (uint32_t i = c->first_take; i < c->first_take + c->take_count; i++) {
        const struct gn_take *take = &h->takes[i];
        if (!take->is_tight)
            continue;
        if (take->kind != GN_TAKE_GATHERING) {
            add_given(t, &count, c, take);
        } else if (has_givers(t, take)) {
            add_gathered(t, &count, c, take);
            is_own = is_own && !is_in_hub(h, call, take);
        }
    }
    if (is_own || count == 0)
        add_own(t, &count, c, c->take_count ? c->waits_from : call);
    return count;
}

static size_t enter_edges(struct gn_tight *t, uint32_t call)
{
    const struct gn_call *c = &t->history->calls[call];
    size_t count = 0;
    add(t, &count, c->before == GN_NONE ? t->origin : c->before << 1 | 1);
    return count;
}

static size_t scan_edges(struct gn_tight *t, uint32_t index)
{
    const struct gn_given_part *below = &t->history->parts[index - 1];
    const struct gn_tight_last *last = &t->lasts[index], *last_below = &t->lasts[index - 1];
    size_t count = 0;
    if (below->gives && t->history->calls[below->call].enter.hi_ns >= last->lo_ns)
        add(t, &count, below->call << 1);
    if (last_below->hi_ns >= last->lo_ns)
        add(t, &count, t->first_hub + index - 1);
    return count;
}

static size_t hub_edges(struct gn_tight *t, uint32_t index)
{
    const struct gn_history *h = t->history;
    const struct gn_history_gathering *g = &h->gatherings[h->parts[index].gathering];
    size_t count = 0;
    if (is_scan(g))
        return scan_edges(t, index);
    for (uint32_t p = g->first_part; p < g->first_part + g->part_count; p++)
        if (h->parts[p].gives && h->parts[p].is_tight)
            add(t, &count, h->parts[p].call << 1);
    for (uint32_t p = g->first_part; count == 0 && p < g->first_part + g->part_count; p++)
        if (h->parts[p].gives)
            add(t, &count, h->parts[p].call << 1);
    return count;
}

size_t gn_tight_edges(struct gn_tight *tight, uint32_t vertex)
{
    if (vertex >= tight->first_hub)
        return vertex == tight->origin ? 0 : hub_edges(tight, vertex - tight->first_hub);
    return vertex & 1 ? leave_edges(tight, vertex >> 1) : enter_edges(tight, vertex >> 1);
}

static bool may_end_run(const struct gn_history *h, size_t location)
{
    return h->last_call[location] != GN_NONE && !h->is_carried[location];
}

size_t gn_tight_ends(const struct gn_history *h, uint32_t *calls)
{
    int64_t last_ns = INT64_MIN;
    size_t count = 0;
    for (size_t l = 0; l < h->definitions->location_count; l++)
        if (may_end_run(h, l) && h->calls[h->last_call[l]].leave.lo_ns > last_ns)
            last_ns = h->calls[h->last_call[l]].leave.lo_ns;
    for (size_t l = 0; l < h->definitions->location_count; l++)
        if (may_end_run(h, l) && h->calls[h->last_call[l]].leave.hi_ns >= last_ns)
            calls[count++] = h->last_call[l];
    return count;
}

/* ---- the search ---- */

static void reach(struct search *s, uint32_t vertex)
{
    s->frontier += s->tight->marks[vertex] == 0;
    s->tight->marks[vertex] |= GN_TIGHT_POSSIBLE;
}

static void go_through(struct search *s, uint32_t vertex)
{
    struct gn_tight *t = s->tight;
    if (s->frontier == 1)
        t->marks[vertex] |= GN_TIGHT_CERTAIN;
    t->marks[vertex] |= DONE;
    t->vertices[t->count++] = vertex;
    s->frontier--;
    const size_t count = gn_tight_edges(t, vertex);
    for (size_t i = 0; i < count; i++)
        reach(s, t->edges[i].to);
    t->branches += count > 1;
}

static void go_if_reached(struct search *s, uint32_t vertex)
{
    if (s->tight->marks[vertex] == GN_TIGHT_POSSIBLE)
        go_through(s, vertex);
}

/* Before the first of the givers' enters, backward, comes the hub that leads to them; all leaves that lead to
 * the hub have been by then. */
static void go_through_hubs(struct search *s, uint32_t call)
{
    const struct gn_history *h = s->tight->history;
    const struct gn_call *c = &h->calls[call];
    for (uint32_t i = c->first_part; i < c->first_part + c->part_count; i++) {
        const uint32_t part = h->part_order[i];
        if (!h->parts[part].gives || h->parts[part].gathering == GN_NONE)
            continue;
        const struct gn_history_gathering *g = &h->gatherings[h->parts[part].gathering];
        uint32_t *next = &s->next_scans[h->parts[part].gathering];
        if (!is_scan(g))
            go_if_reached(s, s->tight->first_hub + g->first_part);
        for (; is_scan(g) && *next > part + 1; (*next)--)
            go_if_reached(s, s->tight->first_hub + *next - 1);
    }
}

static void go_through_steps(struct search *s)
{
    const struct gn_history *h = s->tight->history;
    for (size_t i = h->step_count; i-- > 0;) {
        if (!(h->steps[i] & 1) && h->calls[h->steps[i] >> 1].part_count)
            go_through_hubs(s, h->steps[i] >> 1);
        go_if_reached(s, h->steps[i]);
    }
    go_if_reached(s, s->tight->origin);
}

/* ---- what is known beforehand ---- */

static void note_giver(struct gn_tight_last *last, const struct gn_history *h,
                       const struct gn_given_part *part)
{
    const struct gn_interval enter = h->calls[part->call].enter;
    if (!part->gives)
        return;
    last->lo_ns = enter.lo_ns > last->lo_ns ? enter.lo_ns : last->lo_ns;
    last->hi_ns = enter.hi_ns > last->hi_ns ? enter.hi_ns : last->hi_ns;
    last->tight += part->is_tight;
}

static void note_givers(struct search *s)
{
    const struct gn_history *h = s->tight->history;
    for (size_t i = 0; i < h->gathering_count; i++) {
        const struct gn_history_gathering *g = &h->gatherings[i];
        struct gn_tight_last last = {INT64_MIN, INT64_MIN, 0};
        s->next_scans[i] = g->first_part + g->part_count;
        for (uint32_t p = g->first_part; p < g->first_part + g->part_count; p++) {
            s->tight->lasts[p] = last;
            note_giver(&last, h, &h->parts[p]);
        }
        if (!is_scan(g) && g->part_count)
            s->tight->lasts[g->first_part] = last;
    }
}

/* Edges of the vertex that may have most. */
static size_t most_edges(const struct gn_history *h)
{
    size_t most = 2;
    for (size_t i = 0; i < h->gathering_count; i++)
        most = h->gatherings[i].part_count > most ? h->gatherings[i].part_count : most;
    for (size_t i = 0; i < h->call_count; i++)
        most = h->calls[i].take_count + 1u > most ? h->calls[i].take_count + 1u : most;
    return most;
}

static int search(struct search *s, uint32_t *ends)
{
    struct gn_tight *t = s->tight;
    note_givers(s);
    const size_t count = gn_tight_ends(t->history, ends);
    for (size_t i = 0; i < count; i++)
        reach(s, ends[i] << 1 | 1);
    t->branches = count > 1;
    go_through_steps(s);
    return 0;
}

int gn_tight_find(struct gn_tight *tight, const struct gn_history *h, struct gn_error *err)
{
    const uint32_t first_hub = (uint32_t)h->call_count * 2, origin = first_hub + (uint32_t)h->part_count;
    *tight = (struct gn_tight){.history = h, .first_hub = first_hub, .origin = origin};
    if (2 * h->call_count + h->part_count >= UINT32_MAX)
        return gn_fail(err, -E2BIG, "%zu calls are too many for a critical path", h->call_count);
    struct search s = {.tight = tight};
    uint32_t *ends = malloc((h->definitions->location_count + 1) * sizeof *ends);
    s.next_scans = malloc((h->gathering_count + 1) * sizeof *s.next_scans);
    tight->vertices = malloc((origin + 1ul) * sizeof *tight->vertices);
    tight->marks = calloc(origin + 1ul, sizeof *tight->marks);
    tight->lasts = malloc((h->part_count + 1) * sizeof *tight->lasts);
    tight->edges = malloc(most_edges(h) * sizeof *tight->edges);
    int code = -ENOMEM;
    if (ends && s.next_scans && tight->vertices && tight->marks && tight->lasts && tight->edges)
        code = search(&s, ends);
    free(ends);
    free(s.next_scans);
    if (code == 0)
        return 0;
    gn_tight_clear(tight);
    return gn_fail(err, code, "no memory for the paths of %zu calls", h->call_count);
}

void gn_tight_clear(struct gn_tight *tight)
{
    free(tight->vertices);
    free(tight->marks);
    free(tight->lasts);
    free(tight->edges);
    *tight = (struct gn_tight){.history = NULL};
}
