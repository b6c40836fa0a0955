#include "program/units_inside.h"

#include "program/die.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    WALK_DEPTH = 128,           /* nesting of entries that is followed; deeper ones are not seen */
    WALK_BUDGET = 64 * 1000000, /* entries visited per file, over all units */
    UNITS_MAX = 1 << 22,
};

/* Makes room for one more item in a growing array; false when memory ran out. */
static bool grow(void **items, size_t *room, size_t count, size_t item_bytes)
{
    if (count < *room)
        return true;
    size_t wanted = *room ? *room * 2 : 16;
    void *grown = realloc(*items, wanted * item_bytes);
    if (!grown)
        return false;
    *items = grown;
    *room = wanted;
    return true;
}

static int add_ranges(struct gn_spans *spans, Dwarf_Die *die, size_t owner)
{
    Dwarf_Addr base, low, high;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
        /* The linker leaves address 0 in the description of code it threw away. */
        int rc = low == 0 ? 0 : gn_spans_add(spans, low, high, owner);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int add_unit(struct gn_units *units, Dwarf_Die *die, Dwarf_Die *body)
{
    if (!grow((void **)&units->items, &units->room, units->count, sizeof *units->items))
        return -ENOMEM;
    struct gn_unit *unit = &units->items[units->count];
    *unit = (struct gn_unit){.die = *die, .body = body ? *body : *die};
    if (!units->have_lines && dwarf_hasattr(die, DW_AT_stmt_list)) {
        Dwarf_Lines *lines;
        size_t count = 0;
        units->have_lines = dwarf_getsrclines(die, &lines, &count) == 0 && count > 0;
    }
    return add_ranges(&units->spans, die, units->count++);
}

static int add_all_units(struct gn_units *units, Dwarf *dwarf)
{
    Dwarf_CU *cu = NULL;
    uint8_t type;
    Dwarf_Die die, sub;
    while (units->count < UNITS_MAX && dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, &sub) == 0) {
        if (type == DW_UT_type || type == DW_UT_split_type || die.addr == NULL)
            continue;
        bool split = type == DW_UT_skeleton && sub.addr != NULL;
        int rc = add_unit(units, &die, split ? &sub : NULL);
        if (rc == -ENOMEM)
            return rc;
    }
    return 0;
}

int gn_units_open(struct gn_units **out, Dwarf *dwarf)
{
    struct gn_units *units = calloc(1, sizeof *units);
    if (!units)
        return -ENOMEM;
    units->budget = WALK_BUDGET;
    int rc = add_all_units(units, dwarf);
    if (rc < 0) {
        gn_units_close(units);
        return rc;
    }
    gn_spans_sort(&units->spans);
    *out = units;
    return 0;
}

static void clear_unit(struct gn_unit *unit)
{
    for (size_t i = 0; unit->scopes && i < unit->die_count; i++)
        gn_scopes_free(unit->scopes[i]);
    free(unit->scopes);
    gn_spans_clear(&unit->functions);
    free(unit->dies);
    free(unit->parents);
}

void gn_units_close(struct gn_units *units)
{
    if (!units)
        return;
    for (size_t i = 0; i < units->count; i++)
        clear_unit(&units->items[i]);
    gn_map_clear(&units->bodies);
    gn_spans_clear(&units->spans);
    free(units->items);
    free(units);
}

bool gn_units_have_lines(const struct gn_units *units)
{
    return units->have_lines;
}

static void note_function(struct gn_unit *unit, Dwarf_Die *die)
{
    if (!grow((void **)&unit->dies, &unit->die_room, unit->die_count, sizeof *unit->dies))
        return;
    unit->dies[unit->die_count] = *die;
    add_ranges(&unit->functions, die, unit->die_count++);
}

