/*
 * k-means: each rank assigns its own points to the nearest centre, an Allreduce of sums and counts moves the
 * centres and ends the loop when no point changed its centre.
 *
 * `--straggler` makes one rank's assignment cost several times as much, without changing the result, so that
 * the others wait for it in every MPI_Allreduce. Coordinates are integers: sums are exact, and the result
 * does not depend on the number of ranks and threads.
 *
 * Regions: "assign" is the work, of every thread; "exchange" is what ends the iteration.
 */
#include <mpi.h>
#include <stdint.h>
#include "random.h"
#include "team.h"

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

struct search {
    struct cloud *cloud;
    double centre[CENTRES][DIMENSIONS];
    struct sums sums[TEAM_MAX]; /* of each thread */
};

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

/* A thread's share of the points, into sums of its own. */
static __attribute__((noinline)) void assign_share(struct search *search, struct member *me, long first,
                                                   long end)
{
    struct cloud *cloud = search->cloud;
    struct sums *sums = &search->sums[me->index];
    memset(sums, 0, sizeof *sums);
    for (long i = first; i < end; i++) {
        int best = nearest_centre(&cloud->points[i], search->centre);
        for (int d = 0; d < DIMENSIONS; d++)
            sums->x[best][d] += cloud->points[i].x[d];
        sums->count[best]++;
        sums->changed += best != cloud->nearest[i];
        cloud->nearest[i] = best;
        member_did(me, 1);
    }
}

/* The same without keeping it, for `items` points: nothing but work. */
static __attribute__((noinline)) void straggle(struct search *search, struct member *me, long first, long end,
                                               long items)
{
    volatile int sink = 0;
    for (long i = 0; i < items; i++) {
        sink = nearest_centre(&search->cloud->points[first + i % (end - first)], search->centre);
        member_did(me, 1);
    }
    (void)sink;
}

static void assign_points(void *program, struct member *me)
{
    struct search *search = program;
    long count = search->cloud->count, threads = me->team->threads;
    long first = count * me->index / threads, end = count * (me->index + 1) / threads;
    member_begin(me, "assign");
    straggle(search, me, first, end, member_extra(me, end - first));
    assign_share(search, me, first, end);
    member_end(me, "assign");
}

static void add_sums(const struct search *search, long threads, struct sums *mine)
{
    int64_t *total = (int64_t *)mine;
    memset(mine, 0, sizeof *mine);
    for (long t = 0; t < threads; t++)
        for (int i = 0; i < SUMS_LENGTH; i++)
            total[i] += ((const int64_t *)&search->sums[t])[i];
}

static void move_centres(double centre[CENTRES][DIMENSIONS], const struct sums *all)
{
    for (int c = 0; c < CENTRES; c++)
        for (int d = 0; d < DIMENSIONS && all->count[c] > 0; d++)
            centre[c][d] = (double)all->x[c][d] / (double)all->count[c];
}

static void exchange(const struct search *search, long threads, struct sums *all)
{
    struct sums mine;
    gnomon_region_begin("exchange");
    add_sums(search, threads, &mine);
    MPI_Allreduce(&mine, all, SUMS_LENGTH, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    gnomon_region_end("exchange");
}

/* Returns the number of iterations done; `all` holds the last sums. */
static __attribute__((noinline)) long iterate(struct search *search, struct team *team, long iterations,
                                              struct sums *all)
{
    for (long i = 1; i <= iterations; i++) {
        gnomon_region_begin("assign");
        team_run(team, assign_points, search);
        gnomon_region_end("assign");
        exchange(search, team->threads, all);
        if (all->changed == 0)
            return i;
        move_centres(search->centre, all);
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

/* Spread over the range of the points, the same on all ranks. */
static void first_centres(double centre[CENTRES][DIMENSIONS], long seed)
{
    for (int c = 0; c < CENTRES; c++)
        for (int d = 0; d < DIMENSIONS; d++)
            centre[c][d] = (double)(random_at((uint64_t)(seed * 1000 + c * DIMENSIONS + d + 1)) % 1400000);
}

static void cluster(struct team *team, long points, long iterations, long seed, int rank, int size)
{
    struct cloud cloud;
    struct search search = {.cloud = &cloud};
    struct sums all;
    long first = points * rank / size, end = points * (rank + 1) / size;
    if (cloud_create(&cloud, first, end - first, seed) != 0) {
        fprintf(stderr, "kmeans: rank %d: no memory for %ld points\n", rank, end - first);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    first_centres(search.centre, seed);
    team_start(team);
    long done = iterate(&search, team, iterations, &all);
    if (rank == 0)
        print_result(done, search.centre, &all);
    team_stop(team, "kmeans");
    cloud_destroy(&cloud);
}

int main(int argc, char **argv)
{
    int rank, size, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    struct team team = TEAM_DEFAULTS(1000);
    long points = 50000, iterations = 80, seed = 1;
    const struct option_spec specs[] = {
        {OPTION_NUMBER, "points", &points, CENTRES, 1e9, 0, "points, split over the ranks"},
        {OPTION_NUMBER, "iterations", &iterations, 1, 1e9, 0, "iterations at most"},
        {OPTION_NUMBER, "seed", &seed, 0, 1e6, 0, "another seed, other points"},
        TEAM_OPTIONS(&team, size, "a point"),
        {0}};
    int status = options_read(argc, argv, "[OPTION]...", "k-means clustering of points in 4 dimensions.",
                              specs, NULL, rank == 0);
    if (status == OPTIONS_RUN) {
        status = 0;
        cluster(&team, points, iterations, seed, rank, size);
    }
    MPI_Finalize();
    return status;
}
