/*
 * program/runtime — what a thread does that is inside of a library which everybody knows: waiting for other
 * threads in an OpenMP runtime, for a GPU, reading a file. Such time is no work, whatever line it was called
 * from.
 *
 * One table of libraries and functions (runtime.c). Where a library has no names for its own waiting, as
 * Debian's libgomp, its code tells it (gn_program_spins).
 */
#ifndef GNOMON_PROGRAM_RUNTIME_H
#define GNOMON_PROGRAM_RUNTIME_H

#include "program/calls.h"

enum gn_runtime_kind {
    GN_RUNTIME_NONE,        /* no runtime that is known, or a function of one that says nothing */
    GN_RUNTIME_OPENMP,      /* in the OpenMP runtime, not waiting: starting threads, handing out work */
    GN_RUNTIME_OPENMP_WAIT, /* … waiting: barriers, locks, idle threads of a team */
    GN_RUNTIME_GPU,
    GN_RUNTIME_GPU_WAIT,
    GN_RUNTIME_MPI, /* in the MPI library, or in one that it uses */
    GN_RUNTIME_THREAD_WAIT,
    GN_RUNTIME_IO,
    GN_RUNTIME_POLL, /* waiting for a file, socket or pipe to be ready */
    GN_RUNTIME_SLEEP,
    GN_RUNTIME_YIELD,  /* giving its core to others */
    GN_RUNTIME_ASLEEP, /* on no core, in whatever it is: no code says so, but the kernel */
    GN_RUNTIME_KINDS
};

/* By names: the library's as gn_program_library says it, and the symbol's as the file writes it (NULL: none).
 */
enum gn_runtime_kind gn_runtime_of(const char *library, const char *symbol);

/* Of code: what is executed next, or behind a system call. */
enum gn_runtime_kind gn_runtime_at(struct gn_program *program, uint64_t offset);

/* Of a thread: its frames, innermost first, of which the first is as above and the others' offsets are return
 * addresses. A runtime may wait by means of the C library (sched_yield, pthread_cond_wait): what counts is
 * who called that. A function of the program that a runtime has called is none. */
enum gn_runtime_kind gn_runtime_of_stack(const struct gn_call_address *frames, size_t count);

/* "waiting in the OpenMP runtime"; "" of GN_RUNTIME_NONE. */
const char *gn_runtime_text(enum gn_runtime_kind kind);

/* Whether it is waiting, for whatever. */
bool gn_runtime_waits(enum gn_runtime_kind kind);

#endif
