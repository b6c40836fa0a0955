/*
 * gnomon — performance of MPI programs, with bounds. The command table; each command has its file here,
 * src/cli/. This is lib/gnomon/gnomon-commands: the gnomon that users call (gnomon.c) is smaller.
 */
#include "cli/commands.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *purpose; /* NULL: not for users */
} commands[] = {
    {"run", gn_command_run, "measure a program: mpirun -n 4 gnomon run ./app"},
    {"report", gn_command_report, "where the time went"},
    {"explain", gn_command_explain, "why it took as long, and what to do"},
    {"stragglers", gn_command_stragglers, "whom the others wait for, from a run's trace"},
    {"frames", gn_command_frames, "how long ranks were in given regions at the same time"},
    {"whatif", gn_command_whatif, "what would make the run faster, and how much"},
    {"critical", gn_command_critical, "what the run's length is made of: its critical path"},
    {"live", gn_command_live, "what a job that goes on measures; what it is to measure from now on"},
    {"paths", gn_command_paths, "what a loop's passes are made of: sequences of calls, each once"},
    {"merge", gn_command_merge, "join the parts of several hosts into one profile"},
    {"order", gn_command_order, "a trace's events in causal order"},
    {"sync", gn_command_sync, "a trace again, with timestamps that do not break causality"},
    {"synth", gn_command_synth, "a trace of a simulated program, with the truth beside it"},
    {"export", gn_command_export, "a trace in the format of another program"},
    {"check", gn_command_check, "whether a trace's timestamps keep cause and effect in order"},
    {"clock", gn_command_clock, "how well times of different hosts can be compared"},
    {"structure", gn_command_structure, "a program's procedures, loops and calls that communicate"},
    {"doctor", gn_command_doctor, "what is missing on this machine"},
    {"clock-wait", gn_command_clock_wait, NULL},
    {"agent", gn_command_agent, NULL},
    {"guard", gn_command_guard, NULL},
    {"after-run", gn_command_after_run, NULL},
    {"activities", gn_command_activities, NULL},
};

static void usage(FILE *out)
{
    fprintf(out, "Usage: gnomon COMMAND [OPTION...] [ARGUMENT...]\n\n"
                 "Measures unmodified MPI programs and says where their time went.\n\nCommands:\n");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (commands[i].purpose)
            fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].purpose);
    fprintf(out, "\n`gnomon COMMAND --help` says more; so does `man gnomon-COMMAND`.\n");
}

static int unknown(const char *name)
{
    fprintf(stderr, "gnomon: there is no command \"%s\"", name);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (commands[i].purpose && name[0] == commands[i].name[0])
            fprintf(stderr, "; did you mean \"%s\"?", commands[i].name);
    fprintf(stderr, "\nTry `gnomon --help`.\n");
    return 2;
}

int main(int argc, char **argv)
{
    argp_err_exit_status = 2;
    prctl(PR_SET_NAME, "gnomon"); /* whoever looks for it does so by that name */
    if (argc < 2) {
        usage(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("gnomon %s\n", GNOMON_VERSION);
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return 0;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(argv[1], commands[i].name) == 0) {
            static char name[64];
            snprintf(name, sizeof name, "gnomon %s", commands[i].name);
            argv[1] = name;
            return commands[i].run(argc - 1, argv + 1);
        }
    return unknown(argv[1]);
}
