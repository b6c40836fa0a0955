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
#include "agent/launcher.h"
#include "cli/run_launcher.h"
#include "cli/start.h"
#include "clock/ticks.h"
#include "event/event.h"
#include "image/record.h"
#include "agent/enlist.h"
#include "agent/folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- becoming the program ---- */

static void join_words(char **words, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (; *words && used + 1 < size; words++)
        used += (size_t)snprintf(text + used, size - used, used ? " %s" : "%s", *words);
}

static void write_settings(const struct gn_run_options *a, const struct gn_job *job, const char *command,
                           char *text, size_t size)
{
    char sample[32], windows[32];
    size_t left;
    gn_run_windows_text(&a->trace, windows, sizeof windows);
    gn_run_sample_text(&a->sample, sample, sizeof sample);
    int used = snprintf(
        text, size, "gnomon %s\ncommand %s\njob %s\nthreads %d\npcontrol %s\nsample %s\nwindows %s\n",
        GNOMON_VERSION, command, job->key, a->threads, a->pcontrol ? a->pcontrol : "switch", sample, windows);
    if (a->trace.ring_records && a->trace.windows_rate <= 0 && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, "trace %uK\ntrace-full %s\n",
                 gn_run_ring_kib(a->trace.ring_records), a->trace.block ? "block" : "drop");
    left = strlen(text);
    if (a->activities)
        snprintf(text + left, size - left, "activity %s\n", a->activities);
}

static int run_here(const struct gn_run_options *a, char **words)
{
    static char command[1024], config[4096];
    static struct gn_job job;
    struct gn_error err;
    if (!gn_find_program(words[0])) /* before anything is started for it */
        return gn_run_become(words);
    gn_job_detect(&job);
    join_words(words, command, sizeof command);
    write_settings(a, &job, command, config, sizeof config);
    struct gn_agent_settings settings = {.command = command,
                                         .program = words[0],
                                         .into = a->into,
                                         .quiet = a->quiet,
                                         .locations = (uint32_t)a->threads,
                                         .trace = a->trace,
                                         .sample = a->sample,
                                         .exchange = a->exchange,
                                         .config = config,
                                         .report = a->explains ? GN_REPORT_EXPLAINED : GN_REPORT_RUN};
    int code = a->spawned_by ? gn_start_spawned(&job, &settings, a->pcontrol, a->spawned_by, &err)
                             : gn_start_measured(&job, &settings, a->pcontrol, a->activities, &err);
    if (code != 0 && (job.local_rank <= 0 || code == -ETIMEDOUT)) /* others of this host would say the same */
        fprintf(stderr, "gnomon run: %s; %s runs unmeasured\n", err.text, words[0]);
    return gn_run_become(words);
}

int gn_command_run(int argc, char **argv)
{
    struct gn_run_options a;
    gn_run_options(&a, argc, argv);
    char **words = argv + a.program;
    if (gn_ticks_problem() && !a.into) /* into: the gnomon in front of the launcher has said it */
        fprintf(stderr, "gnomon run: %s; the setting is ignored\n", gn_ticks_problem());
    return gn_is_launcher(words[0]) && !a.spawned_by ? gn_run_launcher(&a, words) : run_here(&a, words);
}
