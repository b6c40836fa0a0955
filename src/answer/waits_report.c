#include "answer/waits_report.h"

#include "answer/table.h"
#include "base/printable.h"

#include <math.h>

static const struct gn_column columns[] = {
    {.title = "waited", .name = "waited_s", .kind = GN_CELL_DURATIONS},
    {.title = "times", .name = "times", .kind = GN_CELL_COUNT, .goes = 3},
    {.title = "certain", .name = "certain", .kind = GN_CELL_COUNT, .goes = 2},
    {.title = "rank", .name = "rank", .kind = GN_CELL_RANK},
    {.title = "waits in", .name = "call", .kind = GN_CELL_TEXT, .least = 12},
    {.title = "at", .name = "place", .kind = GN_CELL_TEXT, .least = 12, .is_middle = true},
    {.title = "for", .name = "waits_for", .kind = GN_CELL_RANK},
    {.title = "in", .name = "for_call", .kind = GN_CELL_TEXT, .least = 10},
    {.title = "at", .name = "for_place", .kind = GN_CELL_TEXT, .least = 10, .is_middle = true, .goes = 1},
    {.title = "what", .name = "kind", .kind = GN_CELL_TEXT},
};

enum { WAITED, TIMES, CERTAIN, RANK, CALL, PLACE, FOR, FOR_CALL, FOR_PLACE, KIND };

static void call_cell(const struct gn_definitions *d, uint32_t region, struct gn_cell *cell)
{
    if (region < d->region_count)
        gn_cell_text(cell, gn_string(d, d->regions[region].name));
}

static void place_cell(const struct gn_definitions *d, uint32_t path, struct gn_cell *cell)
{
    char place[1000] = "";
    path = gn_sourced_path(d, path);
    if (path != GN_NONE)
        gn_place_text(place, sizeof place, gn_string(d, d->paths[path].source_file),
                      (int)d->paths[path].line);
    if (place[0])
        gn_cell_print(cell, "%s", place);
}

static void rank_cell(const struct gn_definitions *d, uint32_t location, struct gn_cell *cell)
{
    if (location < d->location_count && d->locations[location].process < d->process_count)
        gn_cell_number(cell, d->processes[d->locations[location].process].rank);
}

static void fill(const void *self, size_t row, struct gn_cell *cells)
{
    const struct gn_waits_report *r = self;
    const struct gn_definitions *d = r->seen->definitions;
    const struct gn_seen_edge *e = &r->edges[row];
    /* of a single window nobody knows how much there was in the run: what was seen, then */
    gn_cell_bounds(&cells[WAITED], e->waited.lo_ns,
                   isfinite(e->waited.hi_ns) ? e->waited.hi_ns : e->edge.hi_ns);
    gn_cell_number(&cells[TIMES], (int64_t)e->edge.times);
    gn_cell_number(&cells[CERTAIN], (int64_t)e->edge.certain);
    rank_cell(d, e->edge.location, &cells[RANK]);
    call_cell(d, e->edge.region, &cells[CALL]);
    place_cell(d, e->edge.path, &cells[PLACE]);
    rank_cell(d, e->edge.giver, &cells[FOR]);
    call_cell(d, e->edge.giver_region, &cells[FOR_CALL]);
    place_cell(d, e->edge.giver_path, &cells[FOR_PLACE]);
    gn_cell_text(&cells[KIND], gn_wait_kind_name((enum gn_wait_kind)e->edge.kind));
}

static struct gn_table table_of(const struct gn_waits_report *r)
{
    const size_t count = r->top && r->top < r->count ? r->top : r->count;
    return (struct gn_table){.columns = columns,
                             .column_count = sizeof columns / sizeof *columns,
                             .row_count = count,
                             .left_out = r->count - count,
                             .fill = fill,
                             .self = r};
}

void gn_waits_text(const struct gn_waits_report *r, const struct gn_terminal *terminal, FILE *out)
{
    const struct gn_table table = table_of(r);
    if (r->count == 0)
        fputs("nobody was seen waiting for another rank\n", out);
    else
        gn_table_text(&table, terminal, out);
}

json_t *gn_waits_json(const struct gn_waits_report *r, json_t *seen)
{
    const struct gn_table table = table_of(r);
    return json_pack("{s:i, s:o, s:o}", "version", 1, "seen", seen, "waits", gn_table_json(&table));
}
