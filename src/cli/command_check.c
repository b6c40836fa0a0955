/* gnomon check — whether the timestamps of a trace keep the order of cause and effect. */
#include "cli/commands.h"

#include "agent/folder.h"
#include "cli/asked_bounds.h"
#include "answer/condition_report.h"
#include "cli/format_option.h"
#include "cli/place.h"
#include "cli/standard_streams.h"
#include "cli/watched_source.h"
#include "repair/check.h"

#include <argp.h>
#include <errno.h>
#include <string.h>

enum { BAD_INPUT = 2, KEY_PRESYNC = 256, KEY_LATENCY };

struct arguments {
    struct gn_check_settings settings;
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
        a->settings.presync = gn_sync_presync_of(value);
        if (a->settings.presync == GN_SYNC_AUTO)
            argp_error(state, "--presync %s: linear, none or bounds is expected", value);
        break;
    case KEY_LATENCY:
        gn_latency_parse(&a->settings.latency, value);
        if (a->settings.latency.kind == GN_LATENCY_AUTO)
            argp_error(state, "--latency auto: that is an estimate of gnomon sync; say a time or a file");
        break;
    case 'f':
        a->json = gn_json_option(state, value);
        break;
    case ARGP_KEY_ARG:
        if (a->settings.trace)
            argp_error(state, "one trace at a time: %s is too much", value);
        a->settings.trace = value;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- the check ---- */

static struct gn_source watch(void *self, const struct gn_source *source)
{
    return gn_watch_source(self, source, "checking");
}

static int print(const struct gn_check_report *checked, bool json, struct gn_error *err)
{
    const struct gn_condition_report report = {checked->trace, checked->definitions, &checked->condition,
                                               &checked->latency, checked->clocks.presync.kind};
    if (!json)
        gn_condition_report_text(&report, stdout);
    else if (gn_condition_report_print_json(&report, stdout) < 0)
        return gn_fail(err, -ENOMEM, "no memory for the report");
    if (fflush(stdout) != 0 || ferror(stdout))
        return gn_fail(err, -EIO, "cannot write the report: %s", strerror(errno));
    return gn_condition_holds(&checked->condition) ? 0 : 1;
}

static void tell(const struct gn_check_report *report, const struct gn_asked_bounds *asked)
{
    gn_asked_bounds_tell(asked, &report->clocks, "check");
    if (report->truncated || report->missing_files)
        fprintf(stderr,
                "gnomon check: the trace is not whole: %llu locations end early, %llu have no events file\n",
                (unsigned long long)report->truncated, (unsigned long long)report->missing_files);
}

static int check(struct arguments *a, struct gn_error *err)
{
    struct gn_check_report report;
    struct gn_asked_bounds asked;
    struct gn_watched_source watched = {.source = NULL};
    a->settings.bounds = gn_asked_bounds(&asked, a->settings.trace);
    a->settings.watch = watch;
    a->settings.self = &watched;
    int code = gn_check(&a->settings, &report, err);
    gn_progress_end(&watched.progress);
    if (code == 0) {
        tell(&report, &asked);
        code = print(&report, a->json, err);
        gn_check_report_clear(&report);
    }
    gn_asked_bounds_clear(&asked);
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
        gn_place_option,
        NULL,
        NULL};
    struct arguments a = {.settings = {.presync = GN_SYNC_LINEAR, .latency = {.kind = GN_LATENCY_TIME}}};
    struct gn_error err = {""};
    char found[4096];
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    gn_standard_streams();
    int code = gn_place_find(a.settings.trace, found, sizeof found, &err);
    a.settings.trace = found;
    if (code == 0)
        code = check(&a, &err);
    if (code >= 0)
        return code;
    fprintf(stderr, "gnomon check: %s\n", err.text);
    return BAD_INPUT;
}
