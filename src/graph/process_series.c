/*
 * How a location's nodes, edges and samples grew, in the graph's own rows.
 *
 * A call that lasts over a moment is divided there: its node is known. What is computed over a moment is not
 * known to be of an edge until that has ended: until then it stands in an extra row, and here it comes to the
 * edge that was left for in the step in which it ended.
 */
#include "graph/process_series.h"

#include "graph/packed_steps.h"
#include "graph/process_inside.h"

#include <stdlib.h>
#include <string.h>

typedef int64_t values[GN_SERIES_VALUES];

/* ---- packing ---- */

/* What rows of the graph say, of the sums of a series' row. */
typedef void convert(const struct gn_graph_adding *adding, double probe_ns, const values sums, values told);

static int64_t whole_ns(double ns)
{
    static const double most = 9e18; /* memory that the program scribbled over says anything */
    return (int64_t)llround(fmin(fmax(ns, -most), most));
}

static void tell_node(const struct gn_graph_adding *a, double probe_ns, const values sums, values told)
{
    (void)probe_ns;
    memcpy(told, sums, sizeof(values));
    told[1] = whole_ns((double)sums[1] * a->facts->tick_ns);
}

static void tell_edge(const struct gn_graph_adding *a, double probe_ns, const values sums, values told)
{
    const double total_ns = (double)sums[1] * a->facts->tick_ns,
                 cost_ns = (double)(sums[0] - sums[2]) * probe_ns + (double)sums[3] * a->facts->tick_ns;
    told[0] = sums[0];
    told[1] = whole_ns(total_ns);
    told[2] = whole_ns(total_ns - cost_ns);
}

static void tell_sample(const struct gn_graph_adding *a, double probe_ns, const values sums, values told)
{
    (void)a;
    (void)probe_ns;
    memcpy(told, sums, sizeof(values));
}

struct packing {
    struct gn_graph_adding *adding;
    double probe_ns;
    size_t steps;
    uint8_t *bytes; /* room for all steps */
};

