/* profile/resolve — from (module, offset) to function, file and line, while the executables are at hand. */
#include "profile/profile.h"

#include "base/grow.h"
#include "image/source_line.h"
#include "profile/statement.h"
#include "program/calls.h"
#include "program/names.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INLINED = 32 };

static size_t parse_build_id(const char *hex, uint8_t *bytes, size_t max)
{
    size_t count = 0;
    unsigned value;
    while (count < max && sscanf(hex + 2 * count, "%2x", &value) == 1)
        bytes[count++] = (uint8_t)value;
    return count;
}

static int store_places(sqlite3 *db, struct gn_error *err, int64_t site,
                        const struct gn_program_place *places, size_t count, uint64_t symbol_offset)
{
    int code = gn_sql(
        db, err,
        "UPDATE site SET resolved = 1, function = ?, file = ?, line = ?, symbol_offset = ? WHERE id = ?",
        "ssiii", places[0].function, places[0].file, (int64_t)places[0].line, (int64_t)symbol_offset, site);
    for (size_t i = 0; i < count && count > 1 && code == 0; i++)
        code = gn_sql(db, err, "INSERT OR REPLACE INTO inlined VALUES(?, ?, ?, ?, ?)", "iissi", site,
                      (int64_t)i, places[i].function, places[i].file, (int64_t)places[i].line);
    return code;
}

/* What to call the code of a module. */
static const char *name_of(const struct gn_opened_module *module)
{
    const char *slash = strrchr(module->path, '/');
    return module->program   ? gn_program_library(module->program)
           : module->path[0] ? (slash ? slash + 1 : module->path)
                             : "(generated code)";
}

/* Without a line a place is still named as exactly as possible: function+offset, else module+offset. */
static int label_sites(sqlite3 *db, struct gn_error *err, int64_t module, const char *name)
{
    return gn_sql(db, err,
                  "UPDATE site SET label = CASE WHEN function IS NULL THEN printf('%s+0x%x', ?, offset)"
                  " ELSE printf('%s+0x%x', function, symbol_offset) END"
                  " WHERE module = ? AND label IS NULL AND coalesce(line, 0) = 0",
                  "si", name, module);
}

/* A region is begun and ended by functions of gnomon.h; what was inlined into the program is taken off. */
static size_t region_marks(const struct gn_program_place *places, size_t count)
{
    size_t marks = 0;
    while (marks + 1 < count && gn_name_is_region_mark(places[marks].function))
        marks++;
    return marks;
}

static int resolve_sites(sqlite3 *db, struct gn_error *err, int64_t module, struct gn_program *program)
{
    int code = 0;
    sqlite3_stmt *sites =
        gn_sql_query(db, err, "SELECT id, offset FROM site WHERE module = ? AND resolved = 0", "i", module);
    while (sites && code == 0 && sqlite3_step(sites) == SQLITE_ROW) {
        struct gn_program_place places[MAX_INLINED];
        uint64_t symbol_offset = 0;
        /* a return address belongs to what follows the call; the call itself is just before */
        size_t count = gn_program_places(program, (uint64_t)sqlite3_column_int64(sites, 1) - 1, places,
                                         MAX_INLINED, &symbol_offset);
        size_t marks = region_marks(places, count);
        if (count > 0)
            code = store_places(db, err, sqlite3_column_int64(sites, 0), places + marks, count - marks,
                                symbol_offset);
    }
    sqlite3_finalize(sites);
    return code;
}

static void is_region_mark(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    sqlite3_result_int(context, gn_name_is_region_mark((const char *)sqlite3_value_text(values[0])));
}

/* Where these functions were not inlined, they are call sites of their own: regions go to the callers. One
 * that is there already stays alone. */
static int leave_region_marks(sqlite3 *db, struct gn_error *err)
{
    enum { LEVELS = 2 }; /* gnomon_call_, and what calls it */
    if (sqlite3_create_function(db, "is_region_mark", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                is_region_mark, NULL, NULL) != SQLITE_OK)
        return gn_fail(err, -ENOMEM, "no memory for the places of regions");
    int code = 0;
    for (int i = 0; i < LEVELS && code == 0; i++)
        code = gn_sql(db, err,
                      "UPDATE OR IGNORE activity SET callpath ="
                      " (SELECT c.parent FROM callpath c WHERE c.id = activity.callpath)"
                      " WHERE kind IN ('region_begin', 'region') AND callpath IN (SELECT c.id FROM callpath c"
                      " JOIN site s ON s.id = c.site WHERE c.parent <> 0 AND is_region_mark(s.function))",
                      "");
    return code;
}

/* ---- where the code of an edge is ---- */

