/* gnomon live — what a running job measures, and from now on. */
#include "agent/order.h"
#include "agent/running_hosts.h"
#include "cli/analysis_options.h"
#include "cli/commands.h"
#include "cli/live_answer.h"
#include "cli/metric_option.h"
#include "cli/place.h"
#include "cli/rate_option.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>

enum { BAD_INPUT = 2, KEY_WINDOWS = 256, KEY_SAMPLE, KEY_METRIC };

struct arguments {
    const char *run;
    struct gn_wanted wanted;
    bool json;
};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_WINDOWS:
        a->wanted.has_windows = true;
        a->wanted.windows_rate = (double)gn_rate_option(state, "windows", value, GN_WINDOWS_MOST_RATE);
        break;
    case KEY_SAMPLE:
        a->wanted.has_sample = true;
        a->wanted.sample_hz = (unsigned)gn_rate_option(state, "sample", value, GN_SAMPLE_MOST_HZ);
        break;
    case KEY_METRIC:
        a->wanted.has_metrics = true;
        a->wanted.metrics = strcmp(value, "off") == 0 ? 0 : gn_metric_option(state, value);
        break;
    case 'f':
        a->json = gn_json_option(state, value);
        break;
    case ARGP_KEY_ARG:
        if (a->run)
            argp_error(state, "one run at a time: %s is too much", value);
        a->run = value;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp_option options[] = {
    {"windows", KEY_WINDOWS, "RATE|off", 0,
     "From now on so many events a second of each host are kept, in windows of time, for who waits for whom",
     0},
    {"sample", KEY_SAMPLE, "RATE|off", 0, "From now on so many samples a second of each thread", 0},
    {"metric", KEY_METRIC, "NAME[,...]|off", 0,
     "From now on these are counted, too, of all threads, as perf(1) names them: page-faults, instructions, "
     "...",
     0},
    {"format", 'f', "FORMAT", 0, "text (default) or json", 0},
    {0}};

static int live(const struct arguments *a, struct gn_error *err)
{
    char folder[4096];
    struct gn_running_hosts hosts = {.items = NULL};
    int code = gn_place_find(a->run, folder, sizeof folder, err);
    if (code == 0)
        code = gn_running_hosts_read(&hosts, folder, err);
    if (code == 0 && (a->wanted.has_windows || a->wanted.has_sample || a->wanted.has_metrics))
        code = gn_running_hosts_change(&hosts, folder, &a->wanted, err);
    if (code == 0 && a->json)
        code = gn_print_json(gn_live_json(&hosts, folder), err);
    else if (code == 0)
        gn_live_text(&hosts, folder, stdout);
    gn_running_hosts_clear(&hosts);
    return code == 0 ? gn_print_end(err) : code;
}

int gn_command_live(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "[RUN]",
        "What a job that goes on measures; and what it is to measure from now on.\vRUN is "
        "the folder of a run, or one with runs: its newest; without it, the newest run "
        "folder here. Exit status 2: it does not go on, or what is asked for is not to be "
        "had.",
        gn_place_option,
        NULL,
        NULL};
    struct arguments a = {.run = NULL};
    struct gn_error err = {""};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (live(&a, &err) == 0)
        return 0;
    fprintf(stderr, "gnomon live: %s\n", err.text);
    return BAD_INPUT;
}
