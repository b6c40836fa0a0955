/* answer/quantities: three significant digits, a unit, and never more certain than it is. */
#include "answer/quantities.h"

#include "base/mix.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SAYS(call, expected)                                                                                 \
    do {                                                                                                     \
        char said[GN_QUANTITY_TEXT];                                                                         \
        assert_string_equal(call, expected);                                                                 \
    } while (0)

static void durations(void **state)
{
    (void)state;
    SAYS(gn_duration_text(0, said), "0 ns");
    SAYS(gn_duration_text(5, said), "5 ns");
    SAYS(gn_duration_text(0.25, said), "0.25 ns");
    SAYS(gn_duration_text(999, said), "999 ns");
    SAYS(gn_duration_text(999.6, said), "1.00 us");
    SAYS(gn_duration_text(1234, said), "1.23 us");
    SAYS(gn_duration_text(12345678, said), "12.3 ms");
    SAYS(gn_duration_text(999.6e6, said), "1.00 s");
    SAYS(gn_duration_text(42.1e9, said), "42.1 s");
    SAYS(gn_duration_text(86400e9, said), "86400 s");
    SAYS(gn_duration_text(-1234, said), "-1.23 us");
    SAYS(gn_duration_text(INFINITY, said), "unknown");
    SAYS(gn_duration_text(NAN, said), "unknown");
    SAYS(gn_ticks_text(3e6, 3e9, said), "1.00 ms");
}

static void sizes_and_counts(void **state)
{
    (void)state;
    SAYS(gn_bytes_text(0, said), "0 B");
    SAYS(gn_bytes_text(1023, said), "1023 B");
    SAYS(gn_bytes_text(1024, said), "1.00 KiB");
    SAYS(gn_bytes_text(12.34 * 1024 * 1024, said), "12.3 MiB");
    SAYS(gn_bytes_text(1023.7 * 1024, said), "1.00 MiB");
    SAYS(gn_bytes_text(4.2 * 0x1p30, said), "4.20 GiB");
    SAYS(gn_amount_text(0, said), "0");
    SAYS(gn_amount_text(999.4, said), "999");
    SAYS(gn_amount_text(999.6, said), "1.00 k");
    SAYS(gn_amount_text(12345678, said), "12.3 M");
    SAYS(gn_amount_text(999999, said), "1.00 M");
    SAYS(gn_amount_text(9.2e18, said), "9.20 E");
    SAYS(gn_amount_text(NAN, said), "unknown");
    SAYS(gn_count_text(0, said), "0");
    SAYS(gn_count_text(999, said), "999");
    SAYS(gn_count_text(1204331, said), "1,204,331");
    SAYS(gn_count_text(-1000, said), "-1,000");
    SAYS(gn_count_text(-100, said), "-100");
    SAYS(gn_count_text(INT64_MIN, said), "-9,223,372,036,854,775,808");
}

static void what_is_there_is_not_shown_as_none(void **state)
{
    uint64_t random = 3;
    char text[GN_QUANTITY_TEXT];
    (void)state;
    SAYS(gn_share_text(0, said), "0 %");
    SAYS(gn_share_text(1, said), "100 %");
    SAYS(gn_share_text(0.31, said), "31.0 %");
    SAYS(gn_share_text(0.0052, said), "0.52 %");
    SAYS(gn_share_text(0.000012, said), "0.0012 %");
    SAYS(gn_share_text(0.00996, said), "1.0 %");
    SAYS(gn_share_text(NAN, said), "unknown");
    for (int i = 0; i < 10000; i++) {
        const double share = pow(10, -9 * gn_mix_unit(gn_mix_next(&random)));
        const double shown = strtod(gn_share_text(share, text), NULL);
        if (!(fabs(shown - 100 * share) <= 0.05 * 100 * share + 1e-12) || shown == 0)
            fail_msg("%.17g is shown as %s", share, text);
    }
}

static void bounds_are_rounded_up(void **state)
{
    uint64_t random = 5;
    char text[GN_QUANTITY_TEXT];
    (void)state;
    SAYS(gn_width_text(1231, said), "1.24 us");
    SAYS(gn_width_text(1230, said), "1.23 us");
    SAYS(gn_width_text(77.5, said), "77.5 ns");
    for (int i = 0; i < 10000; i++) {
        const double ns = pow(10, 12 * gn_mix_unit(gn_mix_next(&random)));
        char *unit;
        const double number = strtod(gn_width_text(ns, text), &unit);
        const double shown = number * (strcmp(unit, " s") == 0    ? 1e9
                                       : strcmp(unit, " ms") == 0 ? 1e6
                                       : strcmp(unit, " us") == 0 ? 1e3
                                                                  : 1);
        if (!(shown >= ns * (1 - 1e-12) && shown <= ns * 1.011))
            fail_msg("%.17g ns is shown as %s", ns, text);
    }
}

static void clocks(void **state)
{
    (void)state;
    SAYS(gn_offset_text(-3213456789. - 155, -3213456789. + 155, said), "-3.213456789 s ± 155 ns");
    SAYS(gn_offset_text(-20, 20, said), "0 ns ± 20 ns");
    SAYS(gn_offset_text(-INFINITY, INFINITY, said), "unknown");
    SAYS(gn_rate_text(12324, 12366, said), "+12.345 ± 0.022 ppm");
    SAYS(gn_rate_text(-100, 100, said), "0.00 ± 0.11 ppm");
    SAYS(gn_rate_text(-1e9, 1e9, said), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations),
        cmocka_unit_test(sizes_and_counts),
        cmocka_unit_test(what_is_there_is_not_shown_as_none),
        cmocka_unit_test(bounds_are_rounded_up),
        cmocka_unit_test(clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
