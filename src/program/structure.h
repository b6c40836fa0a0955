/*
 * program/structure — a program as a hierarchy, without running it: procedures, their loops, the calls in
 * them, and which of these communicate (Li and Zhang, section 4; Sikora 2016, 3.1.1).
 *
 * A procedure communicates when it calls MPI so that gnomon would record it, or calls one that does, in the
 * executable or in a library that it asks for. What is called through a pointer is not known, and told apart.
 * Inlined procedures stand where they were inlined.
 */
#ifndef GNOMON_PROGRAM_STRUCTURE_H
#define GNOMON_PROGRAM_STRUCTURE_H

#include "program/modules.h"

enum gn_structure_kind { GN_STRUCTURE_PROCEDURE, GN_STRUCTURE_LOOP, GN_STRUCTURE_CALL };

struct gn_structure_node {
    enum gn_structure_kind kind;
    char *name;         /* of a procedure; of what is called; NULL: a loop, or called through a pointer */
    char *file;         /* NULL: not known */
    int line;           /* 0: not known */
    uint64_t offset;    /* of its first instruction, or of the call, from the load base */
    const char *doubt;  /* of a loop: why it may not be one of the source; NULL: none */
    bool communicates;  /* there may be communication in it: a call that is recorded, by whatever way */
    bool is_inlined;    /* a procedure in the place where it was inlined */
    bool is_measured;   /* a call of MPI that is recorded */
    size_t parent;      /* GN_STRUCTURE_NONE: a procedure of the module */
    size_t first, next; /* child, sibling: GN_STRUCTURE_NONE none; in the order of the source */
};

#define GN_STRUCTURE_NONE SIZE_MAX

struct gn_structure_module {
    char *path;
    bool has_lines;
    size_t procedures, communicating; /* how many it has */
    size_t unread;                    /* whose code is not understood */
    struct gn_structure_node *nodes;
    size_t count, room;
};

struct gn_structure {
    struct gn_structure_module *modules; /* the executable first, then libraries that use MPI */
    size_t count;
};

/*
 * Reads the executable at `path` and, of the libraries that it asks for, those that use MPI (not MPI's own).
 * all: nodes of what does not communicate, too. Errors: as of gn_program_open. Caller clears.
 */
int gn_structure_read(struct gn_structure *structure, const char *path, bool all, struct gn_error *err);
void gn_structure_clear(struct gn_structure *structure);

#endif
