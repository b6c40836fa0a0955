/* Large messages, one after the other. Mended: a tenth as large. */
#include "pattern.h"

enum { BYTES = 8 << 20 };

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 400);
    char *to = calloc(1, BYTES), *from = calloc(1, BYTES);
    const int partner = p.rank ^ 1, bytes = p.is_mended ? BYTES / 10 : BYTES;
    for (int i = 0; i < p.steps && partner < p.size; i++)
        MPI_Sendrecv(to, bytes, MPI_BYTE, partner, 1, from, bytes, MPI_BYTE, partner, 1, /* here */
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(to);
    free(from);
    return end(&p);
}
