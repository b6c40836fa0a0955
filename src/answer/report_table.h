/*
 * answer/report_table — the rows of a report: what each column is called, and how it looks (answer/table.h).
 */
#ifndef GNOMON_ANSWER_REPORT_TABLE_H
#define GNOMON_ANSWER_REPORT_TABLE_H

#include "answer/table.h"
#include "answer/report.h"

enum { GN_REPORT_COLUMNS = 45 };

struct gn_report_table {
    struct gn_table table;
    struct gn_column columns[GN_REPORT_COLUMNS];
    const struct gn_summary *summary;
    size_t shown;    /* rows of the summary */
    int64_t most_ns; /* of a row */
};

/* Of all --by but pair; the table is good for as long as *rows stays where it is. */
void gn_report_rows(struct gn_report_table *rows, const struct gn_summary *summary,
                    const struct gn_report_options *options);
/* The same for people: the rows that are not shown are one, and a last one has them all. */
void gn_report_screen(struct gn_report_table *rows, const struct gn_summary *summary,
                      const struct gn_report_options *options);
/* Of pairs of ranks. */
void gn_report_pairs(struct gn_report_table *pairs, const struct gn_summary *summary,
                     const struct gn_report_options *options);
/* Which calls start requests, and which ones complete them; for people, or for programs. */
void gn_report_requests(struct gn_report_table *requests, const struct gn_summary *summary,
                        const struct gn_report_options *options, bool for_people);

/* What a row is, "MPI_Waitall in exchange", and where, "heat.c:56". */
void gn_report_row_text(const struct gn_activity_row *row, char *text, size_t size);
void gn_report_row_place(const struct gn_activity_row *row, char *text, size_t size);

#endif
