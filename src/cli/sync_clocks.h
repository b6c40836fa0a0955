/*
 * cli/sync_clocks — which weak synchronisation the repair of a trace starts from (repair/presync.h), and why.
 */
#ifndef GNOMON_CLI_SYNC_CLOCKS_H
#define GNOMON_CLI_SYNC_CLOCKS_H

#include "cli/known_bounds.h"
#include "repair/presync.h"

enum gn_sync_presync { GN_SYNC_AUTO, GN_SYNC_NONE, GN_SYNC_LINEAR, GN_SYNC_BOUNDS };

struct gn_sync_clocks {
    struct gn_presync presync;
    struct gn_presync seen; /* what any reader of the archive sees: its offsets applied, where it has some */
    bool is_seen;           /* presync gives the same times as seen */
    bool was_chosen;        /* nobody asked for it */
    const char *why;
    size_t bounded; /* locations whose clock has bounds */
    struct gn_known_bounds known;
    bool has_known;
};

/*
 * What was asked for; or, for AUTO: bounds where the archive has them or the run beside it has what gives
 * them, else the archive's offsets, else nothing. path: as for gn_trace_open, of the archive with these
 * definitions. 0, and the caller clears; or a negative errno value with err set: bounds were asked for and
 * there are none, no memory, the trace cannot be read.
 */
int gn_sync_clocks(struct gn_sync_clocks *clocks, enum gn_sync_presync asked, const char *path,
                   const struct gn_definitions *definitions, struct gn_error *err);
void gn_sync_clocks_clear(struct gn_sync_clocks *clocks);

/* "none", "linear", "bounds"; and the other way round: GN_SYNC_AUTO when it is none of them. */
const char *gn_sync_presync_name(enum gn_presync_kind kind);
enum gn_sync_presync gn_sync_presync_of(const char *name);

#endif
