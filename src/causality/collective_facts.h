/*
 * causality/collective_facts — instances of collectives, as far as they prove something about clocks: for
 * each clock domain that has members in the communicator, the latest begin and the earliest end.
 *
 *   begins of members of a      ──► latest  ─┐
 *   ends of members of b        ──► earliest ┴► one message from a to b: clock_facts.h says for which shapes
 *
 * Which instance a member's part is of, the sort says. When members disagree on what it was, nothing more is
 * believed of that communicator.
 */
#ifndef GNOMON_CAUSALITY_COLLECTIVE_FACTS_H
#define GNOMON_CAUSALITY_COLLECTIVE_FACTS_H

#include "clock/clocks.h"
#include "event/definitions.h"

/* A process's part in an instance. */
struct gn_fact_part {
    uint32_t comm, member, number; /* member, number of the instance: as the sort says (struct gn_place) */
    uint8_t op;
    uint32_t root;
    uint64_t begin_ticks, end_ticks; /* from before it gave anything, from after it had got everything */
    uint64_t bytes_sent, bytes_received;
};

struct gn_collective_facts;

/* definitions and domain_of (by location) outlive it. NULL: no memory. */
struct gn_collective_facts *gn_collective_facts_new(const struct gn_definitions *definitions,
                                                    const uint32_t *domain_of, struct gn_clocks *clocks);

/* The part is complete. 0 or -ENOMEM. */
int gn_collective_facts_end(struct gn_collective_facts *facts, const struct gn_fact_part *part);

/* Tells the clocks what instances without all of their ends prove, and frees everything. *used: instances
 * that have proved something; *refused: communicators whose members disagreed. 0 or -ENOMEM. */
int gn_collective_facts_finish(struct gn_collective_facts *facts, uint64_t *used, uint64_t *refused);

#endif
