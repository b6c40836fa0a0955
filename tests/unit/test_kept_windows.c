/* profile/kept_windows: windows as text, and what several hosts have of them. */
#include "profile/profile.h"
#include "profile/kept_windows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void text_is_read_as_it_was_written(void **state)
{
    (void)state;
    const struct gn_kept_window given[] = {{1, 2}, {2, 9}, {UINT64_MAX - 1, UINT64_MAX}};
    struct gn_kept_window *read;
    char *text = gn_kept_windows_to_text(given, 3);
    assert_string_equal(text, "1 2 2 9 18446744073709551614 18446744073709551615");
    assert_int_equal(gn_kept_windows_of_text(&read, text), 3);
    assert_memory_equal(read, given, sizeof given);
    free(read);
    free(text);
    text = gn_kept_windows_to_text(NULL, 0);
    assert_string_equal(text, "");
    free(text);
}

static void no_sense_is_no_window(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t count;
    } given[] = {{"", 0},      {"x", 0},       {"5", 0},           {"5 5", 0},
                 {"5 4", 0},   {"5 6 5 7", 1}, {"5 6 7 8 and", 2}, {"0 5", 0},
                 {"5 6 7", 1}, {"-5 6", 0},    {"5 -6 7 8", 1}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        struct gn_kept_window *read;
        assert_int_equal(gn_kept_windows_of_text(&read, given[i].text), given[i].count);
        free(read);
    }
}

static size_t common_of(const struct gn_kept_window *const *hosts, const size_t *counts, size_t host_count,
                        struct gn_kept_window *worth)
{
    struct gn_common_window have[40] = {{{0, UINT64_MAX}, UINT64_MAX}}, next[40];
    size_t count = 1;
    for (size_t i = 0; i < host_count; i++) {
        count = gn_kept_windows_common(next, have, count, hosts[i], counts[i]);
        memcpy(have, next, sizeof have);
    }
    return gn_kept_windows_of_worth(worth, have, count);
}

static void all_have_what_is_in_all(void **state)
{
    (void)state;
    const struct gn_kept_window a[] = {{10, 20}, {30, 40}, {50, 60}, {100, 200}},
                                b[] = {{11, 22}, {39, 51}, {110, 120}, {130, 140}, {195, 300}};
    const struct gn_kept_window expected[] = {{11, 20}, {110, 120}, {130, 140}};
    struct gn_kept_window worth[40];
    assert_int_equal(common_of((const struct gn_kept_window *[]){a, b}, (size_t[]){4, 5}, 2, worth), 3);
    assert_memory_equal(worth, expected, sizeof expected);
    assert_int_equal(common_of((const struct gn_kept_window *[]){b, a}, (size_t[]){5, 4}, 2, worth), 3);
    assert_memory_equal(worth, expected, sizeof expected);
    assert_int_equal(common_of((const struct gn_kept_window *[]){a, b}, (size_t[]){4, 0}, 2, worth), 0);
    /* half of half of it is not half of it, in whatever order */
    const struct gn_kept_window x = {1, 101}, y = {51, 151}, z = {76, 176};
    const struct gn_kept_window *orders[][3] = {{&x, &y, &z}, {&z, &x, &y}, {&y, &z, &x}};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(common_of(orders[i], (size_t[]){1, 1, 1}, 3, worth), 0);
}

/* A profile may have hosts without names, clocks and windows. */
static void without_clocks_nothing_is_united(void **state)
{
    (void)state;
    struct gn_error err = {""};
    sqlite3 *db;
    assert_int_equal(gn_profile_create(&db, ":memory:", &err), 0);
    gn_profile_set(db, "windows/left/spans", "1 2", NULL);
    gn_profile_set(db, "windows/left/path", "windows-left", NULL);
    assert_true(gn_profile_unite_windows(db, "windows", &err) < 0);
    assert_true(strlen(err.text) > 0);
    gn_profile_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_read_as_it_was_written),
        cmocka_unit_test(no_sense_is_no_window),
        cmocka_unit_test(all_have_what_is_in_all),
        cmocka_unit_test(without_clocks_nothing_is_united),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
