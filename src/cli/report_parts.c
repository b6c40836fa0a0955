#include "cli/report_parts.h"

#include "answer/fit.h"
#include "answer/report_time.h"
#include "cli/analysis_options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* One part: what is asked of db is asked of it from here on. */
static int look(sqlite3 *db, const struct gn_period *period, const struct gn_world *world,
                const struct gn_report_asked *a, struct gn_time_part *part, struct gn_error *err)
{
    struct gn_summary summary;
    int code = gn_period_select(db, period, err);
    if (code == 0)
        code = gn_world_select(db, world ? world->id : 0, err);
    if (code == 0)
        code = gn_summarise(db, GN_BY_ACTIVITY, a->options.raw, &summary, err);
    if (code != 0)
        return code;
    *part = gn_time_part_of(&summary, &a->options.terminal);
    gn_summary_clear(&summary);
    return 0;
}

/* Equal parts, as far as the series' steps allow. */
static int look_at_all(sqlite3 *db, const struct gn_world *world, const struct gn_report_asked *a,
                       struct gn_time_part *parts, size_t *count, struct gn_error *err)
{
    const size_t most = *count;
    const struct gn_period whole = {.from_s = a->part.period.from_s,
                                    .to_s = a->part.period.to_s > 0 ? a->part.period.to_s : INFINITY};
    int code = gn_period_select(db, &whole, err);
    const struct gn_period_told all = gn_period_selected(db);
    const double each_s = (all.to_s - all.from_s) / (double)most;
    *count = 0;
    for (size_t i = 0; i < most && code == 0; i++) {
        const bool last = i + 1 == most;
        const struct gn_period period = {.from_s = all.from_s + each_s * (double)i,
                                         .to_s = last ? whole.to_s : all.from_s + each_s * (double)(i + 1),
                                         .may_be_empty = true};
        struct gn_time_part *part = &parts[*count];
        code = look(db, &period, world, a, part, err);
        *count += part->period.to_s > part->period.from_s; /* else steps are wider than parts */
    }
    return code;
}

static int print(const struct gn_time_report *report, const struct gn_report_asked *a, struct gn_error *err)
{
    const struct gn_table table = gn_time_table(report);
    struct gn_page page;
    if (a->format == GN_FORMAT_JSON)
        return gn_print_json(gn_time_json(report), err);
    if (a->format == GN_FORMAT_CSV)
        return gn_print_csv(&table, err);
    gn_page_open(&page, &a->options.terminal, stdout);
    const int code = gn_table_text(&table, &a->options.terminal, page.out);
    fprintf(page.out,
            "next: gnomon report --between T1,T2 says what a part was spent on, gnomon explain --between "
            "T1,T2 why it took as long\n");
    gn_page_close(&page);
    return code == 0 ? gn_print_end(err) : gn_fail(err, code, "no memory for the report");
}

int gn_report_parts(sqlite3 *db, const struct gn_report_asked *a, const struct gn_world *world,
                    struct gn_error *err)
{
    enum { MOST = 512 };
    size_t count = a->options.top > 0 && a->options.top < MOST ? (size_t)a->options.top : MOST;
    struct gn_time_part *parts = calloc(count, sizeof *parts);
    int code = parts ? look_at_all(db, world, a, parts, &count, err)
                     : gn_fail(err, -ENOMEM, "no memory for the parts of the run");
    const struct gn_time_report report = {parts, count};
    if (code == 0)
        code = print(&report, a, err);
    free(parts);
    return code;
}
