#include "profile/summary_tree.h"

#include "base/grow.h"
#include "base/map.h"
#include "profile/statement.h"
#include "profile/tree_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 512 };

struct growing {
    sqlite3 *db;
    struct gn_error *err;
    struct gn_call_tree *tree;
    size_t room;
    struct gn_tree_sites sites;
    int64_t *paths; /* of activities, by id */
    int64_t path_count;
    struct gn_map entered;  /* edges, each with a loop that it certainly leads into: any value */
    struct gn_map anew;     /* … with a step whose function it certainly calls anew */
    struct gn_map rounds;   /* … with a loop of which it certainly begins an iteration */
    struct gn_map children; /* parent and what it is called: a node + 1, which may be another one */
    struct gn_map loops;    /* the step that calls a function, and a loop in it: its node + 1 */
    struct gn_map called;   /* a step: the node of the function that it calls + 1; SEVERAL */
};

/* A function or a loop of a path. */
struct link {
    const struct gn_tree_part *part;
    int64_t above; /* the step that calls the function that it is or is in */
    const struct gn_tree_part
        *caller; /* of a function: the one that calls it, from the statement there; NULL: none */
};

/* Outermost first. */
struct chain {
    struct link links[DEEPEST];
    size_t count;
};

static void *const SEVERAL = (void *)UINTPTR_MAX;

static int no_memory(const struct growing *g)
{
    return gn_fail(g->err, -ENOMEM, "no memory for the call tree");
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
    const struct gn_tree_sites *s = &g->sites;
    const struct gn_tree_part *caller = NULL;
    int64_t steps[DEEPEST];
    size_t depth = 0;
    for (int64_t step = activity > 0 && activity < g->path_count ? g->paths[activity] : 0;
         step > 0 && step < s->step_count && s->steps[step].site && depth < DEEPEST;
         step = s->steps[step].parent)
        steps[depth++] = step;
    for (chain->count = 0; depth-- > 0;) {
        const struct gn_tree_parts *parts = &s->sites[s->steps[steps[depth]].site];
        for (size_t i = 0; i < parts->count && chain->count < DEEPEST; i++) {
            const struct gn_tree_part *part = &parts->items[i];
            chain->links[chain->count++] =
                (struct link){part, s->steps[steps[depth]].parent, part->loop ? NULL : caller};
            caller = part->loop ? caller : part;
        }
    }
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : !a && !b;
}

/* The statement that calls a function, or where a loop is. */
static const struct gn_tree_part *place_of(const struct link *link)
{
    return link->part->loop ? link->part : link->caller;
}

/* What is called from another line is called another time. */
static bool is_same_link(const struct link *a, const struct link *b)
{
    const struct gn_tree_part *x = place_of(a), *y = place_of(b);
    return gn_tree_same_part(a->part, b->part) && (x ? x->line : 0) == (y ? y->line : 0) &&
           same_text(x ? x->file : NULL, y ? y->file : NULL);
}

static struct gn_key edge_key(int64_t from, int64_t to, int64_t loop)
{
    return (struct gn_key){(uint64_t)from << 32 | (uint64_t)to, (uint64_t)loop};
}

/* Whether what is between two calls goes out of a loop, or a function, and into it again. */
static bool is_left(const struct growing *g, const struct link *link, const struct gn_activity_row *row)
{
    return link->part->loop ? gn_map_find(&g->entered, edge_key(row->from, row->to, link->part->loop)) != NULL
                            : gn_map_find(&g->anew, edge_key(row->from, row->to, link->above)) != NULL;
}

static bool is_next_round(const struct growing *g, const struct link *link, const struct gn_activity_row *row)
{
    return link->part->loop && gn_map_find(&g->rounds, edge_key(row->from, row->to, link->part->loop));
}

/* How many links both have in common: from one iteration to the next, no more than the loop. */
static size_t common_of(const struct growing *g, const struct chain *from, const struct chain *to,
                        const struct gn_activity_row *row)
{
    size_t common = 0;
    while (common < from->count && common < to->count &&
           is_same_link(&from->links[common], &to->links[common]) && !is_left(g, &from->links[common], row))
        if (is_next_round(g, &from->links[common++], row))
            break;
    return common;
}

/* The innermost function of that name behind so many links: one more than its index; 0: there is none. */
static size_t named(const struct chain *chain, size_t from, const char *function)
{
    for (size_t i = chain->count; i > from; i--)
        if (!chain->links[i - 1].part->loop && strcmp(chain->links[i - 1].part->function, function) == 0)
            return i;
    return 0;
}

