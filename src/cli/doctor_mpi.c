/*
 * cli/doctor_mpi — MPI libraries and what starts their programs. Both MPIs call their launcher mpirun, and
 * neither has to be installed as Debian does it: they are told apart by what they say of themselves.
 */
#include "cli/doctor.h"

#include "base/printable.h"
#include "cli/find.h"
#include "cli/mpi_calls.h"
#include "cli/mpi_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct flavour {
    const char *name;         /* as in cli/mpi_library.h */
    const char *launchers[6]; /* the surest names first */
    const char *says[4];      /* one of them is in what its launcher answers to --version */
    const char *compilers[3];
    const char *compiler_version;
};

static const struct flavour openmpi = {"openmpi",
                                       {"mpirun.openmpi", "orterun", "prterun", "mpirun", "mpiexec"},
                                       {"Open MPI", "OpenRTE", "OpenPMIx", "PRRTE"},
                                       {"mpicc.openmpi", "mpicc"},
                                       "--showme:version"};

static const struct flavour mpich = {"mpich",
                                     {"mpirun.mpich", "mpiexec.hydra", "mpirun", "mpiexec"},
                                     {"HYDRA", "Intel(R) MPI", "MPICH", "mpich"},
                                     {"mpicc.mpich", "mpicc"},
                                     "-v"};

/* A word of it, as long as it names a version: "4.1.4" */
static void find_version(const char *text, char *version, size_t size)
{
    const char *at = text;
    snprintf(version, size, "of unknown version");
    while ((at = strpbrk(at, "0123456789"))) {
        size_t length = strspn(at, "0123456789.");
        if (memchr(at, '.', length)) {
            snprintf(version, size, "%.*s", (int)length, at);
            return;
        }
        at += length;
    }
}

/* The first launcher that is there and says that it is this MPI's; NULL: none. */
static const char *find_launcher(const struct flavour *flavour, char *version, size_t size)
{
    for (const char *const *name = flavour->launchers; *name; name++) {
        char line[256], text[1024];
        char *words[] = {(char *)*name, "--version", NULL};
        if (!gn_find_program(*name) || !gn_first_line(words, line, sizeof line, text, sizeof text))
            continue;
        for (size_t i = 0; i < sizeof flavour->says / sizeof *flavour->says; i++)
            if (strstr(text, flavour->says[i])) {
                find_version(text, version, size);
                return *name;
            }
    }
    return NULL;
}

static const char *find_compiler(const struct flavour *flavour)
{
    for (const char *const *name = flavour->compilers; *name; name++) {
        char line[256];
        char *words[] = {(char *)*name, (char *)flavour->compiler_version, NULL};
        if (gn_find_program(*name) && gn_first_line(words, line, sizeof line, NULL, 0) &&
            (strstr(line, "Open MPI") != NULL) == (flavour == &openmpi))
            return *name;
    }
    return NULL;
}

/* What the library says of itself, when a program that asks for it by its name would find it. */
static const char *find_library(const struct flavour *flavour, char *version, size_t size)
{
    for (const char *const *name = gn_mpi_library_names(flavour->name); *name; name++) {
        static char text[8192]; /* MPI_MAX_LIBRARY_VERSION_STRING of either */
        void *library = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
        int (*say_version)(char *, int *) =
            library ? (int (*)(char *, int *))dlsym(library, "MPI_Get_library_version") : NULL;
        int length = 0;
        if (!say_version || say_version(text, &length) != 0)
            continue;
        text[strcspn(text, ",\n")] = '\0';
        for (char *tab = text; (tab = strchr(tab, '\t'));)
            *tab = ' ';
        snprintf(version, size, "%.120s", text);
        return *name;
    }
    return NULL;
}

