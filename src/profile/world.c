#include "profile/world.h"

#include "base/grow.h"
#include "graph/world.h"
#include "profile/statement.h"
#include "profile/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool gn_worlds_here(sqlite3 *db, bool ended)
{
    static const char missing_ranks[] =
        "SELECT count(*) FROM world w WHERE (SELECT count(DISTINCT rank) FROM process p WHERE"
        " p.world_id = w.id AND rank >= 0 AND (NOT ? OR p.ended <> 'running')) < w.size";
    static const char missing_worlds[] =
        "SELECT count(*) FROM (SELECT max(w.launched) AS launched, (SELECT count(*) FROM process p JOIN "
        "world o"
        " ON o.id = p.world_id WHERE o.launch = w.launch AND (NOT ? OR p.ended <> 'running')) AS here"
        " FROM world w WHERE w.launch IS NOT NULL GROUP BY w.launch) WHERE here < launched";
    return gn_sql_value(db, 0, "SELECT max(size) FROM world", "") > 0 &&
           gn_sql_value(db, 1, missing_ranks, "i", (int64_t)ended) == 0 &&
           gn_sql_value(db, 1, missing_worlds, "i", (int64_t)ended) == 0;
}

/* ---- reading ---- */

static const char listed[] =
    "SELECT w.id, w.size, count(DISTINCT CASE WHEN p.elapsed_ns IS NOT NULL THEN p.rank END),"
    " min(p.complete), max(p.elapsed_ns), w.launcher, w.launch, w.launched, w.launched_rank,"
    " (SELECT q.world_id FROM main.process q WHERE q.pid = w.spawner ORDER BY q.spawned DESC, q.id LIMIT 1),"
    " max(p.exe), max(p.flavour), max(p.library),"
    " (SELECT sum(n.total_ns + n.open_ns) FROM main.node n JOIN main.activity a ON a.id = n.activity"
    "  JOIN main.location l ON l.id = n.location JOIN main.process q ON q.id = l.process"
    "  WHERE a.kind = 'mpi' AND q.world_id = w.id),"
    " (SELECT sum(l.elapsed_ns) FROM main.location l JOIN main.process q ON q.id = l.process"
    "  WHERE q.world_id = w.id), max(p.traced)"
    " FROM main.world w JOIN main.process p ON p.world_id = w.id GROUP BY w.id"
    " ORDER BY (SELECT min(q.id) FROM main.process q JOIN main.world o ON o.id = q.world_id"
    "  WHERE o.launch IS w.launch), w.launched_rank, min(p.id)";

static void text_of(sqlite3_stmt *q, int column, char *text, size_t size)
{
    const char *value = (const char *)sqlite3_column_text(q, column);
    snprintf(text, size, "%s", value ? value : "");
}

static void take(sqlite3_stmt *q, struct gn_world *w, int number)
{
    *w = (struct gn_world){.id = sqlite3_column_int64(q, 0),
                           .number = number,
                           .size = sqlite3_column_int(q, 1),
                           .measured = sqlite3_column_int(q, 2),
                           .elapsed_s = (double)sqlite3_column_int64(q, 4) * 1e-9,
                           .launcher = gn_launcher_named((const char *)sqlite3_column_text(q, 5)),
                           .launched = sqlite3_column_int(q, 7),
                           .launched_rank =
                               sqlite3_column_type(q, 8) == SQLITE_NULL ? -1 : sqlite3_column_int(q, 8),
                           .spawned_by = sqlite3_column_int(q, 9),
                           .traced = sqlite3_column_int(q, 15) != 0};
    w->complete = sqlite3_column_int(q, 3) != 0 && w->measured == w->size;
    text_of(q, 6, w->launch, sizeof w->launch);
    text_of(q, 10, w->exe, sizeof w->exe);
    text_of(q, 11, w->flavour, sizeof w->flavour);
    text_of(q, 12, w->library, sizeof w->library);
    gn_summary_tidy_library(w->library);
    const double all_ns = sqlite3_column_double(q, 14);
    w->mpi_share = all_ns > 0 ? sqlite3_column_double(q, 13) / all_ns : 0;
}

/* The table has ids, users see numbers. */
static void number_spawners(struct gn_worlds *worlds)
{
    for (size_t i = 0; i < worlds->count; i++) {
        int id = worlds->items[i].spawned_by, number = 0;
        for (size_t k = 0; id && k < worlds->count; k++)
            if (worlds->items[k].id == id)
                number = worlds->items[k].number;
        worlds->items[i].spawned_by = number;
    }
}

