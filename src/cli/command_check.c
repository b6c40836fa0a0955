/* gnomon check — whether the timestamps of a trace keep the order of cause and effect. */
#include "cli/commands.h"
#include "cli/condition_report.h"
#include "cli/format_option.h"
#include "cli/latency_spec.h"
#include "cli/standard_streams.h"
#include "cli/sync_clocks.h"
#include "cli/watched_source.h"
#include "event/ahead.h"
#include "live/folder.h"
#include "trace/reader.h"

#include <argp.h>
#include <errno.h>
#include <string.h>

enum { BAD_INPUT = 2, KEY_PRESYNC = 256, KEY_LATENCY };

struct arguments {
    const char *trace;
    enum gn_sync_presync presync;
    struct gn_latency_spec latency;
    bool json;
};

static const struct argp_option options[] = {
    {"presync", KEY_PRESYNC, "WHAT", 0,
     "Whose times: linear, with the archive's clock offsets as any reader of it sees them (default); none, "
     "as "
     "the clocks showed them; bounds, in the middle of their guaranteed bounds",
     0},
    {"latency", KEY_LATENCY, "WHAT", 0,
     "What a message takes at least: 0 (default), a time between hosts (1.5us), or a file", 0},
    {"format", 'f', "FORMAT", 0, "text (default) or json", 0},
    {0}};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_PRESYNC:
        a->presync = gn_sync_presync_of(value);
        if (a->presync == GN_SYNC_AUTO)
            argp_error(state, "--presync %s: linear, none or bounds is expected", value);
        break;
    case KEY_LATENCY:
        gn_latency_parse(&a->latency, value);
        if (a->latency.kind == GN_LATENCY_AUTO)
            argp_error(state, "--latency auto: that is an estimate of gnomon sync; say a time or a file");
        break;
    case 'f':
        a->json = gn_format_is_json(value, state);
        break;
    case ARGP_KEY_ARG:
        if (a->trace)
            argp_error(state, "one trace at a time: %s is too much", value);
        a->trace = value;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int check_watched(struct gn_source *source, const struct gn_presync *presync,
                         const struct gn_latency *latency, struct gn_condition *condition,
                         struct gn_error *err)
{
    struct gn_watched_source watched;
    struct gn_source seen = gn_watch_source(&watched, source, "checking");
    int code = gn_condition_check(&seen, presync, latency, condition, err);
    gn_progress_end(&watched.progress);
    return code;
}

/* ---- all ---- */

static int print(const struct arguments *a, const struct gn_condition_report *report, struct gn_error *err)
{
    if (a->json) {
        json_t *json = gn_condition_report_json(report);
        if (!json)
            return gn_fail(err, -ENOMEM, "no memory for the report");
        json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        fputc('\n', stdout);
        json_decref(json);
    } else {
        gn_condition_report_text(report, stdout);
    }
    if (fflush(stdout) != 0 || ferror(stdout))
        return gn_fail(err, -EIO, "cannot write the report: %s", strerror(errno));
    return gn_condition_holds(report->condition) ? 0 : 1;
}

static int check_with(const struct arguments *a, const char *path, struct gn_source *source,
                      const struct gn_presync *presync, struct gn_error *err)
{
    struct gn_condition condition;
    struct gn_latency latency;
    const struct gn_definitions *d = source->definitions;
    int code = gn_latency_given(&latency, &a->latency, d, err);
    if (code < 0)
        return code;
    code = check_watched(source, presync, &latency, &condition, err);
    if (code == 0) {
        const struct gn_condition_report report = {path, d, &condition, &latency, presync->kind};
        code = print(a, &report, err);
    }
    gn_latency_close(&latency);
    return code;
}

static int check(const struct arguments *a, const char *path, struct gn_error *err)
{
    const struct gn_trace_report *found;
    struct gn_source source;
    struct gn_sync_clocks clocks;
    int code = gn_trace_open(&source, &found, path, err);
    if (code < 0)
        return code;
    code = gn_sync_clocks(&clocks, a->presync, path, source.definitions, err);
    if (code == 0) {
        if (clocks.has_known)
            gn_known_bounds_tell(&clocks.known, "check");
        gn_source_ahead(&source); /* without it, it only takes longer */
        code = check_with(a, path, &source, &clocks.presync, err);
        gn_sync_clocks_clear(&clocks);
    }
    if (code >= 0 && (found->truncated || found->missing_files))
        fprintf(stderr,
                "gnomon check: the trace is not whole: %llu locations end early, %llu have no events file\n",
                (unsigned long long)found->truncated, (unsigned long long)found->missing_files);
    source.close(source.self);
    return code;
}

int gn_command_check(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "[TRACE]",
        "Whether the timestamps of a trace keep the order of cause and effect: no message is received before "
        "it was sent, no collective over before those it depends on have begun.\vTRACE is an OTF2 archive or "
        "a run with one; without it, the newest run here. Exit status 1: the clock condition is violated; "
        "2: wrong usage, or the trace cannot be read, or the report not be written.",
        NULL,
        NULL,
        NULL};
    struct arguments a = {.presync = GN_SYNC_LINEAR, .latency = {.kind = GN_LATENCY_TIME}};
    struct gn_error err = {""};
    char newest[4096];
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    gn_standard_streams();
    int code = a.trace ? 0 : gn_folder_newest(".", newest, sizeof newest, &err);
    if (code == 0)
        code = check(&a, a.trace ? a.trace : newest, &err);
    if (code >= 0)
        return code;
    fprintf(stderr, "gnomon check: %s\n", err.text);
    return BAD_INPUT;
}
