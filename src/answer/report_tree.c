#include "answer/report_tree.h"

#include "answer/quantities.h"
#include "answer/report_table.h"
#include "base/grow.h"
#include "profile/summary_tree.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double least_share = 0.01;

/* A line of the tree: a node, and how deep; or so many more of its siblings. */
struct line {
    uint32_t node, more;
    int depth;
    int64_t ns;
};

struct lines {
    const struct gn_summary *summary;
    const struct gn_call_tree *tree;
    bool all;
    struct line *items;
    size_t count, room;
};

/* ---- lines ---- */

static bool add(struct lines *l, const struct line *line)
{
    if (!gn_grow(&l->items, &l->room, l->count, sizeof *l->items))
        return false;
    l->items[l->count++] = *line;
    return true;
}

static bool is_small(const struct lines *l, int64_t ns)
{
    return !l->all && (double)ns < least_share * (double)l->summary->total_ns;
}

/* The only child of a function, when it is one, too: both stand on one line. 0: it is not so. */
static uint32_t only_function(const struct gn_call_tree *t, uint32_t node)
{
    const uint32_t child = t->nodes[node].first;
    return child && !t->nodes[child].next && t->nodes[child].function ? child : 0;
}

static bool add_children(struct lines *l, uint32_t parent, int depth)
{
    struct line rest = {.depth = depth};
    const struct gn_call_node *nodes = l->tree->nodes;
    bool done = true;
    for (uint32_t node = nodes[parent].first; node && done; node = nodes[node].next) {
        if (is_small(l, nodes[node].total_ns)) {
            rest.more++;
            rest.ns += nodes[node].total_ns;
            continue;
        }
        uint32_t last = node;
        done = add(l, &(struct line){.node = node, .depth = depth, .ns = nodes[node].total_ns});
        for (uint32_t next; (next = only_function(l->tree, last));)
            last = next;
        done = done && add_children(l, last, depth + 1);
    }
    return done && (rest.ns == 0 || add(l, &rest));
}

/* ---- for people ---- */

static void line_text(const struct lines *l, const struct line *line, struct gn_cell *cell)
{
    char text[3000], *at = text;
    const struct gn_call_node *node = &l->tree->nodes[line->node];
    const int indent = 2 * line->depth < 60 ? 2 * line->depth : 60;
    if (line->more) {
        gn_cell_print(cell, "%*s%u more (--top 0)", indent, "", line->more);
        return;
    }
    if (node->row)
        gn_report_row_text(node->row, text, sizeof text);
    else
        snprintf(text, sizeof text, "%s", node->function);
    for (uint32_t next, last = line->node; node->function && (next = only_function(l->tree, last));
         last = next) {
        at += strlen(at);
        snprintf(at, sizeof text - (size_t)(at - text), " > %s", l->tree->nodes[next].function);
    }
    gn_cell_print(cell, "%*s%s", indent, "", text);
}

static void fill(const void *self, size_t i, struct gn_cell *cells)
{
    const struct lines *l = self;
    const struct line *line = &l->items[i];
    const struct gn_activity_row *row = line->more ? NULL : l->tree->nodes[line->node].row;
    const double share = l->summary->total_ns > 0 ? (double)line->ns / (double)l->summary->total_ns : 0;
    char text[1000];
    gn_cell_print(&cells[0], "%s", gn_part_text(share, text));
    gn_cell_real(&cells[1], (double)line->ns);
    line_text(l, line, &cells[2]);
    if (!row)
        return;
    gn_report_row_place(row, text, sizeof text);
    gn_cell_print(&cells[3], "%s", text);
}

int gn_report_tree_text(const struct gn_summary *s, const struct gn_report_options *o, FILE *out)
{
    static const struct gn_column columns[] = {
        {.title = "time", .flags = GN_COLUMN_RIGHT},
        {.title = "total", .kind = GN_CELL_DURATION, .goes = 1},
        {.title = "function, and what is done in it", .least = 30, .is_middle = true},
        {.title = "", .least = 14, .is_middle = true},
    };
    struct lines l = {.summary = s, .tree = s->tree, .all = o->top == 0};
    int code = s->tree->count == 0 || add_children(&l, 0, 0) ? 0 : -ENOMEM;
    const struct gn_table table = {
        .columns = columns, .column_count = 4, .row_count = l.count, .fill = fill, .self = &l};
    if (code == 0)
        code = gn_table_text(&table, &o->terminal, out);
    free(l.items);
    return code;
}

/* ---- for programs ---- */

static json_t *node_object(const struct gn_summary *s, uint32_t index)
{
    const struct gn_call_node *node = &s->tree->nodes[index];
    const double share = s->total_ns > 0 ? (double)node->total_ns / (double)s->total_ns : 0;
    char name[3000] = "all", place[1000] = "";
    json_t *children = json_array();
    for (uint32_t child = node->first; child; child = s->tree->nodes[child].next)
        json_array_append_new(children, node_object(s, child));
    if (node->row) {
        gn_report_row_text(node->row, name, sizeof name);
        gn_report_row_place(node->row, place, sizeof place);
    } else if (node->function) {
        snprintf(name, sizeof name, "%s", node->function);
    }
    return json_pack("{s:o, s:s, s:o, s:f, s:f, s:o}", "name", json_string_nocheck(name), "kind",
                     node->row ? node->row->kind : "function", "place",
                     place[0] ? json_string_nocheck(place) : json_null(), "total_s",
                     (double)node->total_ns * 1e-9, "share", share, "children", children);
}

json_t *gn_report_tree_json(const struct gn_summary *s)
{
    return s->tree && s->tree->count ? node_object(s, 0) : json_null();
}

static void fill_data(const void *self, size_t i, struct gn_cell *cells)
{
    const struct lines *l = self;
    const struct gn_call_node *node = &l->tree->nodes[i], *up = node;
    char text[3000];
    int depth = 0;
    for (; up != l->tree->nodes; up = &l->tree->nodes[up->parent])
        depth++;
    gn_cell_number(&cells[0], (int64_t)i);
    gn_cell_number(&cells[1], node->parent);
    gn_cell_number(&cells[2], depth);
    gn_cell_text(&cells[3], node->row ? node->row->kind : "function");
    if (node->row)
        gn_report_row_text(node->row, text, sizeof text);
    gn_cell_print(&cells[4], "%s", node->row ? text : node->function ? node->function : "all");
    text[0] = '\0';
    if (node->row)
        gn_report_row_place(node->row, text, sizeof text);
    gn_cell_print(&cells[5], "%s", text);
    gn_cell_real(&cells[6], (double)node->total_ns);
}

int gn_report_tree_csv(const struct gn_summary *s, FILE *out)
{
    static const struct gn_column columns[] = {{.name = "number", .kind = GN_CELL_NUMBER},
                                               {.name = "parent", .kind = GN_CELL_NUMBER},
                                               {.name = "depth", .kind = GN_CELL_NUMBER},
                                               {.name = "kind"},
                                               {.name = "name"},
                                               {.name = "place"},
                                               {.name = "total_s", .kind = GN_CELL_DURATION, .digits = 9}};
    const struct lines l = {.summary = s, .tree = s->tree};
    const struct gn_table table = {.columns = columns,
                                   .column_count = sizeof columns / sizeof *columns,
                                   .row_count = s->tree->count,
                                   .fill = fill_data,
                                   .self = &l};
    return gn_table_csv(&table, out);
}
