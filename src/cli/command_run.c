/*
 * gnomon run — measures a program.
 *
 * After a launcher (mpirun -n 4 gnomon run ./app) each rank's `gnomon run` makes itself known to the host's
 * agent, sets up the environment and becomes the program: same process, same signals, same exit status.
 * Before one (gnomon run -- mpirun -n 4 ./app) it puts itself in front of the program in the launcher's
 * command line and waits. Whatever fails on our side, the program runs.
 */
#include "cli/commands.h"
#include "cli/find.h"
#include "cli/launcher.h"
#include "cli/report.h"
#include "cli/start.h"
#include "clock/ticks.h"
#include "event/event.h"
#include "image/record.h"
#include "live/agent.h"
#include "live/finish.h"
#include "live/folder.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct arguments {
    const char *into;
    const char *pcontrol;
    bool quiet;
    int threads;
    struct gn_trace_settings trace;
    struct gn_exchange_settings exchange;
    bool trace_full; /* was given */
    int program;     /* index of its first word */
};

enum {
    KEY_INTO = 0x100,
    KEY_PCONTROL,
    KEY_TRACE,
    KEY_TRACE_FULL,
    KEY_CLOCK_INTERVAL,
    KEY_CLOCK_BRANCHING,
    KEY_KEEP_EXCHANGES
};

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

static unsigned ring_kib(uint32_t records)
{
    return (unsigned)(records * sizeof(struct gn_record) / 1024);
}

