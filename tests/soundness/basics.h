/* soundness/basics — single facts that a run's readings would meet too rarely. */
#ifndef GNOMON_SOUNDNESS_BASICS_H
#define GNOMON_SOUNDNESS_BASICS_H

#include <stdint.h>

/* How many are wrong; what is, is printed. */
uint64_t basics_wrong(uint64_t seed);

#endif
