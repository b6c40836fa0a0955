#include "cli/print_analysis.h"

#include "cli/asked_part.h"

#include <errno.h>
#include <unistd.h>

/* In a round of a spread, rows are not printed. */
static int measure(struct gn_table table, struct gn_error *err)
{
    const int code = gn_table_measure(&table);
    return code == 0 ? 0 : gn_fail(err, code, "no memory for the answer");
}

int gn_print_stragglers(const struct gn_stragglers_report *report, enum gn_format format,
                        struct gn_error *err)
{
    const struct gn_terminal terminal = gn_terminal_of(STDOUT_FILENO);
    const struct gn_table rows = gn_stragglers_table(report);
    if (gn_spread_is_in_round(report->spread)) {
        struct gn_stragglers_report all = *report;
        all.top = 0;
        return measure(gn_stragglers_table(&all), err);
    }
    if (format == GN_FORMAT_JSON)
        return gn_print_json(gn_stragglers_json(report), err);
    if (format == GN_FORMAT_CSV)
        return gn_print_csv(&rows, err);
    gn_asked_part_text(stdout);
    gn_stragglers_text(report, &terminal, stdout);
    return gn_print_end(err);
}

int gn_print_whatif(const struct gn_whatif_report *report, enum gn_format format, struct gn_error *err)
{
    const struct gn_terminal terminal = gn_terminal_of(STDOUT_FILENO);
    const struct gn_table row = gn_whatif_table(report);
    if (gn_spread_is_in_round(report->spread))
        return measure(gn_whatif_table(report), err);
    if (format == GN_FORMAT_JSON)
        return gn_print_json(gn_whatif_json(report), err);
    if (format == GN_FORMAT_CSV)
        return gn_print_csv(&row, err);
    gn_asked_part_text(stdout);
    gn_whatif_text(report, &terminal, stdout);
    return gn_print_end(err);
}

int gn_print_sweep(const struct gn_sweep_report *report, enum gn_format format, struct gn_error *err)
{
    const struct gn_terminal terminal = gn_terminal_of(STDOUT_FILENO);
    const struct gn_table rows = gn_sweep_table(report);
    if (gn_spread_is_in_round(report->spread))
        return measure(gn_sweep_table(report), err);
    if (format == GN_FORMAT_JSON)
        return gn_print_json(gn_sweep_json(report), err);
    if (format == GN_FORMAT_CSV)
        return gn_print_csv(&rows, err);
    gn_asked_part_text(stdout);
    gn_sweep_text(report, &terminal, stdout);
    return gn_print_end(err);
}

int gn_print_paths(const struct gn_paths_report *report, enum gn_format format, struct gn_error *err)
{
    const struct gn_terminal terminal = gn_terminal_of(STDOUT_FILENO);
    const struct gn_table rows = gn_paths_table(report);
    if (format == GN_FORMAT_JSON)
        return gn_print_json(gn_paths_json(report), err);
    if (format == GN_FORMAT_CSV)
        return gn_print_csv(&rows, err);
    gn_asked_part_text(stdout);
    gn_paths_text(report, &terminal, stdout);
    return gn_print_end(err);
}

int gn_print_critical(const struct gn_critical_report *report, enum gn_format format, struct gn_error *err)
{
    const struct gn_terminal terminal = gn_terminal_of(STDOUT_FILENO);
    const struct gn_table rows = gn_critical_table(report);
    if (gn_spread_is_in_round(report->spread)) {
        struct gn_critical_report all = *report;
        all.top = 0;
        return measure(gn_critical_table(&all), err);
    }
    if (format == GN_FORMAT_JSON)
        return gn_print_json(gn_critical_json(report), err);
    if (format == GN_FORMAT_CSV)
        return gn_print_csv(&rows, err);
    gn_asked_part_text(stdout);
    gn_critical_text(report, &terminal, stdout);
    return gn_print_end(err);
}

int gn_print_frames(const struct gn_frames_report *report, enum gn_format format, struct gn_error *err)
{
    const struct gn_terminal terminal = gn_terminal_of(STDOUT_FILENO);
    if (gn_spread_is_in_round(report->spread)) {
        struct gn_frames_report all = *report;
        all.top = 0;
        return measure(gn_frames_table(&all), err);
    }
    if (format == GN_FORMAT_JSON)
        return gn_print_json(gn_frames_json(report), err);
    if (format == GN_FORMAT_CSV)
        return gn_frames_csv(report, stdout) < 0 ? gn_fail(err, -ENOMEM, "no memory for the answer")
                                                 : gn_print_end(err);
    gn_asked_part_text(stdout);
    gn_frames_text(report, &terminal, stdout);
    return gn_print_end(err);
}
