#include "profile/summary.h"

#include "profile/statement.h"
#include "profile/kept_windows.h"

#include <stdio.h>

static int64_t count_of(sqlite3 *db, const char *what)
{
    return gn_sql_value(db, 0, "SELECT sum(CAST(value AS INTEGER)) FROM run WHERE key GLOB 'windows/*/' || ?",
                        "s", what);
}

/* On all hosts, and all of it was written. */
static bool is_whole(sqlite3 *db, int64_t hosts)
{
    return gn_sql_value(db, 0,
                        "SELECT count(*) = ? AND min(CAST(value AS INTEGER)) = 1 FROM run WHERE key GLOB "
                        "'windows/*/whole'",
                        "i", hosts) == 1 &&
           count_of(db, "unwritten") == 0;
}

void gn_summarise_windows(sqlite3 *db, struct gn_windows_facts *w)
{
    static const char found[] =
        "SELECT p.value, s.value, e.value FROM (SELECT ? AS at) k LEFT JOIN run p ON p.key GLOB "
        "'windows/' || k.at || '/path' AND typeof(p.value) = 'text' LEFT JOIN run s ON s.key = "
        "replace(p.key, '/path', '/spans') AND typeof(s.value) = 'text' LEFT JOIN run e ON e.key = "
        "'windows/all/error' AND typeof(e.value) = 'text'";
    /* of several hosts those that all of them have: what one has by itself says nothing */
    const int64_t hosts = gn_sql_value(db, 1, "SELECT max(1, count(*)) FROM host", "");
    sqlite3_stmt *q = gn_sql_query(db, NULL, found, "s", hosts > 1 ? "all" : "*");
    if (q && sqlite3_step(q) == SQLITE_ROW) {
        const char *path = (const char *)sqlite3_column_text(q, 0),
                   *spans = (const char *)sqlite3_column_text(q, 1),
                   *error = (const char *)sqlite3_column_text(q, 2);
        snprintf(w->path, sizeof w->path, "%s", path && spans ? path : "");
        snprintf(w->error, sizeof w->error, "%s", error ? error : "");
        w->count = path && spans ? gn_kept_windows_of_text(&w->kept, spans) : 0;
        if (sqlite3_step(q) == SQLITE_ROW) /* a profile of one host has one */
            w->count = 0;
    }
    sqlite3_finalize(q);
    w->events = count_of(db, "events");
    w->dropped = count_of(db, "dropped");
    w->is_whole = w->count == 1 && w->dropped == 0 && is_whole(db, hosts);
}
