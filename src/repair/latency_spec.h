/*
 * repair/latency_spec — µ (repair/latency.h) as people say it: auto, one time for all messages between clock
 * domains, or a file with a line for each two domains (man gnomon-sync).
 */
#ifndef GNOMON_REPAIR_LATENCY_SPEC_H
#define GNOMON_REPAIR_LATENCY_SPEC_H

#include "event/definitions.h"
#include "repair/latency.h"

enum gn_latency_kind { GN_LATENCY_AUTO, GN_LATENCY_TIME, GN_LATENCY_FILE };

struct gn_latency_spec {
    enum gn_latency_kind kind;
    double time_ns;
    const char *file; /* borrowed */
};

/* Any text that is neither "auto" nor a time is the name of a file, which is not looked at yet. */
void gn_latency_parse(struct gn_latency_spec *spec, const char *text);

/* A time as ticks of the archive, the nearest. */
int64_t gn_latency_ticks(const struct gn_definitions *definitions, double ns);

/* How many domains a gn_latency of these definitions has. */
uint32_t gn_latency_domains(const struct gn_definitions *definitions);

/*
 * What a spec other than AUTO says of a trace with these definitions; the caller closes *latency. 0, or a
 * negative errno value with err set: the file cannot be read, or -EINVAL and what is wrong in which line.
 */
int gn_latency_given(struct gn_latency *latency, const struct gn_latency_spec *spec,
                     const struct gn_definitions *definitions, struct gn_error *err);

#endif
