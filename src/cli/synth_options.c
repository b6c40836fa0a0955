#include "cli/synth_options.h"

#include "cli/quantity_option.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_PATTERN = 256,
    KEY_SEED,
    KEY_DOMAINS,
    KEY_OFFSET,
    KEY_RATE,
    KEY_WANDER,
    KEY_MEASURE,
    KEY_LATENCY,
    KEY_WITHIN,
    KEY_QUIET,
    KEY_OWN_WORK,
    KEY_SPACING,
    KEY_COMPUTE,
    KEY_IMBALANCE,
    KEY_UNMATCHED,
    KEY_LOST,
    KEY_FASTER,
    KEY_SLOWER,
    KEY_LIST,
    KEY_TO,
};

static const struct argp_option list_of_options[] = {
    {"pattern", KEY_PATTERN, "PATTERN", 0, "The same as the argument", 0},
    {"locations", 'n', "COUNT", 0, "Ranks, with one location each (4)", 0},
    {"events", 'e', "COUNT", 0, "About as many in all (1e5)", 0},
    {"output", 'o', "FOLDER", 0, "The archive to write, and true-times beside it", 0},
    {"to", KEY_TO, "FORMAT", 0, "otf2 (default), or stream: an event stream to a file or standard output", 0},
    {"seed", KEY_SEED, "NUMBER", 0, "Another trace of the same kind (1)", 0},
    {"latency", KEY_LATENCY, "TIME", 0, "Of the fastest message; in the mean twice that (2us)", 0},
    {"latency-within", KEY_WITHIN, "TIME", 0, "The same between ranks of one clock domain (the latency)", 0},
    {"compute", KEY_COMPUTE, "TIME", 0, "Of a computation between calls, in the mean (20us)", 0},
    {"imbalance", KEY_IMBALANCE, "SHARE", 0, "By which ranks differ in that (10%)", 0},
    {"spacing", KEY_SPACING, "TIME", 0, "Between two events of a rank, at least (40ns)", 0},
    {"own-work", KEY_OWN_WORK, "TIME", 0, "Measuring costs each MPI call so much, at most (0)", 0},
    {"quiet", KEY_QUIET, "TIME", 0, "Sleep before the first iteration, and after the last (0)", 0},
    {"faster", KEY_FASTER, "REGION:PERCENT[@RANK]", 0,
     "Have a region compute in less time, the rest the same", 0},
    {"slower", KEY_SLOWER, "REGION:PERCENT[@RANK]", 0, "Or in so much more", 0},
    {"unmatched", KEY_UNMATCHED, "SHARE", 0, "Sends that nobody receives (0)", 0},
    {"lost", KEY_LOST, "SHARE", 0, "Events that are lost, in bursts (0)", 0},
    {"domains", KEY_DOMAINS, "COUNT", 0, "Clock domains (1)", 1},
    {"offset", KEY_OFFSET, "TIME", 0, "Clocks start within ± this (0)", 1},
    {"rate", KEY_RATE, "RATE", 0, "and run within ± this of the truth (0)", 1},
    {"wander", KEY_WANDER, "KIND:RATE:PERIOD", 0, "Rates change: sine, ramp or step, e.g. sine:5ppm:10s", 1},
    {"measure-offsets", KEY_MEASURE, "ERROR[:PERIOD]", 0,
     "The archive has clock offsets, measured to ± ERROR at the begin and the end; or bounds, every PERIOD",
     1},
    {"list", KEY_LIST, NULL, 0, "List the patterns", 2},
    {0}};

/* ---- options ---- */

static uint32_t count(struct argp_state *state, const char *option, const char *text)
{
    double value = gn_quantity_option(state, option, text, GN_QUANTITY_COUNT);
    if (value > INT32_MAX)
        argp_error(state, "--%s %s: that is too much", option, text);
    return (uint32_t)value;
}

static uint64_t seed(struct argp_state *state, const char *text)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 0);
    if (*end || end == text || errno || *text == '-')
        argp_error(state, "--seed %s: a number from 0 to 2^64 - 1 is expected", text);
    return value;
}

