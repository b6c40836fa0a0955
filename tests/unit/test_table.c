/* answer/table and answer/fit: one description, three forms; text that fits, and numbers that stay whole. */
#include "answer/fit.h"
#include "answer/table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct gn_column columns[] = {
    {.title = "time", .name = "time_s", .kind = GN_CELL_DURATION, .digits = 9},
    {.title = "share", .name = "share", .kind = GN_CELL_SHARE, .goes = 1, .meaning = "of the time"},
    {.title = "of all",
     .name = "part_percent",
     .kind = GN_CELL_PERCENTAGES,
     .goes = 2,
     .meaning = "of a part"},
    {.name = "line", .kind = GN_CELL_NUMBER, .flags = GN_COLUMN_ZERO},
    {.title = "calls", .name = "count", .kind = GN_CELL_COUNT, .flags = GN_COLUMN_NO_JSON},
    {.title = "where", .name = "name", .least = 20, .is_middle = true},
};

static const char *const names[] = {
    "main",
    "a_function_with_a_name_that_is_much_too_long_for_any_terminal_and_goes_on_and_on_and_on_and_on_until_it_"
    "does_not_fit_even_there app.c:85",
    "evil\033[2J, \"quoted\"\n",
};

static void fill(const void *self, size_t row, struct gn_cell *cells)
{
    (void)self;
    gn_cell_real(&cells[0], 12345678.0 * (double)(row + 1));
    gn_cell_real(&cells[1], 0.5);
    gn_cell_bounds(&cells[2], 0.25, 0.3);
    if (row > 0)
        gn_cell_number(&cells[3], (int64_t)row);
    gn_cell_number(&cells[4], 1234567);
    gn_cell_text(&cells[5], names[row]);
}

static const struct gn_table table = {.columns = columns,
                                      .column_count = sizeof columns / sizeof *columns,
                                      .row_count = 3,
                                      .left_out = 7,
                                      .fill = fill,
                                      .indent = 2};

/* As it comes out of a page that wide; the caller's. */
static char *text_of(const struct gn_table *t, int width)
{
    const struct gn_terminal terminal = {.width = width};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct gn_page page;
    gn_page_open(&page, &terminal, out);
    assert_int_equal(gn_table_text(t, &terminal, page.out), 0);
    gn_page_close(&page);
    fclose(out);
    return text;
}

static int widest(const char *text)
{
    int most = 0;
    char *copy = strdup(text);
    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n"))
        most = gn_columns_of(line) > most ? gn_columns_of(line) : most;
    free(copy);
    return most;
}

static void text_fits_and_numbers_stay(void **state)
{
    (void)state;
    for (int width = GN_WIDTH_LEAST; width <= 200; width++) {
        char *text = text_of(&table, width);
        assert_true(widest(text) <= width);
        assert_non_null(strstr(text, "12.3 ms"));
        assert_non_null(strstr(text, "1,234,567"));
        assert_non_null(strstr(text, "37.0 ms"));
        assert_non_null(strstr(text, "app.c:85")); /* shortened in the middle: what is behind stays */
        assert_non_null(strstr(text, "… and 7 more (--top 0 shows all)"));
        free(text);
    }
}

static void columns_go_where_there_is_no_room(void **state)
{
    (void)state;
    char *wide = text_of(&table, 140), *narrow = text_of(&table, 50);
    assert_non_null(strstr(wide, "25.00 to 30.00 %"));
    assert_non_null(strstr(wide, "50.0 %"));
    assert_null(strstr(narrow, "30.00 %")); /* the first to go */
    assert_non_null(strstr(narrow, "50.0 %"));
    free(wide);
    free(narrow);
    narrow = text_of(&table, 45);
    assert_null(strstr(narrow, "50.0 %"));
    assert_non_null(strstr(narrow, "12.3 ms"));
    free(narrow);
}

static void meaning_is_told_of_what_is_shown(void **state)
{
    (void)state;
    static const struct {
        int width;
        const char *text;
    } told[] = {{140, "share: of the time · of all: of a part\n"}, {50, "share: of the time\n"}, {45, ""}};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        const struct gn_terminal terminal = {.width = told[i].width};
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        assert_int_equal(gn_table_meaning(&table, &terminal, out), 0);
        fclose(out);
        assert_string_equal(text, told[i].text);
        free(text);
    }
}

static void names_cannot_command_the_terminal(void **state)
{
    (void)state;
    char *text = text_of(&table, 140);
    assert_null(strchr(text, '\033'));
    assert_null(strchr(text, *GN_AS_IT_IS));
    assert_non_null(strstr(text, "evil?[2J, \"quoted\"?"));
    free(text);
}

