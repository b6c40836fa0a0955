#include "profile/virtual.h"

#include "profile/shown.h"
#include "profile/statement.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *last_part(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

static int compare(const void *left, const void *right)
{
    const struct gn_call_left *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    const int order = strcmp(a->call, b->call);
    return order ? order : strcmp(last_part(a->file), last_part(b->file));
}

static const char *text(sqlite3_stmt *q, int column)
{
    const char *found = (const char *)sqlite3_column_text(q, column);
    return found ? found : "";
}

static int fill(sqlite3 *db, const struct gn_call_left *list, size_t count, struct gn_error *err)
{
    static const char calls[] =
        "WITH " GN_SHOWN "SELECT n.location, n.activity, n.total_ns, p.rank, a.name, s.file, "
        "coalesce(s.line, 0)"
        " FROM main.node n JOIN activity a ON a.id = n.activity JOIN location l ON l.id = n.location"
        " JOIN process p ON p.id = l.process LEFT JOIN shown c ON c.callpath = a.callpath"
        " LEFT JOIN site s ON s.id = c.site WHERE a.kind = 'mpi'";
    int code = 0;
    sqlite3_stmt *q = gn_sql_query(db, err, calls, "");
    if (!q)
        return -EINVAL;
    while (code == 0 && sqlite3_step(q) == SQLITE_ROW) {
        const struct gn_call_left wanted = {.rank = sqlite3_column_int(q, 3),
                                            .call = text(q, 4),
                                            .file = text(q, 5),
                                            .line = sqlite3_column_int(q, 6)};
        const struct gn_call_left *found = bsearch(&wanted, list, count, sizeof *list, compare);
        if (found)
            code = gn_sql(db, err, "UPDATE temp.node SET total_ns = ? WHERE location = ? AND activity = ?",
                          "iii", (int64_t)llround((double)sqlite3_column_int64(q, 2) * found->stays),
                          sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1));
    }
    sqlite3_finalize(q);
    return code;
}

int gn_profile_go_virtual(sqlite3 *db, struct gn_call_left *list, size_t count, struct gn_error *err)
{
    static const char made[] = "CREATE TEMP TABLE node AS SELECT *, total_ns AS measured_ns FROM main.node;"
                               "CREATE UNIQUE INDEX temp.node_key ON node(location, activity)";
    gn_sql_forget(db);
    if (count)
        qsort(list, count, sizeof *list, compare);
    if (sqlite3_exec(db, made, NULL, NULL, NULL) != SQLITE_OK)
        return gn_fail(err, gn_sql_errno(db), "cannot look at calls without what measuring has cost: %s",
                       sqlite3_errmsg(db));
    return fill(db, list, count, err);
}

bool gn_profile_is_virtual(sqlite3 *db)
{
    return gn_sql_value(db, 0,
                        "SELECT count(*) FROM temp.sqlite_master WHERE name = 'node' AND type = 'table'",
                        "") > 0;
}

double gn_profile_own_share(sqlite3 *db)
{
    double share = 0;
    sqlite3_stmt *q = gn_sql_query(
        db, NULL, "SELECT max(probe_ns * 1.0 / elapsed_ns) FROM location WHERE elapsed_ns > 0", "");
    if (q && sqlite3_step(q) == SQLITE_ROW)
        share = sqlite3_column_double(q, 0);
    sqlite3_finalize(q);
    return share;
}
