#include "profile/naps.h"

#include "event/activity.h"
#include "profile/samples.h"
#include "profile/shown.h"
#include "profile/statement.h"

#include <errno.h>
#include <stdio.h>
#include <stdbool.h>

/* A tenth of a second has ten samples, if it is computed. Who is ready, and has no core, does not sleep; nor
 * may who was on a core unseen. But who was looked at so often, and found asleep half of the time, sleeps.
 */
#define LEAST_NS "100000000"
#define ON_CORE "0.3"
#define LOOKS "8"
#define ASLEEP "0.5"

static const char *text(sqlite3_stmt *q, int column)
{
    const char *found = (const char *)sqlite3_column_text(q, column);
    return found ? found : "";
}

static bool is_poll(const char *call)
{
    return gn_activity_def(gn_activity_named(call))->traits & GN_TRAIT_POLLS;
}

int gn_profile_naps(sqlite3 *db,
                    int (*each)(void *self, int64_t activity, const char *call, const char *file, int line),
                    void *self, struct gn_error *err)
{
    static const char asked[] =
        "WITH " GN_SHOWN "SELECT a.name, CASE WHEN coalesce(s.line, 0) > 0 THEN s.file ELSE s.label END,"
        " coalesce(s.line, 0), e.id"
        " FROM (SELECT e.from_activity AS id, sum(e.own_ns) AS ns, total(r.preempted_ns) AS ready_ns,"
        "  total(max(p.cpu_ns - g.time_ns, 0)) AS unseen_ns FROM edge e"
        "  JOIN location l ON l.id = e.location LEFT JOIN resource r ON r.process = l.process"
        "  LEFT JOIN process p ON p.id = l.process LEFT JOIN sampling g ON g.process = l.process"
        "  WHERE e.from_activity = e.to_activity GROUP BY e.from_activity) e"
        /* who computes in the MPI library (MPI_Wtime) seems to be in the call */
        " LEFT JOIN (SELECT from_activity AS id, sum(time_ns) AS ns FROM sample"
        "  WHERE %s = 0 AND (from_activity IS to_activity OR to_activity IS NULL) GROUP BY from_activity) t "
        "ON "
        "t.id = e.id"
        " LEFT JOIN (SELECT from_activity AS id, sum(time_ns) AS ns, sum(count) AS looks FROM sample"
        "  WHERE %s = 1 AND from_activity IS to_activity GROUP BY from_activity) z ON z.id = e.id"
        " LEFT JOIN (SELECT activity AS id, sum(total_ns) AS ns FROM node GROUP BY activity) n ON n.id = e.id"
        " JOIN activity a ON a.id = e.id LEFT JOIN shown c ON c.callpath = a.callpath"
        " LEFT JOIN site s ON s.id = c.site WHERE a.kind = 'mpi' AND e.ns > " LEAST_NS
        " AND (coalesce(t.ns, 0) - coalesce(n.ns, 0) + e.ready_ns + e.unseen_ns < " ON_CORE " * e.ns"
        "  OR (coalesce(t.ns, 0) - coalesce(n.ns, 0) < " ON_CORE " * e.ns AND z.looks >= " LOOKS
        "   AND z.ns > " ASLEEP " * e.ns))"
        " AND NOT EXISTS (SELECT 1 FROM process p LEFT JOIN sampling g ON g.process = p.id"
        "  WHERE g.state IS NOT 'sampled' OR p.cpu_ns IS NULL)";
    int code = 0;
    char query[sizeof asked + 40];
    snprintf(query, sizeof query, asked, gn_samples_how(db), gn_samples_how(db));
    sqlite3_stmt *q = gn_sql_query(db, err, query, "");
    while (q && code == 0 && sqlite3_step(q) == SQLITE_ROW)
        if (is_poll(text(q, 0)))
            code = each(self, sqlite3_column_int64(q, 3), text(q, 0), text(q, 1), sqlite3_column_int(q, 2));
    sqlite3_finalize(q);
    return q ? code : -EINVAL;
}
