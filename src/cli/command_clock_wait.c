/*
 * gnomon clock-wait — the MPI program that `gnomon clock` measures: it meets the other ranks, waits while the
 * agents exchange readings of their clocks, and ends. Not for users.
 */
#include "cli/commands.h"
#include "cli/mpi_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The capture library's entry points where it is preloaded, the MPI library's otherwise. */
static void *entry(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);
    if (!function)
        fprintf(stderr, "gnomon clock: the MPI library has no %s\n", name);
    return function;
}

static void wait_seconds(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds,
                            .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

int gn_command_clock_wait(int argc, char **argv)
{
    struct gn_error err;
    if (argc < 2) {
        fprintf(stderr, "gnomon clock-wait: this is a part of `gnomon clock`, which starts it\n");
        return 2;
    }
    if (gn_mpi_library_load(argc > 2 ? argv[2] : NULL, &err) != 0) {
        fprintf(stderr, "gnomon clock: %s\n", err.text);
        return 2;
    }
    int (*init)(int *, char ***) = (int (*)(int *, char ***))entry("MPI_Init");
    int (*finalize)(void) = (int (*)(void))entry("MPI_Finalize");
    if (!init || !finalize)
        return 2;
    if (init(NULL, NULL) != 0)
        return 1;
    wait_seconds(strtod(argv[1], NULL));
    return finalize() == 0 ? 0 : 1;
}
