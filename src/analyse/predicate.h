/*
 * analyse/predicate — questions about one event, as they are asked with `gnomon order --when`:
 *
 *   either     = both { "||" both }
 *   both       = one { "&&" one }
 *   one        = "!" one | "(" either ")" | field [ relation value ]
 *   relation   = "=" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "~"
 *   value      = number [ "k" | "M" | "G" ] | word | string in ' or "
 *
 * A field alone asks whether the event has it. A comparison with a field that the event does not have is
 * false, whatever the relation. "~" compares a name with a pattern of the shell (*, ?, [abc]). The fields are
 * in docs/order.md.
 *
 * A text is compiled to steps that work on one truth value and jump over what cannot matter any more; names
 * of definitions are compared once for each definition. A simple question costs a few ns an event.
 */
#ifndef GNOMON_ANALYSE_PREDICATE_H
#define GNOMON_ANALYSE_PREDICATE_H

#include "trace/origin.h"
#include "event/definitions.h"
#include "causality/order.h"

#include <stdio.h>

struct gn_predicate;

/* Where a text stops making sense: the byte that cannot stand there, counted from 0, and why. */
struct gn_predicate_error {
    size_t at;
    char text[200];
};

/* definitions may grow, and outlive the predicate, like origin. 0, -EINVAL or -ENOMEM with error set. */
int gn_predicate_open(struct gn_predicate **predicate, const char *text,
                      const struct gn_definitions *definitions, const struct gn_origin *origin,
                      struct gn_predicate_error *error);
void gn_predicate_close(struct gn_predicate *predicate); /* NULL is allowed */

/* Not from several threads at once: it remembers which names it has compared. */
bool gn_predicate_holds(struct gn_predicate *predicate, const struct gn_event *event,
                        const struct gn_place *place);

/* Writes what is wrong, the text, and a caret under the place. */
void gn_predicate_explain(FILE *out, const char *text, const struct gn_predicate_error *error);

#endif
