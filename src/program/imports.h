/*
 * program/imports — the symbols that a module calls through its linkage table, by the table's slot.
 */
#ifndef GNOMON_PROGRAM_IMPORTS_H
#define GNOMON_PROGRAM_IMPORTS_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gn_import {
    uint64_t slot;    /* offset from the load base of the pointer that is called through */
    uint64_t address; /* of the symbol when this module defines it; else 0 */
    const char *name; /* belongs to the Elf */
};

struct gn_imports {
    struct gn_import *items;
    size_t count, room;
};

/* Returns 0 or -ENOMEM; damaged tables give what could be read. */
int gn_imports_read(struct gn_imports *imports, Elf *elf);
const struct gn_import *gn_imports_find(const struct gn_imports *imports, uint64_t slot); /* NULL: none */
/* Whether code at address is of the linkage table itself, which leads to imports. */
bool gn_imports_are_at(Elf *elf, uint64_t address);
void gn_imports_clear(struct gn_imports *imports);

#endif
