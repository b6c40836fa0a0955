#include "graph/join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct joining {
    struct gn_graph *graph;
    const struct gn_graph *part;
    uint32_t *now[GN_GRAPH_KINDS]; /* index in graph by index in part */
};

static void translate_index(const struct joining *j, enum gn_graph_kind kind, char *at)
{
    uint32_t index;
    memcpy(&index, at, sizeof index);
    if (index != GN_GRAPH_NONE)
        memcpy(at, &j->now[kind][index], sizeof index);
}

static void translate_text(const struct joining *j, char *at)
{
    const char *text;
    memcpy(&text, at, sizeof text);
    text = gn_graph_text(j->graph, text);
    memcpy(at, &text, sizeof text);
}

static void translate_counts(const struct joining *j, char *at)
{
    struct gn_graph_histogram h;
    uint64_t counts[UINT8_MAX];
    memcpy(&h, at, sizeof h);
    gn_graph_counts(j->part, &h, counts);
    h = gn_graph_keep_counts(j->graph, counts, h.all);
    memcpy(at, &h, sizeof h);
}

static void translate_bytes(const struct joining *j, char *at)
{
    struct gn_graph_bytes b;
    memcpy(&b, at, sizeof b);
    if (b.at)
        b = gn_graph_keep_bytes(j->graph, b.at, b.count);
    memcpy(at, &b, sizeof b);
}

static void translate(const struct joining *j, const struct gn_graph_fields *kind, char *row)
{
    for (size_t i = 0; i < kind->count; i++) {
        const struct gn_graph_field *field = &kind->fields[i];
        char *at = row + field->offset;
        if (field->type == GN_GRAPH_OF || field->type == GN_GRAPH_MAY_BE_OF)
            translate_index(j, field->of, at);
        else if (field->type == GN_GRAPH_TEXT)
            translate_text(j, at);
        else if (field->type == GN_GRAPH_HISTOGRAM)
            translate_counts(j, at);
        else if (field->type == GN_GRAPH_BYTES)
            translate_bytes(j, at);
    }
}

/* Some process of it may not have come far enough to know. */
static void widen(const struct joining *j, uint32_t index, const void *row)
{
    struct gn_graph_world *own = (struct gn_graph_world *)gn_graph_rows(j->graph, GN_GRAPH_WORLD) + index;
    const int64_t size = ((const struct gn_graph_world *)row)->size;
    own->size = size > own->size ? size : own->size;
}

/* A host that died has not looked its places up; another one may have. */
static void name_site(const struct joining *j, uint32_t index, const void *row)
{
    struct gn_graph_site *own = (struct gn_graph_site *)gn_graph_rows(j->graph, GN_GRAPH_SITE) + index;
    const struct gn_graph_site *other = row;
    if (own->resolved == 0 && other->resolved == 1)
        *own = *other;
}

static void know_lines(const struct joining *j, uint32_t index, const void *row)
{
    struct gn_graph_module *own = (struct gn_graph_module *)gn_graph_rows(j->graph, GN_GRAPH_MODULE) + index;
    const int64_t has_lines = ((const struct gn_graph_module *)row)->has_lines;
    own->has_lines = has_lines > own->has_lines ? has_lines : own->has_lines;
}

static void learn(const struct joining *j, enum gn_graph_kind kind, uint32_t index, const void *row)
{
    if (kind == GN_GRAPH_WORLD)
        widen(j, index, row);
    else if (kind == GN_GRAPH_SITE)
        name_site(j, index, row);
    else if (kind == GN_GRAPH_MODULE)
        know_lines(j, index, row);
}

static int join_kind(struct joining *j, enum gn_graph_kind kind)
{
    enum { MOST_BYTES = 512 };
    const struct gn_graph_fields *what = &gn_graph_fields[kind];
    const size_t count = gn_graph_count(j->part, kind);
    const char *rows = gn_graph_rows(j->part, kind);
    _Alignas(max_align_t) char row[MOST_BYTES];
    j->now[kind] = calloc(count + 1, sizeof *j->now[kind]);
    if (!j->now[kind] || what->row_bytes > sizeof row)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        memcpy(row, rows + i * what->row_bytes, what->row_bytes);
        translate(j, what, row);
        j->now[kind][i] = gn_graph_put(j->graph, kind, row);
        if (j->now[kind][i] == GN_GRAPH_NONE)
            return -ENOMEM;
        learn(j, kind, j->now[kind][i], row);
    }
    return 0;
}

int gn_graph_join(struct gn_graph *graph, const struct gn_graph *part, struct gn_error *err)
{
    struct joining j = {.graph = graph, .part = part};
    const size_t processes = gn_graph_count(graph, GN_GRAPH_PROCESS);
    int code = 0;
    for (int kind = 0; kind < GN_GRAPH_KINDS && code == 0; kind++)
        code = join_kind(&j, (enum gn_graph_kind)kind);
    if (code == 0)
        code = gn_graph_check(graph, NULL);
    if (code != 0) {
        gn_graph_shrink(graph, processes);
        gn_fail(err, code, "no memory to join the graphs of several hosts");
    }
    for (int kind = 0; kind < GN_GRAPH_KINDS; kind++)
        free(j.now[kind]);
    return code;
}
