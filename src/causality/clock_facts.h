/*
 * causality/clock_facts — what a program's communication proves about the clocks of the hosts it ran on.
 *
 * A message that left one host and was received on another puts a reading of the first one's clock before one
 * of the second's; that is all that gn_clocks_message (clock/clocks.h) wants. Which readings are certain:
 *
 *   sent      the enter of the outermost MPI call that the send's record lies in: before it nothing was given
 *             to MPI. Outside of any call, the record's own time, which OTF2 says is that of the initiation.
 *   received  the leave of the outermost MPI call that the record of completion lies in. Outside of any
 *             call, the record's own time.
 *
 * Collectives prove as much as their data does (event/collective.h), per instance and per ordered pair of
 * clock domains one message, from the latest begin of one to the earliest end of the other; in a scan, from
 * rank 0 to all, and from all to the last rank.
 *
 * Whoever sent nothing proves nothing by its begin, whoever received nothing nothing by its end. Nothing at
 * all is taken from what only may hold, from one-sided operations, and on intercommunicators.
 *
 * What is not certain is left out and counted: matches that the sort calls ambiguous, and whatever comes of a
 * process after its measurement was paused or events of it were lost, because counting is over then. What is
 * taken on trust: that the trace has all messages of a channel up to there.
 */
#ifndef GNOMON_CAUSALITY_CLOCK_FACTS_H
#define GNOMON_CAUSALITY_CLOCK_FACTS_H

#include "clock/clocks.h"
#include "event/stream.h"

struct gn_clock_facts_stats {
    uint64_t messages;    /* between domains, that were used */
    uint64_t collectives; /* instances across domains, that were used */
    uint64_t uncertain;   /* messages and collectives across domains that were left out */
};

/*
 * Pulls all events of the source, in an order of its own, and tells clocks what they prove. domain_of: the
 * domain of each location in clocks, [definitions->location_count]; GN_NONE: nothing is to be said about it.
 * Nobody else pulls from the source. 0 or a negative errno value with err set.
 */
int gn_clock_facts(struct gn_source *source, const uint32_t *domain_of, struct gn_clocks *clocks,
                   struct gn_clock_facts_stats *stats, struct gn_error *err);

#endif
