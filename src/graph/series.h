/*
 * graph/series — how sums grew over time, in constant space: for each row the differences from one moment to
 * the next, with at most GN_SERIES_MOST moments. When there are more, or the memory that they may take is
 * used up, every second moment is forgotten: the steps double in width, and nothing is lost but when.
 *
 *     put(row, sums as of now) …   close(moment)   put(…) …   close(moment) …
 *
 * What rows mean is the caller's. Their differences are kept packed (graph/packed_steps.h).
 */
#ifndef GNOMON_GRAPH_SERIES_H
#define GNOMON_GRAPH_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GN_SERIES_MOST = 512, GN_SERIES_VALUES = 4 };
#define GN_SERIES_NONE UINT32_MAX

struct gn_series;

/* most_bytes: of all differences together. NULL: no memory. */
struct gn_series *gn_series_new(size_t most_bytes);
void gn_series_free(struct gn_series *series);

/* A row, all sums 0 until now. GN_SERIES_NONE: no more rows, or no memory: it is not kept. */
uint32_t gn_series_row(struct gn_series *series);

/* The row's sums as of the next moment; those of rows that are not put stay as they were. Once for a moment;
 * GN_SERIES_NONE is allowed. */
void gn_series_put(struct gn_series *series, uint32_t row, const int64_t sums[GN_SERIES_VALUES]);

/* That moment. Moments ascend. */
void gn_series_close(struct gn_series *series, uint64_t ticks);

/* Moments so far, *count of them, the series' own until the next is closed: step i ends with moment i. */
const uint64_t *gn_series_moments(const struct gn_series *series, size_t *count);

/* Adds the row's differences, by step. */
void gn_series_add(const struct gn_series *series, uint32_t row, int64_t (*steps)[GN_SERIES_VALUES]);

#endif
