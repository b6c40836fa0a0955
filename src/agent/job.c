#include "agent/job.h"

#include "agent/process_files.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Compiled in: `gnomon run` needs nothing but the C library. */
#define XXH_INLINE_ALL
#include <xxhash.h>

static int number(const char *variable, int fallback)
{
    const char *text = getenv(variable);
    char *end;
    if (!text || !*text)
        return fallback;
    long value = strtol(text, &end, 10);
    return *end ? fallback : (int)value;
}

/* The word behind `option`, "" when there is none. */
static const char *option_in(const char *arguments, size_t bytes, const char *option)
{
    for (const char *word = arguments; word < arguments + bytes; word += strlen(word) + 1)
        if (strcmp(word, option) == 0) {
            word += strlen(word) + 1;
            return word < arguments + bytes ? word : "";
        }
    return "";
}

/* Hydra gives its ranks no name of the job; but the proxy that started them was told where its mpiexec
 * listens, the same address on every host, and the number of their group there. */
bool gn_job_hydra(int pid, bool group, char *key, unsigned long size)
{
    char arguments[4096];
    pid = gn_parent_of(pid);
    for (int up = 0; up < 8 && pid > 1; up++, pid = gn_parent_of(pid)) {
        size_t bytes = gn_process_file(pid, "cmdline", arguments, sizeof arguments);
        if (!strstr(arguments, "hydra_pmi_proxy"))
            continue;
        const char *port = option_in(arguments, bytes, "--control-port");
        if (!*port)
            continue;
        int used = snprintf(key, size, "hydra:%s", port);
        if (group && used > 0 && (unsigned long)used < size)
            snprintf(key + used, size - (unsigned long)used, " %s", option_in(arguments, bytes, "--pgid"));
        return true;
    }
    return false;
}

static void single_key(struct gn_job *job)
{
    struct gn_process_stat self; /* its start makes a reused pid another process */
    gn_process_stat((int)getpid(), &self);
    snprintf(job->key, sizeof job->key, "process:%d:%llu", (int)getpid(), self.start_ticks);
}

static void name_host(struct gn_job *job)
{
    const char *given = getenv("GNOMON_HOST");
    if (!given || !*given)
        return;
    snprintf(job->host, sizeof job->host, "%s", given);
    for (char *c = job->host; *c; c++)
        if (*c == '/' || *c <= ' ')
            *c = '_';
    if (job->world > 1) {
        job->several = true;
        job->local_count = 0;
        job->local_rank = -1;
    }
}

void gn_job_detect(struct gn_job *job)
{
    memset(job, 0, sizeof *job);
    job->rank = job->local_rank = -1;
    const char *space = getenv("PMIX_NAMESPACE"), *server = getenv("OMPI_MCA_orte_hnp_uri");
    if (getenv("OMPI_COMM_WORLD_RANK") && space) {
        snprintf(job->key, sizeof job->key, "pmix:%s:%.300s", space, server ? server : "");
        job->rank = number("OMPI_COMM_WORLD_RANK", -1);
        job->local_count = number("OMPI_COMM_WORLD_LOCAL_SIZE", 0);
        if (number("OMPI_NUM_APP_CTX", 1) == 1) /* else the lowest rank may run without gnomon */
            job->local_rank = number("OMPI_COMM_WORLD_LOCAL_RANK", -1);
        job->world = number("OMPI_COMM_WORLD_SIZE", 0);
    } else if (getenv("PMI_RANK") && gn_job_hydra((int)getpid(), false, job->key, sizeof job->key)) {
        job->rank = number("PMI_RANK", -1);
        job->local_count = number("MPI_LOCALNRANKS", 0);
        job->local_rank = number("MPI_LOCALRANKID", -1);
        job->world = number("PMI_SIZE", 0);
    } else if (getenv("SLURM_JOB_ID") && getenv("SLURM_PROCID") && getenv("SLURM_STEP_ID")) {
        const char *restarts = getenv("SLURM_RESTART_COUNT"); /* a requeued job keeps its number */
        const char *cluster = getenv("SLURM_CLUSTER_NAME");   /* each counts its jobs by itself */
        snprintf(job->key, sizeof job->key, "slurm:%s.%s.%s%s%s", getenv("SLURM_JOB_ID"),
                 getenv("SLURM_STEP_ID"), restarts ? restarts : "0", cluster ? "@" : "",
                 cluster ? cluster : "");
        job->rank = number("SLURM_PROCID", -1);
        job->local_rank = number("SLURM_LOCALID", -1);
        job->world = number("SLURM_NTASKS", 0);
        /* "4(x2),3": only the simple form says how many are here */
        const char *tasks = getenv("SLURM_STEP_TASKS_PER_NODE");
        job->local_count = tasks && !strpbrk(tasks, ",(") ? atoi(tasks) : 0;
    } else {
        single_key(job);
        job->local_count = 1;
    }
    const char *nodes = getenv("SLURM_STEP_NUM_NODES");
    job->several = job->local_count > 0 ? job->local_count < job->world : nodes && atoi(nodes) > 1;
    name_host(job);
    job->hash = XXH64(job->key, strlen(job->key), (unsigned long long)getuid());
}

void gn_job_socket(const struct gn_job *job, char name[64])
{
    uint64_t here = job->host[0] ? XXH64(job->host, strlen(job->host), 0) : 0;
    snprintf(name, 64, "gnomon-%u-%016llx", (unsigned)getuid(), (unsigned long long)(job->hash ^ here));
}

static void activities_prefix(const struct gn_job *job, char prefix[96])
{
    char agent[64];
    gn_job_socket(job, agent);
    snprintf(prefix, 96, "/tmp/libgnomon-activities-%s-", agent);
}

void gn_job_activities(const struct gn_job *job, const char *program, const char *names, char path[128])
{
    char prefix[96];
    activities_prefix(job, prefix);
    snprintf(path, 128, "%s%016llx.so", prefix,
             (unsigned long long)XXH64(names, strlen(names), XXH64(program, strlen(program), 0)));
}

void gn_job_remove_activities(const struct gn_job *job)
{
    char pattern[112], prefix[96];
    glob_t found;
    activities_prefix(job, prefix);
    snprintf(pattern, sizeof pattern, "%s*", prefix);
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            unlink(found.gl_pathv[i]);
    globfree(&found);
}
