/* The report on clocks, on profiles made by hand: three hosts in a chain, a ← b ← c, with known clocks. */
#include "answer/clock_report.h"
#include "profile/profile.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double THERE_NS = 500, BACK_NS = 700;
static const int64_t SECOND = 1000000000;

/* At true time t (ns, the reference's) a clock of 1 GHz shows begin + t (1 + rate), and `jump` more from half
 * a second on. */
struct truth {
    const char *name, *parent;
    int64_t begin;
    double rate_ppb;
    int64_t jump;
};

static const struct truth chain[] = {
    {"a", NULL, 40 * SECOND, 0, 0}, {"b", "a", 45 * SECOND, 10000, 0}, {"c", "b", 3 * SECOND, -7000, 0}};

static uint64_t shows(const struct truth *clock, double t)
{
    double more = t * (1 + clock->rate_ppb / 1e9) + (t >= 0.5e9 ? (double)clock->jump : 0);
    return (uint64_t)clock->begin + (uint64_t)floor(more);
}

struct made {
    sqlite3 *db;
    struct gn_profile_clocks list;
    struct gn_clock_report report;
};

/* A question every 10 ms for a second; each tenth is fast. silent: the parent does not answer. */
static void add_domain(sqlite3 *db, const struct truth *clock, const struct truth *parent, bool silent)
{
    struct gn_error err = {""};
    struct gn_clock_def def = {1e9, 1};
    struct gn_clocks *clocks = gn_clocks_new(0);
    gn_clocks_add(clocks, &def);
    gn_clocks_add(clocks, &def);
    for (int i = 0; parent && !silent && i <= 100; i++) {
        double t = i * 1e7, slow = i % 10 ? 3000 : 0;
        gn_clocks_message(clocks, 1, shows(clock, t), 0, shows(parent, t + THERE_NS + slow));
        gn_clocks_message(clocks, 0, shows(parent, t + 10000), 1, shows(clock, t + 10000 + BACK_NS + slow));
    }
    struct gn_clock_row row = {.domain = clock->name,
                               .host = clock->name,
                               .parent = parent ? parent->name : NULL,
                               .def = def,
                               .epoch_ticks = shows(clock, 0),
                               .last_ticks = shows(clock, 1e9 + 20000),
                               .counter = "tsc",
                               .shared = true,
                               .cores = 4,
                               .shared_width_ns = 60,
                               .asked = parent ? 101 : 0,
                               .answered = parent && !silent ? 101 : 0};
    assert_int_equal(gn_profile_add_clock(db, &row, parent ? clocks : NULL, &err), 0);
    gn_clocks_free(clocks);
}

static void make(struct made *made, const struct truth *clocks, uint32_t count, bool silent,
                 struct gn_assumption assumption)
{
    struct gn_error err = {""};
    assert_int_equal(gn_profile_create(&made->db, ":memory:", &err), 0);
    for (uint32_t i = 0; i < count; i++)
        add_domain(made->db, &clocks[i], i ? &clocks[i - 1] : NULL, silent && i == count - 1);
    assert_int_equal(gn_profile_read_clocks(made->db, &made->list, &err), 0);
    assert_int_equal(
        gn_clock_report_make(&made->report, made->list.clocks, made->list.rows, &assumption, &err), 0);
}

static void drop(struct made *made)
{
    gn_clock_report_clear(&made->report);
    gn_profile_clocks_clear(&made->list);
    gn_profile_close(made->db);
}

static char *text_of(const struct gn_clock_report *report, bool pairs)
{
    struct gn_clock_report_options options = {.pairs = pairs, .terminal = {.width = 140}};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    gn_clock_report_text(report, &options, out);
    fclose(out);
    return text;
}

static json_t *json_of(const struct gn_clock_report *report)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    gn_clock_report_json(report, out);
    fclose(out);
    json_t *root = json_loads(text, 0, NULL);
    free(text);
    assert_non_null(root);
    return root;
}

/* By how much clock b shows more than clock a when a reads what the report says. */
static double true_offset(const struct truth *a, const struct truth *b, const struct gn_clock_host *at)
{
    double t = ((double)at->at_ticks - (double)a->begin) / (1 + a->rate_ppb / 1e9);
    return (double)shows(b, t) - (double)at->at_ticks;
}

static void offsets_contain_the_truth(void **state)
{
    struct made made;
    (void)state;
    make(&made, chain, 3, false, gn_assumption_default());
    struct gn_clock_report *r = &made.report;
    assert_int_equal(r->pair_count, 3);
    for (size_t i = 0; i < r->pair_count; i++) {
        const struct gn_clock_pair *p = &r->pairs[i];
        double truth = true_offset(&chain[p->a], &chain[p->b], &r->hosts[p->a]);
        assert_true(p->offset_ns.lo <= truth && truth <= p->offset_ns.hi);
        assert_true(p->offset_ns.hi - p->offset_ns.lo <= p->most_ns + 4);
    }
    drop(&made);
}

static void rates_contain_the_truth(void **state)
{
    struct made made;
    (void)state;
    make(&made, chain, 3, false, gn_assumption_default());
    for (size_t i = 0; i < made.report.pair_count; i++) {
        const struct gn_clock_pair *p = &made.report.pairs[i];
        double truth = ((1 + chain[p->b].rate_ppb / 1e9) / (1 + chain[p->a].rate_ppb / 1e9) - 1) * 1e9;
        assert_true(p->rate_ppb.lo <= truth && truth <= p->rate_ppb.hi);
        assert_true(p->rate_ppb.hi - p->rate_ppb.lo < 50000);
    }
    drop(&made);
}

