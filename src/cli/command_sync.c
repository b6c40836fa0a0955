/* gnomon sync — a trace again, with timestamps that do not break causality. */
#include "cli/commands.h"

#include "agent/folder.h"
#include "cli/asked_bounds.h"
#include "cli/interrupted.h"
#include "cli/job_transport.h"
#include "cli/place.h"
#include "cli/progress.h"
#include "cli/standard_streams.h"
#include "cli/sync_options.h"
#include "answer/sync_report.h"

#include <argp.h>
#include <errno.h>
#include <string.h>

enum { BAD_INPUT = 2 };

static int complain(const struct gn_error *err, int status)
{
    if (err->text[0]) /* else another process has something to say */
        fprintf(stderr, "gnomon sync: %s\n", err->text);
    return status;
}

/* ---- while it goes on ---- */

static void show(void *self, const char *phase, double share)
{
    gn_interrupted_check();
    gn_progress_show(self, phase, share);
}

static void unfinished(void *self, void (*clean)(void *argument), void *argument)
{
    (void)self;
    gn_interrupted_clean(clean, argument);
}

static void gives_up(void *self, const char *why)
{
    (void)self;
    fprintf(stderr, "gnomon sync: %s\n", why);
}

/* ---- the command ---- */

/* Not everything could be checked, and nobody has said that this is no matter. */
static bool is_short(const struct gn_sync_arguments *a, const struct gn_sync_report *report)
{
    return !a->accepts_partial && !gn_condition_covers(&report->condition);
}

static int print(const struct gn_sync_arguments *a, const struct gn_asked_bounds *asked,
                 const struct gn_sync_report *report)
{
    const bool fails =
        report->was_verified && (!gn_condition_holds(&report->condition) || is_short(a, report));
    if (a->settings.transport->rank > 0)
        return fails;
    gn_asked_bounds_tell(asked, &report->clocks, "sync");
    (a->json ? gn_sync_report_json : gn_sync_report_text)(report, stdout);
    if (report->was_verified && is_short(a, report))
        fprintf(stderr, "gnomon sync: not everything could be checked; --partial accepts that\n");
    if (fflush(stdout) == 0 && !ferror(stdout))
        return fails;
    fprintf(stderr, "gnomon sync: %s is written, but its summary cannot be: %s\n", a->settings.out,
            strerror(errno));
    return 1;
}

static int sync_together(struct gn_sync_arguments *a)
{
    struct gn_sync_report report;
    struct gn_asked_bounds asked;
    struct gn_error err = {{0}};
    struct gn_progress progress = gn_progress_begin(a->settings.transport->rank == 0);
    a->settings.bounds = gn_asked_bounds(&asked, a->settings.trace);
    a->settings.watcher = (struct gn_sync_watcher){&progress, show, unfinished, gives_up};
    int code = gn_sync(&a->settings, &report, &err);
    gn_progress_end(&progress);
    int status = code < 0 ? complain(&err, report.is_bad_input ? BAD_INPUT : 1) : print(a, &asked, &report);
    if (code == 0)
        gn_sync_report_clear(&report);
    gn_asked_bounds_clear(&asked);
    return status;
}

int gn_command_sync(int argc, char **argv)
{
    static const struct argp argp = {
        gn_sync_options,
        gn_sync_parse,
        "-o FOLDER [TRACE]",
        "Repairs the timestamps of a trace (an OTF2 archive, or a run with one; without it, the newest run "
        "here): no message is received before it was sent, with the controlled logical clock. The new "
        "archive is the same in everything else. Under mpirun, the processes do it together.\v"
        "Before: gnomon check TRACE, whether there is anything to repair. Exit status 1: it could not be "
        "written, or --verify found a violation or could not check everything; 2: wrong usage, or a trace or "
        "a file of latencies that "
        "cannot be read.",
        gn_place_option,
        NULL,
        NULL};
    struct gn_sync_arguments a = {.settings = {.slope = GN_REPAIR_SLOPE,
                                               .longest_ns = GN_REPAIR_LONGEST_NS,
                                               .memory_bytes = GN_OP_MEMORY_BYTES}};
    struct gn_transport transport;
    struct gn_error err = {{0}};
    char found[4096];
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (gn_place_find(a.settings.trace, found, sizeof found, &err) != 0)
        return complain(&err, BAD_INPUT);
    a.settings.trace = found;
    gn_standard_streams();
    gn_interrupted_begin();
    if (gn_job_transport_open(&transport, NULL, &err) < 0)
        return complain(&err, 1);
    a.settings.transport = &transport;
    int status = sync_together(&a);
    transport.close(transport.self);
    return status;
}
