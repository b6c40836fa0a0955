/* profile/resolve — from (module, offset) to function, file and line, while the executables are at hand. */
#include "profile/profile.h"

#include "graph/source_line.h"
#include "profile/statement.h"
#include "program/names.h"
#include "program/program.h"

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

static struct gn_program *open_module(const char *path, const char *build_id)
{
    struct gn_program *program = NULL;
    uint8_t bytes[64];
    size_t count = parse_build_id(build_id, bytes, sizeof bytes);
    if (!path[0] || gn_program_open(&program, path, bytes, count, NULL) != 0)
        return NULL;
    return program;
}

static int store_places(sqlite3 *db, struct gn_error *err, int64_t site, const struct gn_place *places,
                        size_t count, uint64_t symbol_offset)
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

/* Without a line a place is still named as exactly as possible: function+offset, else module+offset. */
static int label_sites(sqlite3 *db, struct gn_error *err, int64_t module, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = path[0] ? (slash ? slash + 1 : path) : "(generated code)";
    return gn_sql(db, err,
                  "UPDATE site SET label = CASE WHEN function IS NULL THEN printf('%s+0x%x', ?, offset)"
                  " ELSE printf('%s+0x%x', function, symbol_offset) END"
                  " WHERE module = ? AND label IS NULL AND coalesce(line, 0) = 0",
                  "si", name, module);
}

/* A region is begun and ended by functions of gnomon.h; what was inlined into the program is taken off. */
static size_t region_marks(const struct gn_place *places, size_t count)
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
        struct gn_place places[MAX_INLINED];
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

struct path_step {
    int64_t module, offset, site;
    bool in_source; /* a frame of an interpreter: it is known by its line */
    bool has_line;
};

enum { MAX_STEPS = 512 };

/* Sites of a call path, outermost first. */
static size_t read_path(sqlite3 *db, int64_t callpath, struct path_step *steps)
{
    size_t count = 0;
    while (callpath != 0 && count < MAX_STEPS) {
        sqlite3_stmt *q =
            gn_sql_query(db, NULL,
                         "SELECT c.parent, s.module, s.offset, s.id, m.build_id = '" GN_SOURCE_BUILD_ID
                         "', coalesce(s.line, 0) > 0 FROM callpath c JOIN site s ON s.id = c.site"
                         " JOIN module m ON m.id = s.module WHERE c.id = ?",
                         "i", callpath);
        callpath = 0;
        if (q && sqlite3_step(q) == SQLITE_ROW) {
            callpath = sqlite3_column_int64(q, 0);
            steps[count++] = (struct path_step){sqlite3_column_int64(q, 1), sqlite3_column_int64(q, 2),
                                                sqlite3_column_int64(q, 3), sqlite3_column_int(q, 4) != 0,
                                                sqlite3_column_int(q, 5) != 0};
        }
        sqlite3_finalize(q);
    }
    for (size_t i = 0; i < count / 2; i++) {
        struct path_step swap = steps[i];
        steps[i] = steps[count - 1 - i];
        steps[count - 1 - i] = swap;
    }
    return count;
}

/* The call paths of both ends of an edge, and how much they have in common. */
struct path_pair {
    struct path_step from[MAX_STEPS], to[MAX_STEPS];
    size_t from_count, to_count;
    size_t parting; /* the first step in which they differ, or the last common one */
};

static struct path_pair *read_pair(sqlite3 *db, int64_t from, int64_t to)
{
    struct path_pair *p = malloc(sizeof *p);
    if (!p)
        return NULL;
    p->from_count = read_path(db, from, p->from);
    p->to_count = read_path(db, to, p->to);
    p->parting = 0;
    size_t shorter = p->from_count < p->to_count ? p->from_count : p->to_count;
    while (p->parting + 1 < shorter && p->from[p->parting].site == p->to[p->parting].site)
        p->parting++;
    return p;
}

static int store_computation(sqlite3 *db, struct gn_error *err, int64_t from, int64_t to,
                             const struct gn_place *place)
{
    return gn_sql(db, err, "INSERT OR REPLACE INTO computation VALUES(?, ?, ?, ?, ?)", "iissi", from, to,
                  place->function, place->file, (int64_t)place->line);
}

/* Without anything better: the place of the call that the computation starts or ends at. */
static int store_site(sqlite3 *db, struct gn_error *err, int64_t from, int64_t to, int64_t site)
{
    return gn_sql(db, err,
                  "INSERT OR REPLACE INTO computation SELECT ?, ?, coalesce(label, function), file, line"
                  " FROM site WHERE id = ?",
                  "iii", from, to, site);
}

struct open_module {
    int64_t id;
    struct gn_program *program;
};

static struct gn_program *program_of(const struct open_module *modules, size_t count, int64_t module)
{
    for (size_t i = 0; i < count; i++)
        if (modules[i].id == module)
            return modules[i].program;
    return NULL;
}

