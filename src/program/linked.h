/*
 * program/linked — which functions a program calls through the dynamic loader, so that a library that is
 * loaded ahead of the others meets these calls: those of the executable, and of the libraries that it is
 * linked with, in all of these. What is loaded only while it runs (dlopen) is not known.
 */
#ifndef GNOMON_PROGRAM_LINKED_H
#define GNOMON_PROGRAM_LINKED_H

#include "base/error.h"

#include <stddef.h>

struct gn_linked;

enum { GN_LINKED_SYMBOL = 256, GN_LINKED_VERSION = 64 };

/* A function as the loader knows it. */
struct gn_linked_function {
    char symbol[GN_LINKED_SYMBOL];
    char version[GN_LINKED_VERSION]; /* that is asked for; empty: none */
};

/* NULL, with err: no file that could be read, or not one that the dynamic loader would start. */
struct gn_linked *gn_linked_open(const char *executable, struct gn_error *err);
void gn_linked_close(struct gn_linked *linked);

/*
 * The functions of that name (a symbol, or a name as program/names has it, which may be several functions) of
 * which calls can be met: how many, at most `room`. 0: none, and err says why: they are in the executable,
 * nobody calls them through the loader, they are no functions, return twice or look at who calls them, are
 * asked for in several versions, are unknown, or have too long names.
 */
size_t gn_linked_find(struct gn_linked *linked, const char *name, struct gn_linked_function *found,
                      size_t room, struct gn_error *err);

#endif
