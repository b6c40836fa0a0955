/* agent/sample_python: lines of Python as they lie in memory, here in a made interpreter; and whatever else
 * may lie there. */
#include "agent/sample_python.h"
#include "base/mix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

struct text {
    uintptr_t type, length;
    uint32_t state, more;
    char data[80];
};

struct code {
    uintptr_t type, units, file, name, lines;
    uint32_t first_line, traceable;
    uintptr_t more[2];
    uint8_t instructions[32];
};

struct frame {
    uintptr_t previous, code, ip;
    uint8_t owner, more[7];
};

struct made {
    struct {
        uintptr_t frame, thread;
    } state;
    struct frame frames[3];
    struct code codes[2];
    struct text file, importing, name;
    struct {
        uintptr_t type, size;
        uint8_t data[8];
    } lines;
    struct gn_tag *tag;
    struct gn_sample_places *places;
    struct gn_sample_code *modules;
    struct gn_sample_python *python;
    uint32_t called;
};

enum { CODE = 0x1001, TEXT = 0x1002, BYTES = 0x1003, ASCII = 1 << 2 | 1 << 5 | 1 << 6, OF_C = 3 };

static void set_text(struct text *t, const char *text)
{
    *t = (struct text){.type = TEXT, .length = strlen(text), .state = ASCII};
    strcpy(t->data, text);
}

static void set_code(struct made *m, int which, const struct text *file)
{
    m->codes[which] = (struct code){.type = CODE,
                                    .units = 16,
                                    .file = (uintptr_t)file,
                                    .name = (uintptr_t)&m->name,
                                    .lines = (uintptr_t)&m->lines,
                                    .first_line = 7};
}

static void set_frame(struct made *m, int which, uint8_t owner, int code)
{
    m->frames[which] = (struct frame){.previous = which < 2 ? (uintptr_t)&m->frames[which + 1] : 0,
                                      .code = (uintptr_t)&m->codes[code],
                                      .ip = (uintptr_t)m->codes[code].instructions + 2 * (unsigned)which,
                                      .owner = owner};
}

static void begin(struct made *m)
{
    static const struct gn_python_layout layout = {.state_frame = offsetof(struct made, state.frame),
                                                   .state_native_thread = offsetof(struct made, state.thread),
                                                   .frame_previous = offsetof(struct frame, previous),
                                                   .frame_code = offsetof(struct frame, code),
                                                   .frame_ip = offsetof(struct frame, ip),
                                                   .frame_owner = offsetof(struct frame, owner),
                                                   .code_file = offsetof(struct code, file),
                                                   .code_name = offsetof(struct code, name),
                                                   .code_lines = offsetof(struct code, lines),
                                                   .code_first_line = offsetof(struct code, first_line),
                                                   .code_first_traceable = offsetof(struct code, traceable),
                                                   .code_start = offsetof(struct code, instructions),
                                                   .object_size = offsetof(struct code, units),
                                                   .bytes_data = 16,
                                                   .text_length = offsetof(struct text, length),
                                                   .text_state = offsetof(struct text, state),
                                                   .text_ascii_data = offsetof(struct text, data),
                                                   .text_wide_data = offsetof(struct text, data)};
    memset(m, 0, sizeof *m);
    m->tag = calloc(1, gn_tag_bytes(1));
    m->places = gn_sample_places_new();
    m->modules = gn_sample_code_new();
    m->python = calloc(1, sizeof *m->python);
    m->tag->python =
        (struct gn_python_known){.layout = layout, .code_type = CODE, .text_type = TEXT, .bytes_type = BYTES};
    GN_SET(m->tag->python_known, 1);
    GN_SET(m->tag->locations[0].python_state, (uintptr_t)m);
    m->state.frame = (uintptr_t)&m->frames[0];
    m->state.thread = (uintptr_t)syscall(SYS_gettid);
    set_text(&m->file, "app.py");
    set_text(&m->importing, "<frozen importlib._bootstrap>");
    set_text(&m->name, "Solver.step");
    m->lines.type = BYTES;
    m->lines.size = 2;
    m->lines.data[0] = 0x80 | 13 << 3 | 7; /* eight units of the line after the last one's, plus: */
    m->lines.data[1] = 3 << 1;
    set_code(m, 0, &m->file);
    set_code(m, 1, &m->importing);
    set_frame(m, 0, OF_C, 0);
    set_frame(m, 1, 0, 1);
    set_frame(m, 2, 0, 0);
}

static void end(struct made *m)
{
    gn_sample_places_free(m->places);
    gn_sample_code_free(m->modules);
    free(m->python);
    free(m->tag);
}

