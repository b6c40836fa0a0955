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
    const struct gn_asked_node *root = &asked.nodes[asked.node_count - 1];
    assert_int_equal(root->kind, GN_ASKED_ALL_BUT);
    assert_int_equal(root->who_count, 0);
    assert_int_equal(root->least, others);
    check_place(&root->a, a);
    if (b)
        check_place(&root->b, b);
    else
        assert_null(root->b.region);
    gn_question_clear(&asked);
}

static void is_wrong(const char *text, size_t at, const char *why)
{
    struct gn_asked asked;
    struct gn_question_error error;
    assert_int_equal(gn_question_parse(&asked, text, &error), -EINVAL);
    if (error.at != at || strcmp(error.text, why) != 0)
        fail_msg("%s: at %zu: %s; expected at %zu: %s", text, error.at, error.text, at, why);
    assert_null(asked.nodes);
    assert_null(asked.whos);
}

#define ATOM "all, any, none, at least, at most, exactly, a rank, thread or host, not or \"(\""

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
    is_wrong("", 0, ATOM " is expected, but the text ends here");
    is_wrong("most in A", 0, ATOM " is expected, not \"most\"");
    is_wrong(
        "all", 3,
        "\"in\", \"but\", \"of\", waiting, busy, calling or running is expected, but the text ends here");
    is_wrong("all at A", 4,
             "\"in\", \"but\", \"of\", waiting, busy, calling or running is expected, not \"at\"");
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

/* ---- any state ---- */

static void write_place(char *text, const struct gn_asked_place *place)
{
    static const char *const words[] = {"", "waiting", "busy", "calling", "running"};
    strcat(text, place->where == GN_WHERE_REGION ? place->region ? place->region : "-" : words[place->where]);
}

static void write_whos(char *text, const struct gn_asked *a, const struct gn_asked_node *node)
{
    for (uint32_t w = node->first_who; w < node->first_who + node->who_count; w++) {
        const struct gn_asked_who *who = &a->whos[w];
        char *end = text + strlen(text);
        if (who->kind == GN_ASKED_WHO_HOST)
            sprintf(end, " @%s", who->host);
        else if (who->kind == GN_ASKED_WHO_THREAD)
            sprintf(end, " %u:%u", who->first, who->thread);
        else if (who->first == who->last)
            sprintf(end, " %u", who->first);
        else
            sprintf(end, " %u-%u", who->first, who->last);
    }
}

/* As lists: (and (in A 0) (count 1 - A)). */
static void write_node(char *text, const struct gn_asked *a, uint32_t index)
{
    static const char *const kinds[] = {"in", "count", "but", "not", "and", "or"};
    const struct gn_asked_node *node = &a->nodes[index];
    sprintf(text + strlen(text), "(%s", kinds[node->kind]);
    for (uint32_t c = node->child; c != GN_ASKED_NO_NODE; c = a->nodes[c].next) {
        strcat(text, " ");
        write_node(text, a, c);
    }
    if (node->kind == GN_ASKED_COUNT)
        sprintf(text + strlen(text), node->most == UINT32_MAX ? " %u-" : " %u-%u", node->least, node->most);
    if (node->kind == GN_ASKED_ALL_BUT)
        sprintf(text + strlen(text), " %u", node->least);
    if (node->kind <= GN_ASKED_ALL_BUT) {
        strcat(text, " ");
        write_place(text, &node->a);
    }
    if (node->kind == GN_ASKED_ALL_BUT && node->b.where + (node->b.region != NULL)) {
        strcat(text, " ");
        write_place(text, &node->b);
    }
    write_whos(text, a, node);
    strcat(text, ")");
}

static void reads(const char *text, const char *as)
{
    struct gn_asked asked;
    struct gn_question_error error;
    char is[1000] = "";
    if (gn_question_parse(&asked, text, &error) != 0)
        fail_msg("%s: at %zu: %s", text, error.at, error.text);
    write_node(is, &asked, (uint32_t)asked.node_count - 1);
    assert_string_equal(is, as);
    gn_question_clear(&asked);
}

static void who_is_named(void **state)
{
    (void)state;
    reads("0 in MPI_Recv", "(in MPI_Recv 0)");
    reads("rank 12 waiting", "(in waiting 12)");
    reads("3:1 in f", "(in f 3:1)");
    reads("thread 3:0 running", "(in running 3:0)");
    reads("host node2 in A", "(in A @node2)");
    reads("host 'a b' computing", "(in busy @a b)");
    reads("host host in host", "(in host @host)");
}

