/* Functions of Python's extension modules have the names that Python itself says they have
 * (methods_truth.py), in Debian's modules as installed: stripped. */
#include "program/runtime.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void write_copy(const char *path, const uint8_t *bytes, size_t count)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

static uint64_t dice(uint64_t *random, uint64_t below)
{
    *random = *random * 6364136223846793005ull + 1442695040888963407ull;
    return (*random >> 20) % below;
}

/* Whatever stands in such a file, asking it is safe. Broken are relocations and tables of data, mostly. */
static void test_broken_files(void **state)
{
    (void)state;
    static uint8_t whole[4 << 20], broken[4 << 20];
    char path[64];
    uint64_t random = 11;
    FILE *file = fopen(functions[0].path, "r");
    assert_non_null(file);
    size_t count = fread(whole, 1, sizeof whole, file);
    fclose(file);
    snprintf(path, sizeof path, "/tmp/gnomon-methods.%d.so", (int)getpid());
    for (int round = 0; round < 40; round++) {
        memcpy(broken, whole, count);
        for (int i = 0; i < 400; i++)
            broken[dice(&random, round % 4 ? count : 0x1000)] = (uint8_t)dice(&random, 256);
        write_copy(path, broken, round % 8 == 7 ? count / 2 : count);
        struct gn_program *program;
        if (gn_program_open(&program, path, NULL, 0, NULL) != 0)
            continue;
        for (int i = 0; i < 40; i++) {
            struct gn_program_place place;
            uint64_t offset = i % 2 ? functions[dice(&random, function_count)].offset : dice(&random, count);
            gn_program_places(program, offset, &place, 1, NULL);
            gn_program_loop(program, offset);
            gn_runtime_at(program, offset);
        }
        gn_program_close(program);
    }
    unlink(path);
}

int main(void)
{
    if (!read_truth()) {
        printf("skipped: no /usr/bin/python3 with extension modules\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_broken_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
