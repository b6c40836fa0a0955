/* profile: creating, opening, merging and saving; the sums of a summary. */
#include "calls.h"
#include "capture.h"
#include "profile/statement.h"
#include "profile/summary.h"
#include "profile_of.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/gnomon-profile.XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[4][200];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

/* ---- a process with a known graph: start → Send → Recv → end, `times` times round ---- */

static void set_stats(struct gn_stats *s, uint64_t count, uint64_t each)
{
    for (uint64_t i = 0; i < count; i++)
        gn_stats_add(s, each);
}

/* base: where the module lies; the ranks differ in it, and in the order of their frames. */
static struct gn_snapshot *make_process(int rank, uint64_t times, uint64_t base, bool swapped)
{
    struct gn_tag *t = test_segment(1);
    struct gn_snapshot *s = NULL;
    assert_non_null(t);
    t->rank = rank;
    t->world = 3;
    GN_SET(t->state, GN_STATE_EXITED);
    GN_SET(t->cpu_ns, 1000000);
    GN_SET(t->startup_cpu_ns, 2000);
    GN_SET(t->finalized_ticks, 1);
    GN_SET(t->end_ticks, 1 + 10 * times + 20 * times + 5 * (2 * times + 1));
    GN_SET(t->location_count, 1);
    GN_SET(t->module_count, 2);
    GN_SET(t->name_count, 1);
    GN_SET(t->frame_count, 4);
    t->modules[1] = (struct gn_module){
        .base = base, .build_id_bytes = 4, .build_id = {1, 2, 3, 4}, .path = "/nowhere/app"};
    uint32_t send = swapped ? 3 : 2, recv = swapped ? 2 : 3;
    t->frames[1] = (struct gn_tag_frame){0, 1, 0, 0x100};
    t->frames[send] = (struct gn_tag_frame){1, 1, 0, 0x200};
    t->frames[recv] = (struct gn_tag_frame){1, 1, 0, 0x300};
    struct gn_location *l = &t->locations[0];
    GN_SET(l->in_use, 1);
    GN_SET(l->first_ticks, 1);
    GN_SET(l->in_use, 1);
    GN_SET(l->now_node, 1);
    GN_SET(l->now_ticks, GN_GET(t->end_ticks));
    GN_SET(l->events, 2 * times);
    GN_SET(l->sampled_events, 2);
    GN_SET(l->sampled_ticks, 2);
    GN_SET(l->exact_events, 1);
    GN_SET(l->exact_ticks, 51);
    GN_SET(l->unwound, 1);
    GN_SET(l->node_count, 5);
    for (uint32_t i = 0; i < 3; i++)
        GN_SET(l->nodes[i].activity, GN_ACTIVITY_START + i);
    GN_SET(l->nodes[3].activity, GN_CALL_SEND);
    GN_SET(l->nodes[3].path, send);
    set_stats(&l->nodes[3].time, times, 10);
    GN_SET(l->nodes[4].activity, GN_CALL_RECV);
    GN_SET(l->nodes[4].path, recv);
    set_stats(&l->nodes[4].time, times, 20);
    static const uint32_t edges[4][2] = {{0, 3}, {3, 4}, {4, 3}, {4, 1}};
    GN_SET(l->edge_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        GN_SET(l->edges[i].from, edges[i][0]);
        GN_SET(l->edges[i].to, edges[i][1]);
        set_stats(&l->edges[i].time, i == 0 || i == 3 ? 1 : i == 1 ? times : times - 1, 5);
    }
    GN_SET(l->peer_count, 1);
    GN_SET(l->peers[0].node, 3);
    GN_SET(l->peers[0].peer, (uint32_t)(rank + 1) % 3);
    GN_SET(l->peers[0].sent_messages, times);
    GN_SET(l->peers[0].sent_bytes, 8 * times);
    assert_int_equal(gn_snapshot_take(t, gn_tag_bytes(1), 10, &s, NULL), 0);
    return s;
}

