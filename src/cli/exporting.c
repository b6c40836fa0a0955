#include "cli/exporting.h"

#include "analyse/known_bounds.h"
#include "analyse/ordering.h"
#include "causality/arrival.h"
#include "trace/export.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One line of JSON per event is what `gnomon order` writes, too: it takes a descriptor. */
static int open_jsonl(struct gn_output *output, FILE *file, const struct gn_definitions *definitions,
                      const struct gn_origin *origin, struct gn_error *err)
{
    int fd = file == stdout ? STDOUT_FILENO : dup(fileno(file));
    if (fd < 0)
        return gn_fail(err, -errno, "cannot write: %s", strerror(errno));
    if (file != stdout)
        fclose(file);
    return gn_output_jsonl(output, fd, definitions, origin, err);
}

static const struct gn_export_format formats[] = {{"perfetto", true, false, gn_export_perfetto},
                                                  {"chrome", false, false, gn_export_chrome},
                                                  {"csv", false, true, gn_export_csv},
                                                  {"jsonl", false, true, open_jsonl}};

const struct gn_export_format *gn_export_format(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

/* From the trace by timestamp, through the sort, which knows where messages come from and leaves the rest as
 * it is. */
static int carry(struct gn_source *source, struct gn_ordering *ordering, struct gn_error *err)
{
    static const struct gn_arrival_settings recorded = {.kind = GN_ARRIVAL_RECORDED};
    struct gn_arrival *arrival;
    struct gn_arrived arrived;
    int code = gn_arrival_open(&arrival, source, &recorded, err);
    while (code == 0 && (code = gn_arrival_next(arrival, &arrived, err)) == 1) {
        code = arrived.count ? 0 : gn_ordering_end(ordering, arrived.location, err);
        for (uint32_t i = 0; i < arrived.count && code == 0; i++)
            code = gn_ordering_push(ordering, &arrived.events[i], err);
    }
    gn_arrival_close(arrival);
    return code == 0 ? gn_ordering_finish(ordering, err) : code;
}

static FILE *open_file(const struct gn_exporting *a, struct gn_error *err)
{
    FILE *file = a->path ? fopen(a->path, "we") : stdout;
    if (!file)
        gn_fail(err, -errno, "cannot write %s: %s", a->path, strerror(errno));
    return file;
}

static int export_to(FILE *file, const struct gn_exporting *a, struct gn_source *source,
                     struct gn_ordering *ordering, struct gn_error *err)
{
    struct gn_output output;
    int code = a->format->open(&output, file, source->definitions, gn_ordering_origin(ordering), err);
    if (code < 0)
        return code;
    gn_ordering_send_to(ordering, &output);
    code = carry(source, ordering, err);
    if (code == 0)
        return output.finish(output.self, err);
    output.close(output.self);
    return code;
}

static int export_with(const struct gn_exporting *a, struct gn_source *source,
                       const struct gn_event_bounds *bounds, struct gn_error *err)
{
    const struct gn_ordering_settings settings = {
        .definitions = source->definitions, .bounds = bounds, .in_time = true};
    struct gn_ordering *ordering;
    int code = gn_ordering_open(&ordering, &settings, err);
    if (code < 0)
        return code;
    FILE *file = open_file(a, err);
    code = file ? export_to(file, a, source, ordering, err) : -EIO;
    gn_ordering_close(ordering);
    return code;
}

int gn_export_trace(const struct gn_exporting *a, const char *trace, struct gn_source *source,
                    struct gn_error *err)
{
    struct gn_known_bounds known;
    if (!a->bounds)
        return export_with(a, source, NULL, err);
    int code = gn_known_bounds(&known, trace, source->definitions, err);
    if (code < 0)
        return code;
    gn_known_bounds_tell(&known, "export");
    code = export_with(a, source, &known.events, err);
    gn_known_bounds_clear(&known);
    return code;
}
