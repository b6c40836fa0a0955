#include "program/names.h"
#include "program/units_inside.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_LEVELS = 16, NAME_BYTES = 16 * 1024 };

/* From an inlined or out-of-line copy to the entry that stands where the function was declared. */
static Dwarf_Die declaration_of(Dwarf_Die *die)
{
    Dwarf_Die found = *die;
    for (int hops = 0; hops < NAME_LEVELS; hops++) {
        Dwarf_Attribute attribute;
        Dwarf_Die next;
        if (!dwarf_attr(&found, DW_AT_abstract_origin, &attribute) &&
            !dwarf_attr(&found, DW_AT_specification, &attribute))
            break;
        if (!dwarf_formref_die(&attribute, &next))
            break;
        found = next;
    }
    return found;
}

static int compare_parents(const void *left, const void *right)
{
    const struct gn_parent *a = left, *b = right;
    return a->child < b->child ? -1 : a->child > b->child;
}

static void index_bodies(struct gn_units *units)
{
    for (size_t i = 0; i < units->count; i++) {
        struct gn_key key = {(uintptr_t)units->items[i].body.addr, 0};
        if (!gn_map_find(&units->bodies, key))
            gn_map_add(&units->bodies, key, &units->items[i]);
    }
}

/* The unit that was walked and holds this entry, or NULL (a shared part from dwz, a type unit). */
static struct gn_unit *unit_of(struct gn_units *units, Dwarf_Die *die)
{
    Dwarf_Die top;
    if (!dwarf_diecu(die, &top, NULL, NULL))
        return NULL;
    if (units->bodies.count == 0)
        index_bodies(units);
    struct gn_unit *unit = gn_map_find(&units->bodies, (struct gn_key){(uintptr_t)top.addr, 0});
    if (unit)
        gn_unit_walk(units, unit);
    return unit;
}

/* The parent of a declaration, itself followed to its declaration; false at the top of the unit. */
static bool parent_of(struct gn_unit *unit, Dwarf_Die *die)
{
    struct gn_parent key = {.child = dwarf_dieoffset(die)};
    const struct gn_parent *found = NULL;
    if (unit->parent_count > 0)
        found = bsearch(&key, unit->parents, unit->parent_count, sizeof key, compare_parents);
    Dwarf_Die parent;
    if (!found || !dwarf_offdie(dwarf_cu_getdwarf(die->cu), found->parent, &parent))
        return false;
    *die = declaration_of(&parent);
    return true;
}

/* inner: the name that the scope stands in front of. A class without name that can be called is a lambda. */
static const char *scope_name(Dwarf_Die *die, const char *inner)
{
    const char *name = dwarf_diename(die);
    if (name)
        return name;
    if (dwarf_tag(die) == DW_TAG_namespace)
        return "(anonymous namespace)";
    return strncmp(inner, "operator()", 10) == 0 ? "{lambda}" : "(anonymous)";
}

/* Puts prefix and "::" in front of *name; on failure *name is left as it is. */
static void prepend(char **name, const char *prefix)
{
    char *longer;
    if (strlen(*name) + strlen(prefix) > NAME_BYTES || asprintf(&longer, "%s::%s", prefix, *name) < 0)
        return;
    free(*name);
    *name = longer;
}

static char *cpp_name(struct gn_unit *unit, Dwarf_Die declaration)
{
    const char *own = dwarf_diename(&declaration);
    char *name = own ? strndup(own, NAME_BYTES) : NULL;
    for (int level = 0; name && level < NAME_LEVELS && parent_of(unit, &declaration); level++)
        prepend(&name, scope_name(&declaration, name));
    return name;
}

/* Only a module qualifies: a contained procedure goes by its own name. */
static char *fortran_name(struct gn_unit *unit, Dwarf_Die declaration)
{
    const char *own = dwarf_diename(&declaration);
    char *name = own ? gn_name_of_function(own, NULL) : NULL;
    if (name && parent_of(unit, &declaration) && dwarf_tag(&declaration) == DW_TAG_module)
        prepend(&name, scope_name(&declaration, name));
    return name;
}

static const char *linkage_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
    return name ? name : dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute));
}

static bool is_cpp(int language)
{
    return language == DW_LANG_C_plus_plus || language == DW_LANG_C_plus_plus_03 ||
           language == DW_LANG_C_plus_plus_11 || language == DW_LANG_C_plus_plus_14 ||
           language == 0x2b /* C++17 */ || language == 0x2c /* C++20 */;
}

static bool is_fortran(int language)
{
    return language == DW_LANG_Fortran77 || language == DW_LANG_Fortran90 || language == DW_LANG_Fortran95 ||
           language == DW_LANG_Fortran03 || language == DW_LANG_Fortran08 ||
           language == 0x2d /* Fortran 18 */;
}

char *gn_units_name(struct gn_units *units, Dwarf_Die *die)
{
    if (!die->addr)
        return NULL;
    Dwarf_Die declaration = declaration_of(die);
    struct gn_unit *unit = unit_of(units, &declaration);
    int language = unit ? dwarf_srclang(&unit->die) : 0;
    char *name = NULL;
    if (is_cpp(language))
        name = cpp_name(unit, declaration);
    else if (is_fortran(language))
        name = fortran_name(unit, declaration);
    if (name)
        return name;
    const char *own = dwarf_diename(die);
    const char *linkage = linkage_name(die);
    if (!own && !linkage)
        return NULL;
    return gn_name_of_function(own ? own : linkage, linkage);
}
