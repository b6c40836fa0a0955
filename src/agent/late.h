/*
 * agent/late — tells what is being done when the user waits for it for more than a second. Until then, and
 * that is nearly always, nothing is told.
 */
#ifndef GNOMON_AGENT_LATE_H
#define GNOMON_AGENT_LATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct gn_late {
    int output;
    pthread_t thread;
    pthread_mutex_t lock; /* of ended */
    pthread_cond_t changed;
    bool runs, ended;
    _Atomic(const char *) doing;
    atomic_size_t done, all;
};

/* output: a descriptor that stays open until the end; -1: nobody waits. */
void gn_late_begin(struct gn_late *late, int output);

/* what: a text that stays, "looking up source lines". all: of how many things it is done, 0 unknown. */
void gn_late_doing(struct gn_late *late, const char *what, size_t done, size_t all);

/* Nothing is written afterwards. */
void gn_late_end(struct gn_late *late);

#endif
