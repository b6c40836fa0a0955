/* gnomon export — a trace in the formats of other programs. */
#include "cli/commands.h"
#include "cli/place.h"
#include "cli/exporting.h"
#include "cli/exporting_profile.h"
#include "analyse/trace_worlds.h"
#include "agent/folder.h"
#include "trace/reader.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BAD_INPUT = 2 };

struct arguments {
    const char *trace, *profile_format; /* the latter: not of the trace */
    struct gn_exporting to;
};

static void parse_end(const struct arguments *a, struct argp_state *state)
{
    if (!a->to.format && !a->profile_format)
        argp_error(state, "a format is expected: --to perfetto, chrome, csv, jsonl, collapsed, speedscope, "
                          "pprof or hatchet");
    if (a->profile_format && a->to.bounds)
        argp_error(state, "--bounds goes with csv and jsonl: %s has no place for them", a->profile_format);
    const bool is_pprof = a->profile_format && strcmp(a->profile_format, "pprof") == 0;
    if (((a->to.format && a->to.format->is_binary) || is_pprof) && !a->to.path && isatty(STDOUT_FILENO))
        argp_error(state, "%s is binary: name a file for it with -o",
                   is_pprof ? a->profile_format : a->to.format->name);
    if (a->to.format && a->to.bounds && !a->to.format->has_bounds)
        argp_error(state, "--bounds goes with csv and jsonl: %s has no place for them", a->to.format->name);
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 't':
        a->to.format = gn_export_format(value);
        a->profile_format = gn_export_is_of_profile(value) ? value : NULL;
        if (!a->to.format && !a->profile_format)
            argp_error(state,
                       "there is no format \"%s\": perfetto, chrome, csv, jsonl, collapsed, speedscope, "
                       "pprof and hatchet are known",
                       value);
        break;
    case 'o':
        a->to.path = strcmp(value, "-") == 0 ? NULL : value;
        break;
    case 'b':
        a->to.bounds = true;
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
    {"to", 't', "FORMAT", 0,
     "Of a trace: perfetto, chrome, csv or jsonl; of a profile: collapsed, speedscope, pprof or hatchet", 0},
    {"bounds", 'b', NULL, 0,
     "With csv and jsonl: between which times each event was, by one clock (lo_ns, hi_ns)", 0},
    {"output", 'o', "FILE", 0, "Where to write; - or nothing: standard output", 0},
    {0}};

int gn_command_export(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "--to FORMAT [--bounds] [-o FILE] [TRACE]",
        "Writes the events of a trace (an OTF2 archive, or a run with one; without it, the newest run "
        "here), or a run's call tree, in the format of another program.",
        gn_place_option,
        NULL,
        NULL};
    struct arguments a = {.trace = NULL};
    const struct gn_trace_report *found;
    struct gn_source source;
    struct gn_error err = {{0}};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (a.profile_format) {
        const int written = gn_export_profile(a.profile_format, a.to.path, a.trace, &err);
        if (written < 0)
            fprintf(stderr, "gnomon export: %s\n", err.text);
        return written < 0 ? BAD_INPUT : 0;
    }
    char path[4096];
    if (gn_place_find(a.trace, path, sizeof path, &err) != 0 ||
        gn_trace_open(&source, &found, path, &err) < 0) {
        fprintf(stderr, "gnomon export: %s\n", err.text);
        return BAD_INPUT;
    }
    signal(SIGPIPE,
           SIG_IGN); /* a reader that has seen enough, like head: an error of write, which is told below */
    gn_trace_worlds_tell(path, "export");
    int code = gn_export_trace(&a.to, path, &source, &err);
    if (code < 0 && code != -EPIPE)
        fprintf(stderr, "gnomon export: %s\n", err.text);
    if (found->truncated || found->missing_files)
        fprintf(stderr,
                "gnomon export: the trace is not whole: %llu locations end early, %llu have no events file\n",
                (unsigned long long)found->truncated, (unsigned long long)found->missing_files);
    source.close(source.self);
    return code < 0;
}