static void check(struct gn_finding *f, const struct flavour *flavour)
{
    char version[64], library_version[128];
    const char *launcher = find_launcher(flavour, version, sizeof version);
    const char *library = find_library(flavour, library_version, sizeof library_version);
    const char *compiler = find_compiler(flavour);
    char starts[128], has[256];
    snprintf(starts, sizeof starts, launcher ? "%s %s" : "no launcher of it in PATH", launcher, version);
    snprintf(has, sizeof has, library ? "%s (%s)" : "no library where the dynamic loader looks", library,
             library_version);
    gn_found(f, launcher != NULL, "%s; %s; %s", starts, has, compiler ? compiler : "no mpicc of it");
}

void gn_doctor_openmpi(struct gn_finding *f)
{
    check(f, &openmpi);
}

void gn_doctor_mpich(struct gn_finding *f)
{
    check(f, &mpich);
}

static void list_names(const json_t *names, char *text, size_t size)
{
    int used = 0;
    for (size_t i = 0; i < json_array_size(names) && (size_t)used < size; i++)
        used += snprintf(text + used, size - (size_t)used, "%s%s", i ? ", " : "",
                         json_string_value(json_array_get(names, i)));
}

/* Whether anything that this library can do would be taken for the program's own time. */
static void check_calls(struct gn_finding *f, const char *flavour)
{
    json_t *facts = gn_mpi_calls_of(flavour);
    const json_t *unknown = json_object_get(facts, "unknown");
    const char *path = json_string_value(json_object_get(facts, "library"));
    const bool fine = json_array_size(unknown) == 0;
    char names[300] = "";
    list_names(unknown, names, sizeof names);
    if (!facts)
        gn_found(f, true, "its library was not found: nothing to compare");
    else
        gn_found(f, fine, fine ? "%.100s: all known" : "%.100s has some that gnomon does not know: %s",
                 gn_base_name(path), names);
    size_t bytes = facts ? json_dumpb(facts, f->facts, sizeof f->facts - 1, JSON_COMPACT) : 0;
    f->facts[bytes < sizeof f->facts ? bytes : 0] = '\0';
    json_decref(facts);
}

void gn_doctor_openmpi_calls(struct gn_finding *f)
{
    check_calls(f, "openmpi");
}

void gn_doctor_mpich_calls(struct gn_finding *f)
{
    check_calls(f, "mpich");
}

/* Ranks that srun starts find each other by PMIx (Open MPI) or PMI (MPICH), if it has plugins for them. */
void gn_doctor_slurm(struct gn_finding *f)
{
    char line[256], text[1024];
    char *words[] = {"srun", "--mpi=list", NULL};
    if (!gn_find_program("srun"))
        gn_found(f, true, "no srun in PATH");
    else if (!gn_first_line(words, line, sizeof line, text, sizeof text))
        gn_found(f, false, "srun does not say which MPI plugins it has: no slurm.conf?");
    else
        gn_found(f, strstr(text, "pmix") && strstr(text, "pmi2"), "srun has%s%s%s",
                 strstr(text, "pmix") ? " --mpi=pmix (Open MPI)" : "",
                 strstr(text, "pmi2") ? " --mpi=pmi2 (MPICH)" : "",
                 strstr(text, "pmix") || strstr(text, "pmi2") ? "" : " neither pmix nor pmi2");
}

/* Not needed: one process of gnomon sync does the same, only later. */
void gn_doctor_together(struct gn_finding *f)
{
    static const struct flavour *const flavours[] = {&openmpi, &mpich};
    char path[4096], name[64], version[128], under[64] = "";
    bool any = false;
    for (size_t i = 0; i < sizeof flavours / sizeof *flavours; i++) {
        snprintf(name, sizeof name, "libgnomon-transport.%s.so", flavours[i]->name);
        const size_t used = strlen(under);
        const bool is_here = gn_find_library(name, path, sizeof path) == 0;
        any = any || is_here;
        if (is_here && find_library(flavours[i], version, sizeof version))
            snprintf(under + used, sizeof under - used, "%s%s", used ? " and " : "", flavours[i]->name);
    }
    gn_found(f, under[0], "%s%s",
             under[0] ? "under mpirun of "
             : any    ? "no MPI library where the dynamic loader looks: one process only"
                      : "no libgnomon-transport.*.so beside this gnomon: one process only",
             under);
}
