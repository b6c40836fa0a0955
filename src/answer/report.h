/*
 * answer/report — a summary as text for a person, as JSON and CSV for programs (docs/report-format.md).
 */
#ifndef GNOMON_ANSWER_REPORT_H
#define GNOMON_ANSWER_REPORT_H

#include "analyse/patterns.h"
#include "answer/terminal.h"
#include "profile/summary.h"
#include "profile/world.h"

#include <jansson.h>

#include <stdio.h>

/* What the run's trace says. */
struct gn_findings {
    char *text;   /* lines, each with its end; NULL: no memory */
    json_t *json; /* docs/report-format.md, "analysis"; NULL: no memory */
};

struct gn_report_options {
    enum gn_by by;
    int top; /* rows to show, 0: all */
    bool raw;
    struct gn_terminal terminal; /* of the text */
    const char *folder;          /* for the next command; NULL when the run could not be saved */
    int world;                   /* its number, 0: none was asked for */
    const char *path;            /* of the tree: only what is there (profile/summary_tree.h); NULL: all */
    bool checks;                 /* of the measurement, instead of rows */
    const struct gn_problems *problems; /* NULL: what the profile alone tells of them */
    const struct gn_findings *findings; /* of the run's trace; NULL: nobody has looked */
};

void gn_report_text(const struct gn_summary *summary, const struct gn_report_options *options, FILE *out);
/* The caller's; NULL: no memory. */
json_t *gn_report_object(const struct gn_summary *summary, const struct gn_report_options *options);
int gn_report_print_json(json_t *object, FILE *out); /* and gives it up */
/* 0, or -ENOMEM. */
int gn_report_csv(const struct gn_summary *summary, const struct gn_report_options *options, FILE *out);

/* … of the largest of a run's worlds, to a descriptor that may be a terminal. */
void gn_report_to(const struct gn_summary *summary, const struct gn_worlds *worlds,
                  const struct gn_report_options *options, int descriptor);

extern const char *const gn_by_names[];

#endif
