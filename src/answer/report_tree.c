#include "answer/report_tree.h"

#include "answer/quantities.h"
#include "answer/report_table.h"
#include "base/printable.h"
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
    return child && !t->nodes[child].next && t->nodes[child].function && !t->nodes[child].is_loop &&
                   !t->nodes[node].is_loop
               ? child
               : 0;
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
        for (uint32_t next; nodes[node].function && (next = only_function(l->tree, last));)
            last = next;
        done = done && add_children(l, last, depth + 1);
    }
    return done && (rest.ns == 0 || add(l, &rest));
}

/* ---- loops ---- */

static bool is_exact(const struct gn_call_node *node, const struct gn_counted *counted)
{
    return counted->known && !node->doubt && counted->low == counted->high;
}

/* Iterations of a rank: of one, of all that have the same, or from the fewest to the most. */
static void exact_text(const struct gn_call_node *node, char text[300])
{
    const struct gn_call_counts *c = &node->counts;
    char least[GN_QUANTITY_TEXT], most[GN_QUANTITY_TEXT], each[GN_QUANTITY_TEXT];
    gn_count_text(c->least_of_rank, least);
    gn_count_text(c->most_of_rank, most);
    gn_duration_text(c->iterations.low > 0 ? (double)node->total_ns / (double)c->iterations.low : 0, each);
    snprintf(text, 300, "%s%s%s iteration%s a rank, %s each", c->least_of_rank < c->most_of_rank ? least : "",
             c->least_of_rank < c->most_of_rank ? " to " : "", most, c->most_of_rank == 1 ? "" : "s", each);
}

/* ", last tenth 1.8 times the first": of its iterations, where that is more than what is not
 * known. */
static void pace_text(const struct gn_pace *pace, char text[100])
{
    static const double alike = 0.1;
    const struct {
        const char *name;
        double ns;
    } tenths[] = {{"first", pace->first_ns}, {"middle", pace->middle_ns}, {"last", pace->last_ns}};
    size_t least = 0, most = 0;
    text[0] = '\0';
    for (size_t i = 1; i < 3; i++) {
        least = tenths[i].ns < tenths[least].ns ? i : least;
        most = tenths[i].ns > tenths[most].ns ? i : most;
    }
    if (pace->is_known && tenths[most].ns > (1 + alike + 2 * pace->off) * tenths[least].ns)
        snprintf(text, 100, ", %s tenth %.1f times the %s", tenths[most].name,
                 tenths[most].ns / tenths[least].ns, tenths[least].name);
}

static void loop_text(const struct gn_call_node *node, int ranks, char text[600])
{
    char pace[100];
    const struct gn_counted *i = &node->counts.iterations;
    char count[300] = "", least[GN_QUANTITY_TEXT], most[GN_QUANTITY_TEXT];
    const int64_t of_each = ranks > 0 ? i->low / ranks : 0, likely = ranks > 0 ? i->likely / ranks : 0;
    if (!i->known || (likely == 0 && i->high != 0))
        snprintf(count, sizeof count, "iterations unknown");
    else if (is_exact(node, i))
        exact_text(node, count);
    else if (!node->doubt && i->high > i->low)
        snprintf(count, sizeof count, "%s to %s iterations a rank", gn_count_text(of_each, least),
                 gn_count_text((i->high + ranks - 1) / ranks, most));
    else if (node->doubt || likely > of_each)
        snprintf(count, sizeof count, "likely %s+ iterations a rank", gn_count_text(likely, most));
    else
        snprintf(count, sizeof count, "at least %s iteration%s a rank", gn_count_text(of_each, most),
                 of_each == 1 ? "" : "s");
    pace_text(&node->counts.pace, pace);
    snprintf(text, 600, "loop, %s%s", count, pace); /* why a count is no more than likely, JSON says */
}

/* ---- for people ---- */

