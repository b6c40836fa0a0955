#include "basics.h"

#include "base/mix.h"
#include "clock/bounds.h"

#include <inttypes.h>
#include <stdio.h>

/* Of all small intervals: before and after are said only when nothing in them can be otherwise. */
static uint64_t wrong_verdicts(void)
{
    uint64_t count = 0;
    for (int i = 0; i < 256; i++) {
        struct gn_interval a = {i & 3, (i & 3) + (i >> 2 & 3)}, b = {i >> 4 & 3, (i >> 4 & 3) + (i >> 6)};
        enum gn_verdict verdict = gn_verdict_of(a, b), right = GN_UNDECIDABLE;
        if (a.hi_ns < b.lo_ns)
            right = GN_BEFORE;
        if (b.hi_ns < a.lo_ns)
            right = GN_AFTER;
        count += verdict != right;
    }
    if (count)
        printf("WRONG: %llu verdicts of small intervals\n", (unsigned long long)count);
    return count;
}

/* x with number * x = 1 modulo prime; 0 < number < prime. */
static uint64_t inverse(uint64_t number, uint64_t prime)
{
    int64_t a = (int64_t)number, b = (int64_t)prime, x = 1, next = 0;
    while (b != 0) {
        int64_t quotient = a / b, rest = a % b, after = x - quotient * next;
        a = b;
        b = rest;
        x = next;
        next = after;
    }
    return (uint64_t)(x < 0 ? x + (int64_t)prime : x);
}

/* A line that rises by `rise` over a run, read where it is above a whole number by the smallest part that
 * there is, and where it is below one by as much: rates that are rounded to the wrong side, by however
 * little, are seen. */
static uint64_t wrong_chord(uint64_t *state)
{
    static const uint64_t primes[] = {65537, 4294967291, 1099511627689, 35184372088777, 1125899906842597};
    uint64_t run = primes[gn_mix_next(state) % 5], first = gn_mix_next(state) >> 2;
    int64_t rise = 1 + (int64_t)(gn_mix_next(state) % (run - 1)), begin = -(int64_t)(gn_mix_next(state) >> 4);
    struct gn_breakpoint points[] = {{first, begin, begin}, {first + run, begin + rise, begin + rise}};
    struct gn_bounds *bounds = gn_bounds_new(points, 2, &(struct gn_outside){0, 2}, NULL);
    uint64_t above = inverse((uint64_t)rise, run), wrong = !bounds;
    for (int i = 0; bounds && i < 2; i++) {
        uint64_t along = i ? run - above : above;
        int64_t down = begin + (int64_t)((unsigned __int128)along * (uint64_t)rise / run);
        struct gn_interval interval = gn_bounds_convert(bounds, first + along);
        wrong += interval.lo_ns > down || interval.hi_ns < down + 1;
    }
    if (wrong)
        printf("WRONG: a line of %" PRIi64 " ns over %" PRIu64 " ticks is rounded inward\n", rise, run);
    gn_bounds_free(bounds);
    return wrong;
}

uint64_t basics_wrong(uint64_t seed)
{
    uint64_t state = seed, wrong = wrong_verdicts();
    for (int i = 0; i < 1000 && !wrong; i++)
        wrong += wrong_chord(&state);
    return wrong;
}