int gn_worlds_read(sqlite3 *db, struct gn_worlds *worlds, struct gn_error *err)
{
    size_t capacity = 0;
    *worlds = (struct gn_worlds){.items = NULL};
    if (gn_sql_value(db, 0, "SELECT count(*) FROM sqlite_master WHERE name = 'world'", "") == 0)
        return 0;
    sqlite3_stmt *q = gn_sql_query(db, err, listed, "");
    if (!q)
        return -EINVAL;
    while (sqlite3_step(q) == SQLITE_ROW) {
        if (!gn_grow(&worlds->items, &capacity, worlds->count, sizeof *worlds->items)) {
            sqlite3_finalize(q);
            gn_worlds_clear(worlds);
            return gn_fail(err, -ENOMEM, "no memory for the worlds of a run");
        }
        take(q, &worlds->items[worlds->count], (int)worlds->count + 1);
        worlds->count++;
    }
    sqlite3_finalize(q);
    number_spawners(worlds);
    return 0;
}

void gn_worlds_clear(struct gn_worlds *worlds)
{
    free(worlds->items);
    *worlds = (struct gn_worlds){.items = NULL};
}

const struct gn_world *gn_worlds_largest(const struct gn_worlds *worlds)
{
    const struct gn_world *largest = NULL;
    for (size_t i = 0; i < worlds->count; i++)
        if (!largest || worlds->items[i].measured > largest->measured)
            largest = &worlds->items[i];
    return largest;
}

const struct gn_world *gn_worlds_find(const struct gn_worlds *worlds, int number)
{
    return number >= 1 && (size_t)number <= worlds->count ? &worlds->items[number - 1] : NULL;
}

int gn_worlds_asked(const struct gn_worlds *worlds, int asked, const struct gn_world **world,
                    struct gn_error *err)
{
    const size_t count = worlds->count;
    *world = NULL;
    if (asked && !gn_worlds_find(worlds, asked) && !(asked == 1 && count == 0))
        return gn_fail(err, -EINVAL, "there is no world %d in this run: it is %zu world%s", asked,
                       count ? count : 1, count > 1 ? "s" : "");
    if (count > 1)
        *world = asked ? gn_worlds_find(worlds, asked) : gn_worlds_largest(worlds);
    return 0;
}

/* ---- one of them ---- */

static const struct {
    const char *table, *column;
    bool of_location; /* the column is a location's, not a process's */
} parts[] = {
    {"process", "id", false},         {"location", "process", false}, {"lost", "process", false},
    {"ending", "process", false},     {"fatal", "process", false},    {"last_call", "process", false},
    {"sampling", "process", false},   {"resource", "process", false}, {"sample", "location", true},
    {"node", "location", true},       {"edge", "location", true},     {"peer", "location", true},
    {"completion", "location", true}, {"counter", "process", false}};

/* Where its rows are: of the part of the run that was selected, if one was (profile/period.h). True: they
 * are. */
static bool name_table(sqlite3 *db, const char *table, char *name, size_t size)
{
    snprintf(name, size, "in_period_%s", table);
    const bool there =
        gn_sql_value(db, 0, "SELECT count(*) FROM temp.sqlite_master WHERE name = ?", "s", name) > 0;
    snprintf(name, size, there ? "temp.in_period_%s" : "main.%s", table);
    return there;
}

int gn_world_select(sqlite3 *db, int64_t id, struct gn_error *err)
{
    int code = 0;
    char text[400], from[64];
    gn_sql_forget(db); /* statements that were prepared for the other tables of these names */
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && code == 0; i++) {
        int used = snprintf(text, sizeof text, "DROP VIEW IF EXISTS temp.%s;", parts[i].table);
        const bool in_period = name_table(db, parts[i].table, from, sizeof from);
        if (in_period || id)
            used += snprintf(text + used, sizeof text - (size_t)used,
                             "CREATE TEMP VIEW %s AS SELECT * FROM %s", parts[i].table, from);
        if (id)
            snprintf(text + used, sizeof text - (size_t)used,
                     " WHERE %s IN (%s SELECT id FROM main.process WHERE world_id = %" PRId64 "%s)",
                     parts[i].column,
                     parts[i].of_location ? "SELECT id FROM main.location WHERE process IN (" : "", id,
                     parts[i].of_location ? ")" : "");
        if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
            code = gn_fail(err, gn_sql_errno(db), "cannot look at one world of the profile: %s",
                           sqlite3_errmsg(db));
    }
    return code;
}
