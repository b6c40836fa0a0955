/*
 * causality/handovers — what one thread of a process does and another one waits for, by a name that both
 * tell:
 *
 *   thread_create ──► thread_begin       the number of the thread
 *   thread_end    ──► thread_wait
 *   lock_release  ──► lock_acquire       the lock; the acquisition that was released, and the next one
 *
 * They are told as the syncs of teams are, by these (causality/teams): nobody else needs them. A
 * lock that is acquired several times in itself is released as often with the same number, so its instance is
 * over when that of the next release begins.
 */
#ifndef GNOMON_CAUSALITY_HANDOVERS_H
#define GNOMON_CAUSALITY_HANDOVERS_H

#include "causality/team_syncs.h"

struct gn_handovers;

/* sink outlives it. NULL: no memory. */
struct gn_handovers *gn_handovers_new(const struct gn_teams_sink *sink);
void gn_handovers_free(struct gn_handovers *handovers); /* NULL is allowed; nothing is told */

bool gn_handovers_wants(const struct gn_event *event);
/* next: which number the next instance of each kind has in the process. 0, -ENOMEM, what the sink returned,
 * or what errno said of a token. */
int gn_handovers_event(struct gn_handovers *handovers, const struct gn_event *event, uint32_t process,
                       uint32_t next[GN_TEAM_SYNC_KINDS]);
/* Nothing more will come of the process: what is open is told. As above. */
int gn_handovers_close(struct gn_handovers *handovers, uint32_t process);

#endif