static void add(sqlite3 *db, const char *host, int rank, uint64_t times, uint64_t base, bool swapped)
{
    struct gn_process_facts facts = {.host = host, .tick_ns = 100, .ended = "exit", .launcher_rank = rank};
    struct gn_error err = {""};
    struct gn_snapshot *s = make_process(rank, times, base, swapped);
    assert_int_equal(profile_add(db, &facts, s, &err), 0);
    gn_snapshot_free(s);
}

static sqlite3 *create(const char *path)
{
    sqlite3 *db = NULL;
    struct gn_error err = {""};
    assert_int_equal(gn_profile_create(&db, path, &err), 0);
    return db;
}

/* ---- files ---- */

static void created_is_opened(void **state)
{
    (void)state;
    gn_profile_close(create(in_folder("fresh.db")));
    sqlite3 *db = NULL;
    assert_int_equal(gn_profile_open(&db, in_folder("fresh.db"), NULL), 0);
    gn_profile_close(db);
}

static void facts_of_the_run_are_kept(void **state)
{
    (void)state;
    char value[64];
    sqlite3 *db = create(":memory:");
    assert_int_equal(gn_profile_set(db, "key", "first", NULL), 0);
    assert_int_equal(gn_profile_set(db, "key", "value", NULL), 0);
    assert_int_equal(gn_profile_get(db, "key", value, sizeof value), 5);
    assert_string_equal(value, "value");
    assert_int_equal(gn_profile_get(db, "none", value, sizeof value), 0);
    gn_profile_close(db);
}

static void refused(const char *path, int code, const char *word)
{
    sqlite3 *db = (sqlite3 *)1;
    struct gn_error err = {""};
    assert_int_equal(gn_profile_open(&db, path, &err), code);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, word));
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void missing_is_refused(void **state)
{
    (void)state;
    refused(in_folder("missing.db"), -ENOENT, "No such file");
}

static void empty_is_refused(void **state)
{
    (void)state;
    write_file(in_folder("empty.db"), "");
    refused(in_folder("empty.db"), -EINVAL, "not a gnomon profile");
}

static void text_is_refused(void **state)
{
    (void)state;
    write_file(in_folder("text.db"),
               "a text that is certainly longer than the header of a database would be, as it has "
               "more than a hundred letters\n");
    refused(in_folder("text.db"), -EINVAL, "not a gnomon profile");
}

