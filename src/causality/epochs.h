/*
 * causality/epochs — messages of windows between processes that complete epochs towards others and those that
 * wait for them (MPI_Win_start, complete; MPI_Win_post, wait).
 *
 *   origin   start … complete ──┐
 *   target   post …             └─► wait, left
 *
 * MPI promises only that wait returns after all that it waits for have called complete; the other three may
 * return before the other side has come. So the n-th epoch that a process completes on a window towards
 * another one is a message to the n-th wait of that one for it. It is sent where complete is entered; what
 * the group is, is that of the start before. Where epochs of several windows are open, an enter does not say
 * which of them it completes: then the message is from the start's record, which is true, too, though less.
 *
 * OTF2 has one record for all four calls, so that needs enters and leaves, and the group's members. Whoever
 * completes what it has not started cannot be counted any more. A wait that is not counted makes the numbers
 * of later ones too low, which is harmless; so MPI_Win_test, of which a record does not say whether it has
 * succeeded, is left out; one with a number (event/event.h) has.
 *
 * Where epochs have numbers, a part of a run may be told, too (trace/windowed.h): of one that was begun ahead
 * of it nothing is told.
 */
#ifndef GNOMON_CAUSALITY_EPOCHS_H
#define GNOMON_CAUSALITY_EPOCHS_H

#include "event/definitions.h"
#include "event/event.h"

#include <stdbool.h>

/* What one process does about one message: numbered by whoever is told, since each side tells its own in
 * their order. */
struct gn_epoch_half {
    uint32_t window, from, to; /* from, to: processes */
    uint32_t location;
    uint64_t ticks;  /* of the enter of complete, the record of start, or the leave of wait */
    void *token;     /* as the sink gave it for that event; NULL: it gives none */
    uint64_t number; /* from 0, as the records say; GN_UNNUMBERED: it is the next one */
    bool is_send;
    bool is_countable; /* false: nobody can tell any more which it is */
};

struct gn_epochs_sink {
    void *self;
    bool has_parts; /* a part of a run may be told: what was begun ahead of it, and has a number, is none */
    /* Of an event that may be of a message, for each of them; NULL: it failed, errno says how. The function
     * NULL: no tokens are wanted. */
    void *(*token)(void *self, const struct gn_event *event);
    /* Likewise of what does not order anything for certain: that an epoch was opened, at `from`, to be
     * accessed (MPI_Win_post: it is sent), and began to be accessed by `to` (MPI_Win_start), without tokens.
     * NULL: nobody asks. */
    int (*opened)(void *self, const struct gn_epoch_half *half);
    void (*unused)(void *self, void *token); /* the event is of no message after all; NULL: nobody asks */
    int (*half)(void *self, const struct gn_epoch_half *half); /* 0 or a negative code */
    void (*lost)(void *self,
                 uint32_t process); /* from here on nothing of it is countable; NULL: nobody asks */
};

struct gn_epochs;

/* definitions and sink->self outlive it; *sink is copied. NULL: no memory. */
struct gn_epochs *gn_epochs_new(const struct gn_definitions *definitions, const struct gn_epochs_sink *sink);
void gn_epochs_free(struct gn_epochs *epochs); /* NULL is allowed */

/* Whether the event says anything about epochs; else it need not come. */
bool gn_epochs_wants(const struct gn_definitions *definitions, const struct gn_event *event);
bool gn_epochs_region(const struct gn_definitions *definitions,
                      uint32_t region); /* it may be one of such calls */
/* The next event of its location; other kinds than enter, leave and rma_sync are no matter. 0, -ENOMEM, what
 * the sink returned, or what errno said of a token. */
int gn_epochs_event(struct gn_epochs *epochs, const struct gn_event *event);
/* Nothing of this process can be counted from here on. May be said twice. */
void gn_epochs_lose(struct gn_epochs *epochs, uint32_t process);
/* Whether that is so, for this reason or another one. */
bool gn_epochs_lost(const struct gn_epochs *epochs, uint32_t process);

#endif
