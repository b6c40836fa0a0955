/*
 * repair/presync — the weak synchronisation that the controlled logical clock starts from (Becker 2009, 5.1):
 * the presynchronised time C of a raw timestamp.
 *
 *   none     the raw timestamp
 *   linear   the archive's own clock offsets, interpolated as OTF2's readers do (the same numbers come out)
 *   bounds   the middle of gnomon's guaranteed bounds on the reference's clock; both bounds are kept, so that
 *            it can be counted where a repaired time leaves them
 *
 * At a location C never goes back where the raw timestamps do not.
 *
 * What OTF2 3.0 makes of offsets: between two of them, in doubles, the first one's plus the slope times the
 * distance to the nearest whole number, ties to even; a reading that has an offset belongs to the piece
 * before it; the first and the last piece go on for ever; a single offset is not applied; the first one that
 * does not come after the one before it ends the row. Pieces in which time would stand still or go back (a
 * slope below −1/2, which no clock has) are taken as standing still.
 */
#ifndef GNOMON_REPAIR_PRESYNC_H
#define GNOMON_REPAIR_PRESYNC_H

#include "clock/bounds.h"
#include "event/definitions.h"

enum gn_presync_kind { GN_PRESYNC_NONE, GN_PRESYNC_LINEAR, GN_PRESYNC_BOUNDS };

struct gn_presync {
    enum gn_presync_kind kind;
    const struct gn_definitions *definitions;
    /* of BOUNDS: of each location, NULL where nothing is known of its clock (its times stay raw);
     * [location_count], borrowed */
    const struct gn_bounds *const *bounds;
    int64_t epoch_ticks; /* of BOUNDS: the archive's ticks at the reference's 0 ns */
    /* of BOUNDS: they are the archive's own, offset ± deviation: C is what the offsets say, so that a reader
     * of the archive sees the same */
    bool has_offsets;
};

/* A location's map, to be asked in any order; ascending raw timestamps are fast. */
struct gn_presync_map {
    const struct gn_presync *presync;
    uint32_t location;
    /* of offsets: */
    const struct gn_offsets_def *offsets; /* NULL: they change nothing */
    size_t piece;                         /* from this offset to the next: used last */
    double slope;                         /* of the piece */
    int64_t floor;                        /* nothing after the begin of the piece is earlier */
    /* of bounds: */
    const struct gn_bounds *bounds; /* NULL: none */
    uint64_t known_from, known_to;  /* readings between which both bounds are known */
};

struct gn_presync_map gn_presync_map(const struct gn_presync *presync, uint32_t location);

/* C; ticks ≤ INT64_MAX / 2, which the caller has checked. The result is in [0, INT64_MAX / 2], clamped. */
int64_t gn_presync_ticks(struct gn_presync_map *map, uint64_t ticks);

/* The bounds of C: [*low, *high], INT64_MIN and INT64_MAX where there is none; false: none are known. */
bool gn_presync_bounds(struct gn_presync_map *map, uint64_t ticks, int64_t *low, int64_t *high);

/* Whether the kind changes anything: there are offsets that are applied and not all zero, or bounds. */
bool gn_presync_moves(const struct gn_presync *presync, uint32_t location);

#endif
