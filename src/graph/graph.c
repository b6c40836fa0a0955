#include "graph/graph.h"

#include "base/grow.h"
#include "base/lookup.h"
#include "base/mix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gn_graph {
    struct rows {
        void *items;
        size_t count, capacity;
        struct gn_lookup known; /* by key */
    } rows[GN_GRAPH_KINDS];
    char **texts;
    size_t text_count, text_capacity;
    struct gn_lookup known_texts;
    struct gn_graph_bytes *kept; /* what was kept of bytes */
    size_t kept_count, kept_capacity;
    uint64_t *counts; /* of histograms */
    size_t counted, counts_capacity;
    bool no_memory;
};

static void *row_at(const struct gn_graph *g, enum gn_graph_kind kind, size_t index)
{
    return (char *)g->rows[kind].items + index * gn_graph_fields[kind].row_bytes;
}

struct gn_graph *gn_graph_new(void)
{
    struct gn_graph *g = calloc(1, sizeof *g);
    const struct gn_graph_path root = {GN_GRAPH_ROOT, GN_GRAPH_NONE, 0, 0};
    if (g && gn_graph_put(g, GN_GRAPH_PATH, &root) == GN_GRAPH_NONE) {
        gn_graph_free(g);
        g = NULL;
    }
    return g;
}

void gn_graph_free(struct gn_graph *g)
{
    if (!g)
        return;
    for (int kind = 0; kind < GN_GRAPH_KINDS; kind++) {
        free(g->rows[kind].items);
        gn_lookup_clear(&g->rows[kind].known);
    }
    for (size_t i = 0; i < g->text_count; i++)
        free(g->texts[i]);
    free(g->texts);
    gn_lookup_clear(&g->known_texts);
    for (size_t i = 0; i < g->kept_count; i++)
        free((void *)(uintptr_t)g->kept[i].at);
    free(g->kept);
    free(g->counts);
    free(g);
}

size_t gn_graph_count(const struct gn_graph *g, enum gn_graph_kind kind)
{
    return g->rows[kind].count;
}

void *gn_graph_rows(const struct gn_graph *g, enum gn_graph_kind kind)
{
    return g->rows[kind].items;
}

int gn_graph_check(const struct gn_graph *g, struct gn_error *err)
{
    return g->no_memory ? gn_fail(err, -ENOMEM, "no memory for the graphs of the run's processes") : 0;
}

/* ---- texts ---- */

struct asked_text {
    char *const *texts;
    const char *text;
};

static bool is_text(const void *context, uint32_t value)
{
    const struct asked_text *asked = context;
    return strcmp(asked->texts[value], asked->text) == 0;
}

static uint64_t hash_of_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325ull;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
    return gn_mix(hash);
}

const char *gn_graph_text(struct gn_graph *g, const char *text)
{
    if (!text)
        return NULL;
    const struct asked_text asked = {g->texts, text};
    const uint64_t hash = hash_of_text(text);
    const int64_t known = gn_lookup_find(&g->known_texts, hash, is_text, &asked);
    if (known != GN_LOOKUP_NOTHING)
        return g->texts[known];
    char *copy = gn_grow(&g->texts, &g->text_capacity, g->text_count, sizeof *g->texts) ? strdup(text) : NULL;
    if (!copy || !gn_lookup_add(&g->known_texts, hash, (uint32_t)g->text_count)) {
        free(copy);
        g->no_memory = true;
        return NULL;
    }
    return g->texts[g->text_count++] = copy;
}

/* ---- rows ---- */

static uint64_t part_of_key(const struct gn_graph_field *field, const char *row)
{
    const char *at = row + field->offset;
    int64_t number;
    uint32_t index;
    const char *text;
    switch (field->type) {
    case GN_GRAPH_TEXT: /* equal texts of a graph are one */
        memcpy(&text, at, sizeof text);
        return (uint64_t)(uintptr_t)text;
    case GN_GRAPH_OF:
    case GN_GRAPH_MAY_BE_OF:
        memcpy(&index, at, sizeof index);
        return index;
    default:
        memcpy(&number, at, sizeof number);
        return (uint64_t)number;
    }
}

static uint64_t hash_of_row(const struct gn_graph_fields *kind, const void *row)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < kind->count; i++)
        if (kind->fields[i].is_key)
            hash = gn_mix(hash ^ part_of_key(&kind->fields[i], row));
    return hash;
}

struct asked_row {
    const struct gn_graph *graph;
    enum gn_graph_kind kind;
    const void *row;
};

