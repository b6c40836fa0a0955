#include "profile/tree_parts.h"

#include "profile/statement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : !a && !b;
}

bool gn_tree_same_part(const struct gn_tree_part *a, const struct gn_tree_part *b)
{
    if (!a->loop != !b->loop)
        return false;
    if (a->loop && (a->line == 0 || b->line == 0))
        return a->loop == b->loop;
    return same_text(a->function, b->function) &&
           (!a->loop || (a->line == b->line && same_text(a->file, b->file)));
}

/* ---- reading ---- */

static int no_memory(struct gn_error *err)
{
    return gn_fail(err, -ENOMEM, "no memory for the call tree");
}

static char *text_at(sqlite3_stmt *q, int column)
{
    const char *text = (const char *)sqlite3_column_text(q, column);
    return text ? strdup(text) : NULL;
}

static bool put(struct gn_tree_parts *parts, const struct gn_tree_part *part)
{
    struct gn_tree_part *items = realloc(parts->items, (parts->count + 1) * sizeof *items);
    if (!items)
        return false;
    parts->items = items;
    items[parts->count++] = *part;
    return true;
}

static int read_steps(struct gn_tree_sites *s, sqlite3 *db, struct gn_error *err)
{
    sqlite3_stmt *q = gn_sql_query(db, err, "SELECT id, parent, site FROM callpath", "");
    while (q && sqlite3_step(q) == SQLITE_ROW) {
        const int64_t id = sqlite3_column_int64(q, 0), site = sqlite3_column_int64(q, 2);
        if (id > 0 && id < s->step_count && site > 0 && site < s->site_count)
            s->steps[id] = (struct gn_tree_step){sqlite3_column_int64(q, 1), site};
    }
    sqlite3_finalize(q);
    return q ? 0 : -EINVAL;
}

/* A site's functions: the innermost stands in its row, too. */
static int read_functions(struct gn_tree_sites *s, sqlite3 *db, struct gn_error *err)
{
    int code = 0;
    sqlite3_stmt *q = gn_sql_query(db, err,
                                   "SELECT s.id, coalesce(i.function, CASE WHEN coalesce(i.depth, 0) = 0 THEN"
                                   " coalesce(s.function, s.label) END, '?'),"
                                   " CASE WHEN i.site IS NULL THEN s.file ELSE i.file END,"
                                   " CASE WHEN i.site IS NULL THEN s.line ELSE i.line END FROM site s LEFT "
                                   "JOIN inlined i ON i.site = s.id"
                                   " WHERE s.id IN (SELECT site FROM callpath) ORDER BY s.id, i.depth DESC",
                                   "");
    while (q && code == 0 && sqlite3_step(q) == SQLITE_ROW) {
        const int64_t id = sqlite3_column_int64(q, 0);
        if (id <= 0 || id >= s->site_count)
            continue;
        const struct gn_tree_part part = {
            .function = text_at(q, 1), .file = text_at(q, 2), .line = sqlite3_column_int(q, 3)};
        if (!part.function || !put(&s->sites[id], &part))
            code = no_memory(err);
    }
    sqlite3_finalize(q);
    return q ? code : -EINVAL;
}

/* Where a loop goes: behind its function, and behind the loops around it. */
static size_t place_of(const struct gn_tree_parts *parts, const char *function)
{
    size_t last_loop = 0, own = 0;
    for (size_t i = 0; i < parts->count; i++) {
        if (parts->items[i].loop)
            last_loop = i + 1;
        else if (own == 0 && same_text(parts->items[i].function, function))
            own = i + 1;
    }
    const size_t least = own ? own : 1;
    return least > last_loop ? least : last_loop;
}

static bool insert(struct gn_tree_parts *parts, const struct gn_tree_part *part)
{
    size_t at = place_of(parts, part->function);
    if (!put(parts, part))
        return false;
    at = at < parts->count ? at : parts->count - 1;
    memmove(&parts->items[at + 1], &parts->items[at], (parts->count - 1 - at) * sizeof *parts->items);
    parts->items[at] = *part;
    return true;
}

static int read_loops(struct gn_tree_sites *s, sqlite3 *db, struct gn_error *err)
{
    int code = 0;
    s->has_loops = gn_sql_value(db, 0, "SELECT count(*) FROM sqlite_master WHERE name = 'site_loop'", "") > 0;
    if (!s->has_loops)
        return 0;
    sqlite3_stmt *q = gn_sql_query(db, err,
                                   "SELECT x.site, l.id, l.function, l.file, l.line, l.doubt,"
                                   " printf('+0x%x', l.offset) FROM site_loop x"
                                   " JOIN loop l ON l.id = x.loop ORDER BY x.site, x.depth",
                                   "");
    while (q && code == 0 && sqlite3_step(q) == SQLITE_ROW) {
        const int64_t id = sqlite3_column_int64(q, 0);
        if (id <= 0 || id >= s->site_count || s->sites[id].count == 0)
            continue;
        const struct gn_tree_part part = {
            .loop = sqlite3_column_int64(q, 1),
            .function = text_at(q, 2),
            .file = text_at(q, 3),
            .line = sqlite3_column_int(q, 4),
            .doubt = text_at(q, 5),
            .label = text_at(q, 6),
        };
        if (!insert(&s->sites[id], &part))
            code = no_memory(err);
    }
    sqlite3_finalize(q);
    return q ? code : -EINVAL;
}

int gn_tree_sites_read(struct gn_tree_sites *s, sqlite3 *db, struct gn_error *err)
{
    *s = (struct gn_tree_sites){
        .site_count = gn_sql_value(db, 0, "SELECT max(id) + 1 FROM site", ""),
        .step_count = gn_sql_value(db, 0, "SELECT max(id) + 1 FROM callpath", ""),
    };
    s->sites = calloc((size_t)s->site_count + 1, sizeof *s->sites);
    s->steps = calloc((size_t)s->step_count + 1, sizeof *s->steps);
    int code = s->sites && s->steps ? 0 : no_memory(err);
    if (code == 0)
        code = read_steps(s, db, err);
    if (code == 0)
        code = read_functions(s, db, err);
    return code == 0 ? read_loops(s, db, err) : code;
}

void gn_tree_sites_clear(struct gn_tree_sites *s)
{
    for (int64_t i = 0; s->sites && i < s->site_count; i++) {
        for (size_t k = 0; k < s->sites[i].count; k++) {
            free(s->sites[i].items[k].function);
            free(s->sites[i].items[k].file);
            free(s->sites[i].items[k].doubt);
            free(s->sites[i].items[k].label);
        }
        free(s->sites[i].items);
    }
    free(s->sites);
    free(s->steps);
    *s = (struct gn_tree_sites){.sites = NULL};
}
