/* answer/table for people: measured, fitted, printed. */
#include "answer/ascii.h"
#include "answer/fit.h"
#include "answer/quantities.h"
#include "answer/spans.h"
#include "answer/table_inside.h"
#include "base/printable.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 2, LONGEST = GN_CELL_BUFFER };

struct sheet {
    const struct gn_table *table;
    const struct gn_terminal *terminal;
    FILE *out;
    struct gn_cell *cells;
    int *widths; /* 0: not shown */
    size_t last; /* column */
};

static bool is_text(const struct gn_column *column)
{
    return column->kind == GN_CELL_TEXT;
}

static bool is_left(const struct gn_column *column)
{
    return (column->flags & GN_COLUMN_LEFT) || (is_text(column) && !(column->flags & GN_COLUMN_RIGHT));
}

static const char *cell_words(const struct gn_column *column, const struct gn_cell *cell, char text[LONGEST])
{
    text[0] = '\0';
    if (!cell->is_known)
        return text;
    switch (column->kind) {
    case GN_CELL_TEXT:
        return gn_printable_copy(text, LONGEST, cell->text);
    case GN_CELL_COUNT:
        return gn_count_text(cell->number, text);
    case GN_CELL_AMOUNT:
        return gn_amount_text((double)cell->number, text);
    case GN_CELL_NUMBER:
    case GN_CELL_RANK:
        snprintf(text, LONGEST, column->kind == GN_CELL_RANK ? "#%" PRId64 : "%" PRId64, cell->number);
        return text;
    case GN_CELL_BYTES:
        return gn_bytes_text((double)cell->number, text);
    case GN_CELL_REAL:
        snprintf(text, LONGEST, "%.2f", cell->lo);
        return text;
    case GN_CELL_DURATION:
        return gn_duration_text(cell->lo, text);
    case GN_CELL_WIDTH:
        return gn_width_text(cell->lo, text);
    case GN_CELL_SHARE:
        return gn_share_text(cell->lo, text);
    case GN_CELL_DURATIONS:
        return gn_span_time(cell->lo, cell->hi, text);
    case GN_CELL_PERCENTAGES:
        return gn_span_share(cell->lo, cell->hi, text);
    }
    return text;
}

static const char *cell_text(const struct sheet *s, size_t c, char text[LONGEST])
{
    cell_words(&s->table->columns[c], &s->cells[c], text);
    return s->terminal->ascii ? gn_ascii(text) : text;
}

static const char *title_of(const struct sheet *s, size_t c, char text[LONGEST])
{
    snprintf(text, LONGEST, "%s", s->table->columns[c].title);
    return s->terminal->ascii ? gn_ascii(text) : text;
}

/* ---- fitting ---- */

static bool is_shown(const struct gn_table *t, size_t c)
{
    return t->columns[c].title && (t->whole.self || !(t->columns[c].flags & GN_COLUMN_RUN));
}

static void measure(struct sheet *s)
{
    const struct gn_table *t = s->table;
    char text[LONGEST];
    for (size_t c = 0; c < t->column_count; c++)
        s->widths[c] = is_shown(t, c) ? gn_columns_of(title_of(s, c, text)) : 0;
    for (size_t row = 0; row < t->row_count; row++) {
        gn_table_fill(t, row, s->cells);
        for (size_t c = 0; c < t->column_count; c++) {
            const int width = is_shown(t, c) ? gn_columns_of(cell_text(s, c, text)) : 0;
            s->widths[c] = width > s->widths[c] ? width : s->widths[c];
        }
    }
    for (size_t c = 0; c < t->column_count;
         c++) /* one without a title and with nothing in it takes no room */
        s->last = s->widths[c] ? c : s->last;
}

/* Of a column when it is as short as it may be. */
static int least_of(const struct sheet *s, size_t c)
{
    const int least = s->table->columns[c].least;
    return least && least < s->widths[c] ? least : s->widths[c];
}

static int total(const struct sheet *s, bool is_least)
{
    int all = s->table->indent;
    for (size_t c = 0; c < s->table->column_count; c++)
        if (s->widths[c])
            all += (is_least ? least_of(s, c) : s->widths[c]) + (c == s->last ? 0 : GAP);
    return all;
}

/* The next column to go; column_count: none may. */
static size_t goes_first(const struct sheet *s)
{
    const struct gn_table *t = s->table;
    size_t first = t->column_count;
    for (size_t c = 0; c < t->column_count; c++)
        if (s->widths[c] && t->columns[c].goes &&
            (first == t->column_count || t->columns[c].goes > t->columns[first].goes))
            first = c;
    return first;
}

/* Beyond the least, by columns to the left. */
static int wanted_ahead_of(const struct sheet *s, size_t column)
{
    int wanted = 0;
    for (size_t c = 0; c < column; c++)
        wanted += s->widths[c] && s->table->columns[c].least ? s->widths[c] - least_of(s, c) : 0;
    return wanted;
}

