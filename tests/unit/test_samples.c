/* samples: what a profile keeps of them, as rows and as the name of an edge; several hosts' are one. */
#include "graph/join.h"
#include "profile/profile.h"
#include "graph/sampled.h"
#include "profile/samples.h"
#include "profile/statement.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t site(struct gn_graph *g, int64_t offset, const char *function, int64_t line, int64_t loop)
{
    const struct gn_graph_module app = {gn_graph_text(g, "/app"), gn_graph_text(g, "07"), 1};
    const struct gn_graph_site row = {.module = gn_graph_put(g, GN_GRAPH_MODULE, &app),
                                      .offset = offset,
                                      .resolved = 1,
                                      .function = gn_graph_text(g, function),
                                      .file = gn_graph_text(g, "app.c"),
                                      .line = line,
                                      .symbol_offset = GN_GRAPH_UNKNOWN,
                                      .loop_function = gn_graph_text(g, loop ? function : NULL),
                                      .loop_file = gn_graph_text(g, loop ? "app.c" : NULL),
                                      .loop_line = loop ? loop : GN_GRAPH_UNKNOWN};
    return gn_graph_put(g, GN_GRAPH_SITE, &row);
}

static uint32_t activity(struct gn_graph *g, const char *kind, const char *name)
{
    const struct gn_graph_activity row = {gn_graph_text(g, kind), gn_graph_text(g, name),
                                          gn_graph_text(g, ""), GN_GRAPH_ROOT};
    return gn_graph_put(g, GN_GRAPH_ACTIVITY, &row);
}

/* A rank that computes between two sends, mostly in the loop at line 30, in both of its instructions. */
static struct gn_graph *rank(int number, int64_t scale)
{
    struct gn_graph *g = gn_graph_new();
    const struct gn_graph_host host = {gn_graph_text(g, number ? "second" : "first")};
    const struct gn_graph_process process = {.rank = number,
                                             .host = gn_graph_put(g, GN_GRAPH_HOST, &host),
                                             .world_id = GN_GRAPH_NONE,
                                             .ended = gn_graph_text(g, "exit"),
                                             .elapsed_ns = 1000};
    const uint32_t p = gn_graph_put(g, GN_GRAPH_PROCESS, &process);
    const struct gn_graph_location location = {.process = p, .last_activity = GN_GRAPH_NONE};
    const uint32_t l = gn_graph_put(g, GN_GRAPH_LOCATION, &location);
    const uint32_t send = activity(g, "mpi", "MPI_Send"), all = GN_GRAPH_NONE;
    const struct gn_graph_sampling how = {
        p, gn_graph_text(g, "sampled"), NULL, 110, 11 * scale, 11 * scale, 0, 1, 0, 0, 1, 0};
    const struct gn_graph_sample samples[] = {
        {l, send, send, site(g, 0x10, "step", 25, 0), GN_GRAPH_NONE, 0, 0, 3 * scale, 30 * scale, {NULL, 0}},
        {l, send, send, site(g, 0x14, "step", 26, 0), GN_GRAPH_NONE, 0, 0, scale, 10 * scale, {NULL, 0}},
        {l,
         send,
         send,
         site(g, 0x20, "step", 31, 30),
         GN_GRAPH_NONE,
         0,
         0,
         3 * scale,
         10 * (3 * scale),
         {NULL, 0}},
        {l,
         send,
         send,
         site(g, 0x24, "step", 32, 30),
         GN_GRAPH_NONE,
         0,
         0,
         2 * scale,
         10 * (2 * scale),
         {NULL, 0}},
        {l, send, send, all, all, 0, 0, scale, 10 * scale, {NULL, 0}},
        {l, send, all, site(g, 0x40, "wait", 50, 0), GN_GRAPH_NONE, 0, 0, 1, 10, {NULL, 0}},
    };
    gn_graph_put(g, GN_GRAPH_SAMPLING, &how);
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++)
        gn_graph_put(g, GN_GRAPH_SAMPLE, &samples[i]);
    return g;
}

static sqlite3 *profile_of(const struct gn_graph *g)
{
    struct gn_error err = {""};
    sqlite3 *db;
    assert_int_equal(gn_profile_create(&db, ":memory:", &err), 0);
    assert_int_equal(gn_profile_write(db, g, &err), 0);
    return db;
}

