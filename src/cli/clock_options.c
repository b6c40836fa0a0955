#include "cli/clock_options.h"

#include "base/quantity.h"
#include "cli/place.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_ASSUME = 0x100, KEY_WANDER, KEY_NOMINAL, KEY_KEEP, KEY_LAST, KEY_MPI, KEY_PAIRS };

static const double LONGEST_S = 86400, SHORTEST_S = 0.1, MOST_PPM = 1000; /* as pair.h keeps them */

static uint32_t parse_ppb(const char *option, const char *text, struct argp_state *state)
{
    char with_unit[64];
    double ppm = -1;
    snprintf(with_unit, sizeof with_unit, "%.50sppm", text); /* a bare number is in ppm */
    if (gn_quantity(text, GN_QUANTITY_RATE_PPM, &ppm) != 0)
        gn_quantity(with_unit, GN_QUANTITY_RATE_PPM, &ppm);
    if (!(ppm >= 0 && ppm <= MOST_PPM))
        argp_error(state, "%s %s: a rate of at most 1000ppm is expected, such as 5ppm", option, text);
    return (uint32_t)(ppm * 1e3 + 0.5);
}

static enum gn_assumption_kind parse_assumption(const char *text, struct argp_state *state)
{
    if (strcmp(text, "constant") == 0)
        return GN_RATE_CONSTANT;
    if (strcmp(text, "within") == 0)
        return GN_RATE_WITHIN;
    if (strcmp(text, "wanders") != 0)
        argp_error(state, "--assume %s: one of constant, within, wanders is expected", text);
    return GN_RATE_WANDERS;
}

static void check_all(const struct gn_clock_options *a, struct argp_state *state)
{
    if (a->run && a->last)
        argp_error(state, "--last is the newest run here: no other can be named");
    if (a->wander_given && a->assume_given && a->assumption.kind != GN_RATE_WANDERS)
        argp_error(state, "--wander belongs to --assume wanders");
    if ((a->run || a->last) && a->measuring_given)
        argp_error(state, "--seconds, --keep and --mpi are for measuring, not for a run that is finished");
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct gn_clock_options *a = state->input;
    char *end;
    switch (key) {
    case 's':
        a->measuring.seconds = strtod(value, &end);
        if (*end || end == value ||
            !(a->measuring.seconds >= SHORTEST_S && a->measuring.seconds <= LONGEST_S))
            argp_error(state, "--seconds %s: a number from %g to %g is expected", value, SHORTEST_S,
                       LONGEST_S);
        a->measuring_given = true;
        break;
    case 'f':
        a->format = gn_format_option(state, value);
        break;
    case KEY_ASSUME:
        a->assumption.kind = parse_assumption(value, state);
        a->assume_given = true;
        break;
    case KEY_WANDER:
        a->assumption.wander_ppb = parse_ppb("--wander", value, state);
        a->wander_given = true;
        break;
    case KEY_NOMINAL:
        a->assumption.nominal_ppb = parse_ppb("--nominal", value, state);
        a->nominal_given = true;
        break;
    case KEY_KEEP:
        a->measuring.keep = a->measuring_given = true;
        break;
    case KEY_LAST:
        a->last = true;
        break;
    case KEY_MPI:
        a->measuring.mpi = value;
        a->measuring_given = true;
        break;
    case KEY_PAIRS:
        a->options.pairs = true;
        break;
    case ARGP_KEY_ARG:
        if (a->run)
            argp_error(state, "one run at a time: %s is too much", value);
        a->run = value;
        break;
    case ARGP_KEY_END:
        check_all(a, state);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp_option list_of_options[] = {
    {"seconds", 's', "S", 0, "Measure for so long (default 2)", 0},
    {"last", KEY_LAST, NULL, 0, "Show the newest run folder here, instead of measuring", 0},
    {"assume", KEY_ASSUME, "WHAT", 0,
     "What is taken for granted of the clocks' rates: constant, within (--nominal), or wanders (--wander; "
     "default)",
     0},
    {"wander", KEY_WANDER, "PPM", 0, "By how much a clock's rate may leave one value (default 5)", 0},
    {"nominal", KEY_NOMINAL, "PPM", 0, "By how much it may leave what the frequencies say (default 200)", 0},
    {"pairs", KEY_PAIRS, NULL, 0, "Show all pairs, the worst first", 0},
    {"keep", KEY_KEEP, NULL, 0, "Keep the measurement as a run's folder, gnomon-clock-…", 0},
    {"mpi", KEY_MPI, "WHICH", 0, "The launcher's MPI library: openmpi, mpich, or a file (default: found)", 0},
    {"format", 'f', "FORMAT", 0, "text (default), json or csv (pairs)", 0},
    {0}};

void gn_clock_options(struct gn_clock_options *options, int argc, char **argv)
{
    static const struct argp argp = {
        list_of_options,
        parse,
        "[RUN|TRACE]",
        "How well times of different hosts can be compared: the clocks of a job's hosts, measured "
        "(mpirun -n 4 gnomon clock), or those of a finished run.\vRUN is a run's folder or its "
        "profile.db; TRACE an OTF2 archive, whose hosts are compared by the program's own messages. Without "
        "RUN and without a launcher, this host's clock is measured. Exit status 1: a "
        "host could "
        "not be reached, or what was assumed is refuted.",
        gn_place_option,
        NULL,
        NULL};
    *options = (struct gn_clock_options){.assumption = gn_assumption_default(), .measuring = {.seconds = 2}};
    argp_parse(&argp, argc, argv, 0, NULL, options);
}
