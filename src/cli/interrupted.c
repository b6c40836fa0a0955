#include "cli/interrupted.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

static atomic_int seen; /* signal; 0: none */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void (*clean_with)(void *self);
static void *clean_self;

static void fill(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

/* By whoever comes first: the lock is not given back. */
static void end(int signal_number)
{
    sigset_t set;
    pthread_mutex_lock(&lock);
    if (clean_with)
        clean_with(clean_self);
    signal(signal_number, SIG_DFL);
    fill(&set);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(signal_number);
}

static void *wait_for_signal(void *unused)
{
    static const struct timespec second = {.tv_sec = 1};
    sigset_t set;
    int number = 0;
    fill(&set);
    while (sigwait(&set, &number) != 0)
        ;
    atomic_store(&seen, number);
    pthread_mutex_lock(&lock);
    const int waits = clean_with != NULL;
    pthread_mutex_unlock(&lock);
    if (waits)
        nanosleep(&second, NULL);
    end(number);
    return unused;
}

void gn_interrupted_begin(void)
{
    sigset_t set;
    pthread_t thread;
    fill(&set);
    if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
        return;
    if (pthread_create(&thread, NULL, wait_for_signal, NULL) == 0)
        pthread_detach(thread);
    else
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void gn_interrupted_clean(void (*clean)(void *self), void *self)
{
    pthread_mutex_lock(&lock);
    clean_with = clean;
    clean_self = self;
    pthread_mutex_unlock(&lock);
}

void gn_interrupted_check(void)
{
    int number = atomic_load_explicit(&seen, memory_order_relaxed);
    if (number)
        end(number);
}
