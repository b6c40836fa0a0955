/* Like LULESH: a step is a dozen kernels of very unlike length over elements and nodes, three of which lie
 * between one exchange and the next; neighbours exchange faces, all agree on the next step. Odd ranks have
 * half as much again in one kernel. */
#include "truth.h"
#include <math.h>
#include <stdlib.h>

#define KERNEL static __attribute__((noinline)) void

enum { ELEMENTS = 30000, FACE = 900 };

static double *volume, *pressure, *energy, *force, *speed, *position, *stress, *gradient;

KERNEL stress_terms(void)
{
    for (int i = 0; i < ELEMENTS; i++)
        stress[i] = -pressure[i] - 0.5 * energy[i];
}

KERNEL hourglass_force(int repeats)
{
    for (int r = 0; r < repeats; r++)
        for (int i = 8; i < ELEMENTS; i++) {
            double sum = 0;
            for (int k = 0; k < 8; k++)
                sum += stress[i - k] * (k & 1 ? -1 : 1);
            force[i] += sum * 1e-3;
        }
}

KERNEL accelerate(void)
{
    for (int i = 0; i < ELEMENTS; i++)
        speed[i] += force[i] / (1 + volume[i]) * 1e-4;
}

KERNEL move_nodes(void)
{
    for (int i = 0; i < ELEMENTS; i++)
        position[i] += speed[i] * 1e-4;
}

KERNEL kinematics(void)
{
    for (int i = 1; i < ELEMENTS; i++)
        volume[i] = cbrt(fabs(position[i] - position[i - 1]) + 1);
}

KERNEL monotonic_gradient(void)
{
    for (int i = 2; i < ELEMENTS; i++) {
        const double a = position[i] - position[i - 1], b = position[i - 1] - position[i - 2];
        gradient[i] = a * b > 0 ? 2 * a * b / (a + b + 1e-30) : 0;
    }
}

KERNEL equation_of_state(int repeats)
{
    for (int r = 0; r < repeats; r++)
        for (int i = 0; i < ELEMENTS; i++) {
            energy[i] = 0.999 * energy[i] + 1e-3 * gradient[i];
            pressure[i] = energy[i] < 1e-9 ? 1e-9 : 0.66 * energy[i] / volume[i];
        }
}

KERNEL sound_speed(double *least)
{
    double smallest = 1e30;
    for (int i = 0; i < ELEMENTS; i++) {
        const double c = sqrt(fabs(pressure[i]) + 1e-6) / (volume[i] + 0.1);
        if (c < smallest)
            smallest = c;
    }
    *least = smallest;
}

static void exchange(int rank, int ranks, double *field)
{
    MPI_Request requests[4];
    static double from[2][FACE];
    const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    MPI_Irecv(from[0], FACE, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(from[1], FACE, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(field, FACE, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(field + ELEMENTS - FACE, FACE, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < FACE; i++)
        field[i] += 1e-6 * (from[0][i] - from[1][i]);
}

int main(int argc, char **argv)
{
    const double most = argc > 1 ? atof(argv[1]) : 2;
    int rank, ranks;
    double **const fields[] = {&volume, &pressure, &energy, &force, &speed, &position, &stress, &gradient};
    for (int f = 0; f < 8; f++) {
        *fields[f] = malloc(ELEMENTS * sizeof(double));
        for (int i = 0; i < ELEMENTS; i++)
            (*fields[f])[i] = 1 + 0.1 * ((i * 7 + f) % 13);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const double begin = MPI_Wtime();
    for (double least = 0, all = 0, now = 0; now < most;) {
        SECTION(stress_terms, stress_terms());
        SECTION(hourglass_force, hourglass_force(rank % 2 ? 3 : 2));
        exchange(rank, ranks, force);
        SECTION(accelerate, accelerate());
        SECTION(move_nodes, move_nodes());
        exchange(rank, ranks, position);
        SECTION(kinematics, kinematics());
        SECTION(monotonic_gradient, monotonic_gradient());
        exchange(rank, ranks, gradient);
        SECTION(equation_of_state, equation_of_state(3));
        SECTION(sound_speed, sound_speed(&least));
        least += MPI_Wtime() - begin;
        MPI_Allreduce(&least, &all, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
        now = MPI_Wtime() - begin;
        MPI_Bcast(&now, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    truth_print();
    MPI_Finalize();
    return 0;
}
