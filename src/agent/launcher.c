#include "agent/launcher.h"

#include <stdlib.h>
#include <string.h>

static const char *base_name(const char *word)
{
    const char *slash = strrchr(word, '/');
    return slash ? slash + 1 : word;
}

static bool starts(const char *word, const char *prefix)
{
    return strncmp(word, prefix, strlen(prefix)) == 0;
}

bool gn_is_launcher(const char *word)
{
    const char *name = base_name(word);
    return starts(name, "mpirun") || starts(name, "mpiexec") || strcmp(name, "orterun") == 0 ||
           strcmp(name, "prterun") == 0 || strcmp(name, "srun") == 0;
}

/* Options with values in words of their own, without their dashes: Open MPI takes one dash or two for most,
 * Hydra one. Both launchers go by the same names, so this is the union; no option differs in its number of
 * values. */
static const char *const one_value[] = {"n",
                                        "np",
                                        "c",
                                        "N",
                                        "npernode",
                                        "npersocket",
                                        "map-by",
                                        "bind-to",
                                        "rank-by",
                                        "H",
                                        "host",
                                        "hostfile",
                                        "machinefile",
                                        "machine",
                                        "x",
                                        "wdir",
                                        "wd",
                                        "path",
                                        "prefix",
                                        "tune",
                                        "am",
                                        "rf",
                                        "rankfile",
                                        "output-filename",
                                        "stdin",
                                        "timeout",
                                        "report-uri",
                                        "app",
                                        "preload-files",
                                        "preload-files-dest-dir",
                                        "cpu-set",
                                        "cpu-list",
                                        "slot-list",
                                        "xterm",
                                        "max-restarts",
                                        "personality",
                                        "ppr",
                                        "dvm",
                                        "ompi-server",
                                        "server-wait-time",
                                        "cpus-per-proc",
                                        "cpus-per-rank",
                                        "launch-agent",
                                        "output-proctable",
                                        "stdin-target",
                                        "debugger",
                                        /* Open MPI, rare */ "cf",
                                        "cartofile",
                                        "default-hostfile",
                                        "hnp",
                                        "max-vm-size",
                                        "report-events",
                                        "report-pid",
                                        "xml-file",
                                        /* Open MPI 5 */ "display",
                                        "output",
                                        "runtime-options",
                                        "with-ft",
                                        "add-hostfile",
                                        "add-host", /* Hydra */
                                        "f",
                                        "hosts",
                                        "hostlist",
                                        "envlist",
                                        "genvlist",
                                        "configfile",
                                        "ppn",
                                        "perhost",
                                        "iface",
                                        "launcher",
                                        "launcher-exec",
                                        "bootstrap",
                                        "bootstrap-exec",
                                        "rmk",
                                        "binding",
                                        "membind",
                                        "topolib",
                                        "outfile-pattern",
                                        "errfile-pattern",
                                        "prepend-pattern",
                                        "demux",
                                        "usize",
                                        "order-nodes",
                                        "nameserver",
                                        "arch",
                                        "umask",
                                        "gpus-per-proc",
                                        "localhost",
                                        "ckpoint-interval",
                                        "ckpoint-prefix",
                                        "ckpoint-num",
                                        "ckpointlib",
                                        "pmi-port-range"};
static const char *const two_values[] = {"mca",     "gmca",    "pmca", "omca", "gpmixmca",
                                         "pmixmca", "prtemca", "env",  "genv"};

static const char *const srun_flags[] = {"--exclusive",
                                         "--overcommit",
                                         "--overlap",
                                         "--label",
                                         "--unbuffered",
                                         "--pty",
                                         "--verbose",
                                         "--quiet",
                                         "--no-kill",
                                         "--contiguous",
                                         "--disable-status",
                                         "--immediate",
                                         "--kill-on-bad-exit",
                                         "--multi-prog",
                                         "--no-allocate",
                                         "--preserve-env",
                                         "--spread-job",
                                         "--use-min-nodes",
                                         "--wait-all-nodes",
                                         "--oversubscribe",
                                         "--exact",
                                         "--whole",
                                         "--interactive",
                                         "--test-only",
                                         "--help",
                                         "--usage",
                                         "--version",
                                         "--het-group",
                                         "--resv-ports",
                                         "--slurmd-debug"};

static bool listed(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, list[i]) == 0)
            return true;
    return false;
}

#define LISTED(word, list) listed(word, list, sizeof(list) / sizeof((list)[0]))

static int values_of_srun(const char *word)
{
    if (starts(word, "--"))
        return strchr(word, '=') || LISTED(word, srun_flags) ? 0 : 1;
    /* short: value in the same word (-n4) or in the next; flags take none */
    if (word[2] != '\0')
        return 0;
    return strchr("EHIKklOQsuvVXZbhR", word[1]) ? 0 : 1;
}

static int values_of(const char *word, bool srun)
{
    if (srun)
        return values_of_srun(word);
    const char *name = word + (word[1] == '-' ? 2 : 1);
    return LISTED(name, one_value) ? 1 : LISTED(name, two_values) ? 2 : 0;
}

/* Index of the program from word `at` on; the length of argv when there is none. */
static int find_program(char **argv, int at, bool srun)
{
    while (argv[at] && argv[at][0] == '-' && argv[at][1] != '\0') {
        if (strcmp(argv[at], "--") == 0)
            return at + 1;
        int values = values_of(argv[at], srun);
        at++;
        while (values-- > 0 && argv[at])
            at++;
    }
    return at;
}

char **gn_launcher_wrap(char **argv, char *const *prefix, int count, const char **program)
{
    int words = 0, programs = 1, out = 0, at = 1;
    for (; argv[words]; words++)
        programs += strcmp(argv[words], ":") == 0;
    char **wrapped = calloc((size_t)(words + programs * count + 1), sizeof *wrapped);
    bool srun = strcmp(base_name(argv[0]), "srun") == 0;
    *program = NULL;
    if (!wrapped)
        return NULL;
    wrapped[out++] = argv[0];
    while (argv[at]) {
        int begin = find_program(argv, at, srun);
        while (at < begin && argv[at])
            wrapped[out++] = argv[at++];
        if (!argv[at])
            break;
        if (!*program)
            *program = argv[at];
        for (int i = 0; i < count; i++)
            wrapped[out++] = prefix[i];
        while (argv[at] && strcmp(argv[at], ":") != 0)
            wrapped[out++] = argv[at++];
        if (argv[at])
            wrapped[out++] = argv[at++];
    }
    if (*program)
        return wrapped;
    free(wrapped);
    return NULL;
}
