#include "answer/tree_export.h"

#include "answer/report_table.h"
#include "base/printable.h"
#include "profile/summary_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 300 };

void gn_tree_frame_name(const struct gn_call_node *node, char *text, size_t size)
{
    char place[600];
    if (!node->row) {
        gn_place_text(place, sizeof place, node->file, node->line);
        snprintf(text, size, "%s%s%s%s", node->is_loop ? "loop in " : "",
                 node->function ? node->function : "all", node->is_loop && place[0] ? " " : "",
                 node->is_loop ? place : "");
        gn_printable(text);
        return;
    }
    gn_report_row_text(node->row, text, size);
    gn_report_row_place(node->row, place, sizeof place);
    const size_t used = strlen(text);
    if (place[0])
        snprintf(text + used, size - used, " (%s)", place);
    gn_printable(text);
}

/* A stack is a line here, and its frames are between semicolons. */
static void collapsed_name(const struct gn_call_node *node, FILE *out)
{
    char text[4000];
    gn_tree_frame_name(node, text, sizeof text);
    for (char *c = text; *c; c++)
        *c = *c == ';' ? ':' : *c;
    fputs(text, out);
}

/* From the outermost one to a node; how many. */
static size_t way_to(const struct gn_call_tree *t, size_t node, uint32_t way[DEEPEST])
{
    size_t count = 0;
    for (uint32_t at = (uint32_t)node; at && count < DEEPEST; at = t->nodes[at].parent)
        way[count++] = at;
    for (size_t i = 0; i < count / 2; i++) {
        const uint32_t node_there = way[i];
        way[i] = way[count - 1 - i];
        way[count - 1 - i] = node_there;
    }
    return count;
}

int gn_tree_collapsed(const struct gn_summary *s, FILE *out)
{
    uint32_t way[DEEPEST];
    for (size_t i = 1; i < s->tree->count; i++) {
        const struct gn_call_node *node = &s->tree->nodes[i];
        const int64_t us = (node->total_ns + 500) / 1000;
        if (!node->row || us == 0)
            continue;
        const size_t count = way_to(s->tree, i, way);
        for (size_t w = 0; w < count; w++) {
            fputs(w ? ";" : "", out);
            collapsed_name(&s->tree->nodes[way[w]], out);
        }
        fprintf(out, " %" PRId64 "\n", us);
    }
    return 0;
}

static json_t *frames_of(const struct gn_call_tree *t)
{
    char name[4000];
    json_t *frames = json_array();
    for (size_t i = 0; i < t->count;
         i++) { /* a frame for each node: where a function is called from counts */
        const struct gn_activity_row *row = t->nodes[i].row;
        json_t *frame = json_object();
        gn_tree_frame_name(&t->nodes[i], name, sizeof name);
        json_object_set_new(frame, "name", json_string_nocheck(name));
        if (row && row->file)
            json_object_set_new(frame, "file", json_string_nocheck(row->file));
        if (row && row->file && row->line > 0)
            json_object_set_new(frame, "line", json_integer(row->line));
        json_array_append_new(frames, frame);
    }
    return frames;
}

/* A stack for each row, and how much of the time it has. */
static void add_stacks(const struct gn_call_tree *t, json_t *stacks, json_t *weights)
{
    uint32_t way[DEEPEST];
    for (size_t i = 1; i < t->count; i++) {
        if (!t->nodes[i].row || t->nodes[i].total_ns <= 0)
            continue;
        json_t *stack = json_array();
        const size_t count = way_to(t, i, way);
        for (size_t w = 0; w < count; w++)
            json_array_append_new(stack, json_integer(way[w]));
        json_array_append_new(stacks, stack);
        json_array_append_new(weights, json_integer((json_int_t)t->nodes[i].total_ns));
    }
}

int gn_tree_speedscope(const struct gn_summary *s, FILE *out)
{
    json_t *stacks = json_array(), *weights = json_array();
    add_stacks(s->tree, stacks, weights);
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:{s:o}, s:[{s:s, s:s, s:s, s:i, s:I, s:o, s:o}]}", "$schema",
                  "https://www.speedscope.app/file-format-schema.json", "exporter", "gnomon", "name",
                  gn_base_name(s->exe), "shared", "frames", frames_of(s->tree), "profiles", "type", "sampled",
                  "name", "time of all ranks", "unit", "nanoseconds", "startValue", 0, "endValue",
                  (json_int_t)s->total_ns, "samples", stacks, "weights", weights);
    const int code = root && json_dumpf(root, out, JSON_COMPACT) == 0 ? 0 : -ENOMEM;
    fputc('\n', out);
    json_decref(root);
    return code;
}

/* A node with all that are below it; metrics of its own alone, and with these. */
static json_t *literal_of(const struct gn_call_tree *t, uint32_t i)
{
    char name[4000];
    const struct gn_call_node *node = &t->nodes[i];
    const struct gn_activity_row *row = node->row;
    json_t *children = json_array();
    int64_t own_ns = node->total_ns;
    for (uint32_t child = node->first; child; child = t->nodes[child].next) {
        own_ns -= t->nodes[child].total_ns;
        json_array_append_new(children, literal_of(t, child));
    }
    gn_tree_frame_name(node, name, sizeof name);
    return json_pack("{s:{s:s, s:s, s:s?, s:i}, s:{s:f, s:f}, s:o}", "frame", "name", name, "type",
                     row ? "statement" : "function", "file", row ? row->file : NULL, "line",
                     row ? row->line : 0, "metrics", "time", (double)own_ns * 1e-9, "time (inc)",
                     (double)node->total_ns * 1e-9, "children", children);
}

int gn_tree_hatchet(const struct gn_summary *s, FILE *out)
{
    json_t *root = json_pack("[o]", literal_of(s->tree, 0));
    const int code = root && json_dumpf(root, out, JSON_COMPACT) == 0 ? 0 : -ENOMEM;
    fputc('\n', out);
    json_decref(root);
    return code;
}
