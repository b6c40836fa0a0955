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
#include "program/debugserver.h"
#include "program/place.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gn_program; /* one module, opened; for one thread at a time, as questions fill its caches */

/*
 * Opens the module at `path` (as the dynamic loader named it). build_id/build_id_bytes identify the file
 * that ran; when they are given (bytes > 0) and the file now at `path` carries another one, the call fails
 * with -ESTALE. Separate debug files are found by .gnu_debuglink and by build id below /usr/lib/debug and in
 * the cache of debuginfod's client; no server is asked. Errors: -ENOENT, -ENOEXEC (not ELF), -ESTALE,
 * -ENOMEM.
 */
int gn_program_open(struct gn_program **out, const char *path, const uint8_t *build_id, size_t build_id_bytes,
                    struct gn_error *err);

/* The same, and servers that the user has named are asked, too (program/debugserver.h; NULL: none are). */
int gn_program_open_patiently(struct gn_program **out, const char *path, const uint8_t *build_id,
                              size_t build_id_bytes, struct gn_debug_patience *patience,
                              struct gn_error *err);
void gn_program_close(struct gn_program *program);

/* Whether line information was found at all (to tell the user how to get it). */
bool gn_program_has_lines(const struct gn_program *program);

/*
 * Places of the code at `offset` (bytes from the load base; pass the return address minus one for a call),
 * innermost inlined function first, the physical function last. At most `max` (>= 1) are written; a longer
 * chain loses its outermost places, and the last one written then says inlined. Returns the number written; 0
 * when nothing at all is known. Without line information: one place with the symbol's name and line 0;
 * *symbol_offset (may be NULL) then receives offset minus the symbol's start; otherwise it receives 0.
 * Without a symbol: one place that is unnamed (place.h), likewise.
 */
size_t gn_program_places(struct gn_program *program, uint64_t offset, struct gn_program_place *places,
                         size_t max, uint64_t *symbol_offset);

/* Compilers give no line to instructions that they cannot say which one it is of (line 0). Into such a place,
 * the first of gn_program_places: the line of what stands ahead of it in the same function. False: there is
 * none, and nothing changed. */
bool gn_program_line_before(struct gn_program *program, uint64_t offset, struct gn_program_place *place);

/* What people call the module: the name that a library says it has (DT_SONAME), else that of the file; of an
 * extension module of Python without what that says of versions and machines ("MPI.so"). */
const char *gn_program_library(const struct gn_program *program);

/* The function around offset, [*low, *high), by the unwind table, which every file has. False: unknown. */
bool gn_program_extent(struct gn_program *program, uint64_t offset, uint64_t *low, uint64_t *high);

/* Likewise of the first one that begins at `from` or behind it. False: there is none. */
bool gn_program_next_extent(struct gn_program *program, uint64_t from, uint64_t *low, uint64_t *high);

/* Where the innermost loop around offset is entered, in the function that gn_program_extent knows; 0: there
 * is none, or the code is not understood. Needs no debug information. */
uint64_t gn_program_loop(struct gn_program *program, uint64_t offset);

/* Whether the code at offset waits, as far as it says so itself: it is in a loop that has the processor
 * pause, or at a system call; or offset is just before a return address, and what is called there does so.
 * So a runtime's waiting is found in libraries that have no names for it. Functions as gn_program_extent
 * knows them. */
bool gn_program_spins(struct gn_program *program, uint64_t offset);

/*
 * For each of `count` offsets, ascending, the place of the innermost loop around it in its function, by its
 * smallest line (that of `for`) in the innermost function that holds it; standard headers are passed over in
 * favour of their caller; line 0 where there is none, or it is not known. Inlined functions are part of the
 * function that holds them; one that is called in a loop is not part of it.
 */
void gn_program_loops(struct gn_program *program, const uint64_t *offsets, size_t count,
                      struct gn_program_place *places);

#endif
