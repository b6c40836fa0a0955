/*
 * agent/job — which parallel job this process belongs to, as its launcher says (environment and ancestors).
 * Open MPI's mpirun (PMIx), MPICH's Hydra (PMI-1), Slurm's srun; anything else counts as a job of its own.
 */
#ifndef GNOMON_AGENT_JOB_H
#define GNOMON_AGENT_JOB_H

#include <stdbool.h>
#include <stdint.h>

struct gn_job {
    char key[512];   /* the same on all hosts of the job, different for any other job */
    uint64_t hash;   /* of key and user */
    int rank;        /* in the job, -1 unknown */
    int local_count; /* ranks of the job on this host, 0 unknown */
    int local_rank;  /* among these, all of which run one program; -1 unknown */
    int world;       /* ranks of the job, 0 unknown */
    bool several;    /* it is, or may be, on several hosts */
    char host[64];   /* what GNOMON_HOST calls this host, empty when it says nothing */
};

/* GNOMON_HOST makes hosts of what the launcher takes for one (network namespaces; in tests, some ranks of one
 * machine): each has an agent of its own, and how many ranks are on it is not known. */
void gn_job_detect(struct gn_job *job);

/* The abstract socket name of the job's agent on this host (at most 64 bytes with the zero). */
void gn_job_socket(const struct gn_job *job, char name[64]);

/* The file of this host that meets calls of functions which the user has named (gnomon run --activity), for a
 * program of the job and what is asked of it; and the removal of all that the job has. */
void gn_job_activities(const struct gn_job *job, const char *program, const char *names, char path[128]);
void gn_job_remove_activities(const struct gn_job *job);

/* Hydra's name for the job that it started process pid for, or for those processes of the job that it started
 * together (group: what MPI_Comm_spawn starts is another one). False: it did not start it. */
bool gn_job_hydra(int pid, bool group, char *key, unsigned long size);

#endif
