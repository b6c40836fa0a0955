/*
 * analyse/late_phases — parts of a run in each of which one process is waited for nearly alone, and not in
 * all of them the same one: what is even in sum, and uneven in each part.
 *
 * Looked at are slices of time: equal ones of a trace, or windows. A slice is a process's when that caused
 * most of what was waited in it, of its own making; slices of the same one that follow each other are a
 * phase. Slices of nobody, and those with next to no waiting, are of none. Who is late in turn at each step
 * has no slices.
 */
#ifndef GNOMON_ANALYSE_LATE_PHASES_H
#define GNOMON_ANALYSE_LATE_PHASES_H

#include "analyse/seen.h"

enum { GN_LATE_PHASES_MOST = 6 };

struct gn_late_phase {
    uint32_t process;
    size_t first, last; /* slices */
    double caused_ns;   /* by it, of the run; ≤ waited_ns */
    double waited_ns;   /* by all, for anybody */
    double all_ns;      /* caused by it in all of the run; ≥ caused_ns */
    struct gn_span from,
        to; /* when it begins and ends, of the run's time: between the slices on both sides */
};

struct gn_late_phases {
    struct gn_late_phase items[GN_LATE_PHASES_MOST];
    size_t count;     /* 0: there are none, else 2 or more */
    double caused_ns; /* in all of them; most of what is waited in the run */
};

void gn_late_phases_find(struct gn_late_phases *phases, const struct gn_seen *seen);

/* Whether one of them is of the process. */
bool gn_late_phases_have(const struct gn_late_phases *phases, uint32_t process);

/* Of what the process caused in the run, so much in its phases: 0 … 1. */
double gn_late_phases_share(const struct gn_late_phases *phases, uint32_t process);

/* In which of them a slice is; of several parts of what was seen each is one. -1: in none. */
int gn_late_phase_of_slice(const struct gn_late_phases *phases, size_t slice);

/* In which of them most of what is computed before a call of a part of what was seen is; -1: in none. */
int gn_late_phase_of(const struct gn_late_phases *phases, const struct gn_seen *seen, size_t part,
                     const struct gn_call *call);

#endif
