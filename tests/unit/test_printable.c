/* base/printable: whatever a name is, what is shown of it is text. */
#include "base/error.h"
#include "base/printable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void shown(const char *raw, const char *expected)
{
    char text[64];
    assert_string_equal(gn_printable_copy(text, sizeof text, raw), expected);
}

static void text_stays_as_it_is(void **state)
{
    (void)state;
    shown("", "");
    shown("compute (app.c:31)", "compute (app.c:31)");
    shown("größer … 計算 🙂", "größer … 計算 🙂");
}

static void commands_to_a_terminal_are_question_marks(void **state)
{
    (void)state;
    shown("a\033[31mb", "a?[31mb");
    shown("a\nb\tc\rd\177", "a?b?c?d?");
    shown("a\302\233b", "a?b");     /* CSI as one character of C1 */
    shown("a\342\200\256b", "a?b"); /* text that is shown backward */
    shown("a\342\200\250b", "a?b"); /* line separator */
}

static void what_is_no_utf8_is_question_marks(void **state)
{
    (void)state;
    shown("gr\366\337er", "gr??er");       /* Latin-1 */
    shown("a\300\257b", "a??b");           /* a slash, too long */
    shown("a\355\240\200b", "a???b");      /* half of a pair */
    shown("a\364\220\200\200b", "a????b"); /* beyond the last one */
    shown("\200\277", "??");
}

static void a_character_that_was_cut_off_goes(void **state)
{
    char text[4];
    (void)state;
    assert_string_equal(gn_printable_copy(text, sizeof text, "abö"), "ab");
    shown("ab\342\202", "ab");
    assert_string_equal(gn_printable_copy(text, 1, "abc"), "");
}

static void errors_are_one_line(void **state)
{
    struct gn_error err;
    (void)state;
    assert_int_equal(gn_fail(&err, -2, "no region \"%s\"", "\033]0;title\007\n"), -2);
    assert_string_equal(err.text, "no region \"?]0;title??\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_stays_as_it_is),
        cmocka_unit_test(commands_to_a_terminal_are_question_marks),
        cmocka_unit_test(what_is_no_utf8_is_question_marks),
        cmocka_unit_test(a_character_that_was_cut_off_goes),
        cmocka_unit_test(errors_are_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
