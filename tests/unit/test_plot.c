/* cli/plot: bounded, keeps the largest values. Whether it is XML is asked in tests/e2e/order.sh. */
#include "causality/plot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct gn_plot plot;

static void fill(uint64_t pushes, uint64_t spike_at)
{
    memset(&plot, 0, sizeof plot);
    for (uint64_t i = 0; i < pushes; i++)
        gn_plot_add(&plot, i == spike_at ? 1000 : 3 + i % 5, i == spike_at ? 900 : i % 3);
}

static void test_bounded(void **state)
{
    static const uint64_t lengths[] = {1, 1999, 2000, 2001, 4000, 4001, 99999, 3000000};
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        fill(lengths[i], UINT64_MAX);
        assert_true(plot.count <= GN_PLOT_POINTS);
        assert_int_equal(plot.pushes, lengths[i]);
        assert_true(plot.count * plot.width >= lengths[i]);
        assert_true((plot.count - 1) * plot.width < lengths[i]);
        assert_true(lengths[i] < GN_PLOT_POINTS || plot.count >= GN_PLOT_POINTS / 2);
    }
}

static void test_keeps_the_largest(void **state)
{
    static const uint64_t spikes[] = {0, 1, 77, 1999, 2000, 54321, 99999};
    (void)state;
    for (size_t i = 0; i < sizeof spikes / sizeof spikes[0]; i++) {
        fill(100000, spikes[i]);
        const struct gn_plot_point *point = &plot.points[spikes[i] / plot.width];
        assert_int_equal(point->total, 1000);
        assert_int_equal(point->unreported, 900);
    }
}

static void test_writes(void **state)
{
    static const uint64_t lengths[] = {0, 1, 100000};
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char *text = NULL;
        size_t length;
        FILE *out = open_memstream(&text, &length);
        fill(lengths[i], 5);
        gn_plot_write(&plot, out);
        fclose(out);
        assert_non_null(strstr(text, "<svg "));
        assert_non_null(strstr(text, "Unreported"));
        assert_string_equal(text + length - 7, "</svg>\n");
        assert_null(strstr(text, "nan"));
        assert_null(strstr(text, "inf"));
        free(text);
    }
}

/* Numbers that no sort reaches still end. */
static void test_huge(void **state)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    (void)state;
    memset(&plot, 0, sizeof plot);
    gn_plot_add(&plot, UINT64_MAX, UINT64_MAX);
    gn_plot_write(&plot, out);
    fclose(out);
    assert_true(length < 100000);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounded),
                                       cmocka_unit_test(test_keeps_the_largest),
                                       cmocka_unit_test(test_writes), cmocka_unit_test(test_huge)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
