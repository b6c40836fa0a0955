/*
 * agent/sample_python — which line of Python a thread is at, seen from outside.
 *
 *   the tag: where the interpreter's things are, and the thread's state     image/tag, told by capture/python
 *        │ process_vm_readv
 *        └► frames, from the innermost outwards ─► code object ─► file, function, line   unwind/python_code
 *
 * The program runs on meanwhile, so a frame may end while it is read: then it, or the next one, was there a
 * microsecond ago, or what was read is no code, and it is tried again. Nothing of the interpreter's is
 * changed, its lock is not taken. Who may look is told in agent/sample_asleep.h.
 */
#ifndef GNOMON_AGENT_SAMPLE_PYTHON_H
#define GNOMON_AGENT_SAMPLE_PYTHON_H

#include "agent/sample_counts.h"

/* What is remembered of a process's code objects. All zero is empty. */
enum { GN_PYTHON_LINES = 256 };
struct gn_sample_python {
    bool known, refused; /* where things are: said; said, and not to be believed */
    struct gn_python_known python;
    struct gn_python_known_line {
        uint64_t ip; /* 0: free */
        uint64_t file, name, lines;
        uint32_t first_line, version;
        uint32_t place;
        uint32_t layer; /* how far from the program's own code it is: the smaller the nearer */
    } lines[GN_PYTHON_LINES];
};

/* Whether the thread of the location runs Python. *place: the number of where it is in the Python program,
 * which is the innermost line that is neither of a package nor of the standard library, if there is one;
 * GN_SAMPLED_NONE: that could not be read, or there is no room for it. *called: the function that it has
 * called there; GN_SAMPLED_NONE: it is in none. */
bool gn_sample_python_place(struct gn_sample_python *python, int pid, int tid, struct gn_tag *tag,
                            uint32_t location, struct gn_sample_places *places, struct gn_sample_code *code,
                            uint32_t *place, uint32_t *called);

#endif
