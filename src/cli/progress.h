/*
 * cli/progress — how far a long command is, as a bar on a terminal: written over itself, gone at the end.
 * Where standard error is no terminal, nothing is written.
 */
#ifndef GNOMON_CLI_PROGRESS_H
#define GNOMON_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct gn_progress {
    bool is_shown;
    int width;         /* of the terminal */
    uint64_t next_ns;  /* nothing new is shown before */
    const char *phase; /* last shown */
};

/* is_shown: for the one process of several that has the terminal. */
struct gn_progress gn_progress_begin(bool is_shown);
/* share: 0 … 1 of the phase. As often as one likes: it is shown some ten times a second. */
void gn_progress_show(struct gn_progress *progress, const char *phase, double share);
void gn_progress_end(struct gn_progress *progress);

#endif
