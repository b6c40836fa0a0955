/*
 * What `gnomon run` and `gnomon clock` start in the background, and what they print at the end: commands that
 * are not for users.
 *
 *   gnomon guard AGENT NUMBER
 *                             becomes the guard of a job's agent on this host; the descriptor has its order
 *   gnomon agent NUMBER NUMBER NUMBER
 *                             becomes that agent: descriptors of the order, of the guard, and of what an
 *                             agent that has died had kept (-1: there was none)
 *   gnomon after-run FOLDER [explain]
 *                             the report that ends `gnomon run -- LAUNCHER …`
 */
#include "cli/after_run.h"
#include "cli/clock_measure.h"
#include "cli/commands.h"
#include "agent/agent.h"
#include "agent/guard.h"
#include "profile/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int gn_command_agent(int argc, char **argv)
{
    static gn_agent_report *const reports[GN_AGENT_REPORTS] = {
        [GN_REPORT_RUN] = gn_report_after_run,
        [GN_REPORT_EXPLAINED] = gn_explain_after_run,
        [GN_REPORT_FOLDER] = gn_clock_measure_tell,
        [GN_REPORT_FOLDER_KEPT] = gn_clock_measure_tell_kept,
    };
    if (argc != 4 || gn_agent_run(atoi(argv[1]), atoi(argv[2]), atoi(argv[3]), reports) != 0)
        fprintf(stderr, "gnomon agent: this is a part of `gnomon run`, which starts it\n");
    return 2;
}

int gn_command_guard(int argc, char **argv)
{
    if (argc == 3)
        gn_guard_run(argv[1], atoi(argv[2]));
    fprintf(stderr, "gnomon guard: this is a part of `gnomon run`, which starts it\n");
    return 2;
}

int gn_command_after_run(int argc, char **argv)
{
    char profile[4200];
    struct gn_error err;
    sqlite3 *db;
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "gnomon after-run: this is a part of `gnomon run`, which starts it\n");
        return 2;
    }
    snprintf(profile, sizeof profile, "%s/profile.db", argv[1]);
    if (gn_profile_open(&db, profile, &err) != 0) {
        fprintf(stderr, "gnomon: %s\n", err.text);
        return 2;
    }
    (argc == 3 ? gn_explain_after_run : gn_report_after_run)(db, argv[1], STDERR_FILENO);
    gn_profile_close(db);
    return 0;
}
