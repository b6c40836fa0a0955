/*
 * Connected components by label propagation: each vertex takes the smallest label among its own and its
 * neighbours', until no label changes; then all vertices of a component have its smallest number.
 *
 * Each iteration every rank does that for its own vertices, from the labels of the iteration before; an
 * Allgatherv then tells everybody the new ones, an Allreduce how many changed. So neither result nor number
 * of iterations depends on the number of ranks and threads, nor on `--straggler`, which makes one rank's part
 * cost several times as much.
 *
 * Regions: "propagate" is the work, of every thread; "exchange" is what ends the
 * iteration.
 */
#include <mpi.h>
#include <stdint.h>
#include "graph.h"
#include "team.h"

struct labels {
    struct graph *graph;
    int32_t *before;        /* of all vertices */
    int32_t *now;           /* of own vertices */
    long changed[TEAM_MAX]; /* by each thread */
    long all_changed;
};

/* The new labels of own vertices [first, end). */
static __attribute__((noinline)) void take_smallest(struct labels *labels, struct member *me, long first,
                                                    long end)
{
    const struct graph *g = labels->graph;
    long changed = 0;
    for (long own = first; own < end; own++) {
        int32_t smallest = labels->before[g->first + own];
        for (long i = g->offset[own]; i < g->offset[own + 1]; i++)
            if (labels->before[g->neighbour[i]] < smallest)
                smallest = labels->before[g->neighbour[i]];
        changed += smallest != labels->before[g->first + own];
        labels->now[own] = smallest;
        member_did(me, g->offset[own + 1] - g->offset[own]);
    }
    labels->changed[me->index] = changed;
}

/* The same edges without keeping anything, `items` of them: nothing but work. */
static __attribute__((noinline)) void straggle(const struct labels *labels, struct member *me, long first,
                                               long end, long items)
{
    const struct graph *g = labels->graph;
    volatile int32_t sink = 0;
    for (long i = 0; i < items; i++) {
        long edge = g->offset[first] + i % (g->offset[end] - g->offset[first]);
        sink = labels->before[g->neighbour[edge]];
        member_did(me, 1);
    }
    (void)sink;
}

static void propagate(void *program, struct member *me)
{
    struct labels *labels = program;
    const struct graph *g = labels->graph;
    long first, end;
    graph_share(g, me->team->threads, me->index, &first, &end);
    member_begin(me, "propagate");
    straggle(labels, me, first, end, member_extra(me, g->offset[end] - g->offset[first]));
    take_smallest(labels, me, first, end);
    member_end(me, "propagate");
}

static void exchange(struct labels *labels, long threads)
{
    const struct graph *g = labels->graph;
    long changed = 0;
    gnomon_region_begin("exchange");
    for (long t = 0; t < threads; t++)
        changed += labels->changed[t];
    MPI_Allreduce(&changed, &labels->all_changed, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgatherv(labels->now, (int)(g->end - g->first), MPI_INT32_T, labels->before, g->count, g->start,
                   MPI_INT32_T, MPI_COMM_WORLD);
    gnomon_region_end("exchange");
}

/* Returns the number of iterations done. */
static __attribute__((noinline)) long iterate(struct labels *labels, struct team *team, long iterations)
{
    for (long i = 1; i <= iterations; i++) {
        gnomon_region_begin("propagate");
        team_run(team, propagate, labels);
        gnomon_region_end("propagate");
        exchange(labels, team->threads);
        if (labels->all_changed == 0)
            return i;
    }
    return iterations;
}

static int labels_create(struct labels *labels, struct graph *g)
{
    labels->graph = g;
    labels->before = calloc((size_t)g->vertices, sizeof *labels->before);
    labels->now = calloc((size_t)(g->end - g->first) + 1, sizeof *labels->now);
    if (!labels->before || !labels->now)
        return -1;
    for (long v = 0; v < g->vertices; v++)
        labels->before[v] = (int32_t)v;
    return 0;
}

static void labels_destroy(struct labels *labels)
{
    free(labels->before);
    free(labels->now);
}

/* How many vertices have the most frequent label; out_degree, no longer needed, is where they are counted. */
static long largest_component(const struct labels *labels)
{
    const struct graph *g = labels->graph;
    int32_t *members = g->out_degree, largest = 0;
    memset(members, 0, (size_t)g->vertices * sizeof *members);
    for (long v = 0; v < g->vertices; v++)
        if (++members[labels->before[v]] > largest)
            largest = members[labels->before[v]];
    return largest;
}

static void print_result(const struct labels *labels, long iterations)
{
    const struct graph *g = labels->graph;
    long components = 0;
    uint64_t checksum = 0;
    for (long v = 0; v < g->vertices; v++) {
        components += labels->before[v] == v;
        checksum += (uint64_t)labels->before[v] * random_at((uint64_t)v);
    }
    printf("components: %ld vertices, %ld edges, %ld iterations, %ld labels changed in the last\n",
           g->vertices, g->vertices * g->edges_per_vertex, iterations, labels->all_changed);
    printf("components: %ld components, the largest of %ld vertices, checksum %016llx\n", components,
           largest_component(labels), (unsigned long long)checksum);
}

static void solve(struct graph *graph, struct team *team, long iterations, int rank, int size)
{
    struct labels labels = {0};
    if (graph_create(graph, rank, size) != 0 || labels_create(&labels, graph) != 0) {
        fprintf(stderr, "components: rank %d: no memory for 2^%ld vertices\n", rank, graph->scale);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    team_start(team);
    long done = iterate(&labels, team, iterations);
    if (rank == 0)
        print_result(&labels, done);
    team_stop(team, "components");
    labels_destroy(&labels);
    graph_destroy(graph);
}

int main(int argc, char **argv)
{
    int rank, size, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    struct graph graph = {.scale = 15, .edges_per_vertex = 1, .seed = 1, .both_ways = 1};
    struct team team = TEAM_DEFAULTS(4000);
    long iterations = 1000;
    const struct option_spec specs[] = {
        GRAPH_OPTIONS(&graph),
        {OPTION_NUMBER, "iterations", &iterations, 1, 1e9, 0, "iterations at most"},
        TEAM_OPTIONS(&team, size, "an edge"),
        {0}};
    int status = options_read(argc, argv, "[OPTION]...", "Connected components of a random graph.", specs,
                              NULL, rank == 0);
    if (status == OPTIONS_RUN) {
        status = 0;
        solve(&graph, &team, iterations, rank, size);
    }
    MPI_Finalize();
    return status;
}
