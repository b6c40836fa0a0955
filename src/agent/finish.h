/*
 * agent/finish — from ended processes to a finished run folder: final snapshots, profile, merging with the
 * parts of other hosts, report.
 */
#ifndef GNOMON_AGENT_FINISH_H
#define GNOMON_AGENT_FINISH_H

#include "clock/ticks.h"
#include "agent/change.h"
#include "agent/course.h"
#include "agent/report.h"
#include "agent/folder.h"
#include "agent/host_clock.h"
#include "agent/look_up.h"
#include "agent/sampler.h"
#include "agent/trace_part.h"
#include "agent/watched.h"

struct gn_finish {
    const struct gn_agent_settings *settings;
    gn_agent_report *report;
    const struct gn_job *job;
    struct gn_watched_list *watched;
    struct gn_folder *folder;
    struct gn_moment first_moment; /* when the agent began */
    time_t started;                /* wall clock */
    const char *host;
    int launcher_error;  /* the launcher's standard error, -1 when it could not be had */
    int launcher_handle; /* its pidfd, -1 likewise */
    int *guard;          /* the channel to it: agent/guard.h */
    int guard_pid;       /* 0: there is none */
    struct gn_host_clock *clock;
    struct gn_course *course;
    struct gn_look_up *look_up;  /* NULL: nothing was looked up ahead */
    struct gn_sampler *sampler;  /* NULL: nothing is sampled */
    struct gn_trace_part *trace; /* NULL: none */
    struct gn_readers *readers;  /* after the end: who has not got all of the trace; NULL: nobody */
    struct gn_error no_trace;    /* why there is none though one was asked for; empty otherwise */
    struct gn_changes changes;   /* of what is measured, since the run began */
    struct gn_change_texts told; /* by the mark */
    bool moved;                  /* the folder was left for another place */
};

/* Creates parts/<host>.open: this host takes part and has not finished. It says how to reach the agent, for
 * whoever wants to look at the running processes. Refreshed by gn_finish_heartbeat. */
void gn_finish_announce(struct gn_finish *finish, const char *state); /* "running", "finishing" */
void gn_finish_heartbeat(const struct gn_finish *finish);

/* Measures from now on what somebody wants (agent/change.h), and says so. */
void gn_finish_look_for_changes(struct gn_finish *finish);

/* Saves what is measured so far as parts/<host>.db, without source places: what remains when this host, or
 * the agent with all of its job, is killed. */
void gn_finish_checkpoint(const struct gn_finish *finish);

void gn_finish(struct gn_finish *finish);

/* What is left of it where an agent has died after the profile was saved: the report. */
void gn_finish_tell(struct gn_finish *finish);

/* Afterwards, when nobody waits for this process any more: gives readers the rest of their streams. */
void gn_finish_readers(struct gn_finish *finish);

#endif
