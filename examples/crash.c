/*
 * Ends in a chosen bad way: what does a tool keep of a job that dies?
 *
 *     crash MODE [--rank R] [--after N]
 *
 * All ranks run a loop of a ring exchange and an Allreduce; after N rounds rank R does MODE in
 * fatal_step(), while the others go on and, depending on the MPI, wait for it or are ended.
 *
 *     segv    writes through a bad pointer        exit    exit(3) without MPI_Finalize
 *     kill    raises SIGKILL                      hang    waits in MPI_Recv for ever
 *     abort   MPI_Abort(MPI_COMM_WORLD, 4)        noinit  (all ranks) never calls MPI
 *     ok      nothing bad: the loop runs to its end
 */
#include <mpi.h>
#include <signal.h>
#include "options.h"

enum mode { SEGV, KILL, ABORT, EXIT, HANG, NOINIT, OK, MODES };

static const char *const mode_names[MODES] = {"segv", "kill", "abort", "exit", "hang", "noinit", "ok"};

static enum mode mode_from_name(const char *name)
{
    int m = 0;
    while (m < MODES && strcmp(mode_names[m], name) != 0)
        m++;
    return m;
}

/* One round: passes `token` to the right, then sums what arrived. */
static __attribute__((noinline)) long round_of_messages(long token, int rank, int size)
{
    long from_left = 0, sum = 0;
    MPI_Sendrecv(&token, 1, MPI_LONG, (rank + 1) % size, 0, &from_left, 1, MPI_LONG, (rank + size - 1) % size,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&from_left, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return sum % 1000003 + rank;
}

static int *volatile bad_pointer; /* volatile: the compiler must not know that it is NULL */

static __attribute__((noinline)) void fatal_step(enum mode mode, int rank)
{
    int never;
    switch (mode) {
    case SEGV:
        *bad_pointer = 1;
        break;
    case KILL:
        raise(SIGKILL);
        break;
    case ABORT:
        MPI_Abort(MPI_COMM_WORLD, 4);
        break;
    case EXIT:
        exit(3);
    case HANG: /* nobody sends with this tag */
        fprintf(stderr, "crash: rank %d waits for ever\n", rank);
        MPI_Recv(&never, 1, MPI_INT, rank, 4711, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    default:
        break;
    }
}

static __attribute__((noinline)) long run(enum mode mode, int fatal_rank, long after, long rounds, int rank,
                                          int size)
{
    long token = rank + 1;
    for (long i = 0; i < rounds; i++) {
        if (i == after && rank == fatal_rank)
            fatal_step(mode, rank);
        token = round_of_messages(token, rank, size);
    }
    return token;
}

int main(int argc, char **argv)
{
    long fatal_rank = 1, after = 100, extra = 100;
    const struct option_spec specs[] = {
        {OPTION_NUMBER, "rank", &fatal_rank, 0, 1e6, 0, "the rank that does it"},
        {OPTION_NUMBER, "after", &after, 0, 1e9, 0, "rounds before"},
        {OPTION_NUMBER, "extra", &extra, 1, 1e9, 0, "rounds that would follow"},
        {0}};
    const char *word = NULL;
    /* Read before MPI_Init because of `noinit`; so every rank speaks, where the other programs let one. */
    int stop = options_read(argc, argv, "segv|kill|abort|exit|hang|noinit|ok [OPTION]...",
                            "Ends in a chosen bad way after some rounds of messages.", specs, &word, 1);
    if (stop != OPTIONS_RUN)
        return stop;
    enum mode mode = word ? mode_from_name(word) : MODES;
    if (mode == MODES) {
        fprintf(stderr, "crash: %s%s (see --help)\n", word ? "unknown mode " : "no mode given",
                word ? word : "");
        return 2;
    }
    if (mode == NOINIT) {
        printf("crash: never called MPI\n");
        return 0;
    }

    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (fatal_rank >= size) {
        if (rank == 0)
            fprintf(stderr, "crash: --rank %ld: there are only %d ranks\n", fatal_rank, size);
        MPI_Finalize();
        return 2;
    }
    long token = run(mode, (int)fatal_rank, after, after + extra, rank, size);
    if (rank == 0)
        printf("crash: %ld rounds, token %ld\n", after + extra, token);
    MPI_Finalize();
    return 0;
}
