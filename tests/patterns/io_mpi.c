/* As io.c, by files of MPI. Mended: it writes nothing. */
#include "pattern.h"

enum { BYTES = 16 << 20 };

static __attribute__((noinline)) void save(MPI_File file, const char *buffer)
{
    MPI_File_write_at(file, 0, buffer, BYTES, MPI_BYTE, MPI_STATUS_IGNORE); /* here */
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 60);
    char *buffer = calloc(1, BYTES);
    MPI_File file = MPI_FILE_NULL;
    if (p.rank == 0)
        MPI_File_open(MPI_COMM_SELF, "io.out", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    for (int i = 0; i < p.steps; i++) {
        pace(2);
        MPI_Barrier(MPI_COMM_WORLD);
        if (p.rank == 0 && !p.is_mended)
            save(file, buffer);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (file != MPI_FILE_NULL)
        MPI_File_close(&file);
    free(buffer);
    return end(&p);
}
