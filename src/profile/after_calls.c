#include "profile/after_calls.h"

#include "profile/shown.h"
#include "profile/statement.h"

#include <errno.h>

static const char *text(sqlite3_stmt *q, int column)
{
    const char *found = (const char *)sqlite3_column_text(q, column);
    return found ? found : "";
}

static bool is_told(sqlite3 *db)
{
    return gn_sql_value(db, 1, "SELECT count(*) FROM activity WHERE kind IN ('region', 'region_begin')",
                        "") == 0 &&
           gn_sql_value(db, 0, "SELECT count(*) FROM lost WHERE count > 0", "") == 0;
}

int gn_profile_after_calls(sqlite3 *db, int (*each)(void *self, const struct gn_after_calls *after),
                           void *self, struct gn_error *err)
{
    static const char asked[] =
        "WITH " GN_SHOWN "SELECT p.rank, a.name,"
        " CASE WHEN coalesce(s.line, 0) > 0 THEN s.file ELSE s.label END, coalesce(s.line, 0), e.ns, e.times"
        " FROM (SELECT location, from_activity, sum(own_ns) AS ns, sum(count) AS times FROM edge"
        "  GROUP BY location, from_activity) e"
        " JOIN activity a ON a.id = e.from_activity JOIN location l ON l.id = e.location"
        " JOIN process p ON p.id = l.process LEFT JOIN shown c ON c.callpath = a.callpath"
        " LEFT JOIN site s ON s.id = c.site WHERE a.kind = 'mpi'";
    if (!is_told(db))
        return 0;
    int code = 0;
    sqlite3_stmt *q = gn_sql_query(db, err, asked, "");
    while (q && code == 0 && sqlite3_step(q) == SQLITE_ROW)
        code = each(self, &(struct gn_after_calls){.rank = sqlite3_column_int(q, 0),
                                                   .call = text(q, 1),
                                                   .file = text(q, 2),
                                                   .line = sqlite3_column_int(q, 3),
                                                   .ns = sqlite3_column_double(q, 4),
                                                   .times = sqlite3_column_double(q, 5)});
    sqlite3_finalize(q);
    return q ? code : -EINVAL;
}
