/* analyse/patterns_inside — what the patterns of a profile's totals share. Not for anybody else. */
#ifndef GNOMON_ANALYSE_PATTERNS_INSIDE_H
#define GNOMON_ANALYSE_PATTERNS_INSIDE_H

#include "analyse/patterns.h"

struct gn_problem_search {
    const struct gn_summary *s;
    struct gn_problems *found;
};

/* NULL and "" are one. */
bool gn_is_same_text(const char *a, const char *b);

/* What is computed between calls, not how a process starts and ends. */
bool gn_problems_is_between_calls(const struct gn_activity_row *row);

/* patterns_hosts.c. The host whose ranks are slower than all others by one factor in all that they compute;
 * NULL: none. */
const char *gn_problems_find_slow_host(const struct gn_problem_search *search);
/* Whether the rank is there. */
bool gn_problems_on_host(const struct gn_summary *summary, int rank, const char *host);

/* patterns_threads.c */
bool gn_problems_waits_for_threads(const struct gn_activity_row *row);
void gn_problems_find_threads(const struct gn_problem_search *search);

#endif
