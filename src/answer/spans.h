/*
 * answer/spans — intervals as people read them: rounded outward, to as many digits as tell them apart; one
 * number where both ends are the same then.
 */
#ifndef GNOMON_ANSWER_SPANS_H
#define GNOMON_ANSWER_SPANS_H

#include <jansson.h>

enum { GN_SPAN_TEXT = 64 };

/* "12.345 s", "12.345 to 12.351 s": five digits of the larger one. 0 ≤ lo_ns ≤ hi_ns. Returns text. */
const char *gn_span_time(double lo_ns, double hi_ns, char text[GN_SPAN_TEXT]);
/* "3.2 %", "3.2 to 4.1 %": shares, 0 … 1. */
const char *gn_span_share(double lo, double hi, char text[GN_SPAN_TEXT]);
/* {"lo": …, "hi": …}: each times `unit`. NULL: no memory. */
json_t *gn_span_json(double lo, double hi, double unit);

#endif
