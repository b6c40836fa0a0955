/*
 * repair/sync_inside — what the passes of repair/sync hand on, and what its processes agree on between them.
 */
#ifndef GNOMON_REPAIR_SYNC_INSIDE_H
#define GNOMON_REPAIR_SYNC_INSIDE_H

#include "repair/sync.h"
#include "repair/sync_split.h"
#include "trace/reader.h"
#include "trace/retime.h"

#include <limits.h>

/* What passes read and write. */
enum gn_sync_part {
    GN_SYNC_DEFINITIONS = 1 << 0, /* of the trace, with all that is known of its archive */
    GN_SYNC_SPLIT = 1 << 1,       /* which process has which event files */
    GN_SYNC_CLOCKS = 1 << 2,      /* what the repair starts from */
    GN_SYNC_OPS = 1 << 3,         /* of the locations that are mine */
    GN_SYNC_TIMES = 1 << 4,       /* corrections: of ops, and between them */
    GN_SYNC_ARCHIVE = 1 << 5,     /* the new one */
    GN_SYNC_AMORTIZED = 1 << 6,   /* what that has moved, of all processes */
    GN_SYNC_CONDITION = 1 << 7    /* of the new one */
};

struct gn_sync_state {
    const struct gn_sync_settings *settings;
    const struct gn_transport *transport;
    struct gn_sync_report *report;
    unsigned has; /* gn_sync_part */
    /* DEFINITIONS */
    const struct gn_definitions *definitions;
    const struct gn_trace_report *found;
    char folder[PATH_MAX]; /* where the ops are kept: beside the new archive */
    /* SPLIT */
    struct gn_sync_split split;
    /* OPS */
    struct gn_op_store store;
    bool has_store;
    /* TIMES */
    struct gn_repair_settings repair_settings;
    struct gn_repair *repair;
    /* ARCHIVE, while it is written */
    struct gn_retime *retime;
    struct gn_retime_range range;
    bool has_range;
};

/* ---- passes: all processes call each, and each returns 0 or an error in all of them ---- */

int gn_sync_open(struct gn_sync_state *s, struct gn_error *err);
int gn_sync_give_out(struct gn_sync_state *s, struct gn_error *err);
int gn_sync_choose_clocks(struct gn_sync_state *s, struct gn_error *err);
int gn_sync_read(struct gn_sync_state *s, struct gn_error *err);
int gn_sync_repair(struct gn_sync_state *s, struct gn_error *err);
int gn_sync_write(struct gn_sync_state *s, struct gn_error *err);
int gn_sync_verify(struct gn_sync_state *s, struct gn_error *err);

/* OPS and TIMES are gone. */
void gn_sync_forget_times(struct gn_sync_state *s);

/* ---- who has what ---- */

static inline bool gn_sync_is_first(const struct gn_sync_state *s)
{
    return s->transport->rank == 0;
}

static inline bool gn_sync_is_mine(const struct gn_sync_state *s, uint32_t process)
{
    return s->split.owner[process] == s->transport->rank;
}

/* ---- together ---- */

int gn_sync_agree(const struct gn_sync_state *s, enum gn_agreement how, int64_t *values, size_t count,
                  struct gn_error *err);
/* Of up to 16 counts, in place. */
int gn_sync_sum(const struct gn_sync_state *s, uint64_t *const *values, size_t count, struct gn_error *err);
/* The smallest and the largest of all, in place. */
int gn_sync_span(const struct gn_sync_state *s, int64_t *first, int64_t *last, struct gn_error *err);

/* After what each process has done for itself: its own error, or that another one has one (-ECANCELED, and
 * err is empty); and for all, whether it is one of the input. */
int gn_sync_settled(const struct gn_sync_state *s, int code, struct gn_error *err);
/* The same where the trace or what the user named was looked at: errors are theirs, unless there is no room.
 */
int gn_sync_settled_input(const struct gn_sync_state *s, int code, struct gn_error *err);
/* And where it was read again while the new archive was written, which may fail as well. */
int gn_sync_settled_output(const struct gn_sync_state *s, int code, struct gn_error *err);

/* ---- who watches ---- */

void gn_sync_show(const struct gn_sync_state *s, const char *phase, double share);

#endif
