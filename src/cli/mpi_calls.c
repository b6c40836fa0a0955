#include "cli/mpi_calls.h"

#include "calls_alone.h"
#include "cli/mpi_library.h"
#include "event/activity.h"

#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool gn_mpi_call_is_recorded(const char *name)
{
    const uint32_t call = gn_activity_named(name);
    return call != GN_ACTIVITY_NONE && strcmp(gn_activity_def(call)->name, name) == 0;
}

bool gn_mpi_call_is_left_alone(const char *name)
{
    char usual[128];
    size_t length = strlen(name);
    bool large = length > 2 && strcmp(name + length - 2, "_c") == 0;
    snprintf(usual, sizeof usual, "%.*s", (int)(large ? length - 2 : length), name);
    for (size_t i = 0; i < sizeof gn_calls_left_alone / sizeof *gn_calls_left_alone; i++)
        if (fnmatch(gn_calls_left_alone[i], usual, 0) == 0)
            return true;
    return false;
}

/* MPI_COMM_DUP_FN and the like stand for a callback, or are Fortran's. */
static bool is_call(const char *name)
{
    if (strncmp(name, "MPI_", 4) != 0 && strncmp(name, "MPIX_", 5) != 0)
        return false;
    for (; *name; name++)
        if (islower((unsigned char)*name))
            return true;
    return false;
}

static void count(json_t *calls, const char *what)
{
    json_object_set_new(calls, what, json_integer(1 + json_integer_value(json_object_get(calls, what))));
}

static void sort_in(json_t *calls, const char *name)
{
    if (gn_mpi_call_is_recorded(name))
        count(calls, "recorded");
    else if (gn_mpi_call_is_left_alone(name))
        count(calls, "alone");
    else
        json_array_append_new(json_object_get(calls, "unknown"), json_string(name));
}

static void read_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, json_t *calls)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t symbols = data && header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
    for (size_t i = 0; i < symbols; i++) {
        GElf_Sym symbol;
        const char *name = gelf_getsym(data, (int)i, &symbol) && symbol.st_shndx != SHN_UNDEF &&
                                   GELF_ST_TYPE(symbol.st_info) == STT_FUNC
                               ? elf_strptr(elf, header->sh_link, symbol.st_name)
                               : NULL;
        if (name && is_call(name))
            sort_in(calls, name);
    }
}

static bool read_calls(const char *path, json_t *calls)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    elf_version(EV_CURRENT);
    Elf *elf = file >= 0 ? elf_begin(file, ELF_C_READ_MMAP, NULL) : NULL;
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    bool read = false;
    while (elf && (section = elf_nextscn(elf, section)))
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM) {
            read_symbols(elf, section, &header, calls);
            read = true;
        }
    elf_end(elf);
    if (file >= 0)
        close(file);
    return read;
}

/* Loads it and tells its path: in a child, for nobody knows what it does when it is loaded. */
static void tell_path(const char *flavour, int to)
{
    struct gn_error err;
    Dl_info where;
    if (gn_mpi_library_load(flavour, &err) == 0 && dladdr(dlsym(RTLD_DEFAULT, "PMPI_Init"), &where) &&
        where.dli_fname) {
        ssize_t ignored = write(to, where.dli_fname, strlen(where.dli_fname));
        (void)ignored;
    }
    _exit(0);
}

static bool find_library(const char *flavour, char *path, size_t size)
{
    int ends[2];
    size_t used = 0;
    ssize_t bytes;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid_t child = fork();
    if (child == 0)
        tell_path(flavour, ends[1]);
    close(ends[1]);
    while (child > 0 && used + 1 < size && (bytes = read(ends[0], path + used, size - 1 - used)) > 0)
        used += (size_t)bytes;
    path[used] = '\0';
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return used > 0;
}

json_t *gn_mpi_calls_of(const char *flavour)
{
    char path[PATH_MAX];
    if (!find_library(flavour, path, sizeof path))
        return NULL;
    json_t *calls = json_pack("{s:s, s:i, s:i, s:[]}", "library", path, "recorded", 0, "alone", 0, "unknown");
    if (calls && read_calls(path, calls))
        return calls;
    json_decref(calls);
    return NULL;
}
