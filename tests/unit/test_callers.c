/* Who calls the function that an MPI call is made in: as much as tells places apart, and no more. */
#include "profile/callers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PATHS_MAX = 16, FUNCTIONS_MAX = 16 };

struct told {
    struct gn_caller_path paths[PATHS_MAX];
    const char *functions[PATHS_MAX][FUNCTIONS_MAX];
    char texts[PATHS_MAX][256];
    size_t count;
};

/* "reduce sum solve main", innermost first. */
static void add(struct told *t, const char *functions, int64_t ns)
{
    struct gn_caller_path *path = &t->paths[t->count];
    *path = (struct gn_caller_path){.functions = t->functions[t->count], .ns = ns};
    strcpy(t->texts[t->count], functions);
    for (char *word = strtok(t->texts[t->count], " "); word; word = strtok(NULL, " "))
        t->functions[t->count][path->count++] = word;
    t->count++;
}

static void assert_shown(const struct told *t, size_t index, size_t shown, bool is_rest)
{
    assert_int_equal(t->paths[index].shown, shown);
    assert_int_equal(t->paths[index].is_rest, is_rest);
}

static void tell_apart(struct told *t)
{
    assert_true(gn_callers_tell_apart(t->paths, t->count, 10));
}

static void test_one_caller_says_nothing(void **state)
{
    (void)state;
    struct told t = {.count = 0};
    tell_apart(&t);
    add(&t, "reduce sum solve main", 500);
    tell_apart(&t);
    assert_shown(&t, 0, 1, false);
    add(&t, "reduce sum solve main", 500); /* another line of the same functions */
    tell_apart(&t);
    assert_shown(&t, 0, 1, false);
    assert_shown(&t, 1, 1, false);
    add(&t, "reduce max other main", 9); /* too little to matter */
    tell_apart(&t);
    for (size_t i = 0; i < 3; i++)
        assert_shown(&t, i, 1, false);
}

static void test_as_far_up_as_they_differ(void **state)
{
    (void)state;
    struct told t = {.count = 0};
    add(&t, "reduce sum PCG::solve run main", 600);
    add(&t, "reduce sum PBiCG::solve run main", 200);
    add(&t, "reduce max step run main", 100);
    add(&t, "reduce max step other main", 3);
    add(&t, "reduce min step run main", 4);
    add(&t, "reduce sum other run main", 5);
    add(&t, "reduce sum last run main", 9);
    tell_apart(&t);
    assert_shown(&t, 0, 3, false);
    assert_shown(&t, 1, 3, false);
    assert_shown(&t, 2, 2, false);
    assert_shown(&t, 3, 2, false); /* beyond max they do not differ in what matters */
    assert_shown(&t, 4, 1, true);
    assert_shown(&t, 5, 2, true);
    assert_shown(&t, 6, 2, true);
}

/* Several small ones make a large one. */
static void test_time_adds_up(void **state)
{
    (void)state;
    struct told t = {.count = 0};
    add(&t, "reduce a x main", 6);
    add(&t, "reduce b x main", 20);
    add(&t, "reduce a y main", 6);
    tell_apart(&t);
    assert_shown(&t, 0, 2, false);
    assert_shown(&t, 1, 2, false);
    assert_shown(&t, 2, 2, false);
}

/* A difference far out, above a caller that has nearly everything. */
static void test_far_up(void **state)
{
    (void)state;
    struct told t = {.count = 0};
    add(&t, "reduce sum dot cg momentum main", 50);
    add(&t, "reduce sum dot cg pressure main", 50);
    add(&t, "reduce norm main", 2);
    tell_apart(&t);
    assert_shown(&t, 0, 5, false);
    assert_shown(&t, 1, 5, false);
    assert_shown(&t, 2, 1, true);
}

/* A path that ends where another one goes on: recursion, or a stack that could not be walked to its end. */
static void test_ends_inside_another(void **state)
{
    (void)state;
    struct told t = {.count = 0};
    add(&t, "reduce solve", 50);
    add(&t, "reduce solve solve", 50);
    add(&t, "reduce", 50);
    tell_apart(&t);
    assert_shown(&t, 0, 2, false);
    assert_shown(&t, 1, 3, false);
    assert_shown(&t, 2, 1, false);
}

/* For any paths: those that are shown alike are alike so far, and what is large is never one of the rest. */
static void test_any_paths(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c"};
    unsigned random = 7;
    for (int round = 0; round < 2000; round++) {
        struct told t = {.count = 0};
        for (; t.count < PATHS_MAX; t.count++) {
            struct gn_caller_path *path = &t.paths[t.count];
            *path = (struct gn_caller_path){.functions = t.functions[t.count], .count = 1};
            t.functions[t.count][0] = "place";
            random = random * 1103515245u + 12345u;
            path->ns = (random >> 16) % 25;
            for (size_t n = (random >> 8) % 6; path->count <= n; path->count++) {
                random = random * 1103515245u + 12345u;
                t.functions[t.count][path->count] = names[(random >> 16) % 3];
            }
        }
        tell_apart(&t);
        for (size_t i = 0; i < t.count; i++) {
            const struct gn_caller_path *path = &t.paths[i];
            assert_true(path->shown >= 1 && path->shown <= path->count);
            int64_t alike_ns = 0; /* of all that begin with what is shown of it */
            for (size_t k = 0; k < t.count; k++) {
                const struct gn_caller_path *other = &t.paths[k];
                bool alike = other->count >= path->shown;
                for (size_t n = 0; alike && n < path->shown; n++)
                    alike = strcmp(path->functions[n], other->functions[n]) == 0;
                alike_ns += alike ? other->ns : 0;
            }
            assert_true(!path->is_rest || path->ns < 10);
            assert_true(path->shown == 1 || alike_ns >= 10);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_caller_says_nothing),
        cmocka_unit_test(test_as_far_up_as_they_differ),
        cmocka_unit_test(test_time_adds_up),
        cmocka_unit_test(test_far_up),
        cmocka_unit_test(test_ends_inside_another),
        cmocka_unit_test(test_any_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
