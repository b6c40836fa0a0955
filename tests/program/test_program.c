/*
 * Truth comes from two sides that know nothing of each other: fixtures run and print the return addresses of
 * their calls; their sources carry MARK comments, whose line numbers are read here.
 */
#include "program/iterations.h"
#include "program/modules.h"
#include "program/names.h"
#include "program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { EVENTS_MAX = 256, PLACES_MAX = 8 };

struct event {
    char scenario[64];
    char label[64];
    unsigned long offset; /* of the return address */
    char module[PATH_MAX];
};

struct run {
    struct event events[EVENTS_MAX];
    size_t count;
    struct gn_program *program; /* the module of the last event */
};

static int line_of_mark(const char *source, const char *mark)
{
    char path[PATH_MAX], wanted[128], line[512];
    snprintf(path, sizeof path, SOURCES "/%s", source);
    snprintf(wanted, sizeof wanted, "MARK %s", mark);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    int number = 0, found = 0;
    while (!found && fgets(line, sizeof line, file)) {
        number++;
        char *at = strstr(line, wanted);
        if (at && strchr(" \n", at[strlen(wanted)]))
            found = number;
    }
    fclose(file);
    if (!found)
        fail_msg("no mark %s in %s", mark, source);
    return found;
}

static void read_events(FILE *output, struct run *run)
{
    char line[PATH_MAX + 128], scenario[64] = "";
    while (fgets(line, sizeof line, output) && run->count < EVENTS_MAX) {
        struct event *event = &run->events[run->count];
        if (sscanf(line, "= %63s", scenario) == 1)
            continue;
        if (sscanf(line, "%63s %lx %4095s", event->label, &event->offset, event->module) != 3)
            continue;
        snprintf(event->scenario, sizeof event->scenario, "%s", scenario);
        run->count++;
    }
}

/* name: of an executable, or ending in ".so" of a library that the host runs. */
static struct run *run_fixture(const char *name)
{
    char command[PATH_MAX];
    struct run *run = calloc(1, sizeof *run);
    assert_non_null(run);
    bool library = strstr(name, ".so") != NULL;
    snprintf(command, sizeof command, "%s" FIXTURES "/fixture_%s", library ? FIXTURES "/fixture_host " : "",
             name);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    read_events(output, run);
    assert_int_equal(pclose(output), 0);
    assert_true(run->count > 0);
    struct gn_error err = {""};
    if (gn_program_open(&run->program, run->events[run->count - 1].module, NULL, 0, &err) != 0)
        fail_msg("%s", err.text);
    return run;
}

static void end_run(struct run *run)
{
    gn_program_close(run->program);
    free(run);
}

static const struct event *find_event(const struct run *run, const char *label)
{
    for (size_t i = 0; i < run->count; i++)
        if (strcmp(run->events[i].label, label) == 0)
            return &run->events[i];
    fail_msg("the fixture has no event %s", label);
    return NULL;
}

static void assert_place(const struct gn_program_place *place, const char *function, const char *source,
                         const char *mark)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, SOURCES "/%s", source);
    if (!place->function || strcmp(place->function, function) != 0 || !place->file ||
        strcmp(place->file, path) != 0 || place->line != line_of_mark(source, mark))
        fail_msg("expected %s at %s:%d, got %s at %s:%d", function, path, line_of_mark(source, mark),
                 place->function ? place->function : "NULL", place->file ? place->file : "NULL", place->line);
}

static size_t places_of(const struct run *run, const char *label, struct gn_program_place *places)
{
    return gn_program_places(run->program, find_event(run, label)->offset - 1, places, PLACES_MAX, NULL);
}

static void test_inlined_chain(void **state)
{
    struct run *run = run_fixture(*state);
    struct gn_program_place places[PLACES_MAX];
    assert_true(gn_program_has_lines(run->program));
    assert_int_equal(places_of(run, "innermost", places), 3);
    assert_place(&places[0], "innermost", "inlined.c", "innermost");
    assert_place(&places[1], "middle", "inlined.c", "middle");
    assert_place(&places[2], "physical", "inlined.c", "physical");
    assert_true(places[0].inlined && places[1].inlined && !places[2].inlined);
    assert_int_equal(places_of(run, "end", places), 1);
    assert_place(&places[0], "main", "inlined.c", "end");
    assert_false(places[0].inlined);
    end_run(run);
}

