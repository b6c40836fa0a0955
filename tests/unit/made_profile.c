#include "made_profile.h"

#include "graph/sampled.h"

#include "profile/profile.h"
#include "profile/statement.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static int64_t ns(double s)
{
    return llround(s * 1e9);
}

static int64_t last_id(sqlite3 *db)
{
    return sqlite3_last_insert_rowid(db);
}

#define ADD(db, ...)                                                                                         \
    do {                                                                                                     \
        struct gn_error err = {""};                                                                          \
        if (gn_sql(db, &err, __VA_ARGS__) != 0)                                                              \
            fail_msg("%s", err.text);                                                                        \
    } while (0)

sqlite3 *made_profile(const char *command, const char *program)
{
    sqlite3 *db = NULL;
    assert_int_equal(gn_profile_create(&db, ":memory:", NULL), 0);
    gn_profile_set(db, "command", command, NULL);
    gn_profile_set(db, "program", program, NULL);
    gn_profile_set(db, "gnomon", "0.0", NULL);
    gn_profile_set(db, "started", "2026-01-02T03:04:05Z", NULL);
    ADD(db, "BEGIN", "");
    return db;
}

int64_t made_world(sqlite3 *db, const char *key, int size, int64_t spawner)
{
    ADD(db, "INSERT INTO world(key, size, spawner) VALUES(?, ?, nullif(?, 0))", "sii", key, (int64_t)size,
        spawner);
    return last_id(db);
}

int64_t made_process(sqlite3 *db, const struct made_rank *r)
{
    ADD(db, "INSERT OR IGNORE INTO host(name) VALUES(?)", "s", r->host);
    ADD(db,
        "INSERT INTO process(rank, host, pid, exe, flavour, library, world, ended, exit_status, complete, "
        "tick_ns,"
        " elapsed_ns, init_ns, finalized_ns, cpu_ns, startup_cpu_ns, world_id, spawned)"
        " VALUES(?1, (SELECT id FROM host WHERE name = ?2), 1000 + ?1, '/home/a/app', 'mpich', 'MPICH "
        "4.0.2', ?3, ?4, ?5,"
        " ?6, 1.0, ?7, 1000000, ?8, ?9, 0, nullif(?10, 0), 0)",
        "isisiiiiii", (int64_t)r->rank, r->host, (int64_t)r->of, r->ended ? r->ended : "exit",
        (int64_t)r->status, (int64_t)!r->ended, ns(r->length_s),
        r->ended ? (int64_t)0 : ns(r->length_s) - 1000, ns(r->cpu_s), r->world);
    const int64_t process = last_id(db);
    if (r->peak_mib > 0)
        ADD(db,
            "INSERT INTO resource VALUES(?, ?, 1000000, 2000000, 3000000, 0, 4096, ?, ?, NULL, NULL, NULL, "
            "NULL, NULL)",
            "iiis", process, (int64_t)(r->peak_mib * 1048576), ns(r->preempted_s), r->cores);
    return process;
}

int64_t made_location(sqlite3 *db, int64_t process, double length_s)
{
    ADD(db,
        "INSERT INTO location(process, thread, thread_id, elapsed_ns, events, probe_ns_per_event, probe_ns,"
        " last_inside, last_ns) VALUES(?, 0, 1, ?, 1000, 40.0, 40000, 0, 0)",
        "ii", process, ns(length_s));
    return last_id(db);
}

int64_t made_site(sqlite3 *db, const char *function, const char *file, int line)
{
    ADD(db, "INSERT OR IGNORE INTO module(path, build_id, has_lines) VALUES(?, 'abcd', ?)", "si",
        line ? "/home/a/app" : "/home/a/stripped", (int64_t)(line != 0));
    ADD(db,
        "INSERT INTO site(module, offset, resolved, function, file, line, label)"
        " VALUES((SELECT id FROM module WHERE path = ?1), (SELECT count(*) FROM site), 1, ?2, ?3, nullif(?4, "
        "0), ?5)",
        "sssis", line ? "/home/a/app" : "/home/a/stripped", line ? function : NULL, file, (int64_t)line,
        line ? NULL : function);
    const int64_t site = last_id(db);
    ADD(db, "INSERT INTO callpath(parent, site, depth, folded) VALUES(0, ?, 1, 0)", "i", site);
    return site;
}

