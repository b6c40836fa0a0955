#include "program/units_inside.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* The tree of an indexed function, read when it is first asked for; NULL: no memory. */
static const struct gn_scopes *scopes_of(struct gn_unit *unit, size_t function)
{
    if (!unit->scopes)
        unit->scopes = calloc(unit->die_count, sizeof(struct gn_scopes *));
    if (unit->scopes && !unit->scopes[function])
        unit->scopes[function] = gn_scopes_read(&unit->dies[function], &unit->body);
    return unit->scopes ? unit->scopes[function] : NULL;
}

static void set_line(struct gn_unit *unit, uint64_t pc, struct gn_frame *frame)
{
    Dwarf_Line *line = dwarf_getsrc_die(&unit->die, pc);
    if (!line || dwarf_lineno(line, &frame->line) != 0 || frame->line <= 0) {
        frame->line = 0;
        return;
    }
    frame->file = dwarf_linesrc(line, NULL, NULL);
    if (dwarf_linecol(line, &frame->column) != 0)
        frame->column = 0;
}

static const char *directory_of(struct gn_unit *unit)
{
    Dwarf_Attribute attribute;
    if (!unit->directory_known)
        unit->directory = dwarf_formstring(dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute));
    unit->directory_known = true;
    return unit->directory;
}

size_t gn_units_frames(struct gn_units *units, uint64_t pc, struct gn_frame *frames, size_t max)
{
    struct gn_unit *unit = gn_unit_find(units, pc);
    if (!unit)
        return 0;
    uint32_t chain[GN_FRAMES_MAX];
    size_t function = gn_unit_function(unit, pc), count = 0;
    const struct gn_scopes *scopes = function == GN_SPAN_NONE ? NULL : scopes_of(unit, function);
    if (scopes)
        count = gn_scopes_chain(scopes, pc, chain, GN_FRAMES_MAX);
    struct gn_frame frame = {.directory = directory_of(unit)};
    set_line(unit, pc, &frame);
    if (count == 0 && frame.line == 0)
        return 0;
    size_t written = 0;
    do {
        const struct gn_scope *scope = count > 0 ? &scopes->items[chain[count - 1]] : NULL;
        if (scope)
            frame.die = scope->die;
        frames[written++] = frame;
        if (count > 1)
            frame = (struct gn_frame){.directory = frame.directory,
                                      .file = scope->call_file,
                                      .line = scope->call_line,
                                      .column = scope->call_column};
    } while (count-- > 1 && written < max);
    return written;
}

/* The first row at pc or behind it. */
static size_t first_row(Dwarf_Lines *lines, size_t count, uint64_t pc)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        Dwarf_Addr address = 0;
        dwarf_lineaddr(dwarf_onesrcline(lines, middle), &address);
        if (address < pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int gn_units_first_line(struct gn_units *units, uint64_t pc)
{
    struct gn_unit *unit = gn_unit_find(units, pc);
    Dwarf_Lines *lines;
    size_t count;
    Dwarf_Addr address;
    int line = 0;
    if (!unit || dwarf_getsrclines(&unit->die, &lines, &count) != 0)
        return 0;
    const size_t first = first_row(lines, count, pc);
    Dwarf_Line *row = first < count ? dwarf_onesrcline(lines, first) : NULL;
    return row && dwarf_lineaddr(row, &address) == 0 && address == pc && dwarf_lineno(row, &line) == 0 ? line
                                                                                                       : 0;
}

bool gn_units_begins_at(struct gn_units *units, uint64_t pc, int line, int column)
{
    struct gn_unit *unit = gn_unit_find(units, pc);
    Dwarf_Lines *lines;
    size_t count;
    if (!unit || dwarf_getsrclines(&unit->die, &lines, &count) != 0)
        return false;
    for (size_t i = first_row(lines, count, pc); i < count; i++) {
        Dwarf_Line *row = dwarf_onesrcline(lines, i);
        Dwarf_Addr address;
        bool begins, ends;
        int of, in;
        if (dwarf_lineaddr(row, &address) != 0 || address != pc)
            break;
        if (dwarf_linebeginstatement(row, &begins) == 0 && dwarf_lineendsequence(row, &ends) == 0 &&
            dwarf_lineno(row, &of) == 0 && dwarf_linecol(row, &in) == 0 && begins && !ends && of == line &&
            (column == 0 || in == column))
            return true;
    }
    return false;
}

bool gn_units_row_before(struct gn_units *units, uint64_t pc, uint64_t *address)
{
    struct gn_unit *unit = gn_unit_find(units, pc);
    Dwarf_Lines *lines;
    size_t count;
    if (!unit || dwarf_getsrclines(&unit->die, &lines, &count) != 0)
        return false;
    for (size_t i = first_row(lines, count, pc); i-- > 0;) {
        Dwarf_Line *row = dwarf_onesrcline(lines, i);
        Dwarf_Addr at;
        bool ends;
        int line;
        if (dwarf_lineendsequence(row, &ends) != 0 || ends || dwarf_lineno(row, &line) != 0 ||
            dwarf_lineaddr(row, &at) != 0)
            return false; /* what is ahead of it is another function's */
        if (line > 0 && at < pc) {
            *address = at;
            return true;
        }
    }
    return false;
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
    size_t at_die = unit ? gn_unit_function(unit, pc) : GN_SPAN_NONE;
    if (at_die == GN_SPAN_NONE)
        return false;
    Dwarf_Die *die = &unit->dies[at_die];
    *function = (struct gn_function){.die = *die};
    Dwarf_Addr base, low, high;
    ptrdiff_t at = 0;
    while (function->range_count < GN_FUNCTION_RANGES_MAX &&
           (at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
        add_function_range(function, low, high);
        if (function->range_count == 1)
            function->entry = low; /* the piece that compilers name first */
    }
    return function->range_count > 0;
}
