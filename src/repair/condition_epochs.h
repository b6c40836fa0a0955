/*
 * repair/condition_epochs — both halves of the messages that causality/epochs tells, met: the n-th epoch that
 * a process completes on a window towards another one, and the n-th that this one waits for from it.
 */
#ifndef GNOMON_REPAIR_CONDITION_EPOCHS_H
#define GNOMON_REPAIR_CONDITION_EPOCHS_H

#include "repair/condition_counts.h"

struct gn_condition_epochs;

/* Who is told of each message that both ends are known of. */
struct gn_condition_epochs_sink {
    void *self;
    void (*message)(void *self, const struct gn_condition_message *message);
};

/* definitions and coverage outlive it. NULL: no memory. */
struct gn_condition_epochs *gn_condition_epochs_new(const struct gn_definitions *definitions,
                                                    const struct gn_condition_epochs_sink *sink,
                                                    struct gn_condition_coverage *coverage);
/* The next event of its location, at presynchronised ticks; other kinds than enter, leave and rma_sync are no
 * matter. 0 or -ENOMEM. */
int gn_condition_epochs_event(struct gn_condition_epochs *epochs, const struct gn_event *event);
/* Nothing of this process can be counted from here on. May be said twice. */
void gn_condition_epochs_leave(struct gn_condition_epochs *epochs, uint32_t process);
void gn_condition_epochs_free(struct gn_condition_epochs *epochs); /* NULL is allowed */

#endif
