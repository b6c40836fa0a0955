/* capture/count_array — an array of counts as the call has it: of int, or of MPI_Count. */
#ifndef GNOMON_CAPTURE_COUNT_ARRAY_H
#define GNOMON_CAPTURE_COUNT_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

struct gn_count_array {
    const void *at;
    bool large;
};
static inline struct gn_count_array gn_counts(const void *at, bool large)
{
    return (struct gn_count_array){at, large};
}
static inline int64_t gn_count_array_at(struct gn_count_array counts, int i)
{
    return counts.large ? ((const int64_t *)counts.at)[i] : ((const int *)counts.at)[i];
}

#endif
