#include "agent/launch.h"

#include "agent/job.h"
#include "agent/process_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

struct environment {
    char *text; /* one setting behind the other */
    size_t bytes;
};

static const char *value(const struct environment *e, const char *name)
{
    const size_t length = strlen(name);
    for (size_t at = 0; at < e->bytes; at += strlen(e->text + at) + 1)
        if (strncmp(e->text + at, name, length) == 0 && e->text[at + length] == '=')
            return e->text + at + length + 1;
    return NULL;
}

static int number(const struct environment *e, const char *name, int fallback)
{
    const char *text = value(e, name);
    char *end;
    long result = text ? strtol(text, &end, 10) : 0;
    return text && *text && *end == '\0' ? (int)result : fallback;
}

static void take(struct gn_launch launches[GN_LAUNCHES], enum gn_launcher launcher, const char *key, int rank,
                 int size)
{
    int used = 0;
    while (used < GN_LAUNCHES && launches[used].launcher != GN_LAUNCHER_NONE)
        used++;
    if (used == GN_LAUNCHES || rank < 0 || size <= rank)
        return;
    launches[used] = (struct gn_launch){.launcher = launcher, .rank = rank, .size = size};
    snprintf(launches[used].group, sizeof launches[used].group, "%u-%016" PRIx64, (unsigned)launcher,
             XXH64(key, strlen(key), 0));
}

/* What MPI_Comm_spawn starts has a namespace of its own. Namespaces are numbers that come again. */
static void openmpi(const struct environment *e, struct gn_launch launches[GN_LAUNCHES])
{
    char key[1024];
    const char *space = value(e, "PMIX_NAMESPACE"), *server = value(e, "OMPI_MCA_orte_hnp_uri");
    if (!space || !value(e, "OMPI_COMM_WORLD_RANK"))
        return;
    snprintf(key, sizeof key, "%.400s %.500s", space, server ? server : "");
    take(launches, GN_LAUNCHER_OPENMPI, key, number(e, "OMPI_COMM_WORLD_RANK", -1),
         number(e, "OMPI_COMM_WORLD_SIZE", 0));
}

static void hydra(const struct environment *e, int pid, struct gn_launch launches[GN_LAUNCHES])
{
    char key[512];
    if (value(e, "PMI_RANK") && gn_job_hydra(pid, true, key, sizeof key))
        take(launches, GN_LAUNCHER_HYDRA, key, number(e, "PMI_RANK", -1), number(e, "PMI_SIZE", 0));
}

static void slurm(const struct environment *e, struct gn_launch launches[GN_LAUNCHES])
{
    char key[256];
    const char *job = value(e, "SLURM_JOB_ID"), *step = value(e, "SLURM_STEP_ID"),
               *restarts = value(e, "SLURM_RESTART_COUNT");
    if (!job || !step)
        return;
    snprintf(key, sizeof key, "%.80s.%.80s.%.20s", job, step, restarts ? restarts : "0");
    take(launches, GN_LAUNCHER_SLURM, key, number(e, "SLURM_PROCID", -1), number(e, "SLURM_NTASKS", 0));
}

void gn_launches_of(int pid, struct gn_launch launches[GN_LAUNCHES])
{
    struct environment e;
    memset(launches, 0, GN_LAUNCHES * sizeof *launches);
    e.text = gn_process_file_whole(pid, "environ", &e.bytes);
    if (e.text) {
        openmpi(&e, launches);
        hydra(&e, pid, launches);
        slurm(&e, launches);
    }
    free(e.text);
}
