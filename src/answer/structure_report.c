#include "answer/structure_report.h"

#include "answer/fit.h"
#include "answer/quantities.h"
#include "answer/table.h"
#include "base/grow.h"
#include "base/printable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {
    [GN_STRUCTURE_PROCEDURE] = "procedure", [GN_STRUCTURE_LOOP] = "loop", [GN_STRUCTURE_CALL] = "call"};

/* ---- for people ---- */

struct line {
    size_t node;
    int depth;
};

struct lines {
    const struct gn_structure_module *module;
    struct line *items;
    size_t count, room;
};

static bool add_below(struct lines *l, size_t node, int depth)
{
    if (!gn_grow(&l->items, &l->room, l->count, sizeof *l->items))
        return false;
    l->items[l->count++] = (struct line){node, depth};
    for (size_t i = l->module->nodes[node].first; i != GN_STRUCTURE_NONE; i = l->module->nodes[i].next)
        if (!add_below(l, i, depth + 1))
            return false;
    return true;
}

static void what(const struct gn_structure_node *node, int depth, struct gn_cell *cell)
{
    const int indent = 2 * depth < 60 ? 2 * depth : 60;
    if (node->kind == GN_STRUCTURE_LOOP)
        gn_cell_print(cell, "%*sloop%s%s%s", indent, "", node->doubt ? " (" : "",
                      node->doubt ? node->doubt : "", node->doubt ? ")" : "");
    else if (node->kind == GN_STRUCTURE_CALL)
        gn_cell_print(cell, "%*s%s%s", indent, "", node->is_measured ? "" : "calls ",
                      node->name ? node->name : "through a pointer");
    else
        gn_cell_print(cell, "%*s%s%s", indent, "", node->name, node->is_inlined ? " (inlined)" : "");
}

static void fill(const void *self, size_t i, struct gn_cell *cells)
{
    const struct lines *l = self;
    const struct gn_structure_node *node = &l->module->nodes[l->items[i].node];
    char place[1000];
    what(node, l->items[i].depth, &cells[0]);
    if (node->line > 0)
        gn_cell_print(&cells[1], "%s", gn_place_text(place, sizeof place, node->file, node->line));
    else
        gn_cell_print(&cells[1], "+0x%llx", (unsigned long long)node->offset);
    cells[0].code = node->is_measured ? GN_BOLD : node->communicates ? NULL : GN_DIM;
}

static int module_text(const struct gn_structure_module *m, const struct gn_terminal *terminal, FILE *out)
{
    static const struct gn_column columns[] = {
        {.title = "procedure, loop, call", .least = 30, .is_middle = true},
        {.title = "", .least = 14, .is_middle = true},
    };
    struct lines l = {.module = m};
    char all[GN_QUANTITY_TEXT], some[GN_QUANTITY_TEXT];
    int code = 0;
    for (size_t i = 0; i < m->count && code == 0; i++)
        if (m->nodes[i].parent == GN_STRUCTURE_NONE && !add_below(&l, i, 0))
            code = -ENOMEM;
    fprintf(out, "%s: %s procedure%s, %s communicate%s\n", m->path,
            gn_count_text((int64_t)m->procedures, all), m->procedures == 1 ? "" : "s",
            gn_count_text((int64_t)m->communicating, some),
            m->has_lines ? "" : "; no debug information: compile with -g, or install its debug symbols");
    if (m->unread > 0)
        fprintf(out, "  the code of %s more is not understood\n", gn_count_text((int64_t)m->unread, all));
    const struct gn_table table = {
        .columns = columns, .column_count = 2, .row_count = l.count, .fill = fill, .self = &l};
    if (code == 0 && l.count > 0) {
        fputc('\n', out);
        code = gn_table_text(&table, terminal, out);
    }
    free(l.items);
    return code;
}

int gn_structure_text(const struct gn_structure *structure, const struct gn_terminal *terminal, FILE *out)
{
    struct gn_page folded;
    int code = 0;
    gn_page_open(&folded, terminal, out);
    for (size_t i = 0; i < structure->count && code == 0; i++) {
        if (i > 0)
            fputc('\n', folded.out);
        code = module_text(&structure->modules[i], terminal, folded.out);
    }
    gn_page_close(&folded);
    return code;
}

/* ---- for programs ---- */

static json_t *text_or_null(const char *text)
{
    return text ? json_string_nocheck(text) : json_null();
}

static json_t *node_object(const struct gn_structure_module *m, size_t index)
{
    const struct gn_structure_node *node = &m->nodes[index];
    json_t *children = json_array();
    for (size_t i = node->first; i != GN_STRUCTURE_NONE; i = m->nodes[i].next)
        json_array_append_new(children, node_object(m, i));
    json_t *object = json_pack("{s:s, s:o, s:o, s:o, s:I, s:b}", "kind", kinds[node->kind], "name",
                               text_or_null(node->name), "file", text_or_null(node->file), "line",
                               node->line > 0 ? json_integer(node->line) : json_null(), "offset",
                               (json_int_t)node->offset, "communicates", (int)node->communicates);
    if (object && node->kind == GN_STRUCTURE_PROCEDURE)
        json_object_set_new(object, "inlined", json_boolean(node->is_inlined));
    if (object && node->kind == GN_STRUCTURE_LOOP)
        json_object_set_new(object, "doubt", text_or_null(node->doubt));
    if (object && node->kind == GN_STRUCTURE_CALL)
        json_object_set_new(object, "recorded", json_boolean(node->is_measured));
    else if (object)
        json_object_set(object, "children", children);
    json_decref(children);
    return object;
}

json_t *gn_structure_json(const struct gn_structure *structure)
{
    json_t *modules = json_array();
    for (size_t i = 0; i < structure->count; i++) {
        const struct gn_structure_module *m = &structure->modules[i];
        json_t *procedures = json_array();
        for (size_t k = 0; k < m->count; k++)
            if (m->nodes[k].parent == GN_STRUCTURE_NONE)
                json_array_append_new(procedures, node_object(m, k));
        json_array_append_new(modules,
                              json_pack("{s:s, s:b, s:I, s:I, s:I, s:o}", "path", m->path, "has_lines",
                                        (int)m->has_lines, "procedure_count", (json_int_t)m->procedures,
                                        "communicating_count", (json_int_t)m->communicating, "unread_count",
                                        (json_int_t)m->unread, "procedures", procedures));
    }
    return json_pack("{s:i, s:o}", "version", 1, "modules", modules);
}
