/*
 * gnomon clock — the clocks of a job's hosts, measured now or in a finished run: how well their times can be
 * compared, and what that rests on.
 */
#include "cli/clock_compare.h"
#include "cli/clock_measure.h"
#include "cli/clock_report.h"
#include "cli/clock_trace.h"
#include "cli/commands.h"
#include "cli/locate.h"
#include "base/quantity.h"
#include "cli/report.h"
#include "clock/ticks.h"
#include "live/host_clock.h"
#include "profile/profile.h"
#include "profile/statement.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct arguments {
    const char *run; /* NULL: measure */
    bool launched;   /* this is a rank */
    bool last, compare, same_counter, assume_given, wander_given, nominal_given;
    const char *format;
    struct gn_assumption assumption;
    struct gn_clock_report_options options;
    struct gn_clock_measuring measuring;
    bool measuring_given; /* an option that only means something when measuring */
};

enum {
    KEY_ASSUME = 0x100,
    KEY_WANDER,
    KEY_NOMINAL,
    KEY_COMPARE,
    KEY_SAME,
    KEY_KEEP,
    KEY_LAST,
    KEY_MPI,
    KEY_PAIRS
};

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

static void check_all(const struct arguments *a, struct argp_state *state)
{
    if (a->run && a->last)
        argp_error(state, "--last is the newest run here: no other can be named");
    if (a->wander_given && a->assume_given && a->assumption.kind != GN_RATE_WANDERS)
        argp_error(state, "--wander belongs to --assume wanders");
    if ((a->run || a->last) && a->measuring_given)
        argp_error(state, "--seconds, --keep and --mpi are for measuring, not for a run that is finished");
    if (a->compare && strcmp(a->format, "csv") == 0)
        argp_error(state, "--compare is there as text and as json");
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *a = state->input;
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
        if (strcmp(value, "text") && strcmp(value, "json") && strcmp(value, "csv"))
            argp_error(state, "--format %s: one of text, json, csv is expected", value);
        a->format = value;
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
    case KEY_COMPARE:
        a->compare = true;
        break;
    case KEY_SAME:
        a->same_counter = true;
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

static const struct argp_option options[] = {
    {"seconds", 's', "S", 0, "Measure for so long (default 2)", 0},
    {"last", KEY_LAST, NULL, 0, "Show the newest run folder here, instead of measuring", 0},
    {"assume", KEY_ASSUME, "WHAT", 0,
     "What is taken for granted of the clocks' rates: constant, within (--nominal), or wanders (--wander; "
     "default)",
     0},
    {"wander", KEY_WANDER, "PPM", 0, "By how much a clock's rate may leave one value (default 5)", 0},
    {"nominal", KEY_NOMINAL, "PPM", 0, "By how much it may leave what the frequencies say (default 200)", 0},
    {"pairs", KEY_PAIRS, NULL, 0, "Show all pairs, the worst first", 0},
    {"compare", KEY_COMPARE, NULL, 0, "What other methods make of the same exchanges", 0},
    {"same-counter", KEY_SAME, NULL, OPTION_HIDDEN, "All clocks are one: --compare knows the truth", 0},
    {"keep", KEY_KEEP, NULL, 0, "Keep the measurement as a run's folder, gnomon-clock-…", 0},
    {"mpi", KEY_MPI, "WHICH", 0, "The launcher's MPI library: openmpi, mpich, or a file (default: found)", 0},
    {"format", 'f', "FORMAT", 0, "text (default), json or csv (pairs)", 0},
    {0}};

/* ---- printing ---- */

static int print(const struct arguments *a, const struct gn_clock_report *r)
{
    struct gn_report_options terminal = {.color = false};
    struct gn_clock_report_options shown = a->options;
    gn_report_terminal(&terminal, STDOUT_FILENO);
    shown.color = terminal.color && !a->launched; /* a launcher's terminals are no proof of one at its end */
    if (strcmp(a->format, "json") == 0)
        gn_clock_report_json(r, stdout);
    else if (strcmp(a->format, "csv") == 0)
        gn_clock_report_csv(r, stdout);
    else
        gn_clock_report_text(r, &shown, stdout);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "gnomon clock: cannot write the report: %s\n", strerror(errno));
        return 1;
    }
    return gn_clock_report_status(r);
}

/* ---- a finished run ---- */

/* What the run was solved under, but for what was asked for. */
static struct gn_assumption assumption_for(const struct arguments *a, sqlite3 *db)
{
    struct gn_assumption assumption = gn_profile_assumption(db);
    if (a->assume_given || a->wander_given)
        assumption.kind = a->assumption.kind;
    if (a->wander_given)
        assumption.wander_ppb = a->assumption.wander_ppb;
    if (a->nominal_given)
        assumption.nominal_ppb = a->assumption.nominal_ppb;
    return assumption;
}

static int64_t missing_ranks(sqlite3 *db)
{
    int64_t world = gn_sql_value(db, 0, "SELECT max(world) FROM process", "");
    int64_t here = gn_sql_value(db, 0,
                                "SELECT count(DISTINCT rank) FROM process WHERE rank >= 0 AND host IN "
                                "(SELECT host FROM clock_domain)",
                                "");
    return world > here ? world - here : 0;
}

static int show_clocks(const struct arguments *a, sqlite3 *db, const struct gn_profile_clocks *list,
                       const char *folder, struct gn_error *err)
{
    struct gn_clock_report report;
    struct gn_assumption assumption = assumption_for(a, db);
    int code = gn_clock_report_make(&report, list->clocks, list->rows, &assumption, err);
    if (code != 0)
        return code;
    report.missing_ranks = missing_ranks(db);
    snprintf(report.folder, sizeof report.folder, "%s", folder);
    if (a->compare)
        code = gn_clock_compare(&report, db, a->same_counter, err);
    if (code == 0)
        code = print(a, &report);
    gn_clock_report_clear(&report);
    return code;
}

