/*
 * profile/kept_windows — windows of a run's time in which events were kept (agent/windows.h), as they stand
 * in a profile: "begin end begin end …" in ticks, of each host, and of all of them together.
 *
 *   windows/left/spans    ├──────┤   ├───────┤ ├──┤     ├──────┤
 *   windows/right/spans    ├───────┤ ├──┤        ├───┤ ├──────┤      on the reference's counter
 *   windows/all/spans      ├─────┤   ├──┤               ├─────┤
 */
#ifndef GNOMON_PROFILE_KEPT_WINDOWS_H
#define GNOMON_PROFILE_KEPT_WINDOWS_H

#include "base/error.h"
#include "event/kept_window.h"

#include <sqlite3.h>
#include <stddef.h>

/* In their order, without overlap; where the text makes no sense, there are no more. Returns how many, at
 * most GN_KEPT_WINDOWS_MOST, in *windows, which the caller frees. */
size_t gn_kept_windows_of_text(struct gn_kept_window **windows, const char *text);
/* The caller frees; NULL: no memory. */
char *gn_kept_windows_to_text(const struct gn_kept_window *windows, size_t count);

struct gn_common_window {
    struct gn_kept_window window; /* that some hosts have */
    uint64_t shortest_ticks;      /* of the windows that it is a part of there */
};
/* What those of a and another one have. to: room for as many as both have together. */
size_t gn_kept_windows_common(struct gn_common_window *to, const struct gn_common_window *a, size_t a_count,
                              const struct gn_kept_window *b, size_t b_count);
/* Of these, those that are at least half of the shortest: that others met is chance, and next to nothing
 * would stand for all that follows. */
size_t gn_kept_windows_of_worth(struct gn_kept_window *to, const struct gn_common_window *common,
                                size_t count);

/*
 * Of the profile of a run on several hosts, whose windows have become one archive: what all hosts have, on
 * the counter of the first one (docs/profile-format.md: windows/all). 0 or a negative errno value; -ENODATA:
 * the clocks of the hosts are not known of each other, or one of them has kept nothing.
 */
int gn_profile_unite_windows(sqlite3 *db, const char *archive, struct gn_error *err);

#endif
