/*
 * gnomon clock — the clocks of a job's hosts, measured now or in a finished run: how well their times can be
 * compared, and what that rests on.
 */
#include "agent/host_clock.h"
#include "cli/clock_measure.h"
#include "cli/clock_show.h"
#include "cli/clock_trace.h"
#include "cli/commands.h"
#include "clock/ticks.h"
#include "profile/profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *as_typed(const char *folder)
{
    char here[4096];
    size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;
    bool below = length > 0 && strncmp(folder, here, length) == 0 && folder[length] == '/';
    return below ? folder + length + 1 : folder;
}

static int measure(const struct gn_clock_options *a, const struct gn_job *job, struct gn_error *err)
{
    char folder[4096], profile[4200];
    int code = gn_clock_measure(job, &a->measuring, folder, sizeof folder, err);
    if (code <= 0)
        return code;
    snprintf(profile, sizeof profile, "%s/profile.db", folder);
    code = gn_clock_show_profile(a, profile, a->measuring.keep ? as_typed(folder) : "", err);
    if (!a->measuring.keep)
        gn_clock_measure_forget(folder);
    return code;
}

/* Without a launcher there is nobody to compare with: what is known of this host's counter. */
static int measure_here(const struct gn_clock_options *a, const struct gn_job *job, struct gn_error *err)
{
    char host[64] = "";
    sqlite3 *db;
    if (a->measuring.keep)
        return gn_fail(err, -EINVAL,
                       "--keep is for several hosts: put a launcher in front (mpirun -n 4 gnomon clock)");
    gethostname(host, sizeof host - 1);
    struct gn_host_clock clock = {.host = job->host[0] ? job->host : host};
    gn_host_clock_begin(&clock);
    clock.first_ticks = gn_ticks();
    int code = gn_profile_create(&db, ":memory:", err);
    if (code != 0)
        return code;
    code = gn_host_clock_save(&clock, db, err);
    if (code == 0)
        code = gn_clock_show_database(a, db, "this host", "", err);
    gn_host_clock_clear(&clock);
    gn_profile_close(db);
    return code;
}

int gn_command_clock(int argc, char **argv)
{
    struct gn_clock_options a;
    struct gn_error err = {""};
    static struct gn_job job;
    gn_clock_options(&a, argc, argv);
    a.measuring.exchanges = a.measuring.keep;
    a.options.kept = a.measuring.keep;
    gn_job_detect(&job);
    a.launched = job.rank >= 0;
    int code = a.run && gn_clock_trace_named(a.run) ? gn_clock_show_trace(&a, &err)
               : a.run || a.last                    ? gn_clock_show_run(&a, &err)
               : !a.launched                        ? measure_here(&a, &job, &err)
                                                    : measure(&a, &job, &err);
    if (code >= 0)
        return code;
    fprintf(stderr, "gnomon clock: %s\n", err.text);
    return code == -ECANCELED ? 1 : 2;
}
