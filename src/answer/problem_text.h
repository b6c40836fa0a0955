/*
 * answer/problem_text — what is the matter with a run, in words: the sentence that `gnomon explain` begins
 * with is the report's "why".
 */
#ifndef GNOMON_ANSWER_PROBLEM_TEXT_H
#define GNOMON_ANSWER_PROBLEM_TEXT_H

#include "analyse/patterns.h"
#include "answer/terminal.h"

#include <jansson.h>
#include <stddef.h>

/* A sentence without its end: "rank 3 takes 16.0 s in hydro hydro.c:41, the median rank 2.00 s". Names are
 * shortened. Returns text. */
char *gn_problem_text(const struct gn_summary *summary, const struct gn_problem *problem,
                      const struct gn_terminal *terminal, char *text, size_t size);

/* What of it differs from its peers: "after MPI_Barrier (heat.c:56) it computes as often as the others,
 * and 1.6 times as long each time"; "": nothing is known. Returns text. */
char *gn_problem_difference_text(const struct gn_summary *summary, const struct gn_problem *problem,
                                 char *text, size_t size);

/* "from 310 ms to 631 ms". Returns text. */
char *gn_problem_phase_time(const struct gn_problem_phase *phase, char *text, size_t size);

/* "MPI_Waitall in exchange (heat.c:56)" of a row. Returns text. */
char *gn_problem_place(const struct gn_activity_row *row, const struct gn_terminal *terminal, char *text,
                       size_t size);

/* "MPI_Recv (couple.c:8)"; without a line "MPI_Recv in f+0x1c". Texts "" or NULL: not known. Returns text. */
const char *gn_problem_call(const char *call, const char *function, const char *file, int line, char *text,
                            size_t size);

/* "certain", "possible" */
const char *gn_problem_sure_name(enum gn_problem_sure sure);
/* What stands in the way of certainty: "64 % of the run was seen"; "" of what is certain. Returns text. */
enum { GN_PROBLEM_DOUBT = 128 };
const char *gn_problem_doubt_text(const struct gn_problems *problems, const struct gn_problem *problem,
                                  char text[GN_PROBLEM_DOUBT]);

/* docs/patterns.md, "seen"; null: no events were. */
json_t *gn_problems_seen_json(const struct gn_problems_seen *seen);

/* The report's line: of the first problem of which more is known than that it may be one; how a run starts
 * and ends is none. problems NULL: those of the profile. "": there is none. Returns text. */
char *gn_report_why_text(const struct gn_summary *summary, const struct gn_problems *problems,
                         const struct gn_terminal *terminal, char *text, size_t size);
/* docs/report-format.md, "cause". */
json_t *gn_report_why_json(const struct gn_summary *summary, const struct gn_problems *problems);

#endif