static unsigned long positive(const struct argp_state *state, const char *option, const char *value,
                              unsigned long largest)
{
    char *end;
    unsigned long number = strtoul(value, &end, 10);
    if (*end || *value < '0' || *value > '9' || number < 1 || number > largest)
        argp_error(state, "--%s %s: a number from 1 to %lu is expected", option, value, largest);
    return number;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *a = state->input;
    char *end;
    switch (key) {
    case KEY_INTO:
        a->into = value;
        break;
    case KEY_PCONTROL:
        if (strcmp(value, "switch") && strcmp(value, "regions") && strcmp(value, "none"))
            argp_error(state, "--pcontrol %s: one of switch, regions, none is expected", value);
        a->pcontrol = value;
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
        if (a->program == 0)
            argp_error(state,
                       "which program? (mpirun -n 4 gnomon run ./app, or gnomon run -- mpirun -n 4 ./app)");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp_option options[] = {
    {"pcontrol", KEY_PCONTROL, "DIALECT", 0,
     "What MPI_Pcontrol means: switch (0 off, else on; default), regions (1,\"name\" begins, -1,\"name\" "
     "ends) or none",
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
    {"quiet", 'q', NULL, 0, "No report after the run", 0},
    {"clock-interval", KEY_CLOCK_INTERVAL, "MS", OPTION_HIDDEN, "Between comparisons of hosts' clocks", 0},
    {"clock-branching", KEY_CLOCK_BRANCHING, "N", OPTION_HIDDEN, "Hosts that compare with the same one", 0},
    {"keep-exchanges", KEY_KEEP_EXCHANGES, "N", OPTION_HIDDEN, "Keep so many comparisons one by one", 0},
    {"into", KEY_INTO, "FOLDER", OPTION_HIDDEN, "The run's folder", 0},
    {0}};

/* ---- becoming the program ---- */

static bool readable(const char *path)
{
    return access(path, R_OK) == 0;
}

static void join_words(char **words, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (; *words && used + 1 < size; words++)
        used += (size_t)snprintf(text + used, size - used, used ? " %s" : "%s", *words);
}

static void write_settings(const struct arguments *a, const struct gn_job *job, const char *command,
                           char *text, size_t size)
{
    int used = snprintf(text, size, "gnomon %s\ncommand %s\njob %s\nthreads %d\npcontrol %s\n",
                        GNOMON_VERSION, command, job->key, a->threads, a->pcontrol ? a->pcontrol : "switch");
    if (a->trace.ring_records && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, "trace %uK\ntrace-full %s\n",
                 ring_kib(a->trace.ring_records), a->trace.block ? "block" : "drop");
}

static int become(char **words)
{
    execvp(words[0], words);
    int code = errno;
    unsetenv("LD_PRELOAD");
    fprintf(stderr, "gnomon run: cannot run %s: %s\n", words[0], strerror(code));
    return 2;
}

static int run_here(const struct arguments *a, char **words)
{
    static char command[1024], config[4096];
    static struct gn_job job;
    struct gn_error err;
    if (!gn_find_program(words[0])) /* before anything is started for it */
        return become(words);
    gn_job_detect(&job);
    join_words(words, command, sizeof command);
    write_settings(a, &job, command, config, sizeof config);
    struct gn_agent_settings settings = {.command = command,
                                         .program = words[0],
                                         .into = a->into,
                                         .quiet = a->quiet,
                                         .locations = (uint32_t)a->threads,
                                         .trace = a->trace,
                                         .exchange = a->exchange,
                                         .config = config,
                                         .report = gn_report_after_run};
    if (gn_start_measured(&job, &settings, a->pcontrol, &err) != 0)
        fprintf(stderr, "gnomon run: %s; %s runs unmeasured\n", err.text, words[0]);
    return become(words);
}

/* ---- in front of a launcher ---- */

static pid_t launched;

/* A terminal sends its signals (si_code SI_KERNEL) to the launcher too; passing them on would make one Ctrl-C
 * two, which launchers take for "at once". */
static void pass_on(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    if (launched > 0 && info->si_code != SI_KERNEL)
        kill(launched, signal_number);
}

/* The launcher has ended; the agents may still be at work. */
static void wait_for_profile(const char *folder)
{
    char profile[4200];
    snprintf(profile, sizeof profile, "%s/profile.db", folder);
    for (int tenths = 0; tenths < 300; tenths++) {
        if (access(folder, F_OK) != 0) /* moved elsewhere; the agent says where */
            return;
        bool open = gn_finish_hosts_open(folder, NULL) > 0;
        if (!open && (readable(profile) || tenths > 5))
            return;
        usleep(100000);
    }
}

static void print_report(const struct gn_folder *folder, const char *program)
{
    char profile[4200];
    struct gn_error err;
    sqlite3 *db;
    snprintf(profile, sizeof profile, "%s/profile.db", folder->path);
    if (access(folder->path, F_OK) != 0)
        return;
    if (!readable(profile)) {
        fprintf(
            stderr,
            "gnomon: nothing was measured: no MPI was seen in %s, or gnomon could not start on its hosts\n",
            program);
        rmdir(folder->path);
        return;
    }
    if (gn_profile_open(&db, profile, &err) != 0) {
        fprintf(stderr, "gnomon: %s\n", err.text);
        return;
    }
    gn_report_after_run(db, folder->path, STDERR_FILENO);
    gn_profile_close(db);
}

static int wait_for(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* Ends as the launcher ended, by the same signal too. */
static int end_like(int status)
{
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    signal(WTERMSIG(status), SIG_DFL);
    kill(getpid(), WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

static int run_launcher(const struct arguments *a, char **words)
{
    char self[4096], threads[16], trace[32], interval[40], branching[40], keep[40];
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    self[bytes > 0 ? bytes : 0] = '\0';
    snprintf(threads, sizeof threads, "%d", a->threads);
    snprintf(trace, sizeof trace, "--trace=%uK", ring_kib(a->trace.ring_records));
    snprintf(interval, sizeof interval, "--clock-interval=%u", a->exchange.interval_ms);
    snprintf(branching, sizeof branching, "--clock-branching=%u", a->exchange.branching);
    snprintf(keep, sizeof keep, "--keep-exchanges=%zu", a->exchange.keep);
    struct gn_folder folder;
    struct gn_error err;
    const char *program;
    char *prefix[16] = {bytes > 0 ? self : "gnomon",
                        "run",
                        "--quiet",
                        "--threads",
                        threads,
                        "--pcontrol",
                        (char *)(a->pcontrol ? a->pcontrol : "switch"),
                        "--into",
                        folder.path,
                        a->trace.block ? "--trace-full=block" : "--trace-full=drop"};
    size_t count = a->trace.ring_records ? 10 : 9; /* without a trace there is nothing to be full */
    if (a->trace.ring_records)
        prefix[count++] = trace;
    if (a->exchange.interval_ms)
        prefix[count++] = interval;
    if (a->exchange.branching)
        prefix[count++] = branching;
    if (a->exchange.keep)
        prefix[count++] = keep;
    char **wrapped = gn_launcher_wrap(words, prefix, count, &program);
    if (!wrapped) {
        fprintf(stderr, "gnomon run: no program in the command line of %s\n", words[0]);
        return 2;
    }
    if (gn_folder_open(&folder, program, (uint64_t)time(NULL) ^ ((uint64_t)getpid() << 20), false, &err) !=
        0) {
        fprintf(stderr, "gnomon run: %s; %s runs unmeasured\n", err.text, program);
        free(wrapped);
        return become(words);
    }
    launched = fork();
    if (launched == 0)
        _exit(become(wrapped) == 2 ? 127 : 0);
    static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
    for (size_t i = 0; launched > 0 && i < sizeof passed / sizeof passed[0]; i++)
        sigaction(passed[i], &action, NULL);
    int status = wait_for(launched);
    launched = 0;
    wait_for_profile(folder.path);
    if (!a->quiet)
        print_report(&folder, program);
    free(wrapped);
    return end_like(status);
}

int gn_command_run(int argc, char **argv)
{
    static const struct argp argp = {options,
                                     parse,
                                     "PROGRAM [ARGUMENT...]\n-- LAUNCHER [OPTION...] PROGRAM [ARGUMENT...]",
                                     "Measures an MPI program as it is.\vThe result is a folder "
                                     "gnomon-<program>-<job>-<time>/ and a report on "
                                     "standard error when the run has ended; `gnomon report` shows it again.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct arguments a = {.threads = 64};
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &a);
    char **words = argv + a.program;
    if (gn_ticks_problem() && !a.into) /* into: the gnomon in front of the launcher has said it */
        fprintf(stderr, "gnomon run: %s; the setting is ignored\n", gn_ticks_problem());
    return gn_is_launcher(words[0]) ? run_launcher(&a, words) : run_here(&a, words);
}
