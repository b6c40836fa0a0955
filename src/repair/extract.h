/*
 * repair/extract — from a location's events to its ops: which message of its channel a send or a receive is,
 * and which instance of which collective a begin or an end belongs to.
 *
 * Everything is told from the events of one process alone; causality/numbering counts, and says how. An op is
 * added where its event is, and its number written into it when that is known. Where threads of a process
 * share a channel, which message is whose may be a guess: such an op is GN_OP_VAGUE, and nothing is moved for
 * it. A number that may only be too low is as good as any: it says that the receive was after an earlier
 * message of its channel, which is true. What a begin contributes is known at its end: GN_OP_GIVES is set
 * then.
 *
 * After a lost event, or while its measurement is off, nothing of a process can be counted: its remaining
 * events are internal ones, and GN_OP_LEFT says so. Point-to-point on the communicators of one process with
 * itself are internal, too (its clock cannot disagree with itself), unless it has several locations.
 *
 * Forks, joins and barriers of OpenMP's teams (causality/teams) are groups with is_team. Epochs on windows
 * (causality/epochs) are messages with the tag GN_OP_TAG_EPOCH.
 *
 * Not used: locks, of OpenMP and of windows. Who was first would be told by the timestamps alone, which are
 * what is in doubt.
 */
#ifndef GNOMON_REPAIR_EXTRACT_H
#define GNOMON_REPAIR_EXTRACT_H

#include "event/stream.h"
#include "repair/op_store.h"
#include "repair/presync.h"

struct gn_extract_stats {
    uint64_t events, ops;
    uint64_t sends, receives, collectives; /* collectives: begins, those of teams, too */
    uint64_t uncounted;                    /* communication after something was lost */
    uint64_t ambiguous;              /* messages and collectives whose number is a guess, or may be too low */
    uint64_t unfit;                  /* events that fit no definition, or no earlier event */
    int64_t first_ticks, last_ticks; /* of all events, presynchronised */
};

/*
 * Pulls all events of the locations of a process (index of the definitions; each location to its end, several
 * in the order of their timestamps) and appends their ops. Called once per process, in any order. 0 or a
 * negative errno value with err set.
 */
struct gn_extract;
int gn_extract_open(struct gn_extract **extract, struct gn_source *source, const struct gn_presync *presync,
                    struct gn_op_store *store, struct gn_error *err);
int gn_extract_process(struct gn_extract *extract, uint32_t process, struct gn_error *err);
const struct gn_extract_stats *gn_extract_stats(const struct gn_extract *extract);
void gn_extract_close(struct gn_extract *extract);

#endif
