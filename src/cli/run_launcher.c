#include "cli/run_launcher.h"

#include "agent/folder.h"
#include "cli/commands.h"
#include "cli/find.h"
#include "agent/launcher.h"
#include "cli/place.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int gn_run_become(char **words)
{
    execvp(words[0], words);
    int code = errno;
    unsetenv("LD_PRELOAD");
    fprintf(stderr, "gnomon run: cannot run %s: %s\n", words[0], strerror(code));
    return 2;
}

static bool readable(const char *path)
{
    return access(path, R_OK) == 0;
}

static pid_t launched;

/* A terminal sends its signals (si_code SI_KERNEL) to the launcher too; passing them on would make one Ctrl-C
 * two, which launchers take for "at once". */
static void pass_on(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    if (launched > 0 && info->si_code != SI_KERNEL)
        kill(launched, signal_number);
}

/* The launcher has ended; the agents may still be at work, on other hosts, too: only the folder tells. */
static void wait_for_profile(const char *folder, bool quiet)
{
    enum { LONGEST_NAP_US = 50000, NOTHING_US = 600000, TELL_US = 1000000, MOST_US = 30000000 };
    char profile[4200];
    bool told = quiet;
    snprintf(profile, sizeof profile, "%s/profile.db", folder);
    for (unsigned nap_us = 2000, waited_us = 0; waited_us < MOST_US; waited_us += nap_us) {
        if (access(folder, F_OK) != 0) /* moved elsewhere; the agent says where */
            return;
        bool open = gn_folder_marks(folder, NULL, true) > 0;
        if (!open && (readable(profile) || waited_us > NOTHING_US))
            return;
        if (waited_us > TELL_US && !told)
            fprintf(stderr, "gnomon: the program has ended; its profile is being finished\n");
        told = told || waited_us > TELL_US;
        nap_us = nap_us + nap_us / 4 < LONGEST_NAP_US ? nap_us + nap_us / 4 : LONGEST_NAP_US;
        usleep(nap_us);
    }
}

static int wait_for(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* With the program that has the profile's reader. */
static void print_report(const struct gn_folder *folder, const char *program, bool explains)
{
    char profile[4200];
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
    pid_t child = fork();
    if (child == 0) {
        gn_become_commands(
            (char *[]){"gnomon", "after-run", (char *)folder->path, explains ? "explain" : NULL, NULL});
        _exit(127);
    }
    if (child > 0)
        wait_for(child);
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

int gn_run_launcher(const struct gn_run_options *a, char **words)
{
    char self[4096], threads[16], trace[32], interval[40], branching[40], keep[40], sample[32], rate[32],
        windows[48];
    const bool traced = a->trace.ring_records && a->trace.windows_rate <= 0;
    const bool found = gn_find_self(self, sizeof self) == 0;
    snprintf(threads, sizeof threads, "%d", a->threads);
    snprintf(trace, sizeof trace, "--trace=%uK", gn_run_ring_kib(a->trace.ring_records));
    gn_run_windows_text(&a->trace, rate, sizeof rate);
    snprintf(windows, sizeof windows, "--windows=%s", rate);
    gn_run_sample_text(&a->sample, sample, sizeof sample);
    snprintf(interval, sizeof interval, "--clock-interval=%u", a->exchange.interval_ms);
    snprintf(branching, sizeof branching, "--clock-branching=%u", a->exchange.branching);
    snprintf(keep, sizeof keep, "--keep-exchanges=%zu", a->exchange.keep);
    char where[3500];
    struct gn_folder folder;
    struct gn_error err;
    const char *program;
    char *prefix[22] = {found ? self : "gnomon",
                        "run",
                        "--quiet",
                        "--threads",
                        threads,
                        "--pcontrol",
                        (char *)(a->pcontrol ? a->pcontrol : "switch"),
                        "--into",
                        folder.path,
                        "--sample",
                        sample,
                        windows,
                        a->trace.block ? "--trace-full=block" : "--trace-full=drop"};
    size_t count = traced ? 13 : 12; /* without a trace there is nothing to be full */
    if (traced)
        prefix[count++] = trace;
    if (a->activities) {
        prefix[count++] = "--activity";
        prefix[count++] = (char *)a->activities;
    }
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
    uint64_t job_hash = (uint64_t)time(NULL) ^ ((uint64_t)getpid() << 20);
    if (gn_place_open(where, sizeof where, &err) != 0 ||
        gn_folder_open(&folder, where, program, job_hash, false, &err) != 0) {
        fprintf(stderr, "gnomon run: %s; %s runs unmeasured\n", err.text, program);
        free(wrapped);
        return gn_run_become(words);
    }
    if (folder.trouble[0])
        fprintf(stderr, "gnomon run: %s\n", folder.trouble);
    launched = fork();
    if (launched == 0)
        _exit(gn_run_become(wrapped) == 2 ? 127 : 0);
    static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
    for (size_t i = 0; launched > 0 && i < sizeof passed / sizeof passed[0]; i++)
        sigaction(passed[i], &action, NULL);
    int status = wait_for(launched);
    launched = 0;
    wait_for_profile(folder.path, a->quiet);
    if (!a->quiet)
        print_report(&folder, program, a->explains);
    free(wrapped);
    return end_like(status);
}
