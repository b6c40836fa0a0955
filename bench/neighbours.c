/*
 * A program of LULESH's kind: a 3-D domain on a grid of ranks, three stages of computation a step, each with
 * an exchange of small messages with all 26 neighbours (the grid is periodic) through the same functions, and
 * waits by index. Every call of MPI is so reached on three paths, eight to ten frames deep.
 *
 *   neighbours STEPS [WORK]          all steps through MPI_X; WORK (default 20) times the computation of a
 * step neighbours STEPS WORK paired     blocks of steps through MPI_X and through PMPI_X, past a preloaded
 * tool, in turn
 *
 * Rank 0 prints one line:
 *
 *   steps S ranks R calls C elapsed_s E cpu_s P sum X added_ns A
 *
 * calls: of MPI in the steps through MPI_X, of all ranks; cpu_s: processor time of all ranks during the
 * steps; sum: of the field, the same whatever measures it; added_ns: in paired mode, processor time that a
 * call through MPI_X takes more than one past it, the median of the pairs, else 0.
 */
#include "timing.h"

#include <math.h>
#include <mpi.h>
#include <string.h>

enum { DIRECTIONS = 27, MIDDLE = 13, SIDE = 8, CELLS = SIDE * SIDE * SIDE, MAX_FIELDS = 6, BLOCK = 8 };
#define NOINLINE __attribute__((noinline))

static const struct mpi {
    __typeof__(&MPI_Irecv) irecv;
    __typeof__(&MPI_Isend) isend;
    __typeof__(&MPI_Wait) wait;
    __typeof__(&MPI_Waitall) waitall;
    __typeof__(&MPI_Allreduce) allreduce;
} ways[2] = {{MPI_Irecv, MPI_Isend, MPI_Wait, MPI_Waitall, MPI_Allreduce},
             {PMPI_Irecv, PMPI_Isend, PMPI_Wait, PMPI_Waitall, PMPI_Allreduce}},
  *mpi = &ways[0];

static MPI_Comm grid;
static int ranks, neighbour[DIRECTIONS], work = 20;
static long calls; /* through MPI_X */
static double force[CELLS], position[CELLS], viscosity[CELLS];
static double out[DIRECTIONS][MAX_FIELDS * SIDE * SIDE], in[DIRECTIONS][MAX_FIELDS * SIDE * SIDE];
static MPI_Request sends[DIRECTIONS], receives[DIRECTIONS];

/* ---- directions: faces, edges, corners ---- */

static int off_centre(int d)
{
    return (d / 9 != 1) + (d / 3 % 3 != 1) + (d % 3 != 1);
}

static int message_size(int d, int fields)
{
    return fields * (off_centre(d) == 1 ? SIDE * SIDE : off_centre(d) == 2 ? SIDE : 1);
}

static void count(long more)
{
    calls += mpi == &ways[0] ? more : 0;
}

/* ---- communication: functions that all exchanges have in common ---- */

static NOINLINE void receive_of(int kind, int fields)
{
    for (int d = 0; d < DIRECTIONS; d++)
        if (off_centre(d) == kind) {
            mpi->irecv(in[d], message_size(d, fields), MPI_DOUBLE, neighbour[d], DIRECTIONS - 1 - d, grid,
                       &receives[d]);
            count(1);
        }
}

static NOINLINE void comm_recv(int fields)
{
    receive_of(1, fields);
    receive_of(2, fields);
    receive_of(3, fields);
}

static NOINLINE void send_of(int kind, int fields, const double *field)
{
    for (int d = 0; d < DIRECTIONS; d++)
        if (off_centre(d) == kind) {
            const int size = message_size(d, fields);
            for (int i = 0; i < size; i++)
                out[d][i] = field[(i * 7 + d * 31) % CELLS];
            mpi->isend(out[d], size, MPI_DOUBLE, neighbour[d], d, grid, &sends[d]);
            count(1);
        }
}

static NOINLINE void comm_send(int fields, const double *field)
{
    send_of(1, fields, field);
    send_of(2, fields, field);
    send_of(3, fields, field);
    sends[MIDDLE] = MPI_REQUEST_NULL;
    mpi->waitall(DIRECTIONS, sends, MPI_STATUSES_IGNORE);
    count(1);
}

static NOINLINE void unpack(int kind, int fields, double *field, double share)
{
    for (int d = 0; d < DIRECTIONS; d++)
        if (off_centre(d) == kind) {
            MPI_Status status;
            mpi->wait(&receives[d], &status);
            count(1);
            for (int i = 0; i < message_size(d, fields); i++)
                field[(i * 5 + d * 17) % CELLS] += share * in[d][i];
        }
}

static NOINLINE void comm_take(int fields, double *field, double share)
{
    unpack(1, fields, field, share);
    unpack(2, fields, field, share);
    unpack(3, fields, field, share);
}