/* Where both lead to the same one. */
static bool is_same_way(const struct chain *from, const struct chain *to, size_t first, size_t count)
{
    for (size_t i = first; i < count; i++)
        if (!is_same_link(&from->links[i], &to->links[i]))
            return false;
    return true;
}

/* From what both ends have in common; of an end that is no call, from all of the other. Samples tell more:
 * they were taken in a function that was not left yet, or was entered already. */
static void cut_to_place(const struct growing *g, struct chain *from, const struct chain *to,
                         const struct gn_activity_row *row)
{
    if (from->count == 0)
        *from = *to;
    if (to->count == 0)
        return;
    const size_t common = common_of(g, from, to, row);
    const bool is_sampled = row->how == GN_HOW_SAMPLED && row->function && !row->called;
    const size_t left = is_sampled ? named(from, common, row->function) : 0,
                 entered = is_sampled ? named(to, common, row->function) : 0;
    if (left && (!entered || (left == entered && is_same_way(from, to, common, left)))) {
        from->count = left;
    } else if (entered && !left) {
        *from = *to;
        from->count = entered;
    } else {
        from->count = common;
    }
}

static char *copied(const char *text)
{
    return text ? strdup(text) : NULL;
}

/* 0: no memory; the root is nobody's child. link NULL: of a row. */
static uint32_t add_node(struct growing *g, uint32_t parent, const struct link *link,
                         const struct gn_activity_row *row)
{
    const struct gn_tree_part *part = link ? link->part : NULL, *place = link ? place_of(link) : NULL;
    struct gn_call_tree *t = g->tree;
    if (!gn_grow(&t->nodes, &g->room, t->count, sizeof *t->nodes))
        return 0;
    t->nodes[t->count] = (struct gn_call_node){.row = row, .parent = parent, .next = t->nodes[parent].first};
    if (part) {
        struct gn_call_node *node = &t->nodes[t->count];
        node->function = strdup(part->function ? part->function : "?");
        node->is_loop = part->loop != 0;
        node->line = place ? place->line : 0;
        node->file = copied(place ? place->file : NULL);
        node->doubt = copied(part->doubt);
        node->label = copied(part->label);
    }
    if (t->count > 0)
        t->nodes[parent].first = (uint32_t)t->count;
    return (uint32_t)t->count++;
}

static bool is_link(const struct gn_call_node *node, const struct link *link)
{
    const struct gn_tree_part *place = place_of(link);
    if (!node->function || node->is_loop != (link->part->loop != 0))
        return false;
    if (link->part->loop && link->part->line == 0)
        return node->label && link->part->label && strcmp(node->label, link->part->label) == 0;
    return same_text(node->function, link->part->function) && node->line == (place ? place->line : 0) &&
           same_text(node->file, place ? place->file : NULL);
}

/* Two loops of one line, as compilers make them of one, are one node; it is doubtful when one of them is. */
static uint64_t hash_of(uint64_t hash, const char *text)
{
    for (; text && *text; text++) /* FNV-1a */
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    return hash;
}

static struct gn_key child_key(uint32_t parent, const struct link *link)
{
    const struct gn_tree_part *place = place_of(link);
    const uint64_t text =
        hash_of(hash_of(0xcbf29ce484222325u, link->part->function), place ? place->file : NULL);
    return (struct gn_key){(uint64_t)parent << 32 | (uint32_t)(place ? place->line : 0),
                           text << 1 | (link->part->loop != 0)};
}

/* Children are many where a function calls from many lines. */
static uint32_t find_child(const struct growing *g, uint32_t parent, const struct link *link)
{
    const struct gn_call_node *nodes = g->tree->nodes;
    const void *known = gn_map_find(&g->children, child_key(parent, link));
    const uint32_t node = known ? (uint32_t)((uintptr_t)known - 1) : 0;
    if (!known || (nodes[node].parent == parent && is_link(&nodes[node], link)))
        return node;
    for (uint32_t i = nodes[parent].first; i; i = nodes[i].next) /* two have one key */
        if (is_link(&nodes[i], link))
            return i;
    return 0;
}

