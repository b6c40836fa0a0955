#include "profile/summary.h"

#include "profile/statement.h"
#include "profile/windows.h"

#include <stdio.h>

static int64_t count_of(sqlite3 *db, const char *what)
{
    return gn_sql_value(db, 0, "SELECT sum(CAST(value AS INTEGER)) FROM run WHERE key GLOB 'windows/*/' || ?",
                        "s", what);
}

/* On all hosts. */
static bool is_whole(sqlite3 *db)
{
    return gn_sql_value(db, 0,
                        "SELECT count(*) > 0 AND min(CAST(value AS INTEGER)) = 1 FROM run WHERE key GLOB "
                        "'windows/*/whole'",
                        "") == 1;
}

void gn_summarise_windows(sqlite3 *db, struct gn_windows_facts *w)
{
    sqlite3_stmt *q = gn_sql_query(db, NULL,
                                   "SELECT p.value, s.value FROM run p JOIN run s ON s.key = "
                                   "replace(p.key, '/path', '/spans') WHERE p.key GLOB 'windows/*/path' AND "
                                   "typeof(p.value) = 'text' AND typeof(s.value) = 'text'",
                                   "");
    if (q && sqlite3_step(q) == SQLITE_ROW) {
        snprintf(w->path, sizeof w->path, "%s", (const char *)sqlite3_column_text(q, 0));
        w->count = gn_windows_of_text(&w->kept, (const char *)sqlite3_column_text(q, 1));
        if (sqlite3_step(q) == SQLITE_ROW) /* of several hosts that nobody has united */
            w->count = 0;
    }
    sqlite3_finalize(q);
    w->events = count_of(db, "events");
    w->dropped = count_of(db, "dropped");
    w->is_whole = w->count == 1 && w->dropped == 0 && is_whole(db);
}
