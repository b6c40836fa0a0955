/* Requests: which call started them, which one completed them, and what lies between (Sikora 2016, definition
 * 11). */
#include "profile/summary.h"

#include "base/grow.h"
#include "profile/shown.h"
#include "profile/statement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char asked[] =
    "WITH " GN_SHOWN
    "SELECT CASE a.kind WHEN 'start' THEN NULL ELSE a.name END, coalesce(sa.function, sa.label),"
    " sa.file, sa.line, b.name, coalesce(sb.function, sb.label), sb.file, sb.line, sum(c.count), "
    "sum(c.total_ns),"
    " sum(min(c.ahead_ns, c.total_ns)), max(c.max_ns), p.rank FROM completion c"
    " JOIN location l ON l.id = c.location JOIN process p ON p.id = l.process"
    " JOIN activity a ON a.id = c.from_activity JOIN activity b ON b.id = c.to_activity"
    " LEFT JOIN shown ca ON ca.callpath = a.callpath LEFT JOIN site sa ON sa.id = ca.site"
    " LEFT JOIN shown cb ON cb.callpath = b.callpath LEFT JOIN site sb ON sb.id = cb.site"
    " GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY sum(c.total_ns) DESC, 1, 2, 3, 4, 5, 6, 7, 8";

static char *text_at(sqlite3_stmt *q, int column)
{
    const char *text = (const char *)sqlite3_column_text(q, column);
    return text ? strdup(text) : NULL;
}

static struct gn_request_end end_at(sqlite3_stmt *q, int column)
{
    return (struct gn_request_end){text_at(q, column), text_at(q, column + 1), text_at(q, column + 2),
                                   sqlite3_column_int(q, column + 3)};
}

/* max(…) makes SQLite take the bare rank of the row that has it. */
int gn_summarise_requests(sqlite3 *db, struct gn_summary *s, struct gn_error *err)
{
    size_t capacity = 0;
    /* profiles of before have no such table */
    if (gn_sql_value(db, 0, "SELECT count(*) FROM main.sqlite_master WHERE name = 'completion'", "") == 0)
        return 0;
    int code = s->period.is_set
                   ? gn_period_has_series(db, "completion", "which call completes which request", err)
                   : 0;
    if (code != 0)
        return code;
    sqlite3_stmt *q = gn_sql_query(db, err, asked, "");
    code = q ? 0 : -EINVAL;
    while (code == 0 && sqlite3_step(q) == SQLITE_ROW) {
        if (!gn_grow(&s->requests, &capacity, s->request_count, sizeof *s->requests)) {
            code = gn_fail(err, -ENOMEM, "no memory for which call completes which request");
            break;
        }
        s->requests[s->request_count++] = (struct gn_request_row){
            .start = end_at(q, 0),
            .end = end_at(q, 4),
            .count = sqlite3_column_int64(q, 8),
            .total_ns = sqlite3_column_int64(q, 9),
            .ahead_ns = sqlite3_column_int64(q, 10),
            .max_ns = sqlite3_column_type(q, 11) == SQLITE_NULL ? -1 : sqlite3_column_int64(q, 11),
            .max_rank = sqlite3_column_int(q, 12)};
    }
    sqlite3_finalize(q);
    return code;
}

static void clear_end(struct gn_request_end *end)
{
    free(end->call);
    free(end->function);
    free(end->file);
}

void gn_summary_clear_requests(struct gn_summary *s)
{
    for (size_t i = 0; i < s->request_count; i++) {
        clear_end(&s->requests[i].start);
        clear_end(&s->requests[i].end);
    }
    free(s->requests);
    s->requests = NULL;
    s->request_count = 0;
}
