/*
 * agent/mark — parts/<host>.open in a run's folder: a host takes part, and has not finished
 * (docs/run-folder.md).
 */
#ifndef GNOMON_AGENT_MARK_H
#define GNOMON_AGENT_MARK_H

#include <stdbool.h>

/* Seconds without a sign of life after which a host is not waited for. Agents give one every two; a file
 * server may tell of it a minute late. */
enum { GN_MARK_STALE_SECONDS = 60 };

struct gn_agent_mark {
    const char *state; /* "running", "finishing" */
    int agent, guard;  /* processes; guard: 0 there is none */
    const char *socket;
    const char *windows, *sample; /* how much is measured: a rate, "off", or "never" and why */
    const char *metric;           /* likewise: a bit for each that is counted, and for each that ever was */
};

/* As it was written last; what it does not say is empty. */
struct gn_mark_seen {
    int agent, guard;
    char socket[64], boot[64], windows[160], sample[160], metric[160];
};

void gn_mark_write(const char *path, const struct gn_agent_mark *mark);

bool gn_mark_read(const char *path, struct gn_mark_seen *seen);

/* Whether somebody may still be at work there: a socket that answers, a process that is there, a recent sign
 * of life. Where a recent one is all there is, and the host is this one, waits for the next one. */
bool gn_mark_is_alive(const char *path);

#endif
