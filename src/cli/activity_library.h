/*
 * cli/activity_library — makes a run's copy of the library that meets calls of named functions
 * (image/activity_slots.h).
 */
#ifndef GNOMON_CLI_ACTIVITY_LIBRARY_H
#define GNOMON_CLI_ACTIVITY_LIBRARY_H

#include "base/error.h"
#include "image/activity_slots.h"

#include <stddef.h>

/*
 * Writes to `path` (replaced at once, mode 0500) the library at `library`, with its first `count` (GN_SLOTS
 * at most) entry points named as `slots` say. 0, or a negative errno: -EPROTO, `library` is not such a
 * library.
 */
int gn_activity_library_write(const char *library, const char *path, const struct gn_slot *slots,
                              size_t count, struct gn_error *err);

#endif