static void line_text(const struct lines *l, const struct line *line, struct gn_cell *cell)
{
    char text[3000], count[GN_QUANTITY_TEXT], *at = text;
    const struct gn_call_node *node = &l->tree->nodes[line->node];
    const struct gn_counted *calls = NULL;
    const int indent = 2 * line->depth < 60 ? 2 * line->depth : 60;
    if (line->more) {
        gn_cell_print(cell, "%*s%u more (--top 0)", indent, "", line->more);
        return;
    }
    if (node->row)
        gn_report_row_text(node->row, text, sizeof text);
    else if (node->is_loop)
        loop_text(node, l->summary->ranks, text);
    else
        snprintf(text, sizeof text, "%s", node->function);
    if (!node->row && !node->is_loop)
        calls = &node->counts.entries;
    for (uint32_t next, last = line->node;
         node->function && !node->is_loop && (next = only_function(l->tree, last)); last = next) {
        at += strlen(at);
        snprintf(at, sizeof text - (size_t)(at - text), " > %s", l->tree->nodes[next].function);
    }
    /* main is called by no statement; of several on one line it would be the first one's */
    if (calls && node->line > 0 && at == text && is_exact(node, calls) && calls->low > 0) {
        at += strlen(at);
        snprintf(at, sizeof text - (size_t)(at - text), ", %s call%s", gn_count_text(calls->low, count),
                 calls->low == 1 ? "" : "s");
    }
    gn_cell_print(cell, "%*s%s", indent, "", text);
}

static void node_place(const struct gn_call_node *node, char *text, size_t size)
{
    text[0] = '\0';
    if (node->row)
        gn_report_row_place(node->row, text, size);
    else if (node->function && node->line > 0)
        gn_place_text(text, size, node->file, node->line);
    else if (node->is_loop)
        snprintf(text, size, "%s", node->label ? node->label : "");
}