static uint32_t link_node(struct growing *g, uint32_t parent, const struct link *link)
{
    struct gn_call_node *nodes = g->tree->nodes;
    uint32_t node = find_child(g, parent, link);
    if (node && link->part->doubt && !nodes[node].doubt)
        nodes[node].doubt = strdup(link->part->doubt);
    if (node || !(node = add_node(g, parent, link, NULL)))
        return node;
    const struct gn_key key = child_key(parent, link);
    const bool done =
        gn_map_find(&g->children, key) || gn_map_add(&g->children, key, (void *)((uintptr_t)node + 1));
    return done ? node : 0;
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
    static struct chain chain, to; /* large; one thread */
    uint32_t at = 0;
    chain_of(g, row->from, &chain);
    if (row->to) {
        chain_of(g, row->to, &to);
        cut_to_place(g, &chain, &to, row);
    }
    for (size_t i = 0; i < chain.count; i++) {
        if (!(at = link_node(g, at, &chain.links[i])))
            return no_memory(g);
    }
    if (!(at = row_node(g, at, row)))
        return no_memory(g);
    for (;; at = g->tree->nodes[at].parent) {
        g->tree->nodes[at].total_ns += row->total_ns;
        if (at == 0)
            return 0;
    }
}

struct child {
    uint32_t node, place;
    int64_t ns;
};

static int compare_children(const void *left, const void *right)
{
    const struct child *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

/* Children in order, largest first; ties stay as rows came. list: room for all nodes. They were put in front
 * of each other. */
static void sort_children(struct gn_call_node *nodes, uint32_t parent, struct child *list)
{
    uint32_t count = 0;
    for (uint32_t i = nodes[parent].first; i; i = nodes[i].next, count++)
        list[count] = (struct child){i, UINT32_MAX - count, nodes[i].total_ns};
    qsort(list, count, sizeof *list, compare_children);
    for (uint32_t i = 0; i < count; i++)
        nodes[list[i].node].next = i + 1 < count ? list[i + 1].node : 0;
    if (count > 0)
        nodes[parent].first = list[0].node;
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
    struct child *list = code == 0 ? calloc(t->count + 1, sizeof *list) : NULL;
    for (size_t i = 0; i < t->count && list; i++)
        sort_children(t->nodes, (uint32_t)i, list);
    free(list);
    return code < 0 || list ? code : no_memory(g);
}

/* ---- what was counted ---- */

/* Remembers which node a loop or a called function is, for what was counted. */
static bool remember(struct growing *g, const struct gn_tree_part *part, int64_t above, uint32_t node)
{
    struct gn_map *map = part->loop ? &g->loops : &g->called;
    const struct gn_key key = {(uint64_t)above, (uint64_t)part->loop};
    void *const value = (void *)(uintptr_t)(node + 1);
    void **known = gn_map_at(map, key);
    if (!known)
        return gn_map_add(map, key, value);
    if (*known != value)
        *known = SEVERAL;
    return true;
}

/* Of all activities: several paths with the same names are one in the tree. */
static int remember_paths(struct growing *g)
{
    static struct chain chain; /* large; one thread */
    for (int64_t activity = 1; activity < g->path_count; activity++) {
        uint32_t at = 0;
        chain_of(g, activity, &chain);
        for (size_t i = 0; i < chain.count && (at = find_child(g, at, &chain.links[i])); i++) {
            /* of functions inlined into each other, the call is that of the outermost */
            const bool is_called = i == 0 || chain.links[i].above != chain.links[i - 1].above;
            if ((chain.links[i].part->loop || is_called) &&
                !remember(g, chain.links[i].part, chain.links[i].above, at))
                return no_memory(g);
        }
    }
    return 0;
}

static int read_edges(struct growing *g, struct gn_map *map, const char *asked)
{
    int code = 0;
    sqlite3_stmt *q = gn_sql_query(g->db, g->err, asked, "");
    while (q && code == 0 && sqlite3_step(q) == SQLITE_ROW) {
        const struct gn_key key =
            edge_key(sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1), sqlite3_column_int64(q, 2));
        if (!gn_map_find(map, key) && !gn_map_add(map, key, g))
            code = no_memory(g);
    }
    sqlite3_finalize(q);
    return q ? code : -EINVAL;
}

static int read_entered(struct growing *g)
{
    const struct {
        struct gn_map *map;
        const char *asked;
    } all[] = {{&g->entered, "SELECT from_activity, to_activity, loop FROM pass WHERE entries_low > 0"},
               {&g->rounds, "SELECT from_activity, to_activity, loop FROM pass WHERE iterations_low > 0"},
               {&g->anew, "SELECT from_activity, to_activity, callpath FROM call_pass WHERE low > 0"}};
    int code = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all && code == 0; i++)
        code = read_edges(g, all[i].map, all[i].asked);
    return code;
}