static void test_max_keeps_the_innermost(void **state)
{
    struct run *run = run_fixture(*state);
    struct gn_program_place places[2];
    uint64_t offset = find_event(run, "innermost")->offset - 1;
    assert_int_equal(gn_program_places(run->program, offset, places, 2, NULL), 2);
    assert_string_equal(places[1].function, "middle");
    assert_int_equal(gn_program_places(run->program, offset, places, 0, NULL), 0);
    end_run(run);
}

static void test_names_cxx(void **state)
{
    static const char *const expected[][2] = {
        {"method", "heat::Grid<double, 3>::sweep"},
        {"operator", "heat::Grid<double, 3>::operator()"},
        {"template", "heat::twice<double>"},
        {"anonymous", "heat::(anonymous namespace)::hidden"},
        {"inlined", "heat::(anonymous namespace)::unfolded"},
        {"plain", "plain_c"},
        {"lambda", "main::{lambda}::operator()"},
    };
    struct run *run = run_fixture(*state);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct gn_program_place places[PLACES_MAX];
        assert_true(places_of(run, expected[i][0], places) > 0);
        assert_place(&places[0], expected[i][1], "names.cc", expected[i][0]);
    }
    struct gn_program_place places[PLACES_MAX];
    assert_int_equal(places_of(run, "inlined", places), 2);
    assert_place(&places[1], "local", "names.cc", "local");
    end_run(run);
}

static void assert_symbol(const struct run *run, const char *label, const char *function)
{
    struct gn_program_place place;
    uint64_t symbol_offset = UINT64_MAX, offset = find_event(run, label)->offset - 1;
    assert_int_equal(gn_program_places(run->program, offset, &place, 1, &symbol_offset), 1);
    assert_string_equal(place.function, function);
    assert_int_equal(place.line, 0);
    assert_null(place.file);
    assert_true(symbol_offset > 0 && symbol_offset < 4096);
    /* The place that the symbol and its offset name is the one that was asked for. */
    uint64_t again;
    assert_int_equal(gn_program_places(run->program, offset - symbol_offset, &place, 1, &again), 1);
    assert_int_equal(again, 0);
}

static void test_symbols_only(void **state)
{
    (void)state;
    struct run *run = run_fixture("names_cxx_nodebug");
    assert_false(gn_program_has_lines(run->program));
    assert_symbol(run, "method", "heat::Grid<double, 3>::sweep");
    assert_symbol(run, "operator", "heat::Grid<double, 3>::operator()");
    assert_symbol(run, "template", "heat::twice<double>");
    assert_symbol(run, "anonymous", "heat::(anonymous namespace)::hidden");
    assert_symbol(run, "inlined", "local");
    assert_symbol(run, "plain", "plain_c");
    end_run(run);
    run = run_fixture("inlined_nodebug");
    assert_symbol(run, "innermost", "physical");
    end_run(run);
}

static void test_stripped_library(void **state)
{
    (void)state;
    struct run *run = run_fixture("inlined_stripped.so");
    assert_false(gn_program_has_lines(run->program));
    assert_symbol(run, "end", "fixture_main");
    end_run(run);
}

/* The copy that kept its symbols says where functions begin. */
static void assert_unnamed(struct run *run, struct gn_program *stripped, const char *label)
{
    struct gn_program_place named, place;
    uint64_t offset = find_event(run, label)->offset - 1, from_start, unnamed_from_start, low, high;
    char expected[64];
    assert_int_equal(gn_program_places(run->program, offset, &named, 1, &from_start), 1);
    assert_false(named.unnamed);
    snprintf(expected, sizeof expected, "libunnamed.so.3:0x%lx", (unsigned long)(offset - from_start));
    assert_int_equal(gn_program_places(stripped, offset, &place, 1, &unnamed_from_start), 1);
    assert_true(place.unnamed);
    assert_string_equal(place.function, expected);
    assert_int_equal(unnamed_from_start, from_start);
    assert_true(gn_program_extent(stripped, offset, &low, &high));
    assert_int_equal(low, offset - from_start);
    assert_true(high > offset);
}

