/* answer/table for programs: CSV and JSON. */
#include "answer/spans.h"
#include "answer/table_inside.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- CSV ---- */

static bool is_pair(const struct gn_column *column)
{
    return column->kind == GN_CELL_DURATIONS || column->kind == GN_CELL_PERCENTAGES;
}

/* What a value is multiplied by: times are kept in nanoseconds and told in seconds. */
static double unit_of(const struct gn_column *column)
{
    switch (column->kind) {
    case GN_CELL_DURATION:
    case GN_CELL_DURATIONS:
    case GN_CELL_WIDTH:
        return 1e-9;
    case GN_CELL_PERCENTAGES:
        return 100;
    default:
        return 1;
    }
}

void gn_csv_field(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void csv_real(FILE *out, const struct gn_column *column, double value)
{
    if (!isfinite(value))
        return;
    if (column->digits)
        fprintf(out, "%.*f", column->digits, value * unit_of(column));
    else
        fprintf(out, column->kind == GN_CELL_REAL ? "%.17g" : "%.15g", value * unit_of(column));
}

static void csv_cell(FILE *out, const struct gn_column *column, const struct gn_cell *cell)
{
    if (!cell->is_known) {
        fputs(column->flags & GN_COLUMN_ZERO ? "0" : is_pair(column) ? "," : "", out);
        return;
    }
    switch (column->kind) {
    case GN_CELL_TEXT:
        gn_csv_field(out, cell->text);
        return;
    case GN_CELL_COUNT:
    case GN_CELL_AMOUNT:
    case GN_CELL_NUMBER:
    case GN_CELL_RANK:
    case GN_CELL_BYTES:
        fprintf(out, "%" PRId64, cell->number);
        return;
    default:
        csv_real(out, column, cell->lo);
    }
    if (is_pair(column)) {
        fputc(',', out);
        csv_real(out, column, cell->hi);
    }
}

static bool in_csv(const struct gn_column *column)
{
    return column->name && !(column->flags & GN_COLUMN_NO_CSV);
}

static void csv_names(const struct gn_table *t, FILE *out)
{
    const char *between = "";
    for (size_t c = 0; c < t->column_count; c++) {
        const char *name = t->columns[c].name;
        if (!in_csv(&t->columns[c]))
            continue;
        if (is_pair(&t->columns[c]))
            fprintf(out, "%s%s_lo,%s_hi", between, name, name);
        else
            fprintf(out, "%s%s", between, name);
        between = ",";
    }
    fputc('\n', out);
}

int gn_table_csv(const struct gn_table *table, FILE *out)
{
    struct gn_cell *cells = calloc(table->column_count, sizeof *cells);
    if (!cells)
        return -ENOMEM;
    csv_names(table, out);
    for (size_t row = 0; row < table->row_count; row++) {
        const char *between = "";
        gn_table_fill(table, row, cells);
        for (size_t c = 0; c < table->column_count; c++) {
            if (!in_csv(&table->columns[c]))
                continue;
            fputs(between, out);
            csv_cell(out, &table->columns[c], &cells[c]);
            between = ",";
        }
        fputc('\n', out);
    }
    free(cells);
    return 0;
}

/* ---- JSON ---- */

/* JSON has no infinity. */
static json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *json_cell(const struct gn_column *column, const struct gn_cell *cell)
{
    const double unit = unit_of(column);
    switch (column->kind) {
    case GN_CELL_TEXT:
        return cell->text && (cell->text[0] || (column->flags & GN_COLUMN_EMPTY))
                   ? json_string_nocheck(cell->text)
                   : json_null();
    case GN_CELL_COUNT:
    case GN_CELL_AMOUNT:
    case GN_CELL_NUMBER:
    case GN_CELL_RANK:
    case GN_CELL_BYTES:
        return cell->is_known ? json_integer((json_int_t)cell->number) : json_null();
    case GN_CELL_DURATIONS:
    case GN_CELL_PERCENTAGES:
        return cell->is_known && !isnan(cell->lo) && !isnan(cell->hi) ? gn_span_json(cell->lo, cell->hi, unit)
                                                                      : json_null();
    default:
        return cell->is_known ? json_number(cell->lo * unit) : json_null();
    }
}

static json_t *json_row(const struct gn_table *t, const struct gn_cell *cells)
{
    json_t *object = json_object();
    for (size_t c = 0; c < t->column_count; c++) {
        const struct gn_column *column = &t->columns[c];
        if (column->name && !(column->flags & GN_COLUMN_NO_JSON))
            json_object_set_new(object, column->name, json_cell(column, &cells[c]));
    }
    return object;
}

json_t *gn_table_json(const struct gn_table *table)
{
    struct gn_cell *cells = calloc(table->column_count, sizeof *cells);
    json_t *array = cells ? json_array() : NULL;
    for (size_t row = 0; array && row < table->row_count; row++) {
        gn_table_fill(table, row, cells);
        json_array_append_new(array, json_row(table, cells));
    }
    free(cells);
    return array;
}
