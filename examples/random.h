/*
 * A random number at a position, instead of a next one: each rank makes its part of the input without the
 * others', and the input is the same for any number of ranks.
 */
#ifndef EXAMPLES_RANDOM_H
#define EXAMPLES_RANDOM_H

#include <stdint.h>

/* splitmix64 */
static inline uint64_t random_at(uint64_t position)
{
    uint64_t z = position * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

#endif
