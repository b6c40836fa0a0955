#include "cli/sync_options.h"

#include "cli/format_option.h"
#include "cli/quantity_option.h"

#include <string.h>

enum {
    KEY_PRESYNC = 256,
    KEY_GAMMA,
    KEY_AMORTIZE,
    KEY_LATENCY,
    KEY_THRESHOLD,
    KEY_VERIFY,
    KEY_PARTIAL,
    KEY_KEEP_GOING,
    KEY_MEMORY
};

const struct argp_option gn_sync_options[] = {
    {"output", 'o', "FOLDER", 0, "The new archive: a folder that is not there yet", 0},
    {"presync", KEY_PRESYNC, "KIND", 0,
     "What to start from: none, linear (the archive's clock offsets) or bounds (gnomon's); default: the best "
     "that is there",
     0},
    {"gamma", KEY_GAMMA, "SHARE", 0,
     "How much of an interval is kept while a clock goes back to its own time (0.999999; of raw clocks "
     "0.9999)",
     0},
    {"amortize", KEY_AMORTIZE, "SLOPE[,LONGEST]", 0,
     "How jumps are built up before them: the steepest, and the longest time (0.5%,200ms); none: not at all",
     0},
    {"latency", KEY_LATENCY, "auto|TIME|FILE", 0,
     "The least that messages between clocks take: estimated (default), one time, or a file of them", 0},
    {"threshold", KEY_THRESHOLD, "TIME", 0,
     "The largest shift that is no reason for another pass (default: 3 times the largest reversal)", 0},
    {"verify", KEY_VERIFY, NULL, 0,
     "Check the new archive; exit status 1 when it violates the condition, or something could not be checked",
     0},
    {"partial", KEY_PARTIAL, NULL, 0, "With --verify: accept that not everything could be checked", 0},
    {"keep-going", KEY_KEEP_GOING, NULL, 0,
     "Repair what there is, although event files are missing or are of no location", 0},
    {"memory", KEY_MEMORY, "SIZE", 0,
     "What sends and receives may take of it, in each process, before a file beside the new archive is used "
     "(128MiB)",
     0},
    {"format", 'f', "FORMAT", 0, "Of the summary: text (default) or json", 0},
    {0}};

/* ---- options ---- */

static enum gn_sync_presync presync(struct argp_state *state, const char *text)
{
    enum gn_sync_presync kind = gn_sync_presync_of(text);
    if (kind == GN_SYNC_AUTO)
        argp_error(state, "--presync %s: none, linear or bounds is expected", text);
    return kind;
}

static double gamma_of(struct argp_state *state, const char *text)
{
    double gamma = gn_quantity_option(state, "gamma", text, GN_QUANTITY_SHARE);
    if (!(gamma > 0 && gamma < 1))
        argp_error(state, "--gamma %s: more than 0 and less than 1 is expected, such as 0.9999", text);
    return gamma;
}

static void amortize(struct argp_state *state, struct gn_sync_settings *settings, char *text)
{
    char *longest = strchr(text, ',');
    settings->slope = 0;
    if (strcmp(text, "none") == 0)
        return;
    if (longest)
        *longest++ = '\0';
    settings->slope = gn_quantity_option(state, "amortize", text, GN_QUANTITY_SHARE);
    if (!(settings->slope > 0 && settings->slope <= 1))
        argp_error(state, "--amortize %s: a slope above 0 and up to 1 is expected, such as 1%%, or none",
                   text);
    if (longest)
        settings->longest_ns = gn_quantity_option(state, "amortize", longest, GN_QUANTITY_TIME_NS);
}

static uint64_t memory(struct argp_state *state, const char *text)
{
    double bytes = gn_quantity_option(state, "memory", text, GN_QUANTITY_BYTES);
    return bytes < 0x1p62 ? (uint64_t)bytes : UINT64_C(1) << 62;
}

static error_t parse_repair(int key, char *value, struct argp_state *state)
{
    struct gn_sync_settings *s = &((struct gn_sync_arguments *)state->input)->settings;
    switch (key) {
    case KEY_PRESYNC:
        s->presync = presync(state, value);
        break;
    case KEY_GAMMA:
        s->gamma = gamma_of(state, value);
        break;
    case KEY_AMORTIZE:
        amortize(state, s, value);
        break;
    case KEY_LATENCY:
        gn_latency_parse(&s->latency, value);
        break;
    case KEY_THRESHOLD:
        s->threshold_ns = gn_quantity_option(state, "threshold", value, GN_QUANTITY_TIME_NS);
        break;
    case KEY_MEMORY:
        s->memory_bytes = memory(state, value);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

error_t gn_sync_parse(int key, char *value, struct argp_state *state)
{
    struct gn_sync_arguments *a = state->input;
    switch (key) {
    case 'o':
        a->settings.out = value;
        break;
    case KEY_VERIFY:
        a->settings.verify = true;
        break;
    case KEY_PARTIAL:
        a->accepts_partial = true;
        break;
    case KEY_KEEP_GOING:
        a->settings.keeps_going = true;
        break;
    case 'f':
        a->json = gn_json_option(state, value);
        break;
    case ARGP_KEY_ARG:
        if (a->settings.trace)
            argp_error(state, "one trace is expected, \"%s\" is a second one", value);
        a->settings.trace = value;
        break;
    case ARGP_KEY_END:
        if (!a->settings.out || !*a->settings.out)
            argp_error(state, "a folder for the new archive is expected: -o FOLDER");
        break;
    default:
        return parse_repair(key, value, state);
    }
    return 0;
}
