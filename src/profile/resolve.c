/* profile/resolve — from (module, offset) to function, file and line, while the executables are at hand. */
#include "profile/profile.h"

#include "profile/resolve_passes.h"
#include "profile/resolve_samples.h"
#include "profile/shown.h"
#include "profile/statement.h"
#include "program/modules.h"
#include "program/names.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INLINED = 32 };

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
        const uint64_t offset = (uint64_t)sqlite3_column_int64(sites, 1) - 1;
        size_t count = gn_program_places(program, offset, places, MAX_INLINED, &symbol_offset);
        if (count > 0 && places[0].line == 0)
            gn_program_line_before(program, offset, &places[0]);
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

/* What runs between two calls lies behind the one and ahead of the other; where exactly, samples say. */
static int name_ends(sqlite3 *db, struct gn_error *err)
{
    return gn_sql(db, err,
                  "INSERT OR REPLACE INTO computation WITH " GN_SHOWN
                  "SELECT e.from_activity, e.to_activity, coalesce(a.label, a.function), a.file, a.line,"
                  " coalesce(b.label, b.function), b.file, b.line FROM"
                  " (SELECT DISTINCT from_activity, to_activity FROM edge) e"
                  " JOIN activity f ON f.id = e.from_activity JOIN activity t ON t.id = e.to_activity"
                  " LEFT JOIN shown c ON c.callpath = f.callpath LEFT JOIN site a ON a.id = c.site"
                  " LEFT JOIN shown d ON d.callpath = t.callpath LEFT JOIN site b ON b.id = d.site",
                  "");
}

/* ---- all of it ---- */

struct resolver {
    sqlite3 *db;
    struct gn_error *err;
    struct gn_modules *modules;
};

static int resolve_module(struct resolver *r, int64_t id, const char *path, const char *build_id)
{
    const struct gn_opened_module *module = gn_modules_named(r->modules, path, build_id);
    if (!module)
        return gn_fail(r->err, -ENOMEM, "no memory for the module %s", path);
    int code = 0;
    if (module->program)
        code = resolve_sites(r->db, r->err, id, module->program);
    if (code == 0 && module->program)
        code = gn_resolve_loops(r->db, r->err, id, module->program);
    if (code == 0 && module->program)
        code = gn_resolve_runtimes(r->db, r->err, id, module->program);
    if (code == 0)
        code = label_sites(r->db, r->err, id, name_of(module));
    if (code == 0 && module->program)
        code = gn_sql(r->db, r->err, "UPDATE module SET has_lines = ? WHERE id = ?", "ii",
                      (int64_t)gn_program_has_lines(module->program), id);
    return code;
}

static int resolve_modules(struct resolver *r, const struct gn_resolve_progress *progress)
{
    static const char sought[] = " FROM module m WHERE build_id <> '" GN_SOURCE_BUILD_ID
                                 "' AND EXISTS (SELECT 1 FROM site WHERE module = m.id)";
    char text[256];
    int code = 0;
    snprintf(text, sizeof text, "SELECT count(*)%s", sought);
    const size_t all = (size_t)gn_sql_value(r->db, 0, text, "");
    snprintf(text, sizeof text, "SELECT id, path, build_id%s", sought);
    sqlite3_stmt *query = gn_sql_query(r->db, r->err, text, "");
    for (size_t done = 0; query && code == 0 && sqlite3_step(query) == SQLITE_ROW; done++) {
        if (progress)
            progress->tell(progress->context, done, all);
        code = resolve_module(r, sqlite3_column_int64(query, 0), (const char *)sqlite3_column_text(query, 1),
                              (const char *)sqlite3_column_text(query, 2));
    }
    sqlite3_finalize(query);
    return query ? code : -EINVAL;
}

static int resolve_all(struct resolver *r, const struct gn_resolve_progress *progress)
{
    int code = gn_sql(r->db, r->err, "BEGIN", "");
    if (code == 0)
        code = resolve_modules(r, progress);
    if (code == 0)
        code = leave_region_marks(r->db, r->err);
    if (code == 0)
        code = gn_resolve_same_places(r->db, r->err);
    if (code == 0)
        code = name_ends(r->db, r->err);
    if (code == 0)
        code = gn_resolve_passes(r->db, r->modules, r->err);
    gn_sql(r->db, code ? NULL : r->err, code ? "ROLLBACK" : "COMMIT", "");
    return code;
}

int gn_profile_resolve(sqlite3 *db, struct gn_modules *modules, const struct gn_resolve_progress *progress,
                       struct gn_error *err)
{
    struct gn_modules *own = modules ? NULL : gn_modules_new(NULL);
    struct resolver r = {.db = db, .err = err, .modules = modules ? modules : own};
    const int code =
        r.modules ? resolve_all(&r, progress) : gn_fail(err, -ENOMEM, "no memory to look for source places");
    gn_modules_free(own);
    return code;
}