static void test_unnamed(void **state)
{
    (void)state;
    struct run *run = run_fixture("unnamed.so");
    struct gn_program *stripped, *host;
    assert_int_equal(gn_program_open(&stripped, FIXTURES "/fixture_unnamed_stripped.so", NULL, 0, NULL), 0);
    assert_string_equal(gn_program_library(stripped), "libunnamed.so.3");
    assert_unnamed(run, stripped, "first");
    assert_unnamed(run, stripped, "before");
    assert_unnamed(run, stripped, "inner");
    assert_unnamed(run, stripped, "after");
    struct gn_program_place place; /* what is exported keeps its name, but not for what follows it */
    assert_int_equal(gn_program_places(stripped, find_event(run, "end")->offset - 1, &place, 1, NULL), 1);
    assert_string_equal(place.function, "fixture_main");
    assert_false(place.unnamed);
    assert_int_equal(gn_program_places(stripped, 0, &place, 1, NULL), 0);
    gn_program_close(stripped);
    assert_int_equal(gn_program_open(&host, FIXTURES "/fixture_host", NULL, 0, NULL), 0);
    assert_string_equal(gn_program_library(host), "fixture_host");
    gn_program_close(host);
    end_run(run);
}

static void test_loops_without_names(void **state)
{
    (void)state;
    struct run *run = run_fixture("unnamed.so");
    struct gn_program *stripped;
    assert_int_equal(gn_program_open(&stripped, FIXTURES "/fixture_unnamed_stripped.so", NULL, 0, NULL), 0);
    uint64_t outer = find_event(run, "outer")->offset, inner = find_event(run, "inner")->offset, low, high;
    uint64_t outer_loop = gn_program_loop(stripped, outer - 1),
             inner_loop = gn_program_loop(stripped, inner - 1);
    assert_true(gn_program_extent(stripped, outer - 1, &low, &high));
    assert_true(outer_loop >= low && outer_loop < high && inner_loop >= low && inner_loop < high);
    assert_true(outer_loop != inner_loop);
    assert_int_equal(gn_program_loop(stripped, find_event(run, "before")->offset - 1), 0);
    assert_int_equal(gn_program_loop(stripped, find_event(run, "after")->offset - 1), 0);
    assert_int_equal(gn_program_loop(stripped, find_event(run, "first")->offset - 1), 0);
    gn_program_close(stripped);
    end_run(run);
}

/* Fedora's packages have the symbols of all functions in .gnu_debugdata, compressed. */
static void test_compressed_symbols(void **state)
{
    (void)state;
    struct run *run = run_fixture("unnamed.so");
    struct gn_program *mini;
    struct gn_program_place place;
    assert_int_equal(gn_program_open(&mini, FIXTURES "/fixture_unnamed_mini.so", NULL, 0, NULL), 0);
    assert_int_equal(gn_program_places(mini, find_event(run, "inner")->offset - 1, &place, 1, NULL), 1);
    assert_string_equal(place.function, "loops");
    assert_int_equal(gn_program_places(mini, find_event(run, "end")->offset - 1, &place, 1, NULL), 1);
    assert_string_equal(place.function, "fixture_main");
    gn_program_close(mini);
    end_run(run);
}

#ifdef HAVE_FORTRAN
static void test_names_fortran(void **state)
{
    static const char *const expected[][2] = {{"module", "stencil::sweep"},
                                              {"contained", "inner"},
                                              {"program", "heat"},
                                              {"external", "external_one"}};
    struct run *run = run_fixture(*state);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct gn_program_place places[PLACES_MAX];
        assert_true(places_of(run, expected[i][0], places) > 0);
        assert_place(&places[0], expected[i][1], "names.f90", expected[i][0]);
    }
    end_run(run);
}

