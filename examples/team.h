/*
 * The threads of a rank in a bulk-synchronous program, at a pace that does not depend on the machine.
 *
 *     main thread   begin "work" ─┬─ share 0 ──┬─ end "work", then MPI (MPI_THREAD_FUNNELED)
 *     thread 1                    ├─ share 1 ──┤  region "work" around its share
 *     thread 2                    └─ share 2 ──┘
 *
 * Ranks times threads are often more than there are cores. What each does would then take as long as the
 * others leave it room, and a rank with more work would hold nobody up but the cores. So work is counted in
 * items (a point, an edge), and an item takes `--pace` nanoseconds: a thread that is early sleeps. What is
 * due is counted from the beginning of the thread's share, so that sleeping too long is made up for; a thread
 * that is late does not sleep. This holds while the cores can do the work in less time than the pace allows
 * it.
 *
 * One rank, the straggler, has `--straggler-work` times the items of its share, without another result.
 */
#ifndef EXAMPLES_TEAM_H
#define EXAMPLES_TEAM_H

#include <errno.h>
#include <gnomon.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include "options.h"

#define TEAM_MAX 64
/* Due time from one sleep to the next: far above what sleeping itself costs. */
#define TEAM_SLEEP_NS 1000000

struct team;

/* One thread. */
struct member {
    struct team *team;
    long index; /* 0 is the main thread */
    pthread_t thread;
    int64_t start_ns; /* of the present share, CLOCK_MONOTONIC */
    long items, next; /* done of the present share, and at how many to sleep next */
    long per_sleep;   /* items from one sleep to the next */
    double extra;     /* straggler: items without result, per item of the share */
};

/* A share of the work, between member_begin and member_end. */
typedef void team_work(void *program, struct member *me);

struct team {
    /* options */
    long threads, pace_ns;
    long straggler; /* rank, or -1 */
    double straggler_work;
    long balanced, with_time;

    struct member members[TEAM_MAX];
    pthread_barrier_t begin, end; /* of the shares */
    team_work *work;              /* NULL: the threads end */
    void *program;
    int rank;
    double start_s; /* MPI_Wtime */
};

/* clang-format takes initializers in macros for code. */
/* clang-format off */
#define TEAM_DEFAULTS(item_ns) {.threads = 1, .pace_ns = (item_ns), .straggler = -1, .straggler_work = 3}

/* Lines of a program's table of options; `item` is what takes pace_ns. */
#define TEAM_OPTIONS(team, size, item) \
    {OPTION_NUMBER, "threads", &(team)->threads, 1, TEAM_MAX, 0, "threads of each rank"}, \
    {OPTION_NUMBER, "pace", &(team)->pace_ns, 0, 1e9, 0, "ns that " item " takes; 0: as fast as it goes"}, \
    {OPTION_MAYBE_NUMBER, "straggler", &(team)->straggler, 0, (size) - 1, (size) - 1, "rank N (the last) is slow"}, \
    {OPTION_REAL, "straggler-work", &(team)->straggler_work, 1, 1000, 0, "how many times the work it does"}, \
    {OPTION_FLAG, "balanced", &(team)->balanced, 0, 0, 0, "no straggler after all"}, \
    {OPTION_FLAG, "time", &(team)->with_time, 0, 0, 0, "also print the run time"}
/* clang-format on */

static inline int64_t team_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Until what is done is due. EINTR: a signal came first. */
static inline int member_sleep(struct member *me)
{
    int64_t due_ns = me->start_ns + me->items * me->team->pace_ns;
    struct timespec due = {.tv_sec = due_ns / 1000000000, .tv_nsec = due_ns % 1000000000};
    me->next = me->items + me->per_sleep;
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
}

/* How many items without result a share of `items` brings with it. */
static inline long member_extra(const struct member *me, long items)
{
    return (long)(me->extra * (double)items);
}

/* To be called as the work goes on. What an interrupted sleep leaves out is slept later. */
static inline void member_did(struct member *me, long items)
{
    me->items += items;
    if (me->items >= me->next)
        member_sleep(me);
}

/* Around a share. The main thread's lies in the region around the call of team_run. */
static inline void member_begin(struct member *me, const char *region)
{
    if (me->index > 0)
        gnomon_region_begin(region);
    me->items = 0;
    me->next = me->per_sleep;
    me->start_ns = team_now_ns();
}

static inline void member_end(struct member *me, const char *region)
{
    while (me->team->pace_ns > 0 && member_sleep(me) == EINTR)
        continue;
    if (me->index > 0)
        gnomon_region_end(region);
}

static inline void *member_run(void *argument)
{
    struct member *me = argument;
    struct team *team = me->team;
    for (;;) {
        pthread_barrier_wait(&team->begin);
        if (!team->work)
            return NULL;
        team->work(team->program, me);
        pthread_barrier_wait(&team->end);
    }
}

/* Each thread does work(program, itself), once; returns when all have. Inlined, for the main thread's call of
 * `work` to be one that tools can follow. */
static inline __attribute__((always_inline)) void team_run(struct team *team, team_work *work, void *program)
{
    team->work = work;
    team->program = program;
    pthread_barrier_wait(&team->begin);
    work(program, &team->members[0]);
    pthread_barrier_wait(&team->end);
}

static inline void team_fail(const struct team *team, const char *what)
{
    fprintf(stderr, "rank %d: %s\n", team->rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* After options_read. Ends the job when there are no threads to have. */
static inline void team_start(struct team *team)
{
    int level;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_FUNNELED && team->threads > 1)
        team_fail(team, "this MPI does not offer MPI_THREAD_FUNNELED: only --threads 1");
    MPI_Comm_rank(MPI_COMM_WORLD, &team->rank);
    int slow = team->rank == team->straggler && !team->balanced;
    pthread_barrier_init(&team->begin, NULL, (unsigned)team->threads);
    pthread_barrier_init(&team->end, NULL, (unsigned)team->threads);
    for (long i = 0; i < team->threads; i++) {
        struct member *member = &team->members[i];
        *member = (struct member){.team = team, .index = i, .extra = slow ? team->straggler_work - 1 : 0};
        member->per_sleep = team->pace_ns > 0 ? 1 + TEAM_SLEEP_NS / team->pace_ns : INT64_MAX / 2;
        if (i > 0 && pthread_create(&member->thread, NULL, member_run, member) != 0)
            team_fail(team, "cannot create as many threads");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    team->start_s = MPI_Wtime();
}

/* Ends the threads; on rank 0 with `--time` prints how long it was since team_start. */
static inline void team_stop(struct team *team, const char *program)
{
    if (team->with_time && team->rank == 0)
        printf("%s: %.3f s\n", program, MPI_Wtime() - team->start_s);
    team->work = NULL;
    pthread_barrier_wait(&team->begin);
    for (long i = 1; i < team->threads; i++)
        pthread_join(team->members[i].thread, NULL);
    pthread_barrier_destroy(&team->begin);
    pthread_barrier_destroy(&team->end);
}

#endif
