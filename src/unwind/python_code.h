/*
 * unwind/python_code — what a code object says of an instruction in it: file, function, line. The slow way:
 * all memory is read through the kernel, everything is checked. In this process, or, from outside, in another
 * one.
 */
#ifndef GNOMON_UNWIND_PYTHON_CODE_H
#define GNOMON_UNWIND_PYTHON_CODE_H

#include <stdbool.h>
#include <stddef.h>
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
    uint32_t through_cframe; /* 1: it is; a number, since in shared memory it may be anything */
    uintptr_t code_tags;     /* bits of a frame's pointer to its code that are no part of the address */
};

/* As enum _frameowner has it. From OWNED_BY_C on frames are no Python function's. */
enum { GN_PYTHON_OWNED_BY_GENERATOR = 1, GN_PYTHON_OWNED_BY_C = 3 };

/* A CPython interpreter in a process: addresses there. */
struct gn_python_known {
    struct gn_python_layout layout;
    uint32_t version; /* PY_VERSION_HEX */
    uintptr_t runtime;
    uintptr_t code_type, text_type, bytes_type, none;
};

/* Of a layout that another process has told: no member is further from the start of its structure than this
 * module reads. */
bool gn_python_layout_fits(const struct gn_python_layout *layout);

/* Ways to copy memory of a process (0: this one), from an address. gn_copy_memory asks the kernel: false when
 * it is not there. gn_copy_directly is for what is known to be there, in this process. */
typedef bool gn_copy(int pid, void *to, uintptr_t from, size_t bytes);
bool gn_copy_memory(int pid, void *to, uintptr_t from, size_t bytes);
bool gn_copy_directly(int pid, void *to, uintptr_t from, size_t bytes);
struct gn_memory {
    gn_copy *copy;
    int pid;
};

/* A frame of the interpreter's, as it is linked to those that called it. */
struct gn_python_frame {
    uintptr_t previous, code, ip;
    bool is_function;  /* else of the interpreter's own, and code is none */
    bool is_generator; /* without a previous one while it does not run */
};

/* False: it is not there, or the layout makes no sense. */
bool gn_python_frame_read(const struct gn_python_known *python, struct gn_memory memory, uintptr_t address,
                          struct gn_python_frame *frame);

/* A string or bytes object in another's memory. */
struct gn_python_object {
    uintptr_t address; /* of the object */
    uint32_t state;    /* of a string: enough to know how its characters lie */
    uint32_t count;    /* characters; bytes */
    uint32_t width;    /* bytes a character */
    uintptr_t data;
};

struct gn_python_code {
    bool complete; /* false: the frame is just being made, and of the rest only version is known */
    uint32_t version;
    struct gn_python_object file, name, lines;
    uint32_t first_line;
    uint32_t instruction; /* its offset in bytes */
};

/* Of a string's state what says how its characters lie: kind, compact, ascii. Whether it is interned changes.
 */
#define GN_PYTHON_TEXT_FORM 0x7cu

/* Checks that `code` is a code object with `ip` in it, and reads where its parts are. False: it is not. */
bool gn_python_code_read(const struct gn_python_known *python, struct gn_memory memory, uintptr_t code,
                         uintptr_t ip, struct gn_python_code *out);

/* A string as UTF-8, in `size` bytes with the 0 at the end. What is too long loses its beginning, or its end,
 * and has "..." there. False: it cannot be read. */
bool gn_python_text(const struct gn_python_object *text, struct gn_memory memory, bool keep_end, char *to,
                    size_t size);

/* Importing is done by Python functions of the interpreter's own, in such a file; tracebacks leave them out,
 * too. */
bool gn_python_is_importing(const char *file);

/* The line of the instruction at offset `instruction`, from a table of lines; *used: its bytes that were
 * looked at. 0: none is known. See Objects/locations.md of 3.11 to 3.14. */
uint32_t gn_python_line(const uint8_t *table, uint32_t bytes, uint32_t first_line, uint32_t instruction,
                        uint32_t *used);

#endif
