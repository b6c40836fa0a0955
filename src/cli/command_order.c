/* gnomon order — the events of a run in causal order. */
#include "cli/arrival_spec.h"
#include "event/ahead.h"
#include "cli/commands.h"
#include "cli/format_option.h"
#include "cli/joined.h"
#include "cli/live.h"
#include "cli/order_report.h"
#include "live/folder.h"
#include "live/running.h"
#include "trace/output.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum to { TO_UNSAID, TO_NONE, TO_JSONL, TO_OTF2, TO_STREAM };

struct arguments {
    const char *arrival_text;
    struct gn_arrival_settings arrival;
    enum to to;
    const char *output, *plot, *when;
    uint64_t count; /* of --count; 0: not said */
    bool adjust, unsorted, stop, live, stats, json;
    char **inputs;
    size_t input_count;
};

enum {
    KEY_ARRIVAL = 256,
    KEY_TO,
    KEY_STATS,
    KEY_PLOT,
    KEY_ADJUST,
    KEY_WHEN,
    KEY_STOP,
    KEY_COUNT,
    KEY_LIVE,
    KEY_UNSORTED
};

static const struct argp_option options[] = {
    {"arrival", KEY_ARRIVAL, "ORDER", 0,
     "How events reach the sort: recorded (by timestamp, default), roundrobin, random:SEED, delayed:SPEC", 0},
    {"to", KEY_TO, "FORMAT", 0, "Write the ordered events as jsonl, otf2 or stream; none: do not", 0},
    {"output", 'o', "OUT", 0, "Where to: a file, for otf2 a new folder (default: standard output)", 0},
    {"when", KEY_WHEN, "PREDICATE", 0, "Only events that match, as jsonl: 'kind=mpi_recv && bytes>1e6'", 0},
    {"stop", KEY_STOP, NULL, 0, "End at the first event that matches", 0},
    {"count", KEY_COUNT, "N", 0, "End at the Nth event that matches", 0},
    {"stats", KEY_STATS, NULL, 0, "Say how the sort went (default when nothing else is said)", 0},
    {"format", 'f', "FORMAT", 0, "Of what --stats says: text (default) or json", 0},
    {"plot", KEY_PLOT, "FILE", 0, "Draw the size of the graph over time as SVG", 0},
    {"adjust", KEY_ADJUST, NULL, 0, "Move times that are before those of their predecessors", 0},
    {"unsorted", KEY_UNSORTED, NULL, 0, "Hand events on as they arrive: what there was before the sort", 0},
    {"live", KEY_LIVE, NULL, 0,
     "While a run goes on: its folder, or event streams in FIFOs, sockets, files, -", 0},
    {0}};

static enum to parse_to(const char *value, struct argp_state *state)
{
    static const char *const names[] = {
        [TO_NONE] = "none", [TO_JSONL] = "jsonl", [TO_OTF2] = "otf2", [TO_STREAM] = "stream"};
    for (enum to to = TO_NONE; to <= TO_STREAM; to++)
        if (strcmp(value, names[to]) == 0)
            return to;
    argp_error(state, "--to %s: jsonl, otf2, stream or none is expected", value);
    return TO_UNSAID;
}

static uint64_t parse_count(const char *value, struct argp_state *state)
{
    char *end;
    errno = 0;
    unsigned long long count = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || count == 0 || errno)
        argp_error(state, "--count %s: a number of events is expected, at least 1", value);
    return count;
}

