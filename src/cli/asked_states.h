/* cli/asked_states — who was where when, of the regions that a question names (analyse/question.h). */
#ifndef GNOMON_CLI_ASKED_STATES_H
#define GNOMON_CLI_ASKED_STATES_H

#include "analyse/global_state.h"
#include "analyse/question.h"
#include "analyse/scores.h"
#include "analyse/states.h"

/* Of a question's text that makes no sense messages have so much. */
enum { GN_ASKED_SHOWN = 60 };

/* Of a question that is a form (gn_question_form). As gn_states_make; -ENOENT: there is no such region. */
int gn_asked_states(struct gn_states *states, const struct gn_history *history, const char *trace,
                    const struct gn_groups *groups, const struct gn_asked_node *form, struct gn_error *err);

/* Any state (analyse/global_state.h), and the states of each location that it is asked over. text: the
 * question's, for messages about who is not there. -ENOENT: no such region, rank, thread or host; -EINVAL:
 * too many regions. 0, and the caller clears both. */
int gn_asked_global(struct gn_global *global, struct gn_states *states, const struct gn_history *history,
                    const char *trace, const struct gn_groups *groups, enum gn_scored by,
                    const struct gn_asked *asked, const char *text, struct gn_error *err);
void gn_asked_global_clear(struct gn_global *global);

#endif
