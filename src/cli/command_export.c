/* gnomon export — a trace in the formats of other programs. */
#include "cli/commands.h"
#include "trace/export.h"
#include "cli/known_bounds.h"
#include "cli/ordering.h"
#include "live/folder.h"
#include "order/arrival.h"
#include "trace/reader.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BAD_INPUT = 2 };

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

static const struct format {
    const char *name;
    bool is_binary, has_bounds;
    int (*open)(struct gn_output *output, FILE *file, const struct gn_definitions *definitions,
                const struct gn_origin *origin, struct gn_error *err);
} formats[] = {{"perfetto", true, false, gn_export_perfetto},
               {"chrome", false, false, gn_export_chrome},
               {"csv", false, true, gn_export_csv},
               {"jsonl", false, true, open_jsonl}};

struct arguments {
    const char *trace, *path; /* path NULL: standard output */
    const struct format *format;
    bool bounds;
};

static const struct format *find_format(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

static void parse_end(const struct arguments *a, struct argp_state *state)
{
    if (!a->format)
        argp_error(state, "a format is expected: --to perfetto, chrome, csv or jsonl");
    if (a->format && a->format->is_binary && !a->path && isatty(STDOUT_FILENO))
        argp_error(state, "%s is binary: name a file for it with -o", a->format->name);
    if (a->format && a->bounds && !a->format->has_bounds)
        argp_error(state, "--bounds goes with csv and jsonl: %s has no place for them", a->format->name);
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 't':
        a->format = find_format(value);
        if (!a->format)
            argp_error(state, "there is no format \"%s\": perfetto, chrome, csv and jsonl are known", value);
        break;
    case 'o':
        a->path = strcmp(value, "-") == 0 ? NULL : value;
        break;
    case 'b':
        a->bounds = true;
        break;
    case ARGP_KEY_ARG:
        if (a->trace)
            argp_error(state, "one trace is expected, \"%s\" is a second one", value);
        a->trace = value;
        break;
    case ARGP_KEY_END:
        parse_end(a, state);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp_option options[] = {
    {"to", 't', "FORMAT", 0, "perfetto, chrome, csv or jsonl", 0},
    {"bounds", 'b', NULL, 0,
     "With csv and jsonl: between which times each event was, by one clock (lo_ns, hi_ns)", 0},
    {"output", 'o', "FILE", 0, "Where to write; - or nothing: standard output", 0},
    {0}};

/* ---- the way of the events ---- */

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

static FILE *open_file(const struct arguments *a, struct gn_error *err)
{
    FILE *file = a->path ? fopen(a->path, "we") : stdout;
    if (!file)
        gn_fail(err, -errno, "cannot write %s: %s", a->path, strerror(errno));
    return file;
}

static int export_to(FILE *file, const struct arguments *a, struct gn_source *source,
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

static int export_with(const struct arguments *a, struct gn_source *source,
                       const struct gn_event_bounds *bounds, struct gn_error *err)
{
    const struct gn_ordering_settings settings = {.definitions = source->definitions, .bounds = bounds};
    struct gn_ordering *ordering;
    int code = gn_ordering_open(&ordering, &settings, err);
    if (code < 0)
        return code;
    FILE *file = open_file(a, err);
    code = file ? export_to(file, a, source, ordering, err) : -EIO;
    gn_ordering_close(ordering);
    return code;
}

static int export_trace(const struct arguments *a, const char *path, struct gn_source *source,
                        struct gn_error *err)
{
    struct gn_known_bounds known;
    if (!a->bounds)
        return export_with(a, source, NULL, err);
    int code = gn_known_bounds(&known, path, source->definitions, err);
    if (code < 0)
        return code;
    gn_known_bounds_tell(&known, "export");
    code = export_with(a, source, &known.events, err);
    gn_known_bounds_clear(&known);
    return code;
}

int gn_command_export(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "--to FORMAT [--bounds] [-o FILE] [TRACE]",
        "Writes the events of a trace (an OTF2 archive, or a run with one; without it, the newest run "
        "here) in the format of another program.",
        NULL,
        NULL,
        NULL};
    struct arguments a = {.trace = NULL};
    const struct gn_trace_report *found;
    struct gn_source source;
    struct gn_error err = {{0}};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    char newest[4096];
    int missing = a.trace ? 0 : gn_folder_newest(".", newest, sizeof newest, &err);
    const char *path = a.trace ? a.trace : newest;
    if (missing || gn_trace_open(&source, &found, path, &err) < 0) {
        fprintf(stderr, "gnomon export: %s\n", err.text);
        return BAD_INPUT;
    }
    signal(SIGPIPE,
           SIG_IGN); /* a reader that has seen enough, like head: an error of write, which is told below */
    int code = export_trace(&a, path, &source, &err);
    if (code < 0 && code != -EPIPE)
        fprintf(stderr, "gnomon export: %s\n", err.text);
    if (found->truncated || found->missing_files)
        fprintf(stderr,
                "gnomon export: the trace is not whole: %llu locations end early, %llu have no events file\n",
                (unsigned long long)found->truncated, (unsigned long long)found->missing_files);
    source.close(source.self);
    return code < 0;
}
