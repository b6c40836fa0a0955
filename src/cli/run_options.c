#include "cli/metric_option.h"
#include "cli/run_options.h"

#include "agent/order.h"
#include "agent/windows.h"
#include "cli/place.h"
#include "cli/rate_option.h"
#include "event/event.h"
#include "image/record.h"
#include "image/tag.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_INTO = 0x100,
    KEY_SPAWNED_BY,
    KEY_PCONTROL,
    KEY_ACTIVITY,
    KEY_WINDOWS,
    KEY_EXPLAIN,
    KEY_TRACE,
    KEY_TRACE_FULL,
    KEY_SAMPLE,
    KEY_METRIC,
    KEY_CLOCK_INTERVAL,
    KEY_CLOCK_BRANCHING,
    KEY_KEEP_EXCHANGES
};

enum {
    WINDOWS_RECORDS = 8192
}; /* of each thread: 256 KiB, what a window takes while its reader has no core */
enum { TRACE_MIN_KIB = 64, TRACE_DEFAULT_KIB = 4 << 10, TRACE_MAX_KIB = 4 << 20 };

/* "64K", "16M", "1G": KiB, or 0 when it is not a size that a ring can have. */
static uint64_t parse_kib(const char *text)
{
    char *unit;
    unsigned long long number = strtoull(text, &unit, 10);
    unsigned shift = *unit == 'K' || *unit == 'k' ? 0 : *unit == 'M' || *unit == 'm' ? 10 : 20;
    bool known = strchr("KkMmGg", *unit) && *unit && (unit[1] == '\0' || strcmp(unit + 1, "iB") == 0);
    if (*text < '0' || *text > '9' || !known || number > TRACE_MAX_KIB)
        return 0;
    uint64_t kib = (uint64_t)number << shift;
    return kib < TRACE_MIN_KIB || kib > TRACE_MAX_KIB ? 0 : kib;
}

static uint32_t ring_records(uint64_t kib)
{
    uint64_t records = TRACE_MIN_KIB * 1024u / sizeof(struct gn_record);
    while (records * sizeof(struct gn_record) < kib * 1024)
        records *= 2;
    return (uint32_t)records;
}

/* 0: it is no number from 1 to that. */
static unsigned long number_of(const char *text, unsigned long largest)
{
    char *end;
    const unsigned long number = strtoul(text, &end, 10);
    return *end || *text < '0' || *text > '9' || number > largest ? 0 : number;
}

static unsigned long positive(const struct argp_state *state, const char *option, const char *value,
                              unsigned long largest)
{
    const unsigned long number = number_of(value, largest);
    if (number == 0)
        argp_error(state, "--%s %s: a number from 1 to %lu is expected", option, value, largest);
    return number;
}

