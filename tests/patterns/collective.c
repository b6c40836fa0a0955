/* Large sums, which take longer than what is computed. Mended: a tenth as large. */
#include "pattern.h"

enum { NUMBERS = 1 << 20 };

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 60);
    double *from = calloc(NUMBERS, sizeof *from), *to = calloc(NUMBERS, sizeof *to);
    const int count = p.is_mended ? NUMBERS / 10 : NUMBERS;
    for (int i = 0; i < p.steps; i++) {
        pace(2);
        MPI_Allreduce(from, to, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* here */
    }
    free(from);
    free(to);
    return end(&p);
}
