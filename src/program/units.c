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

static const char *producer_of(struct gn_unit *unit)
{
    Dwarf_Attribute attribute;
    return dwarf_formstring(dwarf_attr(&unit->die, DW_AT_producer, &attribute));
}

/* NULL: not known. */
static const char *producer_at(struct gn_units *units, uint64_t pc)
{
    struct gn_unit *unit = gn_unit_find(units, pc);
    return unit ? producer_of(unit) : NULL;
}

bool gn_units_merge_places(struct gn_units *units, uint64_t pc)
{
    const char *producer = producer_at(units, pc);
    return producer && strstr(producer, "clang version");
}

/* The last level of optimization among gcc's options. */
static char level_of(const char *options)
{
    char level = '0';
    for (const char *o = options; (o = strstr(o, " -O")); o += 3)
        level = o[3] == '\0' || o[3] == ' ' ? '1' : o[3];
    return level;
}

/* Whether an option keeps gcc from telling of statements: -g1, -ggdb1, … */
static bool keeps_back(const char *options)
{
    if (strstr(options, " -gno-statement-frontiers") || strstr(options, " -fselective-scheduling"))
        return true;
    for (const char *o = options; (o = strstr(o, " -g")); o += 3) {
        const size_t length = strcspn(o + 1, " ");
        if (o[length] == '1' && strncmp(o, " -gdwarf", 8) != 0)
            return true;
    }
    return false;
}

/* Of a unit that no linker made. */
static bool tells_statements(const char *producer)
{
    if (!producer)
        return false;
    if (strstr(producer, "clang version"))
        return true;
    const char *options = strstr(producer, " -");
    if (strncmp(producer, "GNU ", 4) != 0 || !options) /* kept back */
        return false;
    const char level = level_of(options);
    int version = 0;
    for (const char *word = producer; word && word < options && version == 0; word = strchr(word + 1, ' '))
        version = atoi(word);
    const bool is_c =
        producer[4] == 'C' && (producer[5] == '+' || (producer[5] >= '0' && producer[5] <= '9'));
    return level == '0' || level == 'g' || (is_c && version >= 8 && !keeps_back(options));
}

bool gn_units_tell_statements(struct gn_units *units, uint64_t pc)
{
    const char *producer = producer_at(units, pc);
    if (!producer || strncmp(producer, "GNU GIMPLE ", 11) != 0)
        return tells_statements(producer);
    /* optimized when it was linked: as all that it was made of */
    bool all = true;
    for (size_t i = 0; i < units->count && all; i++) {
        const char *part = producer_of(&units->items[i]);
        all = part && (strncmp(part, "GNU GIMPLE ", 11) == 0 || tells_statements(part));
    }
    return all && units->count > 1;
}
