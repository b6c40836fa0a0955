/* Frames of Python in capture: lines, names, and what stands in the segment. */
#include "capture.h"
#include "capture/callpath.h"
#include "unwind/python_code.h"
#include "capture/sources.h"
#include "image/source_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- lines ---- */

static uint32_t line_at(const uint8_t *table, uint32_t bytes, uint32_t instruction)
{
    uint32_t used;
    const uint32_t line = gn_python_line(table, bytes, 10, instruction, &used);
    assert_true(used <= bytes);
    return line;
}

/* Each form once: the first byte is 0x80, form << 3, instructions - 1. */
static void lines_of_all_forms(void **state)
{
    (void)state;
    static const uint8_t table[] = {
        0x80 | 15 << 3 | 0,                         /* instruction 0: no line */
        0x80 | 3 << 3 | 1,  0x12,                   /* 1, 2: short, the same line */
        0x80 | 12 << 3 | 0, 0,          0,          /* 3: two lines on */
        0x80 | 13 << 3 | 0, 5 << 1 | 1,             /* 4: five lines back, no columns */
        0x80 | 14 << 3 | 7, 0x40 | 0,   2, 0, 0, 0, /* 5 … 12: 64 lines on, in two pieces */
    };
    static const uint32_t wanted[] = {0, 10, 10, 12, 7, 71, 71, 71, 71, 71, 71, 71, 71, 0, 0};
    for (uint32_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        assert_int_equal(line_at(table, sizeof table, 2 * i), wanted[i]);
}

/* Bytes of any kind, of any length: nothing beyond them is looked at (the sanitized preset sees that). */
static void any_bytes_are_a_table(void **state)
{
    (void)state;
    srand(1);
    for (int i = 0; i < 20000; i++) {
        const uint32_t bytes = (uint32_t)rand() % 20;
        uint8_t *table = malloc(bytes + 1u);
        assert_non_null(table);
        memset(table, 0x7f, bytes + 1u);
        uint8_t *exact = realloc(table, bytes ? bytes : 1);
        assert_non_null(exact);
        for (uint32_t b = 0; b < bytes; b++)
            exact[b] = (uint8_t)rand();
        line_at(exact, bytes, (uint32_t)rand() % 200);
        free(exact);
    }
}

/* ---- text ---- */

static const char *text_of(const void *data, uint32_t count, uint32_t width, bool keep_end, size_t size)
{
    static char to[GN_PATH_BYTES];
    const struct gn_python_object object = {.count = count, .width = width, .data = (uintptr_t)data};
    memset(to, '!', sizeof to);
    assert_true(gn_python_text(&object, (struct gn_memory){gn_copy_memory, 0}, keep_end, to, size));
    return to;
}

static void text_becomes_utf8(void **state)
{
    (void)state;
    static const uint16_t wide[] = {'a', 0xe4, 0x4e16, 0xd800, 'z'};
    static const uint32_t widest[] = {0x1f600, 0x110000, 'b'};
    assert_string_equal(text_of("solver.py", 9, 1, true, 100), "solver.py");
    assert_string_equal(text_of("gr\xf6\xdf"
                                "e",
                                5, 1, true, 100),
                        "größe");
    assert_string_equal(text_of(wide, 5, 2, true, 100), "aä世?z");
    assert_string_equal(text_of(widest, 3, 4, true, 100), "😀?b");
    assert_string_equal(text_of("", 0, 1, true, 100), "");
}

static void text_that_is_too_long_is_marked(void **state)
{
    (void)state;
    static const uint16_t wide[] = {0x4e16, 0x4e16, 0x4e16, 0x4e16};
    assert_string_equal(text_of("0123456789", 10, 1, true, 11), "0123456789");
    assert_string_equal(text_of("0123456789", 10, 1, true, 10), "...456789");
    assert_string_equal(text_of("0123456789", 10, 1, false, 10), "012345...");
    assert_string_equal(text_of(wide, 4, 2, true, 12), "...世世");
    char many[2000];
    memset(many, 'x', sizeof many);
    assert_int_equal(strlen(text_of(many, sizeof many, 1, true, GN_PATH_BYTES)), GN_PATH_BYTES - 1);
}

static void text_that_is_not_there_is_refused(void **state)
{
    (void)state;
    char to[20];
    const struct gn_python_object object = {.count = 5, .width = 1, .data = 8};
    assert_false(gn_python_text(&object, (struct gn_memory){gn_copy_memory, 0}, true, to, sizeof to));
}

/* ---- sources[] ---- */

static void a_line_is_there_once(void **state)
{
    (void)state;
    struct gn_tag *t = test_segment(1);
    GN_SET(t->module_count, 1);
    const uint32_t a = gn_source_line_find(t, "a.py", "f", 3, 4),
                   b = gn_source_line_find(t, "a.py", "f", 3, 5),
                   c = gn_source_line_find(t, "a.py", "g", 3, 4),
                   d = gn_source_line_find(t, "b.py", "f", 3, 4);
    assert_true(a && b && c && d && a != b && a != c && a != d && c != d);
    assert_int_equal(gn_source_line_find(t, "a.py", "f", 3, 4), a);
    assert_int_equal(t->sources[b].function_of, a); /* another line of the same function */
    assert_int_equal(t->sources[c].function_of, c);
    assert_int_equal(t->sources[d].function_of, d);
    assert_string_equal(t->modules[t->sources[d].module].path, "b.py");
    assert_int_equal(t->modules[t->sources[d].module].kind, GN_MODULE_PYTHON);
    uint32_t line = 10, found;
    while ((found = gn_source_line_find(t, "b.py", "f", 3, line)) != 0)
        line++;
    assert_int_equal(GN_GET(t->source_count), GN_MAX_SOURCES);
    assert_int_equal(gn_source_line_find(t, "a.py", "f", 3, 4), a); /* what is there stays */
}

/* ---- paths ---- */

static struct gn_stack_frame python_frame(const struct gn_tag *t, uint32_t source)
{
    return (struct gn_stack_frame){.ip = GN_PYTHON_FRAME | source,
                                   .function = GN_PYTHON_FRAME | t->sources[source].function_of,
                                   .module = (uint16_t)t->sources[source].module};
}

static void interpreters_frames_are_left_out(void **state)
{
    (void)state;
    struct gn_tag *t = test_segment(1);
    GN_SET(t->frame_count, 1);
    GN_SET(t->module_count, 3);
    t->modules[1] =
        (struct gn_module){.base = 0x1000, .kind = GN_MODULE_INTERPRETER, .path = "libpython3.so"};
    t->modules[2] = (struct gn_module){.base = 0x2000, .path = "extension.so"};
    const uint32_t main = gn_source_line_find(t, "libmpi.py", "<module>", 1, 80),
                   step = gn_source_line_find(t, "libmpi.py", "step", 20, 25);
    const struct gn_stack_frame loop = {.ip = 0x1100, .function = 0x1100, .module = 1},
                                inside = {.ip = 0x2200, .function = 0x2200, .module = 2};
    struct gn_stack_frame stack[] = {
        python_frame(t, main), python_frame(t, step), loop, inside, loop, inside};
    bool cut;
    uint32_t path, plain;
    assert_true(gn_callpath_find(t, stack, 6, &path, &cut));
    assert_false(cut);
    const struct gn_tag_frame *innermost = &t->frames[path], *middle = &t->frames[innermost->parent];
    assert_int_equal(innermost->module, 2);
    assert_int_equal(innermost->offset, 0x200);
    assert_int_equal(innermost->folded, 1);
    assert_int_equal(middle->offset, step);
    assert_int_equal(t->frames[middle->parent].offset, main);
    assert_int_equal(t->frames[middle->parent].parent, 0);
    struct gn_stack_frame without[] = {loop, inside};
    assert_true(gn_callpath_find(t, without, 2, &plain, &cut));
    assert_int_equal(t->frames[t->frames[plain].parent].module, 1); /* nothing else is known: it stays */
}

/* ---- what ranks compare ---- */

static void keys_tell_lines_and_functions_apart(void **state)
{
    (void)state;
    struct gn_source_line a = {.line = 42, .first_line = 40, .function = "<lambda>"}, b = a;
    assert_int_equal(gn_source_line_key(&a), gn_source_line_key(&b));
    strcpy(b.function + strlen(b.function) + 1, "what was there before"); /* beyond the name's end */
    assert_int_equal(gn_source_line_key(&a), gn_source_line_key(&b));
    b.line = 43;
    assert_int_not_equal(gn_source_line_key(&a), gn_source_line_key(&b));
    b = a;
    b.first_line = 42;
    assert_int_not_equal(gn_source_line_key(&a), gn_source_line_key(&b));
    b = a;
    strcpy(b.function, "<listcomp>");
    assert_int_not_equal(gn_source_line_key(&a), gn_source_line_key(&b));
    a.line = 0xffffff;
    assert_true((int64_t)gn_source_line_key(&a) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_all_forms),
        cmocka_unit_test(any_bytes_are_a_table),
        cmocka_unit_test(text_becomes_utf8),
        cmocka_unit_test(text_that_is_too_long_is_marked),
        cmocka_unit_test(text_that_is_not_there_is_refused),
        cmocka_unit_test(a_line_is_there_once),
        cmocka_unit_test(interpreters_frames_are_left_out),
        cmocka_unit_test(keys_tell_lines_and_functions_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
