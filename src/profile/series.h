/* profile/series — series of a profile (docs/profile-format.md), in SQL. */
#ifndef GNOMON_PROFILE_SERIES_H
#define GNOMON_PROFILE_SERIES_H

#include "base/error.h"

#include <sqlite3.h>
#include <stddef.h>

/* Defines series_sum(series) on db, an aggregate: of samples' series the one of all of them together. 0, or a
 * negative errno value. */
int gn_series_define_sum(sqlite3 *db, struct gn_error *err);

/* The sum of one of a series' values, over steps [first, end). What makes no sense counts as nothing. */
sqlite3_int64 gn_series_sum(const void *series, size_t bytes, size_t width, size_t value, size_t first,
                            size_t end);

#endif
