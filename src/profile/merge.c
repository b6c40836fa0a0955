/* profile/merge — profiles of several hosts as one: their graphs, what is known of the run, their clocks. */
#include "graph/join.h"
#include "profile/profile.h"
#include "profile/statement.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const merge_facts[] = {
    "INSERT OR IGNORE INTO run SELECT * FROM part.run",
    "INSERT OR IGNORE INTO host(name) SELECT name FROM part.host",
};

/* Clocks are known by their names. A profile of format 1 has none. Bounds are made anew from the messages. */
static const char *const merge_clocks[] = {
    "INSERT OR IGNORE INTO clock_domain(name, host, parent, counter, hz, granularity_ticks, epoch_ticks,"
    " last_ticks, shared, cores, untried, shared_width_ns, asked, answered, narrowed, refused, problem,"
    " mixed)"
    " SELECT d.name, h.id, parent, counter, hz, granularity_ticks, epoch_ticks, last_ticks, shared, cores, "
    "untried,"
    " shared_width_ns, asked, answered, narrowed, refused, problem, mixed FROM part.clock_domain d"
    " JOIN part.host ph ON ph.id = d.host JOIN main.host h ON h.name = ph.name",
    "CREATE TEMP TABLE d AS SELECT p.id AS part, o.id AS own FROM part.clock_domain p"
    " JOIN main.clock_domain o ON o.name = p.name",
    "INSERT OR IGNORE INTO clock_message SELECT d.own, m.to_parent, m.sent_ticks, m.received_ticks"
    " FROM part.clock_message m JOIN d ON d.part = m.domain",
    "INSERT OR IGNORE INTO clock_exchange SELECT d.own, x.number, x.asked_ticks, x.heard_ticks,"
    " x.answered_ticks, x.received_ticks, x.kernel FROM part.clock_exchange x JOIN d ON d.part = x.domain",
    "DROP TABLE temp.d",
};

static int run_steps(sqlite3 *db, struct gn_error *err, const char *const *steps, size_t count)
{
    int code = 0;
    for (size_t i = 0; i < count && code == 0; i++)
        if (sqlite3_exec(db, steps[i], NULL, NULL, NULL) != SQLITE_OK)
            code = gn_fail(err, gn_sql_errno(db), "writing the profile failed: %s", sqlite3_errmsg(db));
    return code;
}

static int merge_attached(sqlite3 *db, struct gn_error *err)
{
    int code = run_steps(db, err, merge_facts, sizeof merge_facts / sizeof merge_facts[0]);
    if (code == 0 &&
        gn_sql_value(db, 0, "SELECT count(*) FROM part.sqlite_master WHERE name GLOB 'clock_*'", ""))
        code = run_steps(db, err, merge_clocks, sizeof merge_clocks / sizeof merge_clocks[0]);
    return code;
}

/* As it was when its graph was read: whoever writes it meanwhile does not get between the two. */
static int copy_part(sqlite3 *db, sqlite3 *file, struct gn_error *err)
{
    sqlite3_backup *copy = sqlite3_backup_init(db, "part", file, "main");
    if (copy)
        sqlite3_backup_step(copy, -1);
    return copy && sqlite3_backup_finish(copy) == SQLITE_OK
               ? 0
               : gn_fail(err, gn_sql_errno(db), "the profile cannot be copied: %s", sqlite3_errmsg(db));
}

/* All that is no graph. graph gets the part's graph with it, or neither is changed. */
static int join_part(sqlite3 *db, struct gn_graph *graph, const struct gn_graph *part, sqlite3 *file,
                     struct gn_error *err)
{
    int code = gn_sql(db, err, "ATTACH ':memory:' AS part", "");
    if (code != 0)
        return code;
    code = copy_part(db, file, err);
    if (code == 0)
        code = gn_sql(db, err, "BEGIN", "");
    if (code == 0) {
        code = merge_attached(db, err);
        if (code == 0)
            code = gn_graph_join(graph, part, err);
        gn_sql(db, NULL, code == 0 ? "COMMIT" : "ROLLBACK", "");
    }
    gn_sql_forget(db); /* a kept statement would keep the part attached */
    sqlite3_exec(db, "DETACH part", NULL, NULL, NULL);
    return code;
}

/* What contradicts itself (a row twice, one without what it must have) cannot be written: that shall be this
 * part's misfortune, not that of all that it is joined to. */
static int try_part(const struct gn_graph *part, const char *path, struct gn_error *err)
{
    sqlite3 *alone;
    struct gn_error why = {""};
    int code = gn_profile_create(&alone, ":memory:", err);
    if (code != 0)
        return code;
    code = gn_profile_write(alone, part, &why);
    gn_profile_close(alone);
    return code == 0 ? 0 : gn_fail(err, code, "%s is damaged: %s", path, why.text);
}

int gn_profile_join(sqlite3 *db, struct gn_graph *graph, const char *part_path, struct gn_error *err)
{
    sqlite3 *file;
    int code = gn_profile_open(&file, part_path, err);
    if (code != 0)
        return code;
    struct gn_graph *part = gn_graph_new();
    code = part ? gn_sql(file, err, "BEGIN", "") : gn_fail(err, -ENOMEM, "no memory for %s", part_path);
    if (code == 0)
        code = gn_profile_read(file, part, err);
    if (code == 0)
        code = try_part(part, part_path, err);
    if (code == 0)
        code = join_part(db, graph, part, file, err);
    gn_profile_close(file);
    gn_graph_free(part);
    return code;
}

/* Parts of several folders may have one file name: each has a note of its own. */
static void note(sqlite3 *db, const char *part_path, const char *why)
{
    char key[300], other[2];
    const char *slash = strrchr(part_path, '/');
    const char *name = slash ? slash + 1 : part_path;
    snprintf(key, sizeof key, "part/%s", name);
    for (unsigned n = 2; gn_profile_get(db, key, other, sizeof other) > 0; n++)
        snprintf(key, sizeof key, "part/%.255s (%u)", name, n);
    gn_profile_set(db, key, why, NULL);
}

int gn_profile_join_or_note(sqlite3 *db, struct gn_graph *graph, const char *part_path, struct gn_error *err)
{
    const int code = gn_profile_join(db, graph, part_path, err);
    if (code != 0)
        note(db, part_path, err->text);
    return code;
}

int gn_profile_merge(sqlite3 *db, const char *part_path, struct gn_error *err)
{
    struct gn_graph *graph = gn_graph_new();
    int code = graph ? gn_profile_read(db, graph, err) : gn_fail(err, -ENOMEM, "no memory for %s", part_path);
    if (code == 0)
        code = gn_profile_join(db, graph, part_path, err);
    if (code == 0)
        code = gn_profile_write(db, graph, err);
    gn_graph_free(graph);
    return code;
}