/* A call path of the profile: its last call, and the path that leads there. */
struct path_row {
    int64_t id, parent, site;
    struct gn_call_address call;
    bool in_source; /* a frame of an interpreter: it is known by its line */
    bool has_line;
};

struct edge_row {
    int64_t from, to, from_path, to_path;
};

struct resolver {
    sqlite3 *db;
    struct gn_error *err;
    struct gn_modules *modules;
    struct module_row {
        int64_t id;
        const struct gn_opened_module *module;
    } * rows;
    size_t row_count;
    struct path_row *paths; /* ascending by id */
    size_t path_count, path_room;
    struct edge_row *edges;
    size_t edge_count, edge_room;
    struct gn_calls from, to;
    const struct path_row *from_rows[GN_CALLS_MAX], *to_rows[GN_CALLS_MAX];
};

static const struct gn_opened_module *module_of(const struct resolver *r, int64_t id)
{
    for (size_t i = 0; i < r->row_count; i++)
        if (r->rows[i].id == id)
            return r->rows[i].module;
    return NULL;
}

static int no_memory(struct resolver *r)
{
    return gn_fail(r->err, -ENOMEM, "no memory for call paths");
}

static int read_paths(struct resolver *r)
{
    int code = 0;
    sqlite3_stmt *q =
        gn_sql_query(r->db, r->err,
                     "SELECT c.id, c.parent, s.id, s.module, s.offset, m.build_id = '" GN_SOURCE_BUILD_ID
                     "', coalesce(s.line, 0) > 0 FROM callpath c JOIN site s ON s.id = c.site"
                     " JOIN module m ON m.id = s.module ORDER BY c.id",
                     "");
    while (q && code == 0 && sqlite3_step(q) == SQLITE_ROW) {
        if (!gn_grow(&r->paths, &r->path_room, r->path_count, sizeof *r->paths))
            code = no_memory(r);
        else
            r->paths[r->path_count++] = (struct path_row){
                sqlite3_column_int64(q, 0),
                sqlite3_column_int64(q, 1),
                sqlite3_column_int64(q, 2),
                {module_of(r, sqlite3_column_int64(q, 3)), (uint64_t)sqlite3_column_int64(q, 4)},
                sqlite3_column_int(q, 5) != 0,
                sqlite3_column_int(q, 6) != 0};
    }
    sqlite3_finalize(q);
    return code;
}

static int read_edges(struct resolver *r)
{
    int code = 0;
    sqlite3_stmt *q =
        gn_sql_query(r->db, r->err,
                     "SELECT e.from_activity, e.to_activity, f.callpath, t.callpath FROM"
                     " (SELECT DISTINCT from_activity, to_activity FROM edge) e"
                     " JOIN activity f ON f.id = e.from_activity JOIN activity t ON t.id = e.to_activity"
                     " WHERE NOT EXISTS (SELECT 1 FROM computation c WHERE c.from_activity = e.from_activity"
                     " AND c.to_activity = e.to_activity)",
                     "");
    while (q && code == 0 && sqlite3_step(q) == SQLITE_ROW) {
        if (!gn_grow(&r->edges, &r->edge_room, r->edge_count, sizeof *r->edges))
            code = no_memory(r);
        else
            r->edges[r->edge_count++] =
                (struct edge_row){sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
                                  sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3)};
    }
    sqlite3_finalize(q);
    return code;
}

