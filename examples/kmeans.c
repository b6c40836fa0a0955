/*
 * k-means: each rank assigns its own points to the nearest centre, an Allreduce of sums and counts moves the
 * centres and ends the loop when no point changed its centre.
 *
 * `--straggler` makes one rank's assignment cost several times as much, without changing the result, so that
 * the others wait for it in every MPI_Allreduce. Coordinates are integers: sums are exact, and the result
 * does not depend on the number of ranks.
 */
#include <mpi.h>
#include <stdint.h>
#include "options.h"

#define CENTRES 16
#define DIMENSIONS 4

struct point {
    int32_t x[DIMENSIONS];
};

/* What one Allreduce adds up. */
struct sums {
    int64_t x[CENTRES][DIMENSIONS];
    int64_t count[CENTRES];
    int64_t changed; /* points with a new centre */
};

#define SUMS_LENGTH ((int)(sizeof(struct sums) / sizeof(int64_t)))

struct cloud {
    long count;
    struct point *points;
    int *nearest; /* centre of each point */
};

/* splitmix64: the value at a position, so that each rank can make its points without the others'. */
static uint64_t random_at(uint64_t position)
{
    uint64_t z = position * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Points first to first + count - 1 of the cloud: loose heaps around eight corners. */
static int cloud_create(struct cloud *cloud, long first, long count, long seed)
{
    cloud->count = count;
    cloud->points = malloc((size_t)(count + 1) * sizeof *cloud->points);
    cloud->nearest = calloc((size_t)(count + 1), sizeof *cloud->nearest);
    if (!cloud->points || !cloud->nearest)
        return -1;
    for (long i = 0; i < count; i++) {
        uint64_t position = ((uint64_t)seed << 40) + (uint64_t)(first + i) * (DIMENSIONS + 1);
        uint64_t heap = random_at(position) % 8;
        for (int d = 0; d < DIMENSIONS; d++) {
            int64_t offset = (int64_t)(random_at(position + 1 + (uint64_t)d) % 800000);
            cloud->points[i].x[d] = (int32_t)(offset + (heap >> (d % 3) & 1) * 600000);
        }
    }
    return 0;
}

static void cloud_destroy(struct cloud *cloud)
{
    free(cloud->points);
    free(cloud->nearest);
}

static int nearest_centre(const struct point *point, double centre[CENTRES][DIMENSIONS])
{
    int best = 0;
    double best_distance = 1e300;
    for (int c = 0; c < CENTRES; c++) {
        double distance = 0;
        for (int d = 0; d < DIMENSIONS; d++)
            distance += (point->x[d] - centre[c][d]) * (point->x[d] - centre[c][d]);
        if (distance < best_distance) {
            best_distance = distance;
            best = c;
        }
    }
    return best;
}

static __attribute__((noinline)) void assign_points(struct cloud *cloud, double centre[CENTRES][DIMENSIONS],
                                                    struct sums *sums)
{
    memset(sums, 0, sizeof *sums);
    for (long i = 0; i < cloud->count; i++) {
        int best = nearest_centre(&cloud->points[i], centre);
        for (int d = 0; d < DIMENSIONS; d++)
            sums->x[best][d] += cloud->points[i].x[d];
        sums->count[best]++;
        sums->changed += best != cloud->nearest[i];
        cloud->nearest[i] = best;
    }
}

/* The same assignment without keeping it, `times` times: nothing but work. */
static __attribute__((noinline)) void straggle(const struct cloud *cloud, double centre[CENTRES][DIMENSIONS],
                                               long times)
{
    static volatile int sink;
    for (; times > 0; times--)
        for (long i = 0; i < cloud->count; i++)
            sink = nearest_centre(&cloud->points[i], centre);
    (void)sink;
}

static void move_centres(double centre[CENTRES][DIMENSIONS], const struct sums *all)
{
    for (int c = 0; c < CENTRES; c++)
        for (int d = 0; d < DIMENSIONS && all->count[c] > 0; d++)
            centre[c][d] = (double)all->x[c][d] / (double)all->count[c];
}

/* Returns the number of iterations done; `all` holds the last sums. */
static __attribute__((noinline)) long iterate(struct cloud *cloud, long iterations, long extra_work,
                                              double centre[CENTRES][DIMENSIONS], struct sums *all)
{
    for (long i = 1; i <= iterations; i++) {
        struct sums mine;
        straggle(cloud, centre, extra_work);
        assign_points(cloud, centre, &mine);
        MPI_Allreduce(&mine, all, SUMS_LENGTH, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        if (all->changed == 0)
            return i;
        move_centres(centre, all);
    }
    return iterations;
}

static void print_result(long iterations, double centre[CENTRES][DIMENSIONS], const struct sums *all)
{
    double checksum = 0;
    for (int c = 0; c < CENTRES; c++)
        for (int d = 0; d < DIMENSIONS; d++)
            checksum += centre[c][d] * (c + d + 1);
    printf("kmeans: %ld iterations, %lld points changed in the last, checksum %.3f\n", iterations,
           (long long)all->changed, checksum);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    long points = 400000, iterations = 80, seed = 1, straggler = -1, straggler_work = 3;
    const struct option_spec specs[] = {
        {OPTION_NUMBER, "points", &points, CENTRES, 1e9, 0, "points, split over the ranks"},
        {OPTION_NUMBER, "iterations", &iterations, 1, 1e9, 0, "iterations at most"},
        {OPTION_NUMBER, "seed", &seed, 0, 1e6, 0, "another seed, other points"},
        {OPTION_MAYBE_NUMBER, "straggler", &straggler, 0, size - 1, size - 1, "rank N (the last) is slow"},
        {OPTION_NUMBER, "straggler-work", &straggler_work, 1, 1000, 0, "how many times the work it does"},
        {0}};
    int stop = options_read(argc, argv, "[OPTION]...", "k-means clustering of points in 4 dimensions.", specs,
                            NULL, rank == 0);
    if (stop != OPTIONS_RUN) {
        MPI_Finalize();
        return stop;
    }

    struct cloud cloud;
    long first = points * rank / size, end = points * (rank + 1) / size;
    if (cloud_create(&cloud, first, end - first, seed) != 0) {
        fprintf(stderr, "kmeans: rank %d: no memory for %ld points\n", rank, end - first);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    double centre[CENTRES][DIMENSIONS];
    for (int c = 0; c < CENTRES; c++) /* spread over the range of the points, the same on all ranks */
        for (int d = 0; d < DIMENSIONS; d++)
            centre[c][d] = (double)(random_at((uint64_t)(seed * 1000 + c * DIMENSIONS + d + 1)) % 1400000);
    struct sums all;
    long done = iterate(&cloud, iterations, rank == straggler ? straggler_work - 1 : 0, centre, &all);
    if (rank == 0)
        print_result(done, centre, &all);
    cloud_destroy(&cloud);
    MPI_Finalize();
    return 0;
}
