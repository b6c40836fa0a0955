/*
 * profile/callers — who calls the function that an MPI call is made in, where that tells more than the
 * function.
 *
 * Programs wrap MPI: all of their reductions are "in Foam::reduce". What people know is the solver that calls
 * it. So of all calls at one place those that take at least some time are told apart by as much of their call
 * paths as that needs, from the place upwards:
 *
 *     MPI_Allreduce in Foam::reduce ← Foam::gSum ← Foam::PCG::scalarSolve     60 %
 *     MPI_Allreduce in Foam::reduce ← Foam::gSum ← Foam::PBiCG::solve         20 %
 *     MPI_Allreduce in Foam::reduce ← Foam::max                               10 %
 *     MPI_Allreduce in Foam::reduce ← other callers                            2 %
 *
 * A place with one caller, or one that takes all the time, has none.
 */
#ifndef GNOMON_PROFILE_CALLERS_H
#define GNOMON_PROFILE_CALLERS_H

#include "base/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A call path that ends at the place. */
struct gn_caller_path {
    const char *const *functions; /* innermost first: [0] is the place's own; at least one */
    size_t count;
    int64_t ns;
    /* filled in */
    size_t shown; /* so many functions tell it apart; 1: there is nothing to tell */
    bool is_rest; /* others at the place are told apart by more, and this one takes too little for that */
};

/* Paths of one place; those that take least_ns, alone or with others of the same functions, are told apart.
 * False: no memory. */
bool gn_callers_tell_apart(struct gn_caller_path *paths, size_t count, int64_t least_ns);

struct gn_callers;

/* The same for all MPI calls of a profile. Makes the temporary table caller_of(activity, callers): a number
 * for gn_callers_text of each activity that has callers. */
int gn_callers_find(struct gn_callers **out, sqlite3 *db, int64_t least_ns, struct gn_error *err);
void gn_callers_free(struct gn_callers *callers);

/* "Foam::gSum ← Foam::PCG::scalarSolve", innermost first; NULL for 0 and what is no such number. */
const char *gn_callers_text(const struct gn_callers *callers, int64_t number);

#endif
