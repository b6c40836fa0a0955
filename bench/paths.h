/*
 * What the parts of bench/paths have in common, in C, C++ and Fortran (paths.f90 spells it again).
 *
 * A *route* says which call path to take: each level of a tree of callers looks at its own bits of it and
 * calls the next level from one of its call sites.
 */
#ifndef BENCH_PATHS_H
#define BENCH_PATHS_H

#include "pairs.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

extern int paths_way; /* enum pairs_way */

/* The innermost caller: the call that is measured, through one call site. */
typedef int paths_call(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status);
extern paths_call *paths_iprobe;

/* Callers of seven levels, four call sites each in six of them; the last one makes the call. */
void paths_cxx(uint64_t route);
void paths_f08(uint64_t route);

#ifdef __cplusplus
}
#endif

#define PATHS_NOINLINE __attribute__((noinline))
/* After a call: keeps it from becoming a jump, which would leave no frame, and from being shared with the
 * call in another branch. */
#define PATHS_SITE(number) __asm__ volatile("# site " #number ::: "memory")

#endif
