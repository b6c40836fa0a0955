/*
 * PageRank: what share of the visits each vertex of a graph gets from a visitor who follows edges at random.
 *
 * Each iteration every rank collects, for its own vertices, what the sources of their edges pass on; an
 * Allgatherv then tells everybody what the new vertices pass on, an Allreduce how much has changed. Visits
 * are counted in whole numbers: the result does not depend on the number of ranks and threads, nor on
 * `--straggler`, which makes one rank's collecting cost several times as much.
 *
 * Regions: "rank" is the work, of every thread; "exchange" is what ends the iteration.
 */
#include <mpi.h>
#include <stdint.h>
#include "graph.h"
#include "team.h"

#define VISITS INT64_C(1000000000000000) /* of all vertices; 100 times as many still fit */
#define FOLLOWED 85                      /* percent of the visitors go on by an edge, others anywhere */

/* What one Allreduce adds up. */
struct totals {
    int64_t changed;  /* |new - old| of all vertices */
    int64_t stranded; /* visits at vertices without an edge to go on by */
};

struct ranking {
    struct graph *graph;
    int64_t *visits; /* of own vertices */
    int64_t *passed; /* of all vertices: what each passes on along each of its edges */
    int64_t *next;   /* of own vertices: what they will pass on; others still read `passed` */
    struct totals all;
    struct totals totals[TEAM_MAX]; /* of each thread */
};

static void set_visits(struct ranking *ranking, long own, int64_t visits, struct totals *totals)
{
    int64_t before = ranking->visits[own];
    int32_t edges = ranking->graph->out_degree[ranking->graph->first + own];
    ranking->visits[own] = visits;
    ranking->next[own] = edges > 0 ? visits / edges : 0;
    totals->changed += visits > before ? visits - before : before - visits;
    totals->stranded += edges > 0 ? 0 : visits;
}

/* New visits of own vertices [first, end). */
static __attribute__((noinline)) void collect(struct ranking *ranking, struct member *me, long first,
                                              long end)
{
    const struct graph *g = ranking->graph;
    struct totals totals = {0, 0};
    int64_t anywhere = VISITS / 100 * (100 - FOLLOWED) + ranking->all.stranded / 100 * FOLLOWED;
    for (long own = first; own < end; own++) {
        int64_t sum = 0;
        for (long i = g->offset[own]; i < g->offset[own + 1]; i++)
            sum += ranking->passed[g->neighbour[i]];
        set_visits(ranking, own, anywhere / g->vertices + sum * FOLLOWED / 100, &totals);
        member_did(me, g->offset[own + 1] - g->offset[own]);
    }
    ranking->totals[me->index] = totals;
}

/* The same edges without keeping anything, `items` of them: nothing but work. */
static __attribute__((noinline)) void straggle(const struct ranking *ranking, struct member *me, long first,
                                               long end, long items)
{
    const struct graph *g = ranking->graph;
    volatile int64_t sink = 0;
    for (long i = 0; i < items; i++) {
        long edge = g->offset[first] + i % (g->offset[end] - g->offset[first]);
        sink = ranking->passed[g->neighbour[edge]];
        member_did(me, 1);
    }
    (void)sink;
}

static void rank_vertices(void *program, struct member *me)
{
    struct ranking *ranking = program;
    const struct graph *g = ranking->graph;
    long first, end;
    graph_share(g, me->team->threads, me->index, &first, &end);
    member_begin(me, "rank");
    straggle(ranking, me, first, end, member_extra(me, g->offset[end] - g->offset[first]));
    collect(ranking, me, first, end);
    member_end(me, "rank");
}

