/*
 * capture/python_code — what a code object says of an instruction in it: file, function, line. The slow way:
 * all memory is read through the kernel, everything is checked.
 */
#ifndef GNOMON_CAPTURE_PYTHON_CODE_H
#define GNOMON_CAPTURE_PYTHON_CODE_H

#include "capture/interpreter.h"
#include "image/tag.h"

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
bool gn_python_code_read(const struct gn_interpreter *python, gn_copy *copy, uintptr_t code, uintptr_t ip,
                         struct gn_python_code *out);

/* A string as UTF-8, in `size` bytes with the 0 at the end. What is too long loses its beginning, or its end,
 * and has "..." there. False: it cannot be read. */
bool gn_python_text(const struct gn_python_object *text, gn_copy *copy, bool keep_end, char *to, size_t size);

/* The line of the instruction at offset `instruction`, from a table of lines; *used: its bytes that were
 * looked at. 0: none is known. See Objects/locations.md of 3.11 to 3.14. */
uint32_t gn_python_line(const uint8_t *table, uint32_t bytes, uint32_t first_line, uint32_t instruction,
                        uint32_t *used);

#endif
