/*
 * capture/python — the Python frames of the calling thread, read in place.
 *
 * All Python functions run in one C function, so that all calls of one interpreter come along one C path;
 * what tells them apart are the interpreter's own frames (capture/interpreter). They are read at each call,
 * from the innermost one outwards, a few loads each. What a frame shows (file, function, line) follows from
 * its code object and the instruction that it is at; that is found out once and remembered:
 *
 *   frame ─► code, instruction ─► site, by instruction, if it is still the same code ─► index into sources[]
 *
 * Still the same: code objects come and go (exec, lambdas that are made again and again), and a new one may
 * lie where an old one lay. From 3.12 on each has a number of its own. In 3.11 everything that the answer was
 * made from is compared with a copy: first line, file name, function name, the table of lines up to the
 * instruction.
 *
 * Safety: the thread's own frames change by nobody's hand but its own, also while it has given the
 * interpreter's lock away, and hold their code. So what hangs on a thread state that is this thread's is
 * there. That the layout is right is shown once, by reading a thread's state, frames and code through the
 * kernel. While the interpreter ends, other threads' states go away: from then on only the thread that ends
 * it has frames.
 *
 * Order in a call path: all Python frames, outermost first, then the C frames that the innermost one has
 * called. `boundary` is where these end: an object on the C stack, in the frame of the interpreter's loop
 * that runs the innermost Python function; UINTPTR_MAX where thousands of functions run in one loop and it is
 * too far to go (3.13 and later). C frames of the interpreter itself are left out.
 */
#ifndef GNOMON_CAPTURE_PYTHON_H
#define GNOMON_CAPTURE_PYTHON_H

#include "image/tag.h"

#include <stdbool.h>

enum {
    GN_PYTHON_DEPTH = 256, /* frames that are looked at, from the inside */
    GN_PYTHON_SITES = 4096,
    GN_PYTHON_CODES = 1024,
    GN_PYTHON_TEXT_BYTES = 1 << 20,
};

/* What a frame at `ip` in `code` shows. */
struct gn_python_site {
    uintptr_t ip; /* 0: free */
    uintptr_t code;
    uint32_t source;       /* index into sources[]; GN_PYTHON_HIDDEN, GN_PYTHON_UNKNOWN */
    uint32_t code_version; /* 0: compare with the copy */
    uint32_t copy;
    uint32_t line_bytes; /* of the table of lines, up to what says the instruction's */
};

#define GN_PYTHON_HIDDEN 0xffffffffu  /* a frame that is not complete yet, as Python itself leaves it out */
#define GN_PYTHON_UNKNOWN 0xfffffffeu /* cannot be read: this stack has its C path only */

/* Copies of what code objects of 3.11 say, by which they are known again. */
struct gn_python_copy {
    uintptr_t code; /* 0: free */
    uintptr_t file, name, lines;
    uint32_t first_line;
    uint32_t file_state, name_state; /* kind and form of the strings */
    uint32_t file_bytes, name_bytes, line_bytes;
    uint32_t file_text, name_text, line_text; /* where in text[] */
};

/* A thread's; all zero is empty. Most of it is never touched by programs without Python. */
struct gn_python {
    uint32_t asked;     /* how often, before anything was known of the interpreter */
    gn_shared64 *state; /* where it is told what the thread's PyThreadState is; NULL: nowhere */
    /* the answer of gn_python_read */
    uint32_t count;
    bool cut; /* sources[] or modules[] is full: frames are missing */
    uintptr_t boundary;
    uint32_t sources[GN_PYTHON_DEPTH]; /* innermost first */
    uint64_t learned;                  /* sites that were looked up in full, ever */
    uint64_t paid_since; /* ticks: when the first of those since the caller set it to 0 was met */
    struct {
        uintptr_t file; /* compared in this reading with the copy at file_text */
        uint32_t file_text;
        uint32_t copy;       /* compared in this reading: all but the lines beyond line_bytes */
        uint32_t line_bytes; /* 0: none */
    } seen;
    uint32_t site_count, text_used;
    struct gn_python_site sites[GN_PYTHON_SITES];
    struct gn_python_copy copies[GN_PYTHON_CODES];
    _Alignas(8) uint8_t text[GN_PYTHON_TEXT_BYTES];
    uint8_t scratch[GN_PYTHON_TEXT_BYTES / 4];
};

/*
 * The calling thread's Python frames into p->sources, count and boundary. Returns their number: 0 when the
 * thread runs no Python, or when one of its frames cannot be read. Allocates nothing; takes the lock of
 * capture/lists and makes system calls for sites that are new.
 */
uint32_t gn_python_read(struct gn_python *p, struct gn_tag *segment);

#endif