static void csv_has_all_columns_and_no_units(void **state)
{
    char *text = NULL;
    size_t size = 0;
    (void)state;
    FILE *out = open_memstream(&text, &size);
    struct gn_table one = table;
    one.row_count = 1;
    assert_int_equal(gn_table_csv(&one, out), 0);
    fclose(out);
    assert_string_equal(text, "time_s,share,part_percent_lo,part_percent_hi,line,count,name\n"
                              "0.012345678,0.5,25,30,0,1234567,main\n");
    free(text);
    out = open_memstream(&text, &size);
    gn_csv_field(out, "a,\"b\"\n");
    fclose(out);
    assert_string_equal(text, "\"a,\"\"b\"\"\n\"");
    free(text);
}

static void json_has_its_members(void **state)
{
    (void)state;
    json_t *rows = gn_table_json(&table);
    const json_t *first = json_array_get(rows, 0), *second = json_array_get(rows, 1);
    assert_int_equal(json_array_size(rows), 3);
    assert_true(fabs(json_real_value(json_object_get(first, "time_s")) - 0.012345678) < 1e-15);
    assert_true(json_is_null(json_object_get(first, "line")));
    assert_int_equal(json_integer_value(json_object_get(second, "line")), 1);
    assert_null(json_object_get(first, "count"));
    const json_t *part = json_object_get(first, "part_percent");
    assert_true(json_real_value(json_object_get(part, "lo")) == 25);
    assert_true(json_real_value(json_object_get(part, "hi")) == 30);
    assert_string_equal(json_string_value(json_object_get(first, "name")), "main");
    json_decref(rows);
}

static void fill_path(const void *self, size_t row, struct gn_cell *cells)
{
    (void)self;
    (void)row;
    gn_cell_real(&cells[0], 1e6);
    gn_cell_text(&cells[1],
                 "main:162 > iterate:110 > exchange:33 > MPI_Waitall and more of it behind that, all "
                 "of which is to be seen whatever the width of the terminal is");
}

static void what_is_folded_stays_whole(void **state)
{
    static const struct gn_column path_columns[] = {
        {.title = "time", .kind = GN_CELL_DURATION},
        {.title = "path", .flags = GN_COLUMN_FOLD, .least = 20},
    };
    const struct gn_table paths = {
        .columns = path_columns, .column_count = 2, .row_count = 1, .fill = fill_path};
    (void)state;
    char *text = text_of(&paths, 72), *end;
    assert_true(widest(text) <= 72);
    assert_null(strstr(text, "…"));
    assert_non_null(end = strstr(text, "of the terminal is\n"));
    assert_int_equal(end[-1], ' ');
    free(text);
}

/* ---- sentences ---- */

static char *folded(const char *text, int width)
{
    char *result = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&result, &size);
    gn_fold(text, width, out);
    fclose(out);
    return result;
}

static void folds(const char *text, int width, const char *expected)
{
    char *result = folded(text, width);
    assert_string_equal(result, expected);
    free(result);
}

static void sentences_are_folded_at_spaces(void **state)
{
    (void)state;
    folds("short\nlines\n", 10, "short\nlines\n");
    folds("one two three four\n", 10, "one two\n  three\n  four\n");
    folds("exactly10c\n", 10, "exactly10c\n");
    folds("0123456789 b\n", 10, "0123456789\n  b\n");
    folds("  indented text here\n", 14, "  indented\n    text here\n");
    folds("a/very/long/path stays whole\n", 10, "a/very/long/path\n  stays\n  whole\n");
    folds(GN_AS_IT_IS "a command that is to be copied\n", 10, "a command that is to be copied\n");
    folds("größe größe größe\n", 11, "größe größe\n  größe\n");
    folds("\033[1mbold\033[0m and so on\n", 11, "\033[1mbold\033[0m and so\n  on\n");
    folds("takes 12.3 ms longer\n", 10, "takes\n  12.3 ms\n  longer\n");
    folds("takes 12 months longer\n", 10, "takes 12\n  months\n  longer\n");
    folds("", 10, "");
    folds("\n\nno end", 80, "\n\nno end");
}

static void shortens(const char *text, int room, bool is_middle, const char *expected)
{
    char *result = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&result, &size);
    gn_print_short(text, room, is_middle, &(struct gn_terminal){.width = 80}, out);
    fclose(out);
    assert_string_equal(result, expected);
    free(result);
}

static void names_are_shortened(void **state)
{
    (void)state;
    shortens("abc", 3, false, "abc");
    shortens("abcdefgh", 5, false, "abcd…");
    shortens("abcdefgh", 7, true, "abc…fgh");
    shortens("größer als", 5, false, "größ…");
    shortens("abc", 1, true, "…");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_fits_and_numbers_stay),
        cmocka_unit_test(columns_go_where_there_is_no_room),
        cmocka_unit_test(meaning_is_told_of_what_is_shown),
        cmocka_unit_test(names_cannot_command_the_terminal),
        cmocka_unit_test(csv_has_all_columns_and_no_units),
        cmocka_unit_test(json_has_its_members),
        cmocka_unit_test(what_is_folded_stays_whole),
        cmocka_unit_test(sentences_are_folded_at_spaces),
        cmocka_unit_test(names_are_shortened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
