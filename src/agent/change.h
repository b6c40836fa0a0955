/*
 * agent/change — what a host's agent measures now, and how it comes to measure something else while the run
 * goes on: as parts/wanted of the run's folder says (agent/wanted.h).
 */
#ifndef GNOMON_AGENT_CHANGE_H
#define GNOMON_AGENT_CHANGE_H

#include "agent/host_clock.h"
#include "agent/order.h"
#include "agent/sampler.h"
#include "agent/trace_part.h"
#include "agent/wanted.h"

#include <sqlite3.h>
#include <stddef.h>

enum { GN_CHANGE_TEXT = 160, GN_CHANGES_MOST = 64 };

struct gn_changes {
    struct gn_wanted_seen seen;
    struct gn_wanted wanted; /* what holds since; but for what has not begun yet, it is done */
    bool windows_wait, sample_waits, metrics_wait;
    uint32_t counted; /* metrics, at any time */
    struct gn_changed {
        double at_s;    /* since the agent began */
        uint64_t ticks; /* of its counter */
        char what[48];
    } items[GN_CHANGES_MOST];
    size_t count; /* the first of them */
};

/* What the agent measures with. */
struct gn_changing {
    const struct gn_agent_settings *settings;
    struct gn_trace_part *trace; /* NULL: it has not begun, or there is none: no_trace says why */
    const char *no_trace;
    struct gn_sampler *sampler; /* NULL: likewise */
};

/* Does what is wanted anew in the run's folder; now_s: since the agent began. */
void gn_change_look(struct gn_changes *changes, const struct gn_changing *agent, const char *folder,
                    double now_s);

/* As the host's mark says it (agent/mark.h). */
struct gn_change_texts {
    char windows[GN_CHANGE_TEXT], sample[GN_CHANGE_TEXT], metric[GN_CHANGE_TEXT];
};
void gn_change_state(const struct gn_changes *changes, const struct gn_changing *agent,
                     struct gn_change_texts *texts);

/* For who reads the profile: changed/<host>/<n>, ticks as the host's clock shows them. */
void gn_change_note(const struct gn_changes *changes, const struct gn_host_clock *clock, const char *host,
                    sqlite3 *profile);

#endif