/* The code between two activities lies in the innermost procedure that both call paths have in common,
 * between the calls it makes on the way to them. When control cannot go from the first call to the second
 * inside of it (no loop around them), that procedure was left and entered again: then it is a loop of one of
 * its callers. */
static bool find_between(const struct open_module *modules, size_t count, const struct path_pair *p,
                         struct gn_place *place)
{
    for (size_t level = p->parting + 1; level-- > 0;) {
        const struct path_step *from = &p->from[level], *to = &p->to[level];
        struct gn_program *program = program_of(modules, count, from->module);
        if (!program || from->module != to->module)
            return false;
        if (gn_program_between(program, (uint64_t)from->offset, (uint64_t)to->offset, place) == 1)
            return true;
        if (from->offset < to->offset) /* straight on, and nothing but the line itself is there */
            return false;
    }
    return false;
}

/* The site to name for what follows a call, where nothing better is known: the last common step, or the one
 * on the way to the call where the paths part. When that has no line: the line of Python that it was called
 * from. */
static int64_t last_site(const struct path_step *steps, size_t at)
{
    size_t source = at;
    while (source > 0 && !steps[source].in_source)
        source--;
    return steps[!steps[at].has_line && steps[source].in_source ? source : at].site;
}

static int resolve_edge(sqlite3 *db, struct gn_error *err, const struct open_module *modules, size_t count,
                        int64_t from, int64_t to, int64_t from_path, int64_t to_path)
{
    struct path_pair *p = read_pair(db, from_path, to_path);
    if (!p)
        return gn_fail(err, -ENOMEM, "no memory for call paths");
    struct gn_place place;
    int code = 0;
    if (p->from_count && p->to_count && find_between(modules, count, p, &place))
        code = store_computation(db, err, from, to, &place);
    else if (p->from_count)
        code = store_site(db, err, from, to, last_site(p->from, p->to_count ? p->parting : 0));
    else if (p->to_count)
        code = store_site(db, err, from, to, p->to[0].site);
    free(p);
    return code;
}

static int resolve_edges(sqlite3 *db, struct gn_error *err, const struct open_module *modules, size_t count)
{
    int code = 0;
    sqlite3_stmt *edges =
        gn_sql_query(db, err,
                     "SELECT DISTINCT e.from_activity, e.to_activity, f.callpath, t.callpath FROM edge e"
                     " JOIN activity f ON f.id = e.from_activity JOIN activity t ON t.id = e.to_activity"
                     " WHERE NOT EXISTS (SELECT 1 FROM computation c WHERE c.from_activity = e.from_activity"
                     " AND c.to_activity = e.to_activity)",
                     "");
    while (edges && code == 0 && sqlite3_step(edges) == SQLITE_ROW)
        code = resolve_edge(db, err, modules, count, sqlite3_column_int64(edges, 0),
                            sqlite3_column_int64(edges, 1), sqlite3_column_int64(edges, 2),
                            sqlite3_column_int64(edges, 3));
    sqlite3_finalize(edges);
    return code;
}

int gn_profile_resolve(sqlite3 *db, struct gn_error *err)
{
    size_t count = 0, capacity = (size_t)gn_sql_value(db, 0, "SELECT count(*) FROM module", "");
    struct open_module *modules = calloc(capacity + 1, sizeof *modules);
    if (!modules)
        return gn_fail(err, -ENOMEM, "no memory for %zu modules", capacity);
    int code = gn_sql(db, err, "BEGIN", "");
    sqlite3_stmt *query =
        gn_sql_query(db, err,
                     "SELECT id, path, build_id FROM module m WHERE build_id <> '" GN_SOURCE_BUILD_ID
                     "' AND EXISTS (SELECT 1 FROM site WHERE module = m.id)",
                     "");
    while (query && code == 0 && count < capacity && sqlite3_step(query) == SQLITE_ROW) {
        struct open_module *m = &modules[count++];
        m->id = sqlite3_column_int64(query, 0);
        m->program = open_module((const char *)sqlite3_column_text(query, 1),
                                 (const char *)sqlite3_column_text(query, 2));
        if (m->program)
            code = resolve_sites(db, err, m->id, m->program);
        if (code == 0)
            code = label_sites(db, err, m->id, (const char *)sqlite3_column_text(query, 1));
        if (!m->program)
            continue;
        if (code == 0)
            code = gn_sql(db, err, "UPDATE module SET has_lines = ? WHERE id = ?", "ii",
                          (int64_t)gn_program_has_lines(m->program), m->id);
    }
    sqlite3_finalize(query);
    if (code == 0)
        code = leave_region_marks(db, err);
    if (code == 0)
        code = resolve_edges(db, err, modules, count);
    gn_sql(db, code ? NULL : err, code ? "ROLLBACK" : "COMMIT", "");
    for (size_t i = 0; i < count; i++)
        gn_program_close(modules[i].program);
    free(modules);
    return code;
}
