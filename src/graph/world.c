#include "graph/world.h"

#include "image/tag.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* By enum gn_launcher. */
static const char *const launchers[GN_LAUNCHERS] = {
    [GN_LAUNCHER_OPENMPI] = "openmpi", [GN_LAUNCHER_HYDRA] = "hydra", [GN_LAUNCHER_SLURM] = "slurm"};

const char *gn_launcher_name(int launcher)
{
    return launcher > GN_LAUNCHER_NONE && launcher < GN_LAUNCHERS ? launchers[launcher] : NULL;
}

int gn_launcher_named(const char *name)
{
    for (int i = GN_LAUNCHER_NONE + 1; name && i < GN_LAUNCHERS; i++)
        if (strcmp(name, launchers[i]) == 0)
            return i;
    return GN_LAUNCHER_NONE;
}

static const struct gn_launch *launch_of(const struct gn_world_process *p, size_t i)
{
    const struct gn_launch *launch = p->launches ? &p->launches[i] : NULL;
    return launch && launch->launcher > GN_LAUNCHER_NONE && launch->launcher < GN_LAUNCHERS ? launch : NULL;
}

static bool agrees(const struct gn_world_process *p, const struct gn_launch *launch)
{
    return p->size == 0 || (launch->rank == p->rank && launch->size == p->size);
}

static bool is_own(const struct gn_world_process *p, const struct gn_launch *launch)
{
    const char *flavour = launch->launcher == GN_LAUNCHER_OPENMPI ? "openmpi"
                          : launch->launcher == GN_LAUNCHER_HYDRA ? "mpich"
                                                                  : "";
    return p->flavour && strcmp(p->flavour, flavour) == 0;
}

/* The launcher whose word MPI has taken: of several, the one of the same family. */
static const struct gn_launch *believed(const struct gn_world_process *p)
{
    const struct gn_launch *found = NULL;
    for (size_t i = 0; i < GN_LAUNCHES; i++) {
        const struct gn_launch *launch = launch_of(p, i);
        if (launch && agrees(p, launch) && (!found || (is_own(p, launch) && !is_own(p, found))))
            found = launch;
    }
    return found;
}

struct identity {
    char key[160];
    const struct gn_launch *launch; /* NULL: none */
    bool alone;                     /* as MPI says, against what the launcher says */
};

static struct identity identify(const struct gn_world_process *p)
{
    struct identity id = {.launch = believed(p)};
    if (id.launch) {
        snprintf(id.key, sizeof id.key, "%.*s", GN_GROUP_BYTES, id.launch->group);
        return id;
    }
    id.launch = launch_of(p, 0);
    id.alone = p->size == 1;
    if (id.alone)
        snprintf(id.key, sizeof id.key, "alone %.80s %" PRId64 " %" PRIu64, p->host, p->pid, p->start_ticks);
    else /* of a launcher that is not known: as far as anybody can tell, the job is one */
        strcpy(id.key, "job");
    return id;
}

/* Whether a measured process of that world has the rank. */
static bool has_rank(const struct gn_graph *graph, const char *key, int rank)
{
    const struct gn_graph_world asked = {.key = key}, *worlds = gn_graph_rows(graph, GN_GRAPH_WORLD);
    const uint32_t world = gn_graph_find(graph, GN_GRAPH_WORLD, &asked);
    const struct gn_graph_process *processes = gn_graph_rows(graph, GN_GRAPH_PROCESS);
    for (size_t i = 0; worlds && world != GN_GRAPH_NONE && i < gn_graph_count(graph, GN_GRAPH_PROCESS); i++)
        if (processes[i].world_id == world && processes[i].rank == rank &&
            processes[i].elapsed_ns != GN_GRAPH_UNKNOWN)
            return true;
    return false;
}

/* A program that runs again in the place of one that has ended has its rank, and another world. */
static const char *tell_apart(struct gn_graph *graph, const struct gn_world_process *p, struct identity *id)
{
    const size_t length = strlen(id->key);
    const char *key = gn_graph_text(graph, id->key);
    for (int again = 2; p->size > 0 && key && has_rank(graph, key, p->rank); again++) {
        snprintf(id->key + length, sizeof id->key - length, " #%d", again);
        key = gn_graph_text(graph, id->key);
    }
    return key;
}

static int64_t unless(int64_t value, int64_t unknown)
{
    return value == unknown ? GN_GRAPH_UNKNOWN : value;
}

uint32_t gn_graph_world_of(struct gn_graph *graph, const struct gn_world_process *p)
{
    struct identity id = identify(p);
    const struct gn_launch *launch = id.launch;
    char group[GN_GROUP_BYTES + 1] = "";
    if (launch)
        snprintf(group, sizeof group, "%.*s", GN_GROUP_BYTES, launch->group);
    const struct gn_graph_world world = {
        .key = tell_apart(graph, p, &id),
        .size = p->size > 0 ? p->size
                : launch    ? launch->size
                            : 0,
        .launcher = gn_graph_text(graph, launch ? gn_launcher_name((int)launch->launcher) : NULL),
        .launch = gn_graph_text(graph, group[0] ? group : NULL),
        .launched = unless(launch ? launch->size : 0, 0),
        .launched_rank = unless(launch && id.alone ? launch->rank : -1, -1),
        .spawner = unless(p->spawner, 0)};
    const uint32_t index = world.key ? gn_graph_put(graph, GN_GRAPH_WORLD, &world) : GN_GRAPH_NONE;
    struct gn_graph_world *known = gn_graph_rows(graph, GN_GRAPH_WORLD);
    if (index != GN_GRAPH_NONE && world.size > known[index].size)
        known[index].size = world.size;
    return index;
}
