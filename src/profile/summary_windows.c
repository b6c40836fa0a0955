#include "profile/summary.h"

#include "base/grow.h"
#include "profile/statement.h"

#include <stdio.h>
#include <stdlib.h>

/* "begin end begin end …": where it makes no sense, there are no more. */
static void read_kept(struct gn_windows_facts *w, const char *text)
{
    size_t capacity = 0;
    uint64_t from = 1;
    while (w->count < GN_KEPT_WINDOWS_MOST && *text) {
        char *next, *end;
        const uint64_t begin_ticks = strtoull(text, &next, 10), end_ticks = strtoull(next, &end, 10);
        if (end == next || begin_ticks < from || end_ticks <= begin_ticks ||
            !gn_grow(&w->kept, &capacity, w->count, sizeof *w->kept))
            return;
        w->kept[w->count++] = (struct gn_kept_window){begin_ticks, end_ticks};
        from = end_ticks;
        text = end;
    }
}

static int64_t count_of(sqlite3 *db, const char *what)
{
    return gn_sql_value(db, 0, "SELECT sum(CAST(value AS INTEGER)) FROM run WHERE key GLOB 'windows/*/' || ?",
                        "s", what);
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
        read_kept(w, (const char *)sqlite3_column_text(q, 1));
        if (sqlite3_step(q) == SQLITE_ROW) /* of several hosts they do not meet */
            w->count = 0;
    }
    sqlite3_finalize(q);
    w->events = count_of(db, "events");
    w->dropped = count_of(db, "dropped");
    w->is_whole = w->count == 1 && w->dropped == 0 && count_of(db, "whole") == 1;
}
