#include "cli/mpi_library.h"

#include "agent/process_files.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The names under which a flavour's programs ask for their library: those of its stable binary interface. */
static const char *const openmpi[] = {"libmpi.so.40", NULL};
static const char *const mpich[] = {"libmpich.so.12", "libmpi.so.12", NULL};

/* The folder of the executable of process pid; false when it may not be seen. */
static bool folder_of(int pid, char *path, size_t size)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/exe", pid);
    ssize_t bytes = readlink(link, path, size - 1);
    if (bytes <= 0)
        return false;
    path[bytes] = '\0';
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

/* An MPI installed in a place of its own has its launcher in bin and its library in lib: what starts the
 * ranks is one of our ancestors. */
static bool load_beside_launcher(const char *name)
{
    char folder[PATH_MAX], library[PATH_MAX + 64];
    int pid = gn_parent_of((int)getpid());
    for (int up = 0; up < 4 && pid > 1; up++, pid = gn_parent_of(pid)) {
        if (!folder_of(pid, folder, sizeof folder))
            continue;
        snprintf(library, sizeof library, "%s/../lib/%s", folder, name);
        if (access(library, R_OK) == 0 && dlopen(library, RTLD_NOW | RTLD_GLOBAL))
            return true;
    }
    return false;
}

const char *const *gn_mpi_library_names(const char *flavour)
{
    return strcmp(flavour, "openmpi") == 0 ? openmpi : strcmp(flavour, "mpich") == 0 ? mpich : NULL;
}

static const char *const *names_of(const char *wanted)
{
    if (wanted)
        return gn_mpi_library_names(wanted);
    /* Hydra's ranks have neither; Slurm's have PMIX_RANK when they speak PMIx, which Open MPI needs */
    return getenv("OMPI_COMM_WORLD_RANK") || getenv("PMIX_RANK") ? openmpi : mpich;
}

int gn_mpi_library_load(const char *wanted, struct gn_error *err)
{
    const char *const *names = names_of(wanted);
    const char *last = NULL;
    if (!names && dlopen(wanted, RTLD_NOW | RTLD_GLOBAL))
        return 0;
    if (!names)
        return gn_fail(err, -ENOENT, "cannot load the MPI library %s: %s", wanted, dlerror());
    for (; *names; names++) {
        if (load_beside_launcher(*names) || dlopen(*names, RTLD_NOW | RTLD_GLOBAL))
            return 0;
        last = dlerror();
    }
    return gn_fail(err, -ENOENT,
                   "cannot find the launcher's MPI library (%s); name it with --mpi FILE, or put its folder "
                   "into LD_LIBRARY_PATH",
                   last ? last : "no reason given");
}

const char *gn_mpi_library_flavour(void)
{
    if (!dlsym(RTLD_DEFAULT, "MPI_Init"))
        return NULL;
    return dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") ? "openmpi" : "mpich";
}
