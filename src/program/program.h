/*
 * program — what an executable or shared library says about itself: which function, file and line an
 * address belongs to, inlined functions unfolded, names as a person writes them.
 *
 * Addresses are offsets from the module's load base (the difference between a run-time address and the
 * base the dynamic loader reports), so that one call site is one place on every rank, under any address
 * space layout. Everything is read with elfutils; files are untrusted input and never end the process.
 */
#ifndef GNOMON_PROGRAM_H
#define GNOMON_PROGRAM_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gn_program; /* one module, opened */

/* One source position. Strings belong to the gn_program and live until it is closed. */
struct gn_place {
    const char *function; /* demangled C++, Fortran as written (module::procedure); NULL when unknown */
    const char *file;     /* path as recorded by the compiler, made absolute where it can be; NULL when unknown */
    int line;             /* 1-based; 0 when unknown */
    bool inlined;         /* this function's body was inlined into the next place of the list */
};

/*
 * Opens the module at `path` (as the dynamic loader named it). build_id/build_id_bytes identify the file
 * that ran; when they are given (bytes > 0) and the file now at `path` carries another one, the call fails
 * with -ESTALE. Separate debug files are found by .gnu_debuglink and by build id below /usr/lib/debug; the
 * network is never asked. Errors: -ENOENT, -ENOEXEC (not ELF), -ESTALE, -ENOMEM.
 */
int gn_program_open(struct gn_program **out, const char *path, const uint8_t *build_id, size_t build_id_bytes,
                    struct gn_error *err);
void gn_program_close(struct gn_program *program);

/* Whether line information was found at all (to tell the user how to get it). */
bool gn_program_has_lines(const struct gn_program *program);

/*
 * Places of the code at `offset` (bytes from the load base; pass the return address minus one for a call),
 * innermost inlined function first, the physical function last. At most `max` (>= 1) are written. Returns the
 * number written; 0 when nothing at all is known. Without line information: one place with the symbol's name
 * and line 0; *symbol_offset (may be NULL) then receives offset minus the symbol's start.
 */
size_t gn_program_places(struct gn_program *program, uint64_t offset, struct gn_place *places, size_t max,
                         uint64_t *symbol_offset);

/*
 * The source place that best names what runs between two calls of one function: from the instruction after
 * the call that returns to `from` up to the call that returns to `to` (both offsets of return addresses).
 * Where control can only go forward (from < to and both in one function) it is the place, inside [from, to), of
 * the most deeply nested loop, else of the first non-trivial call, else of the first line after from's own; when
 * to <= from (a loop's back edge) the whole loop body that contains both is considered.
 * Returns 1 and fills *place, 0 when nothing better than the line of `from` is known.
 */
int gn_program_between(struct gn_program *program, uint64_t from, uint64_t to, struct gn_place *place);

#endif
