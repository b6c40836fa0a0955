/* answer/table_inside — what the forms of a table share. */
#ifndef GNOMON_ANSWER_TABLE_INSIDE_H
#define GNOMON_ANSWER_TABLE_INSIDE_H

#include "answer/table.h"

/* A row into cells that were not known before. */
void gn_table_fill(const struct gn_table *table, size_t row, struct gn_cell *cells);

#endif
