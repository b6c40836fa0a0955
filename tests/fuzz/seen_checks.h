/* What explain finds in a history, whatever that is: intervals are intervals, and shares add up. */
#ifndef GNOMON_TESTS_SEEN_CHECKS_H
#define GNOMON_TESTS_SEEN_CHECKS_H

#include "analyse/history.h"

void seen_check(const struct gn_history *history);

#endif
