/*
 * repair/sync_clocks — which weak synchronisation the repair of a trace starts from (repair/presync.h), and
 * why.
 */
#ifndef GNOMON_REPAIR_SYNC_CLOCKS_H
#define GNOMON_REPAIR_SYNC_CLOCKS_H

#include "repair/presync.h"

/* Bounds of a trace's clocks, as far as anybody knows some. */
struct gn_bounds_known {
    const struct gn_bounds *const
        *of;           /* [location_count], NULL where nothing is known; of whoever was asked */
    bool is_own;       /* the archive's own offsets and deviations */
    bool is_exchanged; /* otherwise: not from the program's messages alone */
};

/* Who can be asked for them: runs and what they have measured belong to rooms that this one does not know. */
struct gn_bounds_asker {
    void *self;
    bool (*has_run)(void *self); /* a run lies beside the trace: it may have exchanges */
    int (*find)(void *self, const struct gn_definitions *definitions, struct gn_bounds_known *known,
                struct gn_error *err);
};

enum gn_sync_presync { GN_SYNC_AUTO, GN_SYNC_NONE, GN_SYNC_LINEAR, GN_SYNC_BOUNDS };

struct gn_sync_clocks {
    struct gn_presync presync;
    struct gn_presync seen; /* what any reader of the archive sees: its offsets applied, where it has some */
    bool is_seen;           /* presync gives the same times as seen */
    bool was_chosen;        /* nobody asked for it */
    const char *why;
    size_t bounded;  /* locations whose clock has bounds */
    bool has_bounds; /* those that were asked for are used, or were to be */
};

/*
 * What was asked for; or, for AUTO: bounds where the archive has them or the run beside it has what gives
 * them, else the archive's offsets, else nothing. The bounds are borrowed. path names the archive, in errors.
 * 0, or a negative errno value with err set: bounds were asked for and there are none, or what asker says.
 */
int gn_sync_clocks(struct gn_sync_clocks *clocks, enum gn_sync_presync asked, const char *path,
                   const struct gn_bounds_asker *asker, const struct gn_definitions *definitions,
                   struct gn_error *err);

/*
 * Bounds of the clocks as they were, where they are at hand: those that were chosen, or the archive's own. Of
 * kind BOUNDS; else NONE. 0, or a negative errno value with err set.
 */
int gn_sync_bounds_at_hand(const struct gn_sync_clocks *clocks, const struct gn_bounds_asker *asker,
                           const struct gn_definitions *definitions, struct gn_presync *bounds,
                           struct gn_error *err);

/* "none", "linear", "bounds"; and the other way round: GN_SYNC_AUTO when it is none of them. */
const char *gn_sync_presync_name(enum gn_presync_kind kind);
enum gn_sync_presync gn_sync_presync_of(const char *name);

#endif
