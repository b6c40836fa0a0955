/* base/wrapping — sums of numbers that somebody else's memory or file says: they may be anything, and wrap.
 */
#ifndef GNOMON_BASE_WRAPPING_H
#define GNOMON_BASE_WRAPPING_H

#include <stdint.h>

static inline int64_t gn_plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t gn_minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

#endif
