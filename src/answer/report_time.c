#include "answer/report_time.h"

#include "answer/problem_text.h"

#include <string.h>

enum { FROM, TO, PARALLEL, BALANCE, COMMUNICATION, MPI, CALLS, BYTES, SHARE, RANK, MOST, COLUMNS };

static const struct gn_column columns[COLUMNS] = {
    [FROM] = {.title = "from", .name = "from_s", .kind = GN_CELL_DURATION},
    [TO] = {.title = "to", .name = "to_s", .kind = GN_CELL_DURATION},
    [PARALLEL] = {.title = "efficiency", .name = "parallel", .kind = GN_CELL_SHARE},
    [BALANCE] = {.title = "balance", .name = "load_balance", .kind = GN_CELL_SHARE, .goes = 2},
    [COMMUNICATION] = {.name = "communication", .kind = GN_CELL_SHARE},
    [MPI] = {.title = "in MPI", .name = "mpi_share", .kind = GN_CELL_SHARE},
    [CALLS] = {.title = "calls", .name = "calls", .kind = GN_CELL_COUNT, .goes = 1},
    [BYTES] = {.title = "bytes", .name = "bytes", .kind = GN_CELL_BYTES, .goes = 3},
    [SHARE] = {.title = "most", .name = "most_share", .kind = GN_CELL_SHARE},
    [RANK] = {.title = "rank", .name = "most_rank", .kind = GN_CELL_RANK, .flags = GN_COLUMN_LEFT},
    [MOST] = {.title = "in", .name = "most", .kind = GN_CELL_TEXT, .least = 30, .is_middle = true},
};

struct gn_time_part gn_time_part_of(const struct gn_summary *s, const struct gn_terminal *terminal)
{
    struct gn_time_part part = {
        .period = s->period, .efficiency = s->efficiency, .mpi_share = s->mpi_share, .rank = -1};
    for (size_t i = 0; i < s->row_count; i++)
        if (strcmp(s->rows[i].kind, "mpi") == 0) {
            part.calls += s->rows[i].count;
            part.bytes += s->rows[i].bytes;
        }
    if (s->row_count > 0) { /* the largest comes first */
        gn_problem_place(&s->rows[0], terminal, part.most, sizeof part.most);
        part.share = s->rows[0].share;
        part.rank = s->rows[0].max_rank;
    }
    return part;
}

static void fill(const void *self, size_t row, struct gn_cell *cells)
{
    const struct gn_time_part *p = &((const struct gn_time_report *)self)->parts[row];
    gn_cell_real(&cells[FROM], p->period.from_s * 1e9);
    gn_cell_real(&cells[TO], p->period.to_s * 1e9);
    if (p->efficiency.is_known) {
        gn_cell_real(&cells[PARALLEL], p->efficiency.parallel);
        gn_cell_real(&cells[BALANCE], p->efficiency.load_balance);
        gn_cell_real(&cells[COMMUNICATION], p->efficiency.communication);
    }
    gn_cell_real(&cells[MPI], p->mpi_share);
    gn_cell_number(&cells[CALLS], p->calls);
    gn_cell_number(&cells[BYTES], p->bytes);
    if (p->rank >= 0) {
        gn_cell_real(&cells[SHARE], p->share);
        gn_cell_number(&cells[RANK], p->rank);
        gn_cell_text(&cells[MOST], p->most);
    }
}

struct gn_table gn_time_table(const struct gn_time_report *report)
{
    return (struct gn_table){.columns = columns,
                             .column_count = COLUMNS,
                             .row_count = report->count,
                             .fill = fill,
                             .self = report};
}

json_t *gn_time_json(const struct gn_time_report *report)
{
    const struct gn_table table = gn_time_table(report);
    return json_pack("{s:i, s:s, s:f, s:o}", "version", 2, "by", "time", "run_s",
                     report->count ? report->parts[0].period.run_s : 0.0, "parts", gn_table_json(&table));
}
