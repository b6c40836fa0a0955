#include "agent/late.h"

#include "answer/quantities.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { FIRST_S = 1, NEXT_S = 5 };

static void tell(struct gn_late *late)
{
    const char *doing = atomic_load(&late->doing);
    size_t done = atomic_load(&late->done), all = atomic_load(&late->all);
    char share[GN_QUANTITY_TEXT];
    dprintf(late->output, "gnomon: the program has ended; its profile is being finished (%s%s%s%s)\n",
            doing ? doing : "reading what was measured", all ? ", " : "",
            all ? gn_share_text((double)done / (double)all, share) : "", all ? " done" : "");
}

static void *run(void *argument)
{
    struct gn_late *late = argument;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += FIRST_S;
    pthread_mutex_lock(&late->lock);
    while (!late->ended) {
        if (pthread_cond_timedwait(&late->changed, &late->lock, &until) == 0)
            continue;
        tell(late);
        until.tv_sec += NEXT_S;
    }
    pthread_mutex_unlock(&late->lock);
    return NULL;
}

void gn_late_begin(struct gn_late *late, int output)
{
    pthread_condattr_t monotonic;
    sigset_t all, before;
    memset(late, 0, sizeof *late);
    late->output = output;
    if (output < 0)
        return;
    pthread_mutex_init(&late->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&late->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all); /* signals are for the main thread */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    late->runs = pthread_create(&late->thread, NULL, run, late) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void gn_late_doing(struct gn_late *late, const char *what, size_t done, size_t all)
{
    atomic_store(&late->doing, what);
    atomic_store(&late->done, done);
    atomic_store(&late->all, all);
}

void gn_late_end(struct gn_late *late)
{
    if (!late->runs)
        return;
    pthread_mutex_lock(&late->lock);
    late->ended = true;
    pthread_cond_signal(&late->changed);
    pthread_mutex_unlock(&late->lock);
    pthread_join(late->thread, NULL);
    late->runs = false;
}
