/*
 * What is added to a call that tests or waits for many requests, by how many of them stay pending.
 *
 *   families [N]            N (default 40) pairs of batches of each row; one rank, on MPI_COMM_SELF
 *
 * A pair is one batch through MPI_X, where a preloaded tool is met, and one through PMPI_X, where it is not,
 * as in calls.c. Receives that nobody sends to are pending; where a call has to come back with something, one
 * more receive is posted and sent to in each iteration, and stands last in the list. One line each:
 *
 *   family NAME pending P calls C added median NS per call, PENDING_NS per pending request, aim NS
 *
 * C calls of an iteration are met by the tool. PENDING_NS is what has been added to a call against the same
 * with one pending request, divided by the others; the aim is 60 ns a call and 0.3 ns a pending request.
 */
#include "timing.h"

#include <mpi.h>
#include <string.h>

enum { MOST = 4096, BATCH_NS = 1000000, TAG_NEVER = 1, TAG_NOW = 2 };
enum way { THROUGH_TOOL, PAST_TOOL, WAYS };
static const double AIM_NS = 60, AIM_PENDING_NS = 0.3;

static const struct mpi {
    __typeof__(&MPI_Irecv) irecv;
    __typeof__(&MPI_Testall) testall;
    __typeof__(&MPI_Testsome) testsome;
    __typeof__(&MPI_Testany) testany;
    __typeof__(&MPI_Waitany) waitany;
    __typeof__(&MPI_Waitsome) waitsome;
} ways[WAYS] = {
    [THROUGH_TOOL] = {MPI_Irecv, MPI_Testall, MPI_Testsome, MPI_Testany, MPI_Waitany, MPI_Waitsome},
    [PAST_TOOL] = {PMPI_Irecv, PMPI_Testall, PMPI_Testsome, PMPI_Testany, PMPI_Waitany, PMPI_Waitsome},
};
static const struct mpi *mpi;

static MPI_Request requests[MOST], list[MOST + 1];
static int indices[MOST + 1], buffers[MOST], ball;

static void run_testall(int pending, long iterations)
{
    int flag;
    for (long i = 0; i < iterations; i++)
        mpi->testall(pending, list, &flag, MPI_STATUSES_IGNORE);
}

static void run_testsome(int pending, long iterations)
{
    int count;
    for (long i = 0; i < iterations; i++)
        mpi->testsome(pending, list, &count, indices, MPI_STATUSES_IGNORE);
}

static void run_testany(int pending, long iterations)
{
    int flag, index;
    for (long i = 0; i < iterations; i++)
        mpi->testany(pending, list, &index, &flag, MPI_STATUS_IGNORE);
}

static void give(int pending)
{
    mpi->irecv(&ball, 1, MPI_INT, 0, TAG_NOW, MPI_COMM_SELF, &list[pending]);
    PMPI_Send(&pending, 1, MPI_INT, 0, TAG_NOW, MPI_COMM_SELF);
}

static void run_waitany(int pending, long iterations)
{
    int index;
    for (long i = 0; i < iterations; i++) {
        give(pending);
        mpi->waitany(pending + 1, list, &index, MPI_STATUS_IGNORE);
    }
}

static void run_waitsome(int pending, long iterations)
{
    int count;
    for (long i = 0; i < iterations; i++) {
        give(pending);
        mpi->waitsome(pending + 1, list, &count, indices, MPI_STATUSES_IGNORE);
    }
}

static const struct family {
    const char *name;
    void (*run)(int pending, long iterations);
    int calls;
} families[] = {
    {"Testall", run_testall, 1},        {"Testsome", run_testsome, 1},        {"Testany", run_testany, 1},
    {"Irecv, Waitany", run_waitany, 2}, {"Irecv, Waitsome", run_waitsome, 2},
};

static const int sizes[] = {1, 4, 16, 64, 256, 1024, 4096};
enum { FAMILIES = sizeof families / sizeof families[0], SIZES = sizeof sizes / sizeof sizes[0] };

/* Nanoseconds per iteration. */
static __attribute__((noinline)) double time_batch(const struct family *f, int pending, long iterations,
                                                   enum way way)
{
    mpi = &ways[way];
    double begin_ns = timing_now_ns();
    f->run(pending, iterations);
    return (timing_now_ns() - begin_ns) / (double)iterations;
}

static long calibrate(const struct family *f, int pending)
{
    long iterations = 16;
    while (time_batch(f, pending, iterations, PAST_TOOL) * (double)iterations < BATCH_NS)
        iterations *= 2;
    return iterations;
}

/* Added to an iteration, at the median. */
static double measure(const struct family *f, int pending, int batches)
{
    static double added_ns[TIMING_MAX_BATCHES];
    memcpy(list, requests, sizeof requests);
    long iterations = calibrate(f, pending);
    time_batch(f, pending, iterations, THROUGH_TOOL);
    for (int i = 0; i < batches; i++) {
        double first_ns = time_batch(f, pending, iterations, (enum way)(i % WAYS));
        double second_ns = time_batch(f, pending, iterations, (enum way)(1 - i % WAYS));
        added_ns[i] = i % WAYS == THROUGH_TOOL ? first_ns - second_ns : second_ns - first_ns;
    }
    return timing_summarise(added_ns, batches).median;
}

static void measure_family(const struct family *f, int batches)
{
    double of_one_ns = 0;
    for (int i = 0; i < SIZES; i++) {
        int pending = sizes[i];
        double ns = measure(f, pending, batches);
        of_one_ns = i == 0 ? ns : of_one_ns;
        printf(
            "family %s pending %d calls %d added median %.1f per call, %.2f per pending request, aim %.1f\n",
            f->name, pending, f->calls, ns / f->calls, pending > 1 ? (ns - of_one_ns) / (pending - 1) : 0,
            AIM_NS + AIM_PENDING_NS * pending / f->calls);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int batches = argc > 1 ? atoi(argv[1]) : 40;
    if (batches < 1 || batches > TIMING_MAX_BATCHES) {
        fprintf(stderr, "usage: families [BATCHES], 1 to %d\n", TIMING_MAX_BATCHES);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = 0; i < MOST; i++)
        MPI_Irecv(&buffers[i], 1, MPI_INT, 0, TAG_NEVER, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < FAMILIES; i++)
        measure_family(&families[i], batches);
    for (int i = 0; i < MOST; i++)
        MPI_Send(&ball, 1, MPI_INT, 0, TAG_NEVER, MPI_COMM_SELF);
    MPI_Waitall(MOST, requests, MPI_STATUSES_IGNORE);
    MPI_Finalize();
    return 0;
}