static void wander(struct argp_state *state, struct gn_synth_settings *settings, const char *text)
{
    static const char *const kinds[] = {
        [GN_WANDER_SINE] = "sine", [GN_WANDER_RAMP] = "ramp", [GN_WANDER_STEP] = "step"};
    char kind[8], rate[32], period[32];
    if (sscanf(text, "%7[^:]:%31[^:]:%31s", kind, rate, period) != 3)
        argp_error(state, "--wander %s: KIND:RATE:PERIOD is expected, such as sine:5ppm:10s", text);
    for (int i = GN_WANDER_SINE; i <= GN_WANDER_STEP; i++)
        if (strcmp(kind, kinds[i]) == 0)
            settings->wander = (enum gn_wander)i;
    if (settings->wander == GN_WANDER_NONE)
        argp_error(state, "--wander %s: sine, ramp or step is expected before the first colon", text);
    settings->wander_ppm = gn_quantity_option(state, "wander", rate, GN_QUANTITY_RATE_PPM);
    settings->wander_period_s = gn_quantity_option(state, "wander", period, GN_QUANTITY_TIME_NS) / 1e9;
}

static void measure(struct argp_state *state, struct gn_synth_settings *settings, char *text)
{
    char *period = strchr(text, ':');
    if (period)
        *period++ = '\0';
    settings->measured = true;
    settings->measure_error_ns = gn_quantity_option(state, "measure-offsets", text, GN_QUANTITY_TIME_NS);
    if (!period)
        return;
    settings->measure_period_s =
        gn_quantity_option(state, "measure-offsets", period, GN_QUANTITY_TIME_NS) / 1e9;
    if (settings->measure_period_s <= 0)
        argp_error(state, "--measure-offsets %s:%s: a period longer than that is expected", text, period);
}

/* option: "faster", or "slower", which is the same the other way round. */
static void faster(struct argp_state *state, struct gn_synth_settings *settings, const char *option,
                   char *text)
{
    const double sign = strcmp(option, "slower") == 0 ? -1 : 1;
    char *percent = strrchr(text, ':'), *rank = strrchr(text, '@');
    if (!percent || percent == text)
        argp_error(state, "--%s %s: REGION:PERCENT is expected, such as compute:20%% or compute:20%%@3",
                   option, text);
    if (settings->fast_region)
        argp_error(state, "--%s %s: one region can be made faster or slower", option, text);
    *percent++ = '\0';
    if (rank)
        *rank++ = '\0';
    settings->fast_region = text;
    settings->fast_percent = sign * 100 * gn_quantity_option(state, option, percent, GN_QUANTITY_SHARE);
    settings->fast_rank = rank ? count(state, option, rank) : GN_NONE;
}

static void list(void)
{
    for (const struct gn_synth_pattern *p = gn_synth_patterns(); p->name; p++)
        printf("%-12s %s\n", p->name, p->about);
    exit(0);
}

static void pattern(struct argp_state *state, struct gn_synth_options *a, const char *name)
{
    if (a->pattern)
        argp_error(state, "one pattern at a time: %s is too much", name);
    a->pattern = name;
}

