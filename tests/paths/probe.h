/*
 * tests/paths — is the call path that capture finds the right one?
 *
 * random_paths.py writes programs with random call graphs and with all that makes a stack hard to walk. They
 * call probe() at random points. The probe library has capture linked in and asks it for the path, in full
 * and through the recorder, which remembers; reference.c walks the same stack with an unwinder that capture
 * does not use (libunwind) and folds it as capture/callpath.h says, in the plainest way. Both must be the
 * same, frame by frame.
 */
#ifndef TESTS_PATHS_PROBE_H
#define TESTS_PATHS_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- for the programs ---- */

/* Compares the path of this call. Stands for an MPI call. */
void probe(void);
/* A library was unloaded: the reference forgets what it knows about it. Capture is told nothing. */
void probe_unloaded(void);
/* Calls of probe so far, in all threads. */
unsigned long probe_calls(void);
/* Prints the result in one line. Returns how many calls found another path than the reference. */
unsigned long probe_report(void);

/* ---- what is tested: the only part that knows capture's interface (subject.c) ---- */

enum { PROBE_MAX_FRAMES = 256 };

struct probe_frame {
    uintptr_t ip; /* return address into this frame */
};

/* A frame of a path as capture keeps it. */
struct probe_kept {
    const char *module; /* path; "" when it lies in none */
    uint64_t offset;    /* return address in the module; the address itself where there is none */
    bool folded;        /* some call on this path folded recursion here */
};

int gn_probe_open(void);
/* The stack of the wrapper with this frame address that returns to `caller`: its frames, innermost first.
 * Returns their number. */
unsigned gn_probe_path(void *caller, void *frame, struct probe_frame *frames, unsigned max);
/* What the recorder says about a call of that wrapper, which may come from what it remembers: the path,
 * outermost first. Returns the number of frames; -1: a table is full, the path was cut. */
int gn_probe_recorded(void *caller, void *frame, struct probe_kept *kept, unsigned max);
/* How many of the recorder's calls were unwound in full, in all threads. */
unsigned long gn_probe_unwound(void);
/* How many different frames the paths have that were found, as a tree. */
unsigned gn_probe_paths(void);

/* ---- the reference ---- */

struct reference_frame {
    uintptr_t ip;
    uintptr_t function; /* where its unwind table entry begins; ip where it has none */
};

/* 0, or -1 when there is no libunwind. */
int reference_open(void);
/* Frames from the one that `caller` returns into on outward, innermost first. */
unsigned reference_walk(uintptr_t caller, struct reference_frame *frames, unsigned max);
/* Trims and folds them: indices into frames[] of what remains, outermost first. */
unsigned reference_fold(const struct reference_frame *frames, unsigned count, unsigned *kept, bool *folded);
void reference_module(uintptr_t ip, const char **path, uint64_t *offset);
void reference_forget(void);

#ifdef __cplusplus
}
#endif

#endif
