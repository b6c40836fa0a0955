/* cli/run_options — how `gnomon run` is told to measure, and what. */
#ifndef GNOMON_CLI_RUN_OPTIONS_H
#define GNOMON_CLI_RUN_OPTIONS_H

#include "agent/enlist.h"

#include <stdbool.h>
#include <stdint.h>

struct gn_run_options {
    const char *into;
    const char *spawned_by;
    const char *pcontrol;
    const char *activities; /* names of functions, with commas; NULL: none */
    bool quiet;
    int threads;
    struct gn_trace_settings trace;
    struct gn_exchange_settings exchange;
    struct gn_sample_settings sample;
    bool explains;
    bool trace_full; /* was given */
    int program;     /* index of its first word */
};

/* Options that make no sense end gnomon, as wrong usage. */
void gn_run_options(struct gn_run_options *options, int argc, char **argv);

/* A ring of so many records, in KiB, as --trace says it. */
unsigned gn_run_ring_kib(uint32_t records);

/* As --windows has it. */
void gn_run_windows_text(const struct gn_trace_settings *trace, char *text, size_t size);

/* As --sample has it. */
void gn_run_sample_text(const struct gn_sample_settings *sample, char *text, size_t size);

#endif
