/* sample_code: real samples of this program, in its own code and in a library that it called; what is found
 * is the function that it was in, and the one that it called. */
#include "agent/sample_code.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { ITEMS = 2000, ITEM_BYTES = 16 };

static char items[ITEMS][ITEM_BYTES];
static volatile uint64_t sink;

/* Nothing of this program runs while qsort does. */
static __attribute__((noinline)) void sort_items(void)
{
    for (int i = 0; i < ITEMS; i++)
        snprintf(items[i], ITEM_BYTES, "%d", i * 7919 % ITEMS);
    qsort(items, ITEMS, ITEM_BYTES, (int (*)(const void *, const void *))(void *)strcmp);
    sink++; /* no last call */
}

static __attribute__((noinline)) void count_up(void)
{
    for (int i = 0; i < 1000000; i++)
        sink += (uint64_t)i;
}

struct seen {
    struct gn_sample_code *code;
    struct gn_sample_maps *maps;
    size_t sorting, counting, elsewhere, unfound;
};

static uint64_t offset_of(void (*function)(void))
{
    Dl_info info;
    assert_int_not_equal(dladdr((void *)function, &info), 0);
    return (uint64_t)(uintptr_t)function - (uint64_t)(uintptr_t)info.dli_fbase;
}

static void take(void *self, struct gn_sample *sample, enum gn_sample_news news)
{
    struct seen *s = self;
    struct gn_sample_where where;
    if (news == GN_SAMPLE_MAPPED)
        gn_sample_maps_changed(s->maps);
    if (news != GN_SAMPLE_TAKEN)
        return;
    gn_sample_where(s->maps, sample, &where);
    const uint64_t function = gn_sample_code_function(s->code, where.site);
    const bool own =
        strstr(gn_sample_code_module(s->code, where.site.module)->path, "test_sample_code") != NULL;
    if (own && function == offset_of(sort_items)) {
        s->sorting += where.in_library;
        const char *library = gn_sample_code_module(s->code, where.called.module)->path;
        if (where.in_library) /* a sanitizer's stands in for it */
            assert_true(strstr(library, "libc") || strstr(library, "san"));
    } else if (own && function == offset_of(count_up)) {
        assert_false(where.in_library);
        s->counting++;
    } else if (own) {
        s->elsewhere++;
    } else {
        s->unfound++;
    }
    assert_false(where.in_call || where.in_interpreter);
}

static void who_called_a_library_is_found(void **state)
{
    (void)state;
    struct gn_sample_event event;
    struct seen seen = {.code = gn_sample_code_new()};
    const int code = gn_sample_event_open(&event, (int)syscall(SYS_gettid), NULL, false, 1000000, 4);
    if (code != 0) {
        printf("no perf_event_open: %s\n", strerror(-code));
        gn_sample_code_free(seen.code);
        skip();
    }
    seen.maps = gn_sample_maps_new(seen.code, (int)getpid(), NULL);
    const clock_t begin = clock();
    while (clock() - begin < CLOCKS_PER_SEC / 5) {
        sort_items();
        count_up();
        gn_sample_event_take(&event, take, &seen);
    }
    assert_true(seen.sorting + seen.unfound > 5 && seen.counting > 5);
#if !defined(__SANITIZE_ADDRESS__) &&                                                                        \
    !defined(__SANITIZE_THREAD__) /* which stand in between, with deep stacks */
    assert_true(seen.unfound * 5 < seen.sorting);
#endif
    gn_sample_event_close(&event);
    gn_sample_maps_free(seen.maps);
    gn_sample_code_free(seen.code);
}

/* Addresses that are nowhere, stacks that are none. */
static void nonsense_is_nowhere(void **state)
{
    (void)state;
    struct gn_sample_code *code = gn_sample_code_new();
    struct gn_sample_maps *maps = gn_sample_maps_new(code, (int)getpid(), NULL);
    const uintptr_t addresses[] = {
        0, 1, 8, UINTPTR_MAX, (uintptr_t)strcmp, (uintptr_t)qsort, (uintptr_t)&sink};
    uint8_t stack[256];
    uint64_t chance = 1;
    for (int i = 0; i < 20000; i++) {
        struct gn_sample_where where;
        for (size_t k = 0; k < sizeof stack; k++) {
            chance = chance * 6364136223846793005ull + 1442695040888963407ull;
            stack[k] = (uint8_t)(chance >> 56);
        }
        struct gn_sample sample = {
            .at = {addresses[chance % (sizeof addresses / sizeof addresses[0])], chance % 3 ? 0x1000 : chance,
                   chance},
            .stack = {stack, chance % 3 ? 0x1000 : chance, chance % sizeof stack, false}};
        gn_sample_where(maps, &sample, &where);
        assert_true(where.site.module < gn_sample_code_count(code));
    }
    gn_sample_maps_free(maps);
    /* one that is gone */
    maps = gn_sample_maps_new(code, 0x7ffffff0, NULL);
    struct gn_sample_where where;
    const struct gn_sample sample = {.at = {(uintptr_t)strcmp, 8, 8}};
    gn_sample_where(maps, &sample, &where);
    assert_int_equal(where.site.module, GN_SAMPLE_NOWHERE);
    gn_sample_maps_free(maps);
    gn_sample_code_free(code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_called_a_library_is_found),
        cmocka_unit_test(nonsense_is_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
