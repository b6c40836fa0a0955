/*
 * graph/world — which worlds the processes of a run made: the sets of ranks that one MPI_COMM_WORLD has.
 *
 * A run is one world as a rule. It is several when processes were spawned (MPI_Comm_spawn), when a script
 * started several programs, and when a launcher started processes that do not understand it: then each is
 * rank 0 of a world of its own. Ranks of different worlds have the same numbers and nothing else in common,
 * so nothing that is counted by rank may go over more than one.
 *
 * Nothing is asked of MPI, which could only tell by communication. A launcher names what it started together
 * (struct gn_launch); MPI says rank and size. Where both agree, the launcher's name is the world's. Where
 * they do not, and MPI says that the process is alone, it is alone.
 */
#ifndef GNOMON_GRAPH_WORLD_H
#define GNOMON_GRAPH_WORLD_H

#include "graph/graph.h"

struct gn_launch;

/* What is known of a process that is added to a graph. */
struct gn_world_process {
    const struct gn_launch *launches; /* GN_LAUNCHES of them, or NULL */
    const char *flavour, *host;
    int rank, size; /* as MPI says; size 0: it did not get that far */
    int64_t pid;
    int64_t spawner; /* the process that spawned it, 0: none */
    uint64_t start_ticks;
};

/* Its world, made when it is not there yet. GN_GRAPH_NONE: no memory. */
uint32_t gn_graph_world_of(struct gn_graph *graph, const struct gn_world_process *process);

/* The name of a launcher (enum gn_launcher) in a graph, and back; NULL, and GN_LAUNCHER_NONE: none. */
const char *gn_launcher_name(int launcher);
int gn_launcher_named(const char *name);

#endif
