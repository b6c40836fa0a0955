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

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Offsets in bytes, from the start of the structure that the name begins with. */
struct gn_python_layout {
    uint32_t runtime_finalizing; /* the thread state that ends the interpreter; NULL: none */
    uint32_t state_frame;        /* the innermost frame; with through_cframe: the _PyCFrame */
    uint32_t state_thread, state_native_thread;
    uint32_t cframe_frame;
    uint32_t frame_previous, frame_code, frame_ip, frame_owner;
    uint32_t code_file, code_name, code_lines, code_first_line, code_start;
    uint32_t code_version;         /* a number that no other code object has had; 0: there is none (3.11) */
    uint32_t code_first_traceable; /* before that instruction a frame is not complete */
    uint32_t object_type, object_size;
    uint32_t bytes_data;
    uint32_t text_length, text_state, text_ascii_data, text_wide_data;
    bool through_cframe;
    uintptr_t code_tags; /* bits of a frame's pointer to its code that are no part of the address */
};

/* As enum _frameowner has it. From OWNED_BY_C on frames are no Python function's. */
enum { GN_PYTHON_OWNED_BY_GENERATOR = 1, GN_PYTHON_OWNED_BY_C = 3 };

struct gn_interpreter {
    struct gn_python_layout layout;
    uint32_t version; /* PY_VERSION_HEX */
    uintptr_t runtime;
    uintptr_t code_type, text_type, bytes_type, none;
    void *(*this_state)(void); /* the calling thread's PyThreadState, or NULL */
};

/* The interpreter that was found, or NULL. */
static inline const struct gn_interpreter *gn_interpreter(void);

/* Looks for one in all modules that are loaded; the first one becomes gn_interpreter(), if it is understood.
 */
void gn_interpreter_find(void);

/* Whether the module is an interpreter: libpython, or a program that has it inside. Calls nothing. */
bool gn_interpreter_module(const struct dl_phdr_info *module);

/* Ways to copy memory, from an address. gn_copy_memory asks the kernel: false when it is not there.
 * gn_copy_directly is for what is known to be there. */
typedef bool gn_copy(void *to, uintptr_t from, size_t bytes);
bool gn_copy_memory(void *to, uintptr_t from, size_t bytes);
bool gn_copy_directly(void *to, uintptr_t from, size_t bytes);

extern const struct gn_interpreter *_Atomic gn_interpreter_found;

static inline const struct gn_interpreter *gn_interpreter(void)
{
    return atomic_load_explicit(&gn_interpreter_found, memory_order_acquire);
}

#endif