static void add_up(struct gn_counted *counted, int64_t low, int64_t likely, int64_t high)
{
    counted->high = counted->known && (counted->high < 0 || high < 0) ? -1 : counted->high + high;
    if (!counted->known && high < 0)
        counted->high = -1;
    counted->low += low;
    counted->likely += likely;
    counted->known = true;
}

/* Columns of a query: an end of the sum, and how many rows had none. */
static int64_t high_at(sqlite3_stmt *q, int column)
{
    return sqlite3_column_int64(q, column + 1) > 0 ? -1 : sqlite3_column_int64(q, column);
}

static struct gn_call_node *node_in(const struct growing *g, const struct gn_map *map, int64_t step,
                                    int64_t loop)
{
    void *value = gn_map_find(map, (struct gn_key){(uint64_t)step, (uint64_t)loop});
    return value && value != SEVERAL ? &g->tree->nodes[(uintptr_t)value - 1] : NULL;
}

/* Where events were lost, no count is one. A sum below zero comes of rounds whose begin was not seen. */
static int mark_counts(struct growing *g)
{
    const bool lost = gn_sql_value(g->db, 0, "SELECT count(*) FROM lost WHERE count > 0", "") > 0;
    for (size_t i = 0; i < g->tree->count; i++) {
        struct gn_call_node *node = &g->tree->nodes[i];
        struct gn_counted *iterations = &node->counts.iterations;
        iterations->low = iterations->low < 0 ? 0 : iterations->low;
        iterations->likely = iterations->likely < 0 ? 0 : iterations->likely;
        if (lost && node->function && !node->doubt && !(node->doubt = strdup("events were lost")))
            return no_memory(g);
    }
    return 0;
}

/* Loops by path and process, one process after the other, so that ranks can be told apart. */
static int count_loops(struct growing *g)
{
    static const char asked[] = "SELECT l.process, p.callpath, p.loop, sum(e.count * p.entries_low),"
                                " sum(e.count * p.entries_high), sum(p.entries_high IS NULL),"
                                " sum(e.count * p.iterations_low), sum(e.count * p.iterations_high),"
                                " sum(p.iterations_high IS NULL OR o.unseen), sum(e.count * p.entries_%1$s),"
                                " sum(e.count * p.iterations_%1$s) FROM pass p JOIN loop o ON o.id = p.loop"
                                " JOIN edge e USING(from_activity, to_activity)"
                                " JOIN location l ON l.id = e.location GROUP BY 1, 2, 3 ORDER BY 1";
    char text[sizeof asked + 20];
    snprintf(text, sizeof text, asked,
             gn_sql_has_column(g->db, "pass", "iterations_likely") ? "likely" : "low");
    int64_t *of_rank = calloc(g->tree->count, sizeof *of_rank), process = -1;
    sqlite3_stmt *q = of_rank ? gn_sql_query(g->db, g->err, text, "") : NULL;
    bool more = q && sqlite3_step(q) == SQLITE_ROW;
    while (q) {
        const int64_t next = more ? sqlite3_column_int64(q, 0) : -1;
        for (size_t i = 0; next != process && i < g->tree->count; i++) {
            struct gn_call_counts *c = &g->tree->nodes[i].counts;
            if (of_rank[i] > 0 && (c->least_of_rank == 0 || of_rank[i] < c->least_of_rank))
                c->least_of_rank = of_rank[i];
            c->most_of_rank = of_rank[i] > c->most_of_rank ? of_rank[i] : c->most_of_rank;
            of_rank[i] = 0;
        }
        if (!more)
            break;
        process = next;
        struct gn_call_node *node =
            node_in(g, &g->loops, sqlite3_column_int64(q, 1), sqlite3_column_int64(q, 2));
        if (node) {
            add_up(&node->counts.entries, sqlite3_column_int64(q, 3), sqlite3_column_int64(q, 9),
                   high_at(q, 4));
            add_up(&node->counts.iterations, sqlite3_column_int64(q, 6), sqlite3_column_int64(q, 10),
                   high_at(q, 7));
            of_rank[node - g->tree->nodes] += sqlite3_column_int64(q, 6);
        }
        more = sqlite3_step(q) == SQLITE_ROW;
    }
    sqlite3_finalize(q);
    free(of_rank);
    return q ? 0 : of_rank ? -EINVAL : no_memory(g);
}

