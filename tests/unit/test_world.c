/* world: which processes make one MPI_COMM_WORLD, from what launchers and MPI say. */
#include "graph/world.h"
#include "profile/profile.h"
#include "profile/statement.h"
#include "profile/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static sqlite3 *create(void)
{
    sqlite3 *db;
    struct gn_error err = {""};
    assert_int_equal(gn_profile_create(&db, ":memory:", &err), 0);
    return db;
}

static int64_t add(sqlite3 *db, const struct gn_launch *launches, const char *flavour, int rank, int size,
                   int64_t pid)
{
    struct gn_error err = {""};
    const struct gn_world_process p = {launches, flavour, "here", rank, size, pid, 0, 7};
    struct gn_graph *graph = gn_graph_new();
    assert_int_equal(gn_profile_read(db, graph, &err), 0);
    const struct gn_graph_host here = {gn_graph_text(graph, "here")};
    const struct gn_graph_process row = {.rank = rank,
                                         .host = gn_graph_put(graph, GN_GRAPH_HOST, &here),
                                         .pid = pid,
                                         .ended = gn_graph_text(graph, "exit"),
                                         .complete = 1,
                                         .elapsed_ns = 10,
                                         .world_id = gn_graph_world_of(graph, &p)};
    gn_graph_put(graph, GN_GRAPH_PROCESS, &row);
    const int64_t world = (int64_t)row.world_id + 1; /* its number in the profile */
    assert_int_equal(gn_profile_write(db, graph, &err), 0);
    gn_graph_free(graph);
    return world;
}

static struct gn_launch launch(enum gn_launcher launcher, int rank, int size, const char *group)
{
    struct gn_launch l = {.launcher = launcher, .rank = rank, .size = size};
    snprintf(l.group, sizeof l.group, "%s", group);
    return l;
}

static void a_launcher_that_is_believed_names_the_world(void **state)
{
    (void)state;
    struct gn_worlds worlds;
    sqlite3 *db = create();
    for (int rank = 0; rank < 3; rank++) {
        struct gn_launch all[GN_LAUNCHES] = {launch(GN_LAUNCHER_OPENMPI, rank, 3, "a")};
        assert_int_equal(add(db, all, "openmpi", rank, 3, 100 + rank), 1);
    }
    assert_int_equal(gn_worlds_read(db, &worlds, NULL), 0);
    assert_int_equal(worlds.count, 1);
    assert_int_equal(worlds.items[0].measured, 3);
    assert_true(worlds.items[0].complete);
    assert_true(gn_worlds_here(db, true));
    gn_worlds_clear(&worlds);
    gn_profile_close(db);
}

static void the_wrong_launcher_makes_worlds_of_one(void **state)
{
    (void)state;
    struct gn_worlds worlds;
    sqlite3 *db = create();
    for (int rank = 2; rank >= 0; rank--) { /* they come as they like */
        struct gn_launch all[GN_LAUNCHES] = {launch(GN_LAUNCHER_OPENMPI, rank, 3, "a")};
        assert_false(gn_worlds_here(db, true));
        add(db, all, "mpich", 0, 1, 100 + rank);
    }
    assert_true(gn_worlds_here(db, true));
    assert_int_equal(gn_worlds_read(db, &worlds, NULL), 0);
    assert_int_equal(worlds.count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(worlds.items[i].number, i + 1);
        assert_int_equal(worlds.items[i].launched_rank, i);
        assert_int_equal(worlds.items[i].launched, 3);
        assert_int_equal(worlds.items[i].size, 1);
        assert_int_equal(worlds.items[i].launcher, GN_LAUNCHER_OPENMPI);
    }
    gn_worlds_clear(&worlds);
    gn_profile_close(db);
}

/* An mpirun of one that runs a script, which runs the other MPI's: both have told the process something. */
static void of_several_launchers_mpi_tells_which_holds(void **state)
{
    (void)state;
    sqlite3 *db = create();
    for (int rank = 0; rank < 2; rank++) {
        struct gn_launch all[GN_LAUNCHES] = {launch(GN_LAUNCHER_OPENMPI, 0, 1, "outer"),
                                             launch(GN_LAUNCHER_HYDRA, rank, 2, "inner")};
        assert_int_equal(add(db, all, "mpich", rank, 2, 100 + rank), 1);
    }
    assert_int_equal(gn_sql_value(db, 0, "SELECT count(*) FROM world WHERE launch = 'inner'", ""), 1);
    gn_profile_close(db);
}

static void without_a_launcher_only_those_alone_are_apart(void **state)
{
    (void)state;
    sqlite3 *db = create();
    int64_t job = add(db, NULL, "mpich", 0, 2, 1); /* of a launcher that nobody knows */
    assert_int_equal(add(db, NULL, "mpich", 1, 2, 2), job);
    int64_t alone = add(db, NULL, "mpich", 0, 1, 3);
    assert_true(alone != job && add(db, NULL, "mpich", 0, 1, 4) != alone);
    gn_profile_close(db);
}

