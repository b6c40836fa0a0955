/*
 * program/names — function names as a person writes them, from what compilers and linkers record.
 *
 * C stays as it is. C++ is demangled with template arguments, without return type and parameter list.
 * Fortran module procedures become module::procedure, Cython's functions module.Type.method. Suffixes of
 * compiler-made copies (".constprop.0",
 * "._omp_fn.1") are cut: they are not in the source.
 *
 * Results are new strings which the caller frees; NULL when memory ran out.
 */
#ifndef GNOMON_PROGRAM_NAMES_H
#define GNOMON_PROGRAM_NAMES_H

#include <stdbool.h>

/* From a symbol table alone. A lower-case name with one trailing underscore is taken for a Fortran external
 * procedure and loses it. */
char *gn_name_of_symbol(const char *symbol);

/* From debug information: name (DW_AT_name) and linkage (DW_AT_linkage_name or NULL). */
char *gn_name_of_function(const char *name, const char *linkage);

/* Whether a call to this symbol is a call into MPI (C or Fortran, profiling names included). */
bool gn_name_is_mpi(const char *symbol);

/* Whether a call to this symbol is one that is measured (event/mpi_api.txt), in C or Fortran: other calls of
 * MPI, which only ask the library something, cannot be one of two consecutive events. */
bool gn_name_is_measured(const char *symbol);

/* Functions that may come back more than once. */
bool gn_name_returns_twice(const char *symbol);

/* Functions that never come back, so that no path leads through a call of them. */
bool gn_name_is_noreturn(const char *symbol);

/* The functions of gnomon.h that begin and end regions, by their names in debug information or as
 * gn_name_of_symbol has them. They are in the program, inlined or not; what is meant is the line that they
 * were called from. function: NULL is none. */
bool gn_name_is_region_mark(const char *function);

#endif
