#include "profile/profile.h"

#include "profile/schema.h"
#include "profile/statement.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int execute(sqlite3 *db, struct gn_error *err, const char *text)
{
    if (sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    return gn_fail(err, gn_sql_errno(db), "writing the profile failed: %s", sqlite3_errmsg(db));
}

int gn_profile_create(sqlite3 **db, const char *path, struct gn_error *err)
{
    if (sqlite3_open_v2(path, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK) {
        int code = gn_fail(err, -ENOENT, "cannot create the profile %s: %s", path, sqlite3_errmsg(*db));
        sqlite3_close(*db);
        return code;
    }
    char pragmas[128];
    snprintf(pragmas, sizeof pragmas, "PRAGMA application_id=%d; PRAGMA user_version=%d;",
             GN_PROFILE_APPLICATION_ID, GN_PROFILE_VERSION);
    int code = execute(*db, err, pragmas);
    if (code == 0)
        code = execute(*db, err, gn_profile_schema);
    if (code != 0)
        sqlite3_close(*db);
    return code;
}

static int check_identity(sqlite3 *db, const char *path, struct gn_error *err)
{
    /* the first read is what finds out whether this is a database at all */
    sqlite3_int64 identity = gn_sql_value(db, -1, "PRAGMA application_id", "");
    if (identity != GN_PROFILE_APPLICATION_ID)
        return gn_fail(
            err, -EINVAL,
            "%s is not a gnomon profile (%s); expected the profile.db that `gnomon run` leaves in its folder",
            path, identity < 0 ? sqlite3_errmsg(db) : "another program's database");
    sqlite3_int64 version = gn_sql_value(db, -1, "PRAGMA user_version", "");
    if (version > GN_PROFILE_VERSION)
        return gn_fail(
            err, -EINVAL,
            "%s was written by a newer gnomon (format %lld, this one reads up to %d); read it with that one",
            path, (long long)version, GN_PROFILE_VERSION);
    if (version < 1 || gn_sql_value(db, -1, "SELECT count(*) FROM process", "") < 0)
        return gn_fail(err, -EINVAL, "%s is damaged: %s", path, sqlite3_errmsg(db));
    return 0;
}

int gn_profile_open(sqlite3 **db, const char *path, struct gn_error *err)
{
    if (access(path, R_OK) != 0)
        return gn_fail(err, -errno, "cannot read the profile %s: %s", path, strerror(errno));
    int code = 0;
    if (sqlite3_open_v2(path, db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        code = gn_fail(err, -EINVAL, "cannot open the profile %s: %s", path, sqlite3_errmsg(*db));
    if (code == 0)
        code = check_identity(*db, path, err);
    if (code != 0) {
        gn_profile_close(*db);
        *db = NULL;
    }
    return code;
}

void gn_profile_close(sqlite3 *db)
{
    gn_sql_forget(db);
    sqlite3_close_v2(db);
}

int gn_profile_set(sqlite3 *db, const char *key, const char *value, struct gn_error *err)
{
    return gn_sql(db, err, "INSERT OR REPLACE INTO run VALUES(?, ?)", "ss", key, value);
}

size_t gn_profile_get(sqlite3 *db, const char *key, char *value, size_t size)
{
    value[0] = '\0';
    sqlite3_stmt *query = gn_sql_query(db, NULL, "SELECT value FROM run WHERE key = ?", "s", key);
    if (query && sqlite3_step(query) == SQLITE_ROW && sqlite3_column_text(query, 0))
        snprintf(value, size, "%s", (const char *)sqlite3_column_text(query, 0));
    sqlite3_finalize(query);
    return strlen(value);
}

static int write_all(int file, const unsigned char *bytes, sqlite3_int64 count)
{
    while (count > 0) {
        size_t piece = count < 1 << 30 ? (size_t)count : 1 << 30;
        ssize_t written = write(file, bytes, piece);
        if (written < 0 && errno != EINTR)
            return -errno;
        if (written > 0) {
            bytes += written;
            count -= written;
        }
    }
    return 0;
}

/* A full disk may tell only when the data have to be there (NFS, quotas), some only when the file is closed.
 */
static int write_file(const char *path, const unsigned char *bytes, sqlite3_int64 count)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return -errno;
    int code = write_all(file, bytes, count);
    if (code == 0 && fdatasync(file) != 0 &&
        errno != EINVAL) /* EINVAL: this kind of file cannot be synchronized */
        code = -errno;
    if (close(file) != 0 && code == 0)
        code = -errno;
    return code;
}

/* In one piece, where SQLite's own copying writes a journal, too, and waits for the disk five times. */
int gn_profile_save(sqlite3 *db, const char *path, struct gn_error *err)
{
    char temporary[4500];
    sqlite3_int64 count = 0;
    unsigned char *bytes = sqlite3_serialize(db, "main", &count, 0);
    if (!bytes)
        return gn_fail(err, -ENOMEM, "no memory for a copy of the profile %s", path);
    snprintf(temporary, sizeof temporary, "%s.%d.tmp", path, (int)getpid());
    int code = write_file(temporary, bytes, count);
    sqlite3_free(bytes);
    if (code == 0 && rename(temporary, path) != 0)
        code = -errno;
    if (code != 0) {
        unlink(temporary);
        return gn_fail(err, code, "cannot write %s: %s", path, strerror(-code));
    }
    return 0;
}

/* ---- merging parts ---- */

/* Each table of the part is copied with its ids replaced by ours. Things that several hosts share (modules,
 * sites, call paths, activities) are found again by their natural keys, parents before children. */
static const char *const merge_steps[] = {
    "INSERT OR IGNORE INTO run SELECT * FROM part.run",
    "INSERT OR IGNORE INTO host(name) SELECT name FROM part.host",
    "INSERT OR IGNORE INTO module(path, build_id, has_lines) SELECT path, build_id, has_lines FROM "
    "part.module",
    "CREATE TEMP TABLE m AS SELECT p.id AS part, o.id AS own FROM part.module p JOIN main.module o"
    " ON o.path = p.path AND o.build_id = p.build_id",
    "INSERT OR IGNORE INTO site(module, offset, resolved, function, file, line, symbol_offset, label)"
    " SELECT m.own, s.offset, s.resolved, s.function, s.file, s.line, s.symbol_offset, s.label"
    " FROM part.site s JOIN m ON m.part = s.module",
    "CREATE TEMP TABLE s AS SELECT p.id AS part, o.id AS own FROM part.site p JOIN m ON m.part = p.module"
    " JOIN main.site o ON o.module = m.own AND o.offset = p.offset",
    "INSERT OR IGNORE INTO inlined SELECT s.own, i.depth, i.function, i.file, i.line FROM part.inlined i"
    " JOIN s ON s.part = i.site",
    "CREATE TEMP TABLE c(part INTEGER PRIMARY KEY, own INTEGER)",
    "INSERT INTO c VALUES(0, 0)",
};

static int merge_callpaths(sqlite3 *db, struct gn_error *err)
{
    sqlite3_int64 depths = gn_sql_value(db, 0, "SELECT max(depth) FROM part.callpath", "");
    int code = 0;
    for (sqlite3_int64 depth = 1; depth <= depths && code == 0; depth++) {
        code = gn_sql(db, err,
                      "INSERT OR IGNORE INTO callpath(parent, site, depth, folded)"
                      " SELECT c.own, s.own, p.depth, p.folded FROM part.callpath p"
                      " JOIN c ON c.part = p.parent JOIN s ON s.part = p.site WHERE p.depth = ?",
                      "i", (int64_t)depth);
        if (code == 0)
            code = gn_sql(
                db, err,
                "INSERT INTO c SELECT p.id, o.id FROM part.callpath p JOIN c ON c.part = p.parent"
                " JOIN s ON s.part = p.site JOIN main.callpath o ON o.parent = c.own AND o.site = s.own"
                " WHERE p.depth = ?",
                "i", (int64_t)depth);
    }
    return code;
}

static const char *const merge_rest[] = {
    "INSERT OR IGNORE INTO activity(kind, name, call_group, callpath)"
    " SELECT a.kind, a.name, a.call_group, c.own FROM part.activity a JOIN c ON c.part = a.callpath",
    "CREATE TEMP TABLE a AS SELECT p.id AS part, o.id AS own FROM part.activity p JOIN c ON c.part = "
    "p.callpath"
    " JOIN main.activity o ON o.kind = p.kind AND o.name = p.name AND o.callpath = c.own",
    "CREATE TEMP TABLE base AS SELECT coalesce((SELECT max(id) FROM main.process), 0) AS process,"
    " coalesce((SELECT max(id) FROM main.location), 0) AS location",
    "INSERT INTO process SELECT p.id + base.process, p.rank, h.id, p.pid, p.exe, p.flavour, p.library, "
    "p.world,"
    " p.thread_level, p.ended, p.exit_status, p.complete, p.message, p.tick_ns, p.elapsed_ns, p.init_ns,"
    " p.finalized_ns, NULL, NULL, NULL FROM part.process p JOIN base JOIN part.host ph ON ph.id = p.host"
    " JOIN main.host h ON h.name = ph.name",
    "INSERT INTO location SELECT l.id + base.location, l.process + base.process, l.thread, l.thread_id, "
    "l.elapsed_ns,"
    " l.events, l.probe_ns_per_event, l.probe_ns, a.own, l.last_inside, l.last_ns, 0 FROM part.location l "
    "JOIN "
    "base"
    " LEFT JOIN a ON a.part = l.last_activity",
    "INSERT INTO node SELECT n.location + base.location, a.own, count, total_ns, min_ns, max_ns, spread_ns, "
    "open_ns,"
    " errors, messages, bytes, time_log2, size_log2 FROM part.node n JOIN base JOIN a ON a.part = n.activity",
    "INSERT INTO edge SELECT e.location + base.location, f.own, t.own, count, total_ns, own_ns, min_ns, "
    "max_ns,"
    " spread_ns, bytes FROM part.edge e JOIN base JOIN a f ON f.part = e.from_activity"
    " JOIN a t ON t.part = e.to_activity",
    "INSERT INTO peer SELECT p.location + base.location, a.own, p.peer, sent_messages, sent_bytes, "
    "received_messages,"
    " received_bytes FROM part.peer p JOIN base JOIN a ON a.part = p.activity",
    "INSERT OR IGNORE INTO computation SELECT f.own, t.own, function, file, line FROM part.computation p"
    " JOIN a f ON f.part = p.from_activity JOIN a t ON t.part = p.to_activity",
    "INSERT INTO lost SELECT l.process + base.process, what, count FROM part.lost l JOIN base",
    "DROP TABLE temp.m",
    "DROP TABLE temp.s",
    "DROP TABLE temp.c",
};

/* Formats 1 and 2 have none. */
static const char *const merge_cost[] = {
    "UPDATE process SET (cpu_ns, startup_cpu_ns) = (SELECT p.cpu_ns, p.startup_cpu_ns FROM part.process p"
    " JOIN base WHERE p.id + base.process = main.process.id) WHERE id > (SELECT process FROM base)",
    "UPDATE location SET unwound = (SELECT l.unwound FROM part.location l"
    " JOIN base WHERE l.id + base.location = main.location.id) WHERE id > (SELECT location FROM base)",
};

/* Formats 1 to 3 have none. */
static const char *const merge_endings[] = {
    "INSERT INTO ending SELECT e.process + base.process, after_ticks, before_ticks FROM part.ending e JOIN "
    "base",
    "INSERT INTO last_call SELECT l.process + base.process, thread, position, a.own, inside, enter_ns, "
    "length_ns,"
    " calls, sent_messages, sent_to, sent_tag, sent_bytes, received_messages, received_from, received_tag,"
    " received_bytes, completed, communicator, root FROM part.last_call l JOIN base"
    " JOIN temp.a ON a.part = l.activity",
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
    "UPDATE process SET clock_domain = (SELECT p.clock_domain FROM part.process p JOIN base"
    " WHERE p.id + base.process = main.process.id) WHERE id > (SELECT process FROM base)",
};

static int run_steps(sqlite3 *db, struct gn_error *err, const char *const *steps, size_t count)
{
    int code = 0;
    for (size_t i = 0; i < count && code == 0; i++)
        code = execute(db, err, steps[i]);
    return code;
}

int gn_profile_merge(sqlite3 *db, const char *part_path, struct gn_error *err)
{
    sqlite3 *part;
    int code = gn_profile_open(&part, part_path, err);
    if (code != 0)
        return code;
    gn_profile_close(part);
    code = gn_sql(db, err, "ATTACH ? AS part", "s", part_path);
    if (code != 0)
        return code;
    execute(db, NULL, "BEGIN");
    code = run_steps(db, err, merge_steps, sizeof merge_steps / sizeof merge_steps[0]);
    if (code == 0)
        code = merge_callpaths(db, err);
    if (code == 0)
        code = run_steps(db, err, merge_rest, sizeof merge_rest / sizeof merge_rest[0]);
    if (code == 0 &&
        gn_sql_value(db, 0, "SELECT count(*) FROM pragma_table_info('process', 'part') WHERE name = 'cpu_ns'",
                     ""))
        code = run_steps(db, err, merge_cost, sizeof merge_cost / sizeof merge_cost[0]);
    if (code == 0 &&
        gn_sql_value(db, 0, "SELECT count(*) FROM part.sqlite_master WHERE name = 'last_call'", ""))
        code = run_steps(db, err, merge_endings, sizeof merge_endings / sizeof merge_endings[0]);
    if (code == 0 &&
        gn_sql_value(db, 0, "SELECT count(*) FROM part.sqlite_master WHERE name GLOB 'clock_*'", ""))
        code = run_steps(db, err, merge_clocks, sizeof merge_clocks / sizeof merge_clocks[0]);
    if (code == 0)
        code = execute(db, err, "DROP TABLE temp.a; DROP TABLE temp.base");
    execute(db, NULL, code == 0 ? "COMMIT" : "ROLLBACK");
    gn_sql_forget(db); /* a kept statement would keep the part attached */
    execute(db, NULL, "DETACH part");
    return code;
}