/* How often, and by whom. */
static void parse_sample(const struct argp_state *state, const char *value, struct gn_sample_settings *sample)
{
    static const char signal[] = "signal";
    sample->hz = GN_SAMPLE_HZ;
    sample->by_signal = strncmp(value, signal, sizeof signal - 1) == 0;
    const char *rate = sample->by_signal ? value + sizeof signal - 1 : value;
    if (strcmp(value, "off") == 0) {
        sample->hz = 0;
    } else if (!sample->by_signal || *rate) {
        sample->hz = (unsigned)number_of(rate + (sample->by_signal && *rate == ','), GN_SAMPLE_MOST_HZ);
        if (sample->hz == 0)
            argp_error(state, "--sample %s: a number from 1 to %d is expected, off, or signal[,RATE]", value,
                       (int)GN_SAMPLE_MOST_HZ);
    }
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct gn_run_options *a = state->input;
    char *end;
    switch (key) {
    case KEY_INTO:
        a->into = value;
        break;
    case KEY_SPAWNED_BY:
        a->spawned_by = value;
        break;
    case KEY_PCONTROL:
        if (strcmp(value, "switch") && strcmp(value, "regions") && strcmp(value, "none"))
            argp_error(state, "--pcontrol %s: one of switch, regions, none is expected", value);
        a->pcontrol = value;
        break;
    case KEY_ACTIVITY:
        if (!*value)
            argp_error(state, "--activity: names of functions are expected, with commas between them");
        a->activities = value;
        break;
    case KEY_TRACE: {
        uint64_t kib = value ? parse_kib(value) : TRACE_DEFAULT_KIB;
        if (kib == 0)
            argp_error(state, "--trace=%s: a size from 64K to 4G is expected, with its unit", value);
        a->trace.ring_records = ring_records(kib);
        break;
    }
    case KEY_TRACE_FULL:
        if (strcmp(value, "drop") && strcmp(value, "block"))
            argp_error(state, "--trace-full %s: one of drop, block is expected", value);
        a->trace.block = strcmp(value, "block") == 0;
        a->trace_full = true;
        break;
    case KEY_EXPLAIN:
        a->explains = true;
        break;
    case KEY_WINDOWS:
        a->trace.windows_rate = (double)gn_rate_option(state, "windows", value, GN_WINDOWS_MOST_RATE);
        break;
    case KEY_SAMPLE:
        parse_sample(state, value, &a->sample);
        break;
    case KEY_METRIC:
        a->sample.metrics = gn_metric_option(state, value);
        break;
    case KEY_CLOCK_INTERVAL:
        a->exchange.interval_ms = (unsigned)positive(state, "clock-interval", value, 3600000);
        break;
    case KEY_CLOCK_BRANCHING:
        a->exchange.branching = (unsigned)positive(state, "clock-branching", value, 1000);
        break;
    case KEY_KEEP_EXCHANGES:
        a->exchange.keep = positive(state, "keep-exchanges", value, 100000000);
        break;
    case 'q':
        a->quiet = true;
        break;
    case 't':
        a->threads = (int)strtol(value, &end, 10);
        if (*end || end == value || a->threads < 1 || a->threads > GN_MAX_LOCATIONS)
            argp_error(state, "--threads %s: a number from 1 to %d is expected", value, GN_MAX_LOCATIONS);
        break;
    case ARGP_KEY_ARG:
        a->program = state->next - 1;
        state->next = state->argc; /* the rest is the program's */
        break;
    case ARGP_KEY_END:
        if (a->trace_full && a->trace.ring_records == 0)
            argp_error(state, "--trace-full says what happens to a trace: --trace is missing");
        if (a->sample.metrics && (a->sample.hz == 0 || a->sample.by_signal))
            argp_error(state, "--metric counts where samples are taken: it needs others than --sample %s",
                       a->sample.hz == 0 ? "off" : "signal");
        if (a->program == 0)
            argp_error(state,
                       "which program? (mpirun -n 4 gnomon run ./app, or gnomon run -- mpirun -n 4 ./app)");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp_option list_of_options[] = {
    {"pcontrol", KEY_PCONTROL, "DIALECT", 0,
     "What MPI_Pcontrol means: switch (0 off, else on; default), regions (1,\"name\" begins, -1,\"name\" "
     "ends) or none",
     0},
    {"activity", KEY_ACTIVITY, "FUNCTION[,...]", 0,
     "Functions of libraries that are to be activities, as regions are: calls of them through the dynamic "
     "loader",
     0},
    {"threads", 't', "N", 0, "Threads per process to make room for (default 64)", 0},
    {"trace", KEY_TRACE, "SIZE", OPTION_ARG_OPTIONAL,
     "Keep every event, too: in an OTF2 archive trace/ in the run's folder. SIZE: buffer per thread, 64K to "
     "4G "
     "(default 4M)",
     0},
    {"trace-full", KEY_TRACE_FULL, "WHAT", 0,
     "When a buffer is full: drop events and count them (default), or block the program until there is room",
     0},
    {"windows", KEY_WINDOWS, "RATE|off", 0,
     "How many events a second are kept on each host without a trace, in windows of time, for who waits for "
     "whom (default 100000, fewer the longer the run takes), or none at all",
     0},
    {"sample", KEY_SAMPLE, "RATE|off|signal[,RATE]", 0,
     "How often each thread is looked at, per second of its processor time (default 100; less where that "
     "would cost too much), or not at all. signal: the threads interrupt themselves, with a timer and a "
     "real-time signal that nobody uses, where the kernel refuses perf_event_open",
     0},
    {"metric", KEY_METRIC, "NAME[,...]", 0,
     "Count what the kernel can count of each thread besides its time (page-faults, instructions, cycles, "
     "cache-misses and others, by perf's names), and where",
     0},
    {"explain", KEY_EXPLAIN, NULL, 0,
     "After the report, why the run took as long, as `gnomon explain` says it", 0},
    {"quiet", 'q', NULL, 0, "No report after the run", 0},
    {"clock-interval", KEY_CLOCK_INTERVAL, "MS", OPTION_HIDDEN, "Between comparisons of hosts' clocks", 0},
    {"clock-branching", KEY_CLOCK_BRANCHING, "N", OPTION_HIDDEN, "Hosts that compare with the same one", 0},
    {"keep-exchanges", KEY_KEEP_EXCHANGES, "N", OPTION_HIDDEN, "Keep so many comparisons one by one", 0},
    {"spawned-by", KEY_SPAWNED_BY, "PID:AGENT", OPTION_HIDDEN, "A measured program's MPI_Comm_spawn", 0},
    {"into", KEY_INTO, "FOLDER", OPTION_HIDDEN, "The run's folder", 0},
    {0}};

void gn_run_sample_text(const struct gn_sample_settings *sample, char *text, size_t size)
{
    snprintf(text, size, sample->hz ? "%s%u" : "off", sample->by_signal ? "signal," : "", sample->hz);
}

void gn_run_windows_text(const struct gn_trace_settings *trace, char *text, size_t size)
{
    snprintf(text, size, trace->windows_rate > 0 ? "%.0f" : "off", trace->windows_rate);
}

unsigned gn_run_ring_kib(uint32_t records)
{
    return (unsigned)(records * sizeof(struct gn_record) / 1024);
}

void gn_run_options(struct gn_run_options *options, int argc, char **argv)
{
    static const struct argp argp = {list_of_options,
                                     parse,
                                     "PROGRAM [ARGUMENT...]\n-- LAUNCHER [OPTION...] PROGRAM [ARGUMENT...]",
                                     "Measures an MPI program as it is.\vThe result is a folder "
                                     "gnomon-<program>-<job>-<time>/ and a report on "
                                     "standard error when the run has ended; `gnomon report` shows it again.",
                                     gn_place_option,
                                     NULL,
                                     NULL};
    *options = (struct gn_run_options){
        .threads = 64, .sample.hz = GN_SAMPLE_HZ, .trace.windows_rate = GN_WINDOWS_RATE};
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, options);
    if (options->trace.ring_records) /* it has all that windows could have */
        options->trace.windows_rate = 0;
    else if (options->trace.windows_rate > 0)
        options->trace.ring_records = WINDOWS_RECORDS;
}
