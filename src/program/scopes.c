#include "program/scopes.h"

#include "base/grow.h"
#include "program/die.h"

#include <dwarf.h>
#include <stdlib.h>

enum {
    LEVELS = 4 * GN_FRAMES_MAX,
    ENTRIES_MAX = 1000000, /* visited for one function */
};

static bool is_scope(int tag)
{
    return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_try_block ||
           tag == DW_TAG_catch_block;
}

static int small_number(Dwarf_Die *die, unsigned int name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0 || value > INT32_MAX)
        return 0;
    return (int)value;
}

static void set_call_site(struct gn_scope *scope, Dwarf_Die *body)
{
    Dwarf_Files *files;
    size_t count;
    int file = small_number(&scope->die, DW_AT_call_file);
    scope->call_line = small_number(&scope->die, DW_AT_call_line);
    scope->call_column = small_number(&scope->die, DW_AT_call_column);
    if (dwarf_getsrcfiles(body, &files, &count) == 0 && (size_t)file < count)
        scope->call_file = dwarf_filesrc(files, (size_t)file, NULL, NULL);
}

static void add_ranges(struct gn_scopes *s, struct gn_scope *scope)
{
    Dwarf_Addr base, low, high;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(&scope->die, at, &base, &low, &high)) > 0 && s->range_count < UINT32_MAX &&
           gn_grow(&s->ranges, &s->range_room, s->range_count, sizeof *s->ranges)) {
        s->ranges[s->range_count++] = (struct gn_scope_range){low, high};
        scope->range_count++;
    }
}

/* Adds a child of `parent` behind `last` when it has code; its index, or GN_SCOPE_NONE. */
static uint32_t add(struct gn_scopes *s, Dwarf_Die *die, Dwarf_Die *body, uint32_t parent, uint32_t last)
{
    int tag = dwarf_tag(die);
    if (!is_scope(tag) || s->count >= GN_SCOPE_NONE ||
        !gn_grow(&s->items, &s->room, s->count, sizeof *s->items))
        return GN_SCOPE_NONE;
    struct gn_scope *scope = &s->items[s->count];
    *scope = (struct gn_scope){.die = *die,
                               .child = GN_SCOPE_NONE,
                               .next = GN_SCOPE_NONE,
                               .first_range = (uint32_t)s->range_count,
                               .inlined = tag == DW_TAG_inlined_subroutine};
    add_ranges(s, scope);
    if (scope->range_count == 0)
        return GN_SCOPE_NONE;
    if (scope->inlined)
        set_call_site(scope, body);
    *(last == GN_SCOPE_NONE ? &s->items[parent].child : &s->items[last].next) = (uint32_t)s->count;
    return (uint32_t)s->count++;
}

/* A level of the walk: the entry in hand, the scope that it is a child of, and that one's last child. */
struct level {
    Dwarf_Die at;
    uint32_t parent, last;
};

static void walk(struct gn_scopes *s, Dwarf_Die *function, Dwarf_Die *body, struct level *levels)
{
    int depth = 0;
    levels[0] = (struct level){.parent = 0, .last = GN_SCOPE_NONE};
    if (dwarf_child(function, &levels[0].at) != 0)
        return;
    for (int entries = 0; entries < ENTRIES_MAX; entries++) {
        struct level *level = &levels[depth];
        uint32_t added = add(s, &level->at, body, level->parent, level->last);
        if (added != GN_SCOPE_NONE) {
            level->last = added;
            levels[depth + 1] = (struct level){.parent = added, .last = GN_SCOPE_NONE};
            if (depth + 2 < LEVELS && dwarf_child(&level->at, &levels[depth + 1].at) == 0) {
                depth++;
                continue;
            }
        }
        while (!gn_die_next_sibling(&levels[depth].at))
            if (depth-- == 0)
                return;
    }
}

/* Most functions have few scopes, and there may be many functions. */
static void shrink(struct gn_scopes *s)
{
    struct gn_scope *items = realloc(s->items, s->count * sizeof *items);
    struct gn_scope_range *ranges =
        s->range_count ? realloc(s->ranges, s->range_count * sizeof *ranges) : NULL;
    if (items)
        s->items = items;
    if (ranges)
        s->ranges = ranges;
}

struct gn_scopes *gn_scopes_read(Dwarf_Die *function, Dwarf_Die *body)
{
    struct gn_scopes *s = calloc(1, sizeof *s);
    struct level *levels = calloc(LEVELS, sizeof *levels);
    if (!s || !levels || !gn_grow(&s->items, &s->room, 0, sizeof *s->items)) {
        gn_scopes_free(s);
        free(levels);
        return NULL;
    }
    s->items[s->count++] = (struct gn_scope){.die = *function, .child = GN_SCOPE_NONE, .next = GN_SCOPE_NONE};
    walk(s, function, body, levels);
    free(levels);
    shrink(s);
    return s;
}

void gn_scopes_free(struct gn_scopes *s)
{
    if (!s)
        return;
    free(s->items);
    free(s->ranges);
    free(s);
}

static bool holds(const struct gn_scopes *s, const struct gn_scope *scope, uint64_t pc)
{
    const struct gn_scope_range *ranges = s->ranges + scope->first_range;
    for (uint32_t i = 0; i < scope->range_count; i++)
        if (pc >= ranges[i].low && pc < ranges[i].high)
            return true;
    return false;
}

size_t gn_scopes_chain(const struct gn_scopes *s, uint64_t pc, uint32_t *chain, size_t max)
{
    size_t count = 0;
    chain[count++] = 0;
    for (uint32_t at = s->items[0].child; at != GN_SCOPE_NONE && count < max;) {
        if (!holds(s, &s->items[at], pc)) {
            at = s->items[at].next;
            continue;
        }
        if (s->items[at].inlined)
            chain[count++] = at;
        at = s->items[at].child;
    }
    return count;
}