static int count_calls(struct growing *g)
{
    static const char asked[] = "SELECT p.callpath, sum(e.count * p.low), sum(e.count * p.high),"
                                " sum(p.high IS NULL), sum(e.count * p.%s) FROM call_pass p"
                                " JOIN edge e USING(from_activity, to_activity) GROUP BY 1";
    char text[sizeof asked + 20];
    snprintf(text, sizeof text, asked, gn_sql_has_column(g->db, "call_pass", "likely") ? "likely" : "low");
    sqlite3_stmt *q = gn_sql_query(g->db, g->err, text, "");
    while (q && sqlite3_step(q) == SQLITE_ROW) {
        struct gn_call_node *node = node_in(g, &g->called, sqlite3_column_int64(q, 0), 0);
        if (node)
            add_up(&node->counts.entries, sqlite3_column_int64(q, 1), sqlite3_column_int64(q, 4),
                   high_at(q, 2));
    }
    sqlite3_finalize(q);
    return q ? 0 : -EINVAL;
}

/* ---- drift ---- */

/* Where ranks enter a loop once, its iterations follow each other. */
static bool has_pace(const struct gn_call_node *node, int ranks)
{
    const struct gn_call_counts *c = &node->counts;
    return node->is_loop && c->entries.known && c->entries.likely <= ranks && c->iterations.likely > 0;
}

/* What was counted of a loop on one host. */
struct host_pace {
    struct gn_call_node *node;
    int64_t host;
    double ranks, iterations;
    struct gn_pace_counts counts;
};

/* Hosts have steps of their own: of several that the most iterations were on. */
static void tell_pace(struct host_pace *p, const struct gn_moments *moments, double most[])
{
    for (size_t i = 0; p->node && i < moments->count; i++)
        if (moments->items[i].id == p->host && p->iterations > *most) {
            const struct gn_pace pace = gn_pace_of(&p->counts, &moments->items[i], p->ranks);
            p->node->counts.pace = pace.is_known ? pace : p->node->counts.pace;
            *most = pace.is_known ? p->iterations : *most;
        }
}

static int find_paces(struct growing *g, int ranks)
{
    static const char asked[] =
        "SELECT p.callpath, p.loop, r.host, e.series, p.iterations_likely, e.count, r.id FROM pass p"
        " JOIN edge e USING(from_activity, to_activity) JOIN location l ON l.id = e.location"
        " JOIN process r ON r.id = l.process WHERE p.iterations_likely > 0 ORDER BY 1, 2, 3, 7";
    struct gn_moments moments;
    struct gn_error none;
    if (!gn_sql_has_column(g->db, "pass", "iterations_likely") ||
        gn_moments_read(g->db, &moments, &none) != 0)
        return 0; /* of an older gnomon, or without a series */
    struct host_pace *p = calloc(1, sizeof *p);
    const bool has_memory = p != NULL;
    sqlite3_stmt *q = p ? gn_sql_query(g->db, g->err, asked, "") : NULL;
    int64_t process = -1;
    double most = 0;
    while (q && sqlite3_step(q) == SQLITE_ROW) {
        struct gn_call_node *node =
            node_in(g, &g->loops, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1));
        if (!node || !has_pace(node, ranks))
            continue;
        const int64_t host = sqlite3_column_int64(q, 2), of = sqlite3_column_int64(q, 6);
        if (p->node != node || p->host != host) {
            tell_pace(p, &moments, &most);
            most = p->node == node ? most : 0;
            *p = (struct host_pace){.node = node, .host = host};
            process = -1;
        }
        p->ranks += of != process;
        process = of;
        p->iterations += (double)sqlite3_column_int64(q, 5) * (double)sqlite3_column_int64(q, 4);
        gn_pace_add(&p->counts, sqlite3_column_blob(q, 3), (size_t)sqlite3_column_bytes(q, 3),
                    (double)sqlite3_column_int64(q, 4));
    }
    sqlite3_finalize(q);
    if (p)
        tell_pace(p, &moments, &most);
    free(p);
    gn_moments_clear(&moments);
    return q ? 0 : has_memory ? -EINVAL : no_memory(g);
}

