#include "profile/resolve_samples.h"

#include "profile/series.h"
#include "profile/statement.h"
#include "program/runtime.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- loops ---- */

struct asked {
    int64_t *sites;
    uint64_t *offsets;
    struct gn_program_place *places;
    size_t count;
};

static bool make_room(struct asked *a, size_t count)
{
    a->sites = calloc(count + 1, sizeof *a->sites);
    a->offsets = calloc(count + 1, sizeof *a->offsets);
    a->places = calloc(count + 1, sizeof *a->places);
    return a->sites && a->offsets && a->places;
}

static void clear(struct asked *a)
{
    free(a->sites);
    free(a->offsets);
    free(a->places);
}

static int store_loops(sqlite3 *db, struct gn_error *err, const struct asked *a)
{
    int code = 0;
    for (size_t i = 0; i < a->count && code == 0; i++)
        if (a->places[i].line > 0)
            code = gn_sql(
                db, err, "UPDATE site SET loop_function = ?, loop_file = ?, loop_line = ? WHERE id = ?",
                "ssii", a->places[i].function, a->places[i].file, (int64_t)a->places[i].line, a->sites[i]);
    return code;
}

int gn_resolve_loops(sqlite3 *db, struct gn_error *err, int64_t module, struct gn_program *program)
{
    static const char sampled[] = " FROM site WHERE module = ? AND loop_line IS NULL AND line > 0"
                                  " AND id IN (SELECT site FROM sample)";
    char text[256];
    struct asked a = {0};
    snprintf(text, sizeof text, "SELECT count(*)%s", sampled);
    const size_t most = (size_t)gn_sql_value(db, 0, text, "i", module);
    if (most == 0)
        return 0;
    if (!make_room(&a, most)) {
        clear(&a);
        return gn_fail(err, -ENOMEM, "no memory for %zu sampled places", most);
    }
    snprintf(text, sizeof text, "SELECT id, offset%s ORDER BY offset", sampled);
    sqlite3_stmt *q = gn_sql_query(db, err, text, "i", module);
    for (; q && a.count < most && sqlite3_step(q) == SQLITE_ROW; a.count++) {
        a.sites[a.count] = sqlite3_column_int64(q, 0);
        a.offsets[a.count] = (uint64_t)sqlite3_column_int64(q, 1) - 1;
    }
    sqlite3_finalize(q);
    gn_program_loops(program, a.offsets, a.count, a.places);
    const int code = q ? store_loops(db, err, &a) : -EINVAL;
    clear(&a);
    return code;
}

/* ---- runtimes ---- */

int gn_resolve_runtimes(sqlite3 *db, struct gn_error *err, int64_t module, struct gn_program *program)
{
    int code = 0;
    sqlite3_stmt *q = gn_sql_query(db, err,
                                   "SELECT id, offset FROM site WHERE module = ? AND id IN (SELECT called "
                                   "FROM sample UNION SELECT site FROM sample)",
                                   "i", module);
    while (q && code == 0 && sqlite3_step(q) == SQLITE_ROW) {
        const enum gn_runtime_kind kind = gn_runtime_at(program, (uint64_t)sqlite3_column_int64(q, 1) - 1);
        if (kind != GN_RUNTIME_NONE && kind != GN_RUNTIME_MPI)
            code = gn_sql(db, err, "UPDATE site SET runtime = ? WHERE id = ?", "si", gn_runtime_text(kind),
                          sqlite3_column_int64(q, 0));
    }
    sqlite3_finalize(q);
    return q ? code : -EINVAL;
}

/* ---- places that are called the same ---- */

static const char *const add_up[] = {
    "CREATE TEMP TABLE same AS SELECT id, min(id) OVER (PARTITION BY module, function, file, line,"
    " loop_function, loop_file, loop_line, runtime, (SELECT group_concat(function || ':' || line) FROM "
    "main.inlined i"
    " WHERE i.site = s.id)) AS one FROM main.site s WHERE function IS NOT NULL"
    " AND id IN (SELECT site FROM main.sample UNION SELECT called FROM main.sample)",
    "CREATE TEMP TABLE summed AS SELECT location, from_activity, to_activity, coalesce(a.one, site) AS site,"
    " coalesce(b.one, called) AS called, other_threads, how, sum(count) AS count, sum(time_ns) AS time_ns,"
    " series_sum(series) AS series"
    " FROM main.sample x LEFT JOIN same a ON a.id = x.site LEFT JOIN same b ON b.id = x.called"
    " GROUP BY 1, 2, 3, 4, 5, 6, 7",
    "DELETE FROM main.sample",
    "INSERT INTO main.sample SELECT * FROM temp.summed",
    "CREATE TEMP TABLE left_over AS SELECT id FROM temp.same WHERE id <> one"
    " AND id NOT IN (SELECT site FROM main.callpath)",
    "DELETE FROM main.inlined WHERE site IN (SELECT id FROM temp.left_over)",
    "DELETE FROM main.site WHERE id IN (SELECT id FROM temp.left_over)",
    "DROP TABLE temp.same",
    "DROP TABLE temp.summed",
    "DROP TABLE temp.left_over",
};

int gn_resolve_same_places(sqlite3 *db, struct gn_error *err)
{
    int code = gn_series_define_sum(db, err);
    for (size_t i = 0; i < sizeof add_up / sizeof add_up[0] && code == 0; i++)
        if (sqlite3_exec(db, add_up[i], NULL, NULL, NULL) != SQLITE_OK)
            code = gn_fail(err, gn_sql_errno(db), "adding up samples failed: %s", sqlite3_errmsg(db));
    return code;
}