static void test_fortran_symbols_only(void **state)
{
    (void)state;
    struct run *run = run_fixture("names_fortran_nodebug");
    struct gn_program_place place;
    static const char *const expected[][2] = {{"module", "stencil::sweep"}, {"external", "external_one"}};
    for (size_t i = 0; i < 2; i++) {
        uint64_t offset = find_event(run, expected[i][0])->offset - 1;
        assert_int_equal(gn_program_places(run->program, offset, &place, 1, NULL), 1);
        assert_string_equal(place.function, expected[i][1]);
    }
    end_run(run);
}
#endif

/* The innermost loop around a call; of a function that is no loop's, none. */
static void test_loops_around(void **state)
{
    struct run *run = run_fixture(*state);
    struct gn_program_place places[3];
    size_t i = 0;
    while (i < run->count && strcmp(run->events[i].scenario, "same_site") != 0)
        i++;
    assert_true(i < run->count);
    const uint64_t offset = run->events[i].offset - 1, offsets[] = {0, offset, UINT64_MAX};
    gn_program_loops(run->program, offsets, 3, places);
    assert_true(places[0].line == 0 && places[2].line == 0);
    assert_place(&places[1], "same_site", "flow.c", "steps_of_same_site");
    const uint64_t again[] = {offset, offset}; /* one function after the other, and the same one */
    gn_program_loops(run->program, again, 2, places);
    assert_true(places[0].line == places[1].line && places[0].line > 0);
    end_run(run);
}

static void assert_name(const char *symbol, const char *expected)
{
    char *name = gn_name_of_symbol(symbol);
    assert_non_null(name);
    assert_string_equal(name, expected);
    free(name);
}

static void test_symbol_names(void **state)
{
    (void)state;
    assert_name("main", "main");
    assert_name("relax.constprop.0", "relax");
    assert_name("daxpy_", "daxpy");
    assert_name("MAIN__", "MAIN__");
    assert_name("Ctrailing_", "Ctrailing_");
    assert_name("__stencil_MOD_sweep", "stencil::sweep");
    assert_name("_QMstencilPsweep", "stencil::sweep");
    assert_name("_ZN4heat5twiceIdEET_S1_", "heat::twice<double>");
    assert_name("_ZlsRSoi", "operator<<");
    assert_name("_ZlsIcEvT_", "operator<< <char>");
    assert_name("_ZNK1AcvbEv", "A::operator bool");
    assert_name("_ZN12_GLOBAL__N_11fEv.part.0", "(anonymous namespace)::f");
    assert_name("__pyx_pw_6mpi4py_3MPI_4Comm_123recv", "mpi4py.MPI.Comm.recv");
    assert_name("__pyx_pf_6mpi4py_3MPI_4Comm_122recv.isra.0", "mpi4py.MPI.Comm.recv");
    assert_name("__pyx_pw_6mpi4py_3MPI_4Comm_1__cinit__", "mpi4py.MPI.Comm.__cinit__");
    assert_name("__pyx_pw_3one_7by_name", "one.by_name");
    assert_name("__pyx_f_6mpi4py_3MPI_PyMPI_recv", "mpi4py.MPI.PyMPI_recv");
    assert_name("__pyx_f_6mpi4py", "__pyx_f_6mpi4py");
    assert_name("__pyx_pw_99999999999999999999a_b", "__pyx_pw_99999999999999999999a_b");
    assert_name("__pyx_tp_new_6mpi4py_3MPI_Comm", "__pyx_tp_new_6mpi4py_3MPI_Comm");
    assert_name("_Z", "_Z");
    assert_name("", "");
}

/* Each pair<S, S> doubles the text: 2^60 characters would be asked for. */
static void test_symbol_bomb(void **state)
{
    (void)state;
    char bomb[4096] = "_ZN1a1fE";
    for (int i = 0; i < 60; i++) {
        char part[32];
        snprintf(part, sizeof part, "St4pairIS%.*s_S%.*s_E", i > 0, i > 0 ? "0" : "", i > 0,
                 i > 0 ? "0" : "");
        strcat(bomb, part);
    }
    assert_name(bomb, "a::f");
}