/* width: values of a row that count. */
static struct gn_graph_bytes pack(const struct packing *p, const values *steps, convert *tell, size_t width)
{
    values sums = {0}, told = {0}, before = {0};
    size_t used = 0, next = 0;
    for (size_t i = 0; i < p->steps; i++) {
        bool any = false;
        for (size_t v = 0; v < GN_SERIES_VALUES; v++)
            sums[v] = (int64_t)((uint64_t)sums[v] + (uint64_t)steps[i][v]);
        tell(p->adding, p->probe_ns, sums, told);
        for (size_t v = 0; v < width; v++)
            any = any || told[v] != before[v];
        if (!any)
            continue;
        used += gn_pack(p->bytes + used, i - next + 1);
        for (size_t v = 0; v < width; v++)
            used += gn_pack_signed(p->bytes + used, (int64_t)((uint64_t)told[v] - (uint64_t)before[v]));
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

/* ---- what is computed over a moment ---- */

/* Edges from one activity. */
struct leaving {
    values **edges; /* by edge: its steps */
    size_t count;
    const values *open; /* by step: how what is open grew */
    values *end;        /* steps of the edge to the location's end, if it computes until then; else NULL */
};

/* Of those that were taken in a step the one that has most of it: NULL: none was. */
static values *taken(const struct leaving *l, size_t step)
{
    values *longest = NULL;
    for (size_t i = 0; i < l->count; i++)
        if (l->edges[i][step][0] > 0 && (!longest || l->edges[i][step][1] > longest[step][1]))
            longest = l->edges[i];
    return longest;
}

/* How often one of them was. */
static int64_t times_taken(const struct leaving *l, size_t step)
{
    int64_t times = 0;
    for (size_t i = 0; i < l->count; i++)
        times += l->edges[i][step][0];
    return times;
}

/* What was open in steps [first, until) was of the edge, in whose step `end` it stands: that is when the call
 * that it led to was left. It was entered in step `until`: where nothing else was computed since, so is its
 * rest. */
static void give(const struct leaving *l, values *edge, size_t first, size_t until, size_t end)
{
    const bool is_alone = times_taken(l, end) == 1;
    for (size_t i = first; i <= until && i < end; i++) {
        const bool is_rest = i == until;
        const int64_t part = !is_rest ? l->open[i][1] : is_alone ? edge[end][1] : 0;
        edge[i][1] = (int64_t)((uint64_t)edge[i][1] + (uint64_t)part);
        edge[end][1] = (int64_t)((uint64_t)edge[end][1] - (uint64_t)part);
    }
}

/* open[i][0]: what is open at moment i, open[i][1]: what of it is of step i. */
static void settle(const struct leaving *l, size_t steps)
{
    enum { NOTHING, COMPUTES, IN_CALL } state = NOTHING; /* since step `first`; in the call since `until` */
    size_t first = 0, until = 0;
    for (size_t i = 0; i < steps; i++) {
        values *edge = state == NOTHING ? NULL : taken(l, i);
        if (edge)
            give(l, edge, first, state == COMPUTES ? i : until, i);
        const bool is_open = l->open[i][0] > 0;
        if (is_open && (edge || state != COMPUTES))
            first = i;
        if (!is_open && state == COMPUTES)
            until = i;
        state = is_open ? COMPUTES : edge || state == NOTHING ? NOTHING : IN_CALL;
    }
    if (state == COMPUTES && l->end)
        for (size_t i = first; i < steps; i++)
            l->end[i][1] += l->open[i][1];
    if (l->end)
        l->end[steps - 1][0]++;
}

/* Of sums by step: what is open, and what of it has come since the last moment; where it has become less,
 * another stretch began. */
static void divide_open(values *open, size_t steps, const values *ended)
{
    int64_t sum = 0;
    for (size_t i = 0; i < steps; i++) {
        const int64_t before = sum;
        sum = (int64_t)((uint64_t)sum + (uint64_t)open[i][0]);
        sum = sum > 0 ? sum : 0;
        open[i][0] = sum;
        open[i][1] = sum >= before && !ended[i][0] ? sum - before : sum;
    }
}

/* ---- a location ---- */

/* A row of the series, by what it is of in the graph. to: GN_GRAPH_NONE: a node. */
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

static bool find_nodes(struct found *f, const struct gn_graph *graph, uint32_t location)
{
    const struct gn_graph_node *rows = gn_graph_rows(graph, GN_GRAPH_NODE);
    const size_t count = gn_graph_count(graph, GN_GRAPH_NODE);
    size_t first = count;
    while (first > 0 && rows[first - 1].location == location)
        first--;
    *f = (struct found){.items = calloc(count - first + 1, sizeof *f->items)};
    for (size_t i = first; f->items && i < count; i++)
        f->items[f->count++] = (struct kept){rows[i].activity, GN_GRAPH_NONE, (uint32_t)i};
    if (f->items)
        qsort(f->items, f->count, sizeof *f->items, by_ends);
    return f->items != NULL;
}

static bool find_edges(struct found *f, const struct gn_graph *graph, uint32_t location)
{
    const struct gn_graph_edge *rows = gn_graph_rows(graph, GN_GRAPH_EDGE);
    const size_t count = gn_graph_count(graph, GN_GRAPH_EDGE);
    size_t first = count;
    while (first > 0 && rows[first - 1].location == location)
        first--;
    *f = (struct found){.items = calloc(count - first + 1, sizeof *f->items)};
    for (size_t i = first; f->items && i < count; i++)
        f->items[f->count++] = (struct kept){rows[i].from_activity, rows[i].to_activity, (uint32_t)i};
    if (f->items)
        qsort(f->items, f->count, sizeof *f->items, by_ends);
    return f->items != NULL;
}

/* The location's rows of the series, in order. */
struct location {
    const struct gn_series_location *series;
    const uint32_t *activities;
    uint32_t nodes; /* that the snapshot has */
    struct kept *edges;
    size_t edge_count;
};

static bool sort_edges(struct location *l)
{
    const struct gn_series_location *s = l->series;
    l->edges = calloc(s->edge_count + 1, sizeof *l->edges);
    for (size_t i = 0; l->edges && i < s->edge_count; i++)
        if (s->edges[i].from < l->nodes && s->edges[i].to < l->nodes)
            l->edges[l->edge_count++] = (struct kept){l->activities[s->edges[i].from],
                                                      l->activities[s->edges[i].to], s->edges[i].row};
    if (l->edges)
        qsort(l->edges, l->edge_count, sizeof *l->edges, by_ends);
    return l->edges != NULL;
}

/* Several edges may be one in the graph. */
static void add_edges(const struct location *l, const struct gn_series *series, const struct kept *edge,
                      values *steps)
{
    size_t low = 0, high = l->edge_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (by_ends(&l->edges[middle], edge) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < l->edge_count && by_ends(&l->edges[low], edge) == 0; low++)
        gn_series_add(series, l->edges[low].row, steps);
}

static void add_nodes(const struct location *l, const struct gn_series *series, uint32_t activity, bool open,
                      values *steps)
{
    for (uint32_t i = 0; i < l->nodes && i < l->series->node_count; i++)
        if (l->activities[i] == activity)
            gn_series_add(series, open ? l->series->nodes[i].open : l->series->nodes[i].node, steps);
}

/* Edges from one activity: found[0, count). */
static void put_group(const struct packing *p, const struct location *l, const struct kept *found,
                      size_t count, uint32_t last_activity)
{
    const struct gn_series *series = p->adding->facts->series->series;
    values *all = calloc((count + 2) * p->steps, sizeof *all);
    values **edges = calloc(count, sizeof *edges);
    struct gn_graph_edge *rows = gn_graph_rows(p->adding->graph, GN_GRAPH_EDGE);
    if (all && edges) {
        values *open = all + count * p->steps, *ended = open + p->steps;
        struct leaving leaving = {.edges = edges, .count = count, .open = open};
        for (size_t i = 0; i < count; i++) {
            edges[i] = all + i * p->steps;
            add_edges(l, series, &found[i], edges[i]);
            if (found[i].from == last_activity && found[i].to == l->activities[1])
                leaving.end = edges[i];
        }
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < p->steps; k++)
                ended[k][0] |= edges[i][k][0];
        add_nodes(l, series, found[0].from, true, open);
        divide_open(open, p->steps, ended);
        settle(&leaving, p->steps);
        for (size_t i = 0; i < count; i++)
            rows[found[i].row].series = pack(p, edges[i], tell_edge, 3);
    }
    free(all);
    free(edges);
}

static void put_edges(const struct packing *p, const struct location *l, uint32_t location,
                      uint32_t last_activity)
{
    struct found f;
    if (!find_edges(&f, p->adding->graph, location))
        return;
    for (size_t i = 0, next; i < f.count; i = next) {
        for (next = i; next < f.count && f.items[next].from == f.items[i].from;)
            next++;
        put_group(p, l, &f.items[i], next - i, last_activity);
    }
    free(f.items);
}

static void put_nodes(const struct packing *p, const struct location *l, uint32_t location)
{
    const struct gn_series *series = p->adding->facts->series->series;
    values *steps = calloc(p->steps, sizeof *steps);
    struct gn_graph_node *rows = gn_graph_rows(p->adding->graph, GN_GRAPH_NODE);
    struct found f = {.items = NULL};
    const bool room = steps && find_nodes(&f, p->adding->graph, location);
    for (size_t i = 0; room && i < f.count; i++) {
        memset(steps, 0, p->steps * sizeof *steps);
        add_nodes(l, series, f.items[i].from, false, steps);
        rows[f.items[i].row].series = pack(p, steps, tell_node, 4);
    }
    free(f.items);
    free(steps);
}

void gn_adding_series(struct gn_graph_adding *a, uint32_t index, uint32_t location,
                      const uint32_t *activities, uint32_t nodes, double probe_ns, uint32_t last_node)
{
    struct packing p;
    if (!begin_packing(&p, a, probe_ns))
        return;
    struct location l = {.activities = activities, .nodes = nodes};
    if (index < a->facts->series->location_count) {
        l.series = &a->facts->series->locations[index];
        put_nodes(&p, &l, location);
        if (sort_edges(&l))
            put_edges(&p, &l, location, last_node < nodes ? activities[last_node] : GN_GRAPH_NONE);
    }
    free(l.edges);
    free(p.bytes);
}

struct gn_graph_bytes gn_adding_sample_series(struct gn_graph_adding *a, size_t number)
{
    const struct gn_series_process *s = a->facts->series;
    struct gn_graph_bytes bytes = {NULL, 0};
    struct packing p;
    if (!s || number >= s->sample_count || !begin_packing(&p, a, 0))
        return bytes;
    values *steps = calloc(p.steps, sizeof *steps);
    if (steps) {
        gn_series_add(s->series, s->samples[number], steps);
        bytes = pack(&p, steps, tell_sample, 2);
    }
    free(steps);
    free(p.bytes);
    return bytes;
}
