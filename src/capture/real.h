/*
 * capture/real — the MPI library's own functions behind our wrappers.
 *
 * This library is preloaded into every process of the job and must not drag an MPI library into those
 * that have none, so it is linked against neither flavour: functions are looked up by name when they are
 * first needed, after us in the global scope or, for programs that load MPI late and locally (Python), in
 * whatever library has them, whatever its name is.
 */
#ifndef GNOMON_CAPTURE_REAL_H
#define GNOMON_CAPTURE_REAL_H

#include "calls.h" /* generated from event/mpi_api.txt */

#include <stdbool.h>
#include <stdint.h>

enum { GN_NO_SUCH_CALL = 16 }; /* what a call returns that the library does not have */

enum gn_binding { GN_C, GN_F77, GN_F08, GN_BINDINGS };

/* Functions that we call on our own account. */
#define GN_HELPERS(X)                                                                                        \
    X(Type_size_x)                                                                                           \
    X(Comm_rank)                                                                                             \
    X(Comm_size)                                                                                             \
    X(Comm_group)                                                                                            \
    X(Comm_remote_group)                                                                                     \
    X(Comm_remote_size)                                                                                      \
    X(Comm_test_inter)                                                                                       \
    X(Win_get_group)                                                                                         \
    X(Group_translate_ranks)                                                                                 \
    X(Group_size)                                                                                            \
    X(Group_free)                                                                                            \
    X(Get_elements_x)                                                                                        \
    X(Cart_shift)                                                                                            \
    X(Graph_neighbors)                                                                                       \
    X(Dist_graph_neighbors)                                                                                  \
    X(Message_f2c)                                                                                           \
    X(Test_cancelled)                                                                                        \
    X(Topo_test)                                                                                             \
    X(Cartdim_get)                                                                                           \
    X(Graph_neighbors_count)                                                                                 \
    X(Dist_graph_neighbors_count)                                                                            \
    X(Comm_f2c)                                                                                              \
    X(Type_f2c)                                                                                              \
    X(Win_f2c)                                                                                               \
    X(Group_f2c)                                                                                             \
    X(Request_f2c)                                                                                           \
    X(Group_incl)                                                                                            \
    X(Comm_create_group)                                                                                     \
    X(Comm_free)                                                                                             \
    X(Comm_get_errhandler)                                                                                   \
    X(Comm_set_errhandler)                                                                                   \
    X(Errhandler_free)                                                                                       \
    X(Error_class)                                                                                           \
    X(Error_string)                                                                                          \
    X(Bcast)                                                                                                 \
    X(Allgather)                                                                                             \
    X(Query_thread)                                                                                          \
    X(Group_from_session_pset)                                                                               \
    X(Group_rank)                                                                                            \
    X(Session_f2c)                                                                                           \
    X(Session_get_info)                                                                                      \
    X(Info_get)                                                                                              \
    X(Info_free)                                                                                             \
    X(Pcontrol)

enum gn_helper {
#define GN_HELPER_ENUM(name) GN_HELPER_##name,
    GN_HELPERS(GN_HELPER_ENUM)
#undef GN_HELPER_ENUM
        GN_HELPER_COUNT
};

/* A function of the loaded MPI library, or NULL. */
void *gn_real_symbol(const char *name);
/* A variable of it: the executable may hold the copy that everybody uses (copy relocation). */
void *gn_real_object(const char *name);

/* Whether a library that lies there is MPI's own, or its Fortran's: by where some functions are. */
bool gn_real_lies_in(uintptr_t first_address, uintptr_t end_address);

extern void *gn_real_table[GN_BINDINGS][GN_CALL_COUNT];
extern void *gn_helper_table[GN_HELPER_COUNT];
void *gn_real_resolve(enum gn_binding binding, unsigned call);
void *gn_helper_resolve(unsigned helper);
/* Looks up everything C programs need at once, while MPI_Init may still take the loader's lock. */
void gn_real_resolve_all(void);

/* The real function of a call; never NULL (a function that fails when the library has none). */
static inline void *gn_real(enum gn_binding binding, unsigned call)
{
    void *function = __atomic_load_n(&gn_real_table[binding][call], __ATOMIC_RELAXED);
    return __builtin_expect(function != 0, 1) ? function : gn_real_resolve(binding, call);
}

static inline void *gn_helper(unsigned helper)
{
    void *function = __atomic_load_n(&gn_helper_table[helper], __ATOMIC_RELAXED);
    return __builtin_expect(function != 0, 1) ? function : gn_helper_resolve(helper);
}

/* GN_PMPI(Type_size, (gn_handle, int *))(type, &size) */
#define GN_PMPI(name, parameters) ((int(*) parameters)gn_helper(GN_HELPER_##name))

#endif
