/*
 * analyse/sections — what processes compute after a call, until the next one: how often, for how long, and
 * how that changes while the run goes on. What is late is told from its peers, and from itself earlier, by
 * these (Sikora 2016, section 3.4).
 *
 * A section is what follows the calls of a site (analyse/seen.h), whatever call ends it: that depends on the
 * rank.
 */
#ifndef GNOMON_ANALYSE_SECTIONS_H
#define GNOMON_ANALYSE_SECTIONS_H

#include "analyse/late_phases.h"
#include "analyse/seen.h"

enum { GN_SECTIONS_SLICES = 20 };

/* Of the run: as seen, and weighted as the windows are. */
struct gn_section_sum {
    double ns, times;
};

/* No sites: not known (there would be too many of them). */
struct gn_sections {
    const struct gn_seen *seen;
    size_t site_count, process_count;
    bool has_slices;             /* there is room for them */
    struct gn_section_sum *sums; /* [site_count * process_count] */
    double *slices_ns;           /* [site_count * process_count * SLICES] equal parts of the run's time */
    double *slices_times;        /* … */
};

/* 0, and the caller clears; or -ENOMEM. */
int gn_sections_find(struct gn_sections *sections, const struct gn_seen *seen);
/* Likewise of one of the phases, of which there are no slices. */
int gn_sections_find_in(struct gn_sections *sections, const struct gn_seen *seen,
                        const struct gn_late_phases *phases, size_t phase);
void gn_sections_clear(struct gn_sections *sections);

/* In which section what is computed before the call is: its site; -1: in none. */
int64_t gn_section_of(const struct gn_sections *sections, const struct gn_history *history,
                      const struct gn_call *call);

/* What a process computes in all; and of what those that are late compute, what is in sections that it does,
 * too, whatever that takes it: a peer of theirs, which is not late, does most. */
struct gn_sections_in_all {
    double all_ns, shared_ns;
    bool is_peer;
};
/* late: [process_count]. 0, and the caller frees *in_all, [process_count]; or -ENOMEM and NULL. */
int gn_sections_add_up(const struct gn_sections *sections, const bool *late,
                       struct gn_sections_in_all **in_all);

/* In which section the process computes most beyond what the others do in the mean: its site; -1: in none. */
int64_t gn_sections_longest(const struct gn_sections *sections, uint32_t process);

/* How some processes do so. */
struct gn_section_difference {
    double own_ns, others_ns; /* they, and those others that do it, too, in the mean */
    double times, each; /* as often, and each time as long, as the others in the mean: 1; NAN: not known */
};
struct gn_section_difference gn_sections_differ(const struct gn_sections *sections, size_t site,
                                                const bool *late); /* [process_count] */
struct gn_section_difference gn_sections_differ_one(const struct gn_sections *sections, size_t site,
                                                    uint32_t process);

/* The same factor, of one process. */
double gn_sections_grows(const struct gn_sections *sections, size_t site, uint32_t process);

/* By chance the process computes so much more or less in another run, ns: its standard deviation, from how
 * parts of the run differ from the ones just before them. 0: not known. */
double gn_sections_chance(const struct gn_sections *sections, uint32_t process);

/* A section that takes longer and longer each time. */
struct gn_section_growth {
    double factor;             /* the last fifth's of the first one's; 0: it does not */
    double first_ns, begin_ns; /* each time, in the first fifth, and at the very begin by a line through the
                                  slices of that fifth */
    double all_ns, most_ns;    /* beyond the first fifth's: of all processes, and of the one with most */
    size_t processes;          /* that do it */
};
struct gn_section_growth gn_sections_growth(const struct gn_sections *sections, size_t site);

#endif
