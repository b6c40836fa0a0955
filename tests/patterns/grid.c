/* Ranks in rows and columns, each of which adds something up. One rank has more to do before its row does,
 * and another one, in another row, less more before its column does. Mended: the former has as much as the
 * others. */
#include "pattern.h"

static __attribute__((noinline)) void react(double ms)
{
    pace(ms);
}

static __attribute__((noinline)) void relax(double ms)
{
    pace(ms);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 80);
    int rows[2] = {0, 0}, periods[2] = {0, 0}, in_row[2] = {0, 1}, in_column[2] = {1, 0};
    double value = 1, sum;
    MPI_Comm grid, row, column;
    MPI_Dims_create(p.size, 2, rows);
    MPI_Cart_create(MPI_COMM_WORLD, 2, rows, periods, 0, &grid);
    MPI_Cart_sub(grid, in_row, &row);
    MPI_Cart_sub(grid, in_column, &column);
    for (int i = 0; i < p.steps; i++) {
        react(p.rank == 1 && !p.is_mended ? 12 : 4);
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, row);
        relax(p.rank == p.size - 1 ? 8 : 4);
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, column); /* here */
        if (i % 4 == 3)
            MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, grid);
    }
    MPI_Comm_free(&row);
    MPI_Comm_free(&column);
    MPI_Comm_free(&grid);
    return end(&p);
}