static int by_id(const void *left, const void *right)
{
    const struct path_row *a = left, *b = right;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* The calls of a path and their rows, outermost first. */
static void read_calls(const struct resolver *r, int64_t path, struct gn_calls *calls,
                       const struct path_row **rows)
{
    const struct path_row *steps[GN_CALLS_MAX];
    size_t count = 0;
    while (path != 0 && count < GN_CALLS_MAX) {
        struct path_row key = {.id = path};
        const struct path_row *row =
            r->path_count ? bsearch(&key, r->paths, r->path_count, sizeof key, by_id) : NULL;
        if (!row)
            break;
        steps[count++] = row;
        path = row->parent;
    }
    calls->count = count;
    for (size_t i = 0; i < count; i++) {
        calls->items[i] = steps[count - 1 - i]->call;
        rows[i] = steps[count - 1 - i];
    }
}

static int store_computation(struct resolver *r, const struct edge_row *edge,
                             const struct gn_program_place *place)
{
    return gn_sql(r->db, r->err,
                  "INSERT OR REPLACE INTO computation(from_activity, to_activity, function, file, line)"
                  " VALUES(?, ?, ?, ?, ?)",
                  "iissi", edge->from, edge->to, place->function, place->file, (int64_t)place->line);
}

/* Without anything better: the place of the call that the computation starts or ends at. */
static int store_site(struct resolver *r, const struct edge_row *edge, int64_t site)
{
    return gn_sql(r->db, r->err,
                  "INSERT OR REPLACE INTO computation(from_activity, to_activity, function, file, line) "
                  "SELECT ?, ?, coalesce(label, function), file, line"
                  " FROM site WHERE id = ?",
                  "iii", edge->from, edge->to, site);
}

/* The site to name for what follows a call, where nothing better is known: the last common step, or the one
 * on the way to the call where the paths part. When that has no line: the line of Python that it was called
 * from. */
static int64_t last_site(const struct path_row *const *rows, size_t at)
{
    size_t source = at;
    while (source > 0 && !rows[source]->in_source)
        source--;
    return rows[!rows[at]->has_line && rows[source]->in_source ? source : at]->site;
}

static int resolve_edge(struct resolver *r, const struct edge_row *edge)
{
    struct gn_program_place place;
    read_calls(r, edge->from_path, &r->from, r->from_rows);
    read_calls(r, edge->to_path, &r->to, r->to_rows);
    if (gn_calls_between(&r->from, &r->to, &place))
        return store_computation(r, edge, &place);
    if (r->from.count)
        return store_site(r, edge,
                          last_site(r->from_rows, r->to.count ? gn_calls_parting(&r->from, &r->to) : 0));
    return r->to.count ? store_site(r, edge, r->to_rows[0]->site) : 0;
}

static int resolve_edges(struct resolver *r, const struct gn_resolve_progress *progress)
{
    int code = read_paths(r);
    if (code == 0)
        code = read_edges(r);
    for (size_t i = 0; i < r->edge_count && code == 0; i++) {
        code = resolve_edge(r, &r->edges[i]);
        if (progress)
            progress->tell(progress->context, i + 1, r->edge_count);
    }
    return code;
}

static int resolve_module(struct resolver *r, int64_t id, const char *path, const char *build_id)
{
    uint8_t bytes[GN_MODULE_ID_BYTES];
    size_t count = parse_build_id(build_id, bytes, sizeof bytes);
    const struct gn_opened_module *module = gn_modules_get(r->modules, path, bytes, count);
    if (!module)
        return gn_fail(r->err, -ENOMEM, "no memory for the module %s", path);
    r->rows[r->row_count++] = (struct module_row){id, module};
    int code = 0;
    if (module->program)
        code = resolve_sites(r->db, r->err, id, module->program);
    if (code == 0)
        code = label_sites(r->db, r->err, id, name_of(module));
    if (code == 0 && module->program)
        code = gn_sql(r->db, r->err, "UPDATE module SET has_lines = ? WHERE id = ?", "ii",
                      (int64_t)gn_program_has_lines(module->program), id);
    return code;
}

static int resolve_modules(struct resolver *r)
{
    size_t capacity = (size_t)gn_sql_value(r->db, 0, "SELECT count(*) FROM module", "");
    r->rows = calloc(capacity + 1, sizeof *r->rows);
    if (!r->rows)
        return gn_fail(r->err, -ENOMEM, "no memory for %zu modules", capacity);
    int code = 0;
    sqlite3_stmt *query =
        gn_sql_query(r->db, r->err,
                     "SELECT id, path, build_id FROM module m WHERE build_id <> '" GN_SOURCE_BUILD_ID
                     "' AND EXISTS (SELECT 1 FROM site WHERE module = m.id)",
                     "");
    while (query && code == 0 && r->row_count < capacity && sqlite3_step(query) == SQLITE_ROW)
        code = resolve_module(r, sqlite3_column_int64(query, 0), (const char *)sqlite3_column_text(query, 1),
                              (const char *)sqlite3_column_text(query, 2));
    sqlite3_finalize(query);
    return code;
}

static int resolve_all(struct resolver *r, const struct gn_resolve_progress *progress)
{
    int code = gn_sql(r->db, r->err, "BEGIN", "");
    if (code == 0)
        code = resolve_modules(r);
    if (code == 0)
        code = leave_region_marks(r->db, r->err);
    if (code == 0)
        code = resolve_edges(r, progress);
    gn_sql(r->db, code ? NULL : r->err, code ? "ROLLBACK" : "COMMIT", "");
    return code;
}

int gn_profile_resolve(sqlite3 *db, struct gn_modules *modules, const struct gn_resolve_progress *progress,
                       struct gn_error *err)
{
    struct gn_modules *own = modules ? NULL : gn_modules_new(NULL);
    struct resolver *r = calloc(1, sizeof *r);
    int code = -ENOMEM;
    if (r && (modules || own)) {
        *r = (struct resolver){.db = db, .err = err, .modules = modules ? modules : own};
        code = resolve_all(r, progress);
        free(r->rows);
        free(r->paths);
        free(r->edges);
    } else {
        gn_fail(err, code, "no memory to look for source places");
    }
    free(r);
    gn_modules_free(own);
    return code;
}
