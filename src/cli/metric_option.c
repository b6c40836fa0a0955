#include "cli/metric_option.h"

#include "graph/metrics.h"

#include <stdio.h>
#include <string.h>

const char *gn_metric_names(uint32_t metrics, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; gn_metric(i) && used < size; i++)
        if (metrics >> i & 1)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", gn_metric(i)->name);
    return text;
}

uint32_t gn_metric_option(const struct argp_state *state, const char *list)
{
    uint32_t metrics = 0;
    for (const char *name = list; name;) {
        const size_t size = strcspn(name, ",");
        const int number = gn_metric_find(name, size);
        char known[512];
        if (number < 0)
            argp_error(state, "--metric %s: there is no metric \"%.*s\"; there are %s", list, (int)size, name,
                       gn_metric_names(UINT32_MAX, known, sizeof known));
        else
            metrics |= 1u << number;
        name = name[size] ? name + size + 1 : NULL;
    }
    if (__builtin_popcount(metrics) > GN_METRICS_AT_A_TIME)
        argp_error(state, "--metric %s: at most %d are counted at a time", list, (int)GN_METRICS_AT_A_TIME);
    return metrics;
}
