/*
 * repair/condition_epochs — messages of windows between processes that complete epochs towards others and
 * those that wait for them (MPI_Win_start, complete; MPI_Win_post, wait).
 *
 *   origin   start … complete ──┐
 *   target   post …             └─► wait, left
 *
 * The n-th epoch that a process completes on a window towards another one is the n-th that this one waits for
 * from it. The message is from the enter of complete; where epochs of several windows are open, from the
 * record of start: then it is not said that what is completed first was begun first. MPI_Win_test is not
 * recorded as what it did, so what it waited for is a completion without a wait.
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