int gn_summarise_tree(sqlite3 *db, struct gn_summary *s, struct gn_error *err)
{
    struct growing g = {.db = db, .err = err, .tree = calloc(1, sizeof *s->tree)};
    s->tree = g.tree;
    int code = g.tree ? gn_tree_sites_read(&g.sites, db, err) : no_memory(&g);
    if (code == 0)
        code = read_paths(&g);
    if (code == 0 && g.sites.has_loops)
        code = read_entered(&g);
    if (code == 0)
        code = grow_tree(&g, s);
    if (code == 0 && g.sites.has_loops)
        code = remember_paths(&g);
    if (code == 0 && g.sites.has_loops)
        code = count_loops(&g);
    if (code == 0 && g.sites.has_loops)
        code = count_calls(&g);
    if (code == 0 && g.sites.has_loops)
        code = mark_counts(&g);
    if (code == 0 && g.sites.has_loops)
        code = find_paces(&g, s->ranks);
    gn_tree_sites_clear(&g.sites);
    gn_map_clear(&g.entered);
    gn_map_clear(&g.anew);
    gn_map_clear(&g.rounds);
    gn_map_clear(&g.children);
    gn_map_clear(&g.loops);
    gn_map_clear(&g.called);
    free(g.paths);
    return code;
}

/* ---- asked from the top ---- */

/* Whether a node is what a part of a path says: "loop@heat.c:110", a function's name, or "solve@heat.c:40".
 */
static bool is_called(const struct gn_call_node *node, const char *part, size_t length)
{
    char name[1024];
    const char *file = node->file ? strrchr(node->file, '/') : NULL,
               *what = node->is_loop ? "loop" : node->function;
    if (!node->function)
        return false;
    if (!node->is_loop && strlen(node->function) == length && strncmp(node->function, part, length) == 0)
        return true;
    if (node->line > 0)
        snprintf(name, sizeof name, "%s@%s:%d", what,
                 file         ? file + 1
                 : node->file ? node->file
                              : "",
                 node->line);
    else
        snprintf(name, sizeof name, "%s@%s", what, node->label ? node->label : "");
    return strlen(name) == length && strncmp(name, part, length) == 0;
}

/* Marks what a path below a node leads to. */
static void mark_below(const struct gn_call_tree *t, uint32_t parent, const char *path, bool *marks)
{
    for (uint32_t i = t->nodes[parent].first; i; i = t->nodes[i].next) {
        marks[i] |= is_called(&t->nodes[i], path, strlen(path));
        /* C++ names and paths of files have slashes of their own at times */
        for (const char *at = strstr(path, "/"); at; at = strstr(at + 1, "/"))
            if (is_called(&t->nodes[i], path, (size_t)(at - path)))
                mark_below(t, i, at + 1, marks);
    }
}

/* What is below another one that is marked is there already. */
static bool is_inside(const struct gn_call_tree *t, uint32_t node, const bool *marks)
{
    for (uint32_t at = t->nodes[node].parent; at; at = t->nodes[at].parent)
        if (marks[at])
            return true;
    return false;
}

bool gn_call_tree_narrow(struct gn_call_tree *t, const char *path)
{
    bool *marks = calloc(t->count + 1, sizeof *marks), *kept = calloc(t->count + 1, sizeof *kept);
    size_t count = 0;
    for (uint32_t i = 0; marks && kept && i < t->count; i++)
        if (!t->nodes[i].row)
            mark_below(t, i, path, marks);
    for (uint32_t i = 1; marks && kept && i < t->count; i++) {
        kept[i] = marks[i] && !is_inside(t, i, marks);
        count += kept[i];
    }
    if (count > 0) {
        t->nodes[0].first = 0;
        t->nodes[0].total_ns = 0;
    }
    for (uint32_t i = 1; count > 0 && i < t->count; i++)
        if (kept[i]) {
            t->nodes[i].parent = 0;
            t->nodes[i].next = t->nodes[0].first;
            t->nodes[0].first = i;
            t->nodes[0].total_ns += t->nodes[i].total_ns;
        }
    struct child *list = count > 0 ? calloc(count + 1, sizeof *list) : NULL;
    if (list)
        sort_children(t->nodes, 0, list);
    free(list);
    free(marks);
    free(kept);
    return count > 0;
}

static void clear_node(struct gn_call_node *node)
{
    free(node->function);
    free(node->file);
    free(node->doubt);
    free(node->label);
}

void gn_summary_clear_tree(struct gn_summary *s)
{
    for (size_t i = 0; s->tree && i < s->tree->count; i++)
        clear_node(&s->tree->nodes[i]);
    if (s->tree)
        free(s->tree->nodes);
    free(s->tree);
    s->tree = NULL;
}
