#include "capture/flavour.h"

#include "capture/real.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct gn_flavour gn_flavour;
struct gn_sentinels gn_sentinels[GN_BINDINGS];

static void *sentinel(const char *symbol)
{
    void **object = symbol ? gn_real_object(symbol) : NULL;
    return object && gn_flavour.status_symbols_point ? *object : object;
}

static void find_sentinels(void)
{
    gn_sentinels[GN_C] = gn_flavour.c;
    for (int binding = GN_F77; binding < GN_BINDINGS; binding++) {
        gn_sentinels[binding].status_ignore = sentinel(gn_flavour.status_symbols[binding][0]);
        gn_sentinels[binding].statuses_ignore = sentinel(gn_flavour.status_symbols[binding][1]);
        if (gn_flavour.in_place_symbol)
            gn_sentinels[binding].in_place = gn_real_object(gn_flavour.in_place_symbol);
    }
}

/* ---- which library it is ---- */

void gn_library_version(char *text, size_t size)
{
    static char
        version[1 << 16]; /* MPI_MAX_LIBRARY_VERSION_STRING: 8192 of those we know, unknown of others */
    int bytes = 0;
    int (*get)(char *, int *) = (int (*)(char *, int *))gn_real_symbol("PMPI_Get_library_version");
    version[0] = '\0';
    if (get)
        get(version, &bytes);
    snprintf(text, size, "%.*s", (int)strcspn(version, ",\n"), version);
}

/* libmpi_abi, of whatever library: handles are pointers, and no constant is that of the library's own binary
 * interface. In that one MPI_Abi_get_version answers -1. */
static bool has_standard_abi(int *major, int *minor)
{
    *major = *minor = -1;
    int (*get)(int *, int *) = (int (*)(int *, int *))gn_real_symbol("PMPI_Abi_get_version");
    if (!get)
        get = (int (*)(int *, int *))gn_real_symbol("MPI_Abi_get_version");
    return get && get(major, minor) == 0 && *major >= 0;
}

static bool is_of(const struct gn_flavour *flavour, const char *version)
{
    for (size_t i = 0; i < sizeof flavour->marks / sizeof *flavour->marks && flavour->marks[i]; i++)
        if (gn_real_symbol(flavour->marks[i]))
            return true;
    for (size_t i = 0; i < sizeof flavour->speaks / sizeof *flavour->speaks && flavour->speaks[i]; i++)
        if (strncasecmp(version, flavour->speaks[i], strlen(flavour->speaks[i])) == 0)
            return true;
    return false;
}

static const struct gn_flavour *known_flavour(const char *version)
{
    const struct gn_flavour *known[] = {&gn_flavour_openmpi, &gn_flavour_mpich};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i] && is_of(known[i], version))
            return known[i];
    return NULL;
}

static void find_handles(void)
{
    if (!gn_flavour.world_symbol)
        return;
    gn_flavour.comm_world = (gn_handle)gn_real_object(gn_flavour.world_symbol);
    gn_flavour.comm_self = (gn_handle)gn_real_object(gn_flavour.self_symbol);
    gn_flavour.comm_null = (gn_handle)gn_real_object(gn_flavour.null_symbol);
    gn_flavour.byte_type = (gn_handle)gn_real_object(gn_flavour.byte_symbol);
    gn_flavour.info_null = (gn_handle)gn_real_object(gn_flavour.info_null_symbol);
    gn_flavour.request_null = (gn_handle)gn_real_object(gn_flavour.request_null_symbol);
    gn_flavour.errors_return = (gn_handle)gn_real_object(gn_flavour.errors_return_symbol);
}

static void name_library(const char *version, char *name, size_t size)
{
    Dl_info where;
    void *init = gn_real_symbol("PMPI_Init");
    const char *path = init && dladdr(init, &where) && where.dli_fname ? where.dli_fname : "(unknown)";
    const char *slash = strrchr(path, '/');
    snprintf(name, size, "%s%s%s%s", slash ? slash + 1 : path, *version ? " (" : "", version,
             *version ? ")" : "");
}

int gn_flavour_find(char *why, size_t size)
{
    char version[128], name[300];
    int major, minor;
    gn_library_version(version, sizeof version);
    name_library(version, name, sizeof name);
    if (has_standard_abi(&major, &minor)) {
        snprintf(why, size,
                 "its MPI library %s has the standard binary interface %d.%d of MPI 5, which gnomon does not "
                 "know yet",
                 name, major, minor);
        return -1;
    }
    const struct gn_flavour *flavour = known_flavour(version);
    if (!flavour) {
        snprintf(why, size, "its MPI library %s is neither Open MPI nor has it the binary interface of MPICH",
                 name);
        return -1;
    }
    gn_flavour = *flavour;
    find_handles();
    find_sentinels();
    return 0;
}
