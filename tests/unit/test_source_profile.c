/* Frames of Python, from the segment to the profile: what ranks agree on. */
#include "calls.h"
#include "image/snapshot.h"
#include "profile/statement.h"
#include "profile/summary.h"
#include "profile_of.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Two lines of a function, in tables that differ from rank to rank. */
static struct gn_tag *make_rank(int rank)
{
    struct gn_tag *t = calloc(1, gn_tag_bytes(1));
    const uint16_t module = rank ? 2 : 1;
    assert_non_null(t);
    t->magic = GN_TAG_MAGIC;
    t->version = GN_TAG_VERSION;
    t->location_capacity = 1;
    t->rank = rank;
    t->world = 2;
    GN_SET(t->state, GN_STATE_EXITED);
    GN_SET(t->finalized_ticks, 1);
    GN_SET(t->end_ticks, 1000);
    GN_SET(t->name_count, 1);
    GN_SET(t->module_count, 4);
    t->modules[module] = (struct gn_module){.kind = GN_MODULE_PYTHON, .path = "/home/a/\033[2Jmodel.py"};
    t->modules[3] = (struct gn_module){.path = "/nowhere/MPI.so", .build_id_bytes = 1, .build_id = {7}};
    GN_SET(t->source_count, 4);
    const uint32_t main = rank ? 3 : 1, step = rank ? 1 : 2;
    t->sources[main] = (struct gn_source_line){.module = module, .line = 80, .first_line = 1};
    strcpy(t->sources[main].function, "<module>");
    t->sources[step] = (struct gn_source_line){.module = module, .line = 42, .first_line = 40};
    strcpy(t->sources[step].function, "Model.step\a");
    GN_SET(t->frame_count, 4);
    t->frames[1] = (struct gn_tag_frame){0, module, 0, main};
    t->frames[2] = (struct gn_tag_frame){1, module, 0, step};
    t->frames[3] = (struct gn_tag_frame){2, 3, 0, 0x100};
    struct gn_location *l = &t->locations[0];
    GN_SET(t->location_count, 1);
    GN_SET(l->in_use, 1);
    GN_SET(l->first_ticks, 1);
    GN_SET(l->now_ticks, 1000);
    GN_SET(l->node_count, 4);
    for (uint32_t i = 0; i < 3; i++)
        GN_SET(l->nodes[i].activity, GN_ACTIVITY_START + i);
    GN_SET(l->nodes[3].activity, GN_CALL_BARRIER);
    GN_SET(l->nodes[3].path, 3);
    gn_stats_add(&l->nodes[3].time, 10);
    gn_stats_add(&l->nodes[3].time, 10);
    GN_SET(l->edge_count, 3);
    for (uint32_t i = 1; i < 3; i++) {
        GN_SET(l->edges[i].from, i == 1 ? 0 : 3);
        GN_SET(l->edges[i].to, 3);
        gn_stats_add(&l->edges[i].time, 100);
    }
    return t;
}

static void add_rank(sqlite3 *db, struct gn_tag *t)
{
    struct gn_process_facts facts = {.host = "a", .tick_ns = 1, .ended = "exit", .launcher_rank = t->rank};
    struct gn_snapshot *s = NULL;
    struct gn_error err = {""};
    assert_int_equal(gn_snapshot_take(t, gn_tag_bytes(1), 10, &s, NULL), 0);
    assert_int_equal(profile_add(db, &facts, s, &err), 0);
    gn_snapshot_free(s);
    free(t);
}

static const struct gn_activity_row *row_of(const struct gn_summary *s, const char *kind, const char *name)
{
    for (size_t i = 0; i < s->row_count; i++)
        if (strcmp(s->rows[i].kind, kind) == 0 && strcmp(s->rows[i].name, name) == 0)
            return &s->rows[i];
    return NULL;
}

/* The computation that begins at a call and ends at one. */
static const struct gn_activity_row *between(const struct gn_summary *s)
{
    for (size_t i = 0; i < s->row_count; i++)
        if (s->rows[i].how == GN_HOW_RANGE && s->rows[i].function && s->rows[i].until_function)
            return &s->rows[i];
    return NULL;
}

static void ranks_agree_on_lines(void **state)
{
    (void)state;
    sqlite3 *db = NULL;
    struct gn_error err = {""};
    struct gn_summary summary = {0};
    assert_int_equal(gn_profile_create(&db, ":memory:", &err), 0);
    add_rank(db, make_rank(0));
    add_rank(db, make_rank(1));
    assert_int_equal(gn_profile_resolve(db, NULL, NULL, &err), 0);
    assert_int_equal(gn_sql_value(db, 0, "SELECT count(*) FROM callpath", ""), 3);
    assert_int_equal(gn_sql_value(db, 0, "SELECT count(*) FROM module WHERE build_id = 'python'", ""), 1);
    assert_int_equal(gn_summarise(db, GN_BY_ACTIVITY, false, &summary, &err), 0);
    const struct gn_activity_row *call = row_of(&summary, "mpi", "MPI_Barrier"),
                                 *computation = between(&summary);
    assert_non_null(call);
    assert_non_null(computation);
    assert_int_equal(call->count, 4);
    assert_string_equal(call->function, "Model.step?"); /* the code that made the call has no line */
    assert_string_equal(call->file, "/home/a/?[2Jmodel.py");
    assert_int_equal(call->line, 42);
    assert_string_equal(computation->function, "Model.step?");
    assert_int_equal(computation->line, 42);
    assert_int_equal(computation->until_line, 42);
    gn_summary_clear(&summary);
    gn_profile_close(db);
}

static void a_line_that_is_none_is_left_out(void **state)
{
    (void)state;
    struct gn_tag *t = make_rank(0);
    struct gn_snapshot *s = NULL;
    t->frames[2].offset = 4;
    memset(t->sources[1].function, 'x', sizeof t->sources[1].function); /* without an end */
    assert_int_equal(gn_snapshot_take(t, gn_tag_bytes(1), 10, &s, NULL), 0);
    assert_int_equal(s->frames[2].module, 0);
    assert_int_equal(s->dropped, 1);
    assert_int_equal(strlen(s->sources[1].function), GN_FUNCTION_BYTES - 1);
    gn_snapshot_free(s);
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_agree_on_lines),
        cmocka_unit_test(a_line_that_is_none_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
