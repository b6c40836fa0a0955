/* cli/order_options — what `gnomon order` is asked for. */
#ifndef GNOMON_CLI_ORDER_OPTIONS_H
#define GNOMON_CLI_ORDER_OPTIONS_H

#include "causality/arrival.h"

#include <stdbool.h>
#include <stddef.h>

enum gn_order_to {
    GN_ORDER_TO_UNSAID,
    GN_ORDER_TO_NONE,
    GN_ORDER_TO_JSONL,
    GN_ORDER_TO_OTF2,
    GN_ORDER_TO_STREAM
};

struct gn_order_options {
    const char *arrival_text;
    struct gn_arrival_settings arrival;
    enum gn_order_to to;
    const char *output, *plot, *when;
    uint64_t count; /* of --count; 0: not said */
    bool adjust, unsorted, stop, live, stats, json;
    char **inputs;
    size_t input_count;
};

/* Options that make no sense end gnomon, as wrong usage. What is not said follows from what is. */
void gn_order_options(struct gn_order_options *options, int argc, char **argv);

#endif