static void note_parent(struct gn_unit *unit, Dwarf_Die *child, Dwarf_Die *parent)
{
    if (!grow((void **)&unit->parents, &unit->parent_room, unit->parent_count, sizeof *unit->parents))
        return;
    unit->parents[unit->parent_count++] =
        (struct gn_parent){.child = dwarf_dieoffset(child), .parent = dwarf_dieoffset(parent)};
}

static bool names_a_scope(int tag)
{
    return tag == DW_TAG_subprogram || tag == DW_TAG_namespace || tag == DW_TAG_module ||
           tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/* path[0..depth] leads to the entry in hand; blocks between two named scopes are left out of the name. */
static void note_entry(struct gn_unit *unit, Dwarf_Die *path, size_t depth)
{
    int tag = dwarf_tag(&path[depth]);
    if (!names_a_scope(tag))
        return;
    if (tag == DW_TAG_subprogram)
        note_function(unit, &path[depth]);
    for (size_t i = depth; i-- > 0;) {
        if (names_a_scope(dwarf_tag(&path[i]))) {
            note_parent(unit, &path[depth], &path[i]);
            return;
        }
    }
}

void gn_unit_walk(struct gn_units *units, struct gn_unit *unit)
{
    Dwarf_Die path[WALK_DEPTH];
    if (unit->walked)
        return;
    unit->walked = true;
    if (dwarf_child(&unit->body, &path[0]) != 0)
        return;
    size_t depth = 0;
    for (;;) {
        if (units->budget-- <= 0)
            break;
        note_entry(unit, path, depth);
        if (depth + 1 < WALK_DEPTH && dwarf_child(&path[depth], &path[depth + 1]) == 0) {
            depth++;
            continue;
        }
        while (!gn_die_next_sibling(&path[depth])) {
            if (depth-- == 0)
                goto done;
        }
    }
done:
    gn_spans_sort(&unit->functions);
}

struct gn_unit *gn_unit_find(struct gn_units *units, uint64_t pc)
{
    size_t owner = gn_spans_find(&units->spans, pc);
    if (owner == GN_SPAN_NONE)
        return NULL;
    gn_unit_walk(units, &units->items[owner]);
    return &units->items[owner];
}

size_t gn_unit_function(struct gn_unit *unit, uint64_t pc)
{
    return gn_spans_find(&unit->functions, pc);
}

/* Of a compiler's own words, which gcc ends with its options: the last level of optimization. */
static char level_of(const char *options)
{
    char level = '0';
    for (const char *o = options; (o = strstr(o, " -O")); o += 3)
        level = o[3] == '\0' || o[3] == ' ' ? '1' : o[3];
    return level;
}

/* NULL: not known. */
static const char *producer_at(struct gn_units *units, uint64_t pc)
{
    struct gn_unit *unit = gn_unit_find(units, pc);
    Dwarf_Attribute attribute;
    return unit ? dwarf_formstring(dwarf_attr(&unit->die, DW_AT_producer, &attribute)) : NULL;
}

bool gn_units_merge_places(struct gn_units *units, uint64_t pc)
{
    const char *producer = producer_at(units, pc);
    return producer && strstr(producer, "clang version");
}

bool gn_units_tell_statements(struct gn_units *units, uint64_t pc)
{
    struct gn_unit *unit = gn_unit_find(units, pc);
    Dwarf_Attribute attribute;
    const char *producer = unit ? dwarf_formstring(dwarf_attr(&unit->die, DW_AT_producer, &attribute)) : NULL;
    if (!producer || strncmp(producer, "GNU ", 4) != 0)
        return true;
    const char *options = strstr(producer, " -");
    if (!options) /* kept back */
        return false;
    int version = 0;
    for (const char *word = producer; word && version == 0; word = strchr(word + 1, ' '))
        version = atoi(word);
    const char level = level_of(options);
    return level == '0' || level == 'g' ||
           (version >= 8 && !strstr(producer, "GNU Fortran") && !strstr(options, " -g1") &&
            !strstr(options, " -gno-statement-frontiers"));
}
