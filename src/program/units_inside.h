/*
 * program/units_inside — what units.c (the index), frames.c (lookups) and qualified.c (names) share.
 */
#ifndef GNOMON_PROGRAM_UNITS_INSIDE_H
#define GNOMON_PROGRAM_UNITS_INSIDE_H

#include "base/map.h"
#include "program/scopes.h"
#include "program/spans.h"
#include "program/units.h"

/* Where a function's entry stands, for qualified names: libdw has no way from an entry to its parent. */
struct gn_parent {
    Dwarf_Off child, parent;
};

struct gn_unit {
    Dwarf_Die die;  /* has the line table */
    Dwarf_Die body; /* has the functions: die itself, or its other half in a .dwo file */
    bool walked;
    struct gn_spans functions; /* owner: index into dies */
    Dwarf_Die *dies;
    size_t die_count, die_room;
    struct gn_scopes **scopes; /* by index into dies, each read when it is asked for; NULL at first */
    const char *directory;     /* of the compilation, NULL when unknown */
    bool directory_known;
    struct gn_parent *parents; /* ascending by child, as the walk meets them */
    size_t parent_count, parent_room;
};

struct gn_units {
    struct gn_unit *items;
    size_t count, room;
    struct gn_spans spans; /* owner: index into items */
    struct gn_map bodies;  /* address of a unit's body to the unit; made by the first question */
    long budget;
    bool have_lines;
};

/* Indexes the functions of a unit; does nothing the second time. */
void gn_unit_walk(struct gn_units *units, struct gn_unit *unit);

/* The unit around pc, indexed, or NULL. */
struct gn_unit *gn_unit_find(struct gn_units *units, uint64_t pc);

/* The physical function around pc in an indexed unit: its index into dies, or GN_SPAN_NONE. */
size_t gn_unit_function(struct gn_unit *unit, uint64_t pc);

#endif
