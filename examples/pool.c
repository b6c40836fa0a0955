/*
 * Master and workers: tasks of differing size, handed out one by one to whoever asks.
 *
 *     worker:  RESULT (the first is empty) ->   master (ANY_SOURCE)
 *     master:  WORK with the next task, or STOP ->  that worker
 *
 * Which worker gets which task is a matter of timing; the printed sum is not, being made of integers.
 */
#include <mpi.h>
#include <stdint.h>
#include "options.h"

enum tag { TAG_WORK = 1, TAG_RESULT, TAG_STOP };

struct task {
    uint64_t seed, steps;
};

struct result {
    uint64_t value, steps; /* steps 0: no task done yet */
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The task itself: some arithmetic that cannot be shortened. */
static __attribute__((noinline)) struct result solve_task(const struct task *task)
{
    uint64_t state = task->seed | 1;
    for (uint64_t i = 0; i < task->steps; i++)
        next_random(&state);
    return (struct result){.value = state >> 16, .steps = task->steps};
}

static __attribute__((noinline)) void work(void)
{
    struct result result = {0, 0};
    for (;;) {
        struct task task;
        MPI_Status status;
        MPI_Send(&result, 2, MPI_UINT64_T, 0, TAG_RESULT, MPI_COMM_WORLD);
        MPI_Recv(&task, 2, MPI_UINT64_T, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == TAG_STOP)
            return;
        result = solve_task(&task);
    }
}

/* Hands out `tasks` tasks of 1 to 2 * mean_steps - 1 steps; returns the sums over all results. */
static __attribute__((noinline)) struct result hand_out(long tasks, long mean_steps, long seed, int workers)
{
    struct result sum = {0, 0};
    uint64_t random = (uint64_t)seed * 2 + 1;
    long handed_out = 0;
    while (workers > 0) {
        struct result result;
        MPI_Status status;
        MPI_Recv(&result, 2, MPI_UINT64_T, MPI_ANY_SOURCE, TAG_RESULT, MPI_COMM_WORLD, &status);
        sum.value += result.value;
        sum.steps += result.steps;
        if (handed_out < tasks) {
            struct task task = {.seed = next_random(&random)};
            task.steps = 1 + next_random(&random) % (uint64_t)(2 * mean_steps - 1);
            MPI_Send(&task, 2, MPI_UINT64_T, status.MPI_SOURCE, TAG_WORK, MPI_COMM_WORLD);
            handed_out++;
        } else {
            MPI_Send(NULL, 0, MPI_UINT64_T, status.MPI_SOURCE, TAG_STOP, MPI_COMM_WORLD);
            workers--;
        }
    }
    return sum;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    long tasks = 600, steps = 1000000, seed = 1;
    const struct option_spec specs[] = {
        {OPTION_NUMBER, "iterations", &tasks, 0, 1e9, 0, "tasks to hand out"},
        {OPTION_NUMBER, "steps", &steps, 1, 1e9, 0, "mean size of a task, in steps of the generator"},
        {OPTION_NUMBER, "seed", &seed, 0, 1e9, 0, "another seed, other tasks"},
        {0}};
    int stop = options_read(argc, argv, "[OPTION]...", "Rank 0 hands out tasks to all others.", specs, NULL,
                            rank == 0);
    if (stop == OPTIONS_RUN && size < 2) {
        fprintf(stderr, "pool: needs at least 2 ranks, a master and a worker\n");
        stop = 2;
    }
    if (stop == OPTIONS_RUN) {
        stop = 0;
        if (rank == 0) {
            struct result sum = hand_out(tasks, steps, seed, size - 1);
            printf("pool: %ld tasks, %llu steps, sum %016llx\n", tasks, (unsigned long long)sum.steps,
                   (unsigned long long)sum.value);
        } else {
            work();
        }
    }
    MPI_Finalize();
    return stop;
}
