/* The little of cmocka that the tests need which run on a foreign processor, for which it is not installed.
 */
#ifndef TESTS_CROSS_CMOCKA_H
#define TESTS_CROSS_CMOCKA_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};
#define cmocka_unit_test(test)                                                                               \
    {                                                                                                        \
#test, test                                                                                          \
    }

#define print_message(...) printf(__VA_ARGS__)
#define fail_msg(...) (printf(__VA_ARGS__), printf(" at %s:%d\n", __FILE__, __LINE__), exit(1))
#define assert_true(c) ((c) ? (void)0 : fail_msg("not true: %s", #c))
#define assert_false(c) assert_true(!(c))
#define assert_non_null(p) assert_true((p) != NULL)
#define assert_int_equal(a, b)                                                                               \
    ((long long)(a) == (long long)(b)                                                                        \
         ? (void)0                                                                                           \
         : fail_msg("%s is %lld, %s is %lld", #a, (long long)(a), #b, (long long)(b)))
#define assert_int_not_equal(a, b) assert_true((long long)(a) != (long long)(b))
#define assert_in_range(a, low, high)                                                                        \
    ((long long)(a) >= (long long)(low) && (long long)(a) <= (long long)(high)                               \
         ? (void)0                                                                                           \
         : fail_msg("%s is %lld", #a, (long long)(a)))
#define assert_string_equal(a, b) (strcmp(a, b) == 0 ? (void)0 : fail_msg("%s is not %s", a, b))
#define assert_string_not_equal(a, b) assert_true(strcmp(a, b) != 0)

static inline int run_tests(const struct CMUnitTest *tests, size_t count, int (*setup)(void **))
{
    void *state = NULL;
    if (setup && setup(&state) != 0)
        return 1;
    for (size_t i = 0; i < count; i++) {
        tests[i].run(&state);
        printf("%s ok\n", tests[i].name);
    }
    return 0;
}
#define cmocka_run_group_tests(tests, setup, teardown)                                                       \
    run_tests(tests, sizeof(tests) / sizeof *(tests), setup)

#endif
