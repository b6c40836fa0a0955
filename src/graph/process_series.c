/*
 * How a location's nodes, edges and samples grew, in the graph's own rows.
 *
 * A call that lasts over a moment is divided there: its node is known. What is computed over a moment is not
 * known to be of an edge until the call that follows has been left: until then it stands in extra rows, from
 * which it comes to its edge and its steps here (graph/stretches.h).
 */
#include "graph/process_series.h"

#include "base/grow.h"
#include "base/wrapping.h"
#include "graph/packed_steps.h"
#include "graph/process_inside.h"
#include "graph/stretches.h"

#include <stdlib.h>
#include <string.h>

/* ---- packing ---- */

/* What rows of the graph say, of the sums of a series' row. */
typedef void convert(const struct gn_graph_adding *adding, double probe_ns, const gn_step_values sums,
                     gn_step_values told);

static int64_t whole_ns(double ns)
{
    static const double most = 9e18; /* memory that the program scribbled over says anything */
    return (int64_t)llround(fmin(fmax(ns, -most), most));
}

static void tell_node(const struct gn_graph_adding *a, double probe_ns, const gn_step_values sums,
                      gn_step_values told)
{
    (void)probe_ns;
    memcpy(told, sums, sizeof(gn_step_values));
    told[1] = whole_ns((double)sums[1] * a->facts->tick_ns);
}

static void tell_edge(const struct gn_graph_adding *a, double probe_ns, const gn_step_values sums,
                      gn_step_values told)
{
    const double total_ns = (double)sums[1] * a->facts->tick_ns,
                 cost_ns =
                     ((double)sums[0] - (double)sums[2]) * probe_ns + (double)sums[3] * a->facts->tick_ns;
    told[0] = sums[0];
    told[1] = whole_ns(total_ns);
    told[2] = whole_ns(total_ns - cost_ns);
}

static void tell_as_it_is(const struct gn_graph_adding *a, double probe_ns, const gn_step_values sums,
                          gn_step_values told)
{
    (void)a;
    (void)probe_ns;
    memcpy(told, sums, sizeof(gn_step_values));
}

static void tell_completion(const struct gn_graph_adding *a, double probe_ns, const gn_step_values sums,
                            gn_step_values told)
{
    (void)probe_ns;
    told[0] = sums[0];
    for (int v = 1; v < GN_SERIES_OF_COMPLETION; v++)
        told[v] = whole_ns((double)sums[v] * a->facts->tick_ns);
}

struct packing {
    struct gn_graph_adding *adding;
    double probe_ns;
    size_t steps;
    uint8_t *bytes; /* room for all steps */
};

/* width: values of a row that count. */
static struct gn_graph_bytes pack(const struct packing *p, const gn_step_values *steps, convert *tell,
                                  size_t width)
{
    gn_step_values sums = {0}, told = {0}, before = {0};
    size_t used = 0, next = 0;
    for (size_t i = 0; i < p->steps; i++) {
        bool any = false;
        gn_step_values more;
        for (size_t v = 0; v < GN_SERIES_VALUES; v++)
            sums[v] = gn_plus(sums[v], steps[i][v]);
        tell(p->adding, p->probe_ns, sums, told);
        for (size_t v = 0; v < width; v++) {
            more[v] = gn_minus(told[v], before[v]);
            any = any || more[v];
        }
        if (!any)
            continue;
        used += gn_pack_step(p->bytes + used, i - next + 1, more, width);
        memcpy(before, told, sizeof before);
        next = i + 1;
    }
    return gn_graph_keep_bytes(p->adding->graph, p->bytes, used);
}

static bool begin_packing(struct packing *p, struct gn_graph_adding *a, double probe_ns)
{
    const struct gn_series_process *s = a->facts->series;
    *p = (struct packing){.adding = a, .probe_ns = probe_ns};
    if (!s)
        return false;
    gn_series_moments(s->series, &p->steps);
    if (p->steps > 0)
        p->bytes = malloc(p->steps * (GN_SERIES_VALUES + 1) * GN_PACKED_MOST);
    return p->bytes != NULL;
}

/* ---- a location ---- */

/* A row of the series, by what it is of in the graph. to: GN_GRAPH_NONE: a node; of an activity's messages
 * their peer. */
struct kept {
    uint32_t from, to;
    uint32_t row;
};

