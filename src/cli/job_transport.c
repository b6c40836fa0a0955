#include "cli/job_transport.h"

#include "cli/find.h"
#include "cli/mpi_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* How many processes the launcher has started together; 0: it does not say; 1 without a launcher. Slurm's own
 * number is that of the step: the job's is there in its batch script, too, which is one process. */
static long started_together(void)
{
    static const char *const counts[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const char *text = getenv(counts[i]);
        long count = text ? strtol(text, NULL, 10) : 0;
        if (count > 0)
            return count;
    }
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++)
        if (getenv(ranks[i]))
            return 0;
    return 1;
}

typedef int opening(struct gn_transport *transport, struct gn_error *err);

static opening *load(const char *mpi, struct gn_error *err)
{
    char name[64], path[PATH_MAX];
    if (gn_mpi_library_load(mpi, err) != 0)
        return NULL;
    const char *flavour = gn_mpi_library_flavour();
    snprintf(name, sizeof name, "libgnomon-transport.%s.so", flavour ? flavour : "none");
    if (!flavour) {
        gn_fail(err, -ENOENT, "the MPI library %s has no MPI_Init", mpi ? mpi : "of the launcher");
        return NULL;
    }
    if (gn_find_library(name, path, sizeof path) != 0) {
        gn_fail(err, -ENOENT,
                "cannot find %s in ../lib/gnomon beside this gnomon: it was built without the headers of "
                "that MPI; run one process, or build it with them",
                name);
        return NULL;
    }
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *function = module ? dlsym(module, "gn_transport_mpi_open") : NULL;
    if (!function)
        gn_fail(err, -ENOENT, "cannot use %s: %s", path, dlerror());
    return (opening *)function;
}

int gn_job_transport_open(struct gn_transport *transport, const char *mpi, struct gn_error *err)
{
    const long count = started_together();
    if (count == 1) {
        *transport = gn_transport_alone();
        return transport->self ? 0 : gn_fail(err, -ENOMEM, "no memory");
    }
    opening *open = load(mpi, err);
    if (!open)
        return -ENOENT;
    int code = open(transport, err);
    if (code != 0 || count == 0 || transport->size == count)
        return code;
    transport->close(transport->self);
    return gn_fail(
        err, -EPROTO,
        "the launcher started %ld processes, but only %u found each other: the MPI library is not the "
        "launcher's (with srun, see its option --mpi), or it was started from within another job",
        count, transport->size);
}
