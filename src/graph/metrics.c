#include "graph/metrics.h"

#include <linux/perf_event.h>
#include <string.h>

#define HARDWARE(of) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##of
#define SOFTWARE(of) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##of
#define MISSED_READS(of)                                                                                     \
    PERF_TYPE_HW_CACHE,                                                                                      \
        PERF_COUNT_HW_CACHE_##of | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16

/* What happens in the kernel only (switches of context, migrations) is not counted for everybody. */
static const struct gn_metric metrics[] = {
    {"instructions", HARDWARE(INSTRUCTIONS)},
    {"cycles", HARDWARE(CPU_CYCLES)},
    {"cache-references", HARDWARE(CACHE_REFERENCES)},
    {"cache-misses", HARDWARE(CACHE_MISSES)},
    {"branches", HARDWARE(BRANCH_INSTRUCTIONS)},
    {"branch-misses", HARDWARE(BRANCH_MISSES)},
    {"page-faults", SOFTWARE(PAGE_FAULTS)},
    {"minor-faults", SOFTWARE(PAGE_FAULTS_MIN)},
    {"major-faults", SOFTWARE(PAGE_FAULTS_MAJ)},
    {"L1-dcache-load-misses", MISSED_READS(L1D)},
    {"LLC-load-misses", MISSED_READS(LL)},
    {"dTLB-load-misses", MISSED_READS(DTLB)},
};

const struct gn_metric *gn_metric(uint32_t number)
{
    return number < sizeof metrics / sizeof metrics[0] ? &metrics[number] : NULL;
}

int gn_metric_find(const char *name, size_t size)
{
    for (uint32_t i = 0; gn_metric(i); i++)
        if (strlen(metrics[i].name) == size && memcmp(metrics[i].name, name, size) == 0)
            return (int)i;
    return -1;
}
