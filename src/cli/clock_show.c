#include "cli/clock_show.h"

#include "cli/clock_trace.h"
#include "cli/locate.h"
#include "profile/profile.h"
#include "profile/statement.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- printing ---- */

static int print(const struct gn_clock_options *a, const struct gn_clock_report *r)
{
    struct gn_clock_report_options shown = a->options;
    shown.terminal = gn_terminal_of(STDOUT_FILENO);
    shown.terminal.color &= !a->launched; /* a launcher's terminals are no proof of one at its end */
    if (a->format == GN_FORMAT_JSON)
        gn_clock_report_json(r, stdout);
    else if (a->format == GN_FORMAT_CSV)
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
static struct gn_assumption assumption_for(const struct gn_clock_options *a, sqlite3 *db)
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

static int show_clocks(const struct gn_clock_options *a, sqlite3 *db, const struct gn_profile_clocks *list,
                       const char *folder, struct gn_error *err)
{
    struct gn_clock_report report;
    struct gn_assumption assumption = assumption_for(a, db);
    int code = gn_clock_report_make(&report, list->clocks, list->rows, &assumption, err);
    if (code != 0)
        return code;
    report.missing_ranks = missing_ranks(db);
    snprintf(report.folder, sizeof report.folder, "%s", folder);
    code = print(a, &report);
    gn_clock_report_clear(&report);
    return code;
}

int gn_clock_show_database(const struct gn_clock_options *a, sqlite3 *db, const char *source,
                           const char *folder, struct gn_error *err)
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

int gn_clock_show_profile(const struct gn_clock_options *a, const char *profile, const char *folder,
                          struct gn_error *err)
{
    sqlite3 *db = NULL;
    int code = gn_profile_open(&db, profile, err);
    if (code != 0)
        return code;
    code = gn_clock_show_database(a, db, profile, folder, err);
    gn_profile_close(db);
    return code;
}

int gn_clock_show_run(const struct gn_clock_options *a, struct gn_error *err)
{
    char folder[4096], profile[4200];
    int code = gn_locate_profile(a->run, folder, sizeof folder, profile, sizeof profile, err);
    return code != 0 ? code : gn_clock_show_profile(a, profile, folder, err);
}

/* ---- a trace ---- */

int gn_clock_show_trace(const struct gn_clock_options *a, struct gn_error *err)
{
    struct gn_clock_trace read;
    struct gn_clock_report report;
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