static void test_open_errors(void **state)
{
    (void)state;
    struct gn_program *program;
    struct gn_error err = {""};
    static const uint8_t other[20] = {1, 2, 3};
    assert_int_equal(gn_program_open(&program, "/nonexistent/program", NULL, 0, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent/program"));
    assert_int_equal(gn_program_open(&program, SOURCES "/flow.c", NULL, 0, &err), -ENOEXEC);
    assert_int_equal(gn_program_open(&program, SOURCES, NULL, 0, &err), -ENOEXEC);
    assert_int_equal(gn_program_open(&program, "/dev/zero", NULL, 0, NULL), -ENOEXEC);
    assert_int_equal(gn_program_open(&program, FIXTURES "/fixture_flow_shared.so", other, sizeof other, &err),
                     -ESTALE);
    assert_null(program);
    gn_program_close(program);
}

/* Reads the build id with another reader than the one under test. */
static size_t read_build_id(const char *path, uint8_t *id, size_t max)
{
    char command[PATH_MAX + 64], hex[128] = "";
    snprintf(command, sizeof command, "readelf -n %s | sed -n 's/.*Build ID: //p'", path);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    bool read = fgets(hex, sizeof hex, output) != NULL;
    pclose(output);
    size_t bytes = 0;
    unsigned int value;
    while (read && bytes < max && sscanf(hex + 2 * bytes, "%2x", &value) == 1)
        id[bytes++] = (uint8_t)value;
    return bytes;
}

static void test_build_id(void **state)
{
    (void)state;
    static const char path[] = FIXTURES "/fixture_flow_shared.so";
    uint8_t id[32];
    size_t bytes = read_build_id(path, id, sizeof id);
    if (bytes == 0)
        skip(); /* a linker that writes none */
    struct gn_program *program;
    assert_int_equal(gn_program_open(&program, path, id, bytes, NULL), 0);
    gn_program_close(program);
    assert_int_equal(gn_program_open(&program, path, id, bytes - 1, NULL), -ESTALE);
}

static void use_iterations(struct gn_program *program, uint64_t from, uint64_t to)
{
    struct gn_iterations *iterations = gn_iterations_new(program);
    struct gn_loop_around loops[8];
    struct gn_pass passes[8];
    uint64_t heads[8];
    assert_non_null(iterations);
    const size_t count = gn_iterations_around(iterations, to, loops, 8);
    for (size_t i = 0; i < count; i++)
        heads[i] = loops[i].head;
    gn_iterations_between(iterations, from, to, heads, count, passes);
    gn_iterations_free(iterations);
}

static void use_program(const char *path, const struct run *run)
{
    struct gn_program *program;
    if (gn_program_open(&program, path, NULL, 0, NULL) != 0)
        return;
    for (size_t i = 0; i + 1 < run->count; i++) {
        struct gn_program_place places[PLACES_MAX];
        gn_program_places(program, run->events[i].offset - 1, places, PLACES_MAX, NULL);
        use_iterations(program, run->events[i].offset, run->events[i + 1].offset);
        gn_program_loops(program, (uint64_t[]){run->events[i].offset - 1}, 1, places);
    }
    gn_program_close(program);
}

static char *read_whole(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(*bytes);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *bytes, file), *bytes);
    fclose(file);
    return data;
}

static void write_whole(const char *path, const char *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    fclose(file);
}

/* Cut short anywhere, a file gives errors or less, nothing worse. */
static void test_truncated(void **state)
{
    struct run *run = run_fixture(*state);
    static const char path[] = FIXTURES "/truncated";
    size_t bytes;
    char *data = read_whole(run->events[0].module, &bytes);
    for (size_t part = 0; part < 40; part++) {
        write_whole(path, data, bytes * part / 40);
        use_program(path, run);
    }
    unlink(path);
    free(data);
    end_run(run);
}

#define FOR_LEVELS(test, name, suffix)                                                                       \
    {name "_O0" suffix, test, NULL, NULL, name "_O0" suffix},                                                \
        {name "_O2" suffix, test, NULL, NULL, name "_O2" suffix},                                            \
    {                                                                                                        \
        name "_O3" suffix, test, NULL, NULL, name "_O3" suffix                                               \
    }
