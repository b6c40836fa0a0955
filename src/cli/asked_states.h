/* cli/asked_states — who was where when, of the regions that a question names (analyse/question.h). */
#ifndef GNOMON_CLI_ASKED_STATES_H
#define GNOMON_CLI_ASKED_STATES_H

#include "analyse/question.h"
#include "analyse/scores.h"
#include "analyse/states.h"

/* As gn_states_make; -ENOENT: there is no such region, -EINVAL: busy and waiting stand where they cannot. */
int gn_asked_states(struct gn_states *states, const struct gn_history *history,
                    const struct gn_groups *groups, const struct gn_asked *asked, struct gn_error *err);

#endif
