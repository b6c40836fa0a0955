/*
 * answer/stragglers_report — what `gnomon stragglers` says: who holds the others up, how much, where, and how
 * sure that is. docs/stragglers.md describes the JSON form.
 */
#ifndef GNOMON_ANSWER_STRAGGLERS_REPORT_H
#define GNOMON_ANSWER_STRAGGLERS_REPORT_H

#include "analyse/scores.h"
#include "analyse/waits.h"
#include "answer/group_name.h"
#include "analyse/spread.h"
#include "answer/table.h"

#include <jansson.h>
#include <stdio.h>

/* Less than so much of everybody's time holds nobody up. */
#define GN_STRAGGLER_PERCENT 1.0

enum gn_straggler_verdict {
    GN_STRAGGLER_NOBODY,      /* balanced: below the threshold; or nobody is busy for longer than the others,
                                 they only wait in turn; or the first one causes less than twice as much as the
                                 others in the mean, and not persistently, and does not do much more */
    GN_STRAGGLER_CERTAIN,     /* the first one does, and more than anybody else */
    GN_STRAGGLER_POSSIBLE,    /* the first one does, or may; others perhaps as much, or as much waiting passes
                                 through all of them */
    GN_STRAGGLER_UNDECIDABLE, /* one of several may, none for certain */
};

/* One that is scored. */
struct gn_straggler {
    uint32_t group;
    struct gn_blame caused, waited;
    struct gn_score share; /* caused, of all ranks' time */
    struct gn_blame extra; /* it was busy so much longer than the others in the mean; from below 0 */
    struct gn_score own; /* of all ranks' time, what goes by waiting because it was: never more than share */
    uint32_t cause;      /* its largest in gn_waits.causes; GN_NONE */
    uint32_t parts,
        parts_first; /* of the run's slices: those with certain waiting, and where it caused most */
};

struct gn_stragglers_report {
    const char *path;
    const struct gn_history *history;
    const struct gn_groups *groups;
    const struct gn_waits *waits;
    const struct gn_scores *scores;
    enum gn_scored by;
    bool is_annotated;        /* --busy or --waiting: the scores say who is first, else what was waited */
    size_t top;               /* rows of the table; 0: all */
    struct gn_spread *spread; /* of what was seen in windows; NULL: all was */
    /* gn_stragglers_rank fills these */
    struct gn_straggler *list;            /* [groups->count] the first one first */
    enum gn_straggler_verdict waited_for; /* whether it is the one whom the others wait for */
    enum gn_straggler_verdict verdict;    /* whether it is slow: never certain. What was computed is known by
                                             when it began and ended; nobody measures whether the rank had a
                                             core meanwhile */
    double mean_width_ns, most_width_ns;  /* of the bounds of calls' times; INFINITY: some are not known */
};

/* 0, and the caller frees list; or -ENOMEM with err set. */
int gn_stragglers_rank(struct gn_stragglers_report *report, struct gn_error *err);

void gn_stragglers_text(const struct gn_stragglers_report *report, const struct gn_terminal *terminal,
                        FILE *out);
/* All that are scored, as text and as CSV. */
struct gn_table gn_stragglers_table(const struct gn_stragglers_report *report);
/* NULL: no memory. */
json_t *gn_stragglers_json(const struct gn_stragglers_report *report);
/* The first one alone, as in the list of all; null where nobody holds the others up. */
json_t *gn_straggler_first_json(const struct gn_stragglers_report *report);

/* What both forms share. */
const char *gn_straggler_verdict_name(enum gn_straggler_verdict verdict);
/* "rank 3", "rank 3 thread 1", "host node2". */
void gn_straggler_name(const struct gn_stragglers_report *report, uint32_t group, char *text, size_t size);
/* What it did before, or what it was in; and the call that the others wait in. "": there is nothing to say.
 */
void gn_straggler_work(const struct gn_stragglers_report *report, const struct gn_cause *cause, char *text,
                       size_t size);
void gn_straggler_call(const struct gn_stragglers_report *report, const struct gn_cause *cause, char *text,
                       size_t size);
/* The measure that says who is first, in percent. */
struct gn_score gn_straggler_measure(const struct gn_stragglers_report *report,
                                     const struct gn_straggler *straggler);
/* It caused most in at least three quarters of the run's parts in which anybody waited for certain. */
bool gn_straggler_is_persistent(const struct gn_straggler *straggler);

#endif
