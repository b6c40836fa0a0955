/*
 * analyse/question — a question over frames (analyse/frames.h) as text:
 *
 *   question = "all" "in" place
 *            | "all" "but" "one" "in" place "," "that" "one" "in" place
 *            | "all" "but" count "in" place "," "those" "in" place
 *   count    = "one" | whole number from 1 on
 *   place    = "waiting" | "busy" | name
 *   name     = word | string in ' or "
 *
 * The first place is A, the second one B. A word ends at a space or a comma, and has no quotation marks; a
 * string has everything but the mark that it begins with, and is a region's name whatever it says: 'busy' is
 * a region, busy is a location that waits for nobody. Words of the grammar may be names, too: "all in in".
 */
#ifndef GNOMON_ANALYSE_QUESTION_H
#define GNOMON_ANALYSE_QUESTION_H

#include "analyse/frames.h"

enum gn_where { GN_WHERE_REGION, GN_WHERE_WAITING, GN_WHERE_BUSY };

struct gn_asked_place {
    enum gn_where where;
    char *region; /* its name; NULL: not a region, or none */
};
struct gn_asked {
    struct gn_question question;
    struct gn_asked_place a, b; /* b: none (a region without a name) for question.others == 0 */
};

/* Where a text stops making sense: the byte that cannot stand there, counted from 0, and why. */
struct gn_question_error {
    size_t at;
    char text[200];
};

/* 0, and the caller clears; -EINVAL or -ENOMEM with error set, and there is nothing to clear. */
int gn_question_parse(struct gn_asked *asked, const char *text, struct gn_question_error *error);
void gn_question_clear(struct gn_asked *asked);

#endif