static void foreign_database_is_refused(void **state)
{
    (void)state;
    sqlite3 *db;
    assert_int_equal(sqlite3_open(in_folder("foreign.db"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE process(a)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    refused(in_folder("foreign.db"), -EINVAL, "another program's database");
}

static void newer_is_refused(void **state)
{
    (void)state;
    sqlite3 *db = create(in_folder("newer.db"));
    char pragma[64];
    snprintf(pragma, sizeof pragma, "PRAGMA user_version = %d", GN_PROFILE_VERSION + 1);
    sqlite3_exec(db, pragma, NULL, NULL, NULL);
    gn_profile_close(db);
    refused(in_folder("newer.db"), -EINVAL, "newer gnomon");
}

static void cut_is_refused(void **state)
{
    (void)state;
    gn_profile_close(create(in_folder("cut.db")));
    assert_int_equal(truncate(in_folder("cut.db"), 4096), 0);
    refused(in_folder("cut.db"), -EINVAL, "malformed"); /* in SQLite's words */
}

static void saved_is_complete(void **state)
{
    (void)state;
    sqlite3 *db = create(":memory:"), *again = NULL;
    add(db, "h", 0, 5, 0, false);
    assert_int_equal(gn_profile_save(db, in_folder("saved.db"), NULL), 0);
    gn_profile_close(db);
    assert_int_equal(gn_profile_open(&again, in_folder("saved.db"), NULL), 0);
    assert_int_equal(gn_sql_value(again, -1, "SELECT count(*) FROM process", ""), 1);
    gn_profile_close(again);
}

static void saving_to_nowhere_fails(void **state)
{
    (void)state;
    struct gn_error err = {""};
    sqlite3 *db = create(":memory:");
    assert_true(gn_profile_save(db, in_folder("no/such/place.db"), &err) < 0);
    assert_non_null(strstr(err.text, "no/such/place.db"));
    gn_profile_close(db);
}

/* A name that is taken by a folder: the last step fails, and nothing half done stays. */
static void failed_saving_leaves_nothing(void **state)
{
    (void)state;
    struct gn_error err = {""};
    char name[256];
    sqlite3 *db = create(":memory:");
    mkdir(in_folder("taken"), 0777);
    mkdir(in_folder("taken/x"), 0777);
    assert_true(gn_profile_save(db, in_folder("taken"), &err) < 0);
    snprintf(name, sizeof name, "%s.%d.tmp", in_folder("taken"), (int)getpid());
    assert_int_not_equal(access(name, F_OK), 0);
    gn_profile_close(db);
}

/* ---- contents ---- */

static void sites_are_shared_by_ranks(void **state)
{
    (void)state;
    sqlite3 *db = create(":memory:");
    add(db, "h", 0, 5, 0x1000, false);
    add(db, "h", 1, 7, 0x7f0000000000, true);
    assert_int_equal(gn_sql_value(db, -1, "SELECT count(*) FROM site", ""), 3);
    assert_int_equal(gn_sql_value(db, -1, "SELECT count(*) FROM callpath", ""), 3);
    assert_int_equal(gn_sql_value(db, -1, "SELECT count(*) FROM activity WHERE kind = 'mpi'", ""), 2);
    assert_int_equal(gn_sql_value(db, -1, "SELECT sum(count) FROM node", ""), 2 * (5 + 7));
    gn_profile_close(db);
}

static void statistics_are_in_nanoseconds(void **state)
{
    (void)state;
    sqlite3 *db = create(":memory:");
    add(db, "h", 0, 5, 0, false);
    static const char query[] =
        "SELECT %s FROM node n JOIN activity a ON a.id = n.activity WHERE a.name = 'MPI_Recv'";
    static const struct {
        const char *column;
        int value;
    } facts[] = {{"count", 5}, {"total_ns", 10000}, {"min_ns", 2000}, {"max_ns", 2000}, {"spread_ns", 0}};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        char text[200];
        snprintf(text, sizeof text, query, facts[i].column);
        assert_int_equal(gn_sql_value(db, -1, text, ""), facts[i].value);
    }
    gn_profile_close(db);
}

/* Ranks 0 and 1 on one host, rank 2 on another: two parts. */
static void make_parts(void)
{
    sqlite3 *db = create(":memory:");
    add(db, "first", 0, 5, 0x1000, false);
    add(db, "first", 1, 7, 0x2000, false);
    gn_profile_set(db, "command", "app", NULL);
    assert_int_equal(gn_profile_save(db, in_folder("first.db"), NULL), 0);
    gn_profile_close(db);
    db = create(":memory:");
    add(db, "second", 2, 11, 0x3000, true);
    assert_int_equal(gn_profile_save(db, in_folder("second.db"), NULL), 0);
    gn_profile_close(db);
}

static sqlite3 *merged(const char *one, const char *two)
{
    struct gn_error err = {""};
    sqlite3 *db = create(":memory:");
    assert_int_equal(gn_profile_merge(db, one, &err), 0);
    assert_int_equal(gn_profile_merge(db, two, &err), 0);
    return db;
}

static void merged_parts_add_up(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        int value;
    } facts[] = {
        {"SELECT count(*) FROM host", 2},
        {"SELECT count(*) FROM process", 3},
        {"SELECT count(*) FROM location", 3},
        {"SELECT count(*) FROM module WHERE path = '/nowhere/app'", 1},
        {"SELECT count(*) FROM site", 3},
        {"SELECT count(*) FROM callpath", 3},
        {"SELECT count(*) FROM activity WHERE kind = 'mpi'", 2},
        {"SELECT count(*) FROM node", 6},
        {"SELECT sum(count) FROM node", 2 * (5 + 7 + 11)},
        {"SELECT sum(total_ns) FROM node", 3000 * (5 + 7 + 11)},
        {"SELECT sum(sent_bytes) FROM peer", 8 * (5 + 7 + 11)},
        {"SELECT sum(count) FROM edge", 2 * (5 + 7 + 11) + 3},
        {"SELECT n.count FROM node n JOIN activity a ON a.id = n.activity JOIN location l ON l.id = "
         "n.location JOIN "
         "process p ON p.id = l.process WHERE p.rank = 2 AND a.name = 'MPI_Send'",
         11},
        {"SELECT s.offset FROM activity a JOIN callpath c ON c.id = a.callpath JOIN site s ON s.id = c.site "
         "WHERE "
         "a.name = 'MPI_Send'",
         0x200},
        {"SELECT count(*) FROM process p JOIN host h ON h.id = p.host WHERE h.name = 'second' AND p.rank = 2",
         1},
        {"SELECT count(*) FROM sqlite_temp_master", 0},
    };
    make_parts();
    for (int order = 0; order < 2; order++) {
        sqlite3 *db =
            merged(in_folder(order ? "second.db" : "first.db"), in_folder(order ? "first.db" : "second.db"));
        for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
            assert_int_equal(gn_sql_value(db, -1, facts[i].query, ""), facts[i].value);
        gn_profile_close(db);
    }
}

static void bad_part_changes_nothing(void **state)
{
    (void)state;
    struct gn_error err = {""};
    make_parts();
    sqlite3 *db = merged(in_folder("first.db"), in_folder("second.db"));
    write_file(in_folder("bad.db"), "no database");
    assert_true(gn_profile_merge(db, in_folder("bad.db"), &err) < 0);
    assert_int_equal(gn_sql_value(db, -1, "SELECT count(*) FROM process", ""), 3);
    assert_int_equal(gn_profile_merge(db, in_folder("missing.db"), &err), -ENOENT);
    gn_profile_close(db);
}

/* Nodes are there twice, which no profile of ours can hold. */
static void a_damaged_part_costs_itself_alone(void **state)
{
    (void)state;
    struct gn_error err = {""};
    struct gn_summary s;
    struct gn_graph *graph = gn_graph_new();
    sqlite3 *db = NULL;
    make_parts();
    assert_int_equal(sqlite3_open(in_folder("second.db"), &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db,
                     "CREATE TABLE n AS SELECT * FROM node; DROP TABLE node; ALTER TABLE n RENAME"
                     " TO node; INSERT INTO node SELECT * FROM node",
                     NULL, NULL, NULL),
        SQLITE_OK);
    gn_profile_close(db);
    db = create(":memory:");
    assert_int_equal(gn_profile_join_or_note(db, graph, in_folder("first.db"), &err), 0);
    assert_true(gn_profile_join_or_note(db, graph, in_folder("second.db"), &err) < 0);
    assert_non_null(strstr(err.text, "second.db is damaged"));
    assert_int_equal(gn_profile_write(db, graph, &err), 0);
    assert_int_equal(gn_sql_value(db, -1, "SELECT count(*) FROM process", ""), 2);
    assert_int_equal(gn_summarise(db, GN_BY_ACTIVITY, false, &s, &err), 0);
    assert_false(s.complete);
    assert_non_null(strstr(s.refused, "second.db is damaged"));
    gn_summary_clear(&s);
    gn_graph_free(graph);
    gn_profile_close(db);
}

/* Two folders, in each a profile.db. */
static void refused_parts_of_one_name_are_both_named(void **state)
{
    (void)state;
    struct gn_error err = {""};
    struct gn_summary s;
    struct gn_graph *graph = gn_graph_new();
    make_parts();
    sqlite3 *db = create(":memory:");
    assert_int_equal(gn_profile_join_or_note(db, graph, in_folder("first.db"), &err), 0);
    assert_true(gn_profile_join_or_note(db, graph, "/nowhere/one/profile.db", &err) < 0);
    assert_true(gn_profile_join_or_note(db, graph, "/nowhere/two/profile.db", &err) < 0);
    assert_true(gn_profile_join_or_note(db, graph, "/nowhere/three/profile.db", &err) < 0);
    assert_int_equal(gn_profile_write(db, graph, &err), 0);
    assert_int_equal(gn_summarise(db, GN_BY_ACTIVITY, false, &s, &err), 0);
    assert_non_null(strstr(s.refused, "one/profile.db"));
    assert_non_null(strstr(s.refused, "two/profile.db"));
    assert_non_null(strstr(s.refused, "three/profile.db"));
    gn_summary_clear(&s);
    gn_graph_free(graph);
    gn_profile_close(db);
}

static int replace(unsigned kind, void *path, void *statement, void *text)
{
    (void)kind, (void)statement;
    if (strncmp(text, "ATTACH", 6) == 0)
        rename(in_folder("second.db"), path);
    return 0;
}

/* A host saves its part anew while it is joined. */
static void a_part_that_changes_is_of_one_moment(void **state)
{
    (void)state;
    struct gn_error err = {""};
    char text[64];
    make_parts();
    sqlite3 *db = create(":memory:");
    sqlite3_trace_v2(db, SQLITE_TRACE_STMT, replace, (void *)in_folder("first.db"));
    assert_int_equal(gn_profile_merge(db, in_folder("first.db"), &err), 0);
    sqlite3_trace_v2(db, 0, NULL, NULL);
    assert_int_not_equal(access(in_folder("second.db"), F_OK), 0);
    assert_int_equal(gn_sql_value(db, -1, "SELECT count(*) FROM process", ""), 2);
    assert_int_equal(gn_sql_value(db, -1, "SELECT count(*) FROM host WHERE name = 'second'", ""), 0);
    assert_true(gn_profile_get(db, "command", text, sizeof text) > 0);
    gn_profile_close(db);
}

static void summary_adds_up(void **state)
{
    (void)state;
    struct gn_error err = {""};
    make_parts();
    sqlite3 *db = merged(in_folder("first.db"), in_folder("second.db"));
    static const enum gn_by all[] = {GN_BY_ACTIVITY, GN_BY_CALLPATH, GN_BY_FUNCTION,
                                     GN_BY_LINE,     GN_BY_RANK,     GN_BY_HOST};
    int64_t elapsed = gn_sql_value(db, -1, "SELECT sum(elapsed_ns) FROM location", "");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct gn_summary s;
        double shares = 0;
        int64_t total = 0;
        assert_int_equal(gn_summarise(db, all[i], true, &s, &err), 0);
        for (size_t r = 0; r < s.row_count; r++) {
            shares += s.rows[r].share;
            total += s.rows[r].total_ns;
        }
        assert_int_equal(total, elapsed);
        assert_true(shares > 0.999 && shares < 1.001);
        assert_int_equal(s.ranks, 3);
        assert_int_equal(s.hosts, 2);
        assert_true(s.complete);
        gn_summary_clear(&s);
    }
    gn_profile_close(db);
}