static int64_t count_of(const struct gn_samples *s, bool inside, int line)
{
    int64_t count = 0;
    for (size_t i = 0; i < s->row_count; i++) {
        const struct gn_sample_row *row = &s->rows[i];
        if ((row->to == 0) == inside && (row->place < 0 ? 0 : s->places[row->place].line) == line)
            count += row->count;
    }
    return count;
}

static void places_are_loops_and_lines(void **state)
{
    (void)state;
    struct gn_graph *g = rank(0, 10);
    struct gn_samples s;
    struct gn_error err = {""};
    sqlite3 *db = profile_of(g);
    assert_int_equal(gn_samples_read(db, GN_SAMPLES_OF_PLACES, &s, &err), 0);
    assert_int_equal(s.place_count, 3);
    assert_int_equal(count_of(&s, false, 30), 50);
    assert_int_equal(count_of(&s, false, 25), 40);
    assert_int_equal(count_of(&s, false, 0), 10); /* other places */
    assert_int_equal(count_of(&s, true, 50), 1);
    assert_int_equal(s.process_count, 1);
    assert_string_equal(s.processes[0].state, "sampled");
    assert_int_equal(s.processes[0].unattributed, 1);
    gn_samples_clear(&s);
    gn_profile_close(db);
    gn_graph_free(g);
}

static int64_t count_of_function(const struct gn_samples *s, const char *function)
{
    int64_t count = 0;
    for (size_t i = 0; i < s->row_count; i++)
        if (s->rows[i].place >= 0 && strcmp(s->places[s->rows[i].place].function, function) == 0)
            count += s->rows[i].count;
    return count;
}