#define FOR_ONE(test, name)                                                                                  \
    {                                                                                                        \
        name, test, NULL, NULL, name                                                                         \
    }

/* ---- what is kept from one question for the next ---- */

struct question {
    unsigned long from, to;
};

/* Up to `max` pairs of the run's events, spread over all. */
static size_t choose_questions(const struct run *run, struct question *questions, size_t max)
{
    size_t pairs = run->count * run->count, step = pairs / max + 1, count = 0;
    for (size_t i = 0; i < pairs && count < max; i += step)
        questions[count++] =
            (struct question){run->events[i / run->count].offset, run->events[i % run->count].offset};
    return count;
}

static void assert_same_place(const struct gn_program_place *a, const struct gn_program_place *b)
{
    assert_int_equal(a->line, b->line);
    assert_int_equal(a->inlined, b->inlined);
    assert_int_equal(!a->function, !b->function);
    assert_int_equal(!a->file, !b->file);
    if (a->function)
        assert_string_equal(a->function, b->function);
    if (a->file)
        assert_string_equal(a->file, b->file);
}

/* Asked of a module that knows nothing yet, and of one that was asked all the others before. */
static void assert_same_answers(struct gn_program *fresh, struct gn_program *asked, const struct question *q)
{
    struct gn_program_place a = {0}, b = {0}, as[PLACES_MAX], bs[PLACES_MAX];
    gn_program_loops(fresh, (uint64_t[]){q->to - 1}, 1, &a);
    gn_program_loops(asked, (uint64_t[]){q->to - 1}, 1, &b);
    assert_same_place(&a, &b);
    size_t count = gn_program_places(fresh, q->from - 1, as, PLACES_MAX, NULL);
    assert_int_equal(gn_program_places(asked, q->from - 1, bs, PLACES_MAX, NULL), count);
    for (size_t i = 0; i < count; i++)
        assert_same_place(&as[i], &bs[i]);
}

static void test_answers_do_not_depend_on_earlier_questions(void **state)
{
    enum { QUESTIONS = 100 };
    static struct question questions[QUESTIONS];
    struct run *run = run_fixture(*state);
    size_t count = choose_questions(run, questions, QUESTIONS);
    for (size_t turn = 0; turn < 3; turn++) /* forwards, backwards, and when all has been asked twice */
        for (size_t n = 0; n < count; n++) {
            const struct question *q = &questions[turn == 1 ? count - 1 - n : n];
            struct gn_program *fresh = NULL;
            assert_int_equal(gn_program_open(&fresh, run->events[0].module, NULL, 0, NULL), 0);
            assert_same_answers(fresh, run->program, q);
            gn_program_close(fresh);
        }
    end_run(run);
}

/* ---- iterations ---- */

/* From the `pair`-th event of a scenario (from 0) to the next one: what the loop around both goes through. */
static void assert_pass(const struct run *run, const char *scenario, int pair, int low, int high)
{
    struct gn_iterations *iterations = gn_iterations_new(run->program);
    struct gn_loop_around loop;
    struct gn_pass pass;
    size_t i = 0;
    while (i + 1 < run->count && strcmp(run->events[i].scenario, scenario) != 0)
        i++;
    i += (size_t)pair;
    assert_true(i + 1 < run->count);
    assert_string_equal(run->events[i + 1].scenario, scenario);
    assert_int_equal(gn_iterations_around(iterations, run->events[i + 1].offset, &loop, 1), 1);
    assert_true(gn_iterations_between(iterations, run->events[i].offset, run->events[i + 1].offset,
                                      &loop.head, 1, &pass));
    assert_int_equal(pass.iterations_low, low);
    assert_int_equal(pass.iterations_high, high);
    assert_int_equal(pass.entries_low, 0);
    gn_iterations_free(iterations);
}

static void test_iterations(void **state)
{
    struct run *run = run_fixture(*state);
    assert_pass(run, "motivating", 0, 0, 0);
    assert_pass(run, "motivating", 1, 1, 1);
    assert_pass(run, "same_site", 0, 1, 1);
    assert_pass(run, "third_call", 0, 0, 0);
    assert_pass(run, "third_call", 1, 1, 1);
    assert_pass(run, "hidden_call", 0, 0, 0);
    assert_pass(run, "hidden_call", 1, 1, 1);
    end_run(run);
}

