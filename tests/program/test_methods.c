/* Functions of Python's extension modules have the names that Python itself says they have
 * (methods_truth.py), in Debian's modules as installed: stripped. */
#include "program/program.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FUNCTIONS_MAX = 4096, NAME_BYTES = 128 };

struct function { /* a function may have several names */
    char path[PATH_MAX], kind[16], name[NAME_BYTES];
    unsigned long offset;
};

static struct function functions[FUNCTIONS_MAX];
static size_t function_count;

static bool read_truth(void)
{
    FILE *output =
        popen("/usr/bin/python3 " SOURCES "/methods_truth.py mpi4py.MPI _json _decimal _bz2 _lzma", "r");
    while (output && function_count < FUNCTIONS_MAX) {
        struct function *f = &functions[function_count];
        if (fscanf(output, "%4095s %lu %15s %127s", f->path, &f->offset, f->kind, f->name) != 4)
            break;
        function_count++;
    }
    return output && pclose(output) == 0 && function_count > 0;
}

/* A type that is made when the module is loaded refers to no table: its name is not known. */
static bool is_name_of(const struct function *f, const char *name)
{
    const char *type = strchr(f->name, '.'), *method = strrchr(f->name, '.');
    char without_type[2 * NAME_BYTES];
    snprintf(without_type, sizeof without_type, "%.*s%s", (int)(type - f->name), f->name, method);
    return strcmp(f->name, name) == 0 || (strcmp(f->kind, "spec") == 0 && strcmp(without_type, name) == 0);
}

static void test_names(void **state)
{
    (void)state;
    struct gn_program *program = NULL;
    for (size_t i = 0; i < function_count; i++) {
        const struct function *f = &functions[i];
        if (i == 0 || strcmp(f->path, functions[i - 1].path) != 0) {
            gn_program_close(program);
            assert_int_equal(gn_program_open(&program, f->path, NULL, 0, NULL), 0);
            assert_string_equal(gn_program_library(program) + strlen(gn_program_library(program)) - 3, ".so");
            assert_null(strstr(gn_program_library(program), "cpython"));
        }
        struct gn_program_place place;
        uint64_t from_start = 1;
        assert_int_equal(gn_program_places(program, f->offset, &place, 1, &from_start), 1);
        assert_int_equal(from_start, 0);
        assert_false(place.unnamed);
        bool right = false;
        for (size_t k = 0; k < function_count && !right; k++)
            right = functions[k].offset == f->offset && strcmp(functions[k].path, f->path) == 0 &&
                    is_name_of(&functions[k], place.function);
        if (!right)
            fail_msg("%s: %s is called %s", f->path, f->name, place.function);
    }
    gn_program_close(program);
    print_message("%zu functions\n", function_count);
}

int main(void)
{
    if (!read_truth()) {
        printf("skipped: no /usr/bin/python3 with extension modules\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