static void check(struct arguments *a, struct argp_state *state)
{
    if ((a->stop || a->count) && !a->when)
        argp_error(state, "--stop and --count need a --when");
    if (a->to == TO_OTF2 && !a->output)
        argp_error(state, "--to otf2 needs a folder to write: -o FOLDER");
    if (a->live && a->arrival_text)
        argp_error(state, "--arrival is for traces: live events arrive as they do");
    if (a->unsorted && (a->adjust || a->plot || a->stats))
        argp_error(state, "--unsorted is without the sort: there is nothing to adjust, draw or tell");
    if (a->output && a->to == TO_NONE)
        argp_error(state, "-o %s: --to none writes nothing", a->output);
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *a = state->input;
    struct gn_error err;
    switch (key) {
    case KEY_ARRIVAL:
        a->arrival_text = value;
        if (gn_arrival_parse(&a->arrival, value, &err) != 0)
            argp_error(state, "--arrival: %s", err.text);
        break;
    case KEY_TO:
        a->to = parse_to(value, state);
        break;
    case 'o':
        a->output = value;
        break;
    case KEY_WHEN:
        a->when = value;
        break;
    case KEY_COUNT:
        a->count = parse_count(value, state);
        break;
    case 'f':
        a->json = gn_format_is_json(value, state);
        break;
    case KEY_PLOT:
        a->plot = value;
        break;
    case KEY_STOP:
        a->stop = true;
        break;
    case KEY_STATS:
        a->stats = true;
        break;
    case KEY_ADJUST:
        a->adjust = true;
        break;
    case KEY_UNSORTED:
        a->unsorted = true;
        break;
    case KEY_LIVE:
        a->live = true;
        break;
    case ARGP_KEY_ARGS:
        a->inputs = state->argv + state->next;
        a->input_count = (size_t)(state->argc - state->next);
        break;
    case ARGP_KEY_END:
        check(a, state);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* What is not said follows from what is. */
static void complete(struct arguments *a)
{
    bool says_nothing = a->to == TO_UNSAID && !a->when && !a->output;
    if ((says_nothing || (a->when && a->to == TO_NONE)) && !a->unsorted)
        a->stats = true;
    if (a->to == TO_UNSAID)
        a->to = says_nothing && !a->unsorted ? TO_NONE : TO_JSONL;
    if (a->stop && !a->count)
        a->count = 1;
    if (!a->arrival_text)
        a->arrival_text = a->live ? "live" : "recorded";
}

/* One use of the command; everything is closed by close_use. */
struct use {
    const struct arguments *arguments;
    struct gn_definitions *own_definitions; /* live */
    struct gn_source source;                /* traces */
    struct gn_joined *joined;
    struct gn_ordering *ordering;
    struct gn_output output;
    bool has_output;
    struct gn_plot *plot;
    struct gn_live_counts live;
    char newest[4096], *found; /* the run that is taken when none is named */
};

static int open_input(struct use *u, struct gn_error *err)
{
    const struct arguments *a = u->arguments;
    if (!a->live && a->input_count > 0)
        return gn_joined_open(&u->source, &u->joined, a->inputs, a->input_count, err);
    if (!a->live) {
        int code = gn_folder_newest(".", u->newest, sizeof u->newest, err);
        u->found = u->newest;
        return code != 0 ? code : gn_joined_open(&u->source, &u->joined, &u->found, 1, err);
    }
    u->own_definitions = gn_definitions_new();
    return u->own_definitions ? 0 : gn_fail(err, -ENOMEM, "no memory for definitions");
}

static const struct gn_definitions *definitions_of(const struct use *u)
{
    return u->own_definitions ? u->own_definitions : u->source.definitions;
}

static int open_ordering(struct use *u, struct gn_error *err)
{
    const struct arguments *a = u->arguments;
    if (a->plot && !(u->plot = calloc(1, sizeof *u->plot)))
        return gn_fail(err, -ENOMEM, "no memory for the plot");
    struct gn_ordering_settings settings = {.unsorted = a->unsorted,
                                            .adjust = a->adjust,
                                            .measure = a->stats,
                                            .when = a->when,
                                            .stop_after = a->count,
                                            .plot = u->plot,
                                            .definitions = definitions_of(u)};
    return gn_ordering_open(&u->ordering, &settings, err);
}

static int open_jsonl(struct use *u, struct gn_error *err)
{
    const char *path = u->arguments->output;
    bool to_file = path && strcmp(path, "-") != 0;
    int fd = to_file ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : STDOUT_FILENO;
    if (fd < 0)
        return gn_fail(err, -errno, "cannot write %s: %s", path, strerror(errno));
    return gn_output_jsonl(&u->output, fd, definitions_of(u), gn_ordering_origin(u->ordering), err);
}

static int open_output(struct use *u, struct gn_error *err)
{
    const struct arguments *a = u->arguments;
    int code = 0;
    if (a->to == TO_NONE)
        return 0;
    if (a->to == TO_JSONL)
        code = open_jsonl(u, err);
    else if (a->to == TO_OTF2)
        code = gn_output_otf2(&u->output, a->output, definitions_of(u), err);
    else
        code = gn_output_stream(&u->output, a->output ? a->output : "-", definitions_of(u), err);
    u->has_output = code == 0;
    if (u->has_output)
        gn_ordering_send_to(u->ordering, &u->output);
    return code;
}

static int push_arrived(struct use *u, const struct gn_arrived *arrived, struct gn_error *err)
{
    int code = 0;
    if (arrived->count == 0)
        return gn_ordering_end(u->ordering, arrived->location, err);
    for (uint32_t i = 0; i < arrived->count && code == 0; i++)
        code = gn_ordering_push(u->ordering, &arrived->events[i], err);
    return code;
}

static int order_traces(struct use *u, struct gn_error *err)
{
    struct gn_arrival *arrival;
    struct gn_arrived arrived;
    if (!u->arguments->stop)
        gn_source_ahead(&u->source); /* without it, it only takes longer */
    int code = gn_arrival_open(&arrival, &u->source, &u->arguments->arrival, err);
    while (code == 0 && (code = gn_arrival_next(arrival, &arrived, err)) == 1)
        code = push_arrived(u, &arrived, err);
    gn_arrival_close(arrival);
    return code == 0 ? gn_ordering_finish(u->ordering, err) : code;
}

static int order(struct use *u, struct gn_error *err)
{
    const struct arguments *a = u->arguments;
    if (!a->live)
        return order_traces(u, err);
    char newest[4096], *found = newest;
    int code = a->input_count == 0 ? gn_running_newest(newest, sizeof newest, err) : 0;
    return code != 0 ? code
                     : gn_live_run(a->input_count ? a->inputs : &found, a->input_count ? a->input_count : 1,
                                   u->own_definitions, u->ordering, u->has_output ? &u->output : NULL,
                                   &u->live, err);
}

static int write_plot(const struct use *u, struct gn_error *err)
{
    const char *path = u->arguments->plot;
    FILE *out = fopen(path, "we");
    if (!out)
        return gn_fail(err, -errno, "cannot write the plot %s: %s", path, strerror(errno));
    gn_plot_write(u->plot, out);
    bool failed = ferror(out);
    if (fclose(out) != 0 || failed)
        return gn_fail(err, -EIO, "cannot write the plot %s: %s", path, strerror(errno));
    return 0;
}

/* Beside events on standard output the statistics go to standard error. */
static void tell(const struct use *u, bool stopped)
{
    const struct arguments *a = u->arguments;
    bool taken = a->to != TO_NONE && (!a->output || strcmp(a->output, "-") == 0);
    struct gn_trace_report trace = {0};
    struct gn_order_report report = {.arrival = a->arrival_text,
                                     .locations = definitions_of(u)->location_count,
                                     .asked = a->when != NULL,
                                     .matches = gn_ordering_matches(u->ordering),
                                     .stopped = stopped,
                                     .measured = gn_ordering_measured(u->ordering),
                                     .stats = gn_ordering_stats(u->ordering),
                                     .live = a->live ? &u->live : NULL};
    if (!a->live) {
        trace = gn_joined_report(u->joined);
        report.trace = &trace;
    }
    if (a->json)
        gn_order_report_json(&report, taken ? stderr : stdout);
    else
        gn_order_report_text(&report, taken ? stderr : stdout);
}

static int finish_output(struct use *u, struct gn_error *err)
{
    if (!u->has_output)
        return 0;
    u->has_output = false;
    return u->output.finish(u->output.self, err);
}

/* Status 1: it worked, and found a problem; 2: a stream turned out to be something else. */
static int verdict(const struct use *u)
{
    const struct arguments *a = u->arguments;
    uint64_t backward = gn_ordering_measured(u->ordering).backward_reported;
    if (backward)
        fprintf(stderr,
                "gnomon order: %llu messages came out before they were sent: this is an error of gnomon's\n",
                (unsigned long long)backward);
    if (a->count && gn_ordering_matches(u->ordering) < a->count)
        fprintf(stderr, "gnomon order: only %llu events match\n",
                (unsigned long long)gn_ordering_matches(u->ordering));
    if (u->live.broken)
        return 2;
    return backward || u->live.died || (a->count && gn_ordering_matches(u->ordering) < a->count);
}

static void close_use(struct use *u)
{
    if (u->has_output)
        u->output.close(u->output.self);
    gn_ordering_close(u->ordering);
    if (u->joined)
        u->source.close(u->source.self);
    gn_definitions_free(u->own_definitions);
    free(u->plot);
}

/* The exit status. Bad input is 2; what cannot be written is 1. */
static int use(struct use *u)
{
    struct gn_error err = {""};
    int code = open_input(u, &err);
    if (code == 0)
        code = open_ordering(u, &err);
    if (code == 0)
        code = open_output(u, &err);
    if (code == 0)
        code = order(u, &err);
    bool stopped = code == -ECANCELED;
    int status = code == 0 || stopped ? 0 : 2;
    if (status == 0 && (finish_output(u, &err) != 0 || (u->plot && write_plot(u, &err) != 0)))
        status = 1;
    if (status != 0) {
        if (err.text[0])
            fprintf(stderr, "gnomon order: %s\n", err.text);
        return status;
    }
    if (u->arguments->stats)
        tell(u, stopped);
    return verdict(u);
}

int gn_command_order(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "[TRACE...]\n--live [RUN]\n--live STREAM...",
        "The events of a run in causal order: none before those it depends on.\vTRACE is an OTF2 archive: a "
        "run's folder, a folder with one .otf2 file, or that file; without it, the newest run here. Several "
        "are "
        "read as parts of one run. RUN is the folder of a program that runs with `gnomon run --trace`; "
        "without "
        "it, the newest here.",
        NULL,
        NULL,
        NULL};
    struct arguments a = {.arrival = {.kind = GN_ARRIVAL_RECORDED}};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    complete(&a);
    struct use u = {.arguments = &a};
    int status = use(&u);
    close_use(&u);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "gnomon order: cannot write to standard output: %s\n", strerror(errno));
        return 1;
    }
    return status;
}
