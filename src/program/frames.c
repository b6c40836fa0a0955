#include "program/units_inside.h"

#include <dwarf.h>
#include <string.h>

enum { SCOPE_BUDGET = 1000000 }; /* entries visited for one chain of inlined functions */

/* Replaces *scope by the block or inlined function directly inside it that holds pc. */
static bool enter_scope(Dwarf_Die *scope, uint64_t pc, long *budget)
{
    Dwarf_Die child;
    if (dwarf_child(scope, &child) != 0)
        return false;
    do {
        int tag = dwarf_tag(&child);
        if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_try_block ||
             tag == DW_TAG_catch_block) &&
            dwarf_haspc(&child, pc) == 1) {
            *scope = child;
            return true;
        }
    } while ((*budget)-- > 0 && gn_unit_next_sibling(&child));
    return false;
}

/* Fills chain with the function and the inlined functions around pc, outermost first. */
static size_t find_chain(Dwarf_Die *function, uint64_t pc, Dwarf_Die *chain)
{
    Dwarf_Die scope = *function;
    long budget = SCOPE_BUDGET;
    size_t count = 0;
    chain[count++] = scope;
    for (int depth = 0; depth < 4 * GN_FRAMES_MAX && count < GN_FRAMES_MAX; depth++) {
        if (!enter_scope(&scope, pc, &budget))
            break;
        if (dwarf_tag(&scope) == DW_TAG_inlined_subroutine)
            chain[count++] = scope;
    }
    return count;
}

static int small_number(Dwarf_Die *die, unsigned int name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0 || value > INT32_MAX)
        return 0;
    return (int)value;
}

static void set_call_site(struct gn_unit *unit, Dwarf_Die *inlined, struct gn_frame *frame)
{
    Dwarf_Files *files;
    size_t count;
    int file = small_number(inlined, DW_AT_call_file);
    frame->line = small_number(inlined, DW_AT_call_line);
    if (dwarf_getsrcfiles(&unit->body, &files, &count) == 0 && (size_t)file < count)
        frame->file = dwarf_filesrc(files, (size_t)file, NULL, NULL);
}

static void set_line(struct gn_unit *unit, uint64_t pc, struct gn_frame *frame)
{
    Dwarf_Line *line = dwarf_getsrc_die(&unit->die, pc);
    if (!line || dwarf_lineno(line, &frame->line) != 0 || frame->line <= 0) {
        frame->line = 0;
        return;
    }
    frame->file = dwarf_linesrc(line, NULL, NULL);
}

static const char *directory_of(struct gn_unit *unit)
{
    Dwarf_Attribute attribute;
    return dwarf_formstring(dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute));
}

size_t gn_units_frames(struct gn_units *units, uint64_t pc, struct gn_frame *frames, size_t max)
{
    struct gn_unit *unit = gn_unit_find(units, pc);
    if (!unit)
        return 0;
    Dwarf_Die chain[GN_FRAMES_MAX];
    Dwarf_Die *function = gn_unit_function(unit, pc);
    size_t count = function ? find_chain(function, pc, chain) : 0;
    struct gn_frame frame = {.directory = directory_of(unit)};
    set_line(unit, pc, &frame);
    if (count == 0 && frame.line == 0)
        return 0;
    size_t written = 0;
    do {
        if (count > 0)
            frame.die = chain[count - 1];
        frames[written++] = frame;
        if (count > 1) {
            frame = (struct gn_frame){.directory = frame.directory};
            set_call_site(unit, &chain[count - 1], &frame);
        }
    } while (count-- > 1 && written < max);
    return written;
}

static void add_function_range(struct gn_function *function, uint64_t low, uint64_t high)
{
    size_t at = function->range_count;
    while (at > 0 && function->ranges[at - 1].low > low)
        at--;
    bool overlaps = (at > 0 && function->ranges[at - 1].high > low) ||
                    (at < function->range_count && function->ranges[at].low < high);
    if (low == 0 || low >= high || overlaps)
        return;
    memmove(&function->ranges[at + 1], &function->ranges[at],
            (function->range_count - at) * sizeof function->ranges[0]);
    function->ranges[at].low = low;
    function->ranges[at].high = high;
    function->range_count++;
}

bool gn_units_function(struct gn_units *units, uint64_t pc, struct gn_function *function)
{
    struct gn_unit *unit = gn_unit_find(units, pc);
    Dwarf_Die *die = unit ? gn_unit_function(unit, pc) : NULL;
    if (!die)
        return false;
    *function = (struct gn_function){.die = *die};
    Dwarf_Addr base, low, high;
    ptrdiff_t at = 0;
    while (function->range_count < GN_FUNCTION_RANGES_MAX &&
           (at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
        add_function_range(function, low, high);
    return function->range_count > 0;
}
