/* program/linked — which functions can be met on their way, of this program; whatever is wrong with a file.
 */
#include "program/linked.h"

#include "scratch.h"

#include <gnu/libc-version.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

int function_of_the_test(void);

__attribute__((noinline)) int function_of_the_test(void)
{
    return gnu_get_libc_version()[0] == '2';
}

static void refused(struct gn_linked *linked, const char *name, const char *why)
{
    struct gn_linked_function found[4];
    struct gn_error err;
    assert_int_equal(gn_linked_find(linked, name, found, 4, &err), 0);
    if (!strstr(err.text, why))
        fail_msg("%s: %s", name, err.text);
}

static void says_what_can_be_met(void **state)
{
    struct gn_linked_function found[4];
    struct gn_error err;
    struct gn_linked *linked = gn_linked_open("/proc/self/exe", &err);
    (void)state;
    assert_non_null(linked);
    assert_true(function_of_the_test());
    assert_int_equal(gn_linked_find(linked, "gnu_get_libc_version", found, 4, &err), 1);
    assert_string_equal(found[0].symbol, "gnu_get_libc_version");
    assert_int_equal(strncmp(found[0].version, "GLIBC_2.", 8), 0);
    refused(linked, "function_of_the_test", "it is a part of ");
    refused(linked, "no_function_of_that_name", "nor a library it is linked with has it");
    refused(linked, "inet6_opt_append", "libc.so.6 has it, but neither ");
    refused(linked, "in6addr_any", "it is data");
    refused(linked, "setjmp", "something else");
    refused(linked, "MPI_Send", "a call of MPI");
    refused(linked, "", "has it");
    gn_linked_close(linked);
}

static void what_is_no_program_is_refused(void **state)
{
    struct gn_error err;
    (void)state;
    assert_null(gn_linked_open("/etc/passwd", &err));
    assert_non_null(strstr(err.text, "no executable"));
    assert_null(gn_linked_open("/nothing/there", &err));
    assert_null(gn_linked_open("/", &err));
}

/* A library of the system's, with some bytes that are others: any answer, and in a moment. */
static void damaged_files_do_no_harm(void **state)
{
    enum { SIZE = 1 << 20, FILES = 1000 / TESTS_SHARE };
    static char bytes[SIZE], broken[SIZE];
    char path[128];
    uint64_t random = 1;
    FILE *file = fopen("/lib64/ld-linux-x86-64.so.2", "r");
    (void)state;
    if (!file)
        skip();
    const size_t size = fread(bytes, 1, SIZE, file);
    fclose(file);
    snprintf(path, sizeof path, "%s/broken", folder);
    for (int i = 0; i < FILES; i++) {
        struct gn_linked_function found[4];
        struct gn_error err;
        memcpy(broken, bytes, size);
        for (int j = 0; j < 40; j++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            /* headers, and the tables behind them */
            const size_t at = (random >> 33) % (j < 4 ? 64 : j < 20 ? 8192 : size);
            broken[j % 3 == 0 ? size - 1 - at % 4096 : at] = (char)(random >> 25);
        }
        file = fopen(path, "w");
        assert_int_equal(fwrite(broken, 1, i % 10 == 0 ? (random >> 33) % size : size, file) > 0, 1);
        fclose(file);
        struct gn_linked *linked = gn_linked_open(path, &err);
        if (!linked)
            continue;
        gn_linked_find(linked, "_dl_mcount", found, 4, &err);
        gn_linked_find(linked, "std::nothing", found, 4, &err);
        gn_linked_close(linked);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_can_be_met),
        cmocka_unit_test(what_is_no_program_is_refused),
        cmocka_unit_test_setup_teardown(damaged_files_do_no_harm, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
