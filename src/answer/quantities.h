/*
 * answer/quantities — durations, sizes, shares, counts and rates as people read them. The only place that
 * does: what two commands say of one thing looks the same.
 *
 * Three significant digits where rounding to the nearest is right. Bounds are answer/spans.h's, which rounds
 * outward.
 */
#ifndef GNOMON_ANSWER_QUANTITIES_H
#define GNOMON_ANSWER_QUANTITIES_H

#include <stdint.h>

enum { GN_QUANTITY_TEXT = 64 };

/* All return text. What is not finite is "unknown". */

/* Durations from here on are told as unknown: where nothing bounds a clock, times are centuries apart. */
#define GN_NOBODY_KNOWS_NS 1e17

/* "12.3 ms", "999 ns", "0 ns": eight columns at most up to 27 hours; negative ones have a sign. */
const char *gn_duration_text(double ns, char text[GN_QUANTITY_TEXT]);
/* The same rounded up, of what is a bound: "± 1.24 us" of 1.231. */
const char *gn_width_text(double ns, char text[GN_QUANTITY_TEXT]);
/* A duration in ticks of a clock. */
const char *gn_ticks_text(double ticks, double ticks_per_second, char text[GN_QUANTITY_TEXT]);
/* "512 B", "4.20 MiB" */
const char *gn_bytes_text(double bytes, char text[GN_QUANTITY_TEXT]);
/* "1,204,331" */
const char *gn_count_text(int64_t count, char text[GN_QUANTITY_TEXT]);
/* "12.3 M", of what is an estimate or very many: below 1000 whole. */
const char *gn_amount_text(double amount, char text[GN_QUANTITY_TEXT]);
/* "31.0 %", below one percent "0.52 %", "0.00012 %": what is there is not shown as none. share: 1 is all. */
const char *gn_share_text(double share, char text[GN_QUANTITY_TEXT]);
/* The same of rows that add up to 100 %: "31.0 %", "0.52 %", "<0.01 %", which takes seven columns at most. */
const char *gn_part_text(double share, char text[GN_QUANTITY_TEXT]);
/* "-3.213456789 s ± 155 ns": how far a clock is ahead. */
const char *gn_offset_text(double lo_ns, double hi_ns, char text[GN_QUANTITY_TEXT]);
/* "+12.345 ± 0.021 ppm" */
const char *gn_rate_text(double lo_ppb, double hi_ppb, char text[GN_QUANTITY_TEXT]);

#endif
