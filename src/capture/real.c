#include "capture/real.h"

#include "event/activity.h"

#include <ctype.h>
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void *gn_real_table[GN_BINDINGS][GN_CALL_COUNT];
void *gn_helper_table[GN_HELPER_COUNT];

struct search {
    const char *symbol;
    void *found;
};

/* Looks into one loaded library, and what it needs. RTLD_NOLOAD only fetches the handle of what is there
 * already. Ours has wrappers of the same names. */
static int look_into(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)size;
    struct search *search = argument;
    Dl_info own;
    if (!info->dlpi_name || !info->dlpi_name[0] ||
        (dladdr(&gn_real_table, &own) && own.dli_fbase == (void *)info->dlpi_addr))
        return 0;
    void *library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return 0;
    search->found = dlsym(library, search->symbol);
    dlclose(library); /* only our reference */
    return search->found != NULL;
}

/* Libraries are known by what they export, not by their names: vendors and sites give them others. */
static void *in_loaded_libraries(const char *name)
{
    struct search search = {name, NULL};
    dl_iterate_phdr(look_into, &search);
    return search.found;
}

/* Whether the MPI library was loaded for everybody: then its C functions are nowhere else. */
static bool is_global(void)
{
    static _Atomic bool known;
    if (!known && dlsym(RTLD_NEXT, "PMPI_Init"))
        known = true;
    return known;
}

void *gn_real_symbol(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    bool fortran = name[0] == 'm' || name[0] == 'p'; /* in a library of its own */
    return symbol || (!fortran && is_global()) ? symbol : in_loaded_libraries(name);
}

void *gn_real_object(const char *name)
{
    void *object = dlsym(RTLD_DEFAULT, name);
    return object ? object : in_loaded_libraries(name);
}

/* Any other value than 0 tells the caller that nothing was done; classes of errors differ between flavours.
 */
static int missing(void)
{
    return GN_NO_SUCH_CALL;
}

bool gn_real_lies_in(uintptr_t first_address, uintptr_t end_address)
{
    static const char *const names[] = {"PMPI_Init", "pmpi_send_", "pmpi_send_f08_", "pmpir_send_f08ts_"};
    static _Atomic uintptr_t addresses[sizeof names / sizeof *names]; /* 1: it is nowhere */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (addresses[i] == 0) {
            void *function = dlsym(RTLD_NEXT, names[i]);
            addresses[i] = function ? (uintptr_t)function : 1;
        }
        if (addresses[i] >= first_address && addresses[i] < end_address)
            return true;
    }
    return false;
}

static void spell(const char *pattern, enum gn_binding binding, unsigned call, char *name, size_t size)
{
    char lower[64];
    const char *spelled = gn_activity_def(call)->name;
    size_t i = 0;
    for (; spelled[i] && i < sizeof lower - 1; i++)
        lower[i] = binding == GN_C ? spelled[i] : (char)tolower((unsigned char)spelled[i]);
    lower[i] = '\0';
    snprintf(name, size, pattern, lower);
}

static void *look_up(enum gn_binding binding, unsigned call)
{
    static const char *const profiled[GN_BINDINGS] = {"P%s", "p%s_", "p%s_f08_"};
    static const char *const public[GN_BINDINGS] = {"%s", "%s_", "%s_f08_"};
    char name[96];
    spell(profiled[binding], binding, call, name, sizeof name);
    void *function = gn_real_symbol(name);
    if (!function) { /* no second name (MPICH's mpi_f08): the definition after ours */
        spell(public[binding], binding, call, name, sizeof name);
        function = gn_real_symbol(name);
    }
    if (function)
        __atomic_store_n(&gn_real_table[binding][call], function, __ATOMIC_RELAXED);
    return function;
}

/* Without us the loader would end the program here. */
static void say_missing(unsigned call)
{
    char line[160];
    int bytes = snprintf(line, sizeof line,
                         "gnomon: process %d calls %s, which its MPI library does not have: the call fails\n",
                         (int)getpid(), gn_activity_def(call)->name);
    ssize_t ignored = write(STDERR_FILENO, line, (size_t)bytes);
    (void)ignored;
}

void *gn_real_resolve(enum gn_binding binding, unsigned call)
{
    void *function = look_up(binding, call);
    if (function)
        return function;
    say_missing(call);
    __atomic_store_n(&gn_real_table[binding][call], (void *)missing, __ATOMIC_RELAXED);
    return (void *)missing;
}

void *gn_helper_resolve(unsigned helper)
{
    static const char *const names[GN_HELPER_COUNT] = {
#define GN_HELPER_NAME(name) "PMPI_" #name,
        GN_HELPERS(GN_HELPER_NAME)
#undef GN_HELPER_NAME
    };
    void *function = gn_real_symbol(names[helper]);
    function = function ? function : (void *)missing;
    __atomic_store_n(&gn_helper_table[helper], function, __ATOMIC_RELAXED);
    return function;
}

/* A library of MPI 3.1 is not asked for what it will not have: what somebody calls of it is looked up then.
 */
static unsigned calls_to_expect(void)
{
    int version = 0, subversion = 0;
    int (*get_version)(int *, int *) = (int (*)(int *, int *))gn_real_symbol("PMPI_Get_version");
    if (get_version)
        get_version(&version, &subversion);
    return version >= 4 ? GN_CALL_COUNT : GN_CALLS_OF_MPI_3;
}

void gn_real_resolve_all(void)
{
    for (unsigned call = 0, count = calls_to_expect(); call < count; call++)
        look_up(GN_C, call);
    for (unsigned helper = 0; helper < GN_HELPER_COUNT; helper++)
        gn_helper(helper);
}