static bool has_key(const void *context, uint32_t index)
{
    const struct asked_row *asked = context;
    const struct gn_graph_fields *kind = &gn_graph_fields[asked->kind];
    const void *row = row_at(asked->graph, asked->kind, index);
    for (size_t i = 0; i < kind->count; i++)
        if (kind->fields[i].is_key &&
            part_of_key(&kind->fields[i], row) != part_of_key(&kind->fields[i], asked->row))
            return false;
    return true;
}

uint32_t gn_graph_find(const struct gn_graph *g, enum gn_graph_kind kind, const void *row)
{
    const struct asked_row asked = {g, kind, row};
    const int64_t index =
        gn_lookup_find(&g->rows[kind].known, hash_of_row(&gn_graph_fields[kind], row), has_key, &asked);
    return index == GN_LOOKUP_NOTHING ? GN_GRAPH_NONE : (uint32_t)index;
}

uint32_t gn_graph_put(struct gn_graph *g, enum gn_graph_kind kind, const void *row)
{
    const struct gn_graph_fields *what = &gn_graph_fields[kind];
    struct rows *rows = &g->rows[kind];
    const uint32_t known = what->is_known ? gn_graph_find(g, kind, row) : GN_GRAPH_NONE;
    if (known != GN_GRAPH_NONE)
        return known;
    if (rows->count >= GN_GRAPH_NONE ||
        !gn_grow(&rows->items, &rows->capacity, rows->count, what->row_bytes) ||
        (what->is_known && !gn_lookup_add(&rows->known, hash_of_row(what, row), (uint32_t)rows->count))) {
        g->no_memory = true;
        return GN_GRAPH_NONE;
    }
    memcpy(row_at(g, kind, rows->count), row, what->row_bytes);
    return (uint32_t)rows->count++;
}

/* ---- histograms ---- */

struct gn_graph_histogram gn_graph_keep_counts(struct gn_graph *g, const uint64_t *counts, size_t all)
{
    size_t first = 0, end = all = all < UINT8_MAX ? all : UINT8_MAX;
    while (first < end && counts[first] == 0)
        first++;
    while (end > first && counts[end - 1] == 0)
        end--;
    const struct gn_graph_histogram kept = {(uint32_t)g->counted, (uint8_t)first, (uint8_t)(end - first),
                                            (uint8_t)all};
    for (size_t i = first; i < end; i++) {
        if (g->counted >= UINT32_MAX ||
            !gn_grow(&g->counts, &g->counts_capacity, g->counted, sizeof *g->counts)) {
            g->no_memory = true;
            return (struct gn_graph_histogram){.all = (uint8_t)all};
        }
        g->counts[g->counted++] = counts[i];
    }
    return kept;
}

void gn_graph_counts(const struct gn_graph *g, const struct gn_graph_histogram *h, uint64_t *counts)
{
    memset(counts, 0, h->all * sizeof *counts);
    if (h->used)
        memcpy(counts + h->first, g->counts + h->at, h->used * sizeof *counts);
}

/* ---- bytes ---- */

struct gn_graph_bytes gn_graph_keep_bytes(struct gn_graph *g, const void *bytes, size_t count)
{
    void *copy =
        gn_grow(&g->kept, &g->kept_capacity, g->kept_count, sizeof *g->kept) ? malloc(count + 1) : NULL;
    if (!copy) {
        g->no_memory = true;
        return (struct gn_graph_bytes){NULL, 0};
    }
    if (count)
        memcpy(copy, bytes, count);
    return g->kept[g->kept_count++] = (struct gn_graph_bytes){copy, count};
}

/* ---- without some ---- */

/* Rows follow their processes; so do those of what belongs to these. */
static void shrink(struct gn_graph *g, enum gn_graph_kind kind, enum gn_graph_kind of, size_t field_at)
{
    uint32_t owner;
    for (struct rows *rows = &g->rows[kind]; rows->count > 0; rows->count--) {
        memcpy(&owner, (char *)row_at(g, kind, rows->count - 1) + field_at, sizeof owner);
        if (owner < g->rows[of].count)
            return;
    }
}

void gn_graph_shrink(struct gn_graph *g, size_t processes)
{
    if (g->rows[GN_GRAPH_PROCESS].count > processes)
        g->rows[GN_GRAPH_PROCESS].count = processes;
    for (int kind = GN_GRAPH_PROCESS + 1; kind < GN_GRAPH_KINDS; kind++) {
        const struct gn_graph_field *owner = &gn_graph_fields[kind].fields[0];
        shrink(g, (enum gn_graph_kind)kind, owner->of, owner->offset);
    }
    g->no_memory = false; /* what had no room is taken back */
}