int64_t made_activity(sqlite3 *db, const char *kind, const char *name, const char *group, int64_t site)
{
    ADD(db,
        "INSERT INTO activity(kind, name, call_group, callpath)"
        " VALUES(?, ?, ?, coalesce((SELECT id FROM callpath WHERE site = ?), 0))",
        "sssi", kind, name, group, site);
    return last_id(db);
}

void made_node(sqlite3 *db, int64_t location, int64_t activity, double s, int64_t count, int64_t bytes)
{
    ADD(db, "INSERT INTO node VALUES(?, ?, ?, ?, 0, 0, 0.0, 0, 0, 0, ?, NULL, NULL, NULL)", "iiiii", location,
        activity, count, ns(s), bytes);
}

void made_edge(sqlite3 *db, int64_t location, int64_t from, int64_t to, double s, int64_t count)
{
    ADD(db, "INSERT INTO edge VALUES(?1, ?2, ?3, ?4, ?5, max(?5 - 40 * ?4, 0), 0, 0, 0.0, 0, NULL)", "iiiii",
        location, from, to, count, ns(s));
}

void made_messages(sqlite3 *db, int64_t location, int64_t activity, int peer, int64_t messages, int64_t bytes)
{
    uint64_t sizes[48] = {0};
    int bucket = 0;
    while (messages > 0 && bucket < 47 && (INT64_C(1) << bucket) <= bytes / messages)
        bucket++;
    sizes[bucket] = (uint64_t)messages;
    ADD(db, "INSERT INTO peer VALUES(?, ?, ?, ?, ?, 0, 0, NULL)", "iiiii", location, activity, (int64_t)peer,
        messages, bytes);
    ADD(db, "UPDATE node SET messages = ?, size_log2 = ? WHERE location = ? AND activity = ?", "ibii",
        messages, (const void *)sizes, (int)sizeof sizes, location, activity);
}

static void add_sample(sqlite3 *db, const int64_t edge[3], int64_t site, enum gn_sampled_how how,
                       int64_t count, int64_t each_ns)
{
    ADD(db,
        "INSERT INTO sample(location, from_activity, to_activity, site, other_threads, how, count, "
        "time_ns)"
        " VALUES(?1, ?2, ?3, NULLIF(?4, 0), 0, ?5, ?6, ?6 * ?7)",
        "iiiiiii", edge[0], edge[1], edge[2], site, (int64_t)how, count, each_ns);
}

void made_asleep(sqlite3 *db, int64_t location, int64_t from, int64_t to, int64_t site, int64_t count)
{
    add_sample(db, (const int64_t[]){location, from, to}, site, GN_SAMPLED_ASLEEP, count, 50000000);
}

void made_lines(sqlite3 *db, int64_t location, int64_t from, int64_t to, int64_t site, int64_t count)
{
    add_sample(db, (const int64_t[]){location, from, to}, site, GN_SAMPLED_INTERPRETED, count, 20000000);
}

void made_native(sqlite3 *db, int64_t location, int64_t from, int64_t to, int64_t count)
{
    add_sample(db, (const int64_t[]){location, from, to}, 0, GN_SAMPLED_NATIVE, count, 20000000);
}

void made_samples(sqlite3 *db, int64_t location, int64_t from, int64_t to, int64_t site, int64_t count)
{
    add_sample(db, (const int64_t[]){location, from, to}, site, GN_SAMPLED_RUNNING, count, 10000000);
    ADD(db,
        "INSERT INTO sampling(process, state, time_ns, samples, bursts, by_place, unattributed, lost)"
        " SELECT process, 'sampled', 0, 0, 0, 0, 0, 0 FROM location WHERE id = ?1"
        " AND process NOT IN (SELECT process FROM sampling)",
        "i", location);
    ADD(db,
        "UPDATE sampling SET samples = samples + ?2, bursts = bursts + ?2, time_ns = time_ns + ?2 * 10000000"
        " WHERE process = (SELECT process FROM location WHERE id = ?1)",
        "ii", location, count);
}