/* ---- computation ---- */

static NOINLINE void compute(double *to, const double *from, double factor)
{
    for (int turn = 0; turn < work; turn++)
        for (int i = 0; i < CELLS; i++)
            to[i] = 0.97 * to[i] + factor * sqrt(1 + from[i] * from[(i + 1) % CELLS]);
}

static NOINLINE void calc_force_for_nodes(void)
{
    comm_recv(3);
    compute(force, position, 0.01);
    comm_send(3, force);
    comm_take(3, force, 0.001);
}

static NOINLINE void calc_position_for_nodes(void)
{
    comm_recv(6);
    compute(position, force, 0.02);
    comm_send(6, position);
    comm_take(6, position, 0.0005);
}

static NOINLINE void lagrange_nodal(void)
{
    calc_force_for_nodes();
    calc_position_for_nodes();
}

static NOINLINE void calc_q_for_elements(void)
{
    comm_recv(3);
    compute(viscosity, position, 0.03);
    comm_send(3, viscosity);
    comm_take(3, viscosity, 0.002);
}

static NOINLINE void lagrange_elements(void)
{
    calc_q_for_elements();
    for (int i = 0; i < CELLS; i++)
        position[i] = 0.5 * (position[i] + viscosity[i] / (1 + fabs(viscosity[i])));
}

static NOINLINE void time_increment(void)
{
    double mine = fabs(position[0]), all;
    mpi->allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MIN, grid);
    count(1);
    position[1] += 1e-9 * all;
}

static NOINLINE void run_steps(long steps)
{
    for (long i = 0; i < steps; i++) {
        time_increment();
        lagrange_nodal();
        lagrange_elements();
    }
}

/* ---- measuring ---- */

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A block through MPI_X and one past it; which goes first changes. Returns seconds of processor time of this
 * rank that the first kind took more. */
static double pair(int turn)
{
    double took[2];
    for (int half = 0; half < 2; half++) {
        const int way = (half + turn) % 2;
        mpi = &ways[way];
        const double begin = cpu_s();
        run_steps(BLOCK);
        took[way] = cpu_s() - begin;
    }
    return took[0] - took[1];
}

/* ns per call, the median of the pairs. */
static double run_pairs(long steps)
{
    const int pairs = (int)(steps / (2 * BLOCK));
    double *added = calloc((size_t)pairs, sizeof *added);
    for (int i = 0; added && i < pairs; i++) {
        double mine = pair(i);
        PMPI_Allreduce(&mine, &added[i], 1, MPI_DOUBLE, MPI_SUM, grid);
    }
    const double median = added && pairs ? timing_summarise(added, pairs).median : 0;
    free(added);
    return median * 1e9 / ((double)calls / pairs * ranks);
}

static void find_neighbours(void)
{
    int dims[3] = {0}, periods[3] = {1, 1, 1}, self, here[3];
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &grid);
    MPI_Comm_rank(grid, &self);
    MPI_Cart_coords(grid, self, 3, here);
    for (int d = 0; d < DIRECTIONS; d++) {
        const int there[3] = {here[0] + d / 9 - 1, here[1] + d / 3 % 3 - 1, here[2] + d % 3 - 1};
        MPI_Cart_rank(grid, there, &neighbour[d]);
    }
    receives[MIDDLE] = MPI_REQUEST_NULL;
    for (int i = 0; i < CELLS; i++)
        position[i] = 1 + 0.001 * i + self;
}

static void report(long steps, const double mine[4], double added_ns)
{
    double all[4];
    int self;
    MPI_Reduce(mine, all, 4, MPI_DOUBLE, MPI_SUM, 0, grid);
    MPI_Comm_rank(grid, &self);
    if (self == 0)
        printf("steps %ld ranks %d calls %.0f elapsed_s %.6f cpu_s %.6f sum %.17g added_ns %.2f\n", steps,
               ranks, all[0], all[1] / ranks, all[2], all[3], added_ns);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const long steps = argc > 1 ? atol(argv[1]) : 1000;
    work = argc > 2 ? atoi(argv[2]) : work;
    find_neighbours();
    run_steps(2);
    calls = 0;
    MPI_Barrier(grid);
    const double begin_s = MPI_Wtime(), begin_cpu_s = cpu_s();
    double added_ns = 0;
    if (argc > 3 && strcmp(argv[3], "paired") == 0)
        added_ns = run_pairs(steps);
    else
        run_steps(steps);
    double mine[4] = {(double)calls, MPI_Wtime() - begin_s, cpu_s() - begin_cpu_s, 0};
    for (int i = 0; i < CELLS; i++)
        mine[3] += position[i];
    report(steps, mine, added_ns);
    MPI_Finalize();
    return 0;
}
