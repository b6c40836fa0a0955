/* Large messages, one after the other, that take longer than what is computed. Mended: a tenth of them. */
#include "pattern.h"

enum { BYTES = 16 << 20 };

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 60);
    char *buffer = calloc(1, BYTES);
    const int partner = p.rank ^ 1, bytes = p.is_mended ? BYTES / 10 : BYTES;
    for (int i = 0; i < p.steps && partner < p.size; i++) {
        pace(1);
        if (p.rank % 2)
            MPI_Recv(buffer, bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here */
        else
            MPI_Send(buffer, bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
    }
    free(buffer);
    return end(&p);
}
