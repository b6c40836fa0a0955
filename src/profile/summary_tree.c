#include "profile/summary_tree.h"

#include "base/grow.h"
#include "profile/statement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 256 };

/* A row of table callpath, by its id. */
struct step {
    int64_t parent;
    char *function;
};

struct growing {
    sqlite3 *db;
    struct gn_error *err;
    struct gn_call_tree *tree;
    size_t room;
    struct step *steps;
    int64_t step_count; /* ids are below it */
    int64_t *paths;     /* of activities, by id */
    int64_t path_count;
};

/* The functions of a path, outermost first. */
struct chain {
    const char *functions[DEEPEST];
    size_t count;
};

static int no_memory(const struct growing *g)
{
    return gn_fail(g->err, -ENOMEM, "no memory for the call tree");
}

static int read_steps(struct growing *g)
{
    g->step_count = gn_sql_value(g->db, 0, "SELECT max(id) + 1 FROM callpath", "");
    g->steps = calloc((size_t)g->step_count + 1, sizeof *g->steps);
    if (!g->steps)
        return no_memory(g);
    sqlite3_stmt *q = gn_sql_query(g->db, g->err,
                                   "SELECT c.id, c.parent, coalesce(s.function, s.label) FROM callpath c"
                                   " JOIN site s ON s.id = c.site",
                                   "");
    while (q && sqlite3_step(q) == SQLITE_ROW) {
        const int64_t id = sqlite3_column_int64(q, 0);
        const char *function = (const char *)sqlite3_column_text(q, 2);
        if (id > 0 && id < g->step_count && !g->steps[id].function)
            g->steps[id] = (struct step){sqlite3_column_int64(q, 1), strdup(function ? function : "?")};
    }
    sqlite3_finalize(q);
    return q ? 0 : -EINVAL;
}

static int read_paths(struct growing *g)
{
    g->path_count = gn_sql_value(g->db, 0, "SELECT max(id) + 1 FROM activity", "");
    g->paths = calloc((size_t)g->path_count + 1, sizeof *g->paths);
    if (!g->paths)
        return no_memory(g);
    sqlite3_stmt *q = gn_sql_query(g->db, g->err, "SELECT id, callpath FROM activity", "");
    while (q && sqlite3_step(q) == SQLITE_ROW) {
        const int64_t id = sqlite3_column_int64(q, 0);
        if (id > 0 && id < g->path_count)
            g->paths[id] = sqlite3_column_int64(q, 1);
    }
    sqlite3_finalize(q);
    return q ? 0 : -EINVAL;
}

static void chain_of(const struct growing *g, int64_t activity, struct chain *chain)
{
    chain->count = 0;
    for (int64_t path = activity > 0 && activity < g->path_count ? g->paths[activity] : 0;
         path > 0 && path < g->step_count && g->steps[path].function && chain->count < DEEPEST;
         path = g->steps[path].parent)
        chain->functions[chain->count++] = g->steps[path].function;
    for (size_t i = 0; i < chain->count / 2; i++) {
        const char *function = chain->functions[i];
        chain->functions[i] = chain->functions[chain->count - 1 - i];
        chain->functions[chain->count - 1 - i] = function;
    }
}

/* What they have in common; of an end that is no call, all of the other. */
static void cut_to_common(struct chain *from, const struct chain *to)
{
    size_t common = 0;
    if (from->count == 0)
        *from = *to;
    if (to->count == 0)
        return;
    while (common < from->count && common < to->count &&
           strcmp(from->functions[common], to->functions[common]) == 0)
        common++;
    from->count = common;
}

/* 0: no memory; the root is nobody's child. */
static uint32_t add_node(struct growing *g, uint32_t parent, const char *function,
                         const struct gn_activity_row *row)
{
    struct gn_call_tree *t = g->tree;
    if (!gn_grow(&t->nodes, &g->room, t->count, sizeof *t->nodes))
        return 0;
    t->nodes[t->count] = (struct gn_call_node){.function = function ? strdup(function) : NULL,
                                               .row = row,
                                               .parent = parent,
                                               .next = t->nodes[parent].first};
    if (t->count > 0)
        t->nodes[parent].first = (uint32_t)t->count;
    return (uint32_t)t->count++;
}

