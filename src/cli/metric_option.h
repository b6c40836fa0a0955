/* cli/metric_option — names of what the kernel counts (graph/metrics.h) as the value of --metric. */
#ifndef GNOMON_CLI_METRIC_OPTION_H
#define GNOMON_CLI_METRIC_OPTION_H

#include <argp.h>
#include <stddef.h>
#include <stdint.h>

/* A bit for each of "page-faults,instructions"; anything else ends gnomon, as wrong usage. */
uint32_t gn_metric_option(const struct argp_state *state, const char *list);

/* The names of the bits that are set, with a comma and a space between them, into text[size]; "" of none. */
const char *gn_metric_names(uint32_t metrics, char *text, size_t size);

#endif
