/* program/place — one source position. Strings belong to the gn_program and live until it is closed. */
#ifndef GNOMON_PROGRAM_PLACE_H
#define GNOMON_PROGRAM_PLACE_H

#include <stdbool.h>

struct gn_program_place {
    const char *function; /* demangled C++, Fortran as written (module::procedure); NULL when unknown */
    const char *file; /* path as recorded by the compiler, made absolute where it can be; NULL when unknown */
    int line, column; /* 1-based; 0 when unknown */
    bool unnamed; /* no symbol holds it: function is "libfftw3.so.3:0x5a30", library and function's begin */
    bool inlined; /* this function's body was inlined into the next place of the list */
};

#endif