static uint32_t function_node(struct growing *g, uint32_t parent, const char *function)
{
    const struct gn_call_node *nodes = g->tree->nodes;
    for (uint32_t i = nodes[parent].first; i; i = nodes[i].next)
        if (nodes[i].function && strcmp(nodes[i].function, function) == 0)
            return i;
    return add_node(g, parent, function, NULL);
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : !a && !b;
}

/* Whether two rows are called the same, wherever they were called from. */
static bool is_same(const struct gn_activity_row *a, const struct gn_activity_row *b)
{
    return a->how == b->how && a->line == b->line && a->until_line == b->until_line &&
           strcmp(a->kind, b->kind) == 0 && strcmp(a->name, b->name) == 0 &&
           same_text(a->function, b->function) && same_text(a->file, b->file) &&
           same_text(a->until_function, b->until_function) && same_text(a->until_file, b->until_file) &&
           same_text(a->library, b->library) && same_text(a->called, b->called);
}

static uint32_t row_node(struct growing *g, uint32_t parent, const struct gn_activity_row *row)
{
    const struct gn_call_node *nodes = g->tree->nodes;
    for (uint32_t i = nodes[parent].first; i; i = nodes[i].next)
        if (nodes[i].row && is_same(nodes[i].row, row))
            return i;
    return add_node(g, parent, NULL, row);
}

static int hang(struct growing *g, const struct gn_activity_row *row)
{
    struct chain chain, to;
    uint32_t at = 0;
    chain_of(g, row->from, &chain);
    if (row->to) {
        chain_of(g, row->to, &to);
        cut_to_common(&chain, &to);
    }
    for (size_t i = 0; i < chain.count; i++)
        if (!(at = function_node(g, at, chain.functions[i])))
            return no_memory(g);
    if (!(at = row_node(g, at, row)))
        return no_memory(g);
    for (;; at = g->tree->nodes[at].parent) {
        g->tree->nodes[at].total_ns += row->total_ns;
        if (at == 0)
            return 0;
    }
}

/* Children in order, largest first: each is put where it belongs among those before it. Ties stay as rows
 * came. */
static void sort_children(struct gn_call_node *nodes, uint32_t parent)
{
    uint32_t rest = nodes[parent].first, reversed = 0;
    for (uint32_t next; rest; rest = next) { /* they were put in front of each other */
        next = nodes[rest].next;
        nodes[rest].next = reversed;
        reversed = rest;
    }
    nodes[parent].first = 0;
    for (uint32_t node = reversed, next; node; node = next) {
        uint32_t *at = &nodes[parent].first;
        next = nodes[node].next;
        while (*at && nodes[*at].total_ns >= nodes[node].total_ns)
            at = &nodes[*at].next;
        nodes[node].next = *at;
        *at = node;
    }
}

static int grow_tree(struct growing *g, const struct gn_summary *s)
{
    struct gn_call_tree *t = g->tree;
    int code = 0;
    if (!gn_grow(&t->nodes, &g->room, 0, sizeof *t->nodes))
        return no_memory(g);
    t->nodes[t->count++] = (struct gn_call_node){.row = NULL};
    for (size_t i = 0; i < s->row_count && code == 0; i++)
        code = hang(g, &s->rows[i]);
    for (size_t i = 0; i < t->count && code == 0; i++)
        sort_children(t->nodes, (uint32_t)i);
    return code;
}

int gn_summarise_tree(sqlite3 *db, struct gn_summary *s, struct gn_error *err)
{
    struct growing g = {.db = db, .err = err, .tree = calloc(1, sizeof *s->tree)};
    s->tree = g.tree;
    int code = g.tree ? read_steps(&g) : no_memory(&g);
    if (code == 0)
        code = read_paths(&g);
    if (code == 0)
        code = grow_tree(&g, s);
    for (int64_t i = 0; g.steps && i < g.step_count; i++)
        free(g.steps[i].function);
    free(g.steps);
    free(g.paths);
    return code;
}

void gn_summary_clear_tree(struct gn_summary *s)
{
    for (size_t i = 0; s->tree && i < s->tree->count; i++)
        free(s->tree->nodes[i].function);
    if (s->tree)
        free(s->tree->nodes);
    free(s->tree);
    s->tree = NULL;
}
