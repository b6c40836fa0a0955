#include "answer/table_inside.h"

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

void gn_table_fill(const struct gn_table *table, size_t row, struct gn_cell *cells)
{
    for (size_t c = 0; c < table->column_count; c++) {
        cells[c].is_known = false;
        cells[c].text = cells[c].code = NULL;
        cells[c].number = 0;
        cells[c].lo = cells[c].hi = 0;
    }
    table->fill(table->self, row, cells);
}