static error_t parse_clocks(int key, char *value, struct argp_state *state)
{
    struct gn_synth_settings *s = &((struct gn_synth_options *)state->input)->settings;
    switch (key) {
    case KEY_DOMAINS:
        s->domains = count(state, "domains", value);
        break;
    case KEY_OFFSET:
        s->offset_ns = gn_quantity_option(state, "offset", value, GN_QUANTITY_TIME_NS);
        break;
    case KEY_RATE:
        s->rate_ppm = gn_quantity_option(state, "rate", value, GN_QUANTITY_RATE_PPM);
        break;
    case KEY_WANDER:
        wander(state, s, value);
        break;
    case KEY_MEASURE:
        measure(state, s, value);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static error_t parse_program(int key, char *value, struct argp_state *state)
{
    struct gn_synth_settings *s = &((struct gn_synth_options *)state->input)->settings;
    switch (key) {
    case 'n':
        s->locations = count(state, "locations", value);
        break;
    case 'e':
        s->events = (uint64_t)gn_quantity_option(state, "events", value, GN_QUANTITY_COUNT);
        break;
    case KEY_SEED:
        s->seed = seed(state, value);
        break;
    case KEY_LATENCY:
        s->latency_ns = gn_quantity_option(state, "latency", value, GN_QUANTITY_TIME_NS);
        break;
    case KEY_WITHIN:
        s->within_latency_ns = gn_quantity_option(state, "latency-within", value, GN_QUANTITY_TIME_NS);
        break;
    case KEY_SPACING:
        s->event_ns = gn_quantity_option(state, "spacing", value, GN_QUANTITY_TIME_NS);
        break;
    case KEY_OWN_WORK:
        s->own_work_ns = gn_quantity_option(state, "own-work", value, GN_QUANTITY_TIME_NS);
        break;
    case KEY_QUIET:
        s->quiet_ns = gn_quantity_option(state, "quiet", value, GN_QUANTITY_TIME_NS);
        break;
    case KEY_COMPUTE:
        s->compute_ns = gn_quantity_option(state, "compute", value, GN_QUANTITY_TIME_NS);
        break;
    case KEY_IMBALANCE:
        s->imbalance = gn_quantity_option(state, "imbalance", value, GN_QUANTITY_SHARE);
        break;
    case KEY_FASTER:
    case KEY_SLOWER:
        faster(state, s, key == KEY_FASTER ? "faster" : "slower", value);
        break;
    case KEY_UNMATCHED:
        s->unmatched = gn_quantity_option(state, "unmatched", value, GN_QUANTITY_SHARE);
        break;
    case KEY_LOST:
        s->lost = gn_quantity_option(state, "lost", value, GN_QUANTITY_SHARE);
        break;
    default:
        return parse_clocks(key, value, state);
    }
    return 0;
}

static void to(struct argp_state *state, struct gn_synth_options *a, const char *format)
{
    a->to_stream = strcmp(format, "stream") == 0;
    if (!a->to_stream && strcmp(format, "otf2") != 0)
        argp_error(state, "--to %s: otf2 or stream is expected", format);
}

/* What is not said. */
static void complete(struct argp_state *state, struct gn_synth_options *a)
{
    if (!a->output && !a->to_stream)
        argp_error(state, "a folder to write to (-o) is expected");
    if (a->to_stream && a->settings.measured)
        argp_error(state, "--measure-offsets: an event stream has no clock offsets");
    if (!a->output)
        a->output = "-";
    if (a->pattern)
        a->settings.pattern = a->pattern;
}

static error_t parse_options(int key, char *value, struct argp_state *state)
{
    struct gn_synth_options *a = state->input;
    switch (key) {
    case KEY_LIST:
        list();
        break;
    case KEY_PATTERN:
    case ARGP_KEY_ARG:
        pattern(state, a, value);
        break;
    case 'o':
        a->output = value;
        break;
    case KEY_TO:
        to(state, a, value);
        break;
    case ARGP_KEY_END:
        complete(state, a);
        break;
    default:
        return parse_program(key, value, state);
    }
    return 0;
}

void gn_synth_options(struct gn_synth_options *options, int argc, char **argv)
{
    static const struct argp argp = {list_of_options,
                                     parse_options,
                                     "PATTERN -o FOLDER\nPATTERN --to stream [-o FILE]",
                                     "Simulates an MPI program and writes its trace (OTF2) with the readings "
                                     "of clocks that are wrong, and "
                                     "beside it the true time of each event.",
                                     NULL,
                                     NULL,
                                     NULL};
    *options = (struct gn_synth_options){.settings = gn_synth_defaults()};
    argp_parse(&argp, argc, argv, 0, NULL, options);
}
