/*
 * clock/fixed — rates as fixed-point numbers, and products of them rounded outward.
 *
 * A rate is mantissa / 2^shift. Products of a 64-bit difference and a 63-bit mantissa fit 128 bits, so
 * nothing is lost before the one rounding at the end, whose direction the caller names.
 */
#ifndef GNOMON_CLOCK_FIXED_H
#define GNOMON_CLOCK_FIXED_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef __int128 gn_wide;
typedef unsigned __int128 gn_uwide;

/* The rates between which a clock is known to be, in one unit per another. unbounded: hi is infinite, lo 0.
 */
struct gn_rates {
    uint64_t lo, hi; /* mantissas below 2^63, lo <= hi */
    unsigned shift;
    bool unbounded;
};

static inline int64_t gn_saturate(gn_wide value)
{
    return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

static inline gn_wide gn_product_floor(uint64_t difference, uint64_t mantissa, unsigned shift)
{
    return (gn_wide)(((gn_uwide)difference * mantissa) >> shift);
}

static inline gn_wide gn_product_ceil(uint64_t difference, uint64_t mantissa, unsigned shift)
{
    return (gn_wide)(((gn_uwide)difference * mantissa + (((gn_uwide)1 << shift) - 1)) >> shift);
}

/* numerator / denominator as a mantissa; the quotient has to fit. */
static inline uint64_t gn_quotient_floor(uint64_t numerator, uint64_t denominator, unsigned shift)
{
    return (uint64_t)(((gn_uwide)numerator << shift) / denominator);
}

static inline uint64_t gn_quotient_ceil(uint64_t numerator, uint64_t denominator, unsigned shift)
{
    return (uint64_t)((((gn_uwide)numerator << shift) + denominator - 1) / denominator);
}

/* The largest shift, at most 62, with which a rate up to `largest` has a mantissa below 2^62. */
static inline unsigned gn_shift_for(double largest)
{
    int exponent;
    frexp(largest, &exponent); /* largest < 2^exponent */
    int shift = 62 - exponent;
    return shift > 62 ? 62 : shift < 0 ? 0 : (unsigned)shift;
}

/* A floating-point rate has an error of its own: both ends step over it. */
static inline uint64_t gn_mantissa_below(double rate, unsigned shift)
{
    uint64_t mantissa = (uint64_t)ldexp(rate, (int)shift);
    uint64_t error = (mantissa >> 51) + 1;
    return mantissa > error ? mantissa - error : 0;
}

static inline uint64_t gn_mantissa_above(double rate, unsigned shift)
{
    uint64_t mantissa = (uint64_t)ldexp(rate, (int)shift);
    return mantissa + (mantissa >> 51) + 1;
}

#endif
