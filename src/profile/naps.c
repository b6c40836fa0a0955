#include "profile/naps.h"

#include "event/activity.h"
#include "profile/samples.h"
#include "profile/shown.h"
#include "profile/statement.h"

#include <errno.h>
#include <stdio.h>
#include <stdbool.h>

/* A tenth of a second has ten samples, if it is computed. Who is ready, and has no core, does not sleep; nor
 * may who was on a core unseen. But who was looked at so often, and found asleep half of the time, sleeps: a
 * look at short sleeps often comes to nothing, so that fewer are no sign that one did not.
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

int gn_profile_naps(sqlite3 *db, int (*each)(void *self, const char *call, const char *file, int line),
                    void *self, struct gn_error *err)
{
    static const char asked[] =
        "WITH " GN_SHOWN "SELECT a.name, CASE WHEN coalesce(s.line, 0) > 0 THEN s.file ELSE s.label END,"
        " coalesce(s.line, 0)"
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
            code = each(self, text(q, 0), text(q, 1), sqlite3_column_int(q, 2));
    sqlite3_finalize(q);
    return q ? code : -EINVAL;
}

/* Activities that poll, as SQL lists them. */
struct polls {
    char list[4000];
    size_t used;
};

static void list_polls(sqlite3 *db, struct polls *p)
{
    sqlite3_stmt *q =
        gn_sql_query(db, NULL, "SELECT a.id, a.name FROM activity a WHERE a.kind = 'mpi' ORDER BY a.id", "");
    p->used = 0;
    while (q && sqlite3_step(q) == SQLITE_ROW)
        if (is_poll(text(q, 1)) && p->used + 24 < sizeof p->list)
            p->used += (size_t)snprintf(p->list + p->used, sizeof p->list - p->used, "%s%lld",
                                        p->used ? "," : "", (long long)sqlite3_column_int64(q, 0));
    sqlite3_finalize(q);
}

void gn_profile_naps_query(sqlite3 *db, const char *own_ns, char query[GN_NAPS_QUERY])
{
    static const char asked[] =
        "SELECT process, sum(own_ns - cpu_ns) AS ns FROM (SELECT l.process, e.%s AS own_ns,"
        " total(CASE WHEN x.%s = 0 THEN x.time_ns END) AS cpu_ns,"
        " total(CASE WHEN x.%s = 1 THEN x.time_ns END) AS asleep_ns,"
        " total(CASE WHEN x.%s = 1 THEN x.count END) AS looks,"
        " %s AS unseen_ns FROM edge e"
        " JOIN location l ON l.id = e.location AND l.thread = 0 LEFT JOIN sample x ON x.location = e.location"
        "  AND NOT x.other_threads AND x.from_activity = e.from_activity AND x.to_activity = e.to_activity"
        " WHERE e.from_activity = e.to_activity AND e.from_activity IN (%s) GROUP BY e.location, "
        "e.from_activity)"
        " WHERE own_ns > " LEAST_NS " AND (cpu_ns + unseen_ns < " ON_CORE " * own_ns"
        "  OR (cpu_ns < " ON_CORE " * own_ns AND looks >= " LOOKS " AND asleep_ns > " ASLEEP " * own_ns))"
        " GROUP BY process";
    static const char unseen[] =
        "(SELECT sum(r.preempted_ns) FROM resource r WHERE r.process = l.process)"
        " + (SELECT sum(max(p.cpu_ns - g.time_ns, 0)) FROM process p JOIN sampling g ON g.process = p.id"
        " WHERE p.id = l.process)";
    const bool is_known =
        gn_sql_has_column(db, "resource", "preempted_ns") && gn_sql_has_column(db, "sampling", "time_ns");
    struct polls polls;
    const char *how = gn_samples_how(db);
    _Static_assert(sizeof asked + sizeof unseen + sizeof polls.list + 100 < GN_NAPS_QUERY,
                   "the query has room");
    list_polls(db, &polls);
    if (polls.used > 0 && gn_sql_has_column(db, "sample", "time_ns"))
        snprintf(query, GN_NAPS_QUERY, asked, own_ns, how, how, how, is_known ? unseen : "NULL", polls.list);
    else
        snprintf(query, GN_NAPS_QUERY, "SELECT NULL AS process, 0 AS ns");
}
