/* question: what a text asks for, and where and how one that asks for nothing is wrong. */
#include "analyse/question.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* where: <waiting>, <busy>, or the region's name. */
static void check_place(const struct gn_asked_place *place, const char *where)
{
    if (strcmp(where, "<waiting>") == 0)
        assert_int_equal(place->where, GN_WHERE_WAITING);
    else if (strcmp(where, "<busy>") == 0)
        assert_int_equal(place->where, GN_WHERE_BUSY);
    else {
        assert_int_equal(place->where, GN_WHERE_REGION);
        assert_string_equal(place->region, where);
        return;
    }
    assert_null(place->region);
}

static void means(const char *text, uint32_t others, const char *a, const char *b)
{
    struct gn_asked asked;
    struct gn_question_error error;
    if (gn_question_parse(&asked, text, &error) != 0)
        fail_msg("%s: at %zu: %s", text, error.at, error.text);
    assert_int_equal(asked.question.others, others);
    check_place(&asked.a, a);
    if (b)
        check_place(&asked.b, b);
    else
        assert_null(asked.b.region);
    gn_question_clear(&asked);
}

static void is_wrong(const char *text, size_t at, const char *why)
{
    struct gn_asked asked;
    struct gn_question_error error;
    assert_int_equal(gn_question_parse(&asked, text, &error), -EINVAL);
    if (error.at != at || strcmp(error.text, why) != 0)
        fail_msg("%s: at %zu: %s; expected at %zu: %s", text, error.at, error.text, at, why);
    assert_null(asked.a.region);
    assert_null(asked.b.region);
}

static void all_in_one_place(void **state)
{
    (void)state;
    means("all in compute", 0, "compute", NULL);
    means("  all\tin\nwaiting ", 0, "<waiting>", NULL);
    means("all in busy", 0, "<busy>", NULL);
}

static void all_but_one(void **state)
{
    (void)state;
    means("all but one in waiting, that one in busy", 1, "<waiting>", "<busy>");
    means("all but 1 in MPI_Barrier , those in solve", 1, "MPI_Barrier", "solve");
    means("all but one in A,that one in B", 1, "A", "B");
}

static void all_but_some(void **state)
{
    (void)state;
    means("all but 3 in A, those in B", 3, "A", "B");
    means("all but 4294967295 in A, those in B", UINT32_MAX, "A", "B");
    means("all but 007 in A, those in B", 7, "A", "B");
}

static void names_in_quotation_marks(void **state)
{
    (void)state;
    means("all in 'waiting'", 0, "waiting", NULL);
    means("all but one in \"std::map<int, int>::at(int const&)\", that one in 'say \"no\"'", 1,
          "std::map<int, int>::at(int const&)", "say \"no\"");
    means("all in \"it's\"", 0, "it's", NULL);
    means("all in 'a b' ", 0, "a b", NULL);
}

static void words_of_the_grammar_are_names(void **state)
{
    (void)state;
    means("all in in", 0, "in", NULL);
    means("all but one in one, that one in that", 1, "one", "that");
    means("all in waiting_room", 0, "waiting_room", NULL);
    means("all in f\xc3\xbcr", 0, "f\xc3\xbcr", NULL);
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    is_wrong("", 0, "\"all\" is expected, but the text ends here");
    is_wrong("some in A", 0, "\"all\" is expected, not \"some\"");
    is_wrong("all", 3, "\"in\" or \"but\" is expected, but the text ends here");
    is_wrong("all at A", 4, "\"in\" or \"but\" is expected, not \"at\"");
    is_wrong("all in", 6, "a region's name, waiting or busy is expected, but the text ends here");
    is_wrong("all in ,", 7, "a region's name, waiting or busy is expected, not \",\"");
    is_wrong("all in A B", 9, "the end is expected, not \"B\"");
    is_wrong("all in A, those in B", 8, "the end is expected, not \",\"");
    is_wrong("all but one in A", 16, "a comma and where the others are is expected, but the text ends here");
    is_wrong("all but one in A that one in B", 17,
             "a comma and where the others are is expected, not \"that\"");
    is_wrong("all but one in A, it in B", 18, "\"that one\" is expected, not \"it\"");
    is_wrong("all but one in A, that in B", 23, "\"one\" is expected, not \"in\"");
    is_wrong("all but 2 in A, that one in B", 16, "\"those\" is expected, not \"that\"");
    is_wrong("all but 2 in A, those at B", 22, "\"in\" is expected, not \"at\"");
}

static void numbers_are_positive(void **state)
{
    static const char *const why = "how many, one or a number from 1 on, is expected, not ";
    char text[100];
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        static const char *const words[] = {"0", "-1", "two", "1.5"};
        char question[100];
        snprintf(text, sizeof text, "%s\"%s\"", why, words[i]);
        snprintf(question, sizeof question, "all but %s in A, those in B", words[i]);
        is_wrong(question, 8, text);
    }
    is_wrong("all but 4294967296 in A, those in B", 8, "more than 4294967295 locations are too many");
    is_wrong("all but 99999999999999999999999 in A, those in B", 8,
             "more than 4294967295 locations are too many");
}

static void strings_end(void **state)
{
    (void)state;
    is_wrong("all in \"A", 7, "the name that begins here does not end: a second \" is missing");
    is_wrong("all in ''", 7, "a region's name is not empty");
    is_wrong("all in 'A'B", 10, "after a name in quotation marks comes a space or a comma");
    is_wrong("all in A'B'", 8, "the end is expected, not \"'\"");
}

static void long_texts_are_refused(void **state)
{
    (void)state;
    size_t size = (1 << 16) + 2;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, ' ', size);
    text[size - 1] = '\0';
    is_wrong(text, 1 << 16, "more than 65536 characters are too many");
    text[size - 2] = '\0';
    is_wrong(text, 1 << 16, "\"all\" is expected, but the text ends here");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_in_one_place),
        cmocka_unit_test(all_but_one),
        cmocka_unit_test(all_but_some),
        cmocka_unit_test(names_in_quotation_marks),
        cmocka_unit_test(words_of_the_grammar_are_names),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(numbers_are_positive),
        cmocka_unit_test(strings_end),
        cmocka_unit_test(long_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
