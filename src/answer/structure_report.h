/* answer/structure_report — a program's structure as text for a person and as JSON (docs/structure.md). */
#ifndef GNOMON_ANSWER_STRUCTURE_REPORT_H
#define GNOMON_ANSWER_STRUCTURE_REPORT_H

#include "answer/terminal.h"
#include "program/structure.h"

#include <jansson.h>
#include <stdio.h>

/* 0, or -ENOMEM. */
int gn_structure_text(const struct gn_structure *structure, const struct gn_terminal *terminal, FILE *out);
/* A new reference; NULL: no memory. */
json_t *gn_structure_json(const struct gn_structure *structure);

#endif