/* Line 31 is an inlined function of the program's, line 32 a container's, within one of the program's. */
static void functions_and_lines_are_those_that_are_written_there(void **state)
{
    static const char inlined[] =
        "INSERT INTO inlined SELECT id, 0, 'flux', 'app.h', 7 FROM site WHERE line = 31;"
        "INSERT INTO inlined SELECT id, 1, 'step', 'app.c', 31 FROM site WHERE line = 31;"
        "INSERT INTO inlined SELECT id, 0, 'at', '/usr/include/c++/12/vector', 90 FROM site WHERE line = 32;"
        "INSERT INTO inlined SELECT id, 1, 'limit', 'app.h', 8 FROM site WHERE line = 32;"
        "INSERT INTO inlined SELECT id, 2, 'step', 'app.c', 32 FROM site WHERE line = 32;"
        "UPDATE site SET function = 'flux', file = 'app.h', line = 7 WHERE line = 31;"
        "UPDATE site SET function = 'at', file = '/usr/include/c++/12/vector', line = 90 WHERE line = 32;";
    (void)state;
    struct gn_graph *g = rank(0, 10);
    struct gn_samples s;
    struct gn_error err = {""};
    sqlite3 *db = profile_of(g);
    assert_int_equal(sqlite3_exec(db, inlined, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(gn_samples_read(db, GN_SAMPLES_OF_FUNCTIONS, &s, &err), 0);
    assert_int_equal(count_of_function(&s, "flux"), 30);
    assert_int_equal(count_of_function(&s, "limit"), 20);
    assert_int_equal(count_of_function(&s, "step"), 40);
    gn_samples_clear(&s);
    assert_int_equal(gn_samples_read(db, GN_SAMPLES_OF_LINES, &s, &err), 0);
    assert_int_equal(count_of(&s, false, 7), 30);
    assert_int_equal(count_of(&s, false, 8), 20);
    assert_int_equal(count_of(&s, false, 25), 30);
    assert_int_equal(count_of(&s, false, 26), 10);
    gn_samples_clear(&s);
    assert_int_equal(gn_samples_read(db, GN_SAMPLES_OF_PLACES, &s, &err), 0);
    assert_int_equal(count_of(&s, false, 30), 50);
    gn_samples_clear(&s);
    gn_profile_close(db);
    gn_graph_free(g);
}

static void several_hosts_have_their_places_in_common(void **state)
{
    (void)state;
    struct gn_graph *g = rank(0, 1), *other = rank(1, 100);
    struct gn_error err = {""};
    struct gn_samples s;
    assert_int_equal(gn_graph_join(g, other, &err), 0);
    sqlite3 *db = profile_of(g);
    assert_int_equal(gn_samples_read(db, GN_SAMPLES_OF_PLACES, &s, &err), 0);
    assert_int_equal(s.place_count, 3);
    assert_int_equal(s.process_count, 2);
    assert_int_equal(s.row_count, 2 * 4);
    assert_int_equal(count_of(&s, false, 30), 505);
    gn_samples_clear(&s);
    gn_profile_close(db);
    gn_graph_free(g);
    gn_graph_free(other);
}

/* Of format 13, which knows who sleeps, and nothing of lines of Python; and of one that was written to. */
static void older_profiles_know_who_sleeps(void **state)
{
    (void)state;
    struct gn_graph *g = rank(0, 10), *again = gn_graph_new();
    struct gn_samples s;
    struct gn_error err = {""};
    sqlite3 *db = profile_of(g);
    int64_t looks = 0;
    assert_int_equal(gn_sql(db, &err, "UPDATE sample SET how = 7 WHERE site IS NULL", ""), 0);
    assert_int_equal(gn_samples_read(db, GN_SAMPLES_OF_PLACES, &s, &err), 0);
    assert_int_equal(count_of(&s, false, 0), 0);
    gn_samples_clear(&s);
    assert_int_equal(gn_sql(db, &err, "UPDATE sample SET how = 1, time_ns = 5 WHERE site IS NULL", ""), 0);
    assert_int_equal(gn_sql(db, &err, "ALTER TABLE sample RENAME COLUMN how TO asleep", ""), 0);
    assert_int_equal(gn_samples_read(db, GN_SAMPLES_OF_PLACES, &s, &err), 0);
    for (size_t i = 0; i < s.row_count; i++)
        looks += s.rows[i].how == GN_SAMPLED_ASLEEP ? s.rows[i].count : 0;
    assert_int_equal(looks, 10);
    gn_samples_clear(&s);
    looks = 0;
    assert_int_equal(gn_profile_read(db, again, &err), 0);
    const struct gn_graph_sample *rows = gn_graph_rows(again, GN_GRAPH_SAMPLE);
    for (uint32_t i = 0; i < gn_graph_count(again, GN_GRAPH_SAMPLE); i++)
        looks += rows[i].how == GN_SAMPLED_ASLEEP ? rows[i].count : 0;
    assert_int_equal(looks, 10);
    gn_profile_close(db);
    gn_graph_free(g);
    gn_graph_free(again);
}

static void an_older_profile_has_none(void **state)
{
    (void)state;
    struct gn_graph *g = rank(0, 1);
    struct gn_samples s;
    struct gn_error err = {""};
    sqlite3 *db = profile_of(g);
    assert_int_equal(gn_sql(db, &err, "DROP TABLE sample", ""), 0);
    assert_int_equal(gn_samples_read(db, GN_SAMPLES_OF_PLACES, &s, &err), 0);
    assert_int_equal(s.row_count + s.process_count, 0);
    gn_samples_clear(&s);
    gn_profile_close(db);
    gn_graph_free(g);
}

/* Against exact binomial limits (Clopper and Pearson): 10 of 100 are 0.038 to 0.200 at 99 %. */
static void a_share_lies_between_its_limits(void **state)
{
    (void)state;
    const struct gn_samples_share one = gn_samples_share(10, 100, 1), five = gn_samples_share(10, 100, 5);
    assert_true(one.low > 0.035 && one.low < 0.055 && one.high > 0.19 && one.high < 0.21);
    assert_true(five.low < one.low && five.high > one.high && five.share == one.share);
    const struct gn_samples_share none = gn_samples_share(0, 100, 1), all = gn_samples_share(100, 100, 1);
    assert_true(none.low == 0 && none.high > 0.05 && all.high == 1 && all.low < 0.95);
    assert_true(gn_samples_share(0, 0, 1).high == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_loops_and_lines),
        cmocka_unit_test(functions_and_lines_are_those_that_are_written_there),
        cmocka_unit_test(several_hosts_have_their_places_in_common),
        cmocka_unit_test(older_profiles_know_who_sleeps),
        cmocka_unit_test(an_older_profile_has_none),
        cmocka_unit_test(a_share_lies_between_its_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
