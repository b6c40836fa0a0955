#include "capture/real.h"

#include <ctype.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

void *gn_real_table[GN_BINDINGS][GN_CALL_COUNT];
void *gn_helper_table[GN_HELPER_COUNT];

struct search {
    const char *symbol;
    void *found;
};

/* Looks into one loaded MPI library. RTLD_NOLOAD only fetches the handle of what is there already. */
static int look_into(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)size;
    struct search *search = argument;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    if (!slash || strncmp(slash, "/libmpi", 7) != 0)
        return 0;
    void *library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return 0;
    search->found = dlsym(library, search->symbol);
    dlclose(library); /* only our reference */
    return search->found != NULL;
}

static void *in_loaded_libraries(const char *name)
{
    struct search search = {name, NULL};
    dl_iterate_phdr(look_into, &search);
    return search.found;
}

void *gn_real_symbol(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    return symbol ? symbol : in_loaded_libraries(name);
}

void *gn_real_object(const char *name)
{
    void *object = dlsym(RTLD_DEFAULT, name);
    return object ? object : in_loaded_libraries(name);
}

/* MPI_ERR_UNKNOWN would differ between flavours; any non-zero value tells the caller that nothing was done.
 */
static int missing(void)
{
    return 16;
}

static void *lookup_or_missing(const char *name)
{
    void *function = gn_real_symbol(name);
    return function ? function : (void *)missing;
}

static void spell(const char *pattern, enum gn_binding binding, unsigned call, char *name, size_t size)
{
    char lower[64];
    const char *spelled = gn_call_names[call] + 4; /* without MPI_ */
    size_t i = 0;
    for (; spelled[i] && i < sizeof lower - 1; i++)
        lower[i] = binding == GN_C ? spelled[i] : (char)tolower((unsigned char)spelled[i]);
    lower[i] = '\0';
    snprintf(name, size, pattern, lower);
}

void *gn_real_resolve(enum gn_binding binding, unsigned call)
{
    static const char *const profiled[GN_BINDINGS] = {"PMPI_%s", "pmpi_%s_", "pmpi_%s_f08_"};
    static const char *const public[GN_BINDINGS] = {"MPI_%s", "mpi_%s_", "mpi_%s_f08_"};
    char name[96];
    spell(profiled[binding], binding, call, name, sizeof name);
    void *function = gn_real_symbol(name);
    if (!function) { /* no second name (MPICH's mpi_f08): the definition after ours */
        spell(public[binding], binding, call, name, sizeof name);
        function = lookup_or_missing(name);
    }
    __atomic_store_n(&gn_real_table[binding][call], function, __ATOMIC_RELAXED);
    return function;
}

void *gn_helper_resolve(unsigned helper)
{
    static const char *const names[GN_HELPER_COUNT] = {
#define GN_HELPER_NAME(name) "PMPI_" #name,
        GN_HELPERS(GN_HELPER_NAME)
#undef GN_HELPER_NAME
    };
    void *function = lookup_or_missing(names[helper]);
    __atomic_store_n(&gn_helper_table[helper], function, __ATOMIC_RELAXED);
    return function;
}

void gn_real_resolve_all(void)
{
    for (unsigned call = 0; call < GN_CALL_COUNT; call++)
        gn_real(GN_C, call);
    for (unsigned helper = 0; helper < GN_HELPER_COUNT; helper++)
        gn_helper(helper);
}
