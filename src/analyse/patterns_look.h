/*
 * analyse/patterns_look — what the patterns that need events (analyse/patterns_seen.h) look at, and how they
 * tell of it: a profile's rows and what was seen beside it, for one run.
 */
#ifndef GNOMON_ANALYSE_PATTERNS_LOOK_H
#define GNOMON_ANALYSE_PATTERNS_LOOK_H

#include "analyse/chain.h"
#include "analyse/patterns.h"
#include "analyse/sections.h"
#include "analyse/site_tally.h"
#include "analyse/seen.h"

enum { GN_LOOKS = 7 };

struct gn_look {
    struct gn_problems *problems;
    const struct gn_summary *s;
    const struct gn_seen *seen;
    struct gn_seen_edge *edges;
    size_t edge_count;
    struct gn_seen_cause *causes;
    size_t cause_count;
    struct gn_sections sections;
    struct gn_late_phases phases;
    struct gn_site_tally avoidable; /* analyse/wrong_order.h */
    bool *late;                     /* [processes] */
    struct gn_span *each;           /* [GN_LOOKS * seen->count] */
};

/* A call and its place, of the definitions of what was seen. Texts "" and line 0: not known. Without a line,
 * function is what the place is called ("f+0x1c"), where that is known. */
struct gn_call_place {
    const char *call, *function, *file;
    int line;
};

struct gn_call_place gn_call_place_at(const struct gn_definitions *definitions, uint32_t region,
                                      uint32_t path);
struct gn_call_place gn_call_place_of(const struct gn_seen *seen, const struct gn_seen_site *site);
const char *gn_region_called(const struct gn_definitions *definitions, uint32_t region);
bool gn_is_row_of(const struct gn_activity_row *row, struct gn_call_place place);
/* The profile's row of a call; NULL: there is none. */
const struct gn_activity_row *gn_look_row(const struct gn_summary *summary, struct gn_call_place place);
int gn_look_rank(const struct gn_look *look, uint32_t process);
/* Assumptions of all that was seen. */
unsigned gn_look_assumed(const struct gn_look *look);
/* What others wait for the process of its own making, in a call or (GN_NONE) anywhere; for certain, ns. */
double gn_look_caused_ns(const struct gn_look *look, uint32_t process, uint32_t region, uint32_t path);
/* The ranks of those that are late (look->late), ascending. */
void gn_look_tell_late(const struct gn_look *look, struct gn_problem *problem);
/* So much, but the run takes what any rank computes, and how it starts and ends, whatever is mended; s. */
double gn_look_at_most(const struct gn_look *look, double gain_s);
/* What would be is known no better than one run tells of another. */
void gn_look_allow_for_repeats(const struct gn_look *look, struct gn_problem *problem);
/* How the process reaches the others: from a call (NULL: any) on, at most so many hops. */
void gn_look_tell_chain(const struct gn_look *look, struct gn_problem *problem, uint32_t process,
                        const struct gn_chain_call *in, size_t most);
/* What the one that the first hop waits for does meanwhile. 0, or -ENOMEM with err set. */
int gn_look_tell_meanwhile(const struct gn_look *look, struct gn_problem *problem, struct gn_error *err);
/* The profile's computation after a call that takes all_ns, of a rank (negative: of all): where samples name
 * it, the only place that has half of that at least, else by its range. NULL: nobody knows. */
const struct gn_activity_row *gn_look_computation_after(const struct gn_summary *summary,
                                                        struct gn_call_place place, double all_ns, int rank);
/* Whether all others wait for those that are late in the first call of the chain, which none leaves before
 * all have come. */
bool gn_look_is_met_by_all(const struct gn_look *look, const struct gn_problem *problem);
/* What a process, or those that are late with it, computes longer behind the calls of a site. */
void gn_look_tell_difference(const struct gn_look *look, struct gn_problem *problem, uint32_t process,
                             size_t section, struct gn_section_difference difference);
/* Where a problem's row says only after which call its rank computes: the place there in which it takes
 * longer than others by most, if samples know it. */
void gn_look_tell_place(const struct gn_summary *summary, struct gn_problem *problem,
                        struct gn_call_place after);
/* Whether one of what one rank computes is about it. */
bool gn_look_has_problem(const struct gn_look *look, int rank);
/* Whether the process takes messages from whoever sends one. */
bool gn_look_takes_from_any(const struct gn_look *look, uint32_t process);

/* That so much is gained in a way; where it may be nothing, that is not told. */
void gn_look_tell_gain(const struct gn_look *look, struct gn_problem *problem, struct gn_problem_gain gain);
/* … with one process twice as fast where it takes longer than the others. 0, or -ENOMEM with err set. */
int gn_look_tell_half(const struct gn_look *look, struct gn_problem *problem, uint32_t process,
                      struct gn_error *err);

/* The run without all that is done for handing out work: no shorter than what any other rank computes. */
double gn_look_without_master_s(const struct gn_look *look, uint32_t master);
/* Of a rank in the mean, without a core while it needed one, at most: while it computed, or was in calls and
 * did not wait for others there. Who waits may be ready all the time and lose nothing. */
double gn_look_without_core_s(const struct gn_look *look);
/* Whether that may be so much that nothing else is sure. */
bool gn_look_lacks_cores(const struct gn_look *look);

/* The parts of gn_problems_see, in their order: problems of one rank, what of calls is waiting, what takes
 * longer and longer, what messages do not overlap with, waits that no rank's totals explain. 0, or -ENOMEM
 * with err set. */
int gn_look_at_ranks(const struct gn_look *look, struct gn_error *err);
int gn_look_at_growth(const struct gn_look *look, struct gn_error *err);
/* 1: there are phases, and that was told. */
int gn_look_at_phases(const struct gn_look *look, struct gn_error *err);
int gn_look_at_overlap(const struct gn_look *look, struct gn_error *err);
int gn_look_at_waits(const struct gn_look *look, struct gn_error *err);

/* Found by totals and by waits. */
extern const struct gn_problem_pattern gn_problem_master, gn_problem_io;

#endif
