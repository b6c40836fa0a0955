/*
 * program/methods — what CPython calls the functions of an extension module.
 *
 * Such a module exports one function (PyInit_NAME) and is stripped, but CPython has to find all others by the
 * names that Python programs use: the module's data have tables of PyMethodDef and PyGetSetDef (name,
 * function; Python/C API, "Common Object Structures"), which types refer to. They are found by their form, as
 * there is nothing else to go by: a pointer to an identifier beside a pointer to code. A method is
 * "MPI.Comm.recv": module, type, method. Its type is said by the method's signature in its documentation
 * (Cython writes it), else by the PyTypeObject that refers to the table.
 *
 * Limits: relocations of the usual form (not RELR), x86-64 and AArch64; what a method calls has no name.
 */
#ifndef GNOMON_PROGRAM_METHODS_H
#define GNOMON_PROGRAM_METHODS_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

struct gn_method {
    uint64_t function; /* offset at which it begins */
    char *name;
};

struct gn_methods {          /* all zero: none */
    char *module;            /* "MPI"; NULL: the file is no extension module */
    struct gn_method *items; /* ascending by function */
    size_t count, room;
};

/* Fills *methods with those of elf, which is whatever somebody has put on the disk; nothing where memory ran
 * out. */
void gn_methods_read(struct gn_methods *methods, Elf *elf);
void gn_methods_clear(struct gn_methods *methods);

/* The name of the function that begins at that offset, or NULL. */
const char *gn_methods_find(const struct gn_methods *methods, uint64_t function);

#endif
