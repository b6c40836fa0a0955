#include "profile/summary.h"

#include "profile/statement.h"
#include "profile/kept_windows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

/* As the agent of the host says it whose counter the windows are on. */
static void find_off(sqlite3 *db, struct gn_windows_facts *w)
{
    static const char notes[] =
        "SELECT r.value FROM run r, (SELECT h.name AS name FROM host h LEFT JOIN clock_domain "
        "d ON d.host = h.id ORDER BY "
        "d.parent IS NOT NULL, d.id LIMIT 1) h WHERE r.key GLOB 'changed/' || h.name "
        "|| '/*' AND r.value GLOB "
        "'* windows *' AND typeof(r.value) = 'text' ORDER BY CAST(substr(r.key, "
        "length(h.name) + 10) AS INTEGER)";
    sqlite3_stmt *q = gn_sql_query(db, NULL, notes, "");
    bool is_off = false;
    while (q && sqlite3_step(q) == SQLITE_ROW) {
        char rate[32];
        uint64_t ticks;
        if (sscanf((const char *)sqlite3_column_text(q, 0), "%*s windows %31s %" SCNu64, rate, &ticks) != 2)
            continue;
        struct gn_kept_window *last = w->off_count > 0 ? &w->off[w->off_count - 1] : NULL;
        const bool now_off = strcmp(rate, "off") == 0;
        if (is_off && !now_off && last)
            last->end_ticks = ticks;
        else if (!is_off && now_off && w->off_count < GN_WINDOWS_OFF_MOST)
            w->off[w->off_count++] = (struct gn_kept_window){ticks, UINT64_MAX};
        is_off = now_off;
    }
    sqlite3_finalize(q);
}

/* Of the processes' calls that begin and end MPI. */
static int64_t of_calls(sqlite3 *db, const char *what, const char *calls)
{
    char query[512];
    snprintf(
        query, sizeof query,
        "SELECT %s FROM node n JOIN activity a ON a.id = n.activity JOIN location l ON l.id = n.location "
        "JOIN process p ON p.id = l.process WHERE a.kind = 'mpi' AND a.name IN (%s)",
        what, calls);
    return gn_sql_value(db, 0, query, "");
}

static void find_middle(sqlite3 *db, bool has_one_host, struct gn_windows_facts *w)
{
    static const char init[] = "'MPI_Init', 'MPI_Init_thread'", finalize[] = "'MPI_Finalize'",
                      last[] = "max(p.start_ticks + (p.init_ns + n.total_ns) / p.tick_ns)",
                      first[] = "min(p.start_ticks + (nullif(p.finalized_ns, 0) - n.total_ns) / p.tick_ns)";
    w->init_s = (double)of_calls(db, "max(p.init_ns + n.total_ns) - min(p.init_ns)", init) * 1e-9;
    w->finalize_s =
        (double)of_calls(db, "max(p.elapsed_ns - nullif(p.finalized_ns, 0) + n.total_ns)", finalize) * 1e-9;
    w->middle = (struct gn_kept_window){0, 0};
    if (has_one_host)
        w->middle = (struct gn_kept_window){(uint64_t)of_calls(db, last, init),
                                            (uint64_t)of_calls(db, first, finalize)};
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
    w->off_count = 0;
    find_off(db, w);
    find_middle(db, hosts == 1, w);
    w->events = count_of(db, "events");
    w->dropped = count_of(db, "dropped");
    w->is_whole = w->count == 1 && w->dropped == 0 && is_whole(db, hosts);
}
