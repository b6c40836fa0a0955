/* answer/spans: intervals are rounded outward, and never look narrower than they are. */
#include "answer/spans.h"

#include "base/mix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void times(void **state)
{
    char text[GN_SPAN_TEXT];
    (void)state;
    assert_string_equal(gn_span_time(0, 0, text), "0 ns");
    assert_string_equal(gn_span_time(38, 42, text), "38 to 42 ns");
    assert_string_equal(gn_span_time(1500, 1500, text), "1.500 us");
    assert_string_equal(gn_span_time(1047100001, 1047199999, text), "1.0471 to 1.0472 s");
    assert_string_equal(gn_span_time(5467000, 5478000, text), "5.467 to 5.478 ms");
    assert_string_equal(gn_span_time(0, 2000000, text), "0.000 to 2.000 ms");
    assert_string_equal(gn_span_time(13.7e12, 13.7e12 + 1, text), "13700 to 13701 s");
}

static void shares(void **state)
{
    char text[GN_SPAN_TEXT];
    (void)state;
    assert_string_equal(gn_span_share(0.2, 0.2, text), "20.00 %");
    assert_string_equal(gn_span_share(0.12345, 0.12346, text), "12.34 to 12.35 %");
    assert_string_equal(gn_span_share(0, 1, text), "0.00 to 100.00 %");
}

static void what_is_shown_is_around_what_is_meant(void **state)
{
    uint64_t random = 7;
    char text[GN_SPAN_TEXT];
    (void)state;
    for (int i = 0; i < 20000; i++) {
        const double lo = gn_mix_unit(gn_mix_next(&random)),
                     hi = lo + gn_mix_unit(gn_mix_next(&random)) * 0.01;
        double low, high;
        gn_span_share(lo, hi, text);
        const int read = sscanf(text, "%lf to %lf", &low, &high);
        high = read == 1 ? low : high;
        if (!(low <= 100 * lo + 1e-9 && high >= 100 * hi - 1e-9 && high - low <= 100 * (hi - lo) + 0.0201))
            fail_msg("[%.17g, %.17g] is shown as %s", lo, hi, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times),
        cmocka_unit_test(shares),
        cmocka_unit_test(what_is_shown_is_around_what_is_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
