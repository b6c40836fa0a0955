#include "answer/spans.h"
#include "answer/table_inside.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void gn_cell_text(struct gn_cell *cell, const char *text)
{
    cell->text = text;
    cell->is_known = text != NULL;
}

void gn_cell_number(struct gn_cell *cell, int64_t number)
{
    cell->number = number;
    cell->is_known = true;
}

void gn_cell_real(struct gn_cell *cell, double value)
{
    gn_cell_bounds(cell, value, value);
}

void gn_cell_bounds(struct gn_cell *cell, double lo, double hi)
{
    cell->lo = lo;
    cell->hi = hi;
    cell->is_known = true;
}

void gn_cell_print(struct gn_cell *cell, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cell->buffer, sizeof cell->buffer, format, arguments);
    va_end(arguments);
    gn_cell_text(cell, cell->buffer);
}

/* ---- of all of the run ---- */

/* The first one with that flag; NULL: there is none. */
static struct gn_cell *flagged(const struct gn_table *table, struct gn_cell *cells, unsigned flag)
{
    for (size_t c = 0; c < table->column_count; c++)
        if (table->columns[c].flags & flag)
            return &cells[c];
    return NULL;
}

static const char *key_of(const struct gn_table *table, const struct gn_cell *cells, char key[GN_CELL_BUFFER])
{
    size_t used = 0;
    key[0] = '\0';
    for (size_t c = 0; c < table->column_count && used < GN_CELL_BUFFER; c++) {
        if (!(table->columns[c].flags & GN_COLUMN_KEY) || !cells[c].is_known)
            continue;
        used += (size_t)(table->columns[c].kind == GN_CELL_TEXT
                             ? snprintf(key + used, GN_CELL_BUFFER - used, "%s\n", cells[c].text)
                             : snprintf(key + used, GN_CELL_BUFFER - used, "%" PRId64 "\n", cells[c].number));
    }
    return key;
}

static void fill_of_run(const struct gn_table *table, struct gn_cell *cells)
{
    char key[GN_CELL_BUFFER];
    double lo, hi;
    const struct gn_cell *seen = flagged(table, cells, GN_COLUMN_SEEN);
    struct gn_cell *of_run = flagged(table, cells, GN_COLUMN_RUN);
    if (!seen || !seen->is_known || !of_run)
        return;
    table->whole.find(table->whole.self, key_of(table, cells, key), table->whole.only_best, seen->lo,
                      seen->hi, &lo, &hi);
    gn_cell_bounds(of_run, lo, hi);
}

void gn_table_fill(const struct gn_table *table, size_t row, struct gn_cell *cells)
{
    for (size_t c = 0; c < table->column_count; c++) {
        cells[c].is_known = false;
        cells[c].text = cells[c].code = NULL;
        cells[c].number = 0;
        cells[c].lo = cells[c].hi = 0;
    }
    table->fill(table->self, row, cells);
    if (table->whole.self)
        fill_of_run(table, cells);
}

int gn_table_measure(const struct gn_table *table)
{
    char key[GN_CELL_BUFFER];
    struct gn_cell *cells = calloc(table->column_count, sizeof *cells);
    int code = cells ? 0 : -ENOMEM;
    for (size_t row = 0; code == 0 && row < table->row_count; row++) {
        gn_table_fill(table, row, cells);
        const struct gn_cell *seen = flagged(table, cells, GN_COLUMN_SEEN);
        if (seen && seen->is_known)
            code = table->whole.add(table->whole.self, key_of(table, cells, key), seen->lo, seen->hi);
    }
    free(cells);
    return code;
}

/* False: it is not known. */
static bool find_of_run(const struct gn_table *table, size_t row, double *lo, double *hi)
{
    struct gn_cell *cells = table->whole.self ? calloc(table->column_count, sizeof *cells) : NULL;
    if (!cells)
        return false;
    gn_table_fill(table, row, cells);
    const struct gn_cell *of_run = flagged(table, cells, GN_COLUMN_RUN);
    const bool is_known = of_run && of_run->is_known;
    if (is_known) {
        *lo = of_run->lo;
        *hi = of_run->hi;
    }
    free(cells);
    return is_known;
}

json_t *gn_table_of_run(const struct gn_table *table, size_t row)
{
    double lo, hi;
    return find_of_run(table, row, &lo, &hi) ? gn_span_json(lo, hi, 100) : json_null();
}

bool gn_table_of_run_text(const struct gn_table *table, size_t row, FILE *out)
{
    double lo, hi;
    char text[GN_SPAN_TEXT];
    if (!find_of_run(table, row, &lo, &hi))
        return false;
    fputs(gn_span_share(lo, hi, text), out);
    return true;
}
