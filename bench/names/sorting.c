/* Like NPB's IS: keys are counted into buckets, sent to their owners by MPI_Alltoallv, and ranked there; a
 * whole step lies in one function, with the loops as places. Only functions are timed. */
#include "truth.h"
#include <stdlib.h>
#include <string.h>

#define KERNEL static __attribute__((noinline)) void

enum { KEYS = 120000, BUCKETS = 1024 };

static int *keys, *sorted, *received;
static int counts[BUCKETS], starts[BUCKETS + 1], ranked[1 << 15];

KERNEL make_keys(unsigned seed)
{
    for (int i = 0; i < KEYS; i++) {
        seed = seed * 1103515245u + 12345u;
        keys[i] = (int)(seed >> 17);
    }
}

KERNEL count_keys(void)
{
    memset(counts, 0, sizeof counts);
    for (int i = 0; i < KEYS; i++)
        counts[keys[i] >> 5]++;
}

KERNEL scatter_keys(void)
{
    int at[BUCKETS];
    starts[0] = 0;
    for (int b = 0; b < BUCKETS; b++)
        starts[b + 1] = starts[b] + counts[b];
    memcpy(at, starts, sizeof at);
    for (int i = 0; i < KEYS; i++)
        sorted[at[keys[i] >> 5]++] = keys[i];
}

KERNEL rank_keys(int n)
{
    memset(ranked, 0, sizeof ranked);
    for (int i = 0; i < n; i++)
        ranked[received[i]]++;
    for (int k = 1; k < 1 << 15; k++)
        ranked[k] += ranked[k - 1];
}

int main(int argc, char **argv)
{
    const double most = argc > 1 ? atof(argv[1]) : 2;
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    keys = malloc(KEYS * sizeof(int));
    sorted = malloc(KEYS * sizeof(int));
    received = malloc(4 * KEYS * sizeof(int));
    int *n = malloc((size_t)ranks * 4 * sizeof(int)), *to = n + ranks, *from = to + ranks, *at = from + ranks;
    const double begin = MPI_Wtime();
    unsigned step = 0;
    for (double now = 0; now < most; step++) {
        SECTION(make_keys, make_keys((unsigned)rank * 77 + step));
        SECTION(count_keys, count_keys());
        SECTION(scatter_keys, scatter_keys());
        for (int i = 0; i < ranks; i++) {
            to[i] = starts[BUCKETS / ranks * i];
            n[i] = (i + 1 < ranks ? starts[BUCKETS / ranks * (i + 1)] : KEYS) - to[i];
        }
        MPI_Alltoall(n, 1, MPI_INT, from, 1, MPI_INT, MPI_COMM_WORLD);
        int all = 0;
        for (int i = 0; i < ranks; i++) {
            at[i] = all;
            all += from[i];
        }
        MPI_Alltoallv(sorted, n, to, MPI_INT, received, from, at, MPI_INT, MPI_COMM_WORLD);
        SECTION(rank_keys, rank_keys(all));
        now = MPI_Wtime() - begin;
        MPI_Bcast(&now, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    truth_print();
    MPI_Finalize();
    return 0;
}
