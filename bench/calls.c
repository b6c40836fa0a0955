/*
 * What an MPI call costs, for a program and for whoever sits between it and MPI.
 *
 *   calls batches [N]       N (default 100) pairs of batches of every pattern
 *   calls iterations N      N iterations of the ring, untimed: for the size of what a tool leaves behind
 *
 * With one rank on MPI_COMM_SELF, with two between them.
 *
 * A pair is one batch through MPI_X, where a preloaded tool is met, and one through PMPI_X, where it is not:
 * the same process, a few milliseconds apart, so that neither the machine's speed nor the layout of memory
 * comes between them. Patterns take turns pair by pair. A pair of which either batch was disturbed (it took
 * half as long again as the first quartile of its way: another process had the core) is left out. Rank 0
 * prints two lines for each pattern:
 *
 *   pattern NAME calls C iterations I batches B min NS q1 NS median NS q3 NS       through MPI_X
 *   added NAME calls C iterations I batches B min NS q1 NS median NS q3 NS         differences of the pairs
 *
 * nanoseconds per MPI call; C is the number of calls that a rank makes in one iteration, B counts what was
 * kept.
 */
#include "deep.h"
#include "timing.h"

#include <mpi.h>
#include <string.h>

enum { BATCH_NS = 2000000 };
enum way { THROUGH_TOOL, PAST_TOOL, WAYS };

static MPI_Comm comm;
static int self, other; /* ranks in comm */

/* The calls that are measured (bench/empty_pmpi.c wraps the same), by either name. */
static const struct mpi {
    __typeof__(&MPI_Iprobe) iprobe;
    __typeof__(&MPI_Sendrecv) sendrecv;
    __typeof__(&MPI_Send) send;
    __typeof__(&MPI_Recv) recv;
    __typeof__(&MPI_Isend) isend;
    __typeof__(&MPI_Irecv) irecv;
    __typeof__(&MPI_Waitall) waitall;
    __typeof__(&MPI_Allreduce) allreduce;
} ways[WAYS] = {
    [THROUGH_TOOL] = {MPI_Iprobe, MPI_Sendrecv, MPI_Send, MPI_Recv, MPI_Isend, MPI_Irecv, MPI_Waitall,
                      MPI_Allreduce},
    [PAST_TOOL] = {PMPI_Iprobe, PMPI_Sendrecv, PMPI_Send, PMPI_Recv, PMPI_Isend, PMPI_Irecv, PMPI_Waitall,
                   PMPI_Allreduce},
};
static const struct mpi *mpi = &ways[THROUGH_TOOL];

/* ---- the patterns ---- */

static __attribute__((noinline)) void iprobes(long iterations)
{
    int flag;
    for (long i = 0; i < iterations; i++)
        mpi->iprobe(other, 0, comm, &flag, MPI_STATUS_IGNORE);
}

static void run_iprobe(long iterations)
{
    deep_call(iprobes, iterations);
    DEEP_BARRIER();
}

static void run_sendrecv(long iterations)
{
    double out = 1, in;
    for (long i = 0; i < iterations; i++)
        mpi->sendrecv(&out, 1, MPI_DOUBLE, other, 0, &in, 1, MPI_DOUBLE, other, 0, comm, MPI_STATUS_IGNORE);
}

static void run_pingpong(long iterations)
{
    double ball = 1;
    for (long i = 0; i < iterations; i++) {
        if (self == 0)
            mpi->send(&ball, 1, MPI_DOUBLE, other, 0, comm);
        mpi->recv(&ball, 1, MPI_DOUBLE, other, 0, comm, MPI_STATUS_IGNORE);
        if (self != 0)
            mpi->send(&ball, 1, MPI_DOUBLE, other, 0, comm);
    }
}