static void test_iterations_of_strangers(void **state)
{
    struct run *run = run_fixture(*state);
    struct gn_iterations *iterations = gn_iterations_new(run->program);
    struct gn_loop_around loop;
    const uint64_t first = run->events[0].offset, last = run->events[run->count - 1].offset;
    assert_int_equal(gn_iterations_around(iterations, UINT64_MAX, &loop, 1), 0);
    assert_int_equal(gn_iterations_around(iterations, 1, &loop, 1), 0);
    assert_false(gn_iterations_between(iterations, 0, 0, NULL, 0, NULL));
    assert_false(gn_iterations_between(iterations, first, UINT64_MAX - 1, NULL, 0, NULL));
    assert_false(gn_iterations_between(iterations, UINT64_MAX, last, NULL, 0, NULL));
    assert_false(gn_iterations_between(iterations, last, first, NULL, 0, NULL)); /* another function */
    assert_true(gn_iterations_is_silent(iterations, 1));                         /* nobody knows */
    gn_iterations_free(iterations);
    end_run(run);
}

static void test_modules_are_opened_once(void **state)
{
    (void)state;
    static const uint8_t other_id[20] = {1};
    const char *path = FIXTURES "/fixture_host";
    struct gn_modules *modules = gn_modules_new(NULL);
    const struct gn_opened_module *first = gn_modules_get(modules, path, NULL, 0);
    assert_non_null(first->program);
    assert_ptr_equal(gn_modules_get(modules, path, NULL, 0), first);
    assert_ptr_not_equal(gn_modules_get(modules, path, other_id, sizeof other_id), first);
    assert_null(gn_modules_get(modules, path, other_id, sizeof other_id)->program);
    assert_null(gn_modules_get(modules, "", NULL, 0)->program);
    gn_modules_free(modules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOR_LEVELS(test_inlined_chain, "inlined", "_pie"),
        FOR_LEVELS(test_inlined_chain, "inlined", "_nopie"),
        cmocka_unit_test_prestate(test_max_keeps_the_innermost, "inlined_O2_pie"),
        FOR_LEVELS(test_names_cxx, "names_cxx", ""),
        cmocka_unit_test(test_symbols_only),
        cmocka_unit_test(test_stripped_library),
        cmocka_unit_test(test_unnamed),
        cmocka_unit_test(test_loops_without_names),
        cmocka_unit_test(test_compressed_symbols),
#ifdef HAVE_FORTRAN
        FOR_LEVELS(test_names_fortran, "names_fortran", ""),
        cmocka_unit_test(test_fortran_symbols_only),
#endif
        FOR_LEVELS(test_iterations, "flow", "_pie"),
        FOR_LEVELS(test_iterations, "flow", "_nopie"),
        FOR_ONE(test_iterations, "flow_shared.so"),
        FOR_ONE(test_iterations, "flow_moved.so"),
        FOR_ONE(test_iterations, "flow_noplt"),
        FOR_ONE(test_iterations, "flow_dwarf4"),
        FOR_ONE(test_iterations, "flow_split"),
        cmocka_unit_test_prestate(test_iterations_of_strangers, "flow_O2_pie"),
        cmocka_unit_test_prestate(test_loops_around, "flow_O0_pie"),
        cmocka_unit_test_prestate(test_loops_around, "flow_O2_nopie"),
        cmocka_unit_test_prestate(test_loops_around, "flow_shared.so"),
        cmocka_unit_test(test_symbol_names),
        cmocka_unit_test(test_symbol_bomb),
        cmocka_unit_test(test_open_errors),
        cmocka_unit_test(test_build_id),
        cmocka_unit_test(test_modules_are_opened_once),
        cmocka_unit_test_prestate(test_answers_do_not_depend_on_earlier_questions, "flow_O2_pie"),
        cmocka_unit_test_prestate(test_truncated, "flow_O2_pie"),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