/* Three processes: an ordinary event takes a tick of 100 ns, one took 51. Merged from two parts. */
static void cost_is_of_processor_time(void **state)
{
    (void)state;
    struct gn_error err = {""};
    struct gn_summary s;
    make_parts();
    sqlite3 *db = merged(in_folder("first.db"), in_folder("second.db"));
    assert_int_equal(gn_summarise(db, GN_BY_ACTIVITY, false, &s, &err), 0);
    const double calls_s = (double)s.cost.calls * 100e-9, slow_s = 3 * 50 * 100e-9, startup_s = 3 * 2e-6;
    assert_int_equal(s.cost.unwound, 3);
    assert_float_equal(s.cost.ns_per_call, 100, 1e-9);
    assert_float_equal(s.cost.slow_s, slow_s, 1e-12);
    assert_float_equal(s.cost.startup_s, startup_s, 1e-12);
    assert_float_equal(s.cost.own_s, calls_s + slow_s + startup_s, 1e-12);
    assert_float_equal(s.cost.program_cpu_s, 3e-3 - s.cost.own_s, 1e-12);
    assert_float_equal(s.cost.share, s.cost.own_s / s.cost.program_cpu_s, 1e-12);
    gn_summary_clear(&s);
    gn_profile_close(db);
}

/* One process of which it is not known how much processor time it took: then it is not known of the run. */
static void unknown_processor_time_is_said(void **state)
{
    (void)state;
    struct gn_error err = {""};
    struct gn_summary s;
    make_parts();
    sqlite3 *db = merged(in_folder("first.db"), in_folder("second.db"));
    gn_sql(db, NULL, "UPDATE process SET cpu_ns = NULL WHERE rank = 1", "");
    assert_int_equal(gn_summarise(db, GN_BY_ACTIVITY, false, &s, &err), 0);
    assert_float_equal(s.cost.program_cpu_s, 0, 0);
    assert_true(s.cost.share > 0);
    gn_summary_clear(&s);
    gn_profile_close(db);
}

