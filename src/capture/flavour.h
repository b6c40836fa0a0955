/*
 * capture/flavour — what differs between MPI libraries, found when MPI_Init is called, by what the library
 * exports.
 *
 * One preload library serves both flavours: the wrappers carry handles as machine words and never look
 * inside. On the calling conventions of x86-64 and aarch64 an int handle (MPICH) and a pointer handle (Open
 * MPI) travel alike in a register or an 8-byte stack slot, and a callee that expects an int ignores the upper
 * half. So a program can never be given the library of the wrong flavour, and `gnomon run` has nothing to
 * guess. The constants come from each flavour's own mpi.h (flavour_impl.c, compiled once against each).
 */
#ifndef GNOMON_CAPTURE_FLAVOUR_H
#define GNOMON_CAPTURE_FLAVOUR_H

#include "capture/handle.h"
#include "capture/real.h"

#include <stddef.h>

enum { GN_THREAD_MULTIPLE = 3 }; /* of both */

struct gn_sentinels {
    void *status_ignore, *statuses_ignore, *in_place;
};

struct gn_error_name {
    int class;
    const char *name;
};

struct gn_flavour {
    const char *name;     /* "openmpi", "mpich" */
    const char *marks[4]; /* symbols that only this flavour's libraries have: one is enough */
    const char
        *speaks[8]; /* … or what the text of MPI_Get_library_version begins with, where they hide them */
    const char *world_symbol; /* NULL: the handles below are values; else names of objects */
    const char *byte_symbol;
    const char *self_symbol;
    const char *null_symbol;
    const char *request_null_symbol;
    const char *info_null_symbol;
    const char *errors_return_symbol;
    uintptr_t handle_mask; /* the bits of a handle that mean something */
    size_t handle_bytes;   /* of one handle in an array */
    gn_handle comm_world;
    gn_handle comm_self;
    gn_handle comm_null;
    gn_handle byte_type;
    gn_handle info_null;
    gn_handle request_null; /* where handles are pointers */
    gn_handle errors_return;
    int proc_null, any_source, any_tag, root, undefined;
    struct gn_sentinels c;
    size_t status_bytes;
    size_t source_offset; /* of MPI_SOURCE in MPI_Status */
    size_t tag_offset;
    int graph, cart, dist_graph;
    /* By enum gn_binding: whether calls must be met at these entry points because they go to PMPI from there.
     * MPICH's mpif.h goes through the C entry points, where we meet it with C handles and C sentinels. */
    bool direct[GN_BINDINGS];
    const char *status_symbols[GN_BINDINGS][2]; /* the objects that stand for MPI_STATUS(ES)_IGNORE */
    bool status_symbols_point;                  /* … or variables that hold their addresses */
    int first_index[GN_BINDINGS];               /* of Waitany's index and its relatives */
    const char *in_place_symbol;                /* Fortran's MPI_IN_PLACE */
    int error_class_mask;                    /* the class in an error code; 0: the library has to be asked */
    const struct gn_error_name *error_names; /* up to one without a name */
};

extern const struct gn_flavour gn_flavour_openmpi __attribute__((weak)),
    gn_flavour_mpich __attribute__((weak));

/* The flavour of the library loaded into this process; its name is NULL until gn_flavour_find succeeded. */
extern struct gn_flavour gn_flavour;

/* By enum gn_binding; NULL: has none. */
extern struct gn_sentinels gn_sentinels[GN_BINDINGS];

/* Returns 0, or -1 when the MPI library is of no flavour this library was built for: then why says which it
 * is, and what it is not. */
int gn_flavour_find(char *why, size_t size);

/* The first line of MPI_Get_library_version, up to a comma; empty where there is none. May be asked before
 * MPI_Init. */
void gn_library_version(char *text, size_t size);

#endif
