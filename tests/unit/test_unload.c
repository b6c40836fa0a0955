/*
 * capture/unloading, capture/paths: an address means something else when its library is gone. Two libraries
 * that differ in nothing but their name take turns at one place; each call is the one's that is there.
 */
#include "capture.h"

#include "capture/modules.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { TURNS = 40 };

typedef uint32_t plugin_call(uint32_t (*call)(uint32_t activity, uint64_t ticks));

static const char *file_of(uint32_t node)
{
    uint32_t path = GN_GET(test_location()->nodes[node].path);
    return gn_segment->modules[gn_segment->frames[path].module].path;
}

static void calls_are_of_the_library_that_is_there(void **state)
{
    (void)state;
    static const char *const files[] = {PLUGIN_A, PLUGIN_B};
    void *last = NULL;
    unsigned same_place = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        void *library = dlopen(files[turn % 2], RTLD_NOW);
        assert_non_null(library);
        plugin_call *call = (plugin_call *)dlsym(library, "plugin_call");
        assert_non_null(call);
        same_place += (void *)call == last;
        last = (void *)call;
        for (int again = 0; again < 3; again++)
            assert_string_equal(file_of(call(test_call)), files[turn % 2]);
        assert_int_equal(dlclose(library), 0);
    }
    assert_true(same_place > TURNS / 2); /* or nothing was tested */
    unsigned listed = 0;                 /* and coming back is no new library */
    for (uint32_t i = 1; i < GN_GET(gn_segment->module_count); i++)
        listed += strcmp(gn_segment->modules[i].path, PLUGIN_A) == 0;
    assert_in_range(listed, 1, 2);
}

/* Code that no library has: it calls what it is given. */
static void generated_code_begins_a_path(void **state)
{
    (void)state;
#if defined(__x86_64__)
    /* push rbx; mov rax, rdi; mov edi, 1; mov esi, 1; call rax; pop rbx; ret */
    static const uint8_t code[] = {0x53, 0x48, 0x89, 0xf8, 0xbf, 1,    0,    0,    0,
                                   0xbe, 1,    0,    0,    0,    0xff, 0xd0, 0x5b, 0xc3};
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memcpy(memory, code, sizeof code);
    assert_int_equal(mprotect(memory, 4096, PROT_READ | PROT_EXEC), 0);
    plugin_call *call = (plugin_call *)memory;
    uint32_t first = call(test_call), slow = (uint32_t)GN_GET(test_location()->unwound);
    for (int i = 0; i < 100; i++)
        assert_int_equal(call(test_call), first);
    assert_int_equal(GN_GET(test_location()->unwound), slow);
    assert_int_equal(gn_segment->frames[GN_GET(test_location()->nodes[first].path)].module, 0);
    munmap(memory, 4096);
#endif
}

/* The loader's lock may be held for ever in a child: there, ours must not ask for it. */
static void children_pass_on(void **state)
{
    (void)state;
    uint32_t era = GN_GET(gn_unload_era);
    pid_t child = fork();
    if (child == 0) {
        void *library = dlopen(PLUGIN_A, RTLD_NOW);
        _exit(library && dlclose(library) == 0 && GN_GET(gn_unload_era) == era ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int open_recorder(void **state)
{
    (void)state;
    struct gn_tag *segment = test_segment(2);
    return segment ? gn_recorder_open(segment, gn_ticks()) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_of_the_library_that_is_there),
        cmocka_unit_test(generated_code_begins_a_path),
        cmocka_unit_test(children_pass_on),
    };
    return cmocka_run_group_tests(tests, open_recorder, NULL);
}
