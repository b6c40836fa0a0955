/*
 * answer/table — a table is described once: what its columns are called, what stands in them, which of them
 * may go or be shortened where there is little room. From that come the text for people, fitted to the
 * terminal, CSV and the array of objects of a JSON answer.
 *
 *     static const struct gn_column columns[] = {
 *         {.title = "share", .name = "share", .kind = GN_CELL_SHARE},
 *         {.title = "bytes", .name = "bytes", .kind = GN_CELL_BYTES, .goes = 1},
 *         {.title = "function", .name = "function", .kind = GN_CELL_TEXT, .least = 20},
 *     };
 *
 * Where the text is too wide, texts with a `least` are shortened down to that first; then columns that may go
 * do, the largest `goes` first; what room is left is the shortened ones'. Numbers are never shortened.
 */
#ifndef GNOMON_ANSWER_TABLE_H
#define GNOMON_ANSWER_TABLE_H

#include "answer/terminal.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum gn_cell_kind {                    /* as text; in CSV and JSON */
                    GN_CELL_TEXT,      /* as it is, printable; a string, null where it is empty */
                    GN_CELL_COUNT,     /* "1,204,331"; a number */
                    GN_CELL_AMOUNT,    /* "1.20 M"; a number */
                    GN_CELL_NUMBER,    /* "3": of a rank, a line; a number */
                    GN_CELL_RANK,      /* "#3"; a number */
                    GN_CELL_REAL,      /* "2.50"; a number */
                    GN_CELL_DURATION,  /* "12.3 ms"; seconds */
                    GN_CELL_WIDTH,     /* the same of bounds: rounded up; seconds */
                    GN_CELL_BYTES,     /* "4.20 MiB"; a number */
                    GN_CELL_SHARE,     /* "31.0 %"; 0 … 1 */
                    GN_CELL_DURATIONS, /* "1.20 to 1.31 ms"; in CSV two columns in seconds, in JSON {"lo": …,
                                          "hi": …} */
                    GN_CELL_PERCENTAGES, /* "3.2 to 4.1 %"; likewise, in percent */
};

enum gn_column_flag {
    GN_COLUMN_NO_CSV = 1,
    GN_COLUMN_NO_JSON = 2,
    GN_COLUMN_ZERO = 4,  /* in CSV 0 stands for what is not known, otherwise nothing does */
    GN_COLUMN_EMPTY = 8, /* in JSON an empty text is "", otherwise null */
    GN_COLUMN_LEFT = 16, /* as text: left-justified; texts are, unless GN_COLUMN_RIGHT says otherwise */
    GN_COLUMN_RIGHT = 32,
    GN_COLUMN_FOLD = 64,  /* the last one: too long, it goes on below itself, instead of being shortened */
    GN_COLUMN_KEY = 128,  /* what a row is of, for the table's `whole`: texts and numbers */
    GN_COLUMN_SEEN = 256, /* one, percentages: what was seen of it, from which `whole` knows … */
    GN_COLUMN_RUN = 512,  /* … this one, percentages of all. Not in the text where all was seen */
};

struct gn_column {
    const char *title; /* NULL: not in the text */
    const char *name;  /* in CSV and JSON, with the unit at its end; NULL: only in the text */
    enum gn_cell_kind kind;
    unsigned flags;
    int digits;          /* of fractions in CSV: behind the point; 0: all there are */
    int goes;            /* 0: it stays */
    int least;           /* 0: it is not shortened */
    bool is_middle;      /* shortened in the middle, else at the end */
    const char *meaning; /* of the title, for gn_table_meaning; NULL: it needs none */
};

/* The title of what is flagged so. */
#define GN_OF_RUN "in all of it, 95 %"

enum { GN_CELL_BUFFER = 4096 };

struct gn_cell {
    bool is_known;    /* false: "" or "-" in the text, null in JSON */
    const char *text; /* may be the cell's buffer, or what lives longer than the table; NULL: none */
    int64_t number;
    double lo, hi;    /* times in nanoseconds, shares 0 … 1 */
    const char *code; /* its colour, or NULL */
    char buffer[GN_CELL_BUFFER];
};

/* What rows of which only a part was seen are in all, by their names: what stands in GN_COLUMN_KEY. */
struct gn_table_whole {
    void *self; /* NULL: all was seen */
    int (*add)(void *self, const char *name, double lo, double hi);
    void (*find)(const void *self, const char *name, bool only_best, double lo, double hi, double *all_lo,
                 double *all_hi);
    bool only_best; /* its rows are not all that there are */
};

struct gn_table {
    const struct gn_column *columns;
    size_t column_count, row_count;
    size_t left_out; /* rows that --top has cut off: said in the text */
    /* Fills cells[column_count], all of them not known before, with a row. May be called repeatedly. */
    void (*fill)(const void *self, size_t row, struct gn_cell *cells);
    const void *self;
    int indent; /* of the text */
    struct gn_table_whole whole;
};

/* For fill. */
void gn_cell_text(struct gn_cell *cell, const char *text); /* NULL: not known */
void gn_cell_number(struct gn_cell *cell, int64_t number);
void gn_cell_real(struct gn_cell *cell, double value); /* a duration in nanoseconds, a share, a number */
void gn_cell_bounds(struct gn_cell *cell, double lo, double hi);
__attribute__((format(printf, 2, 3))) void gn_cell_print(struct gn_cell *cell, const char *format, ...);

/* Titles and rows; lines begin with GN_AS_IT_IS (answer/fit.h): for a gn_page. 0, or -ENOMEM. */
int gn_table_text(const struct gn_table *table, const struct gn_terminal *terminal, FILE *out);
/* What the titles that the text shows mean, in one line; nothing where none needs it. 0, or -ENOMEM. */
int gn_table_meaning(const struct gn_table *table, const struct gn_terminal *terminal, FILE *out);
/* RFC 4180, with a line of names. 0, or -ENOMEM. */
int gn_table_csv(const struct gn_table *table, FILE *out);
/* An array of objects, a new reference; NULL: no memory. */
json_t *gn_table_json(const struct gn_table *table);

/* Adds all rows to the table's `whole`. 0, or -ENOMEM. */
int gn_table_measure(const struct gn_table *table);
/* Of the row, what is in all of the run: {"lo": …, "hi": …} in percent, null where all was seen; a new
 * reference, NULL: no memory. And as "31.2 to 33.0 %"; false where all was seen. */
json_t *gn_table_of_run(const struct gn_table *table, size_t row);
bool gn_table_of_run_text(const struct gn_table *table, size_t row, FILE *out);

/* A field of CSV, quoted where it has to be. */
void gn_csv_field(FILE *out, const char *text);

#endif
