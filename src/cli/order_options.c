#include "cli/order_options.h"

#include "causality/arrival_spec.h"
#include "cli/format_option.h"
#include "cli/place.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static const struct argp_option list_of_options[] = {
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

static enum gn_order_to parse_to(const char *value, struct argp_state *state)
{
    static const char *const names[] = {[GN_ORDER_TO_NONE] = "none",
                                        [GN_ORDER_TO_JSONL] = "jsonl",
                                        [GN_ORDER_TO_OTF2] = "otf2",
                                        [GN_ORDER_TO_STREAM] = "stream"};
    for (enum gn_order_to to = GN_ORDER_TO_NONE; to <= GN_ORDER_TO_STREAM; to++)
        if (strcmp(value, names[to]) == 0)
            return to;
    argp_error(state, "--to %s: jsonl, otf2, stream or none is expected", value);
    return GN_ORDER_TO_UNSAID;
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

static void check(struct gn_order_options *a, struct argp_state *state)
{
    if ((a->stop || a->count) && !a->when)
        argp_error(state, "--stop and --count need a --when");
    if (a->to == GN_ORDER_TO_OTF2 && !a->output)
        argp_error(state, "--to otf2 needs a folder to write: -o FOLDER");
    if (a->live && a->arrival_text)
        argp_error(state, "--arrival is for traces: live events arrive as they do");
    if (a->unsorted && (a->adjust || a->plot || a->stats))
        argp_error(state, "--unsorted is without the sort: there is nothing to adjust, draw or tell");
    if (a->output && a->to == GN_ORDER_TO_NONE)
        argp_error(state, "-o %s: --to none writes nothing", a->output);
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct gn_order_options *a = state->input;
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
        a->json = gn_json_option(state, value);
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
static void complete(struct gn_order_options *a)
{
    bool says_nothing = a->to == GN_ORDER_TO_UNSAID && !a->when && !a->output;
    if ((says_nothing || (a->when && a->to == GN_ORDER_TO_NONE)) && !a->unsorted)
        a->stats = true;
    if (a->to == GN_ORDER_TO_UNSAID)
        a->to = says_nothing && !a->unsorted ? GN_ORDER_TO_NONE : GN_ORDER_TO_JSONL;
    if (a->stop && !a->count)
        a->count = 1;
    if (!a->arrival_text)
        a->arrival_text = a->live ? "live" : "recorded";
}

void gn_order_options(struct gn_order_options *options, int argc, char **argv)
{
    static const struct argp argp = {
        list_of_options,
        parse,
        "[TRACE...]\n--live [RUN]\n--live STREAM...",
        "The events of a run in causal order: none before those it depends on.\vTRACE is an OTF2 archive: a "
        "run's folder, a folder with one .otf2 file, or that file; without it, the newest run here. Several "
        "are "
        "read as parts of one run. RUN is the folder of a program that runs with `gnomon run --trace`; "
        "without "
        "it, the newest here.",
        gn_place_option,
        NULL,
        NULL};
    *options = (struct gn_order_options){.arrival = {.kind = GN_ARRIVAL_RECORDED}};
    argp_parse(&argp, argc, argv, 0, NULL, options);
    complete(options);
}
