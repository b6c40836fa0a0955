/*
 * analyse/patterns_seen — the part of the knowledge base that needs events: what a trace or windows
 * (analyse/seen.h) tell of a run beyond its profile.
 *
 * A problem of one rank is priced by replay (analyse/levelled.h), and how it reaches the others is a chain of
 * waits that were seen (analyse/chain.h). Of a collective it becomes known which part of it is waiting. And
 * waits that no rank's totals explain have patterns of their own, told apart by who is waited for in a call:
 *
 *   always the same rank, for its message    late sender; by several ranks: master bound
 *   … for its receive                        late receiver
 *   … in a collective                        goes along with the one that the same ranks have the other way
 *   in one direction along the ranks         pipeline
 *   now this one, now that one               moving imbalance
 *   … in few calls                           noise
 *   … while the others hardly compute        waiting in turn
 */
#ifndef GNOMON_ANALYSE_PATTERNS_SEEN_H
#define GNOMON_ANALYSE_PATTERNS_SEEN_H

#include "analyse/patterns.h"
#include "analyse/seen.h"

#include <sqlite3.h>

/* Tells the sites of what was seen how much time the run spent in them. */
void gn_seen_tell_totals(struct gn_seen *seen, const struct gn_summary *summary);

/* Tells rows of calls what of them was waiting for other ranks, where that is known of one row by itself. */
void gn_seen_tell_waited(const struct gn_seen *seen, struct gn_summary *summary);

/* Tells what processes compute after the calls of each site, as the profile has it (profile/after_calls.h).
 * 0, or a negative errno value with err set. */
int gn_seen_tell_after(struct gn_seen *seen, sqlite3 *db, struct gn_error *err);

/* Changes and adds to the problems, which gn_problems_rank puts in order again. Texts are of the definitions
 * of what was seen, which outlives the problems.
 * 0, or -ENOMEM with err set. */
int gn_problems_see(struct gn_problems *problems, const struct gn_summary *summary,
                    const struct gn_seen *seen, struct gn_error *err);

#endif