static void the_floor_is_the_fastest_delays(void **state)
{
    struct made made;
    (void)state;
    make(&made, chain, 3, false, (struct gn_assumption){GN_RATE_CONSTANT, GN_NOMINAL_PPB, 0});
    assert_true(fabs(made.report.hosts[1].floor_ns - (THERE_NS + BACK_NS)) < 12);
    assert_true(fabs(made.report.hosts[2].floor_ns - 2 * (THERE_NS + BACK_NS)) < 24);
    drop(&made);
}

static void a_width_is_not_below_the_floor(void **state)
{
    struct made made;
    (void)state;
    make(&made, chain, 2, false, gn_assumption_default());
    const struct gn_clock_host *b = &made.report.hosts[1];
    assert_true(b->least_ns >= THERE_NS + BACK_NS - 4);
    assert_true(b->least_ns <= b->mean_ns && b->mean_ns <= b->most_ns);
    drop(&made);
}

static void the_worst_pair_comes_first(void **state)
{
    struct made made;
    (void)state;
    make(&made, chain, 3, false, gn_assumption_default());
    const struct gn_clock_report *r = &made.report;
    for (size_t i = 1; i < r->pair_count; i++)
        assert_true(r->pairs[i - 1].most_ns >= r->pairs[i].most_ns);
    assert_true(r->most_ns == r->pairs[0].most_ns / 2);
    drop(&made);
}

static void the_answer_is_the_first_line(void **state)
{
    struct made made;
    (void)state;
    make(&made, chain, 3, false, gn_assumption_default());
    char *text = text_of(&made.report, false);
    assert_ptr_equal(strstr(text, "Times of 3 hosts can be compared to ± "), text);
    assert_int_equal(gn_clock_report_status(&made.report), 0);
    free(text);
    drop(&made);
}

static void a_host_that_nobody_answers_is_told(void **state)
{
    struct made made;
    (void)state;
    make(&made, chain, 3, true, gn_assumption_default());
    char *text = text_of(&made.report, false);
    assert_int_equal(gn_clock_report_status(&made.report), 1);
    assert_int_equal(made.report.pair_count, 1);
    assert_non_null(strstr(text, "NOT REACHED: 1 of 3"));
    assert_non_null(strstr(text, "firewall"));
    free(text);
    drop(&made);
}

static void a_jump_refutes_and_is_told(void **state)
{
    const struct truth jumping[] = {chain[0], {"b", "a", 45 * SECOND, 10000, 1000000}};
    struct made made;
    (void)state;
    make(&made, jumping, 2, false, gn_assumption_default());
    char *text = text_of(&made.report, false);
    assert_int_equal(gn_clock_report_status(&made.report), 1);
    assert_non_null(strstr(text, "REFUTED"));
    json_t *root = json_of(&made.report);
    json_t *b = json_array_get(json_object_get(root, "clocks"), 1);
    assert_true(json_array_size(json_object_get(b, "refuted")) > 0);
    json_decref(root);
    free(text);
    drop(&made);
}

static void one_host_has_no_pairs(void **state)
{
    struct made made;
    (void)state;
    make(&made, chain, 1, false, gn_assumption_default());
    char *text = text_of(&made.report, true);
    assert_non_null(strstr(text, "4 cores share one counter: times can be compared to ± 30 ns"));
    assert_int_equal(made.report.pair_count, 0);
    free(text);
    drop(&made);
}

static void json_says_what_is_known(void **state)
{
    struct made made;
    (void)state;
    make(&made, chain, 3, true, gn_assumption_default());
    json_t *root = json_of(&made.report), *clocks = json_object_get(root, "clocks");
    json_t *b = json_array_get(clocks, 1), *c = json_array_get(clocks, 2);
    assert_int_equal(json_array_size(clocks), 3);
    assert_string_equal(json_string_value(json_object_get(b, "parent")), "a");
    assert_true(json_real_value(json_array_get(json_object_get(b, "offset_ns"), 0)) ==
                made.report.hosts[1].offset_ns.lo);
    assert_false(json_boolean_value(json_object_get(c, "reached")));
    assert_null(json_object_get(c, "offset_ns"));
    json_decref(root);
    drop(&made);
}

static void names_cannot_command_the_terminal(void **state)
{
    const struct truth hostile[] = {{"a\033[2J", NULL, 40 * SECOND, 0, 0},
                                    {"b\xff\n", "a\033[2J", SECOND, 0, 0}};
    struct made made;
    (void)state;
    make(&made, hostile, 2, false, gn_assumption_default());
    char *text = text_of(&made.report, true);
    assert_null(strchr(text, '\033'));
    json_decref(json_of(&made.report));
    free(text);
    drop(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_contain_the_truth),
        cmocka_unit_test(rates_contain_the_truth),
        cmocka_unit_test(the_floor_is_the_fastest_delays),
        cmocka_unit_test(a_width_is_not_below_the_floor),
        cmocka_unit_test(the_worst_pair_comes_first),
        cmocka_unit_test(the_answer_is_the_first_line),
        cmocka_unit_test(a_host_that_nobody_answers_is_told),
        cmocka_unit_test(a_jump_refutes_and_is_told),
        cmocka_unit_test(one_host_has_no_pairs),
        cmocka_unit_test(json_says_what_is_known),
        cmocka_unit_test(names_cannot_command_the_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
