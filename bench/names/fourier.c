/* Like NPB's FT: transforms along lines, a transpose by MPI_Alltoall, transforms along the others, and an
 * evolution with sine and cosine, which is libm's time; all of it in long steps. */
#include "truth.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL static __attribute__((noinline)) void

enum { LINE = 256, LINES = 256 };

static double field[LINES * LINE * 2], other[LINES * LINE * 2];

KERNEL butterflies(double *lines)
{
    for (int l = 0; l < LINES; l++)
        for (int half = LINE / 2; half >= 1; half /= 2)
            for (int block = 0; block < LINE; block += 2 * half)
                for (int i = block; i < block + half; i++) {
                    double *a = lines + 2 * (l * LINE + i), *b = a + 2 * half;
                    const double re = a[0] - b[0], im = a[1] - b[1];
                    a[0] = 0.5 * (a[0] + b[0]);
                    a[1] = 0.5 * (a[1] + b[1]);
                    b[0] = 0.6 * re - 0.3 * im;
                    b[1] = 0.3 * re + 0.6 * im;
                }
}

KERNEL turn(void)
{
    for (int l = 0; l < LINES; l++)
        for (int i = 0; i < LINE; i++)
            memcpy(field + 2 * (i * LINES + l), other + 2 * (l * LINE + i), 2 * sizeof(double));
}

KERNEL evolve(double time)
{
    for (int i = 0; i < LINES * LINE; i++) {
        const double c = cos(time * i), s = sin(time * i);
        field[2 * i] = 0.9 * field[2 * i] * c + 0.1;
        field[2 * i + 1] = 0.9 * field[2 * i + 1] * s + 0.1;
    }
}

KERNEL checksum(double *sum)
{
    double all = 0;
    for (int turn = 0; turn < 4; turn++)
        for (int i = 0; i < LINES * LINE; i += 3)
            all += field[2 * i] * 1e-3;
    *sum = all;
}

int main(int argc, char **argv)
{
    const double most = argc > 1 ? atof(argv[1]) : 2;
    int ranks;
    for (int i = 0; i < LINES * LINE * 2; i++)
        field[i] = i % 17;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int part = LINES * LINE * 2 / ranks;
    const double begin = MPI_Wtime();
    for (double now = 0, mine = 0, sum; now < most;) {
        SECTION(butterflies, butterflies(field));
        MPI_Alltoall(field, part, MPI_DOUBLE, other, part, MPI_DOUBLE, MPI_COMM_WORLD);
        SECTION(turn, turn());
        SECTION(butterflies, butterflies(field));
        SECTION(evolve, evolve(now));
        SECTION(checksum, checksum(&mine));
        MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        now = MPI_Wtime() - begin;
        MPI_Bcast(&now, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    truth_print();
    MPI_Finalize();
    return 0;
}
