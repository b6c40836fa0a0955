/*
 * answer/rests_on — what an answer from a history rests on: what was assumed of the program, what did not
 * hold, what is missing. Said with every answer.
 */
#ifndef GNOMON_ANSWER_RESTS_ON_H
#define GNOMON_ANSWER_RESTS_ON_H

#include "analyse/history.h"
#include "answer/terminal.h"

#include <jansson.h>
#include <stdio.h>

/* What failed, a line each; nothing when nothing did. */
void gn_rests_on_text(const struct gn_history *history, const struct gn_terminal *terminal, FILE *out);
/* A new reference; NULL: no memory. */
json_t *gn_rests_on_json(const struct gn_history *history);

#endif