static bool place_of(struct made *m, uint32_t *place)
{
    return gn_sample_python_place(m->python, getpid(), (int)syscall(SYS_gettid), m->tag, 0, m->places,
                                  m->modules, place, &m->called);
}

/* Not the interpreter's own frame, nor importing: the program's. */
static void the_programs_own_line_is_told(void **state)
{
    (void)state;
    struct made m;
    uint32_t place, again;
    size_t count;
    begin(&m);
    assert_true(place_of(&m, &place) && place == 0);
    const struct gn_sampled_place *p = gn_sample_places_list(m.places, &count);
    assert_int_equal(count, 1);
    assert_int_equal(p->line, 10);
    assert_string_equal(p->name, "Solver.step");
    assert_string_equal(gn_sample_code_module(m.modules, p->module)->path, "app.py");
    assert_true(gn_sample_code_module(m.modules, p->module)->is_source);
    assert_true(place_of(&m, &again) && again == place);
    m.codes[0].first_line = 20; /* another code object in its place */
    assert_true(place_of(&m, &again) && again == 1);
    end(&m);
}

/* What a line of the program calls in the standard library, or in a package, is told at that line. */
static void the_programs_own_is_nearer_than_what_it_calls(void **state)
{
    (void)state;
    static const struct {
        const char *inner, *outer;
        bool is_outer;
    } cases[] = {
        {"/usr/lib/python3.11/threading.py", "app.py", true},
        {"/venv/lib/python3.12/site-packages/numpy/linalg.py", "app.py", true},
        {"/usr/lib/python3.11/threading.py", "/usr/lib/python3/dist-packages/app/main.py", true},
        {"/usr/lib/python3.11/threading.py", "/usr/lib/python3.11/runpy.py", false},
        {"/venv/lib/python3.12/site-packages/app/a.py", "<frozen runpy>", false},
        {"app.py", "/usr/lib/python3.11/runpy.py", false},
        {"<string>", "/usr/lib/python3.11/runpy.py", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct made m;
        uint32_t place;
        size_t count;
        begin(&m);
        set_text(&m.importing, cases[i].inner);
        set_text(&m.file, cases[i].outer);
        assert_true(place_of(&m, &place));
        const struct gn_sampled_place *p = gn_sample_places_list(m.places, &count);
        const char *path = gn_sample_code_module(m.modules, p[place].module)->path;
        assert_string_equal(path, cases[i].is_outer ? cases[i].outer : cases[i].inner);
        assert_true((m.called != GN_SAMPLED_NONE) == cases[i].is_outer);
        if (cases[i].is_outer)
            assert_string_equal(gn_sample_code_module(m.modules, p[m.called].module)->path, cases[i].inner);
        end(&m);
    }
}

static void what_is_not_there_is_not_told(void **state)
{
    (void)state;
    struct made m;
    uint32_t place;
    begin(&m);
    m.state.frame = 0; /* it runs none now */
    assert_false(place_of(&m, &place));
    m.state.frame = (uintptr_t)&m.frames[0];
    m.state.thread++; /* another thread's state */
    assert_false(place_of(&m, &place));
    m.state.thread--;
    m.lines.type = TEXT; /* Python, at a line that cannot be read */
    assert_true(place_of(&m, &place) && place == GN_SAMPLED_NONE);
    m.lines.type = BYTES;
    m.frames[2].previous = (uintptr_t)&m.frames[0]; /* frames without an end, all of importing */
    m.codes[0].file = (uintptr_t)&m.importing;
    assert_false(place_of(&m, &place));
    GN_SET(m.tag->locations[0].python_state, 0);
    assert_false(place_of(&m, &place));
    end(&m);
}

/* Whatever the program has written over what it tells of its interpreter. */
static void nonsense_is_survived(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct made m;
        uint32_t place;
        begin(&m);
        for (uint64_t i = 0; i < 1 + seed % 4; i++) {
            const uint64_t chance = gn_mix(seed * 16 + i);
            const bool in_layout = chance % 2 == 0;
            uint32_t *words = in_layout ? (uint32_t *)&m.tag->python : (uint32_t *)&m;
            const size_t count =
                (in_layout ? sizeof m.tag->python : offsetof(struct made, tag)) / sizeof *words;
            words[(chance >> 8) % count] =
                chance >> 60 < 8 ? (uint32_t)(chance >> 20) % 512 : (uint32_t)(chance >> 20);
        }
        place_of(&m, &place);
        end(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_programs_own_line_is_told),
        cmocka_unit_test(the_programs_own_is_nearer_than_what_it_calls),
        cmocka_unit_test(what_is_not_there_is_not_told),
        cmocka_unit_test(nonsense_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
