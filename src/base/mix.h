/* base/mix — random numbers that follow from a seed: splitmix64 (Steele, Lea & Flood 2014). */
#ifndef GNOMON_BASE_MIX_H
#define GNOMON_BASE_MIX_H

#include <math.h>
#include <stdint.h>

static inline uint64_t gn_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t gn_mix_next(uint64_t *state)
{
    return gn_mix(*state += 0x9e3779b97f4a7c15u);
}

/* A number for a place (seed, stream, index), the same whenever it is asked for. */
static inline uint64_t gn_mix_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    return gn_mix(gn_mix(gn_mix(seed + 0x9e3779b97f4a7c15u) + stream + 1) + index * 0x9e3779b97f4a7c15u);
}

static inline double gn_mix_unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53; /* 0 ≤ u < 1 */
}

static inline double gn_mix_exponential(uint64_t bits, double mean)
{
    return -mean * log(1.0 - gn_mix_unit(bits));
}

#endif