static int by_ends(const void *left, const void *right)
{
    const struct kept *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

/* The rows of the graph that are the location's, in order: `row` is their index. */
struct found {
    struct kept *items;
    size_t count;
};

/* Which the last rows of a kind are: those of the location. */
static size_t first_row(const struct gn_graph *graph, enum gn_graph_kind kind, uint32_t location)
{
    const struct gn_graph_fields *what = &gn_graph_fields[kind];
    const char *rows = gn_graph_rows(graph, kind);
    size_t first = gn_graph_count(graph, kind);
    for (uint32_t of; first > 0; first--) {
        memcpy(&of, rows + (first - 1) * what->row_bytes + what->fields[0].offset, sizeof of);
        if (of != location)
            break;
    }
    return first;
}

static bool find_rows(struct found *f, const struct gn_graph *graph, enum gn_graph_kind kind,
                      uint32_t location)
{
    const struct gn_graph_node *nodes = gn_graph_rows(graph, GN_GRAPH_NODE);
    const struct gn_graph_edge *edges = gn_graph_rows(graph, GN_GRAPH_EDGE);
    const struct gn_graph_peer *peers = gn_graph_rows(graph, GN_GRAPH_PEER);
    const struct gn_graph_completion *completions = gn_graph_rows(graph, GN_GRAPH_COMPLETION);
    const size_t count = gn_graph_count(graph, kind), first = first_row(graph, kind, location);
    *f = (struct found){.items = calloc(count - first + 1, sizeof *f->items)};
    if (!f->items)
        return false;
    for (size_t i = first; i < count; i++)
        f->items[f->count++] =
            kind == GN_GRAPH_NODE   ? (struct kept){nodes[i].activity, GN_GRAPH_NONE, (uint32_t)i}
            : kind == GN_GRAPH_EDGE ? (struct kept){edges[i].from_activity, edges[i].to_activity, (uint32_t)i}
            : kind == GN_GRAPH_PEER
                ? (struct kept){peers[i].activity, (uint32_t)peers[i].peer, (uint32_t)i}
                : (struct kept){completions[i].from_activity, completions[i].to_activity, (uint32_t)i};
    qsort(f->items, f->count, sizeof *f->items, by_ends);
    return true;
}

/* The location's rows of the series, in order: nodes (row: their index) and edges. */
struct location {
    const struct gn_series_location *series;
    const uint32_t *activities;
    uint32_t nodes; /* that the snapshot has */
    struct found sorted, edges;
};

static bool sort_rows(struct location *l)
{
    const struct gn_series_location *s = l->series;
    l->sorted.items = calloc(s->node_count + 1, sizeof *l->sorted.items);
    l->edges.items = calloc(s->edge_count + 1, sizeof *l->edges.items);
    if (!l->sorted.items || !l->edges.items)
        return false;
    for (uint32_t i = 0; i < l->nodes && i < s->node_count; i++)
        l->sorted.items[l->sorted.count++] = (struct kept){l->activities[i], GN_GRAPH_NONE, i};
    for (size_t i = 0; i < s->edge_count; i++)
        if (s->edges[i].from < l->nodes && s->edges[i].to < l->nodes)
            l->edges.items[l->edges.count++] = (struct kept){l->activities[s->edges[i].from],
                                                             l->activities[s->edges[i].to], s->edges[i].row};
    qsort(l->sorted.items, l->sorted.count, sizeof *l->sorted.items, by_ends);
    qsort(l->edges.items, l->edges.count, sizeof *l->edges.items, by_ends);
    return true;
}

/* Where those with these ends begin: several may be one in the graph. */
static size_t first_of(const struct found *f, const struct kept *sought)
{
    size_t low = 0, high = f->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (by_ends(&f->items[middle], sought) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_edges(const struct location *l, const struct gn_series *series, const struct kept *edge,
                      gn_step_values *steps)
{
    for (size_t i = first_of(&l->edges, edge); i < l->edges.count && by_ends(&l->edges.items[i], edge) == 0;
         i++)
        gn_series_add(series, l->edges.items[i].row, steps);
}

enum of_node { OF_NODE, OF_OPEN, OF_AHEAD };

static uint32_t row_of(const struct gn_series_node *node, enum of_node of)
{
    return of == OF_NODE ? node->node : of == OF_OPEN ? node->open : node->ahead;
}

static void add_nodes(const struct location *l, const struct gn_series *series, uint32_t activity,
                      enum of_node of, gn_step_values *steps)
{
    const struct kept node = {activity, GN_GRAPH_NONE, 0};
    for (size_t i = first_of(&l->sorted, &node);
         i < l->sorted.count && by_ends(&l->sorted.items[i], &node) == 0; i++) {
        gn_series_add(series, row_of(&l->series->nodes[l->sorted.items[i].row], of), steps);
    }
}

/* ---- stretches that led into calls that lasted over a moment ---- */

struct stretches {
    struct gn_stretch *items;
    size_t count, room;
};

/* Those into one activity: a new one where what was computed ahead of the call is another, or is said to be.
 * False: no memory.
 */
static bool find_calls(struct stretches *s, uint32_t activity, const gn_step_values *ahead, size_t steps)
{
    int64_t now = 0;
    for (size_t i = 0; i < steps; i++) {
        const int64_t before = now;
        now = gn_plus(now, ahead[i][0]);
        if (now == before && ahead[i][1] == 0)
            continue;
        if (before > 0)
            s->items[s->count - 1].left = i;
        if (now <= 0)
            continue;
        if (!gn_grow(&s->items, &s->room, s->count, sizeof *s->items))
            return false;
        s->items[s->count++] = (struct gn_stretch){GN_GRAPH_NONE, activity, i, steps, now};
    }
    return true;
}

/* Where they come from shows when the call has been left: of edges that are long enough it is the longest. */
static void find_origins(const struct location *l, const struct gn_series *series, struct gn_stretch *first,
                         size_t count, size_t steps, gn_step_values *buffer)
{
    int64_t *longest = calloc(count + 1, sizeof *longest);
    for (size_t e = 0; longest && e < l->edges.count; e++) {
        if (l->edges.items[e].to != first->to ||
            (e > 0 && by_ends(&l->edges.items[e - 1], &l->edges.items[e]) == 0))
            continue;
        memset(buffer, 0, steps * sizeof *buffer);
        add_edges(l, series, &l->edges.items[e], buffer);
        for (size_t i = 0; i < count; i++)
            if (first[i].left < steps && buffer[first[i].left][0] > 0 &&
                buffer[first[i].left][1] >= first[i].ticks && buffer[first[i].left][1] > longest[i]) {
                longest[i] = buffer[first[i].left][1];
                first[i].from = l->edges.items[e].from;
            }
    }
    free(longest);
}

/* Where it computed at the moment ahead of a call, and nothing that it led to had been left since, it came
 * from there. open: room for as many again behind. */
static void find_open_origins(const struct location *l, const struct gn_series *series, struct stretches *s,
                              uint32_t activity, gn_step_values *open, size_t steps)
{
    gn_step_values *left = open + steps;
    int64_t now = 0;
    memset(left, 0, steps * sizeof *left);
    for (size_t e = first_of(&l->edges, &(struct kept){activity, 0, 0});
         e < l->edges.count && l->edges.items[e].from == activity; e++)
        gn_series_add(series, l->edges.items[e].row, left);
    for (size_t i = 0; i + 1 < steps; i++) {
        now = gn_plus(now, open[i][0]);
        for (size_t k = 0; now > 0 && left[i + 1][0] == 0 && k < s->count; k++)
            if (s->items[k].entered == i + 1)
                s->items[k].from = activity;
    }
}

/* Looks at the rows of that kind, activity by activity. False: no memory. */
static bool look_at_rows(const struct packing *p, const struct location *l, enum of_node of,
                         struct stretches *s, gn_step_values *buffer)
{
    const struct gn_series *series = p->adding->facts->series->series;
    for (size_t i = 0, next; i < l->sorted.count; i = next) {
        const uint32_t activity = l->sorted.items[i].from;
        const size_t before = s->count;
        bool any = false;
        for (next = i; next < l->sorted.count && l->sorted.items[next].from == activity; next++)
            any = any || row_of(&l->series->nodes[l->sorted.items[next].row], of) != GN_SERIES_NONE;
        if (!any)
            continue;
        memset(buffer, 0, p->steps * sizeof *buffer);
        add_nodes(l, series, activity, of, buffer);
        if (of == OF_OPEN)
            find_open_origins(l, series, s, activity, buffer, p->steps);
        else if (!find_calls(s, activity, buffer, p->steps))
            return false;
        else if (s->count > before)
            find_origins(l, series, &s->items[before], s->count - before, p->steps, buffer);
    }
    return true;
}

/* last: where the last one comes from, and leads to, where the call was not left. */
static void find_stretches(const struct packing *p, const struct location *l, const struct kept *last,
                           struct stretches *s)
{
    gn_step_values *buffer = calloc(2 * p->steps, sizeof *buffer);
    if (buffer && look_at_rows(p, l, OF_AHEAD, s, buffer))
        look_at_rows(p, l, OF_OPEN, s, buffer);
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].left == p->steps && s->items[i].to == last->to)
            s->items[i].from = last->from;
    free(buffer);
}

static int by_origin(const void *left, const void *right)
{
    const struct gn_stretch *a = left, *b = right;
    return (a->from > b->from) - (a->from < b->from);
}

/* Edges from one activity: found[0, count). */
static void put_group(const struct packing *p, const struct location *l, const struct kept *found,
                      size_t count, const struct kept *last, const struct stretches *s)
{
    const struct gn_series *series = p->adding->facts->series->series;
    gn_step_values *all = calloc((count + 1) * p->steps, sizeof *all);
    gn_step_values **edges = calloc(count, sizeof *edges);
    uint32_t *to = calloc(count, sizeof *to);
    struct gn_graph_edge *rows = gn_graph_rows(p->adding->graph, GN_GRAPH_EDGE);
    if (all && edges && to) {
        gn_step_values *open = all + count * p->steps;
        struct gn_leaving leaving = {
            .edges = edges, .to = to, .count = count, .open = open, .steps = p->steps};
        for (size_t i = 0; i < count; i++) {
            edges[i] = all + i * p->steps;
            to[i] = found[i].to;
            add_edges(l, series, &found[i], edges[i]);
            if (by_ends(&found[i], last) == 0)
                leaving.last = edges[i];
        }
        size_t first = 0;
        while (first < s->count && s->items[first].from < found[0].from)
            first++;
        while (first + leaving.stretch_count < s->count &&
               s->items[first + leaving.stretch_count].from == found[0].from)
            leaving.stretch_count++;
        leaving.stretches = s->items + first;
        add_nodes(l, series, found[0].from, OF_OPEN, open);
        gn_stretches_divide(&leaving);
        for (size_t i = 0; i < count; i++)
            rows[found[i].row].series = pack(p, edges[i], tell_edge, GN_SERIES_OF_EDGE);
    }
    free(all);
    free(edges);
    free(to);
}

static void put_edges(const struct packing *p, const struct location *l, uint32_t location,
                      const struct kept *last)
{
    struct found f;
    struct stretches s = {.items = NULL};
    if (!find_rows(&f, p->adding->graph, GN_GRAPH_EDGE, location))
        return;
    find_stretches(p, l, last, &s);
    if (s.count)
        qsort(s.items, s.count, sizeof *s.items, by_origin);
    for (size_t i = 0, next; i < f.count; i = next) {
        for (next = i; next < f.count && f.items[next].from == f.items[i].from;)
            next++;
        put_group(p, l, &f.items[i], next - i, last, &s);
    }
    free(s.items);
    free(f.items);
}

static void put_nodes(const struct packing *p, const struct location *l, uint32_t location)
{
    const struct gn_series *series = p->adding->facts->series->series;
    gn_step_values *steps = calloc(p->steps, sizeof *steps);
    struct gn_graph_node *rows = gn_graph_rows(p->adding->graph, GN_GRAPH_NODE);
    struct found f = {.items = NULL};
    const bool room = steps && find_rows(&f, p->adding->graph, GN_GRAPH_NODE, location);
    for (size_t i = 0; room && i < f.count; i++) {
        memset(steps, 0, p->steps * sizeof *steps);
        add_nodes(l, series, f.items[i].from, OF_NODE, steps);
        rows[f.items[i].row].series = pack(p, steps, tell_node, GN_SERIES_OF_NODE);
    }
    free(f.items);
    free(steps);
}

/* The series' rows of peers or completions, in order. False: no memory. */
static bool sort_pairs(const struct location *l, enum gn_graph_kind kind, struct found *f)
{
    const struct gn_series_location *s = l->series;
    const size_t count = kind == GN_GRAPH_PEER ? s->peer_count : s->completion_count;
    *f = (struct found){.items = calloc(count + 1, sizeof *f->items)};
    for (size_t i = 0; f->items && i < count; i++) {
        const struct gn_series_peer *p = &s->peers[i];
        const struct gn_series_edge *c = &s->completions[i];
        if (kind == GN_GRAPH_PEER && p->node < l->nodes)
            f->items[f->count++] = (struct kept){l->activities[p->node], p->peer, p->row};
        else if (kind == GN_GRAPH_COMPLETION && c->from < l->nodes && c->to < l->nodes)
            f->items[f->count++] = (struct kept){l->activities[c->from], l->activities[c->to], c->row};
    }
    if (f->items)
        qsort(f->items, f->count, sizeof *f->items, by_ends);
    return f->items != NULL;
}

/* Whether there was room for all of those with these ends, which begin there. What is not there yet has not
 * been looked at: it has no step. */
static bool has_room(const struct found *f, size_t first, const struct kept *ends)
{
    size_t k = first;
    while (k < f->count && by_ends(&f->items[k], ends) == 0 && f->items[k].row != GN_SERIES_NONE)
        k++;
    return k == f->count || by_ends(&f->items[k], ends) != 0;
}

static void put_pairs(const struct packing *p, const struct location *l, uint32_t location,
                      enum gn_graph_kind kind)
{
    const struct gn_series *series = p->adding->facts->series->series;
    struct gn_graph_peer *peers = gn_graph_rows(p->adding->graph, GN_GRAPH_PEER);
    struct gn_graph_completion *completions = gn_graph_rows(p->adding->graph, GN_GRAPH_COMPLETION);
    gn_step_values *steps = calloc(p->steps, sizeof *steps);
    struct found rows = {.items = NULL}, known = {.items = NULL};
    const bool room =
        steps && find_rows(&rows, p->adding->graph, kind, location) && sort_pairs(l, kind, &known);
    for (size_t i = 0; room && i < rows.count; i++) {
        const struct kept *row = &rows.items[i];
        const size_t first = first_of(&known, row);
        if (!has_room(&known, first, row))
            continue;
        memset(steps, 0, p->steps * sizeof *steps);
        for (size_t k = first; k < known.count && by_ends(&known.items[k], row) == 0; k++)
            gn_series_add(series, known.items[k].row, steps);
        if (kind == GN_GRAPH_PEER)
            peers[row->row].series = pack(p, steps, tell_as_it_is, GN_SERIES_OF_PEER);
        else
            completions[row->row].series = pack(p, steps, tell_completion, GN_SERIES_OF_COMPLETION);
    }
    free(known.items);
    free(rows.items);
    free(steps);
}

void gn_adding_series(struct gn_graph_adding *a, uint32_t index, uint32_t location,
                      const uint32_t *activities, uint32_t nodes, double probe_ns, const uint32_t last[2])
{
    struct packing p;
    if (!begin_packing(&p, a, probe_ns))
        return;
    struct location l = {.activities = activities, .nodes = nodes};
    if (index < a->facts->series->location_count) {
        l.series = &a->facts->series->locations[index];
        if (sort_rows(&l)) {
            put_nodes(&p, &l, location);
            const struct kept edge = {last[0], last[1], 0};
            put_edges(&p, &l, location, &edge);
            put_pairs(&p, &l, location, GN_GRAPH_PEER);
            put_pairs(&p, &l, location, GN_GRAPH_COMPLETION);
        }
    }
    free(l.sorted.items);
    free(l.edges.items);
    free(p.bytes);
}

struct gn_graph_bytes gn_adding_sample_series(struct gn_graph_adding *a, size_t number)
{
    const struct gn_series_process *s = a->facts->series;
    struct gn_graph_bytes bytes = {NULL, 0};
    struct packing p;
    if (!s || number >= s->sample_count || !begin_packing(&p, a, 0))
        return bytes;
    gn_step_values *steps = calloc(p.steps, sizeof *steps);
    if (steps) {
        gn_series_add(s->series, s->samples[number], steps);
        bytes = pack(&p, steps, tell_as_it_is, GN_SERIES_OF_SAMPLE);
    }
    free(steps);
    free(p.bytes);
    return bytes;
}