static void a_rank_that_comes_again_is_of_another_world(void **state)
{
    (void)state;
    sqlite3 *db = create();
    struct gn_launch all[GN_LAUNCHES] = {launch(GN_LAUNCHER_SLURM, 0, 1, "step")};
    int64_t first = add(db, all, "openmpi", 0, 1, 1);
    assert_true(add(db, all, "openmpi", 0, 1, 2) != first);
    gn_profile_close(db);
}

static void one_can_be_looked_at_alone(void **state)
{
    (void)state;
    struct gn_error err = {""};
    sqlite3 *db = create();
    add(db, NULL, "mpich", 0, 1, 3);
    int64_t second = add(db, NULL, "mpich", 0, 1, 4);
    assert_int_equal(gn_sql_value(db, 0, "SELECT count(*) FROM process", ""), 2);
    assert_int_equal(gn_world_select(db, second, &err), 0);
    assert_int_equal(gn_sql_value(db, 0, "SELECT count(*) FROM process", ""), 1);
    assert_int_equal(gn_sql_value(db, 0, "SELECT pid FROM process", ""), 4);
    assert_int_equal(gn_world_select(db, 0, &err), 0);
    assert_int_equal(gn_sql_value(db, 0, "SELECT count(*) FROM process", ""), 2);
    gn_profile_close(db);
}

/* Hosts know the same world by its key, whatever number it has there. */
static void hosts_have_their_worlds_in_common(void **state)
{
    (void)state;
    struct gn_error err = {""};
    struct gn_worlds worlds;
    char path[2][64];
    sqlite3 *whole = create();
    for (int host = 0; host < 2; host++) {
        sqlite3 *db = create();
        if (host == 1)
            add(db, NULL, "mpich", 0, 1, 9); /* number 1 here */
        struct gn_launch all[GN_LAUNCHES] = {launch(GN_LAUNCHER_HYDRA, host, 2, "a")};
        add(db, all, "mpich", host, 2, 100 + host);
        assert_false(gn_worlds_here(db, true));
        snprintf(path[host], sizeof path[host], "/tmp/gnomon-world.%d.%d", (int)getpid(), host);
        assert_int_equal(gn_profile_save(db, path[host], &err), 0);
        gn_profile_close(db);
        assert_int_equal(gn_profile_merge(whole, path[host], &err), 0);
        unlink(path[host]);
    }
    assert_true(gn_worlds_here(whole, true));
    assert_int_equal(gn_worlds_read(whole, &worlds, &err), 0);
    assert_int_equal(worlds.count, 2);
    assert_int_equal(gn_worlds_largest(&worlds)->measured, 2);
    gn_worlds_clear(&worlds);
    /* a host that has saved while its ranks were running is not here yet */
    gn_sql(whole, NULL, "UPDATE process SET ended = 'running' WHERE pid = 101", "");
    assert_false(gn_worlds_here(whole, true));
    assert_true(gn_worlds_here(whole, false));
    gn_profile_close(whole);
}

/* Format 4 had no worlds: what there was is one. */
static void older_parts_are_one_world(void **state)
{
    (void)state;
    struct gn_error err = {""};
    struct gn_worlds worlds;
    char path[64];
    sqlite3 *db = create(), *whole = create();
    add(db, NULL, "mpich", 0, 2, 1);
    add(db, NULL, "mpich", 1, 2, 2);
    assert_int_equal(sqlite3_exec(db,
                                  "UPDATE process SET world = 2; DROP TABLE fatal;"
                                  "ALTER TABLE process DROP COLUMN world_id;"
                                  "ALTER TABLE process DROP COLUMN traced; ALTER TABLE process DROP COLUMN "
                                  "spawned; DROP TABLE world;"
                                  "PRAGMA user_version = 4",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(gn_worlds_read(db, &worlds, &err), 0);
    assert_int_equal(worlds.count, 0);
    snprintf(path, sizeof path, "/tmp/gnomon-world.%d", (int)getpid());
    assert_int_equal(gn_profile_save(db, path, &err), 0);
    assert_int_equal(gn_profile_merge(whole, path, &err), 0);
    unlink(path);
    assert_int_equal(gn_worlds_read(whole, &worlds, &err), 0);
    assert_int_equal(worlds.count, 1);
    assert_int_equal(worlds.items[0].size, 2);
    assert_int_equal(worlds.items[0].measured, 2);
    gn_worlds_clear(&worlds);
    gn_profile_close(db);
    gn_profile_close(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launcher_that_is_believed_names_the_world),
        cmocka_unit_test(the_wrong_launcher_makes_worlds_of_one),
        cmocka_unit_test(of_several_launchers_mpi_tells_which_holds),
        cmocka_unit_test(without_a_launcher_only_those_alone_are_apart),
        cmocka_unit_test(a_rank_that_comes_again_is_of_another_world),
        cmocka_unit_test(one_can_be_looked_at_alone),
        cmocka_unit_test(hosts_have_their_worlds_in_common),
        cmocka_unit_test(older_parts_are_one_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
