/* A master with its workers, as the simulator of forest fires in Sikora 2016, section 5.6 (figure 33, table
 * 5): each step it manages the fire line's memory, packs a part of it for each worker and sends it, waits for
 * all results, and computes a global model; workers compute a local one of what they have been sent. So all
 * wait for each other. Mended as it is there, by any of the arguments: preallocated memory (prealloc),
 * derived datatypes in place of packing (datatype), half of the global model while results come in (overlap),
 * or all three (mended).
 */
#include "pattern.h"

#include <gnomon.h>

enum { COUNT = 4096 };

static bool has_memory, is_unpacked, overlaps;
static double line[COUNT];

static __attribute__((noinline)) double *manage_line(void)
{
    static double kept[COUNT];
    if (has_memory)
        return kept;
    gnomon_region_begin("fire line");
    double *fresh = calloc(COUNT, sizeof *fresh);
    pace(8);
    gnomon_region_end("fire line");
    return fresh;
}

static __attribute__((noinline)) void pack(int workers)
{
    gnomon_region_begin("pack");
    pace((is_unpacked ? 5.0 : 13.0) / workers);
    gnomon_region_end("pack");
}

static __attribute__((noinline)) void global_model(double share)
{
    gnomon_region_begin("global model");
    pace(22 * share);
    gnomon_region_end("global model");
}

static __attribute__((noinline)) void local_model(void)
{
    gnomon_region_begin("local model");
    pace(47);
    gnomon_region_end("local model");
}

static void lead(const struct pattern *p)
{
    const int workers = p->size - 1;
    for (int step = 0; step < p->steps; step++) {
        double *now = manage_line();
        for (int w = 1; w <= workers; w++) {
            pack(workers);
            MPI_Send(now, COUNT, MPI_DOUBLE, w, 1, MPI_COMM_WORLD);
        }
        if (overlaps)
            global_model(0.5);
        for (int w = 1; w <= workers; w++)
            MPI_Recv(line, COUNT, MPI_DOUBLE, w, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        global_model(overlaps ? 0.5 : 1); /* GLOBAL */
        pace(10);
        if (!has_memory)
            free(now);
    }
}

static void work(const struct pattern *p)
{
    static double part[COUNT];
    for (int step = 0; step < p->steps; step++) {
        MPI_Recv(part, COUNT, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here */
        local_model();
        MPI_Send(part, COUNT, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 40);
    const char *how = argc > 1 ? argv[1] : "";
    has_memory = p.is_mended || strstr(how, "prealloc");
    is_unpacked = p.is_mended || strstr(how, "datatype");
    overlaps = p.is_mended || strstr(how, "overlap");
    if (p.rank == 0)
        lead(&p);
    else
        work(&p);
    return end(&p);
}