static void fill(const void *self, size_t i, struct gn_cell *cells)
{
    const struct lines *l = self;
    const struct line *line = &l->items[i];
    const double share = l->summary->total_ns > 0 ? (double)line->ns / (double)l->summary->total_ns : 0;
    char text[1000];
    gn_cell_print(&cells[0], "%s", gn_part_text(share, text));
    gn_cell_real(&cells[1], (double)line->ns);
    line_text(l, line, &cells[2]);
    if (line->more)
        return;
    node_place(&l->tree->nodes[line->node], text, sizeof text);
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

static const char *kind_of(const struct gn_call_node *node)
{
    return node->row ? node->row->kind : node->is_loop ? "loop" : "function";
}

static json_t *counted_object(const struct gn_call_node *node, const struct gn_counted *counted)
{
    if (!counted->known)
        return json_null();
    return json_pack("{s:I, s:I, s:o, s:b}", "low", (json_int_t)counted->low, "likely",
                     (json_int_t)counted->likely, "high",
                     counted->high >= 0 && !node->doubt ? json_integer(counted->high) : json_null(), "exact",
                     (int)is_exact(node, counted));
}

/* What was counted; without a call of its own, a function of a caller is "called" once for each rank. */
static void add_counts(json_t *object, const struct gn_call_node *node)
{
    const struct gn_call_counts *c = &node->counts;
    if (node->row || !node->function)
        return;
    json_object_set_new(object, "file", node->file ? json_string_nocheck(node->file) : json_null());
    json_object_set_new(object, "line", node->line > 0 ? json_integer(node->line) : json_null());
    if (!node->is_loop) {
        json_object_set_new(object, "calls", counted_object(node, &c->entries));
        return;
    }
    const bool is_known = is_exact(node, &c->iterations) && c->iterations.low > 0;
    json_object_set_new(object, "doubt", node->doubt ? json_string(node->doubt) : json_null());
    json_object_set_new(object, "entries", counted_object(node, &c->entries));
    json_object_set_new(object, "iterations", counted_object(node, &c->iterations));
    json_object_set_new(object, "iterations_of_rank",
                        is_known ? json_pack("{s:I, s:I}", "min", (json_int_t)c->least_of_rank, "max",
                                             (json_int_t)c->most_of_rank)
                                 : json_null());
    json_object_set_new(object, "mean_s",
                        is_known ? json_real((double)node->total_ns * 1e-9 / (double)c->iterations.low)
                                 : json_null());
    json_object_set_new(object, "drift",
                        c->pace.is_known
                            ? json_pack("{s:f, s:f, s:f, s:f}", "first_s", c->pace.first_ns * 1e-9,
                                        "middle_s", c->pace.middle_ns * 1e-9, "last_s",
                                        c->pace.last_ns * 1e-9, "off", c->pace.off)
                            : json_null());
}

static json_t *node_object(const struct gn_summary *s, uint32_t index)
{
    const struct gn_call_node *node = &s->tree->nodes[index];
    const double share = s->total_ns > 0 ? (double)node->total_ns / (double)s->total_ns : 0;
    char name[3000] = "all", place[1000] = "";
    json_t *children = json_array();
    for (uint32_t child = node->first; child; child = s->tree->nodes[child].next)
        json_array_append_new(children, node_object(s, child));
    if (node->row)
        gn_report_row_text(node->row, name, sizeof name);
    else if (node->function)
        snprintf(name, sizeof name, "%s", node->is_loop ? "loop" : node->function);
    node_place(node, place, sizeof place);
    json_t *object =
        json_pack("{s:o, s:s, s:o, s:f, s:f, s:o}", "name", json_string_nocheck(name), "kind", kind_of(node),
                  "place", place[0] ? json_string_nocheck(place) : json_null(), "total_s",
                  (double)node->total_ns * 1e-9, "share", share, "children", children);
    if (object)
        add_counts(object, node);
    return object;
}

json_t *gn_report_tree_json(const struct gn_summary *s)
{
    return s->tree && s->tree->count ? node_object(s, 0) : json_null();
}

static void counted_cells(const struct gn_counted *counted, struct gn_cell *cells)
{
    if (!counted->known)
        return;
    gn_cell_number(&cells[0], counted->low);
    if (counted->high >= 0)
        gn_cell_number(&cells[1], counted->high);
}

static void fill_data(const void *self, size_t i, struct gn_cell *cells)
{
    const struct lines *l = self;
    const struct gn_call_node *node = &l->tree->nodes[l->items[i].node];
    char text[3000];
    gn_cell_number(&cells[0], (int64_t)l->items[i].node);
    gn_cell_number(&cells[1], node->parent);
    gn_cell_number(&cells[2], l->items[i].depth);
    gn_cell_text(&cells[3], kind_of(node));
    if (node->row)
        gn_report_row_text(node->row, text, sizeof text);
    gn_cell_print(&cells[4], "%s",
                  node->row        ? text
                  : node->is_loop  ? "loop"
                  : node->function ? node->function
                                   : "all");
    node_place(node, text, sizeof text);
    gn_cell_print(&cells[5], "%s", text);
    gn_cell_real(&cells[6], (double)node->total_ns);
    counted_cells(&node->counts.entries, &cells[7]);
    counted_cells(&node->counts.iterations, &cells[9]);
    gn_cell_print(&cells[11], "%s", node->doubt ? node->doubt : "");
    if (node->counts.entries.known)
        gn_cell_number(&cells[12], node->counts.entries.likely);
    if (node->counts.iterations.known)
        gn_cell_number(&cells[13], node->counts.iterations.likely);
}

/* A node and all below it, without folding. */
static bool add_all(struct lines *l, uint32_t node, int depth)
{
    bool done = add(l, &(struct line){.node = node, .depth = depth});
    for (uint32_t child = l->tree->nodes[node].first; child && done; child = l->tree->nodes[child].next)
        done = add_all(l, child, depth + 1);
    return done;
}

int gn_report_tree_csv(const struct gn_summary *s, FILE *out)
{
    static const struct gn_column columns[] = {{.name = "number", .kind = GN_CELL_NUMBER},
                                               {.name = "parent", .kind = GN_CELL_NUMBER},
                                               {.name = "depth", .kind = GN_CELL_NUMBER},
                                               {.name = "kind"},
                                               {.name = "name"},
                                               {.name = "place"},
                                               {.name = "total_s", .kind = GN_CELL_DURATION, .digits = 9},
                                               {.name = "entries_low", .kind = GN_CELL_NUMBER},
                                               {.name = "entries_high", .kind = GN_CELL_NUMBER},
                                               {.name = "iterations_low", .kind = GN_CELL_NUMBER},
                                               {.name = "iterations_high", .kind = GN_CELL_NUMBER},
                                               {.name = "doubt"},
                                               {.name = "entries_likely", .kind = GN_CELL_NUMBER},
                                               {.name = "iterations_likely", .kind = GN_CELL_NUMBER}};
    struct lines l = {.summary = s, .tree = s->tree};
    int code = s->tree->count == 0 || add_all(&l, 0, 0) ? 0 : -ENOMEM;
    const struct gn_table table = {.columns = columns,
                                   .column_count = sizeof columns / sizeof *columns,
                                   .row_count = l.count,
                                   .fill = fill_data,
                                   .self = &l};
    if (code == 0)
        code = gn_table_csv(&table, out);
    free(l.items);
    return code;
}
