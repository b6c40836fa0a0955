/* cli/exporting — a trace in another format: by timestamp through the sort, which knows where messages come
 * from. */
#ifndef GNOMON_CLI_EXPORTING_H
#define GNOMON_CLI_EXPORTING_H

#include "event/stream.h"
#include "trace/output.h"

#include <stdio.h>

struct gn_export_format {
    const char *name;
    bool is_binary, has_bounds;
    int (*open)(struct gn_output *output, FILE *file, const struct gn_definitions *definitions,
                const struct gn_origin *origin, struct gn_error *err);
};

/* NULL: there is none of that name. */
const struct gn_export_format *gn_export_format(const char *name);

struct gn_exporting {
    const struct gn_export_format *format;
    const char *path; /* NULL: standard output */
    bool bounds;
};

/* trace: what source reads, as for gn_trace_open. 0, or a negative errno value with err set. */
int gn_export_trace(const struct gn_exporting *exporting, const char *trace, struct gn_source *source,
                    struct gn_error *err);

#endif