static void missing_rank_is_not_complete(void **state)
{
    (void)state;
    struct gn_summary s;
    sqlite3 *db = create(":memory:");
    add(db, "h", 0, 5, 0, false);
    add(db, "h", 2, 5, 0, false);
    assert_int_equal(gn_summarise(db, GN_BY_ACTIVITY, false, &s, NULL), 0);
    assert_false(s.complete);
    assert_string_equal(s.missing_ranks, "1");
    gn_summary_clear(&s);
    gn_profile_close(db);
}

static void distribution_over_ranks(void **state)
{
    (void)state;
    struct gn_summary s;
    make_parts();
    sqlite3 *db = merged(in_folder("first.db"), in_folder("second.db"));
    assert_int_equal(gn_summarise(db, GN_BY_ACTIVITY, true, &s, NULL), 0);
    size_t i = 0;
    while (i < s.row_count && strcmp(s.rows[i].name, "MPI_Recv") != 0)
        i++;
    assert_true(i < s.row_count);
    assert_int_equal(s.rows[i].min_ns, 5 * 2000);
    assert_int_equal(s.rows[i].median_ns, 7 * 2000);
    assert_int_equal(s.rows[i].max_ns, 11 * 2000);
    assert_int_equal(s.rows[i].max_rank, 2);
    gn_summary_clear(&s);
    gn_profile_close(db);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(created_is_opened),
        cmocka_unit_test(facts_of_the_run_are_kept),
        cmocka_unit_test(missing_is_refused),
        cmocka_unit_test(empty_is_refused),
        cmocka_unit_test(text_is_refused),
        cmocka_unit_test(foreign_database_is_refused),
        cmocka_unit_test(newer_is_refused),
        cmocka_unit_test(cut_is_refused),
        cmocka_unit_test(saved_is_complete),
        cmocka_unit_test(saving_to_nowhere_fails),
        cmocka_unit_test(failed_saving_leaves_nothing),
        cmocka_unit_test(sites_are_shared_by_ranks),
        cmocka_unit_test(statistics_are_in_nanoseconds),
        cmocka_unit_test(merged_parts_add_up),
        cmocka_unit_test(bad_part_changes_nothing),
        cmocka_unit_test(a_damaged_part_costs_itself_alone),
        cmocka_unit_test(refused_parts_of_one_name_are_both_named),
        cmocka_unit_test(a_part_that_changes_is_of_one_moment),
        cmocka_unit_test(summary_adds_up),
        cmocka_unit_test(cost_is_of_processor_time),
        cmocka_unit_test(unknown_processor_time_is_said),
        cmocka_unit_test(missing_rank_is_not_complete),
        cmocka_unit_test(distribution_over_ranks),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