/* source: of the profile, for messages. folder: what to name to see it again, or empty. */
static int show_database(const struct arguments *a, sqlite3 *db, const char *source, const char *folder,
                         struct gn_error *err)
{
    struct gn_profile_clocks list;
    int code = gn_profile_read_clocks(db, &list, err);
    if (code == -ENODATA)
        return gn_fail(
            err, code,
            "%s says nothing of clocks: it was measured by an older gnomon, or saved on the way of a run "
            "that ended badly",
            source);
    if (code != 0)
        return code;
    code = show_clocks(a, db, &list, folder, err);
    gn_profile_clocks_clear(&list);
    return code;
}

static int show_profile(const struct arguments *a, const char *profile, const char *folder,
                        struct gn_error *err)
{
    sqlite3 *db = NULL;
    int code = gn_profile_open(&db, profile, err);
    if (code != 0)
        return code;
    code = show_database(a, db, profile, folder, err);
    gn_profile_close(db);
    return code;
}

static int show_run(const struct arguments *a, struct gn_error *err)
{
    char folder[4096], profile[4200];
    int code = gn_locate_profile(a->run, folder, sizeof folder, profile, sizeof profile, err);
    return code != 0 ? code : show_profile(a, profile, folder, err);
}

/* ---- a trace ---- */

static int show_trace(const struct arguments *a, struct gn_error *err)
{
    struct gn_clock_trace read;
    struct gn_clock_report report;
    if (a->compare)
        return gn_fail(err, -EINVAL,
                       "--compare needs exchanges, which a run's profile has and a trace has not");
    int code = gn_clock_trace_read(&read, a->run, &a->assumption, err);
    if (code != 0)
        return code;
    code = gn_clock_report_make(&report, read.trace.clocks, read.rows, &a->assumption, err);
    if (code == 0) {
        report.from_trace = true;
        report.messages = read.trace.facts.messages;
        report.collectives = read.trace.facts.collectives;
        report.uncertain = read.trace.facts.uncertain;
        report.exchanged = read.trace.exchanged;
        snprintf(report.folder, sizeof report.folder, "%s", a->run);
        code = print(a, &report);
        gn_clock_report_clear(&report);
    }
    gn_clock_trace_clear(&read);
    return code;
}

/* ---- measuring ---- */

static const char *as_typed(const char *folder)
{
    char here[4096];
    size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;
    bool below = length > 0 && strncmp(folder, here, length) == 0 && folder[length] == '/';
    return below ? folder + length + 1 : folder;
}

static int measure(const struct arguments *a, const struct gn_job *job, struct gn_error *err)
{
    char folder[4096], profile[4200];
    int code = gn_clock_measure(job, &a->measuring, folder, sizeof folder, err);
    if (code <= 0)
        return code;
    snprintf(profile, sizeof profile, "%s/profile.db", folder);
    code = show_profile(a, profile, a->measuring.keep ? as_typed(folder) : "", err);
    if (!a->measuring.keep)
        gn_clock_measure_forget(folder);
    return code;
}

/* Without a launcher there is nobody to compare with: what is known of this host's counter. */
static int measure_here(const struct arguments *a, const struct gn_job *job, struct gn_error *err)
{
    char host[64] = "";
    sqlite3 *db;
    if (a->compare || a->measuring.keep)
        return gn_fail(
            err, -EINVAL,
            "--compare and --keep are for several hosts: put a launcher in front (mpirun -n 4 gnomon clock)");
    gethostname(host, sizeof host - 1);
    struct gn_host_clock clock = {.host = job->host[0] ? job->host : host};
    gn_host_clock_begin(&clock);
    clock.first_ticks = gn_ticks();
    int code = gn_profile_create(&db, ":memory:", err);
    if (code != 0)
        return code;
    code = gn_host_clock_save(&clock, db, err);
    if (code == 0)
        code = show_database(a, db, "this host", "", err);
    gn_host_clock_clear(&clock);
    gn_profile_close(db);
    return code;
}

int gn_command_clock(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "[RUN|TRACE]",
        "How well times of different hosts can be compared: the clocks of a job's hosts, measured "
        "(mpirun -n 4 gnomon clock), or those of a finished run.\vRUN is a run's folder or its "
        "profile.db; TRACE an OTF2 archive, whose hosts are compared by the program's own messages. Without "
        "RUN and without a launcher, this host's clock is measured. Exit status 1: a "
        "host could "
        "not be reached, or what was assumed is refuted.",
        NULL,
        NULL,
        NULL};
    struct arguments a = {
        .format = "text", .assumption = gn_assumption_default(), .measuring = {.seconds = 2}};
    struct gn_error err = {""};
    static struct gn_job job;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    a.measuring.exchanges = a.compare || a.measuring.keep;
    a.options.kept = a.measuring.keep;
    gn_job_detect(&job);
    a.launched = job.rank >= 0;
    int code = a.run && gn_clock_trace_named(a.run) ? show_trace(&a, &err)
               : a.run || a.last                    ? show_run(&a, &err)
               : !a.launched                        ? measure_here(&a, &job, &err)
                                                    : measure(&a, &job, &err);
    if (code >= 0)
        return code;
    fprintf(stderr, "gnomon clock: %s\n", err.text);
    return code == -ECANCELED ? 1 : 2;
}