static void fit(struct sheet *s)
{
    const struct gn_table *t = s->table;
    for (size_t c; total(s, true) > s->terminal->width && (c = goes_first(s)) < t->column_count;)
        s->widths[c] = 0;
    int spare = s->terminal->width - total(s, true);
    if (total(s, false) <= s->terminal->width)
        return;
    spare = spare > 0 ? spare : 0;
    for (size_t c = t->column_count;
         c-- > 0;) { /* a place, behind a name, says more than the name's middle, but not than all of it */
        if (!s->widths[c] || !t->columns[c].least)
            continue;
        const int least = least_of(s, c), more = s->widths[c] - least, others = wanted_ahead_of(s, c),
                  kept = others < spare / 2 ? others : spare / 2, most = spare - kept;
        s->widths[c] = least + (more < most ? more : most);
        spare -= more < most ? more : most;
    }
}

/* ---- printing ---- */

static void print_cell(const struct sheet *s, size_t c, const char *text, int at)
{
    const struct gn_column *column = &s->table->columns[c];
    const int used = gn_columns_of(text), room = s->widths[c], blank = used < room ? room - used : 0;
    if (!is_left(column))
        fprintf(s->out, "%*s", blank, "");
    if (c == s->last && (column->flags & GN_COLUMN_FOLD))
        gn_print_folded(text, at, s->terminal->width, s->terminal, s->out);
    else
        gn_print_short(text, room, column->is_middle, s->terminal, s->out);
    if (is_left(column) && c != s->last)
        fprintf(s->out, "%*s", blank, "");
}

static void print_row(const struct sheet *s)
{
    char text[LONGEST];
    int at = s->table->indent;
    fprintf(s->out, GN_AS_IT_IS "%*s", at, "");
    for (size_t c = 0; c < s->table->column_count; c++) {
        const struct gn_cell *cell = &s->cells[c];
        if (!s->widths[c])
            continue;
        if (cell->code)
            fputs(gn_shade(s->terminal, cell->code), s->out);
        print_cell(s, c, cell_text(s, c, text), at);
        if (cell->code)
            fputs(gn_shade(s->terminal, GN_PLAIN), s->out);
        if (c != s->last)
            fprintf(s->out, "%*s", GAP, "");
        at += s->widths[c] + GAP;
    }
    fputc('\n', s->out);
}

static void print_titles(const struct sheet *s)
{
    char text[LONGEST];
    int at = s->table->indent;
    fprintf(s->out, GN_AS_IT_IS "%*s%s", at, "", gn_shade(s->terminal, GN_DIM));
    for (size_t c = 0; c < s->table->column_count; c++) {
        if (!s->widths[c])
            continue;
        print_cell(s, c, title_of(s, c, text), at);
        if (c != s->last)
            fprintf(s->out, "%*s", GAP, "");
        at += s->widths[c] + GAP;
    }
    fprintf(s->out, "%s\n", gn_shade(s->terminal, GN_PLAIN));
}

static void find_last(struct sheet *s)
{
    for (size_t c = 0; c < s->table->column_count; c++)
        s->last = s->widths[c] ? c : s->last;
}

/* False: no memory. */
static bool open_sheet(struct sheet *s, const struct gn_table *table, const struct gn_terminal *terminal,
                       FILE *out)
{
    *s = (struct sheet){.table = table, .terminal = terminal, .out = out};
    s->cells = calloc(table->column_count, sizeof *s->cells);
    s->widths = calloc(table->column_count, sizeof *s->widths);
    if (!s->cells || !s->widths)
        return false;
    measure(s);
    fit(s);
    find_last(s);
    return true;
}

static void close_sheet(struct sheet *s)
{
    free(s->cells);
    free(s->widths);
}

int gn_table_text(const struct gn_table *table, const struct gn_terminal *terminal, FILE *out)
{
    struct sheet s;
    const bool has_memory = open_sheet(&s, table, terminal, out);
    if (has_memory) {
        print_titles(&s);
        for (size_t row = 0; row < table->row_count; row++) {
            gn_table_fill(table, row, s.cells);
            print_row(&s);
        }
        if (table->left_out)
            fprintf(out, "%*s%s… and %zu more (--top 0 shows all)%s\n", table->indent, "",
                    gn_shade(terminal, GN_DIM), table->left_out, gn_shade(terminal, GN_PLAIN));
    }
    close_sheet(&s);
    return has_memory ? 0 : -ENOMEM;
}

int gn_table_meaning(const struct gn_table *table, const struct gn_terminal *terminal, FILE *out)
{
    struct sheet s;
    const bool has_memory = open_sheet(&s, table, terminal, out);
    const char *before = gn_shade(terminal, GN_DIM);
    for (size_t c = 0; has_memory && c < table->column_count; c++)
        if (s.widths[c] && table->columns[c].meaning) {
            fprintf(out, "%s%s: %s", before, table->columns[c].title, table->columns[c].meaning);
            before = " · ";
        }
    if (strcmp(before, " · ") == 0)
        fprintf(out, "%s\n", gn_shade(terminal, GN_PLAIN));
    close_sheet(&s);
    return has_memory ? 0 : -ENOMEM;
}