static void so_many_are_counted(void **state)
{
    (void)state;
    reads("any in A", "(count 1- A)");
    reads("some waiting", "(count 1- waiting)");
    reads("none of 0-3, 7, 8:1, host b in A", "(count 0-0 A 0-3 7 8:1 @b)");
    reads("at least 3 in MPI_Barrier", "(count 3- MPI_Barrier)");
    reads("at most one computing", "(count 0-1 busy)");
    reads("exactly 0 calling", "(count 0-0 calling)");
    reads("all busy", "(but 0 busy)");
    reads("all of 0-1 in A", "(but 0 A 0-1)");
    reads("all in computing", "(but 0 computing)"); /* a region */
}

static void what_is_put_together(void **state)
{
    (void)state;
    reads("0 in A and 1 in B or 2 in C", "(or (and (in A 0) (in B 1)) (in C 2))");
    reads("0 in A && (1 in B || 2 in C)", "(and (in A 0) (or (in B 1) (in C 2)))");
    reads("not 0 in A and not(any in B)", "(and (not (in A 0)) (not (count 1- B)))");
    reads("!!(0 in A)", "(not (not (in A 0)))");
    reads("0 in A and 1 in B and 2 in C", "(and (in A 0) (in B 1) (in C 2))");
    reads("all but one in A, that one in B and 0 in and", "(and (but 1 A B) (in and 0))");
    reads("(0 in f(int)::g)", "(in f(int)::g 0)");
    reads("(0 in 'A')or(1 waiting)", "(or (in A 0) (in waiting 1))");
}

static void wrong_states_are_told_where(void **state)
{
    static const char *const missing = "\"in\", waiting, busy, calling or running is expected, ";
    char text[1000];
    (void)state;
    snprintf(text, sizeof text, "%snot \"at\"", missing);
    is_wrong("0 in A and 1 at B", 13, text);
    is_wrong("0 in A and", 10, ATOM " is expected, but the text ends here");
    is_wrong("0 in A && ) ", 10, ATOM " is expected, not \")\"");
    is_wrong("(0 in A", 0, "this parenthesis is not closed");
    is_wrong("(0 in A 1 in B)", 8, "and, or or \")\" is expected, not \"1\"");
    is_wrong("0 in A)", 6, "the end is expected, not \")\"");
    is_wrong("0x in A", 1, "a space behind the number is expected, not \"x\"");
    is_wrong("0: in A", 3, "a thread's number is expected, not \"in\"");
    is_wrong("any of in A", 7,
             "a rank, ranks such as 0-3, a thread such as 0:1, or a host is expected, not \"in\"");
    is_wrong("any of 3-1 in A", 9, "the last rank, 1, is before the first one, 3");
    is_wrong("any of 3- in A", 10, "the last rank is expected, not \"in\"");
    is_wrong("any of 1 2 in A", 9,
             "a comma, \"in\", waiting, busy, calling or running is expected, not \"2\"");
    is_wrong("4294967296 in A", 0, "more than 4294967295 is no rank or thread");
    is_wrong("at 3 in A", 3, "\"least\" or \"most\" is expected, not \"3\"");
    is_wrong("at least x in A", 9, "how many, one or a number from 0 on, is expected, not \"x\"");
    snprintf(text, sizeof text, "%snot \"A\"", missing); /* the host's name is "in" */
    is_wrong("host in A", 8, text);
    is_wrong("0-1 in A", 1, "a space behind the number is expected, not \"-1\"");
}

static void depth_is_limited(void **state)
{
    char text[300];
    (void)state;
    memset(text, '!', 200);
    strcpy(text + 99, "0 in A");
    reads("((((0 in A))))", "(in A 0)");
    is_wrong("!", 1, ATOM " is expected, but the text ends here");
    struct gn_asked asked;
    struct gn_question_error error;
    assert_int_equal(gn_question_parse(&asked, text, &error), 0);
    gn_question_clear(&asked);
    memset(text, '!', 200);
    text[200] = '\0';
    is_wrong(text, 100, "more than 100 levels of not and ( are too many");
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
    is_wrong(text, 1 << 16, ATOM " is expected, but the text ends here");
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
        cmocka_unit_test(who_is_named),
        cmocka_unit_test(so_many_are_counted),
        cmocka_unit_test(what_is_put_together),
        cmocka_unit_test(wrong_states_are_told_where),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(long_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