static void exchange(struct ranking *ranking, long threads)
{
    const struct graph *g = ranking->graph;
    struct totals mine = {0, 0};
    gnomon_region_begin("exchange");
    for (long t = 0; t < threads; t++) {
        mine.changed += ranking->totals[t].changed;
        mine.stranded += ranking->totals[t].stranded;
    }
    MPI_Allreduce(&mine, &ranking->all, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgatherv(ranking->next, (int)(g->end - g->first), MPI_INT64_T, ranking->passed, g->count, g->start,
                   MPI_INT64_T, MPI_COMM_WORLD);
    gnomon_region_end("exchange");
}

/* Returns the number of iterations done. */
static __attribute__((noinline)) long iterate(struct ranking *ranking, struct team *team, long iterations,
                                              int64_t tolerance)
{
    for (long i = 1; i <= iterations; i++) {
        gnomon_region_begin("rank");
        team_run(team, rank_vertices, ranking);
        gnomon_region_end("rank");
        exchange(ranking, team->threads);
        if (ranking->all.changed <= tolerance)
            return i;
    }
    return iterations;
}

/* Equal visits everywhere, and what follows from that. */
static int ranking_create(struct ranking *ranking, struct graph *g)
{
    ranking->graph = g;
    ranking->visits = calloc((size_t)(g->end - g->first) + 1, sizeof *ranking->visits);
    ranking->passed = calloc((size_t)g->vertices, sizeof *ranking->passed);
    ranking->next = calloc((size_t)(g->end - g->first) + 1, sizeof *ranking->next);
    if (!ranking->visits || !ranking->passed || !ranking->next)
        return -1;
    for (long v = 0; v < g->end - g->first; v++)
        ranking->visits[v] = VISITS / g->vertices;
    for (long v = 0; v < g->vertices; v++) {
        if (g->out_degree[v] == 0)
            ranking->all.stranded += VISITS / g->vertices;
        else
            ranking->passed[v] = VISITS / g->vertices / g->out_degree[v];
    }
    return 0;
}

static void ranking_destroy(struct ranking *ranking)
{
    free(ranking->visits);
    free(ranking->passed);
    free(ranking->next);
}

/* Everything in one number: the sum of visits times a random number of the vertex. */
static uint64_t checksum(const struct ranking *ranking)
{
    uint64_t mine = 0, all = 0;
    for (long v = ranking->graph->first; v < ranking->graph->end; v++)
        mine += (uint64_t)ranking->visits[v - ranking->graph->first] * random_at((uint64_t)v);
    MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    return all;
}

static void print_result(const struct ranking *ranking, long iterations, int rank)
{
    const struct graph *g = ranking->graph;
    struct {
        long visits;
        int vertex;
    } mine = {-1, 0}, most = {-1, 0};
    for (long v = g->first; v < g->end; v++)
        if (ranking->visits[v - g->first] > mine.visits) {
            mine.visits = ranking->visits[v - g->first];
            mine.vertex = (int)v;
        }
    MPI_Reduce(&mine, &most, 1, MPI_LONG_INT, MPI_MAXLOC, 0, MPI_COMM_WORLD);
    uint64_t sum = checksum(ranking);
    if (rank == 0)
        printf("pagerank: %ld vertices, %ld edges, %ld iterations, most at %d (%ld ppm), checksum %016llx\n",
               g->vertices, g->vertices * g->edges_per_vertex, iterations, most.vertex,
               most.visits / (VISITS / 1000000), (unsigned long long)sum);
}

static void solve(struct graph *graph, struct team *team, long iterations, long tolerance_ppb, int rank,
                  int size)
{
    struct ranking ranking = {0};
    if (graph_create(graph, rank, size) != 0 || ranking_create(&ranking, graph) != 0) {
        fprintf(stderr, "pagerank: rank %d: no memory for 2^%ld vertices\n", rank, graph->scale);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    team_start(team);
    long done = iterate(&ranking, team, iterations, tolerance_ppb * (VISITS / 1000000000));
    print_result(&ranking, done, rank);
    team_stop(team, "pagerank");
    ranking_destroy(&ranking);
    graph_destroy(graph);
}

int main(int argc, char **argv)
{
    int rank, size, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    struct graph graph = {.scale = 14, .edges_per_vertex = 8, .seed = 1};
    struct team team = TEAM_DEFAULTS(1000);
    long iterations = 100, tolerance_ppb = 10;
    const struct option_spec specs[] = {
        GRAPH_OPTIONS(&graph),
        {OPTION_NUMBER, "iterations", &iterations, 1, 1e9, 0, "iterations at most"},
        {OPTION_NUMBER, "tolerance", &tolerance_ppb, 0, 1e9, 0, "end when N in 10^9 visits change place"},
        TEAM_OPTIONS(&team, size, "an edge"),
        {0}};
    int status =
        options_read(argc, argv, "[OPTION]...", "PageRank of a random graph.", specs, NULL, rank == 0);
    if (status == OPTIONS_RUN) {
        status = 0;
        solve(&graph, &team, iterations, tolerance_ppb, rank, size);
    }
    MPI_Finalize();
    return status;
}
