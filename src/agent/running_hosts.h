/*
 * agent/running_hosts — the hosts of a run that goes on: what each measures now, and having them measure
 * something else (agent/wanted.h).
 */
#ifndef GNOMON_AGENT_RUNNING_HOSTS_H
#define GNOMON_AGENT_RUNNING_HOSTS_H

#include "agent/wanted.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* As a host's mark says it. */
struct gn_live_rate {
    double rate; /* a second; 0: none for now */
    bool never;  /* nor later */
    char why[160];
};

struct gn_running_hosts {
    struct gn_running_host {
        char name[256];
        struct gn_live_rate windows, sample; /* events in windows; samples of each thread */
        struct gn_live_rate metrics;         /* rate: a bit for each */
        uint32_t counted;                    /* those that were, at any time */
    } * items;                               /* by name */
    size_t count;
};

/* Of a run's folder; the caller clears. -ENOENT: nobody is at work on it; other negative errno values. */
int gn_running_hosts_read(struct gn_running_hosts *hosts, const char *folder, struct gn_error *err);
void gn_running_hosts_clear(struct gn_running_hosts *hosts);

/* Has all hosts do it, and waits until they do; they are read anew. -ENOTSUP: one of them never can, and
 * nothing is changed; -ETIMEDOUT: not all have answered within some seconds; other negative errno values. */
int gn_running_hosts_change(struct gn_running_hosts *hosts, const char *folder,
                            const struct gn_wanted *wanted, struct gn_error *err);

#endif
