/*
 * agent/course — how the graphs of this host's processes grew while they ran (DESIGN: time series): the agent
 * looks at their sums from time to time, without stopping anybody, and keeps the differences in constant
 * space (graph/series.h).
 *
 * Steps are 25 ms wide at first and double with the run's length, so that there are never more than
 * GN_SERIES_MOST; looks take at most a two-hundredth of the time, or they come more rarely. A call that
 * lasts over a moment is divided there, and so is a computation.
 *
 * Nothing is kept where the cores have counters of their own: then nothing is of one moment.
 */
#ifndef GNOMON_AGENT_COURSE_H
#define GNOMON_AGENT_COURSE_H

#include "agent/host_clock.h"
#include "agent/sampler.h"
#include "agent/watched.h"
#include "graph/process_series.h"

struct gn_graph;

struct gn_course {
    struct gn_series *series;            /* NULL: nothing was looked at yet, or there is no memory */
    struct gn_course_process *processes; /* by place in the list of those watched */
    size_t count, room;
    size_t pairs;         /* rows of the series for peers and completions */
    uint64_t begin_ticks; /* when the first one began */
    uint64_t next_ns, step_ns;
    uint64_t look_ns; /* that a look takes, of late */
    uint64_t read_ns; /* that it takes at least to read all, as far as is known: more where that failed */
};

/* How long until the next look; 0: it is due. */
uint64_t gn_course_wait_ns(const struct gn_course *course, uint64_t now_ns);

/* Looks, now. sampler: of the same processes; or NULL. */
void gn_course_look(struct gn_course *course, const struct gn_watched_list *watched,
                    const struct gn_host_clock *clock, struct gn_sampler *sampler);

/* Likewise when all have ended, and nothing is sampled any more: the last look. */
void gn_course_end(struct gn_course *course, const struct gn_watched_list *watched,
                   const struct gn_host_clock *clock, struct gn_sampler *sampler);

/* The rows of a process, by its place in the list; NULL: nothing is kept of it. The course's own, until the
 * next look. */
const struct gn_series_process *gn_course_of(const struct gn_course *course, size_t process);

/* Puts the moments into a graph. 0 or -ENOMEM. */
int gn_course_put_moments(const struct gn_course *course, const struct gn_host_clock *clock, const char *host,
                          struct gn_graph *graph, struct gn_error *err);

void gn_course_clear(struct gn_course *course);

#endif