static void run_ring(long iterations)
{
    double out = 1, in;
    for (long i = 0; i < iterations; i++) {
        MPI_Request requests[2];
        mpi->irecv(&in, 1, MPI_DOUBLE, other, 0, comm, &requests[0]);
        mpi->isend(&out, 1, MPI_DOUBLE, other, 0, comm, &requests[1]);
        mpi->waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void run_allreduce(long iterations)
{
    double one = 1, sum;
    for (long i = 0; i < iterations; i++)
        mpi->allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
}

static struct pattern {
    const char *name;
    void (*run)(long iterations);
    int calls;        /* MPI calls of one rank in an iteration */
    int ranks;        /* that it is for; 0: any number */
    long iterations;  /* in a batch */
    double *ns[WAYS]; /* of each batch, per call */
} patterns[] = {
    {.name = "iprobe, 12 frames", .run = run_iprobe, .calls = 1},
    {.name = "sendrecv 8 B", .run = run_sendrecv, .calls = 1, .ranks = 1},
    {.name = "ping-pong 8 B", .run = run_pingpong, .calls = 2, .ranks = 2},
    {.name = "isend/irecv/waitall", .run = run_ring, .calls = 3},
    {.name = "allreduce 8 B", .run = run_allreduce, .calls = 1},
};

enum { PATTERNS = sizeof patterns / sizeof patterns[0] };

/* ---- measuring ---- */

/* Nanoseconds per call. */
static __attribute__((noinline)) double time_batch(const struct pattern *pattern, enum way way)
{
    mpi = &ways[way];
    MPI_Barrier(comm);
    double begin_ns = timing_now_ns();
    pattern->run(pattern->iterations);
    return (timing_now_ns() - begin_ns) / (double)(pattern->iterations * pattern->calls);
}

/* Until the fastest of three batches is long enough; rank 0 decides for both. */
static void calibrate(struct pattern *p)
{
    int enough = 0;
    for (p->iterations = 16; !enough; MPI_Bcast(&enough, 1, MPI_INT, 0, comm)) {
        p->iterations *= 2;
        double fastest_ns = time_batch(p, PAST_TOOL);
        for (int i = 0; i < 2; i++)
            fastest_ns = timing_min(fastest_ns, time_batch(p, PAST_TOOL));
        enough = fastest_ns * (double)(p->iterations * p->calls) > BATCH_NS / 2 || p->iterations > 1 << 24;
    }
}

static void print(const char *what, const struct pattern *p, double *values, int count)
{
    struct timing_summary s = timing_summarise(values, count);
    printf("%s %s calls %d iterations %ld batches %d min %.2f q1 %.2f median %.2f q3 %.2f\n", what, p->name,
           p->calls, p->iterations, count, s.min, s.q1, s.median, s.q3);
}

static double undisturbed_ns(const double *ns, int batches)
{
    double sorted[TIMING_MAX_BATCHES];
    memcpy(sorted, ns, (size_t)batches * sizeof *ns);
    return 1.5 * timing_summarise(sorted, batches).q1;
}

static void print_pattern(const struct pattern *p, int batches)
{
    double through_ns[TIMING_MAX_BATCHES], added_ns[TIMING_MAX_BATCHES];
    double limit_ns = undisturbed_ns(p->ns[THROUGH_TOOL], batches);
    double past_limit_ns = undisturbed_ns(p->ns[PAST_TOOL], batches);
    int kept = 0;
    for (int i = 0; i < batches; i++)
        if (p->ns[THROUGH_TOOL][i] <= limit_ns && p->ns[PAST_TOOL][i] <= past_limit_ns) {
            through_ns[kept] = p->ns[THROUGH_TOOL][i];
            added_ns[kept++] = p->ns[THROUGH_TOOL][i] - p->ns[PAST_TOOL][i];
        }
    if (kept == 0)
        return;
    print("pattern", p, through_ns, kept);
    print("added", p, added_ns, kept);
}

static __attribute__((noinline)) void measure(int ranks, int batches)
{
    static double ns[PATTERNS][WAYS][TIMING_MAX_BATCHES];
    for (int i = 0; i < PATTERNS; i++) {
        if (patterns[i].ranks && patterns[i].ranks != ranks)
            continue;
        for (int way = 0; way < WAYS; way++)
            patterns[i].ns[way] = ns[i][way];
        calibrate(&patterns[i]);
    }
    for (int turn = 0; turn < batches * PATTERNS * WAYS; turn++) {
        int batch = turn / (PATTERNS * WAYS);
        struct pattern *p = &patterns[turn / WAYS % PATTERNS];
        enum way way = (enum way)((turn + batch) % WAYS); /* the two go first in turn */
        if (p->ns[way])
            p->ns[way][batch] = time_batch(p, way);
    }
    for (int i = 0; i < PATTERNS && self == 0; i++)
        if (patterns[i].ns[0])
            print_pattern(&patterns[i], batches);
}

int main(int argc, char **argv)
{
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    comm = ranks == 1 ? MPI_COMM_SELF : MPI_COMM_WORLD;
    MPI_Comm_rank(comm, &self);
    other = ranks == 1 ? self : 1 - self;
    const char *mode = argc > 1 ? argv[1] : "batches";
    long number = argc > 2 ? atol(argv[2]) : 100;
    if (ranks > 2) {
        fprintf(stderr, "calls: one rank or two, not %d\n", ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (strcmp(mode, "iterations") == 0)
        run_ring(number);
    else if (strcmp(mode, "batches") == 0 && number > 0 && number <= TIMING_MAX_BATCHES)
        measure(ranks, (int)number);
    else
        fprintf(stderr, "usage: calls [batches N|iterations N]\n");
    MPI_Finalize();
    return 0;
}
