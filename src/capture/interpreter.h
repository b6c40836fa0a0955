/*
 * capture/interpreter — the CPython interpreter in this process: where its things are.
 *
 * CPython keeps the frames of each thread in a linked list (Include/internal/pycore_frame.h). From 3.13 on
 * the interpreter itself says at what offsets the members of its structures are (_Py_DebugOffsets, at the
 * start of _PyRuntime); of 3.11 and 3.12, whose layouts do not change any more, there is a table. Other
 * versions, builds without the interpreter's lock (free-threaded), and whatever does not look as it should,
 * are left alone: there, calls have the C call path only.
 *
 *   PyThreadState ─► [_PyCFrame ─►] _PyInterpreterFrame ─► previous ─► … ─► NULL
 *                     3.11, 3.12      │ code, instruction, owner
 *                                     ▼
 *                                   PyCodeObject: file and name (str), table of lines (bytes)
 *
 * Nothing of the interpreter's is changed, its lock is not taken, and one function of it is called, which
 * reads a thread-local variable: PyGILState_GetThisThreadState.
 */
#ifndef GNOMON_CAPTURE_INTERPRETER_H
#define GNOMON_CAPTURE_INTERPRETER_H

#include "unwind/python_code.h"

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gn_interpreter {
    struct gn_python_known known;
    void *(*this_state)(void); /* the calling thread's PyThreadState, or NULL */
};

/* The interpreter that was found, or NULL. */
static inline const struct gn_interpreter *gn_interpreter(void);

/* Looks for one in all modules that are loaded; the first one becomes gn_interpreter(), if it is understood.
 */
void gn_interpreter_find(void);

/* Whether the module is an interpreter: libpython, or a program that has it inside. Calls nothing. */
bool gn_interpreter_module(const struct dl_phdr_info *module);

extern const struct gn_interpreter *_Atomic gn_interpreter_found;

static inline const struct gn_interpreter *gn_interpreter(void)
{
    return atomic_load_explicit(&gn_interpreter_found, memory_order_acquire);
}

#endif
